//! What each action does on the command palette.

use crate::app::action::{Action, Command};
use crate::app::cursor::ListCursor;
use crate::app::keys::KeyPlace;
use crate::app::layer::Layer;
use crate::app::palette::{Deed, Palette};
use crate::app::panel::Panel;
use crate::app::panel::ViewId;
use crate::app::state::App;

impl App {
    /// Opens the palette.
    pub(crate) fn open_palette(&mut self) {
        self.layer = Some(Layer::Palette(Palette::new(&self.keymap, self.panel_place(), false)));
    }

    pub(crate) fn on_palette(&mut self, mut palette: Palette, action: Action) -> Vec<Command> {
        match action {
            Action::Close => return Vec::new(),
            Action::Take => {
                let Some(deed) = palette.found().get(palette.row()).map(|item| item.deed) else {
                    self.layer = Some(Layer::Palette(palette));
                    return Vec::new();
                };
                return self.act(deed);
            }
            Action::Type(request) => {
                if palette.search.handle(request).is_some_and(|changed| changed.value) {
                    palette.cursor = ListCursor::default();
                }
            }
            _ => {
                palette.cursor.go(action, palette.found().len(), self.page);
            }
        }
        self.layer = Some(Layer::Palette(palette));
        Vec::new()
    }

    fn act(&mut self, deed: Deed) -> Vec<Command> {
        let mut commands = Vec::new();
        match deed {
            Deed::Field(field) => {
                self.focus = Panel::Inputs;
                self.inputs.go_to(field);
                commands.extend(self.update(Action::Take));
            }
            Deed::Metric(metric) => {
                (self.view, self.focus) = (ViewId::MAP, Panel::Map);
                match metric.lacks(&self.map.sweep.base) {
                    Some(problem) => self.tell(problem.to_string()),
                    None => self.map.metric = metric,
                }
            }
            Deed::Action(place, action) => {
                match place {
                    KeyPlace::Panel(panel) => {
                        self.view = if panel == Panel::Map { ViewId::MAP } else { self.view };
                        self.focus = panel;
                    }
                    KeyPlace::View(view) => commands.extend(self.open_view(view)),
                    _ => {}
                }
                commands.extend(self.update(action));
            }
        }
        commands
    }
}
