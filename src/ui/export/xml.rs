//! XML, for pictures in SVG: tags are ours, and whatever stands in attributes and between tags is escaped. Not for reading
//! it.

use std::fmt::Display;

use shardscope_engine::text::{REPLACEMENT, is_hidden};

/// A document that grows from top to bottom.
#[derive(Debug, Default)]
pub struct XmlText(String);

impl XmlText {
    /// Code of our own, as it stands.
    pub fn code(&mut self, code: &'static str) {
        self.0.push_str(code);
    }

    /// Attributes of the tag that is open.
    pub fn attributes(&mut self, attributes: &[(&'static str, &dyn Display)]) {
        for (name, value) in attributes {
            self.code(" ");
            self.code(name);
            self.code("=\"");
            self.text(&value.to_string());
            self.code("\"");
        }
    }

    /// Text, whatever is in it.
    pub fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.code("&amp;"),
                '<' => self.code("&lt;"),
                '>' => self.code("&gt;"),
                '"' => self.code("&quot;"),
                // Most of these no XML may hold, however it is written.
                c if is_hidden(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => self.0.push(REPLACEMENT),
                c => self.0.push(c),
            }
        }
    }

    /// The whole document.
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_is_text() {
        let mut xml = XmlText::default();
        let hostile = "a\"b' <script>&amp;]]>\u{0}\u{ffff}";
        xml.code("<svg><text");
        xml.attributes(&[("y", &1.5), ("x", &hostile)]);
        xml.code(">");
        xml.text(hostile);
        xml.code("</text></svg>");
        let text = xml.finish();
        let read = roxmltree::Document::parse(&text).unwrap();
        let element = read.root_element().first_element_child().unwrap();
        let said = "a\"b' <script>&amp;]]>\u{fffd}\u{fffd}";
        assert_eq!((element.text(), element.attribute("x")), (Some(said), Some(said)), "{text}");
    }
}
