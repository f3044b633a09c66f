//! Lines and sections of a text report.

/// The most characters of a line, where its words allow it.
const WIDTH: usize = 100;

/// A line of a section: what, and how much.
pub(super) fn row(name: &str, value: String) -> (String, String) {
    (name.to_owned(), value)
}

pub(super) struct Lines(pub(super) String);

impl Lines {
    pub(super) fn line(&mut self, text: &str) {
        self.0.push_str(text.trim_end());
        self.0.push('\n');
    }

    /// `note: ` and a sentence, whose further lines are indented.
    pub(super) fn note(&mut self, note: &str) {
        let label = "note: ";
        for (index, part) in wrapped(note, WIDTH - label.len()).into_iter().enumerate() {
            let before = if index == 0 { label } else { "" };
            self.line(&format!("{before:width$}{part}", width = label.len()));
        }
    }

    pub(super) fn section(&mut self, title: &str, rows: &[(String, String)]) {
        self.line("");
        self.line(title);
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, value) in rows {
            let names = std::iter::once(name.as_str()).chain(std::iter::repeat(""));
            for (name, part) in names.zip(wrapped(value, WIDTH.saturating_sub(width + 4))) {
                self.line(&format!("  {name:<width$}  {part}"));
            }
        }
    }
}

/// A text in lines of at most `room` characters, cut between words.
fn wrapped(mut text: &str, room: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    while let Some((end, next)) = text.char_indices().nth(room) {
        let space = if next == ' ' { Some(end) } else { text[..end].rfind(' ') };
        let Some(cut) = space.filter(|cut| !text[..*cut].trim().is_empty()) else { break };
        lines.push(&text[..cut]);
        text = text[cut..].trim_start();
    }
    lines.push(text);
    lines
}
