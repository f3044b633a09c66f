//! Pages of text that scroll as a whole: the report of an import or an export, why a file is refused, and the findings
//! about the terminal. Not for finding anything out.

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::views::View;
use shardscope_engine::scenario::file::printable;

/// Columns that a line of a page takes at most.
const COLUMNS: usize = 74;

/// A page on the screen.
#[derive(Debug, Clone)]
pub struct TextPage {
    pub title: String,
    /// Its lines, broken to its width.
    pub lines: Vec<String>,
    /// The scroll position.
    pub sheet: Sheet,
}

impl TextPage {
    /// A page of a text.
    pub fn new(title: String, text: &str) -> Self {
        // Broken once, to the narrowest screen's width: no line moves when the terminal is widened.
        let lines: Vec<String> = text.lines().flat_map(broken).collect();
        Self { title, sheet: Sheet::new(lines.clone(), 1), lines }
    }
}

/// A line in lines of the page's width: the first as it begins, the others two further in.
fn broken(line: &str) -> Vec<String> {
    let inset = (line.len() - line.trim_start().len() + 2).min(COLUMNS / 2);
    let (mut lines, mut rest) = (Vec::new(), line.trim_end().to_owned());
    while let Some((end, _)) = rest.char_indices().nth(COLUMNS) {
        // At a blank, but for those that begin the line; else in the middle of a word.
        let at = rest[..end].rfind(' ').filter(|at| !rest[..*at].trim().is_empty()).unwrap_or(end);
        let next = format!("{:inset$}{}", "", rest[at..].trim_start());
        rest.truncate(at);
        lines.push(std::mem::replace(&mut rest, next));
    }
    lines.push(rest);
    lines
}

impl View for TextPage {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        self.sheet.update(action, context)
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        self.sheet.list()
    }

    fn count(&self, context: &Context) -> usize {
        self.sheet.count(context)
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.lines.clone())
    }

    fn cursor(&self, context: &Context) -> usize {
        self.sheet.cursor(context)
    }

    fn go_to(&mut self, row: usize, context: &Context) -> Option<Effect> {
        self.sheet.go_to(row, context)
    }
}

/// The scroll position of a page.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// The rows, for the search.
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

/// Lines that a finding takes on the page.
pub const LINES: usize = 2;

/// One thing that was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub what: &'static str,
    pub value: String,
    /// Why.
    pub why: String,
    /// How to have it otherwise.
    pub fix: &'static str,
}

impl Finding {
    /// A finding; what comes from the environment is text that nobody checked.
    pub fn new(what: &'static str, value: &str, why: &str, fix: &'static str) -> Self {
        Self { what, value: printable(value), why: printable(why), fix }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_further_in_and_no_word_is_lost() {
        let words = "layers = 32 (num_hidden_layers) ".repeat(5);
        let text = format!("taken:\n  {words}\n\n{}", "x".repeat(80));
        let page = TextPage::new("Imported".to_owned(), &text);
        assert!(page.lines.iter().all(|line| line.chars().count() <= COLUMNS), "{:?}", page.lines);
        assert_eq!((page.lines[0].as_str(), &page.lines[1][..10]), ("taken:", "  layers ="));
        assert!(page.lines[2].starts_with("    ") && !page.lines[2].starts_with("     "), "{:?}", page.lines);
        let joined = page.lines.join(" ");
        let far = TextPage::new("Imported".to_owned(), &format!("  {}", "key = value ".repeat(30)));
        let inset = |line: &String| line.len() - line.trim_start().len();
        assert!(far.lines.len() > 4 && far.lines[1..].iter().all(|line| inset(line) == 4), "no staircase: {far:?}");
        assert_eq!(joined.split_whitespace().filter(|word| *word == "32").count(), 5);
        assert_eq!(joined.matches('x').count(), 80);
    }
}
