//! What lies over the panels: an explanation, commands, the help, a list to choose from, a value being typed.

use super::browser::Browser;
use super::diagnostics::Finding;
use super::explaining::Explaining;
use super::form::Form;
use super::list::{Entry, List};
use super::palette::Palette;

/// The top layer.
#[derive(Debug, Clone)]
pub enum Layer {
    /// Why a figure is what it is.
    Explain(Box<Explaining>),
    /// Snapshots and sets on disk.
    Browser(Browser),
    /// The fields of a cluster or a model.
    Form(Box<Form>),
    /// Commands by their names.
    Palette(Palette),
    /// The list of keys, scrolled by so many lines.
    Help(usize),
    /// What was found out about the terminal, scrolled by so many lines.
    Diagnostics(Vec<Finding>, usize),
    /// A list.
    List(List),
    /// A value being typed.
    Entry(Entry),
}
