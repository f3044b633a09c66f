//! What people must know of a scenario's figures to read them aright. Not for what limits a step.

use shardscope_engine::cost::{self, FUSED_SOFTMAX_BATCH, Factors, Rates};
use shardscope_engine::evaluate::{ErrorBand, Summary, Unmeasured, beyond, evidence, peak_half_width};
use shardscope_engine::hardware::HighestMfu;
use shardscope_engine::model::Recurrence;
use shardscope_engine::plan::{CudaGraphs, Ema, Module, Padding, Precision};
use shardscope_engine::scenario::file::printable;
use shardscope_engine::scenario::{HostThreads, PAGEABLE, Scenario};
use shardscope_engine::stack::{Attention, Beyond, ProcessLauncher};
use shardscope_engine::units::{FlopPerSecond, percent, thousands};

/// The software that such a job mostly runs with, where the scenario has the default's.
fn suitable_stack(scenario: &Scenario) -> Option<String> {
    let (what, stack) = match () {
        () if scenario.stack.id != DEFAULT_STACK => return None,
        () if scenario.plan.tuning.freezes() => ("adapters are mostly trained with PEFT", "peft-2025"),
        () if scenario.model.experts.is_some() => {
            ("experts are mostly trained with Megatron-LM", "megatron-bridge-2025")
        }
        () => return None,
    };
    Some(format!(
        "{what}: --stack {stack} counts as it runs; {} is measured by nobody",
        printable(&scenario.stack.name)
    ))
}

/// The stack of a scenario that names none.
const DEFAULT_STACK: &str = "default";

/// The highest MFU that was published of a scenario's machine, where its own is above that.
pub fn above_published<'a>(scenario: &'a Scenario, summary: &Summary) -> Option<&'a HighestMfu> {
    let halved = matches!(scenario.plan.precision, Precision::Bf16 | Precision::Fp16);
    scenario.cluster.highest_mfu.as_ref().filter(|highest| halved && summary.mfu > highest.mfu)
}

/// Whether the update runs on the host, with how many threads, and in whose memory.
fn offloaded(scenario: &Scenario, summary: &Summary) -> String {
    let band = ErrorBand::of_summary(scenario, summary, None);
    let unmeasured = match band {
        Some(_) => "five published runs, each within 35 %, stand behind an update on the host",
        None => "no measured row offloads to the host, so that there is no error band",
    };
    if !scenario.plan.offload.optimizer() {
        return unmeasured.to_owned();
    }
    let count = |threads: u32| match threads {
        1 => "one thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    let HostThreads { counted, most } = scenario.host_threads();
    let stated = scenario.cluster.host.is_some();
    let host = if stated { "" } else { ", in memory that the cluster does not state" };
    let threads = count(counted);
    let Some(most) = most.filter(|most| *most > counted) else {
        return format!("{unmeasured}; each rank updates there with {threads} (--host-threads){host}");
    };
    let rates = Rates::new(scenario, &Factors::default());
    let [slow, fast] = [counted, most].map(|threads| rates.host_update(summary.updated_on_host, threads));
    let (all, launcher) = (count(most), scenario.stack.launcher);
    let open = match launcher {
        Some(ProcessLauncher::Deepspeed) => {
            "DeepSpeed's launcher leaves all cores to every rank unless --bind_cores_to_rank divides them"
        }
        _ => "how many threads update there is not known",
    };
    let spans = if band.is_some() { ", which the interval spans" } else { "" };
    format!(
        "{unmeasured}; {open} (--host-threads): {threads} for each rank, as here, takes {slow}, {all} take {fast}{spans}{host}"
    )
}

/// How copies to and from memory of the host that is not page-locked are counted.
fn pageable(scenario: &Scenario) -> Option<String> {
    let copies = scenario.plan.offloads() || scenario.plan.ema == Ema::Host;
    let refused = if scenario.plan.host_pinned { ", since the cluster's hosts lock none" } else { "" };
    (copies && !scenario.pins_host()).then(|| {
        format!(
            "memory of the host is not page-locked{refused}: its copies count at {} of their link, as measured on a DGX A100 \
             (other hosts reached 17 to 48 %), and stop compute",
            percent(PAGEABLE.get())
        )
    })
}

/// What pages of the optimizer's state cost, where they move.
fn moved_pages(scenario: &Scenario, summary: &Summary) -> Option<String> {
    let gone = summary.memory.moved_pages;
    summary.memory.moves_pages().then(|| {
        let link = Rates::new(scenario, &Factors::default()).host;
        format!(
            "{gone} of the paged optimizer have no room: all of its moments count as moved to the host and back at each update, \
             one way after the other, at {link}; no measured row does, so that there is no error band"
        )
    })
}

/// That no measured row has a part of a scenario.
fn unlike_rows(scenario: &Scenario, summary: &Summary, part: Unmeasured) -> String {
    let architecture = printable(&scenario.cluster.device.architecture);
    let why = match part {
        Unmeasured::Unknown => not_understood(scenario),
        Unmeasured::ExpertLoop => {
            "this stack runs experts one after the other, and ZeRO-3 gathers the weights of each; they are timed as grouped products, \
             which take a fraction of that: a step of Qwen2-57B-A14B took 5.6 times as long as one of Qwen2-72B (QwenLM/Qwen3, \
             issue 736)"
                .to_owned()
        }
        Unmeasured::Experts => format!("no run with experts on {architecture} was measured"),
        Unmeasured::Recurrence if scenario.model.mamba.is_some() => {
            return "there is no error band for runs with state spaces: docs/model.md says how far off published ones are"
                .to_owned();
        }
        Unmeasured::Recurrence => {
            let mixer = scenario.model.recurrent().map_or("recurrent", Recurrence::name);
            return format!(
                "no run with {mixer} layers was measured, whose kernels are timed as published ones alone, and there is no error band"
            );
        }
        Unmeasured::SparseAttention => {
            "no run with sparse attention was measured, whose indexer is taken at the full rate of products".to_owned()
        }
        Unmeasured::Part if scenario.plan.tuning.freezes() => {
            format!("no measured run like this one trains adapters on {architecture}")
        }
        Unmeasured::Part => "no run that freezes a part of a model was measured".to_owned(),
        Unmeasured::Method => format!("no run of method {} was measured", scenario.plan.post_training.method),
        Unmeasured::Offload => return offloaded(scenario, summary),
        Unmeasured::Sequence => {
            let most = scenario.calibration.longest_sequence.map_or(f64::NAN, f64::from);
            format!("no measured row has sequences above {}", thousands(most))
        }
        Unmeasured::Head => {
            let most = percent(scenario.calibration.largest_head.unwrap_or(f64::NAN));
            format!("no measured row of a dense model spends more than {most} of its products on logits")
        }
        Unmeasured::Examples => "in no measured run does attention keep to packed examples".to_owned(),
    };
    format!("{why}, so that there is no error band")
}

/// The most settings that a caveat names.
const MOST_NAMED: usize = 5;

/// What an import did not understand, the first of it by name.
fn not_understood(scenario: &Scenario) -> String {
    let all = &scenario.unknown;
    let named = all.iter().take(MOST_NAMED).map(|one| format!("{}: {}", printable(&one.file), printable(&one.key)));
    let more = if all.len() > MOST_NAMED { ", ..." } else { "" };
    let settings = if all.len() == 1 { "1 setting is".to_owned() } else { format!("{} settings are", all.len()) };
    let named = named.collect::<Vec<_>>().join(", ");
    format!("{settings} unknown and may change size, time or memory ({named}{more})")
}

/// Caveats that people must know to read a scenario's figures aright.
pub fn caveats(scenario: &Scenario, summary: &Summary) -> Vec<String> {
    let peak = cost::peak(scenario, scenario.plan.precision);
    let above = (summary.mfu > 1.0).then(|| above_peak(peak));
    let unmeasured = Unmeasured::of(scenario).map(|part| unlike_rows(scenario, summary, part));
    let alone = scenario.model.experts.is_some() && scenario.plan.experts.ranks == 1;
    let alone = alone.then(|| "each rank computes all experts: --ep divides them among ranks".to_owned());
    let noted = scenario.stack.caveats.iter().chain(&*scenario.caveats).map(|caveat| printable(caveat));
    let fp8 = scenario.plan.precision.is_low().then(|| {
        let precision = scenario.plan.precision;
        let share = if precision == Precision::Nvfp4 { "; products take the share of the peak that fp8's do" } else { "" };
        format!(
            "in {precision}, weights that are gathered count as bf16, casts as a part of products, and small products are \
             timed like large ones{share}"
        )
    });
    let highest = above_published(scenario, summary).map(|HighestMfu { mfu, source }| {
        let [predicted, most] = [summary.mfu, *mfu].map(percent);
        format!(
            "an MFU of {predicted} is above the highest published of such a machine, {most} ({})",
            printable(source)
        )
    });
    let peaks = peak_half_width(scenario).is_none().then(|| {
        "no measured peak of memory is like it: its chance of fitting is counted as if 90 % of the memory fitted with 0.9"
            .to_owned()
    });
    let beyond = beyond_rows(scenario);
    let told = evidence(scenario).is_some() || beyond.is_some() || Unmeasured::of(scenario).count() > 0;
    let times = scenario.calibration.bands.is_empty() || told;
    let times = (!times).then(|| {
        let architecture = printable(&scenario.cluster.device.architecture);
        format!("no step time of {architecture} was measured, so that there is no error band")
    });
    let rollouts = scenario.plan.writes().then(|| {
        "rollouts are not timed, so that no time of a step is said: MFU and the parts of the time are of one update"
            .to_owned()
    });
    let longest = (scenario.plan.padding() == Padding::Longest).then(|| {
        let tokens = thousands(f64::from(scenario.plan.sequence));
        format!(
            "batches are padded to their longest answer, of {tokens} tokens at most: memory is that of such a batch, and the time of a \
             step an upper limit"
        )
    });
    let unsaid = scenario.stack.runs.is_none().then(|| {
        let stack = printable(&scenario.stack.name);
        format!("{stack} does not say what it can run ([runs] in its file): any plan is taken for one of its own")
    });
    above
        .into_iter()
        .chain(highest)
        .chain(unmeasured)
        .chain(beyond)
        .chain(peaks)
        .chain(times)
        .chain(rollouts)
        .chain(longest)
        .chain(unsaid)
        .chain(foreign_strategy(scenario))
        .chain(suitable_stack(scenario))
        .chain(alone)
        .chain(pageable(scenario))
        .chain(moved_pages(scenario, summary))
        .chain(idle_core(scenario))
        .chain(unfused(scenario))
        .chain(graphs(scenario))
        .chain(noted)
        .chain(fp8)
        .chain(lacking(scenario))
        .collect()
}

/// In what the nearest measured rows do not reach a scenario, so that its interval is that of others.
fn beyond_rows(scenario: &Scenario) -> Option<String> {
    let (nearest, beyond) = beyond(scenario)?;
    let what = match beyond {
        Beyond::Device => format!("are of other devices than the {}", printable(&scenario.cluster.device.name)),
        Beyond::Format => format!("have none in {} or in other formats of fewer than 16 bits", scenario.plan.precision),
        Beyond::Division => "have none whose work is divided so".to_owned(),
        Beyond::Size(most) => {
            format!("have at most {} devices where the work is divided so", thousands(f64::from(most)))
        }
    };
    let wider = evidence(scenario).map(|band| format!("the interval is that of {band}"));
    let wider = wider.unwrap_or_else(|| "there is no error band".to_owned());
    Some(format!("the {nearest} {what}: {wider}"))
}

/// That a strategy has a program's own name, and the stack is another program.
fn foreign_strategy(scenario: &Scenario) -> Option<String> {
    let foreign = &*scenario.strategy == "zero3" && !scenario.stack.is_deepspeed();
    let stack = printable(&scenario.stack.name);
    foreign.then(|| {
        format!("zero3 is DeepSpeed's word: {stack} is timed with the same shards; --stack deepspeed-zeropp-2023 is DeepSpeed")
    })
}

/// That attention is computed again for scores that its kernel never keeps.
fn idle_core(scenario: &Scenario) -> Option<String> {
    let again = scenario.plan.repeated_modules().has(Module::CoreAttention) && scenario.attention().flash();
    again.then(|| {
        "module core_attn frees nothing beside flash attention, which keeps no scores: leave it out".to_owned()
    })
}

/// That softmax is not fused, where the stack would fuse it and its kernel does not take the shape.
fn unfused(scenario: &Scenario) -> Option<String> {
    let refused = scenario.attention() == Attention::FusedSoftmax
        && Rates::new(scenario, &Factors::default()).attention == Attention::Plain;
    refused.then(|| {
        format!(
            "softmax is not fused: its kernel takes sequences x heads of a device in multiples of {FUSED_SOFTMAX_BATCH}, and \
             here they are {} x {} (--micro-batch, --tp)",
            scenario.plan.micro_batch,
            scenario.model.heads / scenario.plan.tensor.max(1)
        )
    })
}

/// What CUDA graphs hold of memory, of which no law is known. Published runs disagree: some 7 GB of `DeepSeek-V3` (arXiv 2603.07685),
/// 10 GiB of 143 of Llama 3.1 70B (pytorch/torchtitan pull request 2050), up to the peak once more of whole iterations (Megatron Bridge,
/// `docs/training/cuda-graphs.md`).
fn graphs(scenario: &Scenario) -> Option<String> {
    let graphs = scenario.plan.cuda_graphs != CudaGraphs::None;
    graphs.then(|| {
        "memory that CUDA graphs hold for themselves is not counted: 7 GB and 10 GiB were published, and up to twice the peak for \
         graphs of whole iterations"
            .to_owned()
    })
}

/// Sentences on what the stack lacks of a plan.
pub fn lacking(scenario: &Scenario) -> impl Iterator<Item = String> {
    scenario.lacks().into_iter().map(|lack| lack.what)
}

/// Why more flop are counted than the hardware can do.
pub(super) fn above_peak(peak: FlopPerSecond) -> String {
    format!("above the peak, {peak}: causal kernels skip half of the scores, all of which count")
}
