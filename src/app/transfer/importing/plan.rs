//! A launcher's configuration. What it leaves open is as the scenario in hand has it, not as a default has it.

use std::path::Path;

use shardscope_engine::disk::{InputKind, OpenInput, Watch};
use shardscope_engine::presets::Library;
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::{Field, Scenario, Value};
use shardscope_interop::plans::{self, ImportedPlan, LauncherFile, PlanWishes};
use shardscope_interop::report::Imported;

use super::{ImportChange, ImportQuestion, ImportedFile, NamedText, lines, named};

/// What plans are for: no file of a launcher says all of it.
const FACTS: [Field; 3] = [Field::Cluster, Field::Stack, Field::Model];

impl ImportQuestion {
    /// The plan that the files say.
    pub(super) fn plan(
        &self,
        kind: &'static str,
        first: &Path,
        mut texts: Vec<NamedText>,
        library: &Library,
        watch: &Watch,
    ) -> Result<ImportedFile, Vec<String>> {
        if let [(_, text)] = &texts[..]
            && let Some(beside) = plans::referred(text).map(|name| first.with_file_name(name))
            && let Ok(text) = OpenInput::open_watched(&beside, InputKind::Launcher, watch).and_then(OpenInput::text)
        {
            texts.push((named(&beside), text));
        }
        let imported = self.read_plan(&texts, library)?;
        let file = imported.made.scenario;
        let resolved = library.resolve(&file).and_then(Scenario::into_checked);
        let scenario = resolved.map_err(|problems| lines(&problems))?;
        let change = ImportChange::Scenario(Box::new(file), Box::new(scenario), None);
        Ok(ImportedFile::new(kind, change, imported.report.text()))
    }

    /// Twice: first to hear what the files leave open.
    fn read_plan(&self, texts: &[NamedText], library: &Library) -> Result<Imported<ImportedPlan>, Vec<String>> {
        let files: Vec<LauncherFile> = texts.iter().map(|(name, text)| LauncherFile { name, text }).collect();
        let said = self.said()?;
        let read = |wishes: PlanWishes| plans::import(&files, wishes, library);
        let with = |fields: &[(Field, Value)]| PlanWishes { fields: fields.to_vec(), ..PlanWishes::default() };
        let mut fields = said.clone();
        let first = read(with(&fields)).or_else(|errors| {
            // Most launchers are told on the command line how many devices there are.
            if !errors.iter().all(is_of_devices) {
                return Err(errors);
            }
            fields.push((Field::Devices, Value::Count(self.scenario.devices())));
            read(with(&fields))
        });
        // What is assumed there is a default of the reader; the scenario in hand is nearer to the truth than any default.
        let first = first.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let open = |field: Field| first.report.assumed.iter().any(|assumed| assumed.field == field.key());
        let mut wishes = with(&fields);
        for field in FACTS.into_iter().filter(|field| open(*field)) {
            let id = field.value(&self.scenario);
            let known = id.as_ref().is_some_and(|id| library.title(field, &id.to_string()).is_some());
            match id {
                Some(id) if known => wishes.fields.push((field, id)),
                _ if field == Field::Model => wishes.model = Some((*self.scenario.model).clone()),
                _ if field == Field::Cluster => wishes.machine = Some((*self.scenario.cluster).clone()),
                _ => {}
            }
        }
        let given: Vec<Field> = said.iter().map(|(field, _)| *field).collect();
        // With the facts in hand it may be impossible: a head count that its ranks do not divide. Then as first read.
        let mut imported = read(wishes).unwrap_or(first);
        for taken in &mut imported.report.taken {
            let field = Field::all().find(|field| taken.place == format!("--{field}"));
            if field.is_some_and(|field| !given.contains(&field)) {
                "not in any file: taken from the current scenario".clone_into(&mut taken.place);
            }
        }
        Ok(imported)
    }

    /// What is said beside the files, as flags say it.
    fn said(&self) -> Result<Vec<(Field, Value)>, Vec<String>> {
        let mut said = Vec::new();
        for (option, text) in &self.words.options {
            let Some(field) = Field::all().find(|field| field.spec().flag == option) else {
                return Err(vec![format!("--{option} is no field; write one like --devices 64")]);
            };
            let value = field.read(text).map_err(|problem| vec![format!("--{option}: {problem}")])?;
            said.extend(value.map(|value| (field, value)));
        }
        Ok(said)
    }
}

/// Whether all that is missing is how many devices there are.
fn is_of_devices(error: &Problem) -> bool {
    error.fix.starts_with("say it with --devices")
}
