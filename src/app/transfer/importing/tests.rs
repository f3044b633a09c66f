use super::*;
use crate::app::App;
use crate::app::action::{Command, JobReport};
use crate::app::jobs::files::tests::patient;
use crate::app::layer::Layer;
use crate::app::tests::{explorer, obey, press, value};
use shardscope_engine::scenario::Field;

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs what is asked of the files, and what follows.
fn read(app: &mut App, commands: Vec<Command>) {
    for command in commands {
        match command {
            Command::Transfer { number, transfer } => {
                let report = Box::new(transfer.run(&app.library, &patient()));
                let next = app.receive(JobReport::Transferred { number, report });
                obey(app, next);
            }
            other => obey(app, vec![other]),
        }
    }
}

fn drop_file(app: &mut App, line: &str) {
    let commands = app.paste(line);
    read(app, commands);
}

/// The page that says what came of it: its heading and its text.
fn page(app: &App) -> (String, String) {
    let Some(Layer::Page(page)) = &app.layer else { panic!("no page: {:?}", app.notice) };
    (page.title.clone(), page.lines.join("\n"))
}

#[test]
fn a_dropped_model_is_the_scenarios_and_undo_takes_it_back() {
    let mut app = explorer();
    let before = app.scenario.clone();
    // As a terminal quotes the name of a file that is dropped on it.
    drop_file(&mut app, &format!("'{}' ", fixture("hf/qwen3-8b.json")));
    // Qwen3-8B has 8,190,735,360 parameters: the sum of its tensors on Hugging Face.
    assert_eq!(app.scenario.model.parameters(), 8_190_735_360);
    let (title, text) = page(&app);
    assert!(title.ends_with("qwen3-8b.json is a model's configuration"), "{title}");
    assert!(text.starts_with("8,190,735,360 parameters") && text.contains("layers = 36 (num_hidden_layers)"), "{text}");
    assert!(app.shown.is_ok() && !app.stale);
    press(&mut app, "<esc>u");
    assert_eq!(app.scenario, before);
}

/// The 1T of the sample that is open at first say nothing of another model; 500B were typed.
#[test]
fn tokens_of_the_sample_go_with_its_model() {
    for (tokens, left) in [(1e12, None), (5e11, Some(5e11))] {
        let mut app = explorer();
        app.file.put(Field::Tokens, Some(tokens.into()));
        drop_file(&mut app, &fixture("hf/qwen3-8b.json"));
        assert_eq!(app.scenario.plan.tokens, left);
    }
}

#[test]
fn the_palette_takes_a_path_behind_its_word() {
    let mut app = explorer();
    press(&mut app, ":import ");
    let Some(Layer::List(list)) = &app.layer else { panic!("no palette") };
    assert!(!list.found().is_empty());
    let path = fixture("hf/llama-3.1-8b.json");
    app.paste(&path);
    let commands = press(&mut app, "<ret>");
    read(&mut app, commands);
    // Llama 3.1 8B: 8,030,261,248.
    assert_eq!(app.scenario.model.parameters(), 8_030_261_248);
    // The key asks for the path.
    press(&mut app, "<esc>O");
    assert!(matches!(&app.layer, Some(Layer::Entry(_))));
}

#[test]
fn a_path_that_is_dropped_on_a_list_of_models_is_no_search() {
    let mut app = explorer();
    press(&mut app, "1");
    app.inputs.choose(Field::Model);
    press(&mut app, "<ret>");
    drop_file(&mut app, &fixture("hf/gpt2.json"));
    // GPT-2: 124,439,808.
    assert_eq!(app.scenario.model.parameters(), 124_439_808);
}

#[test]
fn a_machine_that_is_not_told_whole_names_the_option_and_takes_it() {
    let mut app = explorer();
    let path = fixture("topo/slurm22-scontrol-nodes-16.txt");
    drop_file(&mut app, &path);
    // What is missing is asked with choices, and said with the option that says it.
    assert!(matches!(app.layer, Some(Layer::List(_))), "{:?}", app.layer);
    assert!(app.notice.as_deref().is_some_and(|why| why.contains("--")), "{:?}", app.notice);
    while let Some(Layer::List(list)) = &app.layer {
        let answer = if list.title.contains("GPUs") { "h100-80gb-dgx<ret>" } else { "400 GB/s<ret>" };
        let commands = press(&mut app, answer);
        read(&mut app, commands);
    }
    assert!(page(&app).0.ends_with("is what a cluster's tools print"));
    assert_eq!(value(&app, "nodes"), app.scenario.cluster.nodes.unwrap().to_string(), "all that the machine has");
    let rest = format!("{path} --rate \"400 GB/s\" --device h100-80gb-dgx");
    press(&mut app, "<esc>:import ");
    app.paste(&rest);
    let commands = press(&mut app, "<ret>");
    read(&mut app, commands);
    let (title, text) = page(&app);
    assert!(title.ends_with("is what a cluster's tools print"), "{title}: {text}");
    assert!(app.scenario.cluster.source.starts_with("imported from"), "{}", app.scenario.cluster.source);
    // What a node of eight sends is 50 GB/s for each.
    let network = app.scenario.cluster.levels.last().unwrap();
    assert_eq!(network.injection.map(shardscope_engine::units::BytesPerSecond::get), Some(400e9));
}

#[test]
fn measured_links_are_those_of_the_cluster_in_hand() {
    let mut app = explorer();
    let before = app.scenario.cluster.levels[0].clone();
    drop_file(&mut app, &fixture("links/h100-n1-g8-ar-ag-rs.log"));
    let (title, text) = page(&app);
    assert!(title.ends_with("is a log of nccl-tests"), "{title}: {text}");
    assert_ne!(app.scenario.cluster.levels[0], before);
    assert_eq!(app.scenario.cluster.device, explorer().scenario.cluster.device);
}

#[test]
fn a_launchers_plan_keeps_what_it_does_not_say_as_it_is() {
    let mut app = explorer();
    drop_file(&mut app, &fixture("launch/accelerate-fsdp-template.yaml"));
    let (title, text) = page(&app);
    assert!(title.ends_with("is a launcher's configuration"), "{title}: {text}");
    assert_eq!(app.scenario.model.id, "mpt-7b");
    assert!(text.contains("model = mpt-7b (not in any file: taken from the current scenario"), "{text}");
    assert!(text.contains("stack = accelerate") && app.scenario.stack.id.starts_with("accelerate"), "{text}");
}

#[test]
fn what_a_refused_file_lacks_is_added_behind_its_path() {
    let mut app = explorer();
    // Its batch is `auto`, and DeepSpeed is told on its command line how many devices there are: 16 nodes of 8 in hand.
    drop_file(&mut app, &fixture("launch/ds-zero3-offload.json"));
    let (title, text) = page(&app);
    assert!(title.ends_with("could not be imported") && text.contains("--micro-batch"), "{title}: {text}");
    let commands = press(&mut app, "<esc>O<up> --micro-batch 2 --accumulate 4<ret>");
    read(&mut app, commands);
    let (title, text) = page(&app);
    assert!(title.ends_with("is a launcher's configuration"), "{title}: {text}");
    let plan = &app.scenario.plan;
    assert_eq!((plan.micro_batch, plan.accumulate, app.scenario.devices()), (2, 4, 128), "{text}");
    assert!(text.contains("devices = 128 (not in any file"), "{text}");
    press(&mut app, "<esc>O");
    let Some(Layer::Entry(entry)) = &app.layer else { panic!("no line") };
    assert_eq!(entry.line.text(), "");
}

#[test]
fn a_log_brings_what_ran_and_how_long_it_took() {
    let mut app = explorer();
    drop_file(&mut app, &fixture("logs/megatron-gpt2-n16-tp4-pp16-v100.out"));
    let (title, text) = page(&app);
    assert!(title.ends_with("is the log of a run"), "{title}: {text}");
    let run = app.inputs.measured.as_ref().expect("a measured step");
    assert!(run.is_of(&app.scenario));
    assert!(app.views.measured.diagnosis().is_some());
    assert_eq!((app.scenario.plan.tensor, app.scenario.plan.pipeline), (4, 16), "{text}");
    assert!(text.contains("cluster = h100-80gb-dgx (that of the current"), "{text}");
}

#[test]
fn a_log_that_gives_no_scenario_names_the_options_that_do() {
    let mut app = explorer();
    // torchtitan prints tokens per second and device, and neither devices nor shape.
    drop_file(&mut app, &fixture("logs/torchtitan-h100-tps-mfu.log"));
    let (title, why) = page(&app);
    assert!(title.ends_with("could not be imported") && why.contains("--set num_gpus=64"), "{title}: {why}");
    let options = "--set num_gpus=8 --set layers=32 --set hidden=4096 --set seq_len=8192 --set strategy_class=fsdp";
    let commands = press(&mut app, &format!("<esc>O<up> {options}<ret>"));
    read(&mut app, commands);
    let (title, text) = page(&app);
    assert!(title.ends_with("is the log of a run"), "{title}: {text}");
    assert_eq!((app.scenario.devices(), app.scenario.model.layers), (8, 32), "{text}");
}

#[test]
fn what_a_profiler_recorded_stands_beside_the_scenario_in_hand() {
    let mut app = explorer();
    let before = app.scenario.clone();
    drop_file(&mut app, &fixture("trace/kineto-nccl-parser-cut.json.gz"));
    let (title, text) = page(&app);
    assert!(title.ends_with("is what a profiler recorded"), "{title}");
    assert!(text.contains("measured") && text.contains("simulated"), "{text}");
    assert_eq!(app.scenario, before);
}

#[test]
fn files_of_shardscopes_own_are_opened() {
    let directory = tempfile::tempdir().unwrap();
    let mut app = explorer();
    drop_file(&mut app, &fixture("0.1.0/scenario.toml"));
    assert!(app.layer.is_none(), "{:?}", app.layer);
    let cluster = (*app.scenario.cluster).clone();
    let text = toml::to_string(&cluster).unwrap();
    let path = directory.path().join("mine.toml");
    std::fs::write(&path, text.replace("id = ", "# id = ")).unwrap();
    drop_file(&mut app, &path.display().to_string());
    assert_ne!(app.scenario.cluster.id, cluster.id);
}

#[test]
fn a_file_that_is_none_of_these_is_refused_with_what_it_could_be() {
    let directory = tempfile::tempdir().unwrap();
    let mut app = explorer();
    let before = app.scenario.clone();
    let path = directory.path().join("notes.txt");
    std::fs::write(&path, "nothing of interest").unwrap();
    drop_file(&mut app, &path.display().to_string());
    let (title, why) = page(&app);
    assert!(
        title.ends_with("notes.txt could not be imported") && why.contains("a model's configuration"),
        "{title}: {why}"
    );
    drop_file(&mut app, &directory.path().join("none.json").display().to_string());
    assert!(page(&app).1.contains("No such file"), "{}", page(&app).1);
    drop_file(&mut app, &directory.path().display().to_string());
    assert!(page(&app).1.contains("it is a folder"), "{}", page(&app).1);
    assert_eq!(app.scenario, before);
}

#[test]
fn words_are_read_as_a_shell_reads_them() {
    let words = read_words(r#"a.txt '/my files/b.txt' /c\ d --rate "400 GB/s" --nodes=4"#).unwrap();
    assert_eq!(words.files, ["a.txt", "/my files/b.txt", "/c d"].map(std::path::PathBuf::from));
    assert_eq!(
        words.options,
        [("rate", "400 GB/s"), ("nodes", "4")].map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert!(read_words("--rate").unwrap_err().contains("has no value"));
    assert!(read_words("'a").unwrap_err().contains("quotation mark"));
    assert!(read_words("--nodes 4").unwrap_err().contains("no file"));
    for (text, expected) in [
        ("/a/b.json", true),
        ("'/a b/c.json' ", true),
        ("~/config.json", true),
        ("file:///a/b", true),
        ("./a ../b", true),
        ("llama", false),
        ("a/b", false),
        ("/a\n/b", false),
        ("", false),
        ("q", false),
    ] {
        assert_eq!(is_path(text), expected, "{text:?}");
    }
    assert_eq!(path("file:///a/b"), std::path::PathBuf::from("/a/b"));
}

/// What a line becomes by Tab, where the files are those of the thread.
fn completed(app: &mut App) -> String {
    let commands = press(app, "<tab>");
    let [Command::Complete(line)] = &commands[..] else { panic!("{commands:?}") };
    app.receive(JobReport::Completed(line.clone(), complete(line)));
    let Some(Layer::Entry(entry)) = &app.layer else { panic!("no line: {:?}", app.layer) };
    entry.line.input.value().to_owned()
}

#[test]
fn tab_completes_the_path_of_a_file_as_far_as_it_is_sure() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().display().to_string();
    std::fs::create_dir(folder.path().join("my runs")).unwrap();
    for name in ["nodes-1.txt", "nodes-2.txt", ".hidden", "my runs/log"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let mut app = explorer();
    press(&mut app, &format!("O{root}/no"));
    assert_eq!(completed(&mut app), format!("{root}/nodes-"));
    assert_eq!(completed(&mut app), format!("{root}/nodes-"));
    assert_eq!(app.notice.as_deref(), Some("nodes-1.txt  nodes-2.txt"), "the second one names what there is");
    press(&mut app, "2");
    assert_eq!(completed(&mut app), format!("{root}/nodes-2.txt"));
    // The second file of a line; a folder with a blank in its name is quoted, and goes on behind the quotes.
    press(&mut app, &format!(" {root}/m"));
    assert_eq!(completed(&mut app), format!("{root}/nodes-2.txt '{root}/my runs/'"));
    assert_eq!(completed(&mut app), format!("{root}/nodes-2.txt '{root}/my runs/log'"));
    let read = read_words(&completed(&mut app)).unwrap();
    assert_eq!(read.files, [folder.path().join("nodes-2.txt"), folder.path().join("my runs/log")]);
    press(&mut app, " /no/such/folder/x");
    completed(&mut app);
    assert_eq!(app.notice.as_deref(), Some("no file begins like that"));
}

#[test]
fn what_was_typed_on_meanwhile_is_not_overwritten() {
    let mut app = explorer();
    press(&mut app, "Oa");
    let late = Completion { line: "all.txt".to_owned(), names: vec!["all.txt".to_owned()] };
    press(&mut app, "b");
    app.receive(JobReport::Completed("a".to_owned(), late));
    let Some(Layer::Entry(entry)) = &app.layer else { panic!("no line") };
    assert_eq!(entry.line.text(), "ab");
}

#[test]
fn a_line_begins_empty_and_the_last_one_comes_back_for_what_it_lacks() {
    let mut app = explorer();
    let path = fixture("topo/slurm22-scontrol-nodes-16.txt");
    drop_file(&mut app, &path);
    press(&mut app, "<esc>O");
    let text = |app: &App| {
        let Some(Layer::Entry(entry)) = &app.layer else { panic!("no line: {:?}", app.layer) };
        entry.line.text().to_owned()
    };
    assert_eq!(text(&app), "");
    press(&mut app, "<up> --nodes 2");
    assert_eq!(text(&app), format!("{path} --nodes 2"));
}

#[test]
fn a_value_that_a_log_cannot_have_names_the_option_that_gives_another() {
    let mut app = explorer();
    let rest = "--hardware h100-80gb-dgx --stack torchtitan --set num_gpus=64 --set layers=32 --set hidden=4096 \
                --set seq_len=8192 --set strategy_class=fsdp --set tp=two";
    let commands = app.import(&format!("{} {rest}", fixture("logs/torchtitan-h100-tps-mfu.log")));
    read(&mut app, commands);
    let (_, text) = page(&app);
    // Lines end where the path of the checkout lets them.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("add --set tp=VALUE"), "{text}");
}
