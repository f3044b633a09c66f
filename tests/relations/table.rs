//! The relations.

use shardscope_engine::evaluate::Workspace;
use shardscope_engine::plan::{
    Accumulation, Ema, FlopCount, MasterWeights, Moments, Offload, Optimizer, Recompute, Schedule, Size, StageSizes,
    TrainMethod,
};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search;
use shardscope_engine::stack::Attention;
use shardscope_engine::units::{Bytes, Money};

use super::Holds::{Between, Of};
use super::run::{Run, same};
use super::verdict::{ANOMALY, IN_FLIGHT, ROUNDING, Verdict, at_most, equal, holds, sound};
use super::{Change, Relation};

/// Asked of all scenarios.
const ANY: fn(&Run) -> bool = |_| true;

/// The scenario as it was drawn.
const DRAWN: Change = |_| {};

fn needs_no_more(with: &Run, without: &Run) -> Verdict {
    at_most("memory", with.memory(), without.memory(), ROUNDING)
}

fn takes_no_longer(with: &Run, without: &Run) -> Verdict {
    at_most("step", with.step(), without.step(), ANOMALY)
}

/// What few nodes have whole, experts or all of a stage, more nodes may shard, and so gather.
fn fits_but_for_gathers(few: &Run, more: &Run) -> Verdict {
    let gathered = [few, more].map(|run| run.summary.memory.parts.gathered.get());
    let needed = more.memory() - (gathered[1] - gathered[0]).max(0.0);
    let capacity = more.scenario.capacity().get();
    holds(!few.summary.fits || needed <= capacity * (1.0 + IN_FLIGHT), || {
        format!("{needed} of {capacity} bytes are needed")
    })
}

fn still_fits(one: &Run, other: &Run) -> Verdict {
    holds(!one.summary.fits || other.summary.fits, || "it fits no more".to_owned())
}

pub const RELATIONS: &[Relation] = &[
    Relation {
        name: "parts of memory sum to the peak",
        among: ANY,
        holds: Of(|run| {
            let memory = &run.summary.memory;
            equal("the sum", memory.parts.total().get(), memory.peak.get())
        }),
    },
    Relation {
        name: "parts and phases of time sum to the step",
        among: ANY,
        holds: Of(|run| {
            let (time, phases) = (&run.summary.time, &run.summary.phases);
            let parts = time.compute + time.exposed + time.bubble + time.optimizer + time.other;
            equal("the sum of parts", parts.get(), run.step()).and(equal(
                "the sum of phases",
                (phases.forward + phases.backward + phases.update + phases.beside).get(),
                run.step(),
            ))
        }),
    },
    Relation {
        name: "a plan fits if what it needs is within the capacity",
        among: ANY,
        holds: Of(|run| {
            let capacity = run.scenario.capacity().get();
            holds(run.summary.fits == (run.memory() <= capacity), || {
                format!("fits is {} at {} of {capacity}", run.summary.fits, run.memory())
            })
        }),
    },
    Relation {
        name: "tokens per second are tokens over the step",
        among: ANY,
        holds: Of(|run| {
            let plan = &run.scenario.plan;
            let sequences = f64::from(run.scenario.devices() / plan.tensor / plan.context / plan.pipeline)
                * f64::from(plan.sequences_at_once() * plan.accumulate);
            let tokens = sequences * f64::from(plan.sequence);
            equal("tokens", run.summary.tokens_per_step, tokens).and(equal(
                "tokens per second",
                run.summary.tokens_per_s(),
                tokens / run.step(),
            ))
        }),
    },
    Relation {
        name: "the interval contains the step",
        among: |run| run.band().is_some(),
        holds: Of(|run| {
            let band = run.band().ok_or("no interval")?;
            holds(band.low <= run.summary.step_time && run.summary.step_time <= band.high, || format!("{band:?}"))
        }),
    },
    Relation {
        name: "no figure is negative, infinite or no number",
        among: ANY,
        holds: Of(|run| sound(&(run.summary, run.band(), run.expense(), run.forecast()))),
    },
    Relation {
        name: "useful work under failures is a share of the time",
        among: |run| run.forecast().is_some(),
        holds: Of(|run| {
            let shares = run.forecast().ok_or("no forecast")?.shares;
            at_most("goodput", shares.useful, 1.0, 0.0).and(equal(
                "the sum",
                shares.useful + shares.writing + shares.failing,
                1.0,
            ))
        }),
    },
    Relation {
        name: "a workspace leaves nothing of earlier runs in later ones",
        among: ANY,
        holds: Of(|run| run.has_figures_of(&run.scenario)),
    },
    Relation {
        name: "the command line gives the same figures",
        among: Run::has_command,
        holds: Of(|run| run.has_figures_of(&run.said_again()?)),
    },
    Relation {
        name: "the file gives the same figures",
        among: ANY,
        holds: Of(|run| run.has_figures_of(&run.read_again()?)),
    },
    Relation {
        name: "a tuned plan has the figures that the tuning saw",
        among: |run| run.summary.devices <= 16,
        holds: Of(|run| {
            let mut scenario = run.scenario.clone();
            let mut workspace = Workspace::default();
            let (tuned, seen) = search::tuned(&scenario, &mut workspace).map_err(|problems| format!("{problems:?}"))?;
            tuned.apply(&mut scenario);
            Run::new(scenario, &mut workspace).ok_or("the tuned plan is refused")?.has_figures(&seen)
        }),
    },
    Relation {
        name: "more memory keeps the step, and what fits",
        among: |run| !run.scenario.plan.paged_optimizer,
        holds: Between([DRAWN, |scenario| scenario.plan.memory_factor *= 2.0], |less, more| {
            same(less, more).and(still_fits(less, more))
        }),
    },
    Relation {
        name: "more memory makes paged steps no longer",
        among: ANY,
        holds: Between(
            [
                |scenario| scenario.plan.paged_optimizer = true,
                |scenario| {
                    scenario.plan.paged_optimizer = true;
                    scenario.plan.memory_factor *= 2.0;
                },
            ],
            |less, more| takes_no_longer(more, less).and(still_fits(less, more)),
        ),
    },
    Relation {
        name: "more bandwidth makes no step longer",
        among: ANY,
        holds: Between([DRAWN, |scenario| scenario.plan.bandwidth_factor *= 2.0], |less, more| {
            takes_no_longer(more, less)
        }),
    },
    Relation {
        name: "less bandwidth makes no step shorter",
        among: ANY,
        holds: Between([DRAWN, |scenario| scenario.plan.bandwidth_factor *= 0.1], |more, less| {
            takes_no_longer(more, less)
        }),
    },
    Relation {
        name: "on one node the network is nothing",
        among: |run| run.scenario.cluster.levels.len() > 1,
        holds: Between(
            [on_one_node, |scenario| {
                on_one_node(scenario);
                scenario.plan.bandwidth_factor *= 0.01;
            }],
            same,
        ),
    },
    Relation {
        name: "more nodes keep what fits",
        // A second copy is of what is sharded.
        among: |run| run.summary.fits && run.scenario.plan.sharding.secondary.is_none(),
        holds: Between([DRAWN, twice_the_devices], fits_but_for_gathers),
    },
    Relation {
        name: "full recompute needs no more memory than none",
        among: keeps_layers,
        holds: Between(
            [
                |scenario| scenario.plan.recompute = Recompute::None,
                |scenario| {
                    scenario.plan.recompute = Recompute::Full;
                },
            ],
            |none, full| at_most("memory", full.memory(), none.memory(), IN_FLIGHT),
        ),
    },
    Relation {
        name: "full recompute is no faster than none",
        // Pages that have room again need not move.
        among: |run| keeps_layers(run) && !run.scenario.plan.paged_optimizer,
        holds: Between(
            [
                |scenario| scenario.plan.recompute = Recompute::None,
                |scenario| {
                    scenario.plan.recompute = Recompute::Full;
                },
            ],
            takes_no_longer,
        ),
    },
    Relation {
        name: "selective recompute needs no more memory than none",
        among: keeps_layers,
        holds: Between(
            [
                |scenario| scenario.plan.recompute = Recompute::None,
                |scenario| {
                    scenario.plan.recompute = Recompute::Selective;
                },
            ],
            |none, selective| at_most("memory", selective.memory(), none.memory(), IN_FLIGHT),
        ),
    },
    Relation {
        name: "recompute of no layer is none",
        among: ANY,
        holds: Between(
            [
                |scenario| scenario.plan.recompute = Recompute::None,
                |scenario| {
                    scenario.plan.recompute = Recompute::Share(0.0);
                },
            ],
            same,
        ),
    },
    Relation {
        name: "recompute of all layers is full",
        among: ANY,
        holds: Between(
            [
                |scenario| scenario.plan.recompute = Recompute::Full,
                |scenario| {
                    scenario.plan.recompute = Recompute::Share(1.0);
                },
            ],
            same,
        ),
    },
    Relation {
        name: "more micro-batches take more time and no less memory",
        among: is_at_home,
        holds: Between([DRAWN, |scenario| scenario.plan.accumulate *= 2], grows),
    },
    Relation {
        name: "larger micro-batches take more time and no less memory",
        // Two sequences may have a fused softmax where one has none.
        among: |run| counts_work(run) && run.scenario.attention() != Attention::FusedSoftmax,
        holds: Between([DRAWN, |scenario| scenario.plan.micro_batch *= 2], grows),
    },
    Relation {
        name: "longer sequences take more time and no less memory",
        among: counts_work,
        holds: Between([DRAWN, |scenario| scenario.plan.sequence *= 2], grows),
    },
    Relation {
        name: "adapters of a higher rank take more time and no less memory",
        among: counts_work,
        holds: Between(
            [
                |scenario| adapters(scenario, 16),
                |scenario| {
                    adapters(scenario, 64);
                },
            ],
            grows,
        ),
    },
    Relation {
        name: "moments in bf16 need no more memory",
        among: ANY,
        holds: Between(
            [
                |scenario| scenario.plan.moments = Moments::Fp32,
                |scenario| {
                    scenario.plan.moments = Moments::Bf16;
                },
            ],
            |fp32, bf16| needs_no_more(bf16, fp32),
        ),
    },
    Relation {
        name: "SGD needs no more memory than Adam",
        among: ANY,
        holds: Between(
            [
                |scenario| scenario.plan.optimizer = Optimizer::Adam,
                |scenario| {
                    scenario.plan.optimizer = Optimizer::SgdMomentum;
                },
            ],
            |adam, sgd| needs_no_more(sgd, adam),
        ),
    },
    Relation {
        name: "Adam in 8 bits needs no more memory than in 32",
        among: ANY,
        holds: Between(
            [
                |scenario| (scenario.plan.optimizer, scenario.plan.moments) = (Optimizer::Adam, Moments::Fp32),
                |scenario| scenario.plan.optimizer = Optimizer::Adam8bit,
            ],
            |wide, narrow| needs_no_more(narrow, wide),
        ),
    },
    Relation {
        name: "no master weights need no more memory",
        among: ANY,
        holds: Between(
            [
                |scenario| scenario.plan.master_weights = MasterWeights::Fp32,
                |scenario| {
                    scenario.plan.master_weights = MasterWeights::None;
                },
            ],
            |fp32, none| needs_no_more(none, fp32),
        ),
    },
    Relation {
        name: "averaged weights need no less memory",
        among: ANY,
        holds: Between(
            [|scenario| scenario.plan.ema = Ema::None, |scenario| scenario.plan.ema = Ema::Device],
            needs_no_more,
        ),
    },
    Relation {
        name: "averaged weights on the host need no more memory of the device",
        // Other copies wait for theirs, and what they free is freed later.
        among: is_at_home,
        holds: Between(
            [|scenario| scenario.plan.ema = Ema::Device, |scenario| scenario.plan.ema = Ema::Host],
            |device, host| needs_no_more(host, device),
        ),
    },
    Relation {
        name: "a paged optimizer needs no more memory, and changes nothing of what fits",
        among: ANY,
        holds: Between(
            [
                |scenario| scenario.plan.paged_optimizer = false,
                |scenario| {
                    scenario.plan.paged_optimizer = true;
                },
            ],
            |kept, paged| {
                let peaks = [paged, kept].map(|run| run.summary.memory.peak.get());
                let is_same = if kept.summary.fits { equal("step", paged.step(), kept.step()) } else { Ok(()) };
                at_most("peak", peaks[0], peaks[1], ROUNDING).and(is_same).and(still_fits(kept, paged))
            },
        ),
    },
    Relation {
        name: "twice the tokens take twice the days",
        among: ANY,
        holds: Between(
            [
                |scenario| scenario.plan.tokens = Some(1e12),
                |scenario| {
                    scenario.plan.tokens = Some(2e12);
                },
            ],
            |once, twice| equal("days", twice.days(), 2.0 * once.days()).and(same(once, twice)),
        ),
    },
    Relation {
        name: "twice the epochs take twice the days",
        among: ANY,
        holds: Between([|scenario| epochs(scenario, 1), |scenario| epochs(scenario, 2)], |once, twice| {
            equal("days", twice.days(), 2.0 * once.days()).and(same(once, twice))
        }),
    },
    Relation {
        name: "twice the price is twice the cost",
        among: |run| run.expense().is_some(),
        holds: Between([|scenario| price(scenario, 1.5), |scenario| price(scenario, 3.0)], |once, twice| {
            let cost = |run: &Run| run.expense().and_then(|expense| expense.cost).map_or(f64::NAN, |cost| cost.amount);
            equal("cost", cost(twice), 2.0 * cost(once)).and(same(once, twice))
        }),
    },
    Relation {
        name: "how flop are counted leaves the step",
        among: ANY,
        holds: Between(
            [
                |scenario| scenario.plan.flop_count = FlopCount::Parameters,
                |scenario| {
                    scenario.plan.flop_count = FlopCount::Causal;
                },
            ],
            same,
        ),
    },
    Relation {
        name: "interleaving one stage is one forward, one backward",
        among: |run| run.scenario.plan.pipeline > 1,
        holds: Between(
            [
                |scenario| schedule(scenario, Schedule::OneForwardOneBackward),
                |scenario| schedule(scenario, Schedule::Interleaved),
            ],
            same,
        ),
    },
    Relation {
        name: "GPipe needs no less memory than one forward, one backward",
        among: |run| run.scenario.plan.pipeline > 1,
        holds: Between(
            [
                |scenario| schedule(scenario, Schedule::OneForwardOneBackward),
                |scenario| schedule(scenario, Schedule::GPipe),
            ],
            |alternating, gpipe| at_most("memory", alternating.memory(), gpipe.memory(), IN_FLIGHT),
        ),
    },
    Relation {
        name: "an offload of the optimizer adds nothing to what the device keeps",
        among: ANY,
        holds: Between([at_home, |scenario| scenario.plan.offload = Offload::Optimizer], |home, away| {
            needs_no_more(away, home)
        }),
    },
    Relation {
        name: "an offload of the state adds nothing to what the device keeps",
        among: ANY,
        holds: Between([at_home, |scenario| scenario.plan.offload = Offload::State], |home, away| {
            keeps_no_more(away, home)
        }),
    },
    Relation {
        name: "an offload of checkpoints adds nothing to what the device keeps",
        among: ANY,
        holds: Between([at_home, |scenario| scenario.plan.offload = Offload::Checkpoints], |home, away| {
            keeps_no_more(away, home)
        }),
    },
    Relation {
        name: "an offload of activations adds nothing to what the device keeps",
        among: ANY,
        holds: Between([at_home, |scenario| scenario.plan.offload = Offload::Activations], |home, away| {
            keeps_no_more(away, home)
        }),
    },
];

/// More work takes no less time, and what it keeps no less memory.
fn grows(less: &Run, more: &Run) -> Verdict {
    takes_no_longer(less, more).and(at_most("memory", less.memory(), more.memory(), IN_FLIGHT))
}

/// No stages, which are balanced anew where layers take another time; and nothing that crosses the host's link. Its copies may be
/// what the step waits for, and what they have not moved yet lies on the device.
fn counts_work(run: &Run) -> bool {
    run.scenario.plan.pipeline == 1 && run.scenario.plan.ema != Ema::Host && is_at_home(run)
}

/// The device keeps no more than another one has in all: copies take other transfers' time, so that more of what is in flight
/// may meet. Gradients beside a state on the host are all in flight.
fn keeps_no_more(away: &Run, home: &Run) -> Verdict {
    let parts = &away.summary.memory.parts;
    let gradients = if away.scenario.plan.offload.state() { parts.gradients } else { Bytes::ZERO };
    let kept = away.memory() - (parts.gathered + parts.communication + gradients).get();
    at_most("memory but for what is in flight", kept, home.memory(), IN_FLIGHT)
}

fn is_at_home(run: &Run) -> bool {
    let plan = &run.scenario.plan;
    plan.offload == Offload::None && plan.offload_modules.is_empty()
}

/// No stages, which are balanced anew where layers cost something else; and what layers keep is on the device, where a layer that
/// is computed again is as a whole, and no gradients wait for the host's link.
fn keeps_layers(run: &Run) -> bool {
    run.scenario.plan.pipeline == 1 && is_at_home(run)
}

fn on_one_node(scenario: &mut Scenario) {
    scenario.plan.size = Size::Nodes(1);
}

fn twice_the_devices(scenario: &mut Scenario) {
    scenario.plan.size = match scenario.plan.size {
        Size::Nodes(count) => Size::Nodes(2 * count),
        Size::Devices(count) => Size::Devices(2 * count),
    };
}

fn at_home(scenario: &mut Scenario) {
    scenario.plan.offload = Offload::None;
}

fn adapters(scenario: &mut Scenario, rank: u32) {
    (scenario.plan.tuning.method, scenario.plan.tuning.rank) = (TrainMethod::Lora, rank);
}

fn epochs(scenario: &mut Scenario, epochs: u32) {
    (scenario.plan.tokens, scenario.plan.examples, scenario.plan.epochs) = (None, Some(20_000), epochs);
}

fn price(scenario: &mut Scenario, amount: f64) {
    scenario.plan.price = Some(Money { amount, currency: None });
}

fn schedule(scenario: &mut Scenario, schedule: Schedule) {
    let plan = &mut scenario.plan;
    (plan.schedule, plan.stages_per_rank, plan.accumulation) = (schedule, 1, Accumulation::Standard);
    plan.stage_layers = StageSizes::Balanced;
}
