//! Programs that train on answers which the model writes: verl, `OpenRLHF` and NeMo RL. Not for what their settings say alike
//! ([`super::rollouts`]).

mod nemo_rl;
mod openrlhf;
mod verl;

use shardscope_engine::plan::Precision;
use shardscope_engine::scenario::Field;

use super::draft::PlanDraft;
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
    /// Keys that it alone has, all of a row.
    keys: &'static [&'static [&'static str]],
    /// Whether it reads `name=value` behind its name.
    assigns: bool,
    /// Takes its settings over.
    read: fn(&mut RolloutSettings<'_>),
    /// Settings without effect on size, time or memory.
    harmless: &'static [ToolKey],
}

const PROGRAMS: &[RolloutProgram] = &[verl::PROGRAM, openrlhf::PROGRAM, nemo_rl::PROGRAM];

/// The program that a module or a file of Python starts, by its name.
pub(super) fn started(name: &str) -> Option<&'static str> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let begins =
        |program: &&RolloutProgram| program.started.iter().any(|own| name.starts_with(own) || file.starts_with(own));
    PROGRAMS.iter().find(begins).map(|program| program.name)
}

/// Whether a program of that name reads `name=value`.
pub(super) fn assigns(name: &str) -> bool {
    PROGRAMS.iter().any(|program| program.name == name && program.assigns)
}

/// Whether settings are of such a program.
pub(super) fn is_of(settings: &ToolSettings) -> bool {
    program(settings).is_some()
}

fn program(settings: &ToolSettings) -> Option<&'static RolloutProgram> {
    PROGRAMS.iter().find(|program| program.keys.iter().any(|row| row.iter().all(|key| settings.has(key))))
}

/// Takes the settings of such a program over; says whether they are of one.
pub(super) fn read(settings: &mut ToolSettings, draft: &mut PlanDraft) -> bool {
    let Some(program) = program(settings) else { return false };
    programs::refuse_file(settings, "give that file too", draft);
    settings.take("world_size");
    let mut said = RolloutSettings { settings, draft, program: program.name };
    (program.read)(&mut said);
    said.draft.assume(Field::Precision, Precision::Bf16, said.default());
    table::read(program.harmless, settings, draft);
    table::leave("", std::mem::take(settings), draft);
    true
}
