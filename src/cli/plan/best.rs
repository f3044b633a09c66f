//! What the searches for plans share: the memory that a plan may use, and where the best one goes.

use crate::cli::args::PlanArgs;
use crate::cli::exit::Failure;
use crate::cli::files;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::Bytes;

/// Lets a device use no more memory than this, and never more than it may.
pub fn limit_memory(scenario: &mut Scenario, limit: Option<Bytes>) {
    if let Some(limit) = limit {
        let factor = &mut scenario.plan.memory_factor;
        *factor = factor.min(limit / scenario.cluster.device.capacity());
    }
}

/// Writes the best plan as a scenario, where that is wanted and there is one.
pub fn save(library: &Library, arguments: &PlanArgs, best: Option<&Scenario>) -> Result<(), Failure> {
    let Some((file, best)) = arguments.out.as_ref().zip(best) else { return Ok(()) };
    let text = library.file(best).to_toml().map_err(Failure::unwritten)?;
    files::write(&[(file.clone(), &text)], arguments.force)
}
