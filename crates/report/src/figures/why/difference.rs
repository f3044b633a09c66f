//! Why one scenario is faster than another: the largest of the terms that the times of their steps differ in.

use crate::figures::figure::Figure;
use crate::figures::why::facts::FigureSubject;
use shardscope_engine::evaluate::{Evaluation, Summary};
use shardscope_engine::plan::{Plan, Recompute};
use shardscope_engine::scenario::{Layout, Scenario};
use shardscope_engine::units::{Seconds, rounded_percent};

/// A scenario with its evaluation.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Its name (`A`).
    pub name: &'a str,
    pub scenario: &'a Scenario,
    /// Its evaluation, with the trace.
    pub evaluation: &'a Evaluation,
}

/// A part of the step in which two scenarios differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    pub part: Part,
    /// How much longer the second takes for it, for the tokens that a device has in a step of the first.
    pub longer: Seconds,
}

/// A part of the step, by its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Compute,
    /// Compute takes longer beside transfers than alone.
    Slowed,
    /// Compute waits for a transfer on this level.
    Level(String),
    /// Compute waits for copies to and from the host.
    Host,
    /// Compute waits for another pipeline rank.
    Bubble,
    Optimizer,
    /// Launch, host and waits.
    Other,
}

/// Less than this share of a difference is none.
const SAME: f64 = 5e-4;

/// How much more a device of `b` gets done than one of `a`, as a share.
pub fn gain(a: &Summary, b: &Summary) -> f64 {
    b.tokens_per_s_per_device / a.tokens_per_s_per_device - 1.0
}

/// The parts in which the times differ; they add up to the difference of the times.
pub fn terms(a: Side, b: Side) -> Vec<Term> {
    let (one, two) = (parts(a), parts(b));
    // Steps of different batches compare by the token: the second side's times are those for the first one's tokens.
    let scale = per_device(&a.evaluation.summary) / per_device(&b.evaluation.summary);
    let mut found: Vec<Term> = one.into_iter().map(|(part, time)| Term { part, longer: -time }).collect();
    for (part, time) in two {
        let time = time * scale;
        match found.iter_mut().find(|term| term.part == part) {
            Some(term) => term.longer += time,
            None => found.push(Term { part, longer: time }),
        }
    }
    found
}

/// Tokens of a step on one device.
fn per_device(summary: &Summary) -> f64 {
    summary.tokens_per_step / f64::from(summary.devices)
}

fn parts(side: Side) -> Vec<(Part, Seconds)> {
    let Summary { time, traffic, .. } = &side.evaluation.summary;
    let levels = side.scenario.cluster.levels.iter().zip(traffic);
    let mut parts: Vec<(Part, Seconds)> =
        levels.map(|(level, traffic)| (Part::Level(level.name.clone()), traffic.exposed)).collect();
    let slowed = side.evaluation.details.slowed;
    parts.extend([
        (Part::Compute, time.compute - slowed),
        (Part::Slowed, slowed),
        (Part::Host, side.evaluation.summary.host.exposed),
        (Part::Bubble, time.bubble),
        (Part::Optimizer, time.optimizer),
        (Part::Other, time.other),
    ]);
    parts
}

/// The difference in one line: `B is 18 % faster: the gathers stay in the node, 210 ms less exposed on the system
/// level`.
pub fn sentence(a: Side, b: Side) -> String {
    let gain = gain(&a.evaluation.summary, &b.evaluation.summary);
    if gain.abs() < SAME {
        return format!("{} and {} are equally fast", a.name, b.name);
    }
    let faster = gain > 0.0;
    let word = if faster { "faster" } else { "slower" };
    // The reason is what was gained where the second is faster, and what was lost where it is slower.
    let toward = |term: &&Term| if faster { -term.longer.get() } else { term.longer.get() };
    let terms = terms(a, b);
    let largest = terms.iter().max_by(|x, y| toward(x).total_cmp(&toward(y)));
    let why = largest.map_or_else(String::new, |term| {
        let cause = cause(a, b, &term.part, faster).map_or_else(String::new, |cause| format!("{cause}, "));
        format!(": {cause}{}", in_words(term))
    });
    let same = (per_device(&a.evaluation.summary) / per_device(&b.evaluation.summary) - 1.0).abs() < SAME;
    let scaled = if same { String::new() } else { format!(", for a step of {}", a.name) };
    let fit = match [a, b].map(|side| side.evaluation.summary.fits) {
        [true, false] if faster => " but does not fit",
        [true, false] => " and does not fit",
        [false, true] => " and fits",
        _ => "",
    };
    format!("{} is {} {word}{fit}{why}{scaled}", b.name, rounded_percent(gain.abs()))
}

/// The choice between two sizes of a job: which finishes first, is cheaper, takes fewer devices. `None`
/// for jobs of the same size, which [`sentence`] compares.
pub fn choice(a: Side, b: Side) -> Option<String> {
    let (one, two) = (&a.evaluation.summary, &b.evaluation.summary);
    if one.devices == two.devices {
        return None;
    }
    let more = |share: f64, words: [&str; 2]| match share {
        share if share.abs() < SAME => None,
        share => Some(format!("{} {}", rounded_percent(share.abs()), words[usize::from(share < 0.0)])),
    };
    let rate = two.tokens_per_s() / one.tokens_per_s() - 1.0;
    let spent = one.tokens_per_s_per_device / two.tokens_per_s_per_device - 1.0;
    let parts = [
        more(rate, ["more tokens/s", "fewer tokens/s"]),
        more(spent, ["more device-hours", "fewer device-hours"]),
        Some(format!("{} devices instead of {}", two.devices, one.devices)),
    ];
    let [first, cheap, few] = [
        if rate > 0.0 { b.name } else { a.name },
        if spent < 0.0 { b.name } else { a.name },
        if two.devices < one.devices { b.name } else { a.name },
    ];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let best = if first == cheap && cheap == few {
        format!("{first} is better in all three")
    } else {
        format!("{first} finishes first, {cheap} is cheaper, {few} takes fewer devices")
    };
    Some(format!("{best}; {} has {parts}", b.name))
}

/// Which of several that fit finishes first, is the cheapest, takes the least energy and the fewest devices; of what not all
/// have, who lacks it; and which do not fit. `None` of fewer than three, which [`sentence`] and [`choice`] compare.
pub fn verdicts(sides: &[Side]) -> Option<String> {
    if sides.len() < 3 {
        return None;
    }
    let amount = |figure: Figure, side: &Side| {
        let subject = FigureSubject::evaluated(side.scenario, side.evaluation);
        Some(figure.amount(&subject)?.value).filter(|value| value.is_finite())
    };
    let tokens = |side: &Side| side.evaluation.summary.tokens_per_s();
    let (fitting, others): (Vec<&Side>, Vec<&Side>) = sides.iter().partition(|side| side.evaluation.summary.fits);
    let Some(first) = fitting.iter().max_by(|one, other| tokens(one).total_cmp(&tokens(other))) else {
        return Some("None of them fits: search the best plans of each, pin those, and compare them".to_owned());
    };
    let misfits: Vec<&str> = others.iter().map(|side| side.name).collect();
    let misfits = match misfits.as_slice() {
        [] => None,
        [one] => Some(format!("{one} does not fit")),
        many => Some(format!("{} do not fit", many.join(", "))),
    };
    let least = |figure: Figure, words: &str| {
        let known: Vec<(f64, &str)> =
            fitting.iter().filter_map(|side| Some((amount(figure, side)?, side.name))).collect();
        let (_, name) = known.into_iter().min_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let lacks = fitting.iter().filter(|side| amount(figure, side).is_none()).map(|side| side.name);
        let lacks: Vec<&str> = lacks.collect();
        let unknown = if lacks.is_empty() { String::new() } else { format!(" (not known of {})", lacks.join(", ")) };
        Some((name, format!("{words}{unknown}")))
    };
    let verdicts = [
        Some((first.name, "finishes first".to_owned())),
        least(Figure::DaysWithFailures, "finishes first with failures").filter(|(name, _)| *name != first.name),
        least(Figure::Cost, "is the cheapest").or_else(|| least(Figure::DeviceHours, "takes the fewest device-hours")),
        least(Figure::Energy, "takes the least energy"),
        least(Figure::Devices, "takes the fewest devices"),
    ];
    // What is said of one stands together.
    let mut of_each: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, words) in verdicts.into_iter().flatten() {
        match of_each.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.push(words),
            None => of_each.push((name, vec![words])),
        }
    }
    let said = of_each.into_iter().map(|(name, words)| format!("{name} {}", words.join(", ")));
    Some(said.chain(misfits).collect::<Vec<_>>().join("; "))
}

/// What of energy and failures is not known of which scenarios, and what their clusters' files do not state: `energy of A and
/// B: watts_per_device is not stated`.
pub fn unknown(sides: &[Side]) -> Option<String> {
    let lacking = |figure: Figure| {
        let lacks = sides.iter().filter_map(|side| Some((figure.lacks(side.scenario)?.field, side.name)));
        let lacks: Vec<(String, &str)> = lacks.collect();
        let (field, _) = lacks.first()?;
        let names: Vec<&str> = lacks.iter().map(|(_, name)| *name).collect();
        let of = if names.len() < sides.len() { format!(" of {}", names.join(", ")) } else { String::new() };
        Some(format!("{}{of}: {} is not stated", figure.label(), field.trim_start_matches("cluster.")))
    };
    let parts: Vec<String> = [Figure::Energy, Figure::DaysWithFailures].into_iter().filter_map(lacking).collect();
    (!parts.is_empty()).then(|| format!("not known: {}", parts.join("; ")))
}

/// How a term differs: `210 ms less exposed on the system level`.
fn in_words(term: &Term) -> String {
    let time = if term.longer < Seconds::ZERO { -term.longer } else { term.longer };
    let more = if term.longer < Seconds::ZERO { "less" } else { "more" };
    match &term.part {
        Part::Compute => format!("{time} {more} compute"),
        Part::Slowed => format!("transfers slow compute by {time} {more}"),
        Part::Level(level) => format!("{time} {more} exposed on the {level} level"),
        Part::Host => format!("{time} {more} waiting for copies to and from the host"),
        Part::Bubble => format!("{time} {more} bubble"),
        Part::Optimizer => format!("{time} {more} in the optimizer"),
        Part::Other => format!("{time} {more} of launches and the host"),
    }
}

/// The part of the plan, the machine or the software that causes a term, where that is plain to see.
fn cause(a: Side, b: Side, part: &Part, faster: bool) -> Option<String> {
    match part {
        Part::Compute => of_compute(a.scenario, b.scenario, faster),
        Part::Slowed => travelling(a, b, faster).map(|bytes| format!("{bytes} travel")),
        Part::Level(level) => of_level(a, b, level, faster),
        Part::Bubble => of_bubble(a.scenario, b.scenario, faster),
        Part::Optimizer => {
            let ranks = |side: Side| side.evaluation.details.layout.optimizer;
            let wider = ranks(b) > ranks(a);
            (wider == faster).then(|| {
                let word = if wider { "more" } else { "fewer" };
                format!("{word} ranks share the update")
            })
        }
        Part::Host | Part::Other => None,
    }
}

fn of_compute(a: &Scenario, b: &Scenario, faster: bool) -> Option<String> {
    let again = |scenario: &Scenario| match scenario.plan.recompute {
        // More than nothing, and less than any share of the layers.
        Recompute::Selective => f64::MIN_POSITIVE,
        other => other.layers(),
    };
    if a.model != b.model {
        return Some("another model".to_owned());
    }
    if a.cluster.device != b.cluster.device {
        return Some(format!("the device is {}", b.cluster.device.name));
    }
    let less = again(b) < again(a);
    if again(b).to_bits() != again(a).to_bits() && less == faster {
        return Some(format!("{} is computed again", if less { "less" } else { "more" }));
    }
    if a.plan.precision != b.plan.precision {
        return Some(format!("it computes in {}", b.plan.precision));
    }
    if a.plan.tensor != b.plan.tensor {
        return Some(format!("tensor parallelism {} instead of {}", b.plan.tensor, a.plan.tensor));
    }
    let sizes = [a, b].map(|scenario| scenario.plan.micro_batch);
    (sizes[0] != sizes[1]).then(|| format!("micro-batches of {} instead of {}", sizes[1], sizes[0]))
}

fn of_bubble(a: &Scenario, b: &Scenario, faster: bool) -> Option<String> {
    let (one, two) = (&a.plan, &b.plan);
    let word = |fewer: bool| if fewer { "fewer" } else { "more" };
    if one.pipeline != two.pipeline && (two.pipeline < one.pipeline) == faster {
        return Some(format!("{} pipeline ranks", word(two.pipeline < one.pipeline)));
    }
    if one.accumulate != two.accumulate && (two.accumulate > one.accumulate) == faster {
        return Some(format!("{} micro-batches fill the pipeline", word(two.accumulate < one.accumulate)));
    }
    let [before, after] = [one, two].map(Plan::effective_schedule);
    let (fewer, more) = (one.virtual_stages(), two.virtual_stages());
    let stages = (fewer != more && (more > fewer) == faster)
        .then(|| format!("{more} {} per rank", if more == 1 { "stage" } else { "stages" }));
    match (before != after, stages) {
        (true, Some(stages)) => Some(format!("the schedule is {after} with {stages}")),
        (true, None) => Some(format!("the schedule is {after}")),
        (false, stages) => stages.map(|stages| format!("{stages} instead of {fewer}")),
    }
}

/// Where gathers and reductions go, then how much travels.
fn of_level(a: Side, b: Side, level: &str, faster: bool) -> Option<String> {
    let [one, two] = [a, b].map(|side| side.evaluation.details.layout);
    for (what, ranks) in [("gathers", weights as fn(&Layout) -> u32), ("reductions", gradients)] {
        let (before, after) = (reach(a.scenario, ranks(&one)), reach(b.scenario, ranks(&two)));
        // Named only where the transfers really leave, or enter, the level whose time has changed.
        if faster && after.0 < before.0 && after.1 != level {
            return Some(format!("the {what} stay in the {}", after.1));
        }
        if !faster && after.0 > before.0 && after.1 == level {
            return Some(if before.1 == after.1 {
                format!("the {what} span {} devices instead of {}", after.0, before.0)
            } else {
                format!("the {what} leave the {}", before.1)
            });
        }
    }
    let index = |side: Side| side.scenario.cluster.level(level);
    let sent = |side: Side| Some(side.evaluation.summary.traffic.get(index(side)?)?.bytes_per_device.get());
    fewer(a, b, sent(a)?, sent(b)?, faster).map(|bytes| format!("{bytes} travel there"))
}

/// How much less or more travels over all levels, if that is why.
fn travelling(a: Side, b: Side, faster: bool) -> Option<String> {
    let sent = |side: Side| side.evaluation.summary.traffic.iter().map(|level| level.bytes_per_device.get()).sum();
    fewer(a, b, sent(a), sent(b), faster)
}

/// `35 % fewer bytes`, by the token, if that is toward what is faster.
fn fewer(a: Side, b: Side, one: f64, two: f64, faster: bool) -> Option<String> {
    let by_token = |bytes: f64, side: Side| bytes / per_device(&side.evaluation.summary);
    // Per token, as the times of the terms are: a larger batch travels more in a step and may still travel less.
    let change = by_token(two, b) / by_token(one, a) - 1.0;
    (change.is_finite() && change.abs() >= 0.01 && (change < 0.0) == faster).then(|| {
        let word = if change < 0.0 { "fewer" } else { "more" };
        format!("{} {word} bytes", rounded_percent(change.abs()))
    })
}

fn weights(layout: &Layout) -> u32 {
    layout.weights
}

fn gradients(layout: &Layout) -> u32 {
    layout.gradients
}

/// The devices that a group of data x context ranks spans, and the level that it lies within.
fn reach(scenario: &Scenario, ranks: u32) -> (u32, &str) {
    let devices = ranks * scenario.plan.tensor;
    if devices <= scenario.plan.tensor {
        return (devices, "device");
    }
    let cluster = &scenario.cluster;
    let within =
        (0..cluster.levels.len()).find(|level| cluster.devices_in(*level).is_none_or(|inside| inside >= devices));
    (devices, within.and_then(|level| cluster.levels.get(level)).map_or("system", |level| &level.name))
}

#[cfg(test)]
mod tests;
