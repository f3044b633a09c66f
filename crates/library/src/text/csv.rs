//! Lines of CSV. A spreadsheet computes what begins with `=`, `+`, `-` or `@`, in quotes or not; text that does gets an
//! apostrophe before it, which spreadsheets take for "this is text", and numbers stay as they are. Not for reading tables.

use std::borrow::Cow;
use std::fmt::Display;

use shardscope_engine::text::one_line;

/// A cell as it stands in a table. One that holds a comma or a quote stands in quotes, in which a quote is two (RFC 4180).
#[derive(Debug, Clone, Default)]
pub struct CsvCell<'a>(Cow<'a, str>);

impl<'a> CsvCell<'a> {
    /// Text, wherever it comes from, in one line.
    pub fn text(text: &'a str) -> Self {
        let cell = match one_line(text) {
            Cow::Borrowed(line) => inert(line),
            Cow::Owned(line) => Cow::Owned(inert(&line).into_owned()),
        };
        let quoted = || Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\"")));
        Self(if cell.contains(',') || cell.contains('"') { quoted() } else { cell })
    }

    /// The cell without the text that it was made of.
    pub fn into_owned(self) -> CsvCell<'static> {
        CsvCell(Cow::Owned(self.0.into_owned()))
    }

    /// A number.
    pub fn number(number: impl Display) -> Self {
        Self(Cow::Owned(number.to_string()))
    }
}

/// A line of cells.
pub fn csv_line<'a>(cells: impl IntoIterator<Item = CsvCell<'a>>) -> String {
    let mut line = String::with_capacity(LINE);
    for (place, CsvCell(cell)) in cells.into_iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        line.push_str(&cell);
    }
    line + "\n"
}

/// Bytes that most lines fit into.
const LINE: usize = 256;

/// Text as no spreadsheet computes it.
pub fn inert(text: &str) -> Cow<'_, str> {
    // One that begins with apostrophes already gets one more, so that taking one away gives the text again.
    if is_formula(text.trim_start_matches('\'')) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// The text that [`inert`] was given.
pub fn meant(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| is_formula(rest.trim_start_matches('\''))).unwrap_or(cell)
}

/// Whether a spreadsheet would compute a cell: it begins as formulas do and is no number.
pub fn is_formula(cell: &str) -> bool {
    // Spreadsheets in Chinese and Japanese take the wide forms too.
    let begins = matches!(cell.chars().next(), Some('=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠'));
    begins && cell.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_formula_and_reads_back_and_numbers_stay() {
        for text in ["=cmd|' /C calc'!A0", "+1+1", "-1-1", "@SUM(1)", "＝1", "'=1+1", "'quoted'", "it's", "node", ""] {
            let cell = inert(text);
            assert!(!is_formula(&cell), "{cell}");
            assert_eq!(meant(&cell), text);
        }
        let cells = [CsvCell::text("=a,b"), CsvCell::text("-1"), CsvCell::number(-0.5), CsvCell::text("x\ny")];
        assert_eq!(csv_line(cells), "\"'=a,b\",-1,-0.5,x y\n");
        assert_eq!(csv_line([CsvCell::default(), CsvCell::text("8\" disk")]), ",\"8\"\" disk\"\n");
    }
}
