//! Conventions of the published rows of a stack, read from `conventions.toml` of the presets.
//! Not for the words of a cell ([`super::words`]).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use shardscope_engine::plan::{Dispatcher, FrozenFormat};

/// Who read a peak of memory, and so what it contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The allocator: what the program asked for.
    Allocator,
    /// The allocator: what it holds for the program, fragments included.
    Reserved,
    /// `nvidia-smi`: with the runtime and what the allocator holds back.
    Device,
}

/// The conventions of one stack's rows; the file explains each.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Conventions {
    moves: Vec<StackMove>,
    pub zero2: Option<String>,
    pub distributed: Option<String>,
    pub recomputes: bool,
    pub vocabulary: Option<Vocabulary>,
    stages: Vec<StageRule>,
    exchanges: Vec<ExchangeRule>,
    pub balanced: bool,
    pub memory: Option<Reading>,
    pub first_rank: bool,
    pub adapters: Option<String>,
    pub dropout: Option<f64>,
    pub checkpoints: Vec<String>,
    pub frozen: Option<FrozenFormat>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Vocabulary {
    pub size: u32,
    pub why: String,
}

/// A stack that some rows of another one are of.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct StackMove {
    to: String,
    architecture: Option<String>,
    /// Words in the source that the row names.
    source: Option<String>,
    /// The words before the year and the month of the release in a note.
    release: Option<String>,
    #[serde(default)]
    since: [u32; 2],
}

/// How many stages a rank of a pipeline has.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StageRule {
    #[serde(default)]
    cluster: String,
    #[serde(default)]
    per_rank: Vec<u32>,
    layers_each: Option<u32>,
    pub why: String,
}

/// The exchange of tokens with their experts.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExchangeRule {
    #[serde(default)]
    cluster: String,
    #[serde(default)]
    model: String,
    pub dispatcher: Dispatcher,
    #[serde(default)]
    pub overlap: bool,
    /// The first release of `NeMo` that it holds for; rows that name none are taken for later ones.
    since: Option<[u32; 2]>,
    pub why: String,
}

/// The conventions of every stack that has some. A test reads the file, which is part of the program.
static ALL: LazyLock<BTreeMap<String, Conventions>> =
    LazyLock::new(|| toml::from_str(shardscope_presets::CONVENTIONS).unwrap_or_default());

static NONE: LazyLock<Conventions> = LazyLock::new(Conventions::default);

impl Conventions {
    pub(crate) fn of_stack(id: &str) -> &'static Self {
        ALL.get(id).unwrap_or(&NONE)
    }

    /// The stack of a row whose source, whose notes or whose machine's architecture say that it is another one.
    pub fn moved(&self, [source, notes]: [&str; 2], architecture: &str) -> Option<&str> {
        let named = |one: &&StackMove| one.source.as_deref().is_none_or(|words| source.contains(words));
        let found = self.moves.iter().filter(named).find(|one| match (&one.release, &one.architecture) {
            (Some(release), _) => released(notes, release).is_some_and(|date| date >= one.since),
            (None, other) => other.as_deref().is_none_or(|other| other == architecture),
        });
        found.map(|one| one.to.as_str())
    }

    pub(crate) fn exchange_rule(&self, cluster: &str, model: &str, notes: &str) -> Option<&ExchangeRule> {
        let released = released(notes, "NeMo ");
        let holds = |since: &[u32; 2]| released.is_none_or(|date| date >= *since);
        let alike = |rule: &&ExchangeRule| cluster.starts_with(&rule.cluster) && model.starts_with(&rule.model);
        self.exchanges.iter().filter(alike).find(|rule| rule.since.as_ref().is_none_or(holds))
    }

    pub(crate) fn stage_rule(&self, cluster: &str) -> Option<&StageRule> {
        self.stages.iter().find(|rule| cluster.starts_with(&rule.cluster))
    }
}

impl StageRule {
    /// The stages of a rank with so many layers.
    pub fn stages(&self, layers: u32) -> u32 {
        if let Some(each) = self.layers_each {
            return layers / if layers.is_multiple_of(each) { each } else { 1 };
        }
        let listed = self.per_rank.iter().copied().find(|stages| layers.is_multiple_of(*stages));
        // A prime number of layers has no stages of equal size but these.
        listed.unwrap_or(if self.per_rank.len() > 1 { layers } else { 1 })
    }
}

/// The year and the month behind a program's name in a note: `NeMo 25.02; ...`, `MaxText image of 2024-12-09`.
fn released(notes: &str, program: &str) -> Option<[u32; 2]> {
    let mut numbers = notes.split_once(program)?.1.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok());
    let (year, month): (u32, u32) = (numbers.next()?, numbers.next()?);
    Some([if year < 100 { 2000 + year } else { year }, month])
}

#[cfg(test)]
mod tests {
    use shardscope_engine::presets::Kind;

    use super::*;

    #[test]
    fn every_stack_of_the_file_is_a_preset() {
        let library = shardscope_presets::library();
        let all: BTreeMap<String, Conventions> = toml::from_str(shardscope_presets::CONVENTIONS).expect("conventions");
        assert!(!all.is_empty());
        for (id, conventions) in &all {
            // Rows name stacks that no preset is called after: others stand for them, or its releases.
            let release = || library.entries(Kind::Stack).any(|entry| entry.id.starts_with(id.as_str()));
            assert!(library.stack(id).is_ok() || !conventions.moves.is_empty() || release(), "{id}");
            assert!(
                conventions.moves.iter().all(|one| library.stack(&one.to).is_ok()),
                "{id}: {:?}",
                conventions.moves
            );
        }
    }

    #[test]
    fn later_releases_and_ports_are_of_another_stack() {
        fn moved<'a>(stack: &'a str, notes: &str, architecture: &str) -> &'a str {
            Conventions::of_stack(stack).moved(["Lightning-AI/litgpt README", notes], architecture).unwrap_or(stack)
        }
        for (stack, notes, wanted) in [
            ("nemo-2024", "NeMo 24.09; training step time", "nemo-2025"),
            ("nemo-2024", "NeMo 25.02", "nemo-2025"),
            ("nemo-2024", "NeMo 24.07, doc of 2024-09-09", "nemo-2024"),
            ("nemo-2024", "Launcher examples", "nemo-2024"),
            ("megatron-2024", "NeMo 25.02", "megatron-2024"),
            ("jax-xla-2025", "MaxText image of 2024-12-09; FSDP=64", "maxtext-2024"),
        ] {
            assert_eq!(moved(stack, notes, "hopper"), wanted, "{stack}, {notes}");
        }
        assert_eq!(moved("various", "Eager / -", "ampere"), "litgpt-2024");
        assert_eq!(Conventions::of_stack("various").moved(["flash-attention README", ""], "ampere"), None);
        assert_eq!(moved("megatron-deepspeed-2022", "", "cdna2"), "megatron-lumi-2023");
        assert_eq!(moved("megatron-deepspeed-2022", "", "ampere"), "megatron-deepspeed-2022");
    }

    /// GPT-3 175B has 96 layers: 12 on each of 8 ranks. Turing-NLG 530B has 3 on each of 35, and the largest GPT of
    /// arXiv 2104.04473 2 on each of 64. Megatron's 119B has 92 layers on 4 ranks, 23 each.
    #[test]
    fn a_rank_has_the_stages_that_its_stack_takes() {
        for (stack, cluster, layers, wanted) in [
            ("megatron-2022", "a100-80gb-dgx", [12, 3, 2], [3, 3, 1]),
            ("megatron-2024", "a100-80gb-dgx", [12, 3, 2], [1, 1, 1]),
            ("megatron-2024", "h100-80gb-dgx", [12, 3, 23], [6, 3, 23]),
            ("megatron-kwai", "h800-80gb", [12, 3, 2], [6, 3, 1]),
        ] {
            let rule = Conventions::of_stack(stack).stage_rule(cluster).expect("a rule");
            assert_eq!(layers.map(|layers| rule.stages(layers)), wanted, "{stack} on {cluster}");
        }
        assert!(Conventions::of_stack("nanotron").stage_rule("h100-80gb-dgx").is_none());
    }
}
