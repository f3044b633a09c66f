//! The values beside the axes, and what curves are drawn with.

use super::axes::round_values;
use super::*;
use crate::config::Markers;
use crate::ui::caps::Caps;

/// 540 to 610: a step of 20, the first above a fifth of 70, gives 540, 560, 580, 600.
#[test]
fn a_narrow_range_has_labels_too() {
    let labels = |low, high| round_values(low, high).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
    assert_eq!(labels(540.0, 610.0), ["540", "560", "580", "600"]);
    assert_eq!(labels(0.93, 1.07), ["0.95", "1.00", "1.05"]);
    assert_eq!(labels(3.0, 60.0), ["5", "10", "20", "50"]);
    assert!(labels(5.0, 5.0).len() <= 1);
}

/// 312 to 60,000 has two powers of ten, which say too little; 3 to 60,000 has four.
#[test]
fn a_wide_range_is_labelled_over_all_its_height() {
    let labels = |low, high| round_values(low, high).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
    assert_eq!(labels(312.0, 60_000.0), ["500", "1,000", "2,000", "5,000", "10,000", "20,000", "50,000"]);
    assert_eq!(labels(3.0, 60_000.0), ["10", "100", "1,000", "10,000"]);
}

/// What a line from the lower left to the upper right is drawn with.
fn drawn(caps: Caps) -> Vec<char> {
    let curve = Curve { mark: 'o', tone: Tone::Blue, name: "", points: vec![(1.0, 1.0), (100.0, 100.0)] };
    let theme = Theme::new(caps);
    let chart = LogLog { theme, curves: vec![curve], places: vec![1.0, 10.0, 100.0], cursor: 1, ..LogLog::default() };
    let mut buf = Buffer::empty(Rect::new(0, 0, 40, 12));
    (&chart).render(buf.area, &mut buf);
    let mut marks: Vec<char> = buf.content.iter().filter_map(|cell| cell.symbol().chars().next()).collect();
    marks.retain(|mark| !mark.is_ascii_alphanumeric() && !" |│".contains(*mark));
    marks.sort_unstable();
    marks.dedup();
    marks
}

#[test]
fn curves_are_drawn_with_the_markers_that_are_asked_for() {
    let with = |markers| drawn(Caps { markers, ..Caps::default() });
    let braille = with(Markers::Braille);
    assert!(!braille.is_empty() && braille.iter().all(|mark| ('\u{2801}'..='\u{28ff}').contains(mark)), "{braille:?}");
    let block = with(Markers::Block);
    assert!(!block.is_empty() && block.iter().all(|mark| "▀▄█".contains(*mark)), "{block:?}");
    assert_eq!(with(Markers::Dot), ['\u{2022}']);
    assert_eq!(with(Markers::Ascii), ['.']);
    assert_eq!(drawn(Caps { ascii: true, ..Caps::default() }), ['.'], "ASCII wins");
}
