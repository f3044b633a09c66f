//! The list of keys: what belongs to what has the keys comes first, and what is typed leaves out the rest.

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::layer::list::Filter;
use crate::app::views::View;

/// Keys and what they do; a row without keys is the heading of those behind it, and one with a blank for them goes on with
/// what the row before it says.
pub type HelpRow = (String, String);

/// Columns of the rows that are shown: those of the narrowest screen.
const COLUMNS: usize = 73;

/// The scroll position of the list, and the text that filters it.
#[derive(Debug, Clone)]
pub struct Help {
    rows: Vec<HelpRow>,
    /// The text that filters it.
    pub filter: Filter,
    top: ListCursor,
}

impl Help {
    /// The top of all rows.
    pub fn new(rows: Vec<HelpRow>) -> Self {
        Self { rows, filter: Filter::default(), top: ListCursor::default() }
    }

    /// The first row that is seen.
    pub fn top(&self, context: &Context) -> usize {
        self.top.row(self.count(context))
    }

    /// The rows that match the typed text, under their headings; all under a heading that does.
    pub fn found(&self, rows: Vec<HelpRow>) -> Vec<HelpRow> {
        let keys = rows.iter().map(|(keys, _)| keys.chars().count()).max().unwrap_or(0);
        let columns = COLUMNS.saturating_sub(keys + 4);
        let (mut found, mut heading, mut whole) = (Vec::new(), None, false);
        for row in rows {
            let holds = self.filter.score(&row.1, &row.0).is_some();
            if row.0.is_empty() {
                (heading, whole) = (Some(row), holds);
            } else if holds || whole {
                found.extend(heading.take());
                found.extend(broken(row, columns));
            }
        }
        found
    }
}

/// A row in as many as its words take.
fn broken((keys, what): HelpRow, columns: usize) -> Vec<HelpRow> {
    let mut rows = vec![(keys, String::new())];
    for word in what.split(' ') {
        let row = &mut rows.last_mut();
        let Some((_, said)) = row else { continue };
        if !said.is_empty() && said.chars().count() + 1 + word.chars().count() > columns {
            rows.push((" ".to_owned(), word.to_owned()));
            continue;
        }
        if !said.is_empty() {
            said.push(' ');
        }
        said.push_str(word);
    }
    rows
}

impl View for Help {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        match action {
            Action::Close => return vec![Effect::Close],
            Action::Type(request) => self.filter.change(request, &mut self.top),
            _ => {}
        }
        Vec::new()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.top)
    }

    /// How many rows can be the first one, so that the last page is full.
    fn count(&self, context: &Context) -> usize {
        // The line to type on takes one of the page's.
        (self.found(self.rows.clone()).len() + 2).saturating_sub(context.page)
    }

    fn cursor(&self, context: &Context) -> usize {
        self.top(context)
    }
}

#[cfg(test)]
mod tests {
    use crate::app::layer::Layer;
    use crate::app::tests::{explorer, press};

    /// The words of the footer and of the command line are found too.
    #[test]
    fn the_footers_words_are_found() {
        for (typed, keys) in [("dead", "t"), ("fresh", "q")] {
            let mut app = explorer();
            press(&mut app, &format!("B?{typed}"));
            let Some(Layer::Help(help)) = &app.layer else { panic!("no help: {:?}", app.layer) };
            let rows = help.found(app.keymap.help_rows(app.panel_place(), false));
            assert!(rows.iter().any(|(name, _)| name == keys), "{typed}: {rows:?}");
        }
    }

    #[test]
    fn what_is_typed_leaves_out_the_rest_and_headings_stay() {
        let mut app = explorer();
        let found = |app: &crate::app::App| {
            let Some(Layer::Help(help)) = &app.layer else { panic!("no help: {:?}", app.layer) };
            help.found(app.keymap.help_rows(app.panel_place(), false))
        };
        press(&mut app, "4?");
        assert_eq!(found(&app)[0].1, "Timeline", "it begins with what has the keys");
        let all = found(&app).len();
        press(&mut app, "undo");
        let rows = found(&app);
        assert!(rows.len() < all && rows.iter().any(|(keys, help)| keys == "u" && help.contains("undo")), "{rows:?}");
        assert_eq!(rows[0], (String::new(), "Everywhere".to_owned()));
        press(&mut app, "<down>");
        assert_eq!(found(&app), rows, "arrows move");
        press(&mut app, "<ret>");
        assert!(app.layer.is_none());
    }
}
