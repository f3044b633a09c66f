//! The rows of what has the keys, and the search among them: `/` types a text, the cursor goes to the rows that hold it.
//!
//! Not for the lists to choose from, whose search leaves out what does not match ([`crate::app::list`]).

use super::find::Find;

use super::action::{Action, Command};
use super::cursor::ListCursor;
use super::diagnostics::{Finding, LINES};
use super::explaining::breakdown;
use super::inputs::InputRow;
use super::layer::Layer;
use super::panel::Panel;
use super::state::App;
use super::timeline::ShownStep;

/// Texts of rows, and which of them has the cursor.
pub type Rows = (Vec<String>, usize);

impl App {
    /// Does what the user asked of the search, which begins where there is none.
    pub(super) fn on_find(&mut self, action: Action) -> Vec<Command> {
        let Some(mut find) = self.find.take() else {
            self.open_find();
            return Vec::new();
        };
        match action {
            Action::Take => return Vec::new(),
            Action::Close => {
                self.go_to_row(find.from);
                return Vec::new();
            }
            Action::Type(request) => {
                find.input.handle(request);
                self.seek(&mut find, 0);
            }
            Action::Down => self.seek(&mut find, 1),
            Action::Up => self.seek(&mut find, -1),
            _ => {}
        }
        self.find = Some(find);
        Vec::new()
    }

    fn open_find(&mut self) {
        match self.rows() {
            Some((_, from)) => self.find = Some(Find { from, ..Find::default() }),
            None => self.tell("no rows to search here; : finds a command by its name".to_owned()),
        }
    }

    /// Goes to the next row that holds the text (1), the one before (-1), or the first from where the search began (0).
    fn seek(&mut self, find: &mut Find, way: isize) {
        let wanted = find.input.value().to_lowercase();
        let rows = self.rows().map_or_else(Vec::new, |(rows, _)| rows);
        let holds = |row: &usize| !wanted.is_empty() && rows[*row].to_lowercase().contains(&wanted);
        let found: Vec<usize> = (0..rows.len()).filter(holds).collect();
        let place = match (found.is_empty(), way) {
            (true, _) => None,
            (_, 0) => Some(found.iter().position(|row| *row >= find.from).unwrap_or(0)),
            _ => Some((find.place.0.cast_signed() - 1 + way).rem_euclid(found.len().cast_signed()).cast_unsigned()),
        };
        find.row = place.map(|place| found[place]);
        find.place = (place.map_or(0, |place| place + 1), found.len());
        self.go_to_row(find.row.unwrap_or(find.from));
    }

    /// What the rows say, as far as one can search them, and the one that has the cursor.
    pub fn rows(&self) -> Option<Rows> {
        match &self.layer {
            None => self.panel_rows(),
            Some(Layer::Help(line)) => {
                let rows = self.keymap.help_rows(self.panel_place(), false);
                Some((rows.into_iter().map(|(keys, help)| format!("{keys} {help}")).collect(), *line))
            }
            Some(Layer::Diagnostics(findings, line)) => {
                let text = |Finding { what, value, why, fix }: &Finding| format!("{what} {value} {why} {fix}");
                Some((findings.iter().map(text).collect(), line / LINES))
            }
            Some(Layer::Form(form)) => Some((
                form.rows.iter().map(|row| format!("{} {} {}", row.label, row.text(), row.note)).collect(),
                form.cursor,
            )),
            Some(Layer::Explain(explaining)) => explaining.page().map(|page| {
                let explanation = &page.explanation;
                let inputs = explanation.formula.inputs();
                let inputs = inputs.iter().map(|input| input.name.clone());
                let ends = [explanation.about.to_string(), explanation.source.to_string()];
                (inputs.chain(ends).collect(), page.row())
            }),
            Some(Layer::List(_) | Layer::Browser(_) | Layer::Palette(_) | Layer::Entry(_)) => None,
        }
    }

    fn panel_rows(&self) -> Option<Rows> {
        match self.focus {
            Panel::Inputs => {
                let inputs = &self.inputs;
                let text = |row: InputRow| format!("{} {}", row.label(), inputs.row_text(row, &self.scenario));
                Some((inputs.rows().map(text).collect(), inputs.cursor))
            }
            Panel::Time => {
                let figures = breakdown(self.answer.as_ref());
                let row = self.time.row(figures.len());
                Some((self.context().names(figures)?, row))
            }
            Panel::Map => self.view_rows(),
            Panel::Memory => {
                let step = ShownStep::new(&self.answer.as_ref()?.evaluation);
                let ranks = step.trace.ranks();
                let names = (0..ranks).map(|rank| format!("rank {rank}")).collect();
                (ranks > 1).then(|| (names, self.timeline.rank(step) as usize))
            }
            Panel::Timeline => None,
        }
    }

    fn view_rows(&self) -> Option<Rows> {
        let (view, context) = (self.views.get(self.view)?, self.context());
        Some((view.rows(&context)?, view.cursor(&context)))
    }

    /// Gives a row the cursor.
    pub(super) fn go_to_row(&mut self, row: usize) {
        let page = self.page;
        let help = || self.keymap.help_rows(self.panel_place(), false).len();
        let most = match &self.layer {
            Some(Layer::Help(_)) => help(),
            Some(Layer::Diagnostics(findings, _)) => findings.len() * LINES,
            _ => 0,
        };
        match &mut self.layer {
            Some(Layer::Help(line)) => *line = row.min((most + 1).saturating_sub(page)),
            Some(Layer::Diagnostics(_, line)) => *line = (row * LINES).min((most + 1).saturating_sub(page)),
            Some(Layer::Form(form)) => form.cursor = row,
            Some(Layer::Explain(explaining)) => explaining.go_to(row),
            Some(_) => {}
            None => match self.focus {
                Panel::Inputs => self.inputs.cursor = row.min(self.inputs.rows().count() - 1),
                Panel::Time => self.time = ListCursor::at(row),
                Panel::Map => {
                    self.with_view(|view, context| view.go_to(row, context));
                }
                Panel::Memory => {
                    if let Some(answer) = &self.answer {
                        let step = ShownStep::new(&answer.evaluation);
                        let from = self.timeline.rank(step) as usize;
                        self.timeline.change_rank(row.cast_signed() - from.cast_signed(), step);
                    }
                }
                Panel::Timeline => {}
            },
        }
    }
}

#[cfg(test)]
mod tests;
