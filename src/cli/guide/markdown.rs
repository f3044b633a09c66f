//! Markdown as plain text on 80 columns: paragraphs filled, tables aligned, code as it stands. Pictures are left out.
//!
//! Not for any Markdown: it knows what the guide's chapters hold.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::guide::CHAPTERS;
use crate::ui::widgets::text::{width, wrapped};

const WIDTH: usize = 80;
/// Between the columns of a table.
const GAP: &str = "  ";
/// A column in which cells are filled is read well from here on.
const FILLED: usize = 26;
const INDENT: &str = "    ";

/// The text of a document.
pub(super) fn plain(markdown: &str) -> String {
    let mut page = PlainText::default();
    Parser::new_ext(markdown, Options::ENABLE_TABLES).for_each(|event| page.take(event));
    page.text
}

/// The text written so far, and the state of the reader.
#[derive(Default)]
struct PlainText {
    text: String,
    /// Words of the paragraph, heading, cell or code block.
    words: String,
    /// The numbers of the lists around it; none for bullets.
    lists: Vec<Option<u64>>,
    /// The mark before the first line of an item.
    marker: Option<String>,
    rows: Vec<Vec<String>>,
    link: Option<String>,
    in_picture: bool,
}

impl PlainText {
    fn take(&mut self, event: Event) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) if !self.in_picture => self.words.push_str(&text),
            Event::Code(code) if !self.in_picture => self.words.extend(["`", &*code, "`"]),
            Event::SoftBreak | Event::HardBreak => self.words.push(' '),
            _ => {}
        }
    }

    fn open(&mut self, tag: Tag) {
        match tag {
            Tag::List(first) => {
                // The words of the item that it stands in.
                self.paragraph();
                self.lists.push(first);
            }
            Tag::Item => {
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.marker = Some(marker);
            }
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            Tag::Link { dest_url, .. } => self.link = Some(dest_url.into_string()),
            Tag::Image { .. } => self.in_picture = true,
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => self.paragraph(),
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::Paragraph | TagEnd::Item => self.paragraph(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap();
            }
            TagEnd::CodeBlock => {
                let code = std::mem::take(&mut self.words);
                self.gap();
                code.lines().for_each(|line| self.line(&format!("{INDENT}{line}")));
                self.gap();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.words);
                self.rows.last_mut().into_iter().for_each(|row| row.push(cell.clone()));
            }
            TagEnd::Table => self.table(),
            TagEnd::Link => {
                let url = self.link.take().unwrap_or_default();
                let chapter =
                    url.split_once(".md").filter(|(file, _)| CHAPTERS.iter().any(|known| known.name == *file));
                match chapter {
                    Some((name, _)) => self.words.extend([" (`guide ", name, "`)"]),
                    None if url.starts_with("https://") => self.words.extend([" (", &url, ")"]),
                    // A file of the project, or another section.
                    None => {}
                }
            }
            TagEnd::Image => self.in_picture = false,
            _ => {}
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line, one at most.
    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn heading(&mut self, level: HeadingLevel) {
        let title = std::mem::take(&mut self.words);
        self.gap();
        self.line(&title);
        match level {
            HeadingLevel::H1 => self.line(&"=".repeat(width(&title))),
            HeadingLevel::H2 => self.line(&"-".repeat(width(&title))),
            _ => {}
        }
        self.gap();
    }

    /// The words that have been read, under the marker of their item.
    fn paragraph(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.trim().is_empty() {
            return;
        }
        let marker = self.marker.take().unwrap_or_else(|| if self.lists.is_empty() { "" } else { "  " }.to_owned());
        let outer = "  ".repeat(self.lists.len().saturating_sub(1));
        let hanging = " ".repeat(width(&marker));
        let room = WIDTH - outer.len() - hanging.len();
        for (index, line) in wrapped(&words, room).iter().enumerate() {
            self.line(&format!("{outer}{}{line}", if index == 0 { &marker } else { &hanging }));
        }
        if self.lists.is_empty() {
            self.gap();
        }
    }

    fn table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let count = rows.first().map_or(0, Vec::len);
        let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max();
        let mut widths: Vec<usize> = (0..count).filter_map(widest).collect();
        let all = widths.iter().map(|width| width + GAP.len()).sum::<usize>();
        let too_wide = all.saturating_sub(WIDTH + GAP.len());
        let Some(widest) = (0..count).max_by_key(|column| widths[*column]) else { return };
        let words = rows.iter().filter_map(|row| row.get(widest)).flat_map(|cell| cell.split_whitespace());
        let least = words.map(width).max().unwrap_or(0).max(FILLED);
        if too_wide > 0 && widths[widest] < too_wide + least {
            self.records(&rows);
        } else {
            widths[widest] -= too_wide;
            self.columns(&rows, &widths);
        }
        self.gap();
    }

    /// Rows under columns, cells filled to their width.
    fn columns(&mut self, rows: &[Vec<String>], widths: &[usize]) {
        for (index, row) in rows.iter().enumerate() {
            let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| wrapped(cell, *width)).collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let parts = cells.iter().zip(widths).map(|(cell, columns)| {
                    let part = cell.get(line).map_or("", String::as_str);
                    format!("{part}{}", " ".repeat(columns.saturating_sub(width(part))))
                });
                self.line(&parts.collect::<Vec<_>>().join(GAP));
            }
            if index == 0 {
                self.line(&widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join(GAP));
            }
        }
    }

    /// Each row by itself, where columns would be too narrow: its first cell, and under it the others with their heads.
    fn records(&mut self, rows: &[Vec<String>]) {
        let Some((head, rows)) = rows.split_first() else { return };
        for row in rows {
            let cells = head.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
            let cells: Vec<String> = cells.map(|(name, cell)| format!("{name}: {cell}")).collect();
            let name = wrapped(row.first().map_or("", String::as_str), WIDTH);
            let cells = wrapped(&cells.join(" · "), WIDTH - INDENT.len());
            for line in name.into_iter().chain(cells.iter().map(|line| format!("{INDENT}{line}"))) {
                self.line(&line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_filled_and_headings_underlined() {
        let text = "# A title\n\nOne *word* of\nthe [next](search.md#a), see [there](https://example.org) or [here](#b).\n\n## Below\n";
        let shown = "A title\n=======\n\nOne word of the next (`guide search`), see there (https://example.org) or here.\n\nBelow\n-----\n\n";
        assert_eq!(plain(text), shown);
    }

    #[test]
    fn items_hang_under_their_markers() {
        let long = "word ".repeat(17);
        let text = format!("1. {long}\n2. two\n   - inner `code`\n\nAfter.\n");
        let filled = "word ".repeat(15);
        let shown = format!("1. {}\n   word word\n2. two\n  - inner `code`\n\nAfter.\n\n", filled.trim_end());
        assert_eq!(plain(&text), shown);
    }

    #[test]
    fn code_stays_as_it_is_and_pictures_and_comments_are_left_out() {
        let text = "Run:\n\n```sh\na  b \\\n    c # *d*\n```\n\n![A picture](a.svg)\n\n<!-- note -->\nEnd.\n";
        assert_eq!(plain(text), "Run:\n\n    a  b \\\n        c # *d*\n\nEnd.\n\n");
    }

    #[test]
    fn the_widest_column_of_a_table_is_filled() {
        let words = |count| ["word"].repeat(count).join(" ");
        // Three columns and a gap of two leave 75: 15 words.
        let text = format!("| Key | What |\n|---|---|\n| `a` | {} |\n| b | |\n", words(20));
        let rule = "-".repeat(75);
        assert_eq!(plain(&text), format!("Key  What\n---  {rule}\n`a`  {}\n     {}\nb\n\n", words(15), words(5)));
        // One column and a gap leave 77.
        let text = format!("| What | n |\n|---|---|\n| {} | 1 |\n", words(20));
        let rule = "-".repeat(77);
        assert_eq!(plain(&text), format!("{:79}n\n{rule}  -\n{:79}1\n{}\n\n", "What", words(15), words(5)));
    }

    #[test]
    fn a_table_too_wide_for_columns_is_a_list_of_records() {
        // 9 + 2 and 50 + 2 columns leave 17 for the last one.
        let (cell, last) = ("x".repeat(50), "a rather long last cell");
        let text = format!("| In files | Flag | What |\n|---|---|---|\n| `plan.tp` | {cell} | {last} |\n");
        let shown = format!("`plan.tp`\n    Flag: {cell} · What: a rather\n    long last cell\n\n");
        assert_eq!(plain(&text), shown);
    }
}
