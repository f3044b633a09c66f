//! Figures as words, the same in every panel.

use crate::ui::theme::Theme;
use shardscope_engine::evaluate::{Activity, ModelPart};
use shardscope_engine::model::Model;
use shardscope_engine::units::{Bytes, Quantity, Seconds, rounded_percent, significant, thousands};

pub(super) use shardscope_engine::units::counted as count;

/// A figure of a map, three digits, or all of them before the point: `57.1`, `738,697`.
pub(super) fn figure(value: f64) -> String {
    if value.abs() < 999.5 { significant(value, 3) } else { thousands(value) }
}

/// What runs: `backward, layer 43`, with the kind of the layer where not all of the model are alike.
pub(super) fn activity(activity: Activity, model: &Model) -> String {
    let kind = activity.kind.name();
    let apart = || match model.is_mixed() {
        true => format!(" ({})", model.kind(activity.layer).name(model)),
        false => String::new(),
    };
    match activity.part {
        ModelPart::Layer => format!("{kind}, layer {}{}", activity.layer, apart()),
        ModelPart::Attention => format!("{kind}, attention of layer {}{}", activity.layer, apart()),
        ModelPart::Mlp => format!("{kind}, MLP of layer {}{}", activity.layer, apart()),
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

/// A relative change: `−36 %`, `+5 %`.
pub(super) fn change(from: f64, to: f64, theme: Theme) -> String {
    let change = to / from - 1.0;
    let sign = if change < 0.0 { theme.glyphs().minus } else { "+" };
    format!("{sign}{}", rounded_percent(change.abs()))
}

#[cfg(test)]
mod tests;
