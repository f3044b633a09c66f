use super::*;
use crate::app::tests::explorer;
use shardscope_engine::scenario::Field;

/// What edits change, told apart by a number.
fn edited(nodes: u32) -> Edited {
    let app = explorer();
    let mut file = app.file.clone();
    file.put(Field::Nodes, Some(nodes.into()));
    Edited { file, scenario: app.scenario.clone(), wrong: Vec::new(), pins: Arc::default() }
}

fn nodes(edited: Option<Edited>) -> Option<u32> {
    edited?.file.plan.get(Field::Nodes)?.get()
}

#[test]
fn undo_goes_back_and_redo_forth() {
    let mut history = History::default();
    history.note(edited(1), None);
    history.note(edited(2), None);
    assert_eq!(nodes(history.undo(edited(3))), Some(2));
    assert_eq!(nodes(history.undo(edited(2))), Some(1));
    assert_eq!(nodes(history.undo(edited(1))), None);
    assert_eq!(nodes(history.redo(edited(1))), Some(2));
    assert_eq!(nodes(history.redo(edited(2))), Some(3));
    assert_eq!(nodes(history.redo(edited(3))), None);
}

#[test]
fn a_new_edit_drops_what_was_undone() {
    let mut history = History::default();
    history.note(edited(1), None);
    history.undo(edited(2));
    history.note(edited(1), None);
    assert_eq!(history.depth(), (1, 0));
    assert_eq!(nodes(history.redo(edited(9))), None);
}

#[test]
fn steps_through_a_field_are_one_entry_until_something_else_happens() {
    let mut history = History::default();
    for nodes in 1..=5 {
        history.note(edited(nodes), Some(Field::Nodes));
    }
    assert_eq!(history.depth(), (1, 0));
    history.note(edited(6), Some(Field::Memory));
    history.note(edited(7), Some(Field::Nodes));
    history.settle();
    history.note(edited(8), Some(Field::Nodes));
    history.note(edited(9), None);
    history.note(edited(10), None);
    assert_eq!(history.depth(), (6, 0));
    assert_eq!(nodes(history.undo(edited(11))), Some(10));
    history.note(edited(10), Some(Field::Nodes));
    assert_eq!(history.depth(), (6, 0), "after undo a step is an entry of its own");
}

#[test]
fn it_forgets_the_oldest_beyond_a_thousand() {
    let mut history = History::default();
    let one = edited(1);
    for nodes in 0..1_005 {
        let mut next = one.clone();
        next.file.put(Field::Nodes, Some(nodes.into()));
        history.note(next, None);
    }
    assert_eq!(history.depth(), (1_000, 0));
    let oldest = std::iter::from_fn(|| history.undo(one.clone())).last();
    assert_eq!(nodes(oldest), Some(5));
}
