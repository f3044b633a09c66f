//! Programs that train on answers which the model generates: verl, `OpenRLHF` and NeMo RL. [`super::rollouts`] has what
//! their settings share.

mod nemo_rl;
mod openrlhf;
mod verl;

use shardscope_engine::plan::Precision;
use shardscope_engine::scenario::Field;

use super::draft::PlanDraft;
use super::harmless;
use super::launcher::DEVICES;
use super::programs;
use super::rollouts::RolloutSettings;
use super::settings::ToolSettings;
use super::table;

/// A program that trains on answers which the model generates.
struct RolloutProgram {
    /// The name in reports.
    name: &'static str,
    /// Prefixes of the Python modules and files that start the program.
    started: &'static [&'static str],
    /// Keys that only this program has, all of a row; empty if only its command identifies it.
    keys: &'static [&'static [&'static str]],
    /// True if the program reads `name=value` after its name.
    assigns: bool,
    /// Reads the program's settings.
    read: fn(&mut RolloutSettings<'_>),
    /// The file of settings without effect on size, time or memory.
    tool: &'static str,
}

const PROGRAMS: &[RolloutProgram] = &[verl::PROGRAM, openrlhf::PROGRAM, openrlhf::PAIRS, nemo_rl::PROGRAM];

/// The known prefix of a Python module's or file's name, if any.
pub(super) fn started(name: &str) -> Option<&'static str> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let all = PROGRAMS.iter().flat_map(|program| program.started);
    all.copied().find(|own| name.starts_with(own) || file.starts_with(own))
}

/// The program with this prefix.
fn started_by(name: &str) -> Option<&'static RolloutProgram> {
    PROGRAMS.iter().find(|program| program.started.contains(&name))
}

/// Notes a program that no key identifies; returns true for all of these programs.
pub(super) fn note_start(settings: &mut ToolSettings, name: &str) -> bool {
    let Some(program) = started_by(name) else { return false };
    if program.keys.is_empty() {
        programs::note_program(settings, name);
    }
    true
}

/// True if the program with this prefix reads `name=value`.
pub(super) fn assigns(name: &str) -> bool {
    started_by(name).is_some_and(|program| program.assigns)
}

/// Turns Hydra's options into assignments like the program's: `--config-name NAME`.
pub(super) fn without_options(words: Vec<String>) -> Vec<String> {
    let mut words = words.into_iter();
    let mut assigned = Vec::new();
    while let Some(word) = words.next() {
        let named = ["--config-name", "--config-path"].into_iter().find(|option| word.starts_with(option));
        let Some(option) = named else {
            assigned.push(word);
            continue;
        };
        let value = word[option.len()..].strip_prefix('=').map(str::to_owned).or_else(|| words.next());
        assigned.push(format!("{}={}", option.trim_start_matches('-').replace('-', "_"), value.unwrap_or_default()));
    }
    assigned
}

/// True if the settings are of such a program.
pub(super) fn is_of(settings: &ToolSettings) -> bool {
    program(settings).is_some()
}

fn program(settings: &ToolSettings) -> Option<&'static RolloutProgram> {
    let by_name = || programs::started(settings).and_then(started_by).filter(|program| program.keys.is_empty());
    by_name().or_else(|| by_keys(settings))
}

fn by_keys(settings: &ToolSettings) -> Option<&'static RolloutProgram> {
    PROGRAMS.iter().find(|program| program.keys.iter().any(|row| row.iter().all(|key| settings.has(key))))
}

/// Reads the settings of such a program; returns false for any other.
pub(super) fn read(settings: &mut ToolSettings, draft: &mut PlanDraft) -> bool {
    let Some(program) = program(settings) else { return false };
    programs::refuse_file(settings, "give that file too", draft);
    let mut said = RolloutSettings { settings, draft, program: program.name };
    (program.read)(&mut said);
    said.settings.take(DEVICES);
    said.draft.assume(Field::Precision, Precision::Bf16, said.default());
    let settings = table::without_effect(program.tool, std::mem::take(settings), draft);
    table::leave(harmless::LAUNCHER, settings, draft);
    true
}
