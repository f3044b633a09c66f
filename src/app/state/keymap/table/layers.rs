//! The keys of what lies over the panels.

use crate::app::action::Action;
use crate::app::action::keys::{KeyLines, KeyPlace};

/// Of each layer, in the order of the help; all of them can be left for the shell and for good.
pub fn each() -> [KeyLines; 11] {
    KeyPlace::LAYERS.map(|place| {
        let keys = own(place).key("ctrl-z", Action::Suspend, "", "suspend");
        keys.key(if place.takes_text() { "ctrl-c" } else { "q ctrl-c" }, Action::Quit, "quit", "quit")
    })
}

fn own(place: KeyPlace) -> KeyLines {
    let keys = KeyLines::at(place);
    // Where characters are text, no letter moves the cursor.
    let arrows = [("up", Action::Up), ("down", Action::Down)];
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
            .key("esc i", Action::Close, "close", "close"),
        KeyPlace::Palette => keys
            .keys(&arrows, "move", "previous and next command")
            .keys(&[("pgup", Action::PageUp), ("pgdn", Action::PageDown)], "", "a page up and down")
            .key("enter", Action::Take, "do", "do it")
            .key("esc", Action::Close, "close", "close"),
        KeyPlace::CommandLines => keys
            .rows("line")
            .key("enter", Action::Take, "copy", "send it to the terminal's clipboard")
            .key("/", Action::Search, "", "search")
            .key("esc C", Action::Close, "close", "close"),
        KeyPlace::Snapshots => keys
            .up_down("move", "previous and next file")
            .pages("a page up and down")
            .ends("first and last file")
            .key("enter", Action::Take, "open", "open it; a set's scenarios are pinned")
            .key("e", Action::Export, "save", "save the scenario shown")
            .key("s", Action::SaveSet, "save set", "save all pinned as a set")
            .key("x delete", Action::Remove, "delete", "delete it, after confirmation")
            .key("/", Action::Search, "search", "search")
            .key("esc", Action::Close, "close", "close"),
        KeyPlace::Question => keys.key("enter", Action::Take, "delete", "delete it for good").key(
            "esc n",
            Action::Close,
            "leave it",
            "leave it",
        ),
        KeyPlace::Form => keys
            .rows("field")
            .key("enter", Action::Take, "type", "type a value; an empty one clears an optional field")
            .key("s", Action::Save, "save", "save it; the scenario switches to it")
            .key("/", Action::Search, "search", "search the fields")
            .key("esc", Action::Close, "close", "close, discarding changes after a warning"),
        KeyPlace::List => keys
            .up_down("move", "previous and next item")
            .pages("a page up and down")
            .ends("first and last item")
            .key("/", Action::Search, "search", "search")
            .key("enter", Action::Take, "apply", "apply the item")
            .key("esc", Action::Close, "close", "close"),
        KeyPlace::Search => keys
            .keys(&arrows, "move", "previous and next item")
            .key("enter", Action::Take, "apply", "apply the item")
            .key("esc", Action::Close, "list", "back to the list"),
        KeyPlace::Entry => keys.key("enter", Action::Take, "apply", "apply the value").key(
            "esc",
            Action::Close,
            "cancel",
            "keep the old value",
        ),
        KeyPlace::Find => keys
            .keys(&arrows, "next", "previous and next match")
            .key("enter", Action::Take, "stay", "stay there")
            .key("esc", Action::Close, "back", "back to where the search began"),
        KeyPlace::Help => keys
            .up_down("scroll", "scroll")
            .pages("a page up and down")
            .ends("top and bottom")
            .key("/", Action::Search, "search", "search")
            .key("esc ?", Action::Close, "close", "close"),
        KeyPlace::Panels | KeyPlace::Panel(_) | KeyPlace::View(_) => keys,
    }
}
