//! A page of text that scrolls as a whole: what was found out about the terminal, what became of a file.

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::views::view::View;

/// What of the page is seen.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// What can be searched for.
    rows: Vec<String>,
    /// Lines that each row takes.
    each: usize,
    top: ListCursor,
}

impl Sheet {
    /// The top of a page whose rows take so many lines each.
    pub fn new(rows: Vec<String>, each: usize) -> Self {
        Self { rows, each, top: ListCursor::default() }
    }

    /// The first line that is seen.
    pub fn top(&self, context: &Context) -> usize {
        self.top.row(self.tops(context))
    }

    /// How many lines can be the first one, so that the last page is full.
    fn tops(&self, context: &Context) -> usize {
        (self.rows.len() * self.each + 1).saturating_sub(context.page)
    }
}

impl View for Sheet {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        if action == Action::Close { vec![Effect::Close] } else { Vec::new() }
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.top)
    }

    fn count(&self, context: &Context) -> usize {
        self.tops(context)
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.rows.clone())
    }

    fn cursor(&self, context: &Context) -> usize {
        self.top(context) / self.each
    }

    fn go_to(&mut self, row: usize, _: &Context) -> Option<Effect> {
        self.top = ListCursor::at(row * self.each);
        None
    }
}
