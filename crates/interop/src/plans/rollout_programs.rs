//! Programs that train on answers which the model writes: verl, `OpenRLHF` and NeMo RL. Not for what their settings say alike
//! ([`super::rollouts`]).

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
use super::table::{self, ToolKey};

/// A program that trains on answers which the model writes.
struct RolloutProgram {
    /// As reports name it.
    name: &'static str,
    /// The modules and the files of Python that start it, by the beginning of their names.
    started: &'static [&'static str],
    /// Keys that it alone has, all of a row; none where only what starts it tells.
    keys: &'static [&'static [&'static str]],
    /// Whether it reads `name=value` behind its name.
    assigns: bool,
    /// Takes its settings over.
    read: fn(&mut RolloutSettings<'_>),
    /// Settings without effect on size, time or memory.
    harmless: &'static [ToolKey],
}

const PROGRAMS: &[RolloutProgram] = &[verl::PROGRAM, openrlhf::PROGRAM, openrlhf::PAIRS, nemo_rl::PROGRAM];

/// What of the programs a module or a file of Python starts, by its name.
pub(super) fn started(name: &str) -> Option<&'static str> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let all = PROGRAMS.iter().flat_map(|program| program.started);
    all.copied().find(|own| name.starts_with(own) || file.starts_with(own))
}

/// The program that is started so.
fn started_by(name: &str) -> Option<&'static RolloutProgram> {
    PROGRAMS.iter().find(|program| program.started.contains(&name))
}

/// Keeps that a program is started which no key tells; says whether it is one of these programs.
pub(super) fn note_start(settings: &mut ToolSettings, name: &str) -> bool {
    let Some(program) = started_by(name) else { return false };
    if program.keys.is_empty() {
        programs::note_program(settings, name);
    }
    true
}

/// Whether a program that is started so reads `name=value`.
pub(super) fn assigns(name: &str) -> bool {
    started_by(name).is_some_and(|program| program.assigns)
}

/// Words of Hydra's own, which are options, as the assignments that a program's are: `--config-name NAME`.
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

/// Whether settings are of such a program.
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

/// Takes the settings of such a program over; says whether they are of one.
pub(super) fn read(settings: &mut ToolSettings, draft: &mut PlanDraft) -> bool {
    let Some(program) = program(settings) else { return false };
    programs::refuse_file(settings, "give that file too", draft);
    let mut said = RolloutSettings { settings, draft, program: program.name };
    (program.read)(&mut said);
    said.settings.take(DEVICES);
    said.draft.assume(Field::Precision, Precision::Bf16, said.default());
    table::read(program.harmless, settings, draft);
    table::leave(harmless::LAUNCHER, std::mem::take(settings), draft);
    true
}
