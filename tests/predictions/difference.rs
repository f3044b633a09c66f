//! What differs between two tables, grouped so that it can be read: by column, by axis value, then a few examples.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use super::table::{BETWEEN, Table};

/// Rows, axis values and examples that are printed at most.
const SHOWN: usize = 10;

/// What differs; there is one only where something does.
#[derive(Debug)]
pub struct Difference {
    missing: Vec<String>,
    added: Vec<String>,
    /// Columns that only one of the tables has.
    columns: Vec<String>,
    changes: Vec<Change>,
    /// How many rows both tables have of each axis value.
    having: BTreeMap<String, usize>,
}

/// A figure that differs.
#[derive(Debug)]
struct Change {
    id: String,
    column: String,
    old: String,
    new: String,
}

impl Difference {
    /// `None` where the tables are the same.
    pub fn between(old: &Table, new: &Table) -> Option<Self> {
        let olds: HashMap<&str, &Vec<String>> = old.rows.iter().map(|(id, cells)| (id.as_str(), cells)).collect();
        let news: HashMap<&str, &Vec<String>> = new.rows.iter().map(|(id, cells)| (id.as_str(), cells)).collect();
        let without = |rows: &Table, other: &HashMap<&str, &Vec<String>>| {
            let ids = rows.rows.iter().map(|(id, _)| id.clone());
            ids.filter(|id| !other.contains_key(id.as_str())).collect::<Vec<_>>()
        };
        let only = |one: &Table, other: &Table| {
            one.columns.iter().filter(|name| !other.columns.contains(name)).cloned().collect::<Vec<_>>()
        };
        let both: Vec<(usize, usize, &String)> = (0..)
            .zip(&old.columns)
            .filter_map(|(from, name)| Some((from, new.columns.iter().position(|other| other == name)?, name)))
            .collect();
        let mut changes = Vec::new();
        let mut having = BTreeMap::new();
        for (id, before) in &old.rows {
            let Some(after) = news.get(id.as_str()) else { continue };
            for value in axis_values(id) {
                *having.entry(value).or_default() += 1;
            }
            let changed = both.iter().filter(|(from, to, _)| before[*from] != after[*to]);
            changes.extend(changed.flat_map(|(from, to, name)| Change::of_cell(id, name, &before[*from], &after[*to])));
        }
        let columns = [only(old, new), only(new, old)].concat();
        let difference = Self { missing: without(old, &news), added: without(new, &olds), columns, changes, having };
        let same = difference.missing.is_empty()
            && difference.added.is_empty()
            && difference.columns.is_empty()
            && difference.changes.is_empty();
        (!same).then_some(difference)
    }
}

/// The words of an id: `cluster=h100-80gb-dgx` of a scenario, a flag of a command.
fn axis_values(id: &str) -> impl Iterator<Item = String> {
    let command = id.split(" :").next().unwrap_or(id);
    command.split_whitespace().map(str::to_owned)
}

impl Change {
    /// What differs in a cell: of figures with names each by itself, whether both tables have it or one.
    fn of_cell(id: &str, column: &str, old: &str, new: &str) -> Vec<Self> {
        let [olds, news] = [old, new].map(|cell| {
            let figures = cell.split(BETWEEN).map(|figure| figure.split_once('=').unwrap_or((column, figure)));
            figures.collect::<BTreeMap<&str, &str>>()
        });
        let names: BTreeSet<&&str> = olds.keys().chain(news.keys()).collect();
        let text =
            |figures: &BTreeMap<&str, &str>, name: &str| figures.get(name).map_or("none", |text| *text).to_owned();
        let both = names.into_iter().map(|name| (name, text(&olds, name), text(&news, name)));
        let changed = both.filter(|(_, old, new)| old != new);
        changed.map(|(name, old, new)| Self { id: id.to_owned(), column: (*name).to_owned(), old, new }).collect()
    }

    /// By which share it grew at most, over the numbers in the cell; `None` where it holds none.
    fn share(&self) -> Option<f64> {
        let pairs = self.old.split_whitespace().zip(self.new.split_whitespace());
        let shares = pairs.filter_map(|(old, new)| {
            let (old, new) = (old.parse::<f64>().ok()?, new.parse::<f64>().ok()?);
            Some((new - old) / old.abs().max(f64::MIN_POSITIVE))
        });
        shares.max_by(|a, b| a.abs().total_cmp(&b.abs()))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, ids) in [("missing", &self.missing), ("added", &self.added)] {
            if !ids.is_empty() {
                let more = if ids.len() > SHOWN { ", ..." } else { "" };
                let shown = ids.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
                writeln!(f, "{} rows {what}: {shown}{more}", ids.len())?;
            }
        }
        if !self.columns.is_empty() {
            writeln!(f, "columns of one of both only: {}", self.columns.join(", "))?;
        }
        if !self.changes.is_empty() {
            self.by_column(f)?;
            self.by_axis_value(f)?;
            self.examples(f)?;
        }
        Ok(())
    }
}

impl Difference {
    fn by_column(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
        for change in &self.changes {
            columns.entry(&change.column).or_default().push(change);
        }
        writeln!(f, "{:>32} {:>6} {:>11} {:>11}", "figure", "rows", "largest", "mean")?;
        for (column, changes) in columns {
            write!(f, "{column:>32} {:>6}", changes.len())?;
            let shares: Vec<f64> = changes.iter().filter_map(|change| change.share()).collect();
            match shares.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())) {
                Some(largest) => {
                    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
                    writeln!(f, " {} {}", percent(largest), percent(mean))?;
                }
                None => writeln!(f)?,
            }
        }
        Ok(())
    }

    /// The axis values whose rows changed most often, against how many rows have them.
    fn by_axis_value(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids: Vec<&str> = self.changes.iter().map(|change| change.id.as_str()).collect();
        ids.dedup();
        let mut changed: BTreeMap<String, usize> = BTreeMap::new();
        for value in ids.iter().flat_map(|id| axis_values(id)) {
            *changed.entry(value).or_default() += 1;
        }
        let share = |value: &str, rows: usize| rows as f64 / self.having[value] as f64;
        let mut values: Vec<(&String, &usize)> = changed.iter().collect();
        values.sort_by(|(a, m), (b, n)| share(b, **n).total_cmp(&share(a, **m)).then(n.cmp(m)));
        writeln!(f, "{} rows changed; most often those with", ids.len())?;
        for (value, rows) in values.into_iter().take(SHOWN) {
            writeln!(f, "  {value}: {rows} of {}", self.having[value])?;
        }
        Ok(())
    }

    fn examples(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let every = self.changes.len().div_ceil(SHOWN);
        writeln!(f, "old -> new, for example")?;
        for Change { id, column, old, new } in self.changes.iter().step_by(every) {
            writeln!(f, "  {id}\n    {column}: {old} -> {new}")?;
        }
        Ok(())
    }
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.abs() < 0.001 { format!("{percent:>+9.1e} %") } else { format!("{percent:>+9.3} %") }
}

/// Two rows of two figures.
fn before() -> Table {
    let row = |id: &str, cells: [&str; 2]| (id.to_owned(), cells.map(str::to_owned).to_vec());
    Table::new(&["step_time_s", "stages"], vec![row("a x=1", ["2.0", "10 20"]), row("b x=2", ["4.0", "30 40"])])
}

#[test]
fn equal_tables_do_not_differ() {
    assert!(Difference::between(&before(), &before()).is_none());
    assert_eq!(Table::from_csv(&before().to_csv()), before());
}

#[test]
fn a_changed_figure_is_reported_with_its_column_its_axis_value_and_both_values() {
    let mut after = before();
    after.rows[1].1[0] = "4.2".to_owned();
    after.rows[1].1[1] = "30 50".to_owned();
    let report = Difference::between(&before(), &after).expect("a difference").to_string();
    // 4.2 / 4 = 1.05; 50 / 40 = 1.25.
    for part in ["step_time_s      1    +5.000 %    +5.000 %", "stages      1   +25.000 %", "x=2: 1 of 1", "4.0 -> 4.2"]
    {
        assert!(report.contains(part), "'{part}' is not in:\n{report}");
    }
    assert!(!report.contains("x=1"), "{report}");
}

/// Of a cell with several figures only those that changed are reported, each by its name.
#[test]
fn figures_with_names_are_reported_one_by_one() {
    let row = |figures: &str| Table::new(&["figures"], vec![("validate : rows".to_owned(), vec![figures.to_owned()])]);
    let report =
        Difference::between(&row("mfu=0.5; hfu=0.6; gone=1"), &row("mfu=0.5; hfu=0.63")).expect("a difference");
    let report = report.to_string();
    // 0.63 / 0.6 = 1.05.
    for part in ["hfu      1    +5.000 %", "gone: 1 -> none", "validate: 1 of 1"] {
        assert!(report.contains(part), "'{part}' is not in:\n{report}");
    }
    assert!(!report.contains("mfu"), "{report}");
}

#[test]
fn the_last_digit_counts() {
    let mut after = before();
    after.rows[0].1[0] = "2.0000000000000004".to_owned();
    let report = Difference::between(&before(), &after).expect("a difference").to_string();
    assert!(report.contains("+2.2e-14 %"), "{report}");
}

#[test]
fn rows_and_columns_of_one_table_only_are_reported() {
    let mut after = before();
    after.rows[0].0 = "c x=3".to_owned();
    after.columns[1] = "peaks".to_owned();
    let report = Difference::between(&before(), &after).expect("a difference").to_string();
    for part in ["1 rows missing: a x=1", "1 rows added: c x=3", "columns of one of both only: stages, peaks"] {
        assert!(report.contains(part), "'{part}' is not in:\n{report}");
    }
}
