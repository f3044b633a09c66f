//! What each level carries, and what more of each resource would give.

use crate::evaluate::{HostDirection, Lane};
use crate::units::{Bytes, Seconds};

use super::facts::{Facts, count, counted, input, share};
use super::{Amount, Authority, Figure, Formula, Source, Unit, Why};

/// How much more of a resource the explorer asks about.
pub const MORE: f64 = 1.1;

/// How much less of a latency.
pub const LESS: f64 = 0.9;

impl Facts<'_> {
    pub(super) fn traffic(&self, figure: Figure) -> Option<Why> {
        let (formula, about, source) = match figure {
            Figure::Traffic(level) => (
                self.sent(level),
                "Bytes that one device sends into the level in a step, on average over the devices: a ring of n ranks \
                 passes (n-1)/n of what it gathers or reduces over each of its edges.",
                Source::paper("Thakur et al., Optimization of Collective Communication in MPICH, 2005"),
            ),
            Figure::Busy(level) => (
                self.busy(level)?,
                "How long the level would be busy if each transfer had it alone. More than the step means that the \
                 level cannot keep up.",
                self.calibrated(),
            ),
            Figure::Copied(way) => (
                self.copied(way)?,
                "Bytes that one device copies this way in a step: its shard of the state that lives on the host, and \
                 checkpoints that do.",
                Source::simulated(),
            ),
            Figure::Copying(way) => (
                self.figure(Figure::Copied(way))?
                    / input("bandwidth of the link to the host", self.rates.host, self.sheet()),
                "How long this way of the link would be busy if each copy had it alone. More than the step means that \
                 the link cannot keep up.",
                Source::convention("each way has the link's bandwidth for itself"),
            ),
            Figure::Elasticity(index) => self.elasticity(index)?,
            _ => return None,
        };
        Some(Why { formula, about: about.into(), source })
    }

    /// By what sends it.
    fn sent(&self, level: usize) -> Formula {
        let sent = self.program.volume(self.last).sent;
        let name = |lane: Lane| match lane {
            Lane::Gather => "gathers of weights",
            Lane::Reduce => "reductions of gradients",
            Lane::Tensor => "tensor parallelism",
            Lane::Context => "context parallelism",
            Lane::Pipeline => "pipeline",
            Lane::Compute | Lane::HostOut | Lane::HostIn => "other transfers",
        };
        let lanes = Lane::ALL.into_iter().map(|lane| (lane, Bytes::new(sent[lane as usize][level])));
        let used = lanes.filter(|(_, bytes)| *bytes > Bytes::ZERO);
        Formula::Sum(used.map(|(lane, bytes)| input(name(lane), bytes, Source::simulated())).collect())
    }

    /// How many copies, of what mean size; counted where the timeline does not list them all.
    fn copied(&self, way: HostDirection) -> Option<Formula> {
        if !self.is_listed() {
            let (name, amount) = self.shown(Figure::Copied(way))?;
            return Some(counted(&name, amount));
        }
        let copies = self.spans(way.lane()).count() as u32;
        if copies == 0 {
            return Some(Formula::from(0.0));
        }
        let mean = self.summary().host.way(way).bytes / f64::from(copies);
        Some(input("copies", count(copies, ""), Source::simulated()) * input("mean size", mean, Source::simulated()))
    }

    /// Bytes over what the level has and the mean share of it that the transfers reach.
    fn busy(&self, index: usize) -> Option<Formula> {
        let (level, traffic) = (self.scenario.cluster.levels.get(index)?, self.summary().traffic.get(index)?);
        if traffic.busy == Seconds::ZERO {
            return Some(Formula::from(0.0));
        }
        let reached = traffic.bytes_per_device / traffic.busy / level.bandwidth;
        let sheet = Source::new(Authority::Sheet, &level.source);
        Some(
            self.figure(Figure::Traffic(index))?
                / (input("bandwidth of a device's port", level.bandwidth, sheet)
                    * input("share of it that a device uses on average", share(reached), self.calibrated())),
        )
    }

    /// A resource and what more (or, of a latency, less) of it gives.
    pub(super) fn gain(&self, index: usize) -> Option<(String, Amount)> {
        let found = self.evaluation.elasticity.get(index)?;
        let factor = change(&found.resource);
        let gain = match factor {
            None => found.value,
            Some(factor) => libm::pow(factor, found.value) - 1.0,
        };
        let words = if factor == Some(LESS) { "less" } else { "more" };
        Some((format!("10 % {words} {}", resource(&found.resource)), Amount { value: gain, unit: Unit::Change }))
    }

    fn elasticity(&self, index: usize) -> Option<(Formula, &'static str, Source)> {
        let found = self.evaluation.elasticity.get(index)?;
        let Some(factor) = change(&found.resource) else {
            return Some((
                counted("gain in throughput", Amount { value: found.value, unit: Unit::Change }),
                "Throughput with 10 % more memory over throughput now, micro-batch and recompute tuned both times.",
                Source::simulated(),
            ));
        };
        let tried = Source::new(Authority::Simulation, "the step with 0.5 % more of it and with 0.5 % less");
        let elasticity = input("elasticity of throughput", count(found.value, ""), tried);
        Some((
            Formula::Power(Box::new([Formula::from(factor), elasticity])) - 1.0,
            "Throughput goes with a power of the resource, its elasticity: d ln throughput / d ln resource. 1 means that \
             nothing else counts, 0 that it does not matter.",
            Source::convention("the elasticity of the middle 1 % is taken to hold for 10 %"),
        ))
    }
}

/// A resource in words: `node.bandwidth` is `bandwidth of the node level`.
fn resource(key: &str) -> String {
    match key {
        "peak_flop" => "arithmetic peak".to_owned(),
        "memory_bandwidth" => "memory bandwidth".to_owned(),
        "memory_capacity" => "memory".to_owned(),
        "host_bandwidth" => "bandwidth of the host link".to_owned(),
        other => match other.rsplit_once('.') {
            Some((level, what)) => format!("{what} of the {level} level"),
            None => other.replace('_', " "),
        },
    }
}

/// By how much a resource is changed when one asks what it would give; `None` for memory's capacity, whose figure is
/// the gain itself.
fn change(resource: &str) -> Option<f64> {
    match resource {
        "memory_capacity" => None,
        latency if latency.ends_with(".latency") => Some(LESS),
        _ => Some(MORE),
    }
}
