//! Which measured runs stand behind a scenario, how near they are, and how wide that leaves its band.

use serde_json::{Value, json};

use crate::figures::table::{Table, TableCell, pretty};
use shardscope_engine::evaluate::{COVERAGE_SIGMA, Evaluation, NearestLack, evidence, lacks};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::stack::constants::Constant;
use shardscope_engine::stack::{Band, ConstantId, ConstantValues, PosteriorConstant};
use shardscope_engine::units::{percent, thousands};
use shardscope_evidence::measured::{NearGroup, near};

/// Groups that are listed one by one.
const LISTED: usize = 12;

/// Constants that are listed.
const CONSTANTS_LISTED: usize = 6;

/// A test of whether a group is like a scenario in one thing.
type Nearness = fn(&NearGroup<'_>) -> bool;

/// Measured runs behind a scenario.
#[derive(Debug, Clone, Copy)]
pub struct SupportReport<'a> {
    pub scenario: &'a Scenario,
    pub evaluation: &'a Evaluation,
    /// How its step time changes with each constant, per share of its range ([`shardscope_engine::evaluate::slopes`]).
    pub slopes: &'a ConstantValues,
    /// The runs behind its calibration, the nearest first.
    pub groups: &'a [NearGroup<'a>],
}

impl SupportReport<'_> {
    pub fn text(self) -> String {
        let titled = |title: &str, table: &Table| {
            if table.is_empty() { String::new() } else { format!("\n{title}\n{}", table.text()) }
        };
        let near = titled("the nearest", &self.nearest());
        let open: Vec<String> = self.constants().into_iter().map(ConstantShare::line).collect();
        let open = match open.as_slice() {
            [] => String::new(),
            lines => format!("\nuncertainty of the step from each constant alone\n{}\n", lines.join("\n")),
        };
        format!("{}\n\n{}{near}{open}", self.band(), self.counts().text())
    }

    pub fn json(self) -> String {
        // Errors are factors, so that a band is as wide above as below in its logarithm.
        let half = self.evaluation.error_band.map(|band| libm::log(band.high / band.low) / 2.0);
        let behind = evidence(self.scenario);
        let value = json!({
            "format": 1,
            "stack": self.scenario.stack.id,
            "hardware": self.scenario.cluster.id,
            "calibration": self.scenario.calibration.id,
            "band": half.map(|half| json!({
                "half_width": half,
                "of_rows": behind.map(Band::widened),
                "of_constants": self.open().map(|open| COVERAGE_SIGMA * open),
                "rows": behind.map(|band| band.rows),
                "groups": behind.map(|band| band.groups),
            })),
            "lacks": lacks(self.scenario).iter().map(NearestLack::to_string).collect::<Vec<_>>(),
            "counts": self.counts().objects(),
            "nearest": self.nearest().objects(),
            "constants": self.constants().into_iter().map(ConstantShare::json).collect::<Vec<_>>(),
        });
        pretty(&value)
    }

    fn open(self) -> Option<f64> {
        Some(self.scenario.calibration.posterior()?.uncertainty(self.slopes))
    }

    fn band(self) -> String {
        let (Some(band), Some(behind)) = (self.evaluation.error_band, evidence(self.scenario)) else {
            return "no band: no measured step time stands behind this architecture and calibration".to_owned();
        };
        let wide = |half: f64| percent(libm::expm1(half));
        let open = self.open().map_or_else(String::new, |open| {
            format!("; what the constants leave open adds +-{}", wide(COVERAGE_SIGMA * open))
        });
        format!(
            "80 % interval of the step time: {} to {}\n+-{} by {behind}{}{open}",
            band.low,
            band.high,
            wide(behind.widened()),
            lacking_words(self.scenario)
        )
    }

    /// How many groups are like the scenario in one thing, and in all.
    fn counts(self) -> Table {
        let parameters = thousands(self.scenario.model.parameters() as f64);
        let likes: [(String, Nearness); 6] = [
            (format!("stack {}", self.scenario.stack.id), |one| one.stack),
            (format!("architecture {}", self.scenario.cluster.device.architecture), |one| one.architecture),
            (format!("format {}", self.scenario.plan.precision.word()), |one| one.precision),
            (format!("half to twice {} devices", thousands(f64::from(self.scenario.devices()))), |one| {
                near(one.devices)
            }),
            (format!("half to twice {parameters} parameters"), |one| near(one.parameters)),
            ("all of these".to_owned(), |one| one.near()),
        ];
        let mut table =
            Table::new([("of", "measured runs of"), ("groups", "groups"), ("rows", "rows"), ("error", "error")]);
        for (name, like) in likes {
            let groups: Vec<&NearGroup<'_>> = self.groups.iter().filter(|one| like(one)).collect();
            let rows: u32 = groups.iter().map(|one| one.group.rows).sum();
            // Over groups rather than rows: ten rows of one paper err together.
            let mean = groups.iter().map(|one| one.group.error).sum::<f64>() / groups.len() as f64;
            let error = if groups.is_empty() { TableCell::default() } else { TableCell::percent(mean) };
            table.push(vec![
                TableCell::word(name),
                TableCell::count(groups.len()),
                TableCell::count(rows as usize),
                error,
            ]);
        }
        table
    }

    fn nearest(self) -> Table {
        let columns =
            ["group", "stack", "architecture", "precision", "devices", "parameters", "rows", "error", "source"];
        let mut table = Table::new(columns.map(|name| (name, name)));
        for NearGroup { group, .. } in self.groups.iter().take(LISTED) {
            let devices = if group.devices == group.most_devices {
                thousands(f64::from(group.devices))
            } else {
                format!("{} to {}", thousands(f64::from(group.devices)), thousands(f64::from(group.most_devices)))
            };
            let range = Value::from(vec![group.devices, group.most_devices]);
            let billions = format!("{:.1} B", group.parameters as f64 / 1e9);
            table.push(vec![
                TableCell::word(group.group.clone()),
                TableCell::word(group.stack.clone()),
                TableCell::word(group.architecture.clone()),
                TableCell::word(group.precision.clone()),
                TableCell::new(devices, range),
                TableCell::new(billions, group.parameters),
                TableCell::count(group.rows as usize),
                TableCell::percent(group.error),
                TableCell::word(group.source.clone()),
            ]);
        }
        table
    }

    /// The constants that the step leans on most: each alone, so that together they need not add up.
    fn constants(self) -> Vec<ConstantShare> {
        let known = self.scenario.calibration.posterior().into_iter().flat_map(|posterior| &posterior.constants);
        let alone = |((id, slope), known): ((ConstantId, f64), &PosteriorConstant)| ConstantShare {
            constant: id.constant(),
            share: libm::expm1(COVERAGE_SIGMA * libm::fabs(slope * known.error / id.constant().range())),
        };
        let mut found: Vec<ConstantShare> =
            self.slopes.iter().zip(known).map(alone).filter(|one| one.share > 0.0).collect();
        found.sort_by(|one, other| other.share.total_cmp(&one.share));
        // The table is for people; the band has all of them in it.
        found.truncate(CONSTANTS_LISTED);
        found
    }
}

/// `; none has its release or its size`: what the measured runs nearest to a scenario lack, if anything.
pub(super) fn lacking_words(scenario: &Scenario) -> String {
    let lacks: Vec<String> = lacks(scenario).iter().map(|lack| format!("its {lack}")).collect();
    if lacks.is_empty() { String::new() } else { format!("; none has {}", lacks.join(" or ")) }
}

/// A constant, and by how much of itself the step may be off for it: 80 % of what is open.
struct ConstantShare {
    constant: &'static Constant,
    share: f64,
}

impl ConstantShare {
    fn line(self) -> String {
        let share = format!("+-{}", percent(self.share));
        format!("  {share:>8}  {}: {}", self.constant.name, self.constant.meaning)
    }

    fn json(self) -> Value {
        json!({ "constant": self.constant.name, "band": self.share, "meaning": self.constant.meaning })
    }
}
