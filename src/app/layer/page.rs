//! A page of text with a heading: what an import took, what an export left out, what a file is refused for.

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::layer::sheet::Sheet;
use crate::app::views::view::View;

/// Columns that a line of a page takes at most.
const COLUMNS: usize = 74;

/// A page on the screen.
#[derive(Debug, Clone)]
pub struct TextPage {
    /// What it is about, over the text.
    pub title: String,
    /// Its lines, broken to its width.
    pub lines: Vec<String>,
    /// What of them is seen.
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

/// A line in lines of the page's width: the first as it begins, the others further in.
fn broken(line: &str) -> Vec<String> {
    let line = line.trim_end();
    let Some((end, _)) = line.char_indices().nth(COLUMNS) else { return vec![line.to_owned()] };
    // At a blank, but for those that begin the line; else in the middle of a word.
    let at = line[..end].rfind(' ').filter(|at| !line[..*at].trim().is_empty()).unwrap_or(end);
    let inset = (line.len() - line.trim_start().len() + 2).min(COLUMNS / 2);
    let rest = format!("{:inset$}{}", "", line[at..].trim_start());
    std::iter::once(line[..at].to_owned()).chain(broken(&rest)).collect()
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
        assert_eq!(joined.split_whitespace().filter(|word| *word == "32").count(), 5);
        assert_eq!(joined.matches('x').count(), 80);
    }
}
