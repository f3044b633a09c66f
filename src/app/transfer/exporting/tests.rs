use super::*;
use crate::app::App;
use crate::app::action::{Command, JobReport};
use crate::app::jobs::files::tests::patient;
use crate::app::layer::Layer;
use crate::app::tests::{H100, explorer, explorer_on, obey, press};
use shardscope_engine::plan::Recompute;
use shardscope_interop::fsdp2::Names;
use shardscope_interop::plans::PlanTarget;

/// Presses keys and writes what is asked for.
fn press_writing(app: &mut App, keys: &str) {
    for command in press(app, keys) {
        if let Command::Transfer { number, transfer } = command {
            let report = Box::new(transfer.run(&app.library, &patient()));
            let next = app.receive(JobReport::Transferred { number, report });
            obey(app, next);
        }
    }
}

fn question(form: ExportForm, folder: &Path) -> ExportQuestion {
    let mut scenario = explorer().scenario;
    // A model that all tools know.
    scenario.model = shardscope_presets::library().model("llama-3.1-8b").unwrap();
    scenario.plan.recompute = Recompute::Full;
    ExportQuestion { form, folder: folder.to_owned(), consent: ExportConsent::default(), scenario, time: None }
}

#[test]
fn every_form_is_written_once_and_nothing_is_replaced_unasked() {
    let directory = tempfile::tempdir().unwrap();
    for (place, form) in ExportForm::all().enumerate() {
        let folder = directory.path().join(place.to_string()).join("new");
        let mut question = question(form, &folder);
        let ExportOutcome::Written(files, _) = question.answer(&patient()) else { panic!("{form:?}") };
        assert!(!files.is_empty() && files.iter().all(|file| Path::new(file).is_file()), "{files:?}");
        let first = Path::new(&files[0]);
        std::fs::write(first, "mine").unwrap();
        assert_eq!(question.answer(&patient()), ExportOutcome::Taken(files[0].clone()));
        assert_eq!(std::fs::read_to_string(first).unwrap(), "mine");
        question.consent.replacing = true;
        assert!(matches!(question.answer(&patient()), ExportOutcome::Written(..)));
        assert_ne!(std::fs::read_to_string(first).unwrap(), "mine");
    }
}

#[test]
fn the_tool_the_folder_and_what_is_left_out_are_on_the_screen() {
    let directory = tempfile::tempdir().unwrap();
    let mut app = explorer_on(&H100.replace("selective", "full"));
    press(&mut app, "Jaccel<ret>");
    let Some(Layer::Entry(entry)) = &app.layer else { panic!("no line for the folder: {:?}", app.layer) };
    assert_eq!(entry.line.text(), ".");
    app.paste(&directory.path().display().to_string());
    press_writing(&mut app, "<ret>");
    let Some(Layer::Page(page)) = &app.layer else { panic!("{:?}", app.notice) };
    let file = directory.path().join("accelerate.yaml");
    assert_eq!(page.lines[0], file.display().to_string());
    // Accelerate's file has no place for the sequence: the training script has it.
    assert!(page.lines.iter().any(|line| line == "Not as planned:" || line == "The tool does all of it as planned."));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("num_processes: 128"), "{text}");
    // The same again: the file is in the way, and stays until its end is asked for.
    std::fs::write(&file, "mine").unwrap();
    press(&mut app, "<esc>Jaccel<ret>");
    app.paste(&directory.path().display().to_string());
    press_writing(&mut app, "<ret>");
    assert!(app.notice.as_ref().unwrap().contains("already exists"), "{:?}", app.notice);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    press_writing(&mut app, "<down><ret>");
    assert!(std::fs::read_to_string(&file).unwrap().contains("num_processes"));
}

/// A trace that was stopped half-way leaves nothing behind.
#[test]
fn what_is_stopped_is_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let watch: Watch = std::rc::Rc::new(|bytes: u64| bytes < 20_000);
    let stopped = question(ExportForm::Trace, directory.path()).answer(&watch);
    let ExportOutcome::Refused(why) = stopped else { panic!("it was written: {stopped:?}") };
    assert!(why[0].contains("it was stopped"), "{why:?}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_plan_that_a_tool_cannot_say_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let mut question = question(ExportForm::Modules(Names::Torchtitan), directory.path());
    question.scenario.plan.tensor = 2;
    let ExportOutcome::Lacking(why, nearest) = question.answer(&patient()) else { panic!("it was written") };
    assert!(why[0].contains("tensor parallelism is not exported"), "{why:?}");
    assert!(nearest.contains("tensor 2 -> 1"), "{nearest}");
}

/// Accelerate computes all of each layer again or nothing: nearest to selective recompute is none, which fits here.
#[test]
fn the_nearest_plan_is_offered_and_written_with_one_key() {
    let directory = tempfile::tempdir().unwrap();
    let mut app = explorer();
    press(&mut app, "Jaccel<ret>");
    app.paste(&directory.path().display().to_string());
    press_writing(&mut app, "<ret>");
    let said = app.notice.as_ref().unwrap();
    assert!(said.contains("accelerate has no recompute selective; nothing was written"), "{said:?}");
    let Some(Layer::List(list)) = &app.layer else { panic!("{:?}", app.layer) };
    let note = &list.items[0].note;
    assert!(note.starts_with("recompute selective -> none, ") && note.ends_with("which fits"), "{note}");
    let file = directory.path().join("accelerate.yaml");
    assert!(!file.exists());
    press_writing(&mut app, "<ret>");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("num_processes: 128"), "{text}");
}

/// A job asks for the time of its training: 300e9 tokens here.
#[test]
fn a_job_asks_for_the_time_of_its_training() {
    let directory = tempfile::tempdir().unwrap();
    let mut question = question(ExportForm::Plan(PlanTarget::SBATCH), directory.path());
    question.time = Some(Seconds::new(90_000.0));
    let ExportOutcome::Written(files, _) = question.answer(&patient()) else { panic!("not written") };
    let text = std::fs::read_to_string(&files[0]).unwrap();
    assert!(text.contains("--time="), "{text}");
}
