//! The table of tools whose files are read or written.
//!
//! Each tool's module has its keys.

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

/// A tool's entry.
pub(crate) struct ToolSpec {
    pub target: PlanTarget,
    /// The files written, for a list of tools.
    pub about: &'static str,
    /// Help text on the files written.
    pub help: &'static str,
    /// The tool's name in files that are written.
    pub name: &'static str,
    /// The reader of the tool's files; `None` if plans are only written.
    pub reads: Option<ReadTool>,
    /// Versions that plans are written for, newest first.
    pub versions: &'static [&'static str],
    /// The tool's keys, and what it lacks.
    pub table: &'static ToolTable,
    /// Writes a plan.
    pub write: fn(&mut PlanWriter<'_>, &Job<'_>) -> Written,
}

/// The reader of a tool's files.
pub(crate) struct ReadTool {
    /// The files' name in messages.
    pub name: &'static str,
    /// True if settings are the tool's; `None` if other signs tell it.
    pub is_of: Option<fn(&ToolSettings) -> bool>,
    /// Reads the tool's settings.
    pub read: fn(ToolSettings, CompanionFiles, &mut PlanDraft),
}

/// Files that accompany a tool's file.
#[derive(Debug, Clone)]
pub(crate) struct CompanionFiles {
    /// The DeepSpeed configuration that the file refers to.
    pub deepspeed: Option<ToolSettings>,
    /// True if Accelerate's configuration is present, which decides the sharding.
    pub launched: bool,
}

/// Reads the Trainer's arguments, whichever program takes them: the reader knows programs by their keys.
fn read_trainer(settings: ToolSettings, beside: CompanionFiles, draft: &mut PlanDraft) {
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

/// The plans that each tool can run; tools without limits of their own are left out.
static RUNS: LazyLock<BTreeMap<String, Runs>> = LazyLock::new(|| {
    let tools: BTreeMap<String, Runs> = toml::from_str(include_str!("tools.toml")).unwrap_or_default();
    let library = shardscope_presets::library();
    tools.into_iter().filter_map(|(tool, runs)| Some((tool, library.whole(runs).ok()?))).collect()
});

impl PlanTarget {
    /// All tools, in the order of `export --to`.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        TOOLS.iter().map(|tool| tool.target)
    }

    /// Tools whose files are read: they start training.
    pub(crate) fn launchers() -> impl DoubleEndedIterator<Item = Self> {
        Self::all().filter(|tool| tool.spec().reads.is_some())
    }

    /// The tool's entry in the table.
    pub(crate) fn spec(self) -> &'static ToolSpec {
        // Every target is in the table, as a test checks.
        TOOLS.iter().find(|tool| tool.target == self).unwrap_or(&TOOLS[0])
    }

    /// The tool that settings belong to, if they tell. The Trainer is tried before Accelerate, since its `fsdp_config`
    /// may have Accelerate's names.
    pub(crate) fn of_settings(settings: &ToolSettings) -> Option<Self> {
        let is_of = |tool: &Self| tool.spec().reads.as_ref()?.is_of.map(|is_of| is_of(settings));
        Self::launchers().rev().find(|tool| is_of(tool) == Some(true))
    }

    /// Names of the tools whose files are read, in a sentence.
    pub(crate) fn known() -> String {
        let names = Self::launchers().map(|tool| tool.read_name().trim_end_matches(" arguments"));
        let names: Vec<&str> = names.collect();
        names.split_last().map_or_else(String::new, |(last, others)| format!("{} or {last}", others.join(", ")))
    }

    /// The tool's name.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The name of the tool's files in messages.
    pub(crate) fn read_name(self) -> &'static str {
        self.spec().reads.as_ref().map_or(self.name(), |reads| reads.name)
    }

    /// The tool at a version, to ask what it lacks.
    pub(crate) fn asked(self, version: &'static str) -> AskedTool {
        let ToolSpec { name, table, .. } = *self.spec();
        let runs = RUNS.get(&format!("{name} {version}")).or_else(|| RUNS.get(name));
        AskedTool { name, version, runs, table }
    }

    /// The version asked for, or the newest.
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
