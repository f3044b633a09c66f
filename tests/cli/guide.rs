//! `guide`: the chapters, as text for a script and for a terminal's pager.

use shardscope::guide::CHAPTERS;

use super::run::{Home, assert_contains, run};

/// Columns of a terminal.
const WIDTH: usize = 80;

#[test]
fn without_a_chapter_all_are_listed() {
    let run = run("guide");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    for chapter in CHAPTERS {
        let line = run.stdout.lines().find(|line| line.trim_start().starts_with(&format!("{} ", chapter.name)));
        assert!(line.is_some_and(|line| line.ends_with(chapter.title())), "{}:\n{}", chapter.name, run.stdout);
    }
    assert!(run.stdout.lines().all(|line| line.chars().count() <= WIDTH), "{}", run.stdout);
}

#[test]
fn every_chapter_reads_well_on_80_columns() {
    for chapter in CHAPTERS {
        let run = run(&format!("guide {}", chapter.name));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", chapter.name);
        assert!(run.stdout.starts_with(chapter.title()), "{}", run.stdout);
        // Commands stay as they can be copied, and a word stays whole.
        let filled = run.stdout.lines().filter(|line| !line.starts_with("    ") && line.trim().contains(' '));
        let long: Vec<&str> = filled.filter(|line| line.chars().count() > WIDTH).collect();
        assert!(long.is_empty(), "{}: {long:#?}", chapter.name);
    }
}

#[test]
fn a_name_that_is_none_is_answered_with_the_nearest() {
    let run = run("guide serch");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert_contains(&run.stderr, &["'serch' stands in no chapter", "the nearest are search"]);
}

#[test]
fn words_are_found_in_headings_glossary_and_text() {
    let run = run("guide two clusters");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_contains(&run.stdout, &["two clusters: ", "--y hardware=A,B", "guide command-line"]);
    assert!(run.stdout.lines().all(|line| line.chars().count() <= WIDTH), "{}", run.stdout);
}

#[test]
fn a_hostile_name_commands_no_terminal() {
    let output = Home::new().command("guide").arg("\u{1b}]52;c;eA==\u{7}\u{202e}").output().expect("it runs");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{said:?}");
}

#[test]
fn nobody_asks_for_a_pager_without_a_terminal() {
    let output = Home::new().command("guide model").env("PAGER", "false").output().expect("it runs");
    assert!(output.status.success() && !output.stdout.is_empty());
}
