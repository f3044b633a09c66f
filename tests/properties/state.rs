//! What is kept of a model that is trained: every part of it is somewhere, once, and what leaves a device arrives elsewhere.

use std::sync::Arc;

use proptest::prelude::*;
use shardscope_engine::cost::{Factors, Parameters, Piece};
use shardscope_engine::evaluate::{Summary, Workspace, summary};
use shardscope_engine::plan::{Accumulation, Ema, HostModules, Offload, Optimizer, PostTraining};
use shardscope_engine::program::{ModelState, Program};
use shardscope_engine::scenario::Scenario;

use super::any_scenario;

/// The figures of a scenario; `None` where a host has no room.
fn evaluated(scenario: &Scenario) -> Option<Summary> {
    summary(scenario, &mut Workspace::default()).ok()
}

/// What each pipeline rank keeps, its pages all on the device.
fn states(scenario: &Scenario) -> Option<Vec<ModelState>> {
    let layout = scenario.layout().ok()?;
    let mut program = Program::default();
    program.build(scenario, &layout, &Factors::default());
    Some(program.states)
}

/// Equal but for rounding in sums of so large terms.
fn same(value: f64, expected: f64, terms: f64) -> bool {
    (value - expected).abs() <= 1e-9 * terms + 1.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The stages of a pipeline have every parameter of the model once, and experts' ranks every expert once. A matrix that
    /// both ends read is on both.
    #[test]
    fn each_parameter_is_on_one_stage(mut scenario in any_scenario()) {
        scenario.plan.tensor = 1;
        let Some(states) = states(&scenario) else { return Ok(()) };
        let layout = scenario.layout().expect("it was laid out");
        let parts = f64::from(layout.experts * layout.expert_tensor);
        let whole = |state: &ModelState| {
            (state.parameters - state.expert_parameters) + state.expert_parameters * parts
        };
        let found = states.iter().map(whole).fold(Parameters::NONE, |all, more| all + more);
        let piece = |kind, piece| Parameters::piece(&scenario, kind, piece);
        let layer = |kind| piece(kind, Piece::Mixer) + piece(kind, Piece::Mlp);
        let layers = scenario.model.kinds().map(|(kind, layers)| layer(kind) * f64::from(layers));
        let [embedding, head] = [Parameters::embedding, Parameters::head].map(|end| end(&scenario));
        // A head that scores answers shares nothing with the embedding.
        let tied = scenario.model.tied && !scenario.model.scores;
        let shared = scenario.model.vocab > 0 && (tied || scenario.model.mtp_layers > 0);
        let twice = if scenario.plan.pipeline > 1 && shared { embedding } else { Parameters::NONE };
        let expected = layers.fold(embedding + head + twice, |all, more| all + more);
        for (found, expected) in [
            (found.weights, expected.weights),
            (found.trained, expected.trained),
            (found.linear, expected.linear),
            (found.muon, expected.muon),
        ] {
            prop_assert!(same(found.get(), expected.get(), expected.get()), "{found:?} is not {expected:?}");
        }
    }

    /// What an offload takes off a device is on its host or its drives, byte for byte; beside it the gradients of what is
    /// updated there, in fp32.
    #[test]
    fn what_leaves_the_device_arrives_on_the_host(mut scenario in any_scenario(), offload in 1..8_usize) {
        scenario.plan.offload = Offload::ALL[offload];
        if scenario.plan.ema == Ema::Host {
            scenario.plan.ema = Ema::Device;
        }
        // Weights that come from elsewhere are cast anew, so that no casts are kept of them.
        Arc::make_mut(&mut scenario.stack).keeps_casts = false;
        let mut home = scenario.clone();
        home.plan.offload = Offload::None;
        let (Some(moved), Some(kept)) = (states(&scenario), states(&home)) else { return Ok(()) };
        prop_assert_eq!(moved.len(), kept.len());
        for (moved, kept) in moved.iter().zip(&kept) {
            let arrived = if scenario.plan.offload.on_drives() { moved.host.drives } else { moved.host.state };
            let updated = 4.0 * moved.updated_on_host.get();
            for (name, arrived, expected) in [
                ("weights", arrived.weights, (kept.device.weights - moved.device.weights).get()),
                ("optimizer", arrived.optimizer, (kept.device.optimizer - moved.device.optimizer).get()),
                ("gradients", arrived.gradients, updated),
            ] {
                let terms = kept.device.total().get();
                prop_assert!(same(arrived.get(), expected, terms), "{arrived} of {expected} {name} arrived");
            }
        }
    }

    /// A node's host has what its devices' ranks keep there, and the fullest node is told.
    #[test]
    fn a_host_has_what_its_devices_keep_there(scenario in any_scenario()) {
        let (Some(states), Some(summary)) = (states(&scenario), evaluated(&scenario)) else { return Ok(()) };
        let (on_node, of_stage) = (scenario.devices_on_node(), scenario.devices() / states.len() as u32);
        let mut nodes = vec![0.0; scenario.devices().div_ceil(on_node) as usize];
        for device in 0..scenario.devices() {
            let host = &states[(device / of_stage) as usize].host;
            nodes[(device / on_node) as usize] += (host.total() + host.drives.total()).get();
        }
        let told = summary.host_memory;
        let (told, pages) = ((told.total() + told.drives.total()).get(), told.pages.get());
        let fullest = nodes.into_iter().fold(0.0, f64::max);
        prop_assert!(same(told - pages, fullest, fullest), "{told} is not {fullest}, and {pages} of pages");
    }

    /// An average of the weights that the host keeps is one that the device does not, beside the copy that it is taken of.
    #[test]
    fn an_average_is_on_the_device_or_on_the_host(mut scenario in any_scenario()) {
        scenario.plan.offload = Offload::None;
        // The host may hold a model beside, or inputs of modules, too.
        scenario.plan.post_training = PostTraining::default();
        scenario.plan.offload_modules = HostModules::NONE;
        let mut placed = |ema: Ema| {
            scenario.plan.ema = ema;
            states(&scenario)
        };
        let (Some(none), Some(device), Some(host)) = (placed(Ema::None), placed(Ema::Device), placed(Ema::Host)) else {
            return Ok(());
        };
        for ((none, device), host) in none.iter().zip(&device).zip(&host) {
            prop_assert_eq!((host.device, none.host.any(), device.host.any()), (none.device, false, false));
            let average = (device.device.optimizer - none.device.optimizer).get();
            let (there, terms) = (host.host.total().get(), device.device.total().get());
            prop_assert!(same(there, 2.0 * average, terms), "{there} is not twice {average}");
        }
    }

    /// Without stages, what a micro-batch copies to the host of its checkpoints or activations is what lies there.
    #[test]
    fn what_is_copied_of_a_micro_batch_is_on_the_host(mut scenario in any_scenario(), whole: bool) {
        scenario.plan.offload = if whole { Offload::Activations } else { Offload::Checkpoints };
        if scenario.plan.ema == Ema::Host {
            scenario.plan.ema = Ema::Device;
        }
        scenario.plan.paged_optimizer = false;
        if scenario.plan.staged() {
            return Ok(());
        }
        let Some(summary) = evaluated(&scenario) else { return Ok(()) };
        let each = summary.host.to.bytes.get() / f64::from(scenario.plan.accumulate);
        let copied = each * f64::from(scenario.devices_on_node());
        let held = summary.host_memory.activations.get();
        prop_assert!(same(held, copied, copied), "{held} is not {copied}");
    }

    /// Pages are on the device or on the host, and all else is where it was.
    #[test]
    fn pages_are_on_the_device_or_on_the_host(mut scenario in any_scenario(), room in 0.05_f64..1.0) {
        let plan = &mut scenario.plan;
        (plan.paged_optimizer, plan.accumulation) = (false, Accumulation::Standard);
        if plan.optimizer == Optimizer::Muon {
            plan.optimizer = Optimizer::Adam;
        }
        if plan.pipeline > 1 {
            return Ok(());
        }
        let Some(kept) = evaluated(&scenario) else { return Ok(()) };
        scenario.plan.paged_optimizer = true;
        Arc::make_mut(&mut scenario.cluster).device.memory = kept.memory.peak * room;
        let Some(paged) = evaluated(&scenario) else { return Ok(()) };
        let (before, after) = (kept.memory.parts, paged.memory.parts);
        let gone = paged.host_memory.pages / f64::from(scenario.devices_on_node());
        let optimizer = (after.optimizer + gone).get();
        prop_assert!(same(optimizer, before.optimizer.get(), optimizer), "{optimizer} is not {}", before.optimizer);
        prop_assert_eq!((after.weights, after.gathered), (before.weights, before.gathered));
        prop_assert!(same(gone.get(), paged.memory.moved_pages.get(), gone.get()));
    }
}
