//! `guide`: lists the chapters of the guide, or shows one.

mod markdown;

use crate::guide::CHAPTERS;

use super::args::GuideArgs;
use super::exit::{Exit, Failure};
use super::{output, pager};

pub(super) fn run(guide: &GuideArgs) -> Result<Exit, Failure> {
    match guide.chapter {
        Some(chapter) => pager::show(&markdown::plain(chapter.text)),
        None => output::result(&list()),
    }?;
    Ok(Exit::Done)
}

fn list() -> String {
    let width = CHAPTERS.iter().map(|chapter| chapter.name.len()).max().unwrap_or(0);
    let lines = CHAPTERS.iter().map(|chapter| format!("  {:width$}  {}\n", chapter.name, chapter.title()));
    format!("Chapters of the guide; `shardscope guide CHAPTER` shows one:\n\n{}", lines.collect::<String>())
}
