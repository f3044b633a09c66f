//! Relations that must hold between the figures of a scenario, or between two scenarios that differ in a known way: nobody
//! has to know what a step takes to know that twice the tokens take twice the days. They are asked of random scenarios.
//!
//! `SHARDSCOPE_RELATIONS=600 cargo test --release --test integration relations:: -- --nocapture` asks them for 600 seconds,
//! of other scenarios every time, and prints how often each was asked and what broke it. A failure names its seed;
//! `SHARDSCOPE_SEED=N` begins with that scenario. Without either the scenarios are few, and always the same.

#![expect(clippy::unwrap_used, reason = "a helper of tests ends the test")]

mod run;
mod table;
mod verdict;

use std::time::{Duration, Instant, SystemTime};

use shardscope_engine::evaluate::Workspace;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::testing::random::{self, Draws};

use run::{LIBRARY, Run};
use table::RELATIONS;
use verdict::Verdict;

/// What must hold, and of which scenarios.
struct Relation {
    /// In words, as it is printed.
    name: &'static str,
    /// The drawn scenarios that it is asked of.
    among: fn(&Run) -> bool,
    holds: Holds,
}

enum Holds {
    /// Of a scenario alone.
    Of(fn(&Run) -> Verdict),
    /// Between a scenario after the one change and after the other.
    Between([Change; 2], fn(&Run, &Run) -> Verdict),
}

type Change = fn(&mut Scenario);

impl Relation {
    /// Whether it holds, with what to show of the scenarios where it does not; `None` where it cannot be asked, since a
    /// change is refused or changes nothing.
    fn ask(&self, drawn: &Run, workspace: &mut Workspace) -> Option<Verdict> {
        if !(self.among)(drawn) {
            return None;
        }
        match self.holds {
            Holds::Of(holds) => Some(holds(drawn).map_err(|fault| format!("{fault}\n{}", drawn.shown()))),
            Holds::Between(changes, holds) => {
                let [one, other] = changes.map(|change| drawn.changed(change, workspace));
                let (one, other) = (one?, other?);
                let shown = |fault| format!("{fault}\n{}\nagainst\n{}", one.shown(), other.shown());
                (one.scenario != other.scenario).then(|| holds(&one, &other).map_err(shown))
            }
        }
    }
}

/// How often relations were asked, and what was found.
struct Survey<'a> {
    relations: &'a [Relation],
    counts: Vec<usize>,
    failures: Vec<String>,
}

impl<'a> Survey<'a> {
    /// Asks relations of the scenarios of some seeds.
    fn new(relations: &'a [Relation], seeds: impl Iterator<Item = u64>) -> Self {
        let mut survey = Self { relations, counts: vec![0; relations.len()], failures: Vec::new() };
        let mut workspace = Workspace::default();
        for seed in seeds {
            let scenario = random::of_presets(&LIBRARY, &mut Draws::seeded(seed));
            let Some(drawn) = Run::new(scenario, &mut workspace) else { continue };
            for (relation, count) in relations.iter().zip(&mut survey.counts) {
                let Some(verdict) = relation.ask(&drawn, &mut workspace) else { continue };
                *count += 1;
                let failed = verdict.err().map(|fault| format!("seed {seed}: {}: {fault}", relation.name));
                survey.failures.extend(failed);
            }
        }
        survey
    }

    fn print(&self) {
        for (relation, count) in self.relations.iter().zip(&self.counts) {
            let broken = self.failures.iter().filter(|failure| failure.contains(relation.name)).count();
            println!("{count:7} asked {broken:4} broken  {}", relation.name);
        }
        println!("{:7} asked {:4} broken", self.counts.iter().sum::<usize>(), self.failures.len());
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

#[test]
fn relations_hold() {
    /// Scenarios that are drawn where nobody asks for more, and how often each relation must be asked of them.
    const FEW: u64 = 300;
    const LEAST: usize = 20;

    let Some(seconds) = number("SHARDSCOPE_RELATIONS") else {
        let survey = Survey::new(RELATIONS, 0..FEW);
        assert!(survey.failures.is_empty(), "{}", survey.failures.join("\n\n"));
        for (relation, count) in RELATIONS.iter().zip(survey.counts) {
            assert!(count >= LEAST, "asked {count} times only: {}", relation.name);
        }
        return;
    };
    let (start, limit) = (Instant::now(), Duration::from_secs(seconds));
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let first = number("SHARDSCOPE_SEED").unwrap_or_else(|| now() << 16);
    let survey = Survey::new(RELATIONS, (first..).take_while(|_| start.elapsed() < limit));
    println!("from seed {first}, {seconds} s:");
    survey.print();
    assert!(survey.failures.is_empty(), "{}", survey.failures.join("\n\n"));
}

/// What does not hold is found, and told with what is needed to see it again.
#[test]
fn what_does_not_hold_is_found() {
    let wrong = [Relation {
        name: "twice the micro-batches take no longer",
        among: |_| true,
        holds: Holds::Between([|_| {}, |scenario| scenario.plan.accumulate *= 2], |one, other| {
            verdict::at_most("step", other.step(), one.step(), verdict::ROUNDING)
        }),
    }];
    let survey = Survey::new(&wrong, 0..4);
    assert_eq!(survey.failures.len(), survey.counts[0]);
    let first = survey.failures.first().unwrap();
    for told in ["seed ", "twice the micro-batches take no longer", "step", "accumulate = ", "against"] {
        assert!(first.contains(told), "no {told:?} in {first}");
    }
    for fault in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(verdict::sound(&Some(("step", fault))).is_err(), "{fault} passes");
    }
    assert!(verdict::sound(&Some(("step", 1e-9, -0.0))).is_ok());
}
