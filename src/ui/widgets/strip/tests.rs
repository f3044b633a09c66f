use super::*;
use crate::ui::caps::Caps;

fn idle(from: f64, to: f64, cause: IdleCause) -> Stall {
    Stall { rank: 0, cause, start: Seconds::new(from), end: Seconds::new(to) }
}

fn drawn(strip: &Strip, width: u16) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
    strip.render(buffer.area, &mut buffer);
    buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect()
}

fn theme() -> Theme {
    Theme::new(Caps::default())
}

#[test]
fn each_column_shows_what_most_of_its_time_goes_into() {
    let waits = [idle(2.0, 4.0, IdleCause::Communication), idle(6.0, 7.0, IdleCause::Bubble)];
    let strip = Strip::new(theme(), &waits, Seconds::new(8.0), Seconds::new(10.0));
    assert_eq!(drawn(&strip, 10), "██!!██╌█  ");
    assert_eq!(drawn(&strip, 20), "████!!!!████╌╌██    ");
}

#[test]
fn marks_add_up_to_the_time_also_where_each_wait_is_shorter_than_a_column() {
    // Forty waits of a quarter of a second in forty seconds: ten of forty columns.
    let waits: Vec<Stall> =
        (0..40).map(|at| idle(f64::from(at), f64::from(at) + 0.25, IdleCause::Communication)).collect();
    let strip = Strip::new(theme(), &waits, Seconds::new(40.0), Seconds::new(40.0));
    assert_eq!(drawn(&strip, 40).matches('!').count(), 10);
    assert_eq!(drawn(&strip, 40).matches('█').count(), 30);
}

#[test]
fn what_is_folded_counts_as_often_as_it_repeats() {
    // One of four seconds is waited for; the stretch of four happens four times.
    let waits = [idle(0.0, 1.0, IdleCause::Communication)];
    let folded = [Folded { rank: 0, start: Seconds::ZERO, end: Seconds::new(4.0), times: 3 }];
    let strip = Strip::new(theme(), &waits, Seconds::new(16.0), Seconds::new(16.0));
    assert_eq!(drawn(&strip, 16).matches('!').count(), 1);
    assert_eq!(drawn(&Strip { folded: &folded, ..strip }, 16).matches('!').count(), 4);
}

#[test]
fn nothing_is_drawn_of_a_step_without_length() {
    for step in [0.0, f64::NAN, -1.0] {
        let strip = Strip::new(theme(), &[], Seconds::new(step), Seconds::new(1.0));
        assert_eq!(drawn(&strip, 4), "    ");
    }
}
