//! The measured runs behind a calibration, a line for each group of near-duplicates, and how near they are to a scenario.
//! Not for predicting them, or for fitting to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_library::text::csv::{inert, meant};

use super::{Case, Metric, Validation};

/// Runs of one publication and configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunGroup {
    /// The table that has them.
    pub source: String,
    /// Its name for them.
    pub group: String,
    /// The stack's id.
    pub stack: String,
    pub architecture: String,
    /// Format of the matrix products.
    pub precision: String,
    /// Devices of the smallest run.
    pub devices: u32,
    /// Devices of the largest run.
    pub most_devices: u32,
    /// Parameters of the model: of the largest, where they differ.
    pub parameters: u64,
    /// How many runs they are.
    pub rows: u32,
    /// Mean `|predicted / measured - 1|`, by constants fitted without them.
    pub error: f64,
}

impl RunGroup {
    /// The same with other texts.
    fn with_texts(&self, text: fn(&str) -> String) -> Self {
        let [source, group, stack, architecture, precision] =
            [&self.source, &self.group, &self.stack, &self.architecture, &self.precision].map(|field| text(field));
        Self { source, group, stack, architecture, precision, ..self.clone() }
    }
}

/// A group of runs compared with a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct NearGroup<'a> {
    /// The runs that are compared.
    pub group: &'a RunGroup,
    /// Whether they ran on the scenario's stack.
    pub stack: bool,
    pub architecture: bool,
    /// In its number format.
    pub precision: bool,
    /// How many times the devices are nearest to the scenario's: 1 where it lies between the smallest and the largest run.
    pub devices: f64,
    /// How many times the scenario's parameters its model has.
    pub parameters: f64,
}

/// Whether a size is near one that is so many times as large: from half of it to twice.
pub fn near(factor: f64) -> bool {
    (0.5..=2.0).contains(&factor)
}

impl NearGroup<'_> {
    /// Whether nothing of it is far.
    pub fn near(&self) -> bool {
        self.stack && self.architecture && self.precision && near(self.devices) && near(self.parameters)
    }

    /// The order of groups: another architecture is further than another stack, and that than another format; these and
    /// a factor of two in size each count 1, a stack 2, an architecture 4. An order for people, no figure.
    fn distance(&self) -> f64 {
        let other = |same: bool, weight: f64| if same { 0.0 } else { weight };
        let doublings = |factor: f64| libm::fabs(libm::log2(factor));
        other(self.architecture, 4.0)
            + other(self.stack, 2.0)
            + other(self.precision, 1.0)
            + doublings(self.devices)
            + doublings(self.parameters)
    }
}

/// The groups of cases whose step times a validation predicts.
pub fn groups(cases: &[Case], validation: &Validation) -> Vec<RunGroup> {
    let timed = validation.residuals.iter().filter(|one| one.metric == Metric::StepTime && one.error().is_finite());
    let errors: BTreeMap<&str, f64> = timed.map(|one| (one.id.as_str(), libm::fabs(one.error()))).collect();
    let mut found: BTreeMap<(String, String, String, String), RunGroup> = BTreeMap::new();
    for case in cases {
        let Some(error) = errors.get(case.row.id().as_str()) else { continue };
        let scenario = case.scenario();
        let source = printable(case.row.file().rsplit('/').next().unwrap_or_default());
        let (stack, precision) = (scenario.stack.id.clone(), scenario.plan.precision.word().to_owned());
        let architecture = scenario.cluster.device.architecture.clone();
        let devices = scenario.devices();
        let key = (source.clone(), case.row.group(), stack.clone(), precision.clone());
        let group = found.entry(key).or_insert_with(|| RunGroup {
            source,
            group: case.row.group(),
            stack,
            architecture,
            precision,
            devices,
            most_devices: devices,
            parameters: 0,
            rows: 0,
            error: 0.0,
        });
        group.devices = group.devices.min(devices);
        group.most_devices = group.most_devices.max(devices);
        group.parameters = group.parameters.max(scenario.model.parameters());
        group.error = (group.error * f64::from(group.rows) + error) / f64::from(group.rows + 1);
        group.rows += 1;
    }
    let rounded = |group: RunGroup| RunGroup { error: libm::round(group.error * 1e4) / 1e4, ..group };
    found.into_values().map(rounded).collect()
}

pub fn write_groups(groups: &[RunGroup]) -> Result<String, csv::Error> {
    let mut table = csv::Writer::from_writer(Vec::new());
    groups.iter().try_for_each(|group| table.serialize(group.with_texts(|text| inert(text).into_owned())))?;
    let bytes = table.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The groups of such a table; what is wrong with it, with the line, if it is none.
pub fn read_groups(text: &str) -> Result<Vec<RunGroup>, String> {
    let groups = csv::Reader::from_reader(text.as_bytes()).into_deserialize::<RunGroup>();
    let read = |group: RunGroup| group.with_texts(|text| meant(text).to_owned());
    groups.map(|group| group.map(read).map_err(|error| printable(&error.to_string()))).collect()
}

/// The groups, the nearest to a scenario first.
pub fn nearest<'a>(groups: &'a [RunGroup], scenario: &Scenario) -> Vec<NearGroup<'a>> {
    let (devices, parameters) = (f64::from(scenario.devices()), scenario.model.parameters() as f64);
    let compared = |group: &'a RunGroup| NearGroup {
        group,
        stack: group.stack == scenario.stack.id,
        architecture: group.architecture == scenario.cluster.device.architecture,
        precision: group.precision == scenario.plan.precision.word(),
        devices: devices.clamp(f64::from(group.devices), f64::from(group.most_devices)) / devices,
        parameters: group.parameters as f64 / parameters,
    };
    let mut found: Vec<NearGroup<'a>> = groups.iter().map(compared).collect();
    found.sort_by(|one, other| one.distance().total_cmp(&other.distance()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_engine::testing;

    fn group(name: &str, stack: &str, devices: [u32; 2], parameters: u64) -> RunGroup {
        RunGroup {
            source: "runs.csv".to_owned(),
            group: name.to_owned(),
            stack: stack.to_owned(),
            architecture: testing::scenario().cluster.device.architecture.clone(),
            precision: "bf16".to_owned(),
            devices: devices[0],
            most_devices: devices[1],
            parameters,
            rows: 3,
            error: 0.041,
        }
    }

    /// The scenario has 8 devices. From 2 to 16 of them hold 8; 64 are 8 times as many, three doublings, one more than
    /// another stack counts.
    #[test]
    fn near_is_first_and_says_in_what_it_differs() {
        let scenario = testing::scenario();
        let parameters = scenario.model.parameters();
        let (stack, devices) = (scenario.stack.id.as_str(), scenario.devices());
        assert_eq!(devices, 8);
        let groups = [
            group("large", stack, [64, 64], parameters),
            group("other", "another", [8, 8], parameters),
            group("same", stack, [2, 16], 2 * parameters),
        ];
        let found = nearest(&groups, &scenario);
        let names: Vec<&str> = found.iter().map(|one| one.group.group.as_str()).collect();
        assert_eq!(names, ["same", "other", "large"]);
        assert_eq!(found.iter().map(NearGroup::near).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!((found[0].devices, found[0].parameters, found[2].devices), (1.0, 2.0, 8.0));
    }

    #[test]
    fn a_table_reads_back() {
        let groups = vec![
            group("a, quoted", "default", [8, 8], 7_000_000_000),
            group("=cmd|' /C calc'!A0", "-1+1", [8, 8], 7_000_000_000),
        ];
        let table = write_groups(&groups).expect("a table");
        assert!(table.contains(",'=cmd|' /C calc'!A0,'-1+1,"), "no formula: {table}");
        assert_eq!(read_groups(&table), Ok(groups));
        let wrong = read_groups("source,group\nx,y\n").expect_err("columns are missing");
        assert!(wrong.contains("stack"), "{wrong}");
    }
}
