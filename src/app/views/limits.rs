//! The view of the limits: assumptions that keys change, and the numbers that follow from them.

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::action::notice::Asked;
use crate::app::action::notice::Notice;
use crate::app::action::panel::ViewId;
use crate::app::answers::assumed::{Assumption, LimitAssumptions};
use crate::app::views::{View, ViewSpec};
use shardscope_engine::bounds::fsdp::{FsdpLimits, ZeroStage};
use shardscope_engine::scenario::Scenario;
use shardscope_report::figures::{BoundForm, Limit, limits};

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "limits", name: "Limits", about: "what memory, network and peak allow at best" },
    opens: "L",
    hint: "",
    keys: |keys| {
        keys.up_down("field", "previous and next row")
            .sideways("change", "previous and next value")
            .more_less("", "next and previous value")
            .ends("first and last row")
            .pages("a page up and down")
    },
};

/// The numbers under the assumptions: first those without a form, then bounds.
pub const NUMBERS: [Limit; 11] = [
    Limit::Parameters,
    Limit::Free,
    Limit::Tokens,
    Limit::Sequence,
    Limit::Transfer,
    Limit::Forward,
    Limit::Backward,
    Limit::Hfu,
    Limit::Uncapped,
    Limit::Mfu,
    Limit::TokensPerSecond,
];

/// The count of [`NUMBERS`] before the bounds.
pub const GIVEN: usize = 7;

/// Rows that can have the keys: assumptions, and the numbers under them.
const ROWS: usize = Assumption::ALL.len() + NUMBERS.len();

/// The cursor, what is assumed, and what follows.
#[derive(Debug, Clone, Default)]
pub struct LimitsView {
    /// A row of [`Assumption::ALL`], then of [`NUMBERS`].
    cursor: ListCursor,
    pub assumed: LimitAssumptions,
    /// The limits of what is shown, once the view has been opened.
    pub picture: Option<Box<LimitsPicture>>,
}

/// The limits of a scenario, written out.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitsPicture {
    /// The scenario and assumptions that they follow from.
    pub limits: FsdpLimits,
    /// The value of each assumption, and what it means.
    pub assumed: [(String, &'static str); Assumption::ALL.len()],
    /// The values of the numbers.
    pub verdict: &'static str,
    /// The numbers, in the order of [`NUMBERS`].
    pub numbers: [LimitNumber; NUMBERS.len()],
}

/// A number of the limits.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitNumber {
    /// Its value: one, or of a bound both forms.
    pub values: Vec<String>,
    /// How it comes about.
    pub formula: String,
}

impl LimitsPicture {
    fn new(limits: FsdpLimits) -> Self {
        Self {
            assumed: Assumption::ALL.map(|one| assumed(one, &limits)),
            verdict: limits::verdict(&limits),
            numbers: std::array::from_fn(|at| LimitNumber::new(at, &limits)),
            limits,
        }
    }
}

impl LimitNumber {
    fn new(at: usize, limits: &FsdpLimits) -> Self {
        let (limit, forms) = (NUMBERS[at], [BoundForm::Hidden, BoundForm::Floor]);
        let forms = if at < GIVEN { &forms[1..] } else { &forms[..] };
        let values = forms.iter().map(|form| describe(limit, *form, limits)).collect();
        Self { values, formula: limit.formula(BoundForm::Floor, limits).to_string() }
    }
}

impl LimitsView {
    /// The row that has the keys: of [`Assumption::ALL`], then of [`NUMBERS`].
    pub fn row(&self) -> usize {
        self.cursor.row(ROWS)
    }

    fn change(&mut self, by: i8, context: &Context) {
        if let Some(assumption) = Assumption::ALL.get(self.row()) {
            self.assumed.change(*assumption, by);
            self.renew(context);
        }
    }

    /// The figure under the cursor; of an assumption the one that it changes most plainly.
    fn figure(&self) -> Limit {
        match Assumption::ALL.get(self.row()) {
            Some(Assumption::Gamma) => Limit::Activation,
            Some(Assumption::Backward) => Limit::Shortest,
            Some(Assumption::Stage) => Limit::Free,
            None => NUMBERS[self.row() - Assumption::ALL.len()],
        }
    }

    /// The parallelism of a plan that the limits leave out, like "tp 8, pp 4"; nothing in them depends on it.
    pub fn beside(scenario: &Scenario) -> Option<String> {
        let plan = &scenario.plan;
        let ranks = [("tp", plan.tensor), ("cp", plan.context), ("pp", plan.pipeline)];
        let other = ranks.iter().filter(|(_, ranks)| *ranks > 1).map(|(name, ranks)| format!("{name} {ranks}"));
        let other = other.collect::<Vec<_>>().join(", ");
        (!other.is_empty()).then_some(other)
    }
}

impl View for LimitsView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        match action {
            Action::Right | Action::More => self.change(1, context),
            Action::Left | Action::Less => self.change(-1, context),
            _ => {}
        }
        Vec::new()
    }

    fn figure(&self, context: &Context) -> Result<Asked, Notice> {
        Ok(Asked::Limit(self.figure(), Box::new(self.assumed.limits(context.shown))))
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        let names = Assumption::ALL.map(Assumption::name).into_iter().chain(NUMBERS.map(Limit::label));
        Some(names.map(str::to_owned).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }

    fn renew(&mut self, context: &Context) {
        self.picture = Some(Box::new(LimitsPicture::new(self.assumed.limits(context.shown))));
    }
}

fn assumed(one: Assumption, limits: &FsdpLimits) -> (String, &'static str) {
    match one {
        Assumption::Gamma => (limits.gamma.to_string(), "of the activations are kept; 0 recomputes all"),
        Assumption::Backward => (
            limits.transfers().backward.to_string(),
            match limits.stage {
                ZeroStage::Three => "models moved in backward; 2: gather and reduce",
                _ => "gradients reduced, updated weights gathered",
            },
        ),
        Assumption::Stage => match limits.stage {
            ZeroStage::One => ("1".to_owned(), "the optimizer is sharded"),
            ZeroStage::Two => ("2".to_owned(), "gradients and optimizer are sharded"),
            ZeroStage::Three => ("3".to_owned(), "weights, gradients and optimizer are sharded"),
        },
    }
}

/// A number's text. What the network would allow of more than the peak is a number for `i` alone: the network is not the
/// limit then.
fn describe(limit: Limit, form: BoundForm, limits: &FsdpLimits) -> String {
    let bound = match form {
        BoundForm::Hidden => limits.hidden(),
        BoundForm::Floor => limits.network_floor(),
    };
    if limit == Limit::Uncapped && bound.hfu > 1.0 { "over 100 %".to_owned() } else { limit.text(form, limits) }
}

#[cfg(test)]
mod tests {
    //! Keys that change the assumptions.

    use super::*;
    use crate::app::tests::{PIPELINE, explorer, explorer_on};
    use shardscope_engine::bounds::fsdp::{self, ZeroStage};

    #[test]
    fn keys_change_the_assumption_under_the_cursor_within_its_range() {
        let app = explorer();
        let mut limits = LimitsView::default();
        let now = |limits: &LimitsView| limits.assumed.limits(&app.scenario);
        let mut press = |action, times| {
            for _ in 0..times {
                limits.answer(action, &app.context());
            }
            limits.clone()
        };
        assert_eq!(
            now(&press(Action::Up, 0)),
            fsdp::FsdpLimits::new(&app.scenario),
            "the defaults of the command line"
        );
        assert!((now(&press(Action::Right, 3)).gamma - 0.3).abs() < 1e-12);
        assert!(now(&press(Action::Left, 5)).gamma.abs() < 1e-12);
        press(Action::Down, 1);
        assert!((now(&press(Action::Right, 5)).n_bwd - 2.0).abs() < 1e-12);
        press(Action::Down, 1);
        let before = press(Action::Left, 1);
        assert_eq!(now(&before).stage, ZeroStage::Two);
        press(Action::Last, 1);
        let after = press(Action::Left, 1);
        assert_eq!((after.row(), after.assumed), (ROWS - 1, before.assumed), "numbers follow, keys do not change them");
    }

    #[test]
    fn what_else_a_plan_has_is_named() {
        assert_eq!(LimitsView::beside(&explorer().scenario), None);
        assert_eq!(LimitsView::beside(&explorer_on(PIPELINE).scenario).unwrap(), "tp 8, pp 8");
    }

    #[test]
    fn the_limits_of_a_pipeline_are_those_of_data_parallelism_on_its_devices() {
        let pipeline = explorer_on(PIPELINE).scenario;
        let mut alone = pipeline.clone();
        (alone.plan.tensor, alone.plan.pipeline) = (1, 1);
        assert_eq!(LimitAssumptions::default().limits(&pipeline), LimitAssumptions::default().limits(&alone));
    }
}
