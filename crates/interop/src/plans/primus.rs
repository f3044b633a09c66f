//! Configurations of Primus, whose overrides are Megatron-LM's arguments or torchtitan's sections (`examples` and
//! `primus/configs` of AMD-AGI/Primus at fd1eeabb). Does not interpret them.

use shardscope_engine::problem::Problem;

use super::post_training::STAGE;
use super::programs;
use super::settings::ToolSettings;
use super::table::OFF;
use super::target::PlanTarget;

/// The name in reports, and in the table of programs.
const NAME: &str = "Primus";

/// Prefixes of the switches of Primus's kernels, which may change a step's time if on.
const KERNELS: [&str; 3] = ["use_turbo_", "primus_turbo.", "enable_turbo_"];

/// The module that trains and its framework, if a file is Primus's.
fn module(said: &ToolSettings) -> Option<(String, String)> {
    let mut names = said.rest().filter_map(|(name, setting)| {
        let module = name.strip_prefix("modules.")?.strip_suffix(".framework")?;
        Some((format!("modules.{module}"), setting.text.clone()))
    });
    names.next()
}

/// The settings of the framework that Primus runs, if a file is Primus's.
pub(super) fn of_file(said: &mut ToolSettings) -> Option<Result<(PlanTarget, ToolSettings), Problem>> {
    let (module, framework) = module(said)?;
    let of_module = |said: &mut ToolSettings, name: &str| said.take(&format!("{module}.{name}"));
    let (tool, model) = match framework.as_str() {
        "megatron" => (PlanTarget::MEGATRON, "model"),
        "torchtitan" => (PlanTarget::TORCHTITAN, "model.flavor"),
        other => {
            let what = format!("Primus's framework '{other}' is not read");
            let place = of_module(said, "framework").map_or_else(String::new, |setting| setting.place);
            return Some(Err(Problem::new(place, what, "give a configuration for megatron or torchtitan")));
        }
    };
    let mut settings = said.take_inside(&format!("{module}.overrides"));
    // Here `stage` selects data; in other tools it is how they train.
    settings.take(STAGE);
    for (name, text) in
        settings.rest().map(|(name, setting)| (name.to_owned(), usual(&setting.text))).collect::<Vec<_>>()
    {
        let is_off = OFF.iter().any(|off| off.eq_ignore_ascii_case(&text));
        if text == "null" || is_off && KERNELS.iter().any(|kernel| name.starts_with(kernel)) {
            settings.take(&name);
        } else {
            settings.put(&name, &text, &name);
        }
    }
    if let Some(file) = of_module(said, "model") {
        if tool == PlanTarget::TORCHTITAN {
            settings.put("model.name", NAME, "model");
        }
        settings.put(model, usual(&file.text).trim_end_matches(".yaml"), "model");
    }
    if tool == PlanTarget::MEGATRON {
        programs::note_program(&mut settings, NAME);
    }
    Some(Ok((tool, settings)))
}

/// A value, or the default of its variable: 1 for `${PRIMUS_TP:1}`.
fn usual(text: &str) -> String {
    let inside = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    inside.and_then(|inside| inside.split_once(':')).map_or(text, |(_, usual)| usual).to_owned()
}
