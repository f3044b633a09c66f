//! The comparison: the pinned scenarios and the one shown, side by side.

use std::sync::Arc;

use crate::app::action::context::Context;
use crate::app::action::cursor::{ListCursor, across};
use crate::app::action::effect::{Effect, Opening, say};
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, LATER, NOTHING};
use crate::app::action::panel::ViewId;
use crate::app::action::{Action, Command};
use crate::app::answers::Answer;
use crate::app::answers::pins::letter;
use crate::app::views::{View, ViewSpec};
use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::{NEAR, Scenario};
use shardscope_engine::units::counted;
use shardscope_report::figures::comparison;
use shardscope_report::figures::difference::{Side, choice, sentence, unknown, verdicts};

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "compare", name: "Compare", about: "pinned scenarios side by side" },
    opens: "c",
    hint: "compare",
    keys: |keys| {
        keys.sideways("column", "previous and next scenario")
            .key("enter", Action::Take, "apply", "apply the pinned scenario")
            .key("<", Action::Earlier, "", "move it towards the front")
            .key(">", Action::Later, "", "move it towards the end")
            .key("n", Action::Rename, "name", "give it a name")
            .key("x delete", Action::Remove, "remove", "unpin it")
            .key("y", Action::Copy, "", "copy the comparison as CSV, through the terminal")
            .key("Y", Action::SaveMap, "", "write the comparison as CSV to a file")
            .more_less("zoom", "zoom the timelines in and out")
            .up_down("", "scroll")
            .ends("first and last scenario")
            .pages("a page up and down")
    },
};

/// The most scenarios that are seen at once.
pub const MOST: usize = 6;

/// The closest look at the timelines, in halvings of the longest step.
const CLOSEST: u32 = 12;

/// A column of the comparison.
#[derive(Debug, Clone, Default)]
pub struct CompareView {
    /// The column that has the keys.
    cursor: ListCursor,
    /// The first row seen.
    top: ListCursor,
    /// How often the time that the timelines show was halved.
    pub zoom: u32,
    /// Why the second column of those held against one another is faster or slower than the first.
    why: Option<String>,
    /// Which figures some column lacks, and why.
    unknown: Option<String>,
}

/// One column: a pinned scenario, or the one shown.
#[derive(Debug, Clone, Copy)]
pub struct ComparedColumn<'a> {
    /// Its place among the pins; `None` for the one shown.
    pub pin: Option<usize>,
    /// The user's name for it.
    pub name: &'a str,
    /// The scenario of the column.
    pub scenario: &'a Scenario,
    /// Its evaluation, once it is there.
    pub evaluation: Option<&'a Arc<Evaluation>>,
}

impl ComparedColumn<'_> {
    /// Its letter: that of its place, or `now`.
    pub fn letter(&self) -> String {
        self.pin.map_or_else(|| "now".to_owned(), letter)
    }
}

/// All that can be compared: the pins in order, then the scenario shown if it is not one of them.
pub fn columns<'a>(context: &Context<'a>) -> Vec<ComparedColumn<'a>> {
    let pins = context.pins.all().iter().enumerate().map(|(index, pin)| ComparedColumn {
        pin: Some(index),
        name: &pin.name,
        scenario: &pin.scenario,
        evaluation: pin.evaluation.as_ref(),
    });
    let shown = context.answer.filter(|answer| context.pins.position(&answer.scenario).is_none());
    let now = shown.map(|Answer { scenario, evaluation }| ComparedColumn {
        pin: None,
        name: &scenario.strategy,
        scenario,
        evaluation: Some(evaluation),
    });
    pins.chain(now).collect()
}

/// Rows of so many columns that can be the first one seen: figures, bars, timelines.
fn rows(columns: usize) -> usize {
    15 + 2 * columns.min(MOST)
}

impl CompareView {
    /// The column that has the keys, of so many.
    pub fn column(&self, count: usize) -> usize {
        self.cursor.row(count)
    }

    /// The columns that are held against one another, by their places: the first whose figures are there, and that under
    /// the cursor or the next.
    pub fn pair(&self, columns: &[ComparedColumn]) -> Option<[usize; 2]> {
        let is_known = |at: &usize| columns[*at].evaluation.is_some();
        let mut known = (0..columns.len()).filter(is_known);
        let first = known.next()?;
        let cursor = Some(self.column(columns.len())).filter(|at| *at > first && is_known(at));
        Some([first, cursor.or_else(|| known.next())?])
    }

    /// Why the second of them is faster or slower than the first.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Which figures some column lacks, and why.
    pub fn unknown(&self) -> Option<&str> {
        self.unknown.as_deref()
    }

    /// The first row seen, of so many columns.
    pub fn top(&self, columns: usize) -> usize {
        self.top.row(rows(columns))
    }

    /// Applies a key to the pinned scenario under the cursor.
    fn change(&mut self, action: Action, pin: usize, context: &Context) -> Vec<Effect> {
        let pinned = &context.pins.all()[pin];
        match action {
            Action::Earlier | Action::Later => {
                let by = if action == Action::Earlier { -1 } else { 1 };
                let last = context.pins.all().len() - 1;
                self.cursor = ListCursor::at(pin.saturating_add_signed(by).min(last));
                vec![Effect::ShiftPin(pin, by)]
            }
            Action::Remove => vec![Effect::Unpin(pin)],
            Action::Rename => vec![Effect::Open(Opening::PinName(pin))],
            Action::Take => {
                vec![Effect::Adopt(Box::new(pinned.scenario.clone()), format!("applied {}", pinned.name))]
            }
            _ => Vec::new(),
        }
    }
}

impl View for CompareView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        let columns = columns(context);
        let (rows, page) = (rows(columns.len()), context.page);
        match action {
            Action::Up | Action::Down | Action::PageUp | Action::PageDown => {
                self.top.go(action, rows, page);
            }
            Action::Copy => return table(context, Command::copied),
            Action::SaveMap => return table(context, |text| Command::SaveTable("comparison", text)),
            Action::More => self.zoom = (self.zoom + 1).min(CLOSEST),
            Action::Less => self.zoom = self.zoom.saturating_sub(1),
            Action::Left | Action::Right | Action::First | Action::Last => {
                self.cursor.go(across(action), columns.len(), page);
                self.renew(context);
            }
            _ => {
                let pin = columns.get(self.cursor(context)).and_then(|column| column.pin);
                return match (pin, action) {
                    (Some(pin), _) => self.change(action, pin, context),
                    (None, Action::Remove) => say("this is the scenario shown: p pins it"),
                    (None, Action::Rename) => say("this is the scenario shown: p pins it, then it can be named"),
                    (None, _) => Vec::new(),
                };
            }
        }
        Vec::new()
    }

    /// The map's figure of the column.
    fn figure(&self, context: &Context) -> Result<Asked, Notice> {
        let columns = columns(context);
        let column = columns.get(self.cursor(context)).ok_or(NOTHING)?;
        let evaluation = Arc::clone(column.evaluation.ok_or(LATER)?);
        let answer = Answer { scenario: column.scenario.clone(), evaluation };
        Ok(Asked::Evaluated(column.name.to_owned(), context.metric, Box::new(answer)))
    }

    fn rows(&self, context: &Context) -> Option<Vec<String>> {
        Some(columns(context).iter().map(|column| format!("{} {}", column.letter(), column.name)).collect())
    }

    fn cursor(&self, context: &Context) -> usize {
        self.column(columns(context).len())
    }

    fn go_to(&mut self, column: usize, context: &Context) -> Option<Effect> {
        self.cursor = ListCursor::at(column);
        self.renew(context);
        None
    }

    fn renew(&mut self, context: &Context) {
        let columns = columns(context);
        // A choice between two of several would be none.
        let alone = columns.len() == 2;
        let why = self.pair(&columns).and_then(|[a, b]| why(&columns[a], &columns[b], alone));
        let letters: Vec<String> = columns.iter().map(ComparedColumn::letter).collect();
        self.unknown = with_sides(&columns, &letters, unknown);
        self.why = with_sides(&columns, &letters, verdicts)
            .into_iter()
            .chain(why)
            .reduce(|all, pair| format!("{all}. {pair}"));
    }
}

/// Asks about all columns whose figures are there, under such names.
fn with_sides<T>(columns: &[ComparedColumn], names: &[String], ask: impl FnOnce(&[Side]) -> T) -> T {
    let sides = columns.iter().zip(names).filter_map(|(column, name)| {
        Some(Side { name, scenario: column.scenario, evaluation: column.evaluation?.as_ref() })
    });
    ask(&sides.collect::<Vec<_>>())
}

/// Hands the comparison over as CSV.
fn table(context: &Context, to: impl FnOnce(String) -> Command) -> Vec<Effect> {
    let columns = columns(context);
    let named = |column: &ComparedColumn| format!("{} {}", column.letter(), column.name);
    let names: Vec<String> = columns.iter().map(named).collect();
    vec![Effect::Run(to(with_sides(&columns, &names, comparison)))]
}

/// Sentences on two columns: which to choose where there are no others, what makes one slower, and whether their batches are
/// alike.
fn why(one: &ComparedColumn, other: &ComparedColumn, alone: bool) -> Option<String> {
    let [first, second] = [one, other].map(ComparedColumn::letter);
    let a = Side { name: &first, scenario: one.scenario, evaluation: one.evaluation? };
    let b = Side { name: &second, scenario: other.scenario, evaluation: other.evaluation? };
    let batch = match [a, b].map(|side| side.scenario.sequences()) {
        [one, two] if (two / one - 1.0).abs() > NEAR => {
            format!(". Their global batches differ: {} and {} sequences", counted(one), counted(two))
        }
        _ => String::new(),
    };
    let choice = choice(a, b).filter(|_| alone).map_or_else(String::new, |choice| format!("{choice}. "));
    Some(format!("{choice}{}{batch}", sentence(a, b)))
}

#[cfg(test)]
mod tests;
