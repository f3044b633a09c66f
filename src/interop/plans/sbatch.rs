//! A job for Slurm: nodes, devices and time of a plan. The program to train with is the job's own argument.

use crate::scenario::Field;
use crate::units::Seconds;

use super::said::PlanSaid;
use super::written::{Head, Ranks};

/// The version that [`script`] is for.
pub const VERSIONS: &[&str] = &["22.05"];

/// What a cluster wants to know of a job beside its size.
#[derive(Debug, Clone, Default)]
pub struct JobWishes {
    /// The partition, as the user says it.
    pub partition: Option<String>,
    /// The account, as the user says it.
    pub account: Option<String>,
    /// How long the training takes, where its length is known.
    pub time: Option<Seconds>,
}

/// A margin over the predicted time: start-up, checkpoints and what the prediction is off by.
const MARGIN: f64 = 1.2;

/// What a plan says of the job.
pub fn say(said: &mut PlanSaid) {
    for field in Field::all() {
        said.say(field);
    }
    said.elsewhere.push("the plan: export it for the training program too".to_owned());
}

/// The script: `sbatch job.sh train.py ARGUMENTS`.
pub fn script(head: &Head, ranks: &Ranks, wishes: &JobWishes) -> String {
    let Ranks { nodes, each, .. } = ranks;
    let mut options = vec![
        format!("--nodes={nodes}"),
        "--ntasks-per-node=1".to_owned(),
        format!("--gpus-per-node={each}"),
        "--mem=0".to_owned(),
        "--exclusive".to_owned(),
    ];
    options.extend(wishes.partition.iter().map(|name| format!("--partition={name}")));
    options.extend(wishes.account.iter().map(|name| format!("--account={name}")));
    options.extend(wishes.time.map(|time| format!("--time={}", limit(time))));
    let options: Vec<String> = options.iter().map(|option| format!("#SBATCH {option}\n")).collect();
    let untimed = if wishes.time.is_some() { "" } else { "# no --time: say how long the training is by --tokens\n" };
    format!(
        "#!/bin/bash\n{}{}{untimed}\
         # sbatch job.sh train.py ARGUMENTS\n\
         head=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n\
         srun torchrun --nnodes \"$SLURM_JOB_NUM_NODES\" --nproc-per-node {each} \\\n    \
         --rdzv-id \"$SLURM_JOB_ID\" --rdzv-backend c10d --rdzv-endpoint \"$head:29500\" \"$@\"\n",
        options.concat(),
        head.comments(),
    )
}

/// `days-hours:minutes:00`, whole minutes up, with the margin.
fn limit(time: Seconds) -> String {
    let minutes = (time.get() * MARGIN / 60.0).ceil().clamp(1.0, 1e9) as u64;
    format!("{}-{:02}:{:02}:00", minutes / 1440, minutes / 60 % 24, minutes % 60)
}
