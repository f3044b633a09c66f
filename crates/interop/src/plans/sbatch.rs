//! A Slurm job with a plan's nodes, devices and time. The training program is an argument of the job.

use crate::FileText;
use shardscope_engine::hardware::Queue;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::Seconds;
use shardscope_library::text::shell::ShellCode;

use super::lacks::ToolTable;
use super::table::{self, KeyMeaning, ToolKey};
use super::writer::PlanWriter;
use super::written::{Head, Ranks};

/// The version that [`script`] is for.
pub(crate) const VERSIONS: &[&str] = &["22.05"];

/// What a cluster asks about a job beside its size.
#[derive(Debug, Clone, Default)]
pub struct JobWishes {
    /// The partition, as the user gives it.
    pub partition: Option<String>,
    /// The account, as the user gives it.
    pub account: Option<String>,
    /// The time of the training, if its length is known.
    pub time: Option<Seconds>,
    /// Processors of each node, as the user gives them: one task has them all.
    pub cpus: Option<u32>,
    /// The scheduler's name for the type of devices.
    pub device: Option<String>,
    /// The launcher of the processes.
    pub launcher: JobLauncher,
}

/// The launcher of a job's processes on each node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JobLauncher {
    /// `torchrun`, with the program and its arguments.
    #[default]
    Torchrun,
    /// `accelerate launch` with its own exported file, beside the job.
    Accelerate,
}

/// A scenario's job, in a queue.
#[derive(Debug)]
pub struct Job<'a> {
    /// What the user asks for.
    wishes: &'a JobWishes,
    /// The cluster's queue, unless the user gives another one.
    queue: Option<&'a Queue>,
    /// The job's name, by which Slurm keeps chains of jobs apart.
    name: String,
    ranks: Ranks,
}

impl<'a> Job<'a> {
    /// The job of a scenario.
    pub fn new(scenario: &'a Scenario, wishes: &'a JobWishes) -> Self {
        let said = |queue: &&Queue| wishes.partition.as_ref().is_none_or(|partition| *partition == queue.partition);
        let queue = scenario.cluster.queue.as_ref().filter(said);
        let name = scenario.name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
        Self { wishes, queue, name: name.collect(), ranks: Ranks::of_scenario(scenario) }
    }

    /// The time that the job asks for, margin included.
    fn time(&self) -> Option<Seconds> {
        self.wishes.time.map(|time| time * MARGIN)
    }

    /// Number of jobs of the queue's longest time, if one is not enough; and that time.
    fn chain(&self) -> Option<(u64, Seconds)> {
        let longest = self.queue?.longest?;
        let jobs = (self.time()? / longest).ceil();
        (jobs > 1.0).then_some((jobs as u64, longest))
    }
}

/// Margin over the predicted time, for start-up, checkpoints and prediction error.
const MARGIN: f64 = 1.2;

/// A job states all of a plan, or leaves it to the training program.
pub(crate) const TABLE: ToolTable = ToolTable { keys: &[REST], others: &[], deviations: &[] };

const REST: &[ToolKey] = &[ToolKey { name: "", means: KeyMeaning::Rest }];

impl Job<'_> {
    /// What the job's queue does not allow.
    pub fn lacks(&self) -> Option<String> {
        let Queue { partition, nodes: Some(most), .. } = self.queue? else { return None };
        let nodes = self.ranks.nodes;
        (*most < nodes).then(|| format!("{nodes} nodes: a job in partition {partition} has {most} at most"))
    }
}

/// States a plan's fields, and where the rest is.
pub fn say(writer: &mut PlanWriter, job: &Job<'_>) {
    table::write(REST, writer);
    writer.elsewhere.push(match job.wishes.launcher {
        JobLauncher::Torchrun => "the plan: export it for the training program too".to_owned(),
        JobLauncher::Accelerate => {
            "the plan: accelerate.yaml of `export --to accelerate`, in the folder from which it is submitted".to_owned()
        }
    });
}

/// The script: `sbatch job.sh train.py ARGUMENTS`.
pub fn script(head: &Head, job: &Job<'_>) -> Result<FileText, String> {
    // Job steps of 22.05 and later do not inherit their job's processors.
    let (processors, unsaid) = match job.wishes.cpus {
        Some(_) => (" --cpus-per-task \"$SLURM_CPUS_PER_TASK\"", None),
        None => ("", Some("no --cpus-per-task: --exclusive gives the task all of its node".to_owned())),
    };
    let untimed = "no --time: say how long the training is by --tokens".to_owned();
    let untimed = job.wishes.time.is_none().then_some(untimed);
    let chain = job.chain();
    let chained = chain.map(|(jobs, longest)| {
        let all = job.wishes.time.unwrap_or(Seconds::ZERO);
        format!(
            "{longest} is the longest job: {jobs} of them make {all} and a fifth more, each from the last checkpoint of the \
             one before"
        )
    });
    let submitted = match chain {
        Some((jobs, _)) => format!("for job in $(seq {jobs}); do sbatch job.sh train.py ARGUMENTS; done"),
        None => "sbatch job.sh train.py ARGUMENTS".to_owned(),
    };
    let script = options(job)
        .comments(head.lines())
        .comments(untimed.into_iter().chain(unsaid).chain(chained).chain([submitted]))
        .code("head=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\nsrun")
        .code(processors);
    let launch = match job.wishes.launcher {
        JobLauncher::Torchrun => script
            .code(" torchrun --nnodes \"$SLURM_JOB_NUM_NODES\"")
            .option("nproc-per-node", job.ranks.each)
            .code(" \\\n    --rdzv-id \"$SLURM_JOB_ID\" --rdzv-backend c10d --rdzv-endpoint \"$head:29500\""),
        // The file has nodes and processes. Version 1.15 ignores the file's rendezvous, and static ranks would have to
        // be passed to each node.
        JobLauncher::Accelerate => script.code(
            " accelerate launch --config_file accelerate.yaml \\\n    \
             --rdzv_backend c10d --main_process_ip \"$head\" --main_process_port 29500",
        ),
    };
    FileText::shell(launch.code(" \"$@\"\n"))
}

/// The job's `#SBATCH` options.
fn options(job: &Job<'_>) -> ShellCode {
    let Job { wishes, queue, name, ranks } = job;
    let each = ranks.each;
    let devices = wishes.device.as_ref().map_or_else(|| each.to_string(), |name| format!("{name}:{each}"));
    let script = ShellCode::default().code("#!/bin/bash\n").sbatch("nodes", ranks.nodes);
    let script = script.code("#SBATCH --ntasks-per-node=1\n").sbatch("gpus-per-node", devices);
    let chain = job.chain();
    let time = chain.map_or_else(|| job.time(), |(_, longest)| Some(longest));
    let partition = wishes.partition.clone().or_else(|| queue.map(|queue| queue.partition.clone()));
    let wished = [
        ("cpus-per-task", wishes.cpus.map(|count| count.to_string())),
        ("partition", partition),
        ("account", wishes.account.clone()),
        ("time", time.map(limit)),
        ("job-name", chain.map(|_| name.clone())),
        // Jobs of this name run one after the other.
        ("dependency", chain.map(|_| "singleton".to_owned())),
    ];
    let wished = wished.into_iter().filter_map(|(option, value)| Some((option, value?)));
    let script = script.code("#SBATCH --mem=0\n#SBATCH --exclusive\n");
    wished.fold(script, |script, (option, value)| script.sbatch(option, value))
}

/// `days-hours:minutes:00`, rounded up to minutes.
fn limit(time: Seconds) -> String {
    let minutes = (time.get() / 60.0).ceil().clamp(1.0, 1e9) as u64;
    format!("{}-{:02}:{:02}:00", minutes / 1440, minutes / 60 % 24, minutes % 60)
}
