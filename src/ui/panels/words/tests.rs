//! Figures as words.

use super::*;
use crate::evaluate::Kind;

#[test]
fn an_activity_names_its_layer_if_it_has_one() {
    let backward = Activity { kind: Kind::Backward, part: Part::Layer, layer: 43, micro_batch: 1 };
    assert_eq!(activity(backward), "backward, layer 43");
    assert_eq!(activity(Activity { part: Part::Head, ..backward }), "backward, head");
    assert_eq!(activity(Activity { kind: Kind::Optimizer, part: Part::Model, ..backward }), "optimizer");
}

#[test]
fn sizes_share_a_unit() {
    let gib = |count: f64| Bytes::new(count * 1_073_741_824.0);
    assert_eq!(of_capacity(gib(41.2), gib(64.0)), "41.2/64.0 GiB");
}

#[test]
fn counts_stay_short() {
    let words: Vec<String> = [9420.0, 919_804.0, 999_900.0, 1_166_156.0, 300e9, 15e12].map(count).into();
    assert_eq!(words, ["9,420", "920k", "1.00M", "1.17M", "300B", "15.0T"]);
}

#[test]
fn a_change_has_a_sign() {
    // 6.84 / 10.71 - 1 = -0.361; 105 / 100 - 1 = 0.05.
    let theme = Theme::default();
    assert_eq!(change(10.71, 6.84, theme), format!("{}36 %", theme.glyphs().minus));
    assert_eq!(change(100.0, 105.0, theme), "+5.0 %");
}
