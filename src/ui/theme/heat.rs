//! The ramp of the heatmap: dark to light, monotone in lightness at every depth.

use ratatui::style::Color;

use crate::ui::caps::Depth;

/// Cividis in the fixed 256 colours, picked by hand: mapping it to the nearest colours turns its lightness back four
/// times. Each step is lighter than the one before by more than 3 in CIE L*.
pub(super) const LADDER: [u8; 9] = [60, 242, 243, 244, 245, 144, 185, 221, 227];

/// The colour at `share` between worst (0) and best (1).
pub(super) fn color(depth: Depth, share: f64) -> Color {
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    if depth == Depth::True {
        let colour = colorous::CIVIDIS.eval_continuous(share);
        return Color::Rgb(colour.r, colour.g, colour.b);
    }
    let last = LADDER.len() - 1;
    Color::Indexed(LADDER[((share * LADDER.len() as f64) as usize).min(last)])
}
