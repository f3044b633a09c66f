//! What can have the keys is for the explorer: rows with a cursor, answers to keys, something to compute. Views in the
//! map's place, the other panels and the layers over them are all that.
//!
//! A view never holds the explorer. It reads a [`Context`] and gives [`Effect`]s back, so that it can be read, tested
//! and added alone. Not for drawing (`ui`), nor for the list of views ([`crate::app::views`]).

use crate::app::action::Action;
use crate::app::action::asked::{Asked, NOTHING};
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::action::keys::{KeyLines, KeyPlace};
use crate::app::action::notice::Notice;
use crate::app::action::panel::{Panel, ViewId};
use crate::app::answers::work::{Found, Work};

/// What is known of a view before it is shown.
#[derive(Debug)]
pub struct ViewSpec {
    /// What it is called.
    pub id: ViewId,
    /// The key that shows it, as the configuration writes keys.
    pub opens: &'static str,
    /// One word for that key in the footer; empty for what the footer leaves to the help.
    pub hint: &'static str,
    /// Its own keys.
    pub keys: fn(KeyLines) -> KeyLines,
}

impl ViewSpec {
    /// Where its keys work. Those of the map are the panel's, which it is when no other view stands in its place.
    pub fn place(&self) -> KeyPlace {
        if self.id == ViewId::MAP { KeyPlace::Panel(Panel::Map) } else { KeyPlace::View(self.id) }
    }
}

/// What can have the keys. What most views do not have, it need not say.
pub trait View {
    /// Answers a key that moves no cursor of a list.
    fn update(&mut self, _: Action, _: &Context) -> Vec<Effect> {
        Vec::new()
    }

    /// The cursor of its list, where it has one that keys move now: all motions are the cursor's own.
    fn list(&mut self) -> Option<&mut ListCursor> {
        None
    }

    /// How many rows the list has.
    fn count(&self, context: &Context) -> usize {
        self.rows(context).map_or(0, |rows| rows.len())
    }

    /// Answers any key: a motion moves the list's cursor, everything else is the view's to answer.
    fn answer(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        let count = self.count(context);
        let moved = self.list().is_some_and(|list| list.go(action, count, context.page));
        if moved { Vec::new() } else { self.update(action, context) }
    }

    /// What `i` explains: the figure under the cursor, or why there is none.
    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        Err(NOTHING)
    }

    /// The command line that asks what it asks, and what that gives.
    fn command_line(&self, _: &Context) -> Option<(&'static str, String)> {
        None
    }

    /// What its rows say, for `/`; `None` where it has none.
    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        None
    }

    /// The row that has the cursor.
    fn cursor(&self, _: &Context) -> usize {
        0
    }

    /// Gives a row the cursor.
    fn go_to(&mut self, row: usize, _: &Context) -> Option<Effect> {
        *self.list()? = ListCursor::at(row);
        None
    }

    /// The place of its chart that has the cursor, where it has a chart.
    fn place(&self, _: &Context) -> Option<usize> {
        None
    }

    /// Gives a place of its chart the cursor.
    fn go_to_place(&mut self, _place: usize, _: &Context) -> Option<Effect> {
        None
    }

    /// Follows what is shown; gives what has to be computed behind the screen, if its picture is not that already.
    fn follow(&mut self, _: &Context) -> Option<Work> {
        None
    }

    /// Works out what its picture says of what is shown, whenever that, its figures or the pins are others: drawing reads it.
    fn renew(&mut self, _: &Context) {}

    /// Whether a part of its picture is still to come.
    fn is_waiting(&self, _: &Context) -> bool {
        false
    }

    /// Takes in what was found.
    fn receive(&mut self, _: Found, _: &Context) -> Vec<Effect> {
        Vec::new()
    }

    /// Whether what it takes changes the current scenario, so that it is about nothing else.
    fn is_of_current(&self) -> bool {
        false
    }
}
