use std::num::NonZero;

use proptest::prelude::*;
use ratatui::layout::Rect;
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Block, Widget};

use super::*;

fn screen(lines: &[Line<'_>]) -> Buffer {
    Buffer::with_lines(lines.to_vec())
}

#[test]
fn text_keeps_the_rows_and_cuts_blanks_at_their_end() {
    assert_eq!(text(&screen(&[Line::from("a  b   "), Line::from("   "), Line::from(" 流c")])), "a  b\n\n 流c\n");
    assert_eq!(text(&Buffer::empty(Rect::ZERO)), "");
}

#[test]
fn ansi_switches_only_where_the_style_changes() {
    let line = Line::from(vec!["ab".red(), "cd".bold(), "e".on_yellow().reversed(), " f  ".into()]);
    assert_eq!(ansi(&screen(&[line])), "\x1b[0;31mab\x1b[0;1mcd\x1b[0;7;43me\x1b[0m f\n");
}

#[test]
fn ansi_knows_every_kind_of_colour() {
    let colors = [
        (Color::Rgb(1, 2, 3), "38;2;1;2;3"),
        (Color::Indexed(200), "38;5;200"),
        (Color::Cyan, "36"),
        (Color::DarkGray, "90"),
        (Color::White, "97"),
    ];
    for (color, code) in colors {
        let line = Line::from("x").style(Style::new().fg(color));
        assert_eq!(ansi(&screen(&[line])), format!("\x1b[0;{code}mx\x1b[0m\n"));
    }
}

#[test]
fn ansi_reads_back_to_the_same_screen() {
    let line = Line::from(vec!["ab".light_blue(), " ".on_red(), "流".italic().underlined(), "x".into()]);
    let mut parser = vt100::Parser::new(NonZero::new(2).unwrap(), NonZero::new(10).unwrap(), 0);
    parser.process(ansi(&screen(&[line])).as_bytes());
    let cell = |column| parser.screen().cell(0, column).cloned().unwrap();
    assert_eq!(parser.screen().contents(), "ab 流x");
    assert_eq!(cell(0).fgcolor(), vt100::Color::Idx(12));
    assert_eq!(cell(2).bgcolor(), vt100::Color::Idx(1));
    assert!(cell(3).italic() && cell(3).underline() && !cell(5).underline());
}

#[test]
fn svg_draws_text_grounds_and_escapes() {
    let picture = svg(&screen(&[Line::from(vec!["a<b&c".bold(), " ".into(), "7".black().on_yellow()])]), false);
    assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("font-weight=\"bold\">a&lt;b&amp;c</text>"));
    // 7 columns of 8.4 and twice the margin of 10 are 78.8; xterm's yellow is cdcd00.
    assert!(picture.contains("width=\"79\"") && picture.contains("fill=\"#cdcd00\""));
}

#[test]
fn svg_draws_frames_and_blocks_as_shapes() {
    let mut buf = Buffer::empty(Rect::new(0, 0, 6, 3));
    Block::bordered().render(buf.area, &mut buf);
    buf.set_string(1, 1, "██▒▌", Style::new());
    let picture = svg(&buf, false);
    assert!(!picture.contains("<text"), "{picture}");
    // Two full blocks are one rectangle of 2 x 8.4 pixels, one cell in from the margin.
    assert!(picture.contains("<rect x=\"18.4\" y=\"27.0\" width=\"16.8\" height=\"17.0\""), "{picture}");
    assert!(picture.contains("fill-opacity=\"0.5\""));
}

#[test]
fn svg_has_a_light_and_a_dark_ground() {
    let buf = screen(&[Line::from("x".reversed())]);
    let (dark, light) = (svg(&buf, false), svg(&buf, true));
    assert_ne!(dark, light);
    // Reversed: the letter takes the paper's colour.
    assert!(light.contains("fill=\"#fbfbfa\">x") && dark.contains("fill=\"#121418\">x"));
}

proptest! {
    #[test]
    fn any_screen_exports(rows in proptest::collection::vec("\\PC{0,12}", 0..5), light: bool) {
        let buf = screen(&rows.iter().map(|row| Line::from(row.as_str())).collect::<Vec<_>>());
        prop_assert_eq!(text(&buf).lines().count(), usize::from(buf.area.height));
        prop_assert_eq!(ansi(&buf), text(&buf));
        let picture = svg(&buf, light);
        let read = roxmltree::Document::parse(&picture).expect("XML");
        let words: String = read.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text()).collect();
        // Blocks and frames are shapes.
        let is_drawn = |c: char| matches!(c, '\u{2500}'..='\u{259f}');
        let plain = |said: String| said.replace(|c: char| c.is_whitespace() || is_drawn(c), "");
        prop_assert_eq!(plain(words), plain(text(&buf)).replace(shardscope_engine::text::is_hidden, "\u{fffd}"));
    }
}
