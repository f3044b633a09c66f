//! One line of the timeline.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::scale::Scale;
use crate::ui::caps::Depth;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::{columns, put, width};
use shardscope_engine::evaluate::{Activity, Folded, IdleCause, InOrder, ModelPart, Span, Stall, TaskKind};
use shardscope_engine::model::Model;
use shardscope_engine::units::Seconds;

/// The form of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrackForm {
    /// Each span by itself, labelled with its layer.
    #[default]
    Spans,
    /// A pipeline rank's visits of its stages, labelled with their micro-batches, and what it waits for.
    Visits,
}

/// One line of the timeline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Track<'a> {
    /// The name before it, cut where there is no room.
    pub name: String,
    /// Its spans by start time; they don't overlap.
    pub spans: &'a [Span],
    /// Stretches in which compute stalls, by start time.
    pub idle: &'a [Stall],
    /// Stretches that repeat without being listed again.
    pub folded: &'a [Folded],
    pub form: TrackForm,
    /// Whether labels of spans name their micro-batches.
    pub turns: bool,
    /// The model, where labels of spans name the kinds of its layers.
    pub model: Option<&'a Model>,
    /// Whether it has the keys.
    pub here: bool,
}

/// From this many columns on a span is drawn by itself.
const ALONE: f64 = 3.0;

/// The sum of the narrow spans of a column.
#[derive(Debug, Clone, Copy, Default)]
struct Density {
    /// Share of the column's time in which something runs.
    busy: f64,
    /// The kind that takes most of it.
    kind: TaskKind,
}

impl Density {
    fn new(shares: &[f64; TaskKind::ALL.len()]) -> Self {
        let most = shares.iter().zip(TaskKind::ALL).reduce(|most, next| if next.0 > most.0 { next } else { most });
        Self { busy: shares.iter().sum(), kind: most.map_or(TaskKind::Forward, |(_, kind)| kind) }
    }
}

impl Track<'_> {
    /// The spans that touch a window.
    pub(super) fn within(&self, window: (Seconds, Seconds)) -> &[Span] {
        self.spans.within(window)
    }

    /// The stretches in which compute stalls that touch a window.
    pub(super) fn stalls(&self, window: (Seconds, Seconds)) -> &[Stall] {
        self.idle.within(window)
    }

    pub(super) fn draw_spans(&self, theme: Theme, scale: Scale, plot: Rect, buf: &mut Buffer) {
        let alone = |scale: Scale, span: &Span| scale.at(span.end) - scale.at(span.start) >= ALONE;
        // Wide spans are drawn over the shades of the narrow ones, so these count without them.
        let shares = scale.shares(self.folded, &|scale| {
            let mut shares = vec![[0.0; TaskKind::ALL.len()]; scale.columns];
            for span in self.within(scale.window).iter().filter(|span| !alone(scale, span)) {
                let kind = TaskKind::ALL.iter().position(|kind| *kind == span.activity.kind).unwrap_or(0);
                scale.cover(span.start, span.end, |column, share| shares[column][kind] += share);
            }
            shares
        });
        let density: Vec<Density> = shares.iter().map(Density::new).collect();
        draw_density(&density, theme, plot, buf);
        self.draw_bubbles(theme, scale, plot, buf);
        for span in self.within(scale.window).iter().filter(|span| alone(scale, span)) {
            draw_alone(span, &self.labels(span), theme, scale, plot, buf);
        }
    }

    /// The labels of a span, longest first.
    fn labels(&self, span: &Span) -> Vec<String> {
        let kind = self.model.map(|model| model.kind(span.activity.layer).name(model));
        labels(span.activity, self.turns, kind.as_deref())
    }

    fn draw_bubbles(&self, theme: Theme, scale: Scale, plot: Rect, buf: &mut Buffer) {
        let shares = scale.shares(self.folded, &|scale| {
            let mut shares = vec![[0.0]; scale.columns];
            for idle in self.stalls(scale.window).iter().filter(|idle| idle.cause == IdleCause::Bubble) {
                scale.cover(idle.start, idle.end, |column, share| shares[column][0] += share);
            }
            shares
        });
        // Bubbles shorter than a column add up to marks of a column each: so their marks say how long they are.
        let mut due = 0.0;
        for ([share], x) in shares.into_iter().zip(plot.left()..plot.right()) {
            due += share;
            if share > 0.0 && due >= 0.5 {
                due -= 1.0;
                put(buf, x, plot.y, theme.glyphs().bubble, theme.style(Role::Dim));
            }
        }
    }
}

/// Draws the chosen spans, if they are in view: in the colour of text with its label reversed; without colours all reversed.
pub(super) fn highlight(theme: Theme, scale: Scale, (from, to): (Seconds, Seconds), plot: Rect, buf: &mut Buffer) {
    if !(to > scale.window.0 && from < scale.window.1) {
        return;
    }
    let from = columns(scale.at(from).round().min(scale.columns as f64 - 1.0) as usize);
    let length = columns(scale.at(to).round() as usize).saturating_sub(from).max(1);
    let glyphs = theme.glyphs();
    for position in (Rect { x: plot.x + from, width: length, ..plot }).intersection(buf.area).positions() {
        let symbol = buf[position].symbol();
        // Blocks stay blocks, in the colour of text; letters are reversed.
        let filled = glyphs.shades[1..].contains(&symbol) || glyphs.ends.contains(&symbol);
        let style = if filled && theme.caps().depth > Depth::None { Style::new() } else { theme.style(Role::Cursor) };
        buf[position].set_style(Style::reset().patch(style));
    }
}

/// Narrow spans: a shade per column, and over a longer run of one kind its name.
fn draw_density(density: &[Density], theme: Theme, plot: Rect, buf: &mut Buffer) {
    let mut x = plot.x;
    for run in density.chunk_by(|one, other| (one.busy > 0.0, one.kind) == (other.busy > 0.0, other.kind)) {
        let (start, length) = (x, run.len());
        x += columns(length);
        if run[0].busy <= 0.0 {
            continue;
        }
        let fill = theme.span(run[0].kind);
        for (x, cell) in (start..).zip(run) {
            // Rounding may leave a hair between spans that touch.
            put(buf, x, plot.y, theme.shade(cell.busy + 1e-6), fill);
        }
        let (long, short, _) = names(run[0].kind);
        // On its colour the name would look busier than a run that is mostly blank.
        let solid = run.iter().map(|cell| cell.busy).sum::<f64>() >= 0.9 * length as f64;
        let ink = if solid { theme.inside(fill) } else { fill };
        // Three columns of shade on each side, or the name would hide what it names.
        let name = [long, short].into_iter().find(|name| name.len() + 6 <= length);
        if let Some(name) = name {
            write_centred(name, ink, Rect { x: start, width: columns(length), ..plot }, buf);
        } else if let Some(letter) = way(run[0].kind).filter(|_| length >= 3) {
            write_centred(letter, ink, Rect { x: start + columns(length) / 2, width: 1, ..plot }, buf);
        }
    }
}

/// A wide span: its ends where they are in the window, filled, with a label in the middle.
fn draw_alone(span: &Span, labels: &[String], theme: Theme, scale: Scale, plot: Rect, buf: &mut Buffer) {
    let (start, end) = (scale.at(span.start).round() as usize, scale.at(span.end).round() as usize);
    let fill = theme.span(span.activity.kind);
    let [left, right] = theme.glyphs().ends;
    let x = |column: usize| plot.x + columns(column);
    for column in start..end {
        put(buf, x(column), plot.y, theme.shade(1.0), fill);
    }
    let (opens, closes) = (span.start >= scale.window.0, span.end <= scale.window.1);
    if opens {
        put(buf, x(start), plot.y, left, fill);
    }
    if closes {
        put(buf, x(end - 1), plot.y, right, fill);
    }
    let (start, end) = (start + usize::from(opens), end - usize::from(closes));
    let room = end.saturating_sub(start);
    let roomy = labels.iter().find(|label| width(label) + 2 <= room);
    let label = roomy.or_else(|| labels.last().filter(|label| width(label) <= room)).map(String::as_str);
    if let Some(label) = label.or_else(|| way(span.activity.kind).filter(|_| room > 0)) {
        write_centred(label, theme.inside(fill), Rect { x: x(start), width: columns(room), ..plot }, buf);
    }
}

/// Writes a label into the middle of a filled stretch, with a blank on both sides; in a short one it takes all.
fn write_centred(label: &str, style: Style, place: Rect, buf: &mut Buffer) {
    let room = usize::from(place.width);
    // A blank parts the label from the fill.
    let text = if width(label) + 4 <= room { format!(" {label} ") } else { format!("{label:^room$}") };
    let x = place.x + columns((room - width(&text).min(room)) / 2);
    for offset in 0..columns(width(&text)) {
        if let Some(cell) = buf.cell_mut((x + offset, place.y)) {
            cell.reset();
        }
    }
    buf.set_stringn(x, place.y, &text, room, style);
}

/// The labels of an activity, longest first, with its micro-batch where `turns` asks for it, and with the kind of its layer
/// where that is said; a letter alone would say nothing.
pub(super) fn labels(activity: Activity, turns: bool, kind: Option<&str>) -> Vec<String> {
    let (long, short, letter) = names(activity.kind);
    let Activity { part, layer, micro_batch, .. } = activity;
    let half = |name: &str| {
        vec![format!("{long} {name} {layer}"), format!("{short} {name} {layer}"), format!("{letter}{layer}")]
    };
    let mut labels = match part {
        ModelPart::Layer => vec![format!("{long} {layer}"), format!("{short} {layer}"), format!("{letter}{layer}")],
        ModelPart::Attention => half("attention"),
        ModelPart::Mlp => half("MLP"),
        ModelPart::Experts => half("experts"),
        ModelPart::Embedding => vec![format!("{long} embedding"), format!("{short} emb"), short.to_owned()],
        ModelPart::Head => vec![format!("{long} head"), format!("{short} head"), short.to_owned()],
        ModelPart::Model => vec![long.to_owned(), short.to_owned()],
    };
    if let (Some(kind), ModelPart::Layer | ModelPart::Attention | ModelPart::Mlp | ModelPart::Experts) = (kind, part) {
        let with = [format!("{} ({kind})", labels[0]), format!("{} ({kind})", labels[1])];
        labels.splice(0..0, with);
    }
    if turns && activity.kind.computes_layers() {
        let numbered =
            [format!("{}, micro-batch {micro_batch}", labels[0]), format!("{}, mb {micro_batch}", labels[1])];
        labels.splice(0..0, numbered);
    }
    labels
}

/// The letter of a pass of compute, where there is room for no more: without colours nothing else would tell.
pub(super) const fn way(kind: TaskKind) -> Option<&'static str> {
    if kind.computes_layers() { Some(names(kind).2) } else { None }
}

/// The names of a kind, longest first.
pub(super) const fn names(kind: TaskKind) -> (&'static str, &'static str, &'static str) {
    match kind {
        TaskKind::Forward => ("forward", "fwd", "f"),
        TaskKind::ForwardAlone => ("forward alone", "alone", "a"),
        TaskKind::Backward => ("backward", "bwd", "b"),
        TaskKind::BackwardInputs => ("backward, inputs", "bwd-in", "b"),
        TaskKind::BackwardWeights => ("backward, weights", "bwd-w", "w"),
        TaskKind::Optimizer => ("optimizer", "opt", "o"),
        TaskKind::AllGather => ("all-gather", "gather", "g"),
        TaskKind::ReduceScatter => ("reduce-scatter", "reduce", "r"),
        TaskKind::AllReduce => ("all-reduce", "all-red", "ar"),
        TaskKind::AllToAll => ("all-to-all", "a2a", "a2a"),
        TaskKind::PointToPoint => ("point-to-point", "p2p", "p"),
        TaskKind::Copy => ("copy", "copy", "c"),
        TaskKind::Host => ("host", "host", "h"),
        TaskKind::Rollout => ("rollout", "roll", "r"),
    }
}
