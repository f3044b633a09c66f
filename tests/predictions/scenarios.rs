//! The scenarios of the gate: [`FAMILIES`], each a base and axes over it.
//!
//! A family whose axes cross in more points than it may `take` gives points spread evenly over all of them: no random
//! numbers, so that the list is the same on every machine and in every version.

use std::fmt::Write;

use shardscope_engine::scenario::field::Field;

use super::families::FAMILIES;

/// A key of a scenario file and its value; [`LEFT`] leaves the key to its default.
pub(super) type Setting = (&'static str, &'static str);

/// A value that is not written.
pub(super) const LEFT: &str = "-";

/// Keys at the top of a scenario file, all others being the plan's, as the default scenario has them.
const DEFAULTS: [Setting; 4] =
    [("cluster", "h100-80gb-dgx"), ("stack", "default"), ("model", "mpt-70b"), ("strategy", "fsdp")];

/// Scenarios of one kind.
pub(super) struct Family {
    pub name: &'static str,
    pub base: &'static [Setting],
    pub axes: &'static [(&'static str, &'static [&'static str])],
    /// Points of the product of the axes at most.
    pub take: usize,
}

/// One scenario, as settings over nothing.
#[derive(Debug, Clone)]
pub struct Question {
    family: &'static str,
    settings: Vec<Setting>,
}

impl Question {
    /// What it is, to be written into a scenario file by hand: `mesh cluster=h100-80gb-dgx ... tensor=2`.
    pub fn id(&self) -> String {
        let settings = self.settings.iter().map(|(key, value)| format!(" {key}={value}"));
        settings.fold(self.family.to_owned(), |id, setting| id + &setting)
    }

    /// The value of a key, if it says one.
    pub fn value(&self, key: &str) -> Option<&'static str> {
        self.settings.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// The same with nothing said of a key, but for a preset, where the default scenario's stands.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        let mut settings = self.settings.clone();
        match DEFAULTS.iter().find(|(name, _)| *name == key) {
            Some(default) => settings.iter_mut().filter(|(name, _)| *name == key).for_each(|other| *other = *default),
            None => settings.retain(|(name, _)| *name != key),
        }
        Self { settings, ..*self }
    }

    /// Its scenario file.
    pub fn to_toml(&self) -> String {
        let (top, plan): (Vec<&Setting>, Vec<&Setting>) =
            self.settings.iter().partition(|(key, _)| DEFAULTS.iter().any(|(top, _)| top == key));
        let mut text = "format = 1\n".to_owned();
        let line = |text: &mut String, (key, value): &Setting| {
            let value = if *key == "operators" { placements(value) } else { quoted(value) };
            writeln!(text, "{key} = {value}").expect("memory");
        };
        for setting in top {
            line(&mut text, setting);
        }
        let (post, plan): (Vec<&Setting>, Vec<&Setting>) = plan.into_iter().partition(|(key, _)| is_post_training(key));
        for (table, settings) in [("plan", plan), ("post_training", post)] {
            if table == "plan" || !settings.is_empty() {
                text.extend(["[", table, "]\n"]);
            }
            for setting in settings {
                line(&mut text, setting);
            }
        }
        text
    }
}

/// Whether a key stands in the table of post-training.
fn is_post_training(key: &str) -> bool {
    Field::all().any(|field| field.key() == key && field.path().starts_with("post_training."))
}

/// Numbers and switches as they are, words as TOML has them.
fn quoted(value: &str) -> String {
    if value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok() {
        value.to_owned()
    } else {
        format!("\"{value}\"")
    }
}

/// Per-operator sharding, by short names.
fn placements(name: &str) -> String {
    let kept = "extents = { weights = \"device\", gradients = \"device\", optimizer = \"system\" }";
    let of = |rest: &str| format!("[{{ {rest} }}]");
    match name {
        "attention-kept" => of(&format!("operator = \"attention\", {kept}")),
        "mlp-kept" => of(&format!("operator = \"mlp\", {kept}")),
        "some-layers-kept" => of(&format!("layers = \"3-9\", operator = \"layer\", {kept}")),
        "embedding-in-node" => of("operator = \"embedding\", extents = { weights = \"node\" }"),
        "mlp-split-4" => of("operator = \"mlp\", split = 4"),
        "attention-split-2" => of("layers = \"0-5\", operator = \"attention\", split = 2"),
        "head-kept" => of(&format!("operator = \"head\", {kept}")),
        "all-in-node" => of("operator = \"all\", extents = { weights = \"node\", gradients = \"node\" }"),
        other => panic!("{other} names no placement"),
    }
}

/// All of them, in their order.
pub fn all() -> Vec<Question> {
    FAMILIES.iter().flat_map(Family::questions).collect()
}

impl Family {
    fn questions(&self) -> impl Iterator<Item = Question> {
        let points: usize = self.axes.iter().map(|(_, values)| values.len()).product();
        let (take, step) = if points <= self.take { (points, 1) } else { (self.take, stride(points)) };
        (0..take).map(move |index| self.question(index * step % points))
    }

    /// The point of that number, its last axis counting fastest.
    fn question(&self, mut point: usize) -> Question {
        let mut settings = Vec::new();
        for (key, values) in self.axes.iter().rev() {
            let value = values[point % values.len()];
            point /= values.len();
            if value != LEFT {
                settings.push((*key, value));
            }
        }
        settings.extend(self.base.iter().rev());
        settings.reverse();
        Question { family: self.name, settings }
    }
}

/// A stride that meets every point before it meets one twice, near the golden section, which spreads points evenly.
fn stride(points: usize) -> usize {
    let golden = (points as f64 * 0.618_033_988_749_895) as usize;
    (golden..=golden + points)
        .find(|step| common_divisor(*step, points) == 1)
        .expect("some number has no divisor in common with another")
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[test]
fn every_scenario_has_an_id_of_its_own() {
    let mut ids: Vec<String> = all().iter().map(Question::id).collect();
    let number = ids.len();
    assert!(number >= 2000, "{number}");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), number);
}

#[test]
fn a_scenario_is_its_file() {
    let question = Question {
        family: "test",
        settings: vec![("cluster", "h100-80gb-dgx"), ("nodes", "4"), ("shard", "node"), ("qwz", "true")],
    };
    assert_eq!(question.id(), "test cluster=h100-80gb-dgx nodes=4 shard=node qwz=true");
    let text = "format = 1\ncluster = \"h100-80gb-dgx\"\n[plan]\nnodes = 4\nshard = \"node\"\nqwz = true\n";
    assert_eq!(question.to_toml(), text);
}
