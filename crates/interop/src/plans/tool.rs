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
use super::writer::PlanWriter;
use super::written::Written;
use super::{accelerate, deepspeed, megatron, torchtitan, torchtune, trainer};

/// Tools that plans are written for, and whose configurations are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanTarget {
    /// torchtune's YAML.
    Torchtune,
    /// torchtitan's command, or the TOML of earlier versions.
    Torchtitan,
    /// DeepSpeed's JSON.
    DeepSpeed,
    /// Arguments of Hugging Face's Trainer, as YAML.
    Trainer,
    /// Accelerate's YAML.
    Accelerate,
    /// Arguments of Megatron-LM.
    Megatron,
    /// A job for Slurm.
    Sbatch,
}

/// What is known of a tool.
pub(crate) struct ToolSpec {
    /// Its word of `export --to`, and what is written.
    pub words: (&'static str, &'static str),
    /// Its name in the files that are written.
    pub name: &'static str,
    /// How its files are read; `None` where plans are only written.
    pub reads: Option<ReadTool>,
    /// Versions that plans are written for, the newest first.
    pub versions: &'static [&'static str],
    /// What its file says, and what it lacks.
    pub table: &'static ToolTable,
    /// Writes a plan for a version.
    pub write: fn(&'static str, &mut PlanWriter<'_>, &Job<'_>) -> Written,
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

/// All tools, in the order of their names above, in which a file is asked whose it is: of the Trainer before Accelerate, since
/// its `fsdp_config` may have Accelerate's names.
static TOOLS: [ToolSpec; 7] = [
    ToolSpec {
        words: ("torchtune", "YAML for tune run"),
        name: "torchtune",
        reads: Some(ReadTool {
            name: "torchtune",
            is_of: Some(torchtune::is_of),
            read: |settings, _, draft| torchtune::read(settings, draft),
        }),
        versions: torchtune::VERSIONS,
        table: &torchtune::TABLE,
        write: |_, writer, _| Written::Yaml("torchtune.yaml", torchtune::write(writer)),
    },
    ToolSpec {
        words: ("torchtitan", "torchtitan's command"),
        name: "torchtitan",
        reads: Some(ReadTool {
            name: "torchtitan",
            is_of: Some(torchtitan::is_of),
            read: |settings, _, draft| torchtitan::read(settings, draft),
        }),
        versions: torchtitan::VERSIONS,
        table: &torchtitan::TABLE,
        write: |version, writer, _| {
            let lines = torchtitan::write(version, writer);
            if version == "0.3.0" {
                Written::Script("torchtitan.sh", Box::new(move |head, ranks| torchtitan::command(head, &lines, ranks)))
            } else {
                Written::Toml("torchtitan.toml", lines)
            }
        },
    },
    ToolSpec {
        words: ("deepspeed", "DeepSpeed's JSON"),
        name: "deepspeed",
        reads: Some(ReadTool {
            name: "DeepSpeed",
            is_of: Some(deepspeed::is_of),
            read: |settings, _, draft| deepspeed::read(settings, draft),
        }),
        versions: deepspeed::VERSIONS,
        table: &deepspeed::TABLE,
        write: |version, writer, _| Written::Json("deepspeed.json", deepspeed::write(version, writer)),
    },
    ToolSpec {
        words: ("hf-trainer", "arguments of HF's Trainer, as YAML"),
        name: "transformers",
        reads: Some(ReadTool {
            name: "HF Trainer",
            is_of: Some(trainer::is_of),
            read: |settings, beside, draft| trainer::read(settings, beside.deepspeed, beside.launched, draft),
        }),
        versions: trainer::VERSIONS,
        table: &trainer::TABLE,
        write: |_, writer, _| Written::Yaml("training_arguments.yaml", trainer::write(writer)),
    },
    ToolSpec {
        words: ("accelerate", "YAML for accelerate launch"),
        name: "accelerate",
        reads: Some(ReadTool {
            name: "Accelerate",
            is_of: Some(accelerate::is_of),
            read: |settings, beside, draft| accelerate::read(settings, beside.deepspeed, draft),
        }),
        versions: accelerate::VERSIONS,
        table: &accelerate::TABLE,
        write: |_, writer, _| Written::Yaml("accelerate.yaml", accelerate::write(writer)),
    },
    ToolSpec {
        words: ("megatron", "a script of Megatron-LM's arguments"),
        name: "Megatron-LM core",
        reads: Some(ReadTool {
            name: "Megatron-LM arguments",
            is_of: None,
            read: |settings, _, draft| megatron::read(settings, draft),
        }),
        versions: megatron::VERSIONS,
        table: &megatron::TABLE,
        write: |_, writer, _| {
            let (lines, environment) = megatron::write(writer);
            let text = move |head: &_, ranks: &_| megatron::text(head, &lines, environment, ranks);
            Written::Script("megatron.sh", Box::new(text))
        },
    },
    ToolSpec {
        words: ("sbatch", "a job for Slurm"),
        name: "Slurm",
        reads: None,
        versions: sbatch::VERSIONS,
        table: &sbatch::TABLE,
        write: |_, writer, job| {
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
    /// Those that start training, in the order of `export --to`.
    pub(crate) const LAUNCHERS: [Self; 6] =
        [Self::Accelerate, Self::Trainer, Self::DeepSpeed, Self::Megatron, Self::Torchtitan, Self::Torchtune];

    /// What is known of it.
    pub(crate) fn spec(self) -> &'static ToolSpec {
        &TOOLS[self as usize]
    }

    /// The tool whose settings these are, if a file of them tells.
    pub(crate) fn of_settings(settings: &ToolSettings) -> Option<Self> {
        let all = [Self::Torchtune, Self::Torchtitan, Self::DeepSpeed, Self::Trainer, Self::Accelerate];
        let is_of =
            |tool: &Self| tool.spec().reads.as_ref().and_then(|reads| reads.is_of).is_some_and(|it| it(settings));
        all.into_iter().find(is_of)
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
