//! What a stack asks of a calibration.

use crate::presets::Library;
use crate::problem::Problem;

#[test]
fn a_loss_needs_its_time_and_what_its_logits_hold() {
    let library = Library::embedded();
    let stack = library.stack("default").expect("a preset");
    let mut calibration = (*library.calibration(&stack.calibration).expect("a preset")).clone();
    assert_eq!(calibration.lacks(&stack), []);
    calibration.logits_held.remove(&stack.loss);
    let lacks = calibration.lacks(&stack);
    let [Problem { field, what, .. }] = &lacks[..] else { panic!("{lacks:?}") };
    assert_eq!(field, "loss");
    let (wrong, names) = what.split_once(": ").expect("names follow");
    assert!(wrong.contains(&stack.loss) && !names.split(", ").any(|name| name == stack.loss), "{what}");
}
