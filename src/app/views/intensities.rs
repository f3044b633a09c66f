//! The view of the intensities: which transfers are hidden behind arithmetic.

use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, LATER};
use crate::app::action::panel::ViewId;
use crate::app::views::{View, ViewSpec};
use shardscope_engine::bounds::intensity::Intensity;
use shardscope_report::figures::Figure;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "intensities", name: "Intensities", about: "which transfers are hidden behind arithmetic" },
    opens: "I",
    hint: "",
    keys: |keys| keys.rows("transfer"),
};

/// Knows nothing but the transfer under its cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntensitiesView(ListCursor);

impl IntensitiesView {
    /// The transfer that has the keys, of so many.
    pub fn row(self, count: usize) -> usize {
        self.0.row(count)
    }
}

/// The transfers of what is shown.
fn transfers<'a>(context: &Context<'a>) -> &'a [Intensity] {
    context.answer.map_or(&[], |answer| &answer.evaluation.details.transfers)
}

impl View for IntensitiesView {
    fn figure(&self, context: &Context) -> Result<Asked, Notice> {
        match transfers(context).len() {
            _ if context.answer.is_none() => Err(LATER),
            0 => Err("nothing is transferred: there is no figure to explain".into()),
            count => Ok(Asked::Shown(Figure::Slowdown(self.row(count)))),
        }
    }

    fn rows(&self, context: &Context) -> Option<Vec<String>> {
        Some(transfers(context).iter().map(|one| one.kind.word().to_owned()).collect())
    }

    fn cursor(&self, context: &Context) -> usize {
        self.row(transfers(context).len())
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.0)
    }
}
