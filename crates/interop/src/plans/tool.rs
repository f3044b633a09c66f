//! The tools whose files are read and for which plans are written: one table of them.
//!
//! Not for their keys, which stand in the module of each.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use shardscope_engine::scenario::Problem;
use shardscope_engine::stack::Runs;

use super::draft::PlanDraft;
use super::lacks::{AskedTool, ToolTable};
use super::sbatch::{self, Job};
use super::settings::ToolSettings;
use super::target::PlanTarget;
use super::writer::PlanWriter;
use super::written::Written;
use super::{accelerate, deepspeed, megatron, table, torchtitan, torchtune, trainer, tuners};

/// What is known of a tool.
pub(crate) struct ToolSpec {
    pub target: PlanTarget,
    /// What is written, in a list of tools.
    pub about: &'static str,
    /// What is written, as the command line explains it.
    pub help: &'static str,
    /// Its name in the files that are written.
    pub name: &'static str,
    /// How its files are read; `None` where plans are only written.
    pub reads: Option<ReadTool>,
    /// Versions that plans are written for, the newest first.
    pub versions: &'static [&'static str],
    /// What its file says, and what it lacks.
    pub table: &'static ToolTable,
    /// Writes a plan.
    pub write: fn(&mut PlanWriter<'_>, &Job<'_>) -> Written,
}

/// How a tool's files are read.
pub(crate) struct ReadTool {
    /// What messages call them.
    pub name: &'static str,
    /// Whether settings are the tool's; `None` where other signs tell it.
    pub is_of: Option<fn(&ToolSettings) -> bool>,
    /// Takes them over.
    pub read: fn(ToolSettings, Beside, &mut PlanDraft),
}

/// What is read beside a tool's file.
#[derive(Debug, Clone)]
pub(crate) struct Beside {
    /// DeepSpeed's configuration, which it refers to.
    pub deepspeed: Option<ToolSettings>,
    /// Whether Accelerate's configuration is there, which says how the state is sharded.
    pub launched: bool,
}

/// The Trainer's arguments, whichever program takes them: the Trainer's reader knows programs by their keys.
fn read_trainer(settings: ToolSettings, beside: Beside, draft: &mut PlanDraft) {
    trainer::read(settings, beside.deepspeed, beside.launched, draft);
}

/// All tools, in the order of `export --to`.
static TOOLS: &[ToolSpec] = &[
    ToolSpec {
        target: PlanTarget::ACCELERATE,
        about: "YAML for accelerate launch",
        help: "Accelerate: a YAML for `accelerate launch --config_file`",
        name: "accelerate",
        reads: Some(ReadTool {
            name: "Accelerate",
            is_of: Some(accelerate::is_of),
            read: |settings, beside, draft| accelerate::read(settings, beside.deepspeed, draft),
        }),
        versions: accelerate::VERSIONS,
        table: &accelerate::TABLE,
        write: |writer, _| Written::Yaml("accelerate.yaml", accelerate::write(writer)),
    },
    ToolSpec {
        target: PlanTarget::TRAINER,
        about: "arguments of HF's Trainer, as YAML",
        help: "Hugging Face's Trainer: its arguments as YAML",
        name: "transformers",
        reads: Some(ReadTool { name: "HF Trainer", is_of: Some(trainer::is_of), read: read_trainer }),
        versions: trainer::VERSIONS,
        table: &trainer::TABLE,
        write: |writer, _| Written::Yaml("training_arguments.yaml", trainer::write(writer)),
    },
    ToolSpec {
        target: PlanTarget("llama-factory"),
        about: "YAML for llamafactory-cli train",
        help: "LLaMA-Factory: its YAML, with the stage",
        name: "LLaMA-Factory",
        reads: Some(ReadTool { name: "LLaMA-Factory", is_of: None, read: read_trainer }),
        versions: tuners::FACTORY_VERSIONS,
        table: &tuners::FACTORY,
        write: |writer, _| Written::Yaml("llama_factory.yaml", tuners::write_factory(writer)),
    },
    ToolSpec {
        target: PlanTarget("ms-swift"),
        about: "YAML for swift sft or swift rlhf",
        help: "ms-swift: its YAML, with the type of `swift rlhf`",
        name: "ms-swift",
        reads: Some(ReadTool { name: "ms-swift", is_of: None, read: read_trainer }),
        versions: tuners::SWIFT_VERSIONS,
        table: &tuners::SWIFT,
        write: |writer, _| Written::Yaml("swift.yaml", tuners::write_swift(writer)),
    },
    ToolSpec {
        target: PlanTarget::DEEPSPEED,
        about: "DeepSpeed's JSON",
        help: "`DeepSpeed`: its JSON",
        name: "deepspeed",
        reads: Some(ReadTool {
            name: "DeepSpeed",
            is_of: Some(deepspeed::is_of),
            read: |settings, _, draft| deepspeed::read(settings, draft),
        }),
        versions: deepspeed::VERSIONS,
        table: &deepspeed::TABLE,
        write: |writer, _| Written::Json("deepspeed.json", table::write(deepspeed::KEYS, writer)),
    },
    ToolSpec {
        target: PlanTarget::MEGATRON,
        about: "a script of Megatron-LM's arguments",
        help: "Megatron-LM: its arguments, in a shell script",
        name: "Megatron-LM core",
        reads: Some(ReadTool {
            name: "Megatron-LM arguments",
            is_of: None,
            read: |settings, _, draft| megatron::read(settings, draft),
        }),
        versions: megatron::VERSIONS,
        table: &megatron::TABLE,
        write: |writer, _| {
            let lines = megatron::write(writer);
            Written::Script("megatron.sh", Box::new(move |head, ranks| megatron::text(head, &lines, ranks)))
        },
    },
    ToolSpec {
        target: PlanTarget::TORCHTITAN,
        about: "torchtitan's command",
        help: "torchtitan: its command, or the TOML of 0.2.2",
        name: "torchtitan",
        reads: Some(ReadTool {
            name: "torchtitan",
            is_of: Some(torchtitan::is_of),
            read: |settings, _, draft| torchtitan::read(settings, draft),
        }),
        versions: torchtitan::VERSIONS,
        table: &torchtitan::TABLE,
        write: |writer, _| {
            let lines = torchtitan::write(writer);
            if writer.version == "0.3.0" {
                Written::Script("torchtitan.sh", Box::new(move |head, ranks| torchtitan::command(head, &lines, ranks)))
            } else {
                Written::Toml("torchtitan.toml", lines)
            }
        },
    },
    ToolSpec {
        target: PlanTarget::TORCHTUNE,
        about: "YAML for tune run",
        help: "torchtune: its configuration as YAML, for `tune run`",
        name: "torchtune",
        reads: Some(ReadTool {
            name: "torchtune",
            is_of: Some(torchtune::is_of),
            read: |settings, _, draft| torchtune::read(settings, draft),
        }),
        versions: torchtune::VERSIONS,
        table: &torchtune::TABLE,
        write: |writer, _| Written::Yaml("torchtune.yaml", torchtune::write(writer)),
    },
    ToolSpec {
        target: PlanTarget::SBATCH,
        about: "a job for Slurm",
        help: "Slurm: a job that trains, or the job array of a sweep (--sweep)",
        name: "Slurm",
        reads: None,
        versions: sbatch::VERSIONS,
        table: &sbatch::TABLE,
        write: |writer, job| {
            sbatch::say(writer, job);
            Written::Job
        },
    },
];

/// The plans that each tool can run; a tool that is like an unknown stack is not among them.
static RUNS: LazyLock<BTreeMap<String, Runs>> = LazyLock::new(|| {
    let tools: BTreeMap<String, Runs> = toml::from_str(include_str!("tools.toml")).unwrap_or_default();
    let library = shardscope_presets::library();
    tools.into_iter().filter_map(|(tool, runs)| Some((tool, library.whole(runs).ok()?))).collect()
});

impl PlanTarget {
    /// All of them, in the order of `export --to`.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        TOOLS.iter().map(|tool| tool.target)
    }

    /// Those whose files are read: they start training.
    pub(crate) fn launchers() -> impl DoubleEndedIterator<Item = Self> {
        Self::all().filter(|tool| tool.spec().reads.is_some())
    }

    /// What is known of it.
    pub(crate) fn spec(self) -> &'static ToolSpec {
        // Every target is one of the table's, which a test holds.
        TOOLS.iter().find(|tool| tool.target == self).unwrap_or(&TOOLS[0])
    }

    /// The tool whose settings these are, if a file of them tells. The Trainer is asked before Accelerate, since its
    /// `fsdp_config` may have Accelerate's names.
    pub(crate) fn of_settings(settings: &ToolSettings) -> Option<Self> {
        let is_of = |tool: &Self| tool.spec().reads.as_ref()?.is_of.map(|is_of| is_of(settings));
        Self::launchers().rev().find(|tool| is_of(tool) == Some(true))
    }

    /// The tools whose files are read, in a sentence.
    pub(crate) fn known() -> String {
        let names = Self::launchers().map(|tool| tool.read_name().trim_end_matches(" arguments"));
        let names: Vec<&str> = names.collect();
        names.split_last().map_or_else(String::new, |(last, others)| format!("{} or {last}", others.join(", ")))
    }

    /// The tool's name.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// What messages call its files.
    pub(crate) fn read_name(self) -> &'static str {
        self.spec().reads.as_ref().map_or(self.name(), |reads| reads.name)
    }

    /// The tool in a version, for questions on what it lacks.
    pub(crate) fn asked(self, version: &'static str) -> AskedTool {
        let ToolSpec { name, table, .. } = *self.spec();
        let runs = RUNS.get(&format!("{name} {version}")).or_else(|| RUNS.get(name));
        AskedTool { name, version, runs, table }
    }

    /// The version that is asked for, or the newest.
    pub fn version(self, wanted: Option<&str>) -> Result<&'static str, Problem> {
        let known = self.spec().versions;
        let found = known.iter().find(|version| wanted.is_none_or(|wanted| wanted == **version));
        found.copied().ok_or_else(|| Problem {
            field: "--target-version".to_owned(),
            what: format!("'{}' of {} is not known", wanted.unwrap_or_default(), self.name()),
            fix: format!("choose one of {}", known.join(", ")),
        })
    }
}
