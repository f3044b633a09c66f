//! Finds the command of a script that starts training, and reads its arguments as the program does.
//!
//! [`super::script`] reads the shell; the tools' modules interpret options.

use super::launcher::{self, LaunchCommand};
use super::programs;
use super::rollout_programs;
use super::script::{ShellCommand, ShellScript};
use super::settings::ToolSettings;
use super::target::PlanTarget;
use super::words::{CONFIG, KnownFlags, ProgramWords, WordGrammar, is_python, is_settings_file, option, position};
use super::{accelerate, adapters, megatron, torchtitan, torchtune, trainer, xtuner};

/// Tools that are recognised by their flags.
const BY_FLAGS: [(PlanTarget, KnownFlags); 2] =
    [(PlanTarget::MEGATRON, megatron::FLAGS), (PlanTarget::TRAINER, trainer::FLAGS)];

/// The program that a command starts, and how surely it is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StartedProgram {
    tool: PlanTarget,
    /// Index of the program's first argument.
    at: usize,
    /// The program's name in messages.
    name: String,
    /// Doubt: 0 if recognised by its name or flags, 1 by the script's flags, 2 by a file.
    doubt: u8,
}

/// The most other launches that a report names: more than any real script has.
const MOST_OTHERS: usize = 20;

/// Marks a launch other than the one taken.
pub(super) const ANOTHER: &str = ", another launch";

/// The settings that a script gives to the programs that it starts. Of several commands the last one counts; one that
/// is only printed counts if nothing is run.
pub(super) fn launched(file: &str, text: &str) -> Option<Vec<(PlanTarget, ToolSettings)>> {
    let script = ShellScript::read(text);
    let hyphens = text.replace('-', "_");
    let named = BY_FLAGS.into_iter().find(|(_, flags)| flags.fit(|name| hyphens.contains(&format!("__{name}"))));
    let programs: Vec<(&ShellCommand, StartedProgram)> =
        script.commands.iter().filter_map(|command| Some((command, started(&command.words, named)?))).collect();
    let rank = |(command, program): &(&ShellCommand, StartedProgram)| (command.is_printed(), program.doubt);
    let Some(best) = programs.iter().map(rank).min() else {
        // A sourced script only sets arguments.
        let all: Vec<String> = script.lists().flatten().collect();
        let read = CommandReader { file, script: &script, words: &all };
        let own = |settings, words: Vec<String>| ProgramWords::of_launcher().read(&words, settings);
        let settings = read.counted(script.lists().fold(ToolSettings::new(file), own));
        // Flags elsewhere, as in a string that the script builds, are no arguments that it sets.
        return named.filter(|(_, flags)| flags.has_any(&settings)).map(|(tool, _)| vec![(tool, settings)]);
    };
    let mut alike = programs.iter().filter(|program| rank(program) == best).rev();
    let (taken, program) = alike.next()?;
    let mut read = read_program(&CommandReader { file, script: &script, words: &taken.words }, program);
    let others = alike.filter(|(other, _)| other.words != taken.words).take(MOST_OTHERS);
    if let Some((_, settings)) = read.first_mut() {
        for (other, program) in others {
            let what = format!("line {}: {}{ANOTHER}: that of line {} is taken", other.line, program.name, taken.line);
            settings.put(&what, "", &what);
        }
    }
    Some(read)
}

/// The script's last command, for the message that it is unknown.
pub(super) fn last_words(text: &str) -> Option<String> {
    let script = ShellScript::read(text);
    let words: Vec<&str> = script.commands.last()?.words.iter().map(String::as_str).take(6).collect();
    Some(words.join(" "))
}

/// The program that a command starts, if known; `named` is the tool that the script's flags belong to.
fn started(words: &[String], named: Option<(PlanTarget, KnownFlags)>) -> Option<StartedProgram> {
    let python = python_program(words);
    // If no program is seen, any word may be an argument.
    let (at, name) = python.clone().unwrap_or_else(|| (0, words.first().cloned().unwrap_or_default()));
    let sure = |tool, at, name: &str| Some(StartedProgram { tool, at, name: name.to_owned(), doubt: 0 });
    if let Some(at) = position(words, &torchtune::START) {
        return sure(PlanTarget::TORCHTUNE, at, "tune run");
    }
    if torchtitan::is_started(&name, words) {
        return sure(PlanTarget::TORCHTITAN, at, &name);
    }
    let options = |words: &[String]| ProgramWords::of_launcher().read(words, ToolSettings::new(""));
    // Without a Python program, all words belong to the launcher.
    let end = if python.is_some() { at } else { words.len() };
    if let Some(begin) = position(words, &ACCELERATE).filter(|begin| *begin <= end)
        && accelerate::from_options(options(&words[begin..end])).is_some()
    {
        return sure(PlanTarget::ACCELERATE, end, &name);
    }
    if let Some(program) = rollout_programs::started(&name) {
        return sure(PlanTarget::TRAINER, at, program);
    }
    let by_words = || programs::start(words).map(|(program, command, at)| (program.tool, command, at));
    let of_module = || programs::start_of_module(&name, at);
    if let Some((tool, command, at)) = by_words().or_else(|| programs::other_stage(words)).or_else(of_module) {
        return sure(tool, at, &command);
    }
    let own = options(&words[at..]);
    if let Some((tool, _)) = BY_FLAGS.into_iter().find(|(_, flags)| flags.know(&own)) {
        return sure(tool, end, &name);
    }
    if let Some((tool, _)) = named.filter(|(_, flags)| flags.has_any(&own)) {
        return Some(StartedProgram { tool, at: end, name, doubt: 1 });
    }
    let file = own.text(CONFIG).or(words.get(at).map(String::as_str)).is_some_and(is_settings_file);
    (file && python.is_some()).then_some(StartedProgram { tool: PlanTarget::TRAINER, at, name, doubt: 2 })
}

/// Words that start Accelerate's launcher.
const ACCELERATE: [&str; 2] = ["accelerate", "launch"];

/// Launchers that are modules.
const LAUNCHERS: [&str; 4] = ["torch.distributed", "deepspeed.launcher", "accelerate.commands", "torch.utils"];

/// The index after a Python file or a module (no launcher's), and its name.
fn python_program(words: &[String]) -> Option<(usize, String)> {
    let mut words = words.iter().enumerate();
    while let Some((at, word)) = words.next() {
        if is_python(word) || word.ends_with(torchtitan::SCRIPT) {
            return Some((at + 1, word.clone()));
        }
        if word == "-m" || word == "--module" {
            let (at, module) = words.next()?;
            if !LAUNCHERS.iter().any(|launcher| module.starts_with(launcher)) {
                return Some((at + 1, module.clone()));
            }
        }
    }
    None
}

/// The settings that a command gives to its program, and to a launcher that shards.
fn read_program(read: &CommandReader<'_>, program: &StartedProgram) -> Vec<(PlanTarget, ToolSettings)> {
    let StartedProgram { tool, at, name, .. } = program;
    let (of_launcher, own) = read.words.split_at(*at);
    match *tool {
        PlanTarget::ACCELERATE => {
            let begin = position(of_launcher, &ACCELERATE).unwrap_or(*at);
            let options = read.settings(&of_launcher[begin..], &[], WordGrammar::Options, name);
            let mut options = accelerate::from_options(options).unwrap_or_default();
            let mut own =
                ProgramWords { program: name, grammar: WordGrammar::Options }.read(own, ToolSettings::new(read.file));
            note_file(&mut own, name);
            if trainer::FLAGS.know(&own) || programs::names_file(&own) {
                return vec![(PlanTarget::ACCELERATE, options), (PlanTarget::TRAINER, own)];
            }
            options.fall_back(own);
            vec![(PlanTarget::ACCELERATE, options)]
        }
        PlanTarget::TORCHTUNE => {
            let recipe = torchtune::recipe(own);
            let own = own.get(recipe + 1..).unwrap_or_default();
            let mut settings = read.settings(&read.words[..at + recipe], own, WordGrammar::Assignments, name);
            if recipe == 0 {
                settings.put(launcher::DEVICES, "1", "tune run without options of torchrun");
            }
            programs::note_program(&mut settings, name);
            vec![(PlanTarget::TORCHTUNE, settings)]
        }
        PlanTarget::TORCHTITAN => {
            let settings = read.settings(of_launcher, own, WordGrammar::Options, name);
            let mut settings = torchtitan::of_command(settings, read.script.variables());
            note_file(&mut settings, name);
            vec![(PlanTarget::TORCHTITAN, settings)]
        }
        PlanTarget::TRAINER => {
            let assigned = programs::assigns(name) || rollout_programs::assigns(name);
            let assigns =
                own.first().is_some_and(|word| option(word).is_none() || rollout_programs::assigns(name)) && assigned;
            // Hydra marks keys that no file has by a leading plus.
            let mut own: Vec<String> = own.iter().map(|word| word.trim_start_matches('+').to_owned()).collect();
            if rollout_programs::assigns(name) {
                own = rollout_programs::without_options(own);
            }
            let grammar = if assigns { WordGrammar::Assignments } else { WordGrammar::Options };
            let mut settings = read.settings(of_launcher, &own, grammar, name);
            if !rollout_programs::note_start(&mut settings, name) {
                programs::note_start(&mut settings, name, read.words);
            }
            note_file(&mut settings, name);
            if programs::is_started(&settings, "axolotl") {
                settings = adapters::of_axolotl(settings);
            } else if programs::is_started(&settings, "xtuner") {
                settings = xtuner::of_command(settings);
            }
            vec![(PlanTarget::TRAINER, settings)]
        }
        _ => {
            let mut settings = read.settings(of_launcher, own, WordGrammar::Options, name);
            programs::note_start(&mut settings, name, read.words);
            settings.call("yaml_cfg", CONFIG);
            // Primus reads the file that this variable names (`examples/run_pretrain.sh` of AMD-AGI/Primus).
            let primus = read.words.iter().any(|word| word.ends_with("_pretrain.sh") || word.ends_with("primus-cli"));
            if let Some(file) = read.script.variables().get("EXP").filter(|_| primus && !settings.has(CONFIG)) {
                settings.put(CONFIG, file, "EXP");
            }
            note_file(&mut settings, name);
            vec![(*tool, settings)]
        }
    }
}

/// Drops the words of `uv run`, which choose packages, before the program.
fn without_uv(words: &[String]) -> &[String] {
    let Some(begin) = position(words, &["uv", "run"]) else { return words };
    let is_started =
        |word: &String| STARTED_BY_UV.iter().any(|name| word.rsplit('/').next().unwrap_or(word).starts_with(name));
    let end = words[begin..].iter().position(is_started).map_or(words.len(), |at| begin + at);
    &words[end..]
}

/// Prefixes of programs that `uv run` starts.
const STARTED_BY_UV: [&str; 4] = ["python", "torchrun", "accelerate", "deepspeed"];

/// Notes that a program is started with a settings file.
fn note_file(settings: &mut ToolSettings, name: &str) {
    if settings.text(CONFIG).is_some_and(is_settings_file) {
        programs::note_program(settings, name);
    }
}

/// A command to be read, and its script.
struct CommandReader<'a> {
    file: &'a str,
    script: &'a ShellScript<'a>,
    words: &'a [String],
}

impl CommandReader<'_> {
    /// Settings of the launcher and of the program, with the job's devices and threads.
    fn settings(&self, of_launcher: &[String], own: &[String], grammar: WordGrammar, program: &str) -> ToolSettings {
        let settings = ProgramWords::of_launcher().read(without_uv(of_launcher), ToolSettings::new(self.file));
        self.counted(ProgramWords { program, grammar }.read(own, settings))
    }

    /// Adds the job's devices and threads.
    fn counted(&self, mut settings: ToolSettings) -> ToolSettings {
        if !settings.is_empty() {
            // `CUDA_VISIBLE_DEVICES=0,1 torchrun ...` sets the variable for this command.
            let (text, variables) = (self.script.text, self.script.variables());
            let launch = LaunchCommand { words: self.words, text, variables };
            launcher::count_devices(&mut settings, &launch);
            launcher::count_threads(&mut settings, &launch);
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(script: &str, name: &str) -> Option<String> {
        let read = launched("run.sh", script)?;
        read[0].1.text(name).map(str::to_owned)
    }

    #[test]
    fn variables_of_the_file_are_put_in_and_others_stay() {
        let script = "N=32 # layers\nH=$((2 * 2048))\nFFN=$((4*H))\nSTEPS=1_000\nSTEPS=${STEPS//_}\n\
                      ARGS=\" \\\n  --num-layers $N \\\n  --hidden-size ${H} \\\n --ffn-hidden-size $FFN \\\n \"\n\
                      MORE=(--bf16 --train-iters $STEPS)\nMORE+=(--seed ${SEED:-7})\n\
                      echo $ARGS --num-layers 1\ncat <<EOF > x\n--num-layers 9\nEOF\n\
                      srun torchrun train.py $ARGS \"${MORE[@]}\" --micro-batch-size=$MBS --load $(pwd) # end\n";
        let of = |name| text(script, name);
        assert_eq!(of("num_layers").as_deref(), Some("32"));
        assert_eq!((of("hidden_size").as_deref(), of("ffn_hidden_size").as_deref()), (Some("4096"), Some("16384")));
        assert_eq!((of("bf16").as_deref(), of("train_iters").as_deref()), (Some("true"), Some("1000")));
        assert_eq!((of("seed").as_deref(), of("micro_batch_size").as_deref()), (Some("7"), Some("$MBS")));
        assert_eq!(of("load").as_deref(), Some("$(pwd)"));
    }

    #[test]
    fn devices_are_the_launchers_or_those_that_slurm_is_asked_for() {
        let run = "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 2 --hidden-size 64\n";
        assert_eq!(text(run, "world_size").as_deref(), Some("32"));
        let slurm = "#SBATCH --nodes=8\n#SBATCH --gpus-per-node=mi250:8\nx --num-layers 2 --hidden-size 64\n";
        assert_eq!(text(slurm, "world_size").as_deref(), Some("64"));
        assert_eq!(text("x --num-layers 2 --hidden-size 64\n", "world_size"), None);
    }

    /// The module of an engine that answers, and of a benchmark: what they are called says that nothing is trained.
    #[test]
    fn a_module_that_serves_or_infers_is_no_training() {
        let untrained = |script: &str| text(script, "started to");
        let serves = "torchrun --nproc-per-node 8 -m examples.inference.launch_inference_server \\\n \
                      --tensor-model-parallel-size 2 --micro-batch-size 1 --bf16\n";
        assert_eq!(untrained(serves).as_deref(), Some("inference"));
        let trains = serves.replace("examples.inference.launch_inference_server", "examples.train_gpt");
        assert_eq!(untrained(&trains), None);
    }

    /// Flags in a text that a script builds for another program are no arguments that it sets.
    #[test]
    fn a_launcher_whose_program_is_built_as_a_text_is_not_read_as_arguments() {
        let script = "RUN=\"python train.py --micro-batch-size 1 --global-batch-size 8\"\n\
                      srun_base=(srun -l --nodes=3 --kill-on-bad-exit=1)\n\"${srun_base[@]}\" bash -lc \"${RUN}\"\n";
        assert_eq!(text(script, "nodes"), None);
        assert_eq!(text("ARGS=(--num-layers 2 --hidden-size 64)\n", "num_layers").as_deref(), Some("2"));
    }

    #[test]
    fn hydras_own_words_are_options_among_assignments() {
        let words = ["--config-path=config", "--config-name", "ppo_megatron_trainer.yaml", "trainer.nnodes=1"];
        let read = rollout_programs::without_options(words.map(str::to_owned).to_vec());
        assert_eq!(read, ["config_path=config", "config_name=ppo_megatron_trainer.yaml", "trainer.nnodes=1"]);
    }
}
