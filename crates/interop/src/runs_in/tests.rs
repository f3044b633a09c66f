use std::sync::Arc;

use super::*;
use crate::export::{ExportForm, ExportedFiles};
use crate::plans::JobWishes;
use shardscope_engine::evaluate::{Workspace, summary};
use shardscope_engine::model::Model;
use shardscope_engine::plan::{MasterWeights, Moments, Plan};
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Edit;
use shardscope_engine::testing::random::{self, Draws};

/// A random plan of presets, with choices that are mostly the plainest: a launcher lacks something of any plan that says
/// everything. Plans of one number have the same presets. Every fourth is of a model that torchtitan and torchtune have, every
/// eighth in the formats of torchtune.
fn plan(presets: u64, seed: u64) -> Scenario {
    static LIBRARY: LazyLock<Library> = LazyLock::new(shardscope_presets::library);
    let (mut numbers, mut draws) = (Draws::seeded(presets), Draws::seeded(seed));
    let plainness = 1 + draws.below(60);
    let ids = (0..4).map(|_| numbers.below(u32::MAX)).collect::<Vec<_>>().into_iter();
    let ids = ids.chain((0..120).map(|_| if draws.below(plainness) > 0 { 0 } else { draws.below(u32::MAX) }));
    let mut scenario = random::of_presets(&LIBRARY, &mut Draws::given(ids.collect()));
    // The usual one, which is not the first that is drawn.
    scenario.plan.prefetch = scenario.plan.prefetch.max(Plan::USUAL_PREFETCH);
    let drawn = scenario.clone();
    if presets.is_multiple_of(4) {
        scenario.model = LIBRARY.model("llama-3.1-8b").expect("a preset");
        scenario.model = Arc::new(Model { frozen_layers: 0, ..(*scenario.model).clone() });
    }
    if presets.is_multiple_of(8) {
        (scenario.plan.master_weights, scenario.plan.moments) = (MasterWeights::None, Moments::Bf16);
    }
    let mut scenario = if scenario.checked().is_ok() { scenario } else { drawn };
    // A file is written for any stack; whose program it starts is asked apart.
    Arc::make_mut(&mut scenario.stack).started_by = None;
    scenario
}

/// What the exporter does with a plan: `None` where it refuses it, else what it says that it does not do as planned.
fn exported(launcher: &Launcher, scenario: &Scenario) -> Option<Vec<String>> {
    let form = ExportForm::all().find(|form| form.name() == launcher.word()).expect("a form");
    match form.files(None, scenario, &JobWishes::default()).ok()? {
        ExportedFiles::Texts(_, notes) => Some(notes),
        ExportedFiles::Traces(_) => None,
    }
}

/// A launcher takes a plan where its exporter refuses nothing and does nothing otherwise, and where it does not, the table
/// says why in the words of the exporter.
#[test]
fn table_and_exporter_agree_on_random_plans() {
    let (mut taken, mut refused) = ([0; 9], [0; 9]);
    for seed in 0..10_000 {
        let scenario = plan(seed, seed);
        // What cannot be evaluated is exported for nobody.
        if summary(&scenario, &mut Workspace::default()).is_err() {
            continue;
        }
        let names = runs_in(&scenario);
        for (at, launcher) in Launcher::all().iter().enumerate() {
            let notes = exported(launcher, &scenario);
            let takes = notes.as_ref().is_some_and(Vec::is_empty);
            let lacks = launcher.lacks(&scenario);
            assert_eq!(names.contains(&launcher.word()), takes, "{seed} {}: {notes:?} {lacks:?}", launcher.word());
            assert_eq!(lacks.is_empty(), takes, "{seed} {}", launcher.word());
            assert_eq!(lacks.iter().any(|lack| lack.fix.is_some()), notes.is_none(), "{seed} {}", launcher.word());
            *(if takes { &mut taken[at] } else { &mut refused[at] }) += 1;
        }
    }
    assert!(taken.iter().chain(&refused).all(|count| *count > 20), "{taken:?} {refused:?}");
}

/// A value that is lacked alone is lacked in another plan of the same model, cluster and stack too.
#[test]
fn what_is_lacked_alone_is_lacked_in_every_plan() {
    let mut found = [0; 9];
    for seed in 0..2_000 {
        let (scenario, other) = (plan(seed, seed), plan(seed, !seed));
        // One of them may have kept the model that was drawn.
        if scenario.model.id != other.model.id {
            continue;
        }
        let plan = LaunchedPlan::new(scenario.checked().expect("a layout"));
        for field in Field::all().filter(|field| field.is_in_plan()) {
            let Some(edit) = Edit::from_scenario(field, &scenario) else { continue };
            let mut with = other.clone();
            if edit.apply(&mut with).is_err() || field.value(&with) != Some(edit.value) {
                continue;
            }
            let Ok(job) = with.checked() else { continue };
            let with = LaunchedPlan::new(job);
            for (at, launcher) in Launcher::all().iter().enumerate().filter(|(_, it)| it.lacks_alone(field, &plan)) {
                assert!(!launcher.takes(&with), "{seed} {field} of {}", launcher.word());
                assert!(!launcher.takes(&plan), "{seed} {field} of {}", launcher.word());
                found[at] += 1;
            }
        }
    }
    assert!(found.iter().all(|count| *count > 100), "{found:?}");
}

/// A plan that is timed as Megatron Bridge is none of Accelerate's, though Accelerate's file could say it; the same plan timed as
/// no program of its own is.
#[test]
fn a_launcher_takes_plans_of_the_programs_that_it_starts() {
    let library = shardscope_presets::library();
    let of = |stack: &str| {
        let job = format!(
            "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"{stack}\"\nmodel = \"mpt-7b\"\nstrategy = \"fsdp\"\n"
        );
        let job = format!("{job}[plan]\nnodes = 1\nmicro_batch = 1\naccumulate = 1\n");
        let file = shardscope_engine::scenario::file::parse(&job).expect("a file");
        library.resolve(&file).expect("a scenario")
    };
    assert!(runs_in(&of("default")).contains(&"accelerate"));
    let bridge = of("megatron-bridge-2025");
    assert!(!runs_in(&bridge).contains(&"accelerate"));
    let accelerate = Launcher::named("accelerate").expect("a launcher");
    assert_eq!(accelerate.lacks(&bridge)[0].field, Field::Stack);
    assert!(missing(&bridge).is_none_or(|missing| missing.starts_with("megatron: ")), "{:?}", missing(&bridge));
    // No exporter writes the configuration of HAI-LLM.
    assert_eq!(runs_in(&of("hai-llm-2024")), Vec::<&str>::new());
}
