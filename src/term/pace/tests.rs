use super::*;

#[test]
fn a_held_key_keeps_the_panels_waiting() {
    let (mut held, start) = (HeldKey::new(false), Instant::now());
    let at = |millis| start + Duration::from_millis(millis);
    held.press(at(0));
    assert_eq!(held.left(at(0)), Duration::ZERO, "one key is answered at once");
    held.press(at(400));
    assert_eq!(held.left(at(400)), Duration::ZERO, "so is one that comes later");
    held.press(at(433));
    assert_eq!(held.left(at(433)), REST);
    held.press(at(466));
    assert_eq!(held.left(at(500)), Duration::from_millis(66), "100 ms from 466 on");
    assert_eq!(held.left(at(600)), Duration::ZERO);
    let mut thrifty = HeldKey::new(true);
    thrifty.press(at(0));
    assert_eq!(thrifty.left(at(0)), REST, "over a slow line they always wait");
}

#[test]
fn progress_is_drawn_at_once_and_then_after_each_pause() {
    let (mut progress, start) = (Progress::new(Duration::from_millis(100)), Instant::now());
    let at = |millis| start + Duration::from_millis(millis);
    assert_eq!(progress.left(at(0)), None, "nothing was found");
    progress.found(at(0));
    assert_eq!(progress.left(at(0)), Some(Duration::ZERO));
    progress.drawn(at(0));
    progress.found(at(10));
    progress.found(at(30));
    assert_eq!(progress.left(at(30)), Some(Duration::from_millis(70)), "100 ms after the first frame");
    progress.drawn(at(100));
    assert_eq!(progress.left(at(100)), None);
    progress.drawn(at(150));
    progress.found(at(190));
    assert_eq!(progress.left(at(190)), Some(Duration::from_millis(10)), "the frame at 150 showed nothing new");
}
