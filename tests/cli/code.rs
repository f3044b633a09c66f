//! Foreign text that would be code if it were not quoted, in every field of every input: each file that is written is run
//! or parsed by a real reader of its language, and the text comes back as text and as nothing more.
//!
//! Not for characters that nobody sees: see `hostile`.

mod readers;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value as Json;
use shardscope_engine::text::comment;
use shardscope_interop::FileText;
use shardscope_library::text::csv;
use shardscope_library::text::shell::ShellCode;
use toml::{Table, Value};

use super::run::{Home, Run};
use readers::{Bash, compile};

/// Pieces that end a quotation, a word, a line of thought, or begin something, in some language.
const PIECES: [&str; 48] = [
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    "\"; touch pwned; \"",
    "& touch pwned &",
    "| touch pwned",
    "> pwned",
    "<<E",
    "${HOME}",
    "\\",
    "!!",
    "~",
    "*",
    "#",
    " # ",
    ": ",
    "- x",
    "? ",
    "key: value",
    "key = 1",
    "[table]",
    "{a: b}",
    "&anchor",
    "*alias",
    "!!python/object:os.system",
    "%YAML 1.1",
    "---",
    "...",
    "yes",
    "1:30",
    "0x1f",
    "\"\"\"",
    "'''",
    "\"",
    "'",
    "</script>",
    "<!--",
    "]]>",
    "&lt;",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1-1",
    "@SUM(1)",
    "-rf",
    "--help",
    ",",
    ";",
    "größer 日本",
];

/// All ways to end a line.
const ENDS: [&str; 8] = ["\n", "\r\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"];

/// One line of up to four pieces.
fn lines() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 1..=4).prop_map(|pieces| pieces.concat())
}

/// So many of what a strategy makes, the same in every run.
fn some<T: std::fmt::Debug>(count: usize, strategy: &impl Strategy<Value = T>) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).expect("a value").current()).collect()
}

fn fixture() -> Table {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/code/scenario.toml");
    std::fs::read_to_string(path).expect("a fixture").parse().expect("TOML")
}

/// The texts of a file that are there to be exchanged, each once.
fn placeholders(value: &Value) -> Vec<String> {
    let mut found = match value {
        Value::String(text) if text.to_lowercase().starts_with("placeholder") => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(placeholders).collect(),
        Value::Table(table) => table.values().flat_map(placeholders).collect(),
        _ => Vec::new(),
    };
    found.sort();
    found.dedup();
    found
}

/// A file with one text in place of another, wherever that stands.
fn exchanged(value: &Value, old: &str, new: &str) -> Value {
    match value {
        Value::String(text) if text == old => Value::String(new.to_owned()),
        Value::Array(values) => Value::Array(values.iter().map(|value| exchanged(value, old, new)).collect()),
        Value::Table(table) => {
            Value::Table(table.iter().map(|(key, value)| (key.clone(), exchanged(value, old, new))).collect())
        }
        other => other.clone(),
    }
}

/// JSON with one text in place of another, also inside of longer ones.
fn said(value: &Json, old: &str, new: &str) -> Json {
    match value {
        Json::String(text) => text.replace(old, new).into(),
        Json::Array(values) => values.iter().map(|value| said(value, old, new)).collect(),
        Json::Object(object) => object.iter().map(|(key, value)| (key.clone(), said(value, old, new))).collect(),
        other => other.clone(),
    }
}

/// Everything that `export` writes, by its words.
const EXPORTS: [&str; 9] = [
    "accelerate",
    "hf-trainer",
    "deepspeed",
    "megatron",
    "torchtitan",
    "torchtitan --target-version 0.2.2",
    "sbatch",
    "fsdp2",
    "trace",
];

/// The files of an export, by their names; nothing where the tool has no such plan.
fn exported(home: &Home, to: &str, scenario: &str) -> Vec<(String, String)> {
    let out = home.path().join("out");
    let run = home.run(&format!("export --to {to} {scenario} --out out --nearest"));
    assert!(run.code == Some(0) || to.starts_with("torchtitan"), "{to}: {}", run.stderr);
    let Ok(files) = out.read_dir() else { return Vec::new() };
    let named = files.map(|file| file.expect("a file")).map(|file| {
        let text = std::fs::read_to_string(file.path()).expect("a text");
        (file.file_name().to_string_lossy().into_owned(), text)
    });
    let mut named: Vec<_> = named.collect();
    named.sort();
    std::fs::remove_dir_all(out).expect("a folder of ours");
    named
}

/// What a file means to a reader of its language.
#[derive(Debug, PartialEq)]
struct Meaning {
    comments: Vec<String>,
    data: Json,
    calls: Vec<(String, String)>,
}

impl Meaning {
    fn of_file(name: &str, text: &str) -> Self {
        let commented = |line: &&str| line.trim_start().starts_with('#');
        let comments = text.lines().filter(commented).map(str::to_owned).collect();
        let (mut data, mut calls) = (Json::Null, Vec::new());
        match name.rsplit_once('.').expect("a name with an end").1 {
            "json" => data = serde_json::from_str(text).expect(text),
            "yaml" => data = serde_saphyr::from_str(text).expect(text),
            "toml" => data = toml::from_str(text).expect(text),
            "py" => compile(text),
            "sh" | "sbatch" => calls = Bash::new().run(text),
            other => panic!("no reader of {other}"),
        }
        Self { comments, data, calls }
    }

    /// The same, with one text in place of another.
    fn with(&self, old: &str, new: &str) -> Self {
        let comments = self.comments.iter().map(|line| line.replace(old, new)).collect();
        let calls = self.calls.iter().map(|(name, words)| (name.clone(), words.replace(old, new))).collect();
        Self { comments, data: said(&self.data, old, new), calls }
    }
}

/// The readers notice what runs, or the tests below would prove nothing.
#[test]
fn what_runs_is_noticed() {
    let touched = vec![("touch".to_owned(), "pwned\0".to_owned())];
    assert_eq!(Bash::new().run("# a comment\ntouch pwned\n#"), touched);
    let fails = |script: &'static str| std::panic::catch_unwind(|| Bash::new().run(script)).is_err();
    assert!(fails("> pwned") && fails("unknown") && fails("'open") && !fails(": # nothing"));
    assert!(std::panic::catch_unwind(|| compile("'open")).is_err());
    assert!(std::panic::catch_unwind(|| readers::runs_nothing("x = 1")).is_err());
}

/// Checks that a scenario with one text in place of another is refused, or gives the same files with that text in them.
fn holds(home: &Home, before: &[Vec<(String, Meaning)>], scenario: &Value, old: &str, new: &str) -> bool {
    home.write("s.toml", &toml::to_string(&exchanged(scenario, old, new)).expect("TOML"));
    let eval = home.run("eval ./s.toml --format toml");
    if eval.code == Some(2) {
        return false;
    }
    toml::from_str::<Table>(&eval.stdout).expect("TOML");
    for (to, before) in EXPORTS.iter().zip(before) {
        let after = exported(home, to, "./s.toml");
        assert_eq!(after.len(), before.len(), "{to}");
        for ((name, text), (_, meaning)) in after.iter().zip(before) {
            assert_eq!(Meaning::of_file(name, text), meaning.with(old, new), "{old} as {new:?} in {name}:\n{text}");
        }
    }
    true
}

/// What a scenario's files mean before anything in it is exchanged.
fn meanings(home: &Home, scenario: &Value) -> Vec<Vec<(String, Meaning)>> {
    home.write("s.toml", &toml::to_string(scenario).expect("TOML"));
    let meaning = |(name, text): (String, String)| {
        let meaning = Meaning::of_file(&name, &text);
        (name, meaning)
    };
    EXPORTS.iter().map(|to| exported(home, to, "./s.toml").into_iter().map(meaning).collect()).collect()
}

#[test]
fn every_text_of_a_scenario_is_text_in_every_file() {
    let (home, scenario) = (Home::new(), Value::Table(fixture()));
    let before = meanings(&home, &scenario);
    assert_eq!(before.iter().filter(|files| files.is_empty()).count(), 2, "torchtitan lacks the model");
    let fields = placeholders(&scenario);
    assert_eq!(fields.len(), 16, "{fields:?}");
    let texts = some(2 * fields.len(), &lines());
    let pairs = fields.iter().flat_map(|field| [field; 2]).zip(&texts);
    let refused: Vec<_> = pairs.filter(|(field, text)| !holds(&home, &before, &scenario, field, text)).collect();
    // An architecture or a level may be refused for what it is; what people call things is not.
    assert!(refused.len() <= 4, "{refused:?}");
}

/// The same with a model that torchtitan has.
#[test]
fn the_name_of_a_scenario_is_text_in_every_file() {
    let home = Home::new();
    let mut scenario = fixture();
    scenario.remove("shape");
    scenario.insert("model".to_owned(), "llama-3.1-8b".into());
    let scenario = Value::Table(scenario);
    let before = meanings(&home, &scenario);
    assert!(before.iter().all(|files| !files.is_empty()));
    for text in some(8, &lines()) {
        assert!(holds(&home, &before, &scenario, "Placeholder of a name", &text), "{text:?}");
    }
}

/// A line break in a name was a line of the job: it ran what followed.
#[test]
fn a_name_of_several_lines_is_refused_at_its_place() {
    let (home, scenario) = (Home::new(), Value::Table(fixture()));
    for (field, key) in [
        ("Placeholder of a name", "name"),
        ("placeholder-of-a-model", "model"),
        ("placeholder-of-a-cluster", "cluster"),
        ("Placeholder of a model's name", "shape.name"),
        ("Placeholder of a cluster's name", "machine.name"),
        ("Placeholder of a device", "machine.device.name"),
        ("placeholder-of-a-level", "machine.levels[0].name"),
    ] {
        let texts = ENDS.map(|end| format!("x{end}touch pwned{end}#")).into_iter().chain(["é".repeat(201)]);
        for text in texts {
            home.write("s.toml", &toml::to_string(&exchanged(&scenario, field, &text)).expect("TOML"));
            let run = home.run("export --to sbatch ./s.toml --out o");
            let lines = run.refused().join("\n");
            // Of what TOML has as it is, without an escape, only the place in the text is known.
            let named = lines.contains(&format!("{key}: ")) || lines.contains(": the file holds a control character");
            assert!(named && lines.contains("s.toml:"), "{key} as {text:?}: {lines}");
            assert!(!home.path().join("o").exists(), "{text:?}");
        }
        home.write("s.toml", &toml::to_string(&exchanged(&scenario, field, &"é".repeat(200))).expect("TOML"));
        assert_eq!(home.run("eval ./s.toml").code, Some(0), "{key}: 200 characters are a name");
    }
}

#[test]
fn a_preset_a_snapshot_a_set_and_a_row_have_names_of_one_line() {
    let home = Home::new();
    let broken = |text: &str| text.replacen("name = \"", "name = \"x\\n", 1);
    for (kind, id, flag) in [
        ("clusters", "a100-80gb-dgx", "hardware"),
        ("models", "mpt-1b", "model"),
        ("strategies", "hsdp", "strategy"),
        ("stacks", "default", "stack"),
    ] {
        let preset = home.run(&format!("presets {kind} --show {id}")).stdout;
        home.write(&format!("{kind}/mine.toml"), &broken(&preset));
        let run = home.run(&format!("eval h100-7b --{flag} mine --presets ."));
        assert_eq!(run.code, Some(2), "{kind}");
        assert!(run.stderr.contains("name: must be one line"), "{kind}: {}", run.stderr);
    }
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/0.1.0");
    for file in ["snapshot.toml", "set.toml"] {
        let text = std::fs::read_to_string(format!("{fixtures}/{file}")).expect("a fixture");
        home.write("s.toml", &broken(&text));
        let lines = home.run("eval ./s.toml").refused().join("\n");
        assert!(lines.contains("s.toml:") && lines.contains("name: must be one line"), "{file}: {lines}");
    }
    let columns = "id,cluster,stack,num_gpus,strategy_class,layers,hidden,seq_len\n";
    home.write("rows.csv", &format!("{columns}\"a\nb\",a100-80gb-dgx,ideal,1,ddp,1,1024,1024\n"));
    let lines = home.run("validate rows.csv").refused().join("\n");
    assert_eq!(lines, "error: rows.csv:2: column 'id' must be one line; take the line break out");
}

/// A level's name broke out of the command line that is given to be copied.
#[test]
fn a_command_line_to_copy_says_what_it_was_made_of() {
    let home = Home::new();
    let cluster = fixture().remove("machine").expect("a machine");
    let scenario = "format = 1\ncluster = \"mine\"\nstack = \"default\"\nmodel = \"mpt-125m\"\nstrategy = \"zero3\"\n\
                    [plan]\nnodes = 2\nsequence = 512\nweights_over = \"placeholder-of-a-level\"\n";
    let scenario = Value::Table(scenario.parse().expect("TOML"));
    // A folder may be called anything too.
    let folder = "its $(touch pwned) `folder`";
    let mut checked = 0;
    for level in some(24, &lines()) {
        let of_level =
            |value: &Value| toml::to_string(&exchanged(value, "placeholder-of-a-level", &level)).expect("TOML");
        home.write(&format!("{folder}/clusters/mine.toml"), &of_level(&cluster));
        home.write("s.toml", &of_level(&scenario));
        let eval = |arguments: &[&str]| Run::of(&home.command("eval").args(arguments).output().expect("it runs"));
        let run = eval(&["./s.toml", "--presets", folder, "--format", "json"]);
        if run.code == Some(2) {
            continue;
        }
        let before: Json = serde_json::from_str(&run.stdout).expect("JSON");
        // What a shell cannot be given has no command line, which is said.
        let Some(command) = before["command"].as_str() else { panic!("{level:?}: {}", before["command_note"]) };
        let calls = Bash::new().run(command);
        let [(program, words)] = &calls[..] else { panic!("{level:?}: {calls:?}") };
        assert_eq!(program, "shardscope");
        let words: Vec<&str> = words.split_terminator('\0').collect();
        assert_eq!(words.iter().rev().take(2).rev().copied().collect::<Vec<_>>(), ["--presets", folder], "{words:?}");
        let after = eval(&[&words[1..], &["--format", "json"]].concat());
        let after: Json = serde_json::from_str(&after.stdout).unwrap_or_else(|_| panic!("{level:?}: {}", after.stderr));
        assert_eq!(after["step_time_s"], before["step_time_s"], "{level:?}");
        assert_eq!(after["scenario"]["plan"], before["scenario"]["plan"], "{level:?}");
        checked += 1;
    }
    assert!(checked > 16, "{checked}");
}

/// The job array repeats the command line of the sweep.
#[test]
fn a_job_array_runs_the_sweep_that_was_asked_for() {
    let home = Home::new();
    for text in some(6, &lines()) {
        let text = text.replace('/', "");
        let folder = format!("./{text}");
        home.write(&format!("{folder}/clusters/x.txt"), "");
        let arguments =
            ["--sweep", "--x", "nodes=1,2", "--y", "micro-batch=1,2", "--presets", &folder, "--model", "mpt-125m"];
        let mut command = home.command("export --to sbatch");
        let run = Run::of(&command.args(arguments).output().expect("it runs"));
        assert_eq!(run.code, Some(0), "{text:?}: {}", run.stderr);
        let calls = Bash::new().run(&run.stdout);
        let sweep =
            calls.iter().find(|(name, _)| name == "shardscope").map(|(_, words)| words.as_str()).expect("a call");
        assert!(sweep.starts_with(&format!("sweep\0--presets={folder}\0--model=mpt-125m\0")), "{sweep:?}");
        assert_eq!(calls.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["mv", "shardscope"]);
    }
}

/// Text from files is no formula to a spreadsheet, and numbers stay numbers.
#[test]
fn cells_of_csv_are_text_or_numbers() {
    let home = Home::new();
    let cluster = fixture().remove("machine").expect("a machine");
    for level in ["=cmd|' /C calc'!A0", "+1+1", "-1-1", "@SUM(1)", "'=1", "\"quoted\""] {
        let cluster = exchanged(&cluster, "placeholder-of-a-level", level);
        home.write("clusters/mine.toml", &toml::to_string(&cluster).expect("TOML"));
        let arguments =
            ["--hardware", "mine", "--presets", ".", "--y", "nodes=1,2", "--metric", "headroom", "--format", "csv"];
        let mut command = home.command("sweep --model mpt-125m --strategy zero3 --x");
        let run = Run::of(&command.arg(format!("shard={level},node")).args(arguments).output().expect("it runs"));
        assert_eq!(run.code, Some(0), "{level}: {}", run.stderr);
        let mut table = ::csv::Reader::from_reader(run.stdout.as_bytes());
        let rows: Vec<::csv::StringRecord> = table.records().map(|row| row.expect("a row")).collect();
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().flatten().all(|cell| !csv::is_formula(cell)), "{}", run.stdout);
        assert_eq!(csv::meant(&rows[0][0]), level);
        assert!(rows.iter().all(|row| row[3].parse::<f64>().is_ok()), "values are numbers: {}", run.stdout);
    }
}

/// The same of rows: what they are called comes back in the table of residuals, and beside a calibration.
#[test]
fn names_of_rows_are_text_in_tables_and_calibrations() {
    let home = Home::new();
    let header = "id,group,cluster,stack,num_gpus,strategy_class,model,layers,hidden,heads,vocab,seq_len,micro_batch,\
                  global_batch,act_ckpt,precision,scored,source,step_time_s\n";
    for text in ["=cmd|' /C calc'!A0", "+1+1", "@SUM(1)", "$(touch pwned)", "x # y\"\"\"", "- a: *b"] {
        let quoted = format!("\"{}\"", text.replace('"', "\"\""));
        let row = |at: u32, time: &str| {
            format!(
                "{at},{quoted},a100-80gb-dgx,default,1,ddp,{quoted},4,1024,8,1024,1024,{at},{at},none,bf16,yes,here,{time}\n"
            )
        };
        home.write("rows.csv", &[header, &row(1, "0.01"), &row(2, "0.02"), &row(4, "0.03")].concat());
        let records = |table: &str| {
            let mut table = ::csv::Reader::from_reader(table.as_bytes());
            table.records().map(|row| row.expect("a row")).collect::<Vec<_>>()
        };
        let validated = home.run("validate rows.csv --format csv");
        assert_eq!(validated.code, Some(0), "{text}: {}", validated.stderr);
        let out = home.run("calibrate rows.csv --out o.toml --force");
        assert_eq!(out.code, Some(0), "{text}: {}", out.stderr);
        let beside = std::fs::read_to_string(home.path().join("o.csv")).expect("a table");
        for table in [records(&validated.stdout), records(&beside)] {
            assert!(!table.is_empty() && table.iter().flatten().all(|cell| !csv::is_formula(cell)), "{table:?}");
            assert!(table.iter().all(|row| csv::meant(&row[1]) == text), "{table:?}");
        }
        let written = std::fs::read_to_string(home.path().join("o.toml")).expect("a calibration");
        written.parse::<Table>().expect("TOML");
    }
}

/// What another tool's files call things reaches a preset as text, and the preset is read again.
#[test]
fn imported_names_are_names() {
    let home = Home::new();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hf/mixtral-8x7b.json");
    let config: Json = serde_json::from_str(&std::fs::read_to_string(config).expect("a fixture")).expect("JSON");
    let texts = some(6, &lines()).into_iter().map(|text| text.replace('/', ""));
    for text in texts.chain(ENDS.map(|end| format!("x{end}y"))).chain(["é".repeat(300)]) {
        let mut config = config.clone();
        config["_name_or_path"] = text.clone().into();
        home.write("config.json", &config.to_string());
        let run = home.run("import model config.json --out models/mine.toml --force");
        assert_eq!(run.code, Some(0), "{text:?}: {}", run.stderr);
        let written = std::fs::read_to_string(home.path().join("models/mine.toml")).expect("a preset");
        let name = written.parse::<Table>().expect("TOML")["name"].as_str().expect("a name").to_owned();
        assert_eq!(name, shardscope_engine::text::name(&text), "{written}");
        let eval = home.run("eval --model mine --presets . --nodes 64");
        assert!(matches!(eval.code, Some(0 | 3)), "{text:?}: {}", eval.stderr);
    }
}

/// The writers themselves, on texts of any characters: one script, one document of each language.
#[test]
fn writers_quote_whatever_they_are_given() {
    let texts = some(2_000, &prop_oneof![lines(), "\\PC{0,12}".prop_map(|text: String| text)]);
    let visible: Vec<String> = texts.iter().map(|text| shardscope_engine::text::visible(text).into_owned()).collect();
    let script = visible
        .iter()
        .fold(ShellCode::default(), |script, text| script.comments([text]).code("shardscope ").word(text).code("\n"));
    let script = FileText::shell(script).expect("a script");
    let expected = visible.join("\0") + "\0";
    assert_eq!(Bash::new().run(script.as_str()), [("shardscope".to_owned(), expected)]);

    let head = visible.clone();
    let keyed: serde_json::Map<String, Json> =
        (0..).zip(&visible).map(|(at, text)| (format!("{at} {text}"), text.clone().into())).collect();
    let document = Json::Object(keyed);
    let [yaml, toml] =
        [FileText::yaml(&head, &document), FileText::toml(&head, &document)].map(|file| file.expect("a file"));
    assert_eq!(serde_saphyr::from_str::<Json>(yaml.as_str()).expect("YAML"), document);
    assert_eq!(toml::from_str::<Json>(toml.as_str()).expect("TOML"), document);
    let json = FileText::json(&texts).expect("JSON");
    assert_eq!(serde_json::from_str::<Vec<String>>(json.as_str()).expect("JSON"), texts, "escapes bring all back");
    readers::json_is_python(json.as_str(), texts.len());
    let comments: Vec<String> = texts.iter().map(|text| comment(text)).collect();
    compile(&comments.concat());
    readers::runs_nothing(&comments.concat());
}
