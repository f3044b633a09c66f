//! Figures as words, the same in every panel.

use crate::app::Answer;
use crate::ui::theme::Theme;
use shardscope_engine::evaluate::{Activity, ModelPart};
use shardscope_engine::model::Model;
use shardscope_engine::units::{Bytes, Quantity, Seconds, rounded_percent, significant, thousands};
use shardscope_report::figures::{Figure, RunsIn};

pub(super) use shardscope_engine::units::counted as count;

/// Columns that the names of launchers have at least: `accelerate +2`.
pub(super) const LEAST_LAUNCHERS: usize = 13;

/// The launchers that run a plan: as many names as there is room for, and how many more there are.
pub(super) fn launchers(names: &[&str], room: usize) -> String {
    let most_first = (1..=names.len()).rev();
    let mut shorter = most_first.map(|shown| match names.len() - shown {
        0 => names.join(", "),
        more => format!("{} +{more}", names[..shown].join(", ")),
    });
    shorter.find(|text| text.len() <= room).unwrap_or_else(|| RunsIn::joined(&names[..names.len().min(1)]))
}

/// A figure of a map, three digits, or all of them before the point: `57.1`, `738,697`.
pub(super) fn figure(value: f64) -> String {
    if value.abs() < 999.5 { significant(value, 3) } else { thousands(value) }
}

/// An activity in words: `backward, layer 43`, with the kind of the layer where not all of the model are alike.
pub(super) fn activity(activity: Activity, model: &Model) -> String {
    let kind = activity.kind.name();
    let apart = || {
        let mixed = Some(model).filter(|model| model.is_mixed());
        mixed.map_or_else(String::new, |model| format!(" ({})", model.kind(activity.layer).name(model)))
    };
    match activity.part {
        ModelPart::Layer => format!("{kind}, layer {}{}", activity.layer, apart()),
        ModelPart::Attention => format!("{kind}, attention of layer {}{}", activity.layer, apart()),
        ModelPart::Mlp => format!("{kind}, MLP of layer {}{}", activity.layer, apart()),
        ModelPart::Experts => format!("{kind}, experts of layer {}{}", activity.layer, apart()),
        ModelPart::Embedding => format!("{kind}, embedding"),
        ModelPart::Head => format!("{kind}, head"),
        ModelPart::Model => kind.to_owned(),
    }
}

/// A moment, with as many digits as tell apart two that are a tenth to a hundredth of a window apart: `17.886 s` in a
/// window of 30 ms.
pub(super) fn moment(at: Seconds, (from, to): (Seconds, Seconds)) -> String {
    let place = |time: Seconds| libm::floor(libm::log10(time.get().abs()));
    let digits = place(at) - place(to - from) + 2.0;
    at.rounded(if digits.is_finite() { digits.clamp(3.0, 12.0) as usize } else { 3 })
}

/// From when to when, with the unit once if it is the same: `17.880 – 17.910 s`.
pub(super) fn window((from, to): (Seconds, Seconds), theme: Theme) -> String {
    let [begin, end] = [from, to].map(|at| moment(at, (from, to)));
    let unit = end.find(' ').map_or("", |blank| &end[blank..]);
    let begin = if from == Seconds::ZERO { "0" } else { begin.strip_suffix(unit).unwrap_or(&begin) };
    format!("{begin} {} {end}", theme.glyphs().to)
}

/// Two sizes in the same unit: `41.2/64.0 GiB`.
pub(super) fn of_capacity(used: Bytes, capacity: Bytes) -> String {
    format!("{}/{} GiB", used.in_gib(), capacity.in_gib())
}

/// The global batch that all candidates of something keep: `batch 1,024 kept`.
pub(super) fn kept(sequences: f64) -> String {
    format!("batch {} kept", thousands(sequences))
}

/// The share of the step that is lost to transfers, where there is any: `29 %`.
pub(super) fn lost_to_transfers(answer: &Answer) -> Option<String> {
    let lost = Figure::LostToTransfers.amount(&answer.subject())?.value;
    let share = lost / answer.evaluation.summary.step_time.get();
    (share >= 0.0005).then(|| rounded_percent(share))
}

/// A relative change: `−36 %`, `+5 %`.
pub(super) fn change(from: f64, to: f64, theme: Theme) -> String {
    let change = to / from - 1.0;
    let sign = if change < 0.0 { theme.glyphs().minus } else { "+" };
    format!("{sign}{}", rounded_percent(change.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_engine::evaluate::TaskKind;
    use shardscope_engine::model::AttentionWindow;

    #[test]
    fn launchers_that_have_no_room_are_counted() {
        let three = ["accelerate", "fsdp2", "hf-trainer"];
        assert_eq!(launchers(&three, 29), "accelerate, fsdp2, hf-trainer");
        assert_eq!(launchers(&three, 28), "accelerate, fsdp2 +1");
        assert_eq!(launchers(&three, 13), "accelerate +2");
        assert_eq!(launchers(&three[..1], 13), "accelerate");
        assert_eq!(launchers(&[], 13), "none known");
    }

    #[test]
    fn an_activity_names_its_layer_if_it_has_one() {
        let backward = Activity { kind: TaskKind::Backward, part: ModelPart::Layer, layer: 43, micro_batch: 1 };
        let mut model = Model::dense(80, 1024, 8);
        assert_eq!(activity(backward, &model), "backward, layer 43");
        assert_eq!(activity(Activity { part: ModelPart::Head, ..backward }, &model), "backward, head");
        let update = Activity { kind: TaskKind::Optimizer, part: ModelPart::Model, ..backward };
        assert_eq!(activity(update, &model), "optimizer");
        // Layers 3, 7, 11 and so on, 43 among them, see everything.
        model.window = Some(AttentionWindow { size: 64, full_every: Some(4), ..AttentionWindow::default() });
        assert_eq!(activity(backward, &model), "backward, layer 43 (full attention)");
        assert_eq!(activity(Activity { layer: 42, ..backward }, &model), "backward, layer 42 (window)");
    }

    #[test]
    fn a_moment_has_the_digits_that_its_window_asks_for() {
        let said = |at: f64, from: f64, to: f64| moment(Seconds::new(at), (Seconds::new(from), Seconds::new(to)));
        // 17.8 s and 17.9 s would be all of a window of 30 ms.
        assert_eq!(said(17.8862, 17.88, 17.91), "17.886 s");
        assert_eq!(said(17.8862, 0.0, 20.0), "17.9 s", "no less than three digits");
        assert_eq!(said(17.8862, 17.1, 18.0), "17.89 s", "of 0.9 s a hundredth is told apart");
        assert_eq!(said(17.8862, 17.0, 18.0), "17.9 s", "of 1 s a tenth");
        assert_eq!(said(0.0, 0.0, 0.001), "0 s");
        assert_eq!(said(1.0, 1.0, 1.0), "1.00 s", "a window without length");
    }

    #[test]
    fn a_window_names_its_unit_once() {
        let theme = Theme::default();
        let said = |from: f64, to: f64| window((Seconds::new(from), Seconds::new(to)), theme);
        let to = theme.glyphs().to;
        assert_eq!(said(17.88, 17.91), format!("17.880 {to} 17.910 s"));
        assert_eq!(said(0.0, 2.7), format!("0 {to} 2.70 s"));
        assert_eq!(said(0.0, 0.05), format!("0 {to} 50.0 ms"));
        assert_eq!(said(0.5, 2.7), format!("500 ms {to} 2.70 s"));
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
}
