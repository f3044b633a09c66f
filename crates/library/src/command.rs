//! The command line that gives a scenario: its flags over the default one.

use std::sync::Arc;

use shardscope_engine::presets::Library;
use shardscope_engine::scenario::file::{ScenarioFile, parse};
use shardscope_engine::scenario::{Field, Scenario, Value};

use crate::text::shell::ShellCode;

/// `shardscope eval` with the flags that make this scenario of the default one; `None` where flags cannot say it, as
/// for operators that were placed one by one, or a cluster of a snapshot.
pub fn eval(library: &Library, scenario: &Scenario) -> Option<String> {
    command(library, "shardscope eval", scenario)?.line().ok()
}

/// `shardscope sweep` of a scenario, before its axes.
pub fn sweep(library: &Library, scenario: &Scenario) -> Option<ShellCode> {
    command(library, "shardscope sweep", scenario)
}

fn command(library: &Library, command: &'static str, scenario: &Scenario) -> Option<ShellCode> {
    let start = || {
        let mut file = parse(&library.scenario_text("default").ok()?.text).ok()?;
        // A model that is named leaves the default's length of training behind.
        file.plan.put(Field::Tokens, None);
        Some(file)
    };
    let batch = if scenario.divides_batch().is_ok() { batch(scenario) } else { accumulate(scenario) };
    let flags = flags(library, scenario, start()?, batch, |_| true)?;
    let mut said = start()?;
    for (field, value) in &flags {
        // As the command line will read it: no flag holds a level that begins with a blank.
        said.put(*field, field.read(&field.spec().takes.show(value)).ok()?);
    }
    let mut again = library.resolve(&said).ok()?;
    (again.name, again.plan.global_batch) = (scenario.name.clone(), scenario.plan.global_batch);
    again.caveats = Arc::clone(&scenario.caveats);
    is_same(&again, scenario).then(|| line(library, command, &flags))
}

/// `shardscope search` from this scenario; fields that are free are not said, since a flag would hold them.
pub fn search(library: &Library, scenario: &Scenario, is_free: impl Fn(Field) -> bool) -> Option<ShellCode> {
    eval(library, scenario)?;
    let file = parse(&library.scenario_text("default").ok()?.text).ok()?;
    let flags = flags(library, scenario, file, batch(scenario), |field| !is_free(field))?;
    Some(line(library, "shardscope search", &flags))
}

/// A command with flags, and the folders whose presets they may name.
fn line(library: &Library, command: &'static str, flags: &[(Field, Value)]) -> ShellCode {
    let line = flags.iter().fold(ShellCode::default().code(command), |line, (field, value)| {
        line.option(field, field.spec().takes.show(value))
    });
    library.folders.others.iter().fold(line, |line, folder| line.option("presets", folder.display()))
}

/// What the scenario has and a file lacks that starts from the same presets, in fields that are to be said.
fn flags(
    library: &Library,
    scenario: &Scenario,
    mut file: ScenarioFile,
    batch: (Field, Value),
    is_said: impl Fn(Field) -> bool,
) -> Option<Vec<(Field, Value)>> {
    let ids = Field::all().filter(|field| !field.is_in_plan() && is_said(*field));
    let mut flags: Vec<(Field, Value)> = ids.filter_map(|field| Some((field, field.value(scenario)?))).collect();
    for (field, value) in &flags {
        file.put(*field, Some(value.clone()));
    }
    let mut said = library.resolve(&file).ok()?;
    // The shard is that of the extents, which are said one by one.
    let others = Field::all().filter(|field| {
        let apart = matches!(field, Field::Shard | Field::Accumulate | Field::GlobalBatch);
        field.is_in_plan() && !apart && is_said(*field)
    });
    // In the order of the table, so that what a flag implies is not said again: adapters bring a rank and a format.
    for field in others {
        let lacking = field.value(scenario).filter(|value| field.value(&said).as_ref() != Some(value));
        if let Some(value) = lacking {
            field.put(&value, &mut said).ok()?;
            flags.push((field, value));
        }
    }
    flags.push(batch);
    flags.sort_by_key(|(field, _)| *field);
    Some(flags)
}

/// Whether a file would hold two scenarios alike: what no field says, like the rank of adapters that a full training lacks,
/// no step depends on.
fn is_same(one: &Scenario, other: &Scenario) -> bool {
    let facts = (&one.cluster, &one.stack, &one.calibration, &one.model);
    facts == (&other.cluster, &other.stack, &other.calibration, &other.model)
        && ScenarioFile::of(one) == ScenarioFile::of(other)
}

/// The batch that is held, or else its micro-batches.
fn batch(scenario: &Scenario) -> (Field, Value) {
    let held = scenario.plan.global_batch;
    if held.is_held() { (Field::GlobalBatch, held.into()) } else { accumulate(scenario) }
}

fn accumulate(scenario: &Scenario) -> (Field, Value) {
    (Field::Accumulate, scenario.plan.accumulate.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shardscope_engine::plan::Extent;
    use shardscope_engine::presets::Kind;
    use shardscope_engine::scenario::field::{PresetField, Type};
    use shardscope_presets::library as embedded;

    use super::*;
    use crate::folders::with_folders;

    fn command(changes: &[(&str, &str)]) -> Option<String> {
        let library = embedded();
        let mut file = parse(&library.scenario_text("default").unwrap().text).unwrap();
        for (flag, text) in changes {
            file.set(flag, text).unwrap();
        }
        eval(&library, &library.resolve(&file).unwrap())
    }

    #[test]
    fn a_command_says_what_differs_from_the_default_and_gives_the_scenario_again() {
        let said = command(&[("model", "mpt-7b"), ("strategy", "zeropp"), ("hpz", "device"), ("nodes", "2")]).unwrap();
        assert_eq!(
            said,
            "shardscope eval --hardware h100-80gb-dgx --stack default --model mpt-7b --strategy zeropp --nodes 2 \
             --global-batch 1024 --hpz device --tokens 1T"
        );
        let said = command(&[("accumulate", "3")]).unwrap();
        assert!(said.contains("--accumulate 3") && !said.contains("global-batch"), "{said}");
        let said = command(&[("global-batch", "2097152 tokens")]).unwrap();
        assert!(said.contains("--global-batch '2097152 tokens'"), "{said}");
    }

    #[test]
    fn folders_of_presets_are_said_as_a_shell_reads_them() {
        let folder = tempfile::Builder::new().prefix("my presets").tempdir().unwrap();
        let (library, warnings) = with_folders(embedded(), None, &[folder.path().to_owned()]);
        assert!(warnings.is_empty(), "{warnings:?}");
        let file = parse(&library.scenario_text("default").unwrap().text).unwrap();
        let scenario = library.resolve(&file).unwrap();
        let search = search(&library, &scenario, |_| false).and_then(|search| search.line().ok());
        for line in [eval(&library, &scenario), search].map(Option::unwrap) {
            let words = shlex::split(&line).unwrap();
            let at = words.iter().position(|word| word == "--presets").expect("the folder");
            assert_eq!(words[at + 1], folder.path().to_str().unwrap());
        }
    }

    #[test]
    fn a_level_is_a_word_of_the_command_and_one_that_no_flag_holds_has_none() {
        let carried = embedded();
        let cluster = carried.entries(Kind::Cluster).find(|entry| entry.id == "a100-80gb-dgx").unwrap();
        for (level, is_said) in [("$(touch x)", true), ("--help", true), ("it's", true), (" rack", false)] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("clusters")).unwrap();
            let inner =
                format!("[[levels]]\nname = \"{level}\"\nmembers = 2\nbandwidth = \"300 GB/s\"\nlatency = \"4 us\"");
            let text = cluster.text.replacen("[[levels]]", &format!("{inner}\nsource = \"x\"\n\n[[levels]]"), 1);
            std::fs::write(folder.path().join("clusters/mine.toml"), text).unwrap();
            let (library, warnings) = with_folders(embedded(), None, &[folder.path().to_owned()]);
            assert!(warnings.is_empty(), "{warnings:?}");
            let mut file = parse(&library.scenario_text("default").unwrap().text).unwrap();
            file.set("hardware", "mine").unwrap();
            file.put(Field::WeightsOver, Some(Extent::Level(level.into()).into()));
            let said = eval(&library, &library.resolve(&file).unwrap());
            assert_eq!(said.is_some(), is_said, "{level}: {said:?}");
            let words = said.map(|line| shlex::split(&line).unwrap().join(" "));
            assert!(words.is_none_or(|line| line.replace('=', " ").contains(&format!("--weights-over {level} "))));
        }
    }

    /// Rank, matrices and format of adapters follow from the method, or are said with it; without adapters they say nothing.
    #[test]
    fn adapters_have_a_command() {
        for (changes, said, unsaid) in [
            (
                &[("train", "lora")][..],
                &["--train lora"][..],
                &["--lora-rank", "--lora-targets", "--lora-dropout", "--frozen-format"][..],
            ),
            (&[("train", "lora"), ("lora-rank", "4")], &["--train lora --lora-rank 4"], &["--frozen-format"]),
            (&[("train", "qlora"), ("frozen-format", "nf4")], &["--train qlora"], &["--frozen-format"]),
            (&[("train", "qlora"), ("frozen-format", "bf16")], &["--train qlora --frozen-format bf16"], &[]),
            (
                &[("train", "lora"), ("lora-dropout", "0.05")],
                &["--train lora", "--lora-dropout 0.05"],
                &["--lora-rank"],
            ),
            (&[("lora-rank", "4"), ("lora-dropout", "0.05")], &[], &["--lora-rank", "--lora-dropout"]),
        ] {
            let line = command(changes).unwrap_or_else(|| panic!("no command for {changes:?}"));
            assert!(said.iter().all(|words| line.contains(words)), "{line}");
            assert!(!unsaid.iter().any(|words| line.contains(words)), "{line}");
        }
    }

    /// Words that a field takes, valid in themselves.
    fn words(field: Field, library: &Library) -> Vec<String> {
        let listed = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let kind = field.preset().map(|preset| match preset {
            PresetField::Cluster => Kind::Cluster,
            PresetField::Stack => Kind::Stack,
            PresetField::Model => Kind::Model,
            PresetField::Strategy => Kind::Strategy,
        });
        match field.spec().takes {
            Type::Id => {
                kind.map_or_else(Vec::new, |kind| library.entries(kind).map(|entry| entry.id.clone()).collect())
            }
            Type::Count(least, most) => {
                [least, 1, 2, 3, 8, 96, 4096, most].map(|count| count.min(most).to_string()).into()
            }
            Type::Factor => listed(&["0.3", "1", "2", "0.0625"]),
            Type::Share => listed(&["0", "0.25", "33%", "1"]),
            Type::Tokens => listed(&["1T", "300B", "123456789"]),
            Type::Money => listed(&["2.50 EUR", "0.1 USD"]),
            Type::Batch => listed(&["free", "96", "1024", "4M tokens", "1000000 tokens"]),
            Type::Switch => listed(&["on", "off"]),
            Type::Extent => listed(&["device", "innermost", "node", "system", "2", "8", "3"]),
            Type::Recompute => listed(&["none", "selective", "full", "0.3", "50%"]),
            Type::RecomputeModules => listed(&["stack", "core_attn", "moe_act+layernorm"]),
            Type::HostModules => listed(&["none", "core_attn", "layernorm+moe"]),
            Type::StageSizes => listed(&["balanced", "40,40", "16,16"]),
            Type::Imbalance => listed(&["balanced", "usual", "1.5"]),
            Type::Capacity => listed(&["none", "1.25"]),
            Type::DispatchFormats => listed(&["bf16", "fp8", "fp8+bf16+fp8+bf16"]),
            Type::LoraTargets => listed(&["all", "attention", "q,v", "qkv,o", "gate_up"]),
            Type::Beside => listed(&["none", "resident", "adapters-off", "llama-3.1-8b"]),
            Type::OneOf(words) => listed(words.all),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        /// What flags say has a command line, which says it again.
        #[test]
        fn a_command_gives_the_scenario_of_any_flags(seeds in proptest::collection::vec(any::<u32>(), Field::all().count())) {
            let library = embedded();
            let mut file = parse(&library.scenario_text("default").unwrap().text).unwrap();
            for (field, seed) in Field::all().zip(seeds) {
                // One field of six, so that much of what is said goes together.
                if let (0, words) = (seed % 6, words(field, &library)) {
                    file.put(field, field.read(&words[seed as usize / 6 % words.len()]).unwrap());
                }
            }
            let Ok(scenario) = library.resolve(&file) else { return Ok(()) };
            if scenario.layout().is_err() || scenario.divides_batch().is_err() {
                return Ok(());
            }
            let line = eval(&library, &scenario).unwrap_or_else(|| panic!("no command for {file:?}"));
            let mut again = parse(&library.scenario_text("default").unwrap().text).unwrap();
            again.plan.put(Field::Tokens, None);
            let said = shlex::split(&line).unwrap();
            let mut said = said.iter().flat_map(|word| word.split_once('=').map_or(vec![word.as_str()], |(flag, value)| vec![flag, value])).skip(2);
            while let (Some(flag), Some(value)) = (said.next(), said.next()) {
                again.set(flag.trim_start_matches("--"), value).unwrap();
            }
            let again = library.resolve(&again).unwrap();
            for field in Field::all() {
                prop_assert_eq!(field.value(&again), field.value(&scenario), "{} of {}", field, line);
            }
            prop_assert_eq!(&again.plan.sharding, &scenario.plan.sharding, "{}", line);
        }
    }

    #[test]
    fn a_switch_that_the_strategy_has_on_already_is_on_in_the_command() {
        let library = embedded();
        let mut file = parse(&library.scenario_text("default").unwrap().text).unwrap();
        file.set("strategy", "zero-topo").unwrap();
        file.set("qgz", "on").unwrap();
        assert!(eval(&library, &library.resolve(&file).unwrap()).is_some(), "it quantises gradients in one hop");
    }

    #[test]
    fn what_no_flag_says_has_no_command() {
        let library = embedded();
        let file = parse(&library.scenario_text("osdp-48x1536").unwrap().text).unwrap();
        assert_eq!(eval(&library, &library.resolve(&file).unwrap()), None, "its operators were placed one by one");
    }
}
