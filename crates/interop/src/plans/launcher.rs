//! Counts the devices of a script's job from the options of `torchrun`, `accelerate launch`, `deepspeed`, `mpirun` and
//! `srun`, from variables and from the script's `#SBATCH` lines.
//!
//! Does not read the program's own arguments.

use std::collections::BTreeMap;

use super::settings::ToolSettings;

/// Options of `sbatch` and `srun` by their long and short names.
const NODES: [&str; 2] = ["--nodes", "-N"];
const OF_A_NODE: [[&str; 2]; 3] =
    [["--gpus-per-node", "--gres"], ["--ntasks-per-node", "--tasks-per-node"], ["--gpus-per-task", "--gpus-per-task"]];
const OF_ALL: [[&str; 2]; 2] = [["--gpus", "-G"], ["--ntasks", "-n"]];

/// A number of devices, and its source.
type Counted = (u32, &'static str);

/// A job's command, and its script.
pub(super) struct LaunchCommand<'a> {
    /// The words of the command.
    pub words: &'a [String],
    /// The whole script.
    pub text: &'a str,
    /// Variables that the script sets.
    pub variables: &'a BTreeMap<String, String>,
}

impl LaunchCommand<'_> {
    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Number of devices that the script leaves visible.
    fn visible(&self) -> Option<u32> {
        listed(self.variable(VISIBLE)?)
    }

    /// True if one of some programs is started.
    fn starts(&self, programs: &[&str]) -> bool {
        self.words.iter().any(|word| programs.contains(&word.as_str()))
    }
}

/// Launchers that start a process on each visible device, unless a file or a count says otherwise.
const ON_EACH: [&str; 5] = ["llamafactory-cli", "deepspeed", "trl", "axolotl", "accelerate"];

/// Launchers whose processes are started by torchrun or its module.
const BY_TORCHRUN: [&str; 8] = [
    TORCHRUN,
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate",
    "llamafactory-cli",
    "trl",
    "swift",
    "axolotl",
];

/// Setting that notes a start by torchrun, which gives each of several processes one thread unless the script sets threads.
pub(super) const TORCHRUN: &str = "torchrun";

/// Setting for the devices of a job.
pub(super) const DEVICES: &str = "world_size";

/// Variable for the host's threads in each process.
pub(super) const THREADS: &str = "OMP_NUM_THREADS";

/// Variable that leaves some devices of a node to a job.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// Puts the number of devices into the settings as `world_size`, and takes out the settings that it was counted from.
pub(super) fn count_devices(settings: &mut ToolSettings, launch: &LaunchCommand<'_>) {
    let each = ["nproc_per_node", "gpus_per_node", "num_gpus"].map(|name| settings.take(name).map(|it| it.text));
    let nodes = ["nnodes", "nodes", "num_nodes"].map(|name| settings.take(name).map(|it| it.text));
    let all = ["num_processes", "include"].map(|name| settings.take(name).map(|it| it.text));
    for name in ["ntasks", "ntasks_per_node", "gres", "gpus", "gpus_per_task", "num_machines"] {
        settings.take(name);
    }
    let [each, nodes] = [each, nodes].map(|found| found.into_iter().flatten().next());
    let [processes, included] = all;
    let of_variables = || per_node(launch.variable("NPROC_PER_NODE"), launch.variable("NNODES"), launch);
    let count = per_node(each.as_deref(), nodes.as_deref(), launch)
        .or_else(|| Some((counted(&processes?)?, "--num_processes")))
        .or_else(|| Some((slots(&included?)?, "--include")))
        .or_else(|| Some((counted(option(launch.words, ["-np", "-np"])?)?, "-np")))
        .or_else(|| Some((launch.variable("WORLD_SIZE")?.parse().ok()?, "WORLD_SIZE")))
        .or_else(|| Some((of_variables()?.0, "NPROC_PER_NODE")))
        .or_else(|| of_slurm(launch.words, "srun"))
        .or_else(|| of_slurm(&heads(launch.text), "#SBATCH"))
        .or_else(|| Some((of_visible(settings, launch)?, VISIBLE)));
    if let Some((count, place)) = count {
        settings.put(DEVICES, &count.to_string(), place);
    }
}

/// Puts each process's threads into the settings, if the script sets a number or its task's processors; else notes a
/// launcher that sets them.
pub(super) fn count_threads(settings: &mut ToolSettings, launch: &LaunchCommand<'_>) {
    let Some(said) = launch.variable(THREADS) else {
        if launch.starts(&BY_TORCHRUN) {
            settings.put(TORCHRUN, "true", TORCHRUN);
        }
        return;
    };
    let head = heads(launch.text);
    let of_task = || option(&head, ["--cpus-per-task", "-c"]);
    let text = if said.contains("SLURM_CPUS_PER_TASK") { of_task() } else { Some(said) };
    if let Some(threads) = text.and_then(|text| text.parse::<u32>().ok()).filter(|threads| *threads > 0) {
        settings.put(THREADS, &threads.to_string(), THREADS);
    }
}

/// Devices of a job, from those visible on a node. Several count only if the launcher starts a process on each.
fn of_visible(settings: &ToolSettings, launch: &LaunchCommand<'_>) -> Option<u32> {
    let on_each = launch.starts(&ON_EACH) && !["config_file", "hostfile"].iter().any(|file| settings.has(file));
    let each = launch.visible().filter(|count| *count == 1 || on_each)?;
    Some(per_node(Some(&each.to_string()), launch.variable("NNODES"), launch)?.0)
}

/// `torchrun --nproc_per_node 8`: on one node, unless `--nnodes` or the job's head gives a number.
fn per_node(each: Option<&str>, nodes: Option<&str>, launch: &LaunchCommand<'_>) -> Option<Counted> {
    let each = match each? {
        "gpu" | "auto" => launch.visible().or_else(|| devices_of_a_node(&heads(launch.text)))?,
        text => counted(text)?,
    };
    let Some(nodes) = nodes else { return Some((each, "--nproc_per_node, on one node")) };
    let elastic = nodes.split_once(':').is_some_and(|(least, most)| least != most);
    let head = heads(launch.text);
    let nodes = if nodes.contains('$') { counted(option(&head, NODES)?) } else { counted(nodes) };
    Some((each.checked_mul(nodes.filter(|_| !elastic)?)?, "--nnodes x --nproc_per_node"))
}

/// Nodes times devices per node, or all devices.
fn of_slurm(words: &[String], place: &'static str) -> Option<Counted> {
    if place == "srun" && !words.iter().any(|word| word == "srun") {
        return None;
    }
    let nodes = option(words, NODES).and_then(counted);
    let each = devices_of_a_node(words);
    if let Some(count) = nodes.zip(each).and_then(|(nodes, each)| nodes.checked_mul(each)) {
        return Some((
            count,
            if place == "srun" { "srun --nodes x devices of a node" } else { "#SBATCH --nodes x devices of a node" },
        ));
    }
    let all =
        OF_ALL.into_iter().find_map(|names| typed(option(words, names)?)).or_else(|| each.filter(|_| nodes.is_none()));
    all.map(|count| (count, place))
}

fn devices_of_a_node(words: &[String]) -> Option<u32> {
    OF_A_NODE.into_iter().find_map(|names| typed(option(words, names)?))
}

/// The words of the script's `#SBATCH` lines.
fn heads(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("#SBATCH"));
    lines.flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace()).map(str::to_owned).collect()
}

/// The last value of an option: `--nodes=4`, `--nodes 4`, `-N 4`, `-N4`.
fn option<'a>(words: &'a [String], names: [&str; 2]) -> Option<&'a str> {
    let value = |at: usize, word: &'a str| {
        names.into_iter().find_map(|name| match word.strip_prefix(name)? {
            "" => words.get(at + 1).map(String::as_str),
            rest if name.starts_with("--") => rest.strip_prefix('='),
            rest => rest.starts_with(|c: char| c.is_ascii_digit()).then_some(rest),
        })
    };
    words.iter().enumerate().filter_map(|(at, word)| value(at, word)).next_back()
}

/// The count in `mi250:8`, `gpu:a100:4` or `8`.
fn typed(text: &str) -> Option<u32> {
    counted(text.split(',').find(|one| !one.starts_with("mps"))?.rsplit(':').next()?)
}

/// The number of devices in a list: `0,1,2,3` is four.
fn listed(text: &str) -> Option<u32> {
    text.split(',').all(|one| one.trim().parse::<u32>().is_ok()).then(|| text.split(',').count() as u32)
}

/// The number of devices in a list of `deepspeed --include`: `a:0,1@b:0,1` is four.
fn slots(text: &str) -> Option<u32> {
    text.split('@').map(|node| listed(node.split_once(':')?.1)).sum()
}

fn counted(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn devices(script: &str, flags: &[(&str, &str)], variables: &[(&str, &str)]) -> Option<String> {
        let words: Vec<String> = script.lines().last()?.split_whitespace().map(str::to_owned).collect();
        let mut settings = ToolSettings::new("run.sh");
        for (name, value) in flags {
            settings.put(name, value, name);
        }
        let variables = set(variables);
        let launch = LaunchCommand { words: &words, text: script, variables: &variables };
        count_devices(&mut settings, &launch);
        settings.text("world_size").map(str::to_owned)
    }

    /// `#SBATCH --cpus-per-task=16` with `OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK` are 16; what another variable holds is not known.
    #[test]
    fn threads_of_a_process() {
        let threads = |text: &str, said: Option<&str>| {
            let mut settings = ToolSettings::new("run.sh");
            let variables = set(&said.map(|said| (THREADS, said)).into_iter().collect::<Vec<_>>());
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            let launch = LaunchCommand { words: &words, text, variables: &variables };
            count_threads(&mut settings, &launch);
            assert_eq!(settings.has(TORCHRUN), said.is_none(), "{text}");
            settings.text(THREADS).map(str::to_owned)
        };
        let head = "#SBATCH --cpus-per-task=16\ntorchrun train.py";
        assert_eq!(threads(head, Some("8")).as_deref(), Some("8"));
        assert_eq!(threads(head, Some("$SLURM_CPUS_PER_TASK")).as_deref(), Some("16"));
        assert_eq!(threads("torchrun", Some("$SLURM_CPUS_PER_TASK")), None);
        assert_eq!(threads(head, Some("$THREADS")), None);
        assert_eq!(threads(head, None), None);
    }

    #[test]
    fn each_launcher_s_words() {
        let none = &[][..];
        let visible = |devices| vec![(VISIBLE, devices)];
        let [one, three] = [visible("0"), visible("0,1,2")];
        for (script, flags, variables, expected) in [
            // torchrun runs one node where nothing is said; of an elastic job the size is not known.
            ("torchrun", &[("nproc_per_node", "4")][..], none, Some("4")),
            ("torchrun", &[("nproc_per_node", "8"), ("nnodes", "4")], none, Some("32")),
            ("torchrun", &[("nproc_per_node", "8"), ("nnodes", "2:2")], none, Some("16")),
            ("torchrun", &[("nproc_per_node", "8"), ("nnodes", "1:4")], none, None),
            ("torchrun", &[("nproc_per_node", "gpu")], &three, Some("3")),
            ("torchrun", &[("nproc_per_node", "gpu")], none, None),
            ("#SBATCH --nodes=4\ntorchrun", &[("nproc_per_node", "8"), ("nnodes", "$SLURM_NNODES")], none, Some("32")),
            // accelerate counts the processes of all machines.
            ("accelerate launch", &[("num_processes", "16"), ("num_machines", "2")], none, Some("16")),
            ("deepspeed", &[("num_gpus", "4")], none, Some("4")),
            ("deepspeed", &[("num_gpus", "8"), ("num_nodes", "2")], none, Some("16")),
            ("deepspeed", &[("include", "localhost:0,1,2")], none, Some("3")),
            ("deepspeed", &[("include", "a:0,1@b:0,1")], none, Some("4")),
            ("deepspeed", &[("include", "a@b")], none, None),
            ("mpirun -np 16 python", &[], none, Some("16")),
            ("python", &[], &[("WORLD_SIZE", "24")], Some("24")),
            ("srun -N 2 --gpus-per-node=8 python", &[], none, Some("16")),
            ("srun -N2 --ntasks-per-node 4 python", &[], none, Some("8")),
            ("srun -n 12 --gpus-per-task=1 python", &[], none, Some("12")),
            ("#SBATCH -N 4\n#SBATCH --gres=gpu:a100:4 # all\nsrun python", &[], none, Some("16")),
            ("#SBATCH --nodes 2\n#SBATCH --gpus-per-node mi250:8\nsrun python", &[], none, Some("16")),
            ("#SBATCH --gpus=12\npython", &[], none, Some("12")),
            ("#SBATCH --gres=gpu:8\npython", &[], none, Some("8")),
            ("python", &[], none, None),
            // One process trains on one device, and drives several in ways that are no plan's.
            ("python", &[], &one, Some("1")),
            ("python", &[], &three, None),
            ("llamafactory-cli train", &[], &three, Some("3")),
            ("deepspeed", &[], &three, Some("3")),
            ("llamafactory-cli train", &[], &[(VISIBLE, "0,1"), ("NNODES", "2")], Some("4")),
            ("swift sft", &[], &[("NPROC_PER_NODE", "4"), ("NNODES", "2")], Some("8")),
        ] {
            assert_eq!(devices(script, flags, variables).as_deref(), expected, "{script} {flags:?}");
        }
    }
}
