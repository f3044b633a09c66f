//! The command line that gives a scenario: its flags over the default one.

use std::path::PathBuf;

use crate::scenario::file::{ScenarioFile, parse};
use crate::scenario::{Field, Scenario, Value};

use super::Library;

impl Library {
    /// `shardscope eval` with the flags that make this scenario of the default one; `None` where flags cannot say it, as
    /// for operators that were placed one by one, or a cluster of a snapshot.
    pub fn command(&self, scenario: &Scenario) -> Option<String> {
        self.command_of("eval", scenario)
    }

    /// `shardscope sweep` of a scenario, before its axes.
    pub fn sweep_command(&self, scenario: &Scenario) -> Option<String> {
        self.command_of("sweep", scenario)
    }

    fn command_of(&self, command: &str, scenario: &Scenario) -> Option<String> {
        let start = || {
            let mut file = parse(&self.scenario_text("default").ok()?.text).ok()?;
            // A model that is named leaves the default's length of training behind.
            file.plan.put(Field::Tokens, None);
            Some(file)
        };
        let batch = if scenario.divides_batch().is_ok() { batch(scenario) } else { accumulate(scenario) };
        let flags = self.flags(scenario, start()?, batch, |_| true)?;
        let mut said = start()?;
        for (field, value) in &flags {
            said.put(*field, Some(value.clone()));
        }
        let mut again = self.resolve(&said).ok()?;
        (again.name, again.plan.global_batch) = (scenario.name.clone(), scenario.plan.global_batch);
        (again == *scenario).then(|| format!("shardscope {command} {}{}", words(&flags), self.folder_flags()))
    }

    /// `shardscope search` from this scenario; fields that are free are not said, since a flag would hold them.
    pub fn search_command(&self, scenario: &Scenario, is_free: impl Fn(Field) -> bool) -> Option<String> {
        self.command(scenario)?;
        let file = parse(&self.scenario_text("default").ok()?.text).ok()?;
        let flags = self.flags(scenario, file, batch(scenario), |field| !is_free(field))?;
        Some(format!("shardscope search {}{}", words(&flags), self.folder_flags()))
    }

    /// The flags of the folders whose presets the other flags may name.
    fn folder_flags(&self) -> String {
        let flag = |folder: &PathBuf| {
            let folder = folder.to_string_lossy();
            format!(" --presets {}", shlex::try_quote(&folder).unwrap_or_default())
        };
        self.folders.1.iter().map(flag).collect()
    }

    /// What the scenario has and a file lacks that starts from the same presets, in fields that are to be said.
    fn flags(
        &self,
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
        let usual = self.resolve(&file).ok()?.plan;
        // The shard is that of the extents, which are said one by one.
        let others = Field::all().filter(|field| {
            let apart = matches!(field, Field::Shard | Field::Accumulate | Field::GlobalBatch);
            field.is_in_plan() && !apart && is_said(*field)
        });
        for field in others {
            let value = field.in_plan(&scenario.plan);
            flags.extend(
                value.filter(|value| field.in_plan(&usual).as_ref() != Some(value)).map(|value| (field, value)),
            );
        }
        flags.push(batch);
        flags.sort_by_key(|(field, _)| *field);
        Some(flags)
    }
}

/// The batch that is held, or else its micro-batches.
fn batch(scenario: &Scenario) -> (Field, Value) {
    let held = scenario.plan.global_batch;
    if held.is_held() { (Field::GlobalBatch, held.into()) } else { accumulate(scenario) }
}

fn accumulate(scenario: &Scenario) -> (Field, Value) {
    (Field::Accumulate, scenario.plan.accumulate.into())
}

/// Flags as one types them.
fn words(flags: &[(Field, Value)]) -> String {
    let flag = |(field, value): &(Field, Value)| match field.spec().takes.show(value) {
        text if text.contains(' ') => format!("--{field} \"{text}\""),
        text => format!("--{field} {text}"),
    };
    flags.iter().map(flag).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(changes: &[(&str, &str)]) -> Option<String> {
        let library = Library::embedded();
        let mut file = parse(&library.scenario_text("default").unwrap().text).unwrap();
        for (flag, text) in changes {
            file.set(flag, text).unwrap();
        }
        library.command(&library.resolve(&file).unwrap())
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
        assert!(said.contains("--global-batch \"2097152 tokens\""), "{said}");
    }

    #[test]
    fn folders_of_presets_are_said_as_a_shell_reads_them() {
        let folder = tempfile::Builder::new().prefix("my presets").tempdir().unwrap();
        let (library, warnings) = Library::embedded().with_folders(None, &[folder.path().to_owned()]);
        assert!(warnings.is_empty(), "{warnings:?}");
        let file = parse(&library.scenario_text("default").unwrap().text).unwrap();
        let scenario = library.resolve(&file).unwrap();
        let [said, search] = [library.command(&scenario), library.search_command(&scenario, |_| false)];
        for line in [said.unwrap(), search.unwrap()] {
            let words = shlex::split(&line).unwrap();
            let at = words.iter().position(|word| word == "--presets").expect("the folder");
            assert_eq!(words[at + 1], folder.path().to_str().unwrap());
        }
    }

    #[test]
    fn what_no_flag_says_has_no_command() {
        let library = Library::embedded();
        let file = parse(&library.scenario_text("osdp-48x1536").unwrap().text).unwrap();
        assert_eq!(library.command(&library.resolve(&file).unwrap()), None, "its operators were placed one by one");
    }
}
