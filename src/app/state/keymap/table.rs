//! The table of keys: what works where, in the order of the help and of the footer.

use std::sync::LazyLock;

use crate::app::action::keys::{KeyLine, KeyLines, KeyPlace};
use crate::app::action::panel::Panel;
use crate::app::action::{Action, Beginning};
use crate::app::views::SPECS;

/// All lines: those of each panel, of each view, those that work on all of them, and of what lies over them.
pub static TABLE: LazyLock<Vec<KeyLine>> = LazyLock::new(|| {
    let views = SPECS.iter().map(|spec| (spec.keys)(KeyLines::at(spec.place())));
    let lines = panels().into_iter().chain(views).chain([everywhere()]).chain(layers());
    lines.flat_map(KeyLines::into_lines).collect()
});

/// The place of keys that work on every panel and view.
pub const EVERYWHERE: KeyPlace = KeyPlace::Panels;

/// The keys of each panel, but of the map, which is a view.
fn panels() -> [KeyLines; 4] {
    let keys = |panel| KeyLines::at(KeyPlace::Panel(panel));
    [
        keys(Panel::Inputs)
            .up_down("field", "previous and next field")
            .sideways("change", "previous and next value")
            .key("enter", Action::Take, "choose", "choose from a list, or type a value")
            .key("a", Action::Adapt, "adapt", "edit a copy of the cluster, or of the model on its field")
            .more_less("", "next and previous value")
            .key("z", Action::Fold, "fold", "fold or unfold the group of the field")
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

/// The keys of all panels and views.
fn everywhere() -> KeyLines {
    let digits = ["1", "2", "3", "4", "5"];
    let panels: Vec<(&str, Action)> = digits.into_iter().zip(Panel::ALL.map(Action::Panel)).collect();
    let keys = KeyLines::at(EVERYWHERE)
        .key("tab", Action::NextPanel, "panel", "next panel")
        .key("shift-tab", Action::PreviousPanel, "", "previous panel")
        .keys(&panels, "", "go to a panel")
        .key("Z", Action::Enlarge, "", "enlarge the panel or view to the whole screen, and back")
        .key("p", Action::Pin, "pin", "pin or unpin the scenario shown");
    let opening = |keys: KeyLines, spec: &crate::app::views::ViewSpec| {
        let help = format!("{}: {}", spec.id.name.to_lowercase(), spec.id.about);
        keys.key(spec.opens, Action::View(spec.id), spec.hint, help)
    };
    SPECS
        .into_iter()
        .fold(keys, opening)
        .key("v", Action::Views, "views", "choose a view to show in the map's place")
        .key("i", Action::Explain, "explain", "explain the figure at the cursor: formula, inputs, sources")
        .key("m", Action::Metric, "metric", "next metric of the map")
        .key("b", Action::Best, "best", "go to the map's best cell")
        .key(".", Action::Nearest, "", "apply the nearest possible plan, or the first that fits")
        .key("u", Action::Undo, "undo", "undo the last change")
        .key("U", Action::Redo, "", "redo the change undone last")
        .key("s", Action::Snapshots, "", "snapshots and sets: open, save, delete")
        .key("e", Action::Export, "file", "export a snapshot that replays")
        .key("K", Action::Gallery, "", "gallery: papers and samples, and what to look at in each")
        .key("O", Action::Import, "", "import a file: model, log, message, launcher's or cluster's")
        .key("J", Action::ExportPlan, "job", "export the plan to a launcher, as a Slurm job, or as a trace")
        .key("C", Action::CommandLines, "", "the command line of what is shown, to copy")
        .key("w", Action::Screen, "picture", "write the screen to a file: text, ANSI colours or SVG")
        .key("&", Action::Mouse, "", "capture or release the mouse")
        .key("!", Action::Caveats, "", "caveats: what the model cannot say of the figures shown")
        .key("~", Action::Diagnostics, "", "diagnostics: what the terminal can do, and how to change it")
        .key("/", Action::Search, "", "search the rows of the panel or view")
        .key(":", Action::Palette, "command", "find a command by its name")
        .key("?", Action::Help, "help", "this list of keys")
        .key("esc", Action::Close, "", "close the top layer, or return to the map's home cell")
        .key("r", Action::Reload, "", "reload presets whose files have changed")
        .key("ctrl-z", Action::Suspend, "", "suspend")
        .key("q ctrl-c", Action::Quit, "quit", "quit; start with --fresh to begin anew")
}

/// The keys of each layer, in the order of the help; all of them can be left for the shell and for good.
fn layers() -> [KeyLines; 13] {
    KeyPlace::LAYERS.map(|place| {
        own(place).key("ctrl-z", Action::Suspend, "", "suspend").key("ctrl-c", Action::Quit, "quit", "quit")
    })
}

fn own(place: KeyPlace) -> KeyLines {
    let keys = KeyLines::at(place);
    match place {
        KeyPlace::Explain => keys
            .up_down("input", "previous and next input")
            .key("enter", Action::Take, "follow", "explain the input, if it is a figure")
            .key("right l", Action::Right, "", "the same")
            .key("left h", Action::Left, "back", "back to the figure that led here")
            .key("tab", Action::NextPanel, "next", "next figure")
            .key("shift-tab", Action::PreviousPanel, "", "previous figure")
            .ends("top and bottom")
            .pages("a page up and down")
            .key("/", Action::Search, "search", "search the inputs")
            .key("esc q i", Action::Close, "close", "close"),
        KeyPlace::FirstStart => keys
            .key("1 enter esc q", Action::Close, "sample", "the sample behind this card")
            .key("2", Action::Begin(Beginning::Model), "", "a model's config.json, by its path")
            .key("3", Action::Begin(Beginning::Cluster), "", "a cluster: choose it, or one like it")
            .key("4", Action::Begin(Beginning::Run), "", "a log, or the output of sinfo or nvidia-smi, by its path")
            .key("5", Action::Begin(Beginning::Trouble), "", "a job that is slow or out of memory: what ran?")
            .key("6", Action::Begin(Beginning::Papers), "", "the four papers, and other samples")
            .key("7", Action::Begin(Beginning::Stack), "", "the software that trains: choose it, or one like it"),
        KeyPlace::CommandLines => keys
            .rows("line")
            .key("enter", Action::Take, "copy", "send it to the terminal's clipboard")
            .key("/", Action::Search, "", "search")
            .key("esc q C", Action::Close, "close", "close"),
        KeyPlace::Question => keys.key("enter", Action::Take, "delete", "delete it for good").key(
            "esc q n",
            Action::Close,
            "leave it",
            "leave it",
        ),
        KeyPlace::Form => keys
            .rows("field")
            .key("enter", Action::Take, "type", "type a value; an empty one clears an optional field")
            .key("s", Action::Save, "save", "save it; the scenario switches to it")
            .key("/", Action::Search, "search", "search the fields")
            .key("esc q", Action::Close, "close", "close, discarding changes after a warning"),
        KeyPlace::Entry => keys.key("enter", Action::Take, "apply", "apply the value").key(
            "esc",
            Action::Close,
            "cancel",
            "keep the old value",
        ),
        KeyPlace::Path => keys
            .key("enter", Action::Take, "import", "import the file")
            .key("tab", Action::Complete, "complete", "complete the path")
            .key("up", Action::Up, "last", "the line that was typed last")
            .key("esc", Action::Close, "cancel", "close"),
        KeyPlace::Find => keys
            .keys(&[("up", Action::Up), ("down", Action::Down)], "next", "previous and next match")
            .key("enter", Action::Take, "take", "change its value, or stay there")
            .key("esc", Action::Close, "back", "back to where the search began"),
        KeyPlace::Page => keys
            .up_down("scroll", "scroll")
            .pages("a page up and down")
            .ends("top and bottom")
            .key("/", Action::Search, "search", "search")
            .key("esc q", Action::Close, "close", "close"),
        _ => filtered(keys, place),
    }
}

/// The keys of the lists that are filtered by what is typed.
fn filtered(keys: KeyLines, place: KeyPlace) -> KeyLines {
    match place {
        KeyPlace::Palette => keys.typed_rows("move", "command").key("enter", Action::Take, "do", "do it").key(
            "esc",
            Action::Close,
            "close",
            "close",
        ),
        KeyPlace::Snapshots => keys
            .typed_rows("move", "file")
            .key("enter", Action::Take, "open", "open it; a set's scenarios are pinned")
            .key("ctrl-e", Action::Export, "save", "save the scenario shown")
            .key("ctrl-l", Action::SaveSet, "save set", "save all pinned as a set")
            .key("delete", Action::Remove, "delete", "delete it, after confirmation")
            .key("esc", Action::Close, "close", "close"),
        KeyPlace::List => keys.typed_rows("move", "item").key("enter", Action::Take, "apply", "apply the item").key(
            "esc",
            Action::Close,
            "close",
            "close",
        ),
        KeyPlace::Help => keys.typed_rows("scroll", "line").key("esc enter", Action::Close, "close", "close"),
        _ => keys,
    }
}
