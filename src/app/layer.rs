//! Layers over the panels: an explanation, commands, the help, a list to choose from, a value being typed. A layer is a
//! [`View`], as what stands in the map's place is, and like that never holds the explorer.
//!
//! Not for what an item does once it is chosen: the item carries an action.

pub mod browser;
pub mod command_lines;
pub mod explanation;
pub mod first_start;
pub mod form;
pub mod help;
pub mod list;
pub mod page;
pub mod palette;
pub mod typing;

use crate::app::action::keys::KeyPlace;
use crate::app::layer::browser::Browser;
use crate::app::layer::command_lines::CommandLines;
use crate::app::layer::explanation::Explaining;
use crate::app::layer::first_start::FirstStart;
use crate::app::layer::form::Form;
use crate::app::layer::help::Help;
use crate::app::layer::list::List;
use crate::app::layer::page::Finding;
use crate::app::layer::page::Sheet;
use crate::app::layer::page::TextPage;
use crate::app::layer::typing::{Entry, Purpose};
use crate::app::views::View;

/// The top layer.
#[derive(Debug, Clone)]
pub enum Layer {
    /// The question what is at hand.
    FirstStart(FirstStart),
    /// Why a figure is what it is.
    Explain(Box<Explaining>),
    /// Snapshots and sets on disk.
    Browser(Browser),
    /// The fields of a cluster or a model.
    Form(Box<Form>),
    /// The command lines that give what is shown.
    CommandLines(CommandLines),
    /// The list of keys.
    Help(Help),
    /// Findings about the terminal.
    Diagnostics(Vec<Finding>, Sheet),
    /// A page of text.
    Page(TextPage),
    /// A list.
    List(List),
    /// A value being typed.
    Entry(Entry),
}

impl Layer {
    /// The layer as a view.
    pub fn view(&self) -> &dyn View {
        match self {
            Self::FirstStart(card) => card,
            Self::Explain(explaining) => &**explaining,
            Self::Browser(browser) => browser,
            Self::Form(form) => &**form,
            Self::CommandLines(lines) => lines,
            Self::Help(help) => help,
            Self::Diagnostics(_, sheet) => sheet,
            Self::Page(page) => page,
            Self::List(list) => list,
            Self::Entry(entry) => entry,
        }
    }

    /// The view, to be changed.
    pub fn view_mut(&mut self) -> &mut dyn View {
        match self {
            Self::FirstStart(card) => card,
            Self::Explain(explaining) => &mut **explaining,
            Self::Browser(browser) => browser,
            Self::Form(form) => &mut **form,
            Self::CommandLines(lines) => lines,
            Self::Help(help) => help,
            Self::Diagnostics(_, sheet) => sheet,
            Self::Page(page) => page,
            Self::List(list) => list,
            Self::Entry(entry) => entry,
        }
    }

    /// Which keys work in it now.
    pub fn place(&self) -> KeyPlace {
        match self {
            Self::FirstStart(_) => KeyPlace::FirstStart,
            Self::Explain(_) => KeyPlace::Explain,
            Self::Browser(browser) if browser.asking => KeyPlace::Question,
            Self::Browser(_) => KeyPlace::Snapshots,
            Self::Form(form) if form.typing.is_some() => KeyPlace::Entry,
            Self::Form(_) => KeyPlace::Form,
            Self::CommandLines(_) => KeyPlace::CommandLines,
            Self::Help(_) => KeyPlace::Help,
            Self::Diagnostics(..) | Self::Page(_) => KeyPlace::Page,
            Self::List(list) if list.commands => KeyPlace::Palette,
            Self::List(_) => KeyPlace::List,
            Self::Entry(Entry { purpose: Purpose::ImportPath, .. }) => KeyPlace::Path,
            Self::Entry(_) => KeyPlace::Entry,
        }
    }
}
