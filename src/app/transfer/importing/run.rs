//! The log of a run: what ran becomes the scenario, where the log says it, and how long a step took is held against what
//! is predicted; or what it says where memory ran out.

use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::search::OwnFigure;
use shardscope_engine::units::Seconds;
use shardscope_evidence::measured::{self, MeasuredRow};
use shardscope_interop::out_of_memory;
use shardscope_interop::runs::{self, RunOptions};

use super::{ImportChange, ImportQuestion, ImportedFile, lines, refused};

impl ImportQuestion {
    pub(super) fn run(
        &self,
        kind: &'static str,
        name: &str,
        text: &str,
        library: &Library,
    ) -> Result<ImportedFile, Vec<String>> {
        if let Some(other) = self.words.others(&["skip"]) {
            return Err(vec![other]);
        }
        let skip = self.words.option("skip");
        let count = |text: &str| text.parse().map_err(|_| vec![format!("--skip: '{text}' is no count")]);
        // No log says on which cluster it ran.
        let mut given = Vec::new();
        for (column, kind, id) in
            [("cluster", Kind::Cluster, &self.scenario.cluster.id), ("stack", Kind::Stack, &self.scenario.stack.id)]
        {
            if library.entries(kind).any(|entry| entry.id == *id) {
                given.push((
                    column.to_owned(),
                    id.clone(),
                    "not in any log: taken from the current scenario".to_owned(),
                ));
            }
        }
        let options = RunOptions { skip: skip.map(count).transpose()?, given: &given };
        let imported = runs::run(name, text, options).map_err(|errors| refused(name, &errors))?;
        let report = imported.report.text();
        // The row goes the way of a file of rows: what `validate` would say of it is said here.
        let rows: Vec<MeasuredRow> =
            imported.made.rows.iter().map(|cells| MeasuredRow::from_cells(name, cells)).collect();
        let (cases, unbuilt) = measured::cases(&rows, library);
        if let Some(case) = cases.first() {
            let scenario = case.scenario().clone().into_checked().map_err(|problems| lines(&problems))?;
            let step = case.step_time.map(Seconds::new);
            let change = ImportChange::Scenario(Box::new(ScenarioFile::of(&scenario)), Box::new(scenario), step);
            return Ok(ImportedFile::new(kind, change, report));
        }
        // Many programs print how long a step takes, and not what it is a step of.
        let why = unbuilt.first().map_or_else(String::new, |skipped| skipped.why.clone());
        let step = rows.first().and_then(|row| row.number("step_time_s").ok().flatten());
        let Some(step) = step.map(Seconds::new) else { return Err(vec![format!("{name}: {why}")]) };
        let head = format!("The log says no scenario ({why}): its step time is held against the one in hand.\n");
        Ok(ImportedFile::new(kind, ImportChange::Measured(OwnFigure::StepTime(step)), head + &report))
    }

    /// A message that memory ran out, which is held against the scenario in hand.
    pub(super) fn out_of_memory(
        &self,
        kind: &'static str,
        name: &str,
        text: &str,
    ) -> Result<ImportedFile, Vec<String>> {
        if let Some(other) = self.words.others(&[]) {
            return Err(vec![other]);
        }
        let imported = out_of_memory::read(text).map_err(|errors| refused(name, &errors))?;
        let figure = imported.made.figure();
        Ok(ImportedFile::new(kind, ImportChange::Measured(figure), imported.made.text() + &imported.report.text()))
    }
}
