use proptest::prelude::*;

use super::*;

fn shown(from: f64, to: f64, columns: usize) -> Vec<(usize, String)> {
    ticks(Seconds::new(from), Seconds::new(to), columns).into_iter().map(|tick| (tick.column, tick.label)).collect()
}

fn expected(pairs: &[(usize, &str)]) -> Vec<(usize, String)> {
    pairs.iter().map(|(column, label)| (*column, (*label).to_string())).collect()
}

#[test]
fn ticks_stand_on_round_moments() {
    // 0.35 s over 100 columns: at least 14 columns a tick are 0.049 s, so one every 0.05 s, 14.3 columns apart.
    assert_eq!(
        shown(1.2, 1.55, 100),
        expected(&[(0, "1.20 s"), (14, "1.25"), (28, "1.30"), (42, "1.35"), (57, "1.40"), (71, "1.45"), (85, "1.50")])
    );
}

#[test]
fn the_unit_follows_the_size_and_is_said_once() {
    // 7 ms over 70 columns: 14 columns are 1.4 ms, so one every 2 ms, 20 columns apart.
    assert_eq!(shown(0.0, 0.007, 70), expected(&[(0, "0 ms"), (20, "2"), (40, "4"), (60, "6")]));
    // 30 s over 60 columns: 14 columns are 7 s, so one every 10 s.
    assert_eq!(shown(0.0, 30.0, 60), expected(&[(0, "0 s"), (20, "10"), (40, "20")]));
}

#[test]
fn a_window_without_length_has_no_ticks() {
    for (from, to) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        assert_eq!(shown(from, to, 80), []);
    }
    assert_eq!(shown(0.0, 1.0, 0), []);
}

proptest! {
    #[test]
    fn ticks_stay_inside_and_apart(from in 0.0..1e4f64, length in 1e-9..1e4f64, columns in 1usize..400) {
        let ticks = ticks(Seconds::new(from), Seconds::new(from + length), columns);
        prop_assert!(ticks.iter().all(|tick| tick.column < columns));
        prop_assert!(ticks.windows(2).all(|pair| pair[1].column >= pair[0].column + ROOM - 1));
        prop_assert!(ticks.len() <= columns / (ROOM - 1) + 1);
    }

    #[test]
    fn any_window_is_survived(from in proptest::num::f64::ANY, to in proptest::num::f64::ANY, columns in 0usize..400) {
        prop_assert!(ticks(Seconds::new(from), Seconds::new(to), columns).len() <= columns);
    }
}
