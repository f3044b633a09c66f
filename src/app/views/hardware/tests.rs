//! What limits a cell, on an invented machine.

use super::*;
use crate::app::action::Command;
use crate::app::tests::{explained, explorer, press, press_obeying, question_of};
use shardscope_engine::evaluate::{Workspace, summary};
use shardscope_engine::search::Cell;
use shardscope_report::figures::Figure;

const FACTORS: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

/// Throughput is the least of 60, 40 a memory and 30 a bandwidth; nothing fits into an eighth of the memory.
fn filled() -> HardwareView {
    let app = explorer();
    let mut hardware = HardwareView::default();
    assert!(hardware.follow(&app.context()).is_some());
    let summary = app.answer.as_ref().unwrap().evaluation.summary;
    let cell = |index: usize| {
        let (bandwidth, memory) = (FACTORS[index % 7], FACTORS[6 - index / 7]);
        let throughput = (40.0 * memory).min(30.0 * bandwidth).min(60.0);
        let mut summary = summary;
        (summary.fits, summary.tokens_per_s_per_device) = (memory > 0.125, throughput);
        (index, Cell::Possible { summary, choice: shardscope_engine::search::Tuned::from(&app.scenario) })
    };
    hardware.receive(Found::new((0..49).map(cell).collect::<Vec<_>>()), &app.context());
    hardware
}

/// The letters of a row of memory, from the least bandwidth to the most.
fn letters(hardware: &HardwareView, memory: usize) -> String {
    let names = (0..7).map(|x| hardware.limiting((6 - memory) * 7 + x).unwrap().name());
    names.map(|name| &name[..1]).collect()
}

#[test]
fn what_limits_a_cell_is_what_twice_as_much_of_helps_most() {
    let hardware = filled();
    assert!(!hardware.is_waiting(&explorer().context()));
    // Memory 1 allows 40: bandwidth 1 and below give 30 or less, from 2 on memory is in the way.
    assert_eq!(letters(&hardware, 3), "nnnnmmm");
    // Memory 1/4 allows 10, which bandwidth 1/2 gives.
    assert_eq!(letters(&hardware, 1), "nnmmmmm");
    // Memory 2 allows 80: from bandwidth 2 on it is the device's own 60.
    assert_eq!(letters(&hardware, 4), "nnnnccc");
    assert_eq!(letters(&hardware, 0), "mmmmmmm", "what does not fit");
}

#[test]
fn gains_are_those_of_the_present_hardware() {
    // Bandwidth 1 gives 30: twice as much 60, of which memory allows 40; twice the memory gives nothing.
    let gains = filled().gains().unwrap();
    assert!((gains.bandwidth.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(gains.memory, Some(0.0));
}

#[test]
fn a_factor_of_ones_own_has_its_place_and_its_doubling() {
    let app = explorer();
    let mut scenario = app.scenario.clone();
    (scenario.plan.memory_factor, scenario.plan.bandwidth_factor) = (3.0, 16.0);
    let mut hardware = HardwareView::default();
    hardware.follow(&Context { shown: &scenario, ..app.context() });
    let map = hardware.map.unwrap();
    let of = |axis: &Axis| axis.values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    // Twice 3 is added; half of 16 is there.
    assert_eq!(of(&map.sweep.y), "8 6 4 3 2 1 0.5 0.25 0.125");
    assert_eq!(of(&map.sweep.x), "0.125 0.25 0.5 1 2 4 8 16");
    assert_eq!((map.home, map.cursor), (Some(3 * 8 + 7), 31), "the fourth row, the last column");
    let taken = map.scenario(map.cursor).unwrap().plan;
    assert_eq!(
        (taken.memory_factor.to_bits(), taken.bandwidth_factor.to_bits()),
        (3.0_f64.to_bits(), 16.0_f64.to_bits())
    );
}

#[test]
fn another_scenario_is_asked_about_and_the_picture_stays() {
    let (mut hardware, app) = (filled(), explorer());
    assert_eq!(hardware.follow(&app.context()), None, "it is known");
    let mut scenario = app.scenario.clone();
    scenario.plan.sequence *= 2;
    let context = Context { shown: &scenario, ..app.context() };
    let job = hardware.follow(&context).expect("a map");
    assert_eq!(question_of::<HardwareFill>(&*job).map(|fill| fill.from), Some(24), "from the current hardware on");
    let map = hardware.map.as_ref().unwrap();
    assert!(!map.is_complete() && map.cell(0).is_some());
}

#[test]
fn enter_takes_the_hardware_of_a_cell_with_the_batch_that_it_settled_on() {
    let mut app = explorer();
    press(&mut app, "H");
    assert!(!app.is_waiting());
    press(&mut app, "kl");
    let map = app.views.hardware.map.as_ref().unwrap();
    let wanted = map.scenario(map.cursor).unwrap().plan;
    press(&mut app, "<ret>");
    let plan = &app.scenario.plan;
    assert_eq!((plan.memory_factor.to_bits(), plan.bandwidth_factor.to_bits()), (2.0_f64.to_bits(), 2.0_f64.to_bits()));
    assert_eq!(
        (plan.micro_batch, plan.accumulate, plan.recompute),
        (wanted.micro_batch, wanted.accumulate, wanted.recompute)
    );
    assert_eq!(app.notice.as_deref(), Some("applied the hardware of the cell: u undoes it"));
    press(&mut app, "u");
    assert_eq!(app.scenario, explorer().scenario);
}

/// A cell is explained on its own hardware, with the batch that it settled on.
#[test]
fn i_explains_the_cell_under_the_cursor() {
    let mut app = explorer();
    press_obeying(&mut app, "H", |command| !matches!(command, Command::Work { .. }));
    press(&mut app, "i");
    assert_eq!(app.notice.as_deref(), Some("still computing: there is no figure yet"));
    app.views.hardware = filled();
    press(&mut app, "li");
    let (title, figure, value) = explained(&app);
    assert_eq!((title.as_str(), figure), ("model flop per second and device, system x 2", Figure::ModelFlops));
    let mut twice = app.scenario.clone();
    twice.plan.bandwidth_factor = 2.0;
    let summary = summary(&twice, &mut Workspace::default()).unwrap();
    assert_eq!(value.to_bits(), summary.model_flops.get().to_bits());
}
