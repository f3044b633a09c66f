//! The keys of the panels, but of the map, which is a view.

use super::EVERYWHERE;
use crate::app::action::Action;
use crate::app::action::keys::{KeyLines, KeyPlace};
use crate::app::action::panel::Panel;
use crate::app::views::SPECS;

/// Of each panel.
pub fn each() -> [KeyLines; 4] {
    let keys = |panel| KeyLines::at(KeyPlace::Panel(panel));
    [
        keys(Panel::Inputs)
            .up_down("field", "previous and next field")
            .sideways("change", "previous and next value")
            .key("enter", Action::Take, "choose", "choose from a list, or type a value")
            .key("a", Action::Adapt, "adapt", "edit a copy of the cluster, or of the model on its field")
            .more_less("", "next and previous value")
            .ends("first and last field")
            .pages("a page up and down"),
        keys(Panel::Memory).rows("rank").key(
            "enter",
            Action::Take,
            "peak",
            "show the moment of the peak on the timeline",
        ),
        keys(Panel::Timeline)
            .sideways("span", "previous and next span or visit")
            .up_down("row", "previous and next lane or pipeline rank")
            .key("n", Action::NextExposed, "exposed", "next stretch of exposed communication")
            .more_less("zoom", "zoom in and out")
            .key("z", Action::Zoom, "layer", "zoom to the layer")
            .key("f", Action::Follow, "follow", "go from a gather to its use and back, or reduction to backward")
            .key("N", Action::PreviousExposed, "", "previous stretch of exposed communication")
            .key("enter", Action::Take, "lanes", "all lanes of the pipeline rank, and all ranks again")
            .pages("a window back and forward")
            .ends("first and last span of the row")
            .key("0", Action::Whole, "whole", "the whole step, and back"),
        keys(Panel::Time).rows("figure").key("enter", Action::Explain, "explain", "explain the figure"),
    ]
}

/// Of all panels, and of what stands in the map's place.
pub fn everywhere() -> KeyLines {
    let digits = ["1", "2", "3", "4", "5"];
    let panels: Vec<(&str, Action)> = digits.into_iter().zip(Panel::ALL.map(Action::Panel)).collect();
    let keys = KeyLines::at(EVERYWHERE)
        .key("tab", Action::NextPanel, "panel", "next panel")
        .key("shift-tab", Action::PreviousPanel, "", "previous panel")
        .keys(&panels, "", "go to a panel")
        .key("v", Action::Views, "views", "choose a view to show in the map's place")
        .key("Z", Action::Enlarge, "", "enlarge the panel or view to the whole screen, and back")
        .key("p", Action::Pin, "pin", "pin or unpin the scenario shown");
    let opening = |keys: KeyLines, spec: &crate::app::views::view::ViewSpec| {
        let help = format!("{}: {}", spec.id.name.to_lowercase(), spec.id.about);
        keys.key(spec.opens, Action::View(spec.id), spec.hint, help)
    };
    SPECS
        .into_iter()
        .fold(keys, opening)
        .key("i", Action::Explain, "explain", "explain the figure at the cursor: formula, inputs, sources")
        .key("m", Action::Metric, "metric", "next metric of the map")
        .key("b", Action::Best, "best", "go to the map's best cell")
        .key("u", Action::Undo, "", "undo the last change")
        .key("U", Action::Redo, "", "redo the change undone last")
        .key("s", Action::Snapshots, "", "snapshots and sets: open, save, delete")
        .key("e", Action::Export, "export", "export a snapshot that replays")
        .key("O", Action::Import, "", "import: take in another tool's file by its path")
        .key("J", Action::ExportPlan, "", "write the plan for a launcher, as a job, or as a trace")
        .key("C", Action::CommandLines, "", "the command line of what is shown, to copy")
        .key("w", Action::Screen, "", "write the screen to a file: text, ANSI colours or SVG")
        .key("&", Action::Mouse, "", "capture or release the mouse")
        .key("!", Action::Diagnostics, "", "diagnostics: what the terminal can do, and how to change it")
        .key("/", Action::Search, "", "search the rows of the panel or view")
        .key(":", Action::Palette, "command", "find a command by its name")
        .key("?", Action::Help, "help", "this list of keys")
        .key("esc", Action::Close, "", "close the top layer, or return to the map's home cell")
        .key("r", Action::Reload, "", "reload presets whose files have changed")
        .key("ctrl-z", Action::Suspend, "", "suspend")
        .key("q ctrl-c", Action::Quit, "quit", "quit; start with --fresh to begin anew")
}
