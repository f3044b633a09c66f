//! The question of the view: the objective, and the fields that the search may change.

use std::mem;

use crate::app::action::{Action, Facet};
use crate::app::answers::recipe::recipe_plan;
use crate::app::answers::work::{JobContext, Teller, ViewJob};
use shardscope_engine::plan::Size;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{Field, Scenario, Value};
use shardscope_engine::search::Axis;
use shardscope_engine::search::planner;
use shardscope_engine::search::plans::{
    Allowed, Launchers, Margin, Objective, PlanSearch, PlanSearchAnswer, SearchLimits, SearchSpace,
};
use shardscope_engine::units::{Money, Seconds, whole_percent};
use shardscope_interop::runs_in;
use shardscope_library::command;
use shardscope_report::figures::{Figure, safety_words};

/// Objectives of the view, with words for each.
const OBJECTIVES: [(Objective, &str); 5] = [
    (Objective::Throughput, "fastest"),
    (Objective::Cost, "fewest device-hours"),
    (Objective::Devices, "fewest devices"),
    (Objective::Memory, "least memory"),
    (Objective::Days, "fewest days, failures included"),
];

/// Choices that are allowed beyond the scenario's own numbers.
const NUMERICS: [(Allowed, &str); 4] = [
    (Allowed { quantised: false, offload: false, fp8: false }, "same precision"),
    (Allowed { quantised: true, offload: false, fp8: false }, "quantised transfers too"),
    (Allowed { quantised: true, offload: false, fp8: true }, "quantised transfers and FP8 too"),
    (Allowed { quantised: false, offload: true, fp8: false }, "offload too"),
];

/// How many times as many or as few devices are searched, as powers of two.
const DOUBLINGS: u32 = 2;

/// Plans of the table.
const TOP: usize = 10;

/// Memory that stays free is a multiple of this share, and less than half of all.
const MARGIN: (f64, i32) = (0.05, 9);

/// Days within which plans may be asked to end.
const DEADLINES: [u32; 7] = [365, 180, 90, 60, 30, 14, 7];

/// Amounts of money that plans may be asked to cost at most.
const BUDGETS: [f64; 13] = [1e8, 5e7, 2e7, 1e7, 5e6, 2e6, 1e6, 5e5, 2e5, 1e5, 5e4, 2e4, 1e4];

/// The question, whatever the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanQuestion {
    /// Its place in [`OBJECTIVES`].
    objective: usize,
    /// Its place in [`NUMERICS`].
    numerics: usize,
    /// How often the count of devices is halved and doubled.
    doublings: u32,
    /// Whether the scenario's sharding stays.
    keeps_sharding: bool,
    /// Whether plans may have what the stack lacks.
    any_plan: bool,
    /// How many times the least margin stays free; 0 where as much stays free as a plan needs to fit safely, -1 where all may be filled.
    margins: i32,
    /// Places in [`DEADLINES`] and [`BUDGETS`], from 1; 0 for none.
    deadline: usize,
    budget: usize,
}

impl PlanQuestion {
    pub fn objective(self) -> Objective {
        OBJECTIVES[self.objective].0
    }

    /// The question in words, what is asked for before what is so unless asked otherwise.
    pub fn words(self, scenario: &Scenario) -> Vec<String> {
        let sharding = if self.keeps_sharding { "sharding kept" } else { "sharding searched" };
        let devices = match self.doublings {
            0 => "same GPU count".to_owned(),
            more => format!("devices x 1/{0} to {0}", 1 << more),
        };
        let asked = |text: String| (false, text);
        let mut words = vec![asked(OBJECTIVES[self.objective].1.to_owned()), asked(devices)];
        words.extend(self.held_to(scenario).into_iter().map(asked));
        if self.margin() == Margin::Likely {
            words.push((true, format!("{} (+ -)", safety_words())));
        }
        words.push((!self.keeps_sharding, sharding.to_owned()));
        if scenario.stack.runs.is_some() {
            let stack = if self.any_plan { "any plan (x)" } else { "runs on the stack and in a launcher (x)" };
            words.push((!self.any_plan, stack.to_owned()));
        }
        words.push((self.numerics == 0, NUMERICS[self.numerics].1.to_owned()));
        words.sort_by_key(|(usual, _)| *usual);
        words.into_iter().map(|(_, text)| text).collect()
    }

    /// The limits that plans must keep: `within 30 days`, `for at most 200,000 USD`.
    pub fn held_to(self, scenario: &Scenario) -> Vec<String> {
        let days = self.days().map(|days| format!("within {days} days"));
        let most = self.most(scenario).map(|most| format!("for at most {most}"));
        let free = match self.margin() {
            Margin::Likely => None,
            Margin::Share(0.0) => Some("all memory".to_owned()),
            Margin::Share(free) => Some(format!("{} of memory free", whole_percent(free))),
        };
        [days, most, free].into_iter().flatten().collect()
    }

    /// The keys that let more plans fit.
    pub fn ways_out(self, scenario: &Scenario) -> Vec<&'static str> {
        let deadline = self.days().map(|_| "t sets another deadline or none");
        let budget = self.most(scenario).map(|_| "$ another budget or none");
        let free = (self.margins >= 0).then_some("- leaves less memory free");
        let always = ["d searches more devices", "n other formats"].map(Some);
        [deadline, budget, free].into_iter().chain(always).flatten().collect()
    }

    /// Whether other counts of devices than the scenario's are searched.
    pub const fn sizes_differ(self) -> bool {
        self.doublings > 0
    }

    fn days(self) -> Option<u32> {
        DEADLINES.get(self.deadline.checked_sub(1)?).copied()
    }

    /// The most money, in the currency of the scenario's price.
    fn most(self, scenario: &Scenario) -> Option<Money> {
        let currency = scenario.price()?.currency;
        Some(Money { amount: *BUDGETS.get(self.budget.checked_sub(1)?)?, currency })
    }

    /// Why a scenario's plans cannot be held to a deadline, or to a budget.
    pub(super) fn lacks(action: Action, scenario: &Scenario) -> Option<&'static str> {
        match action {
            _ if scenario.plan.length().is_none() => {
                Some("the training has no length: set the scenario's tokens first")
            }
            Action::Budget if scenario.price().is_none() => {
                Some("a device-hour has no price: set the scenario's price first")
            }
            _ => None,
        }
    }

    /// Changes what an action is about; says whether it is about anything here.
    pub(super) fn change(&mut self, action: Action) -> bool {
        match action {
            Action::Metric => self.objective = (self.objective + 1) % OBJECTIVES.len(),
            Action::Numerics => self.numerics = (self.numerics + 1) % NUMERICS.len(),
            Action::Filter(Facet::Devices) => self.doublings = (self.doublings + 1) % (DOUBLINGS + 1),
            Action::AnyPlan => self.any_plan = !self.any_plan,
            Action::Filter(Facet::Strategy) => self.keeps_sharding = !self.keeps_sharding,
            Action::Deadline => self.deadline = (self.deadline + 1) % (DEADLINES.len() + 1),
            Action::Budget => self.budget = (self.budget + 1) % (BUDGETS.len() + 1),
            Action::More => self.margins = (self.margins + 1).min(MARGIN.1),
            Action::Less => self.margins = (self.margins - 1).max(-1),
            _ => return false,
        }
        true
    }

    /// The search for a scenario.
    pub(super) fn search(self, scenario: &Scenario, file: &ScenarioFile) -> PlanSearch {
        let mut space = SearchSpace::of_stack(self.any_plan);
        space.fix_said(file);
        if self.keeps_sharding {
            space.fix(Field::Strategy);
        }
        space.allow(NUMERICS[self.numerics].0, scenario);
        if self.doublings > 0 {
            space.vary(self.sizes(scenario.plan.size));
        }
        let mut limits = SearchLimits { margin: self.margin(), ..SearchLimits::default() };
        if let (Some(days), Some(tokens)) = (self.days(), scenario.plan.length()) {
            limits = limits.within(Seconds::DAY * f64::from(days), tokens);
        }
        if let (Some(most), Some(tokens)) = (self.most(scenario), scenario.plan.length()) {
            limits = limits.for_at_most(most.amount, tokens);
        }
        let launchers = if self.any_plan { Launchers::default() } else { runs_in::searched(None) };
        let front = if self.doublings > 0 { vec![Objective::Days, Objective::Devices] } else { Vec::new() };
        PlanSearch { front, launchers, ..PlanSearch::new(scenario.clone(), space, self.objective(), limits, TOP) }
    }

    /// The command line of a search that it has asked for, or of one whose plans offload because none fits otherwise.
    pub(super) fn command(self, search: &PlanSearch, offloads: bool, library: &Library) -> Option<String> {
        let PlanSearch { base, space, objective, front, .. } = search;
        // What the view counts in device-hours then, or for a token, no flag does.
        let lacks = match objective {
            Objective::Cost => Figure::Cost.lacks(base).is_some(),
            Objective::Days => base.plan.length().is_none(),
            _ => false,
        };
        if lacks {
            return None;
        }
        let line = command::search(library, base, |field| space.is_free(field))?;
        let mut line = line.option("objective", objective.word());
        if !front.is_empty() {
            line = line.option("over", self.sizes(base.plan.size));
            // Days and cost are of a length.
            if base.plan.length().is_some() {
                let figures: Vec<&str> = front.iter().map(|objective| objective.word()).collect();
                line = line.option("pareto", figures.join(","));
            }
        }
        let Allowed { quantised, offload, fp8 } = NUMERICS[self.numerics].0;
        let allowed = [(quantised, "quantised"), (offload || offloads, "offload"), (fp8, "fp8")];
        let allowed: Vec<&str> = allowed.into_iter().filter_map(|(allowed, word)| allowed.then_some(word)).collect();
        if !allowed.is_empty() {
            line = line.option("allow", allowed.join(","));
        }
        if self.any_plan {
            line = line.switch("any-plan");
        }
        if let Margin::Share(free) = self.margin() {
            line = line.option("margin", format!("{:.0}%", free * 100.0));
        }
        if let Some(days) = self.days() {
            line = line.option("deadline", format!("{days} d"));
        }
        if let Some(most) = self.most(base) {
            let currency = most.currency.map(|currency| format!(" {currency}")).unwrap_or_default();
            line = line.option("budget", format!("{}{currency}", most.amount));
        }
        line.line().ok()
    }

    /// Memory that stays free.
    fn margin(self) -> Margin {
        match self.margins {
            0 => Margin::Likely,
            margins => Margin::Share(f64::from(margins.max(0)) * MARGIN.0),
        }
    }

    /// The counts of nodes or devices around a size.
    fn sizes(self, size: Size) -> Axis {
        let (field, own) = match size {
            Size::Nodes(nodes) => (Field::Nodes, nodes),
            Size::Devices(devices) => (Field::Devices, devices),
        };
        let fewer = (1..=self.doublings).rev().map(|power| own >> power).filter(|fewer| *fewer > 0);
        let more = (0..=self.doublings).filter_map(|power| own.checked_mul(1 << power));
        Axis { field, values: fewer.chain(more).map(Value::from).collect() }
    }
}

/// Tells of the first plan at once, of how far the search is once a pause is over, of the whole plans when they are
/// proven, then of what a vendor's recipe would come to, and last of all that was found. Where nothing fits, plans that
/// offload are searched too.
impl ViewJob for PlanSearch {
    fn work(&self, job: &JobContext) {
        let (mut teller, mut is_empty) = (Teller::new(job), true);
        let mut tell = |so_far: &PlanSearchAnswer| {
            let first = mem::replace(&mut is_empty, so_far.plans.is_empty()) && !so_far.plans.is_empty();
            teller.so_far(so_far, first || so_far.exact);
        };
        let evaluator = job.evaluator();
        let mut answer = planner::best_plans(self, &evaluator, &mut tell);
        if answer.plans.is_empty() && answer.exact {
            answer = self.run_offloading(&evaluator, &mut tell).unwrap_or(answer);
        }
        // A plan that the search has simulated is never refused.
        if let Ok(Some(recipe)) = recipe_plan(self, &answer, &evaluator) {
            job.tell(recipe);
        }
        teller.end(answer);
    }
}
