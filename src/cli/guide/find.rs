//! Words looked up in the guide: its headings, its glossary, its text.

use std::cmp::Reverse;
use std::fmt::Write;

use super::markdown;
use crate::guide::{CHAPTERS, Chapter};
use shardscope_engine::text::printable;

/// The chapter whose items explain a term each.
const GLOSSARY: &str = "glossary";
/// What an item of the glossary begins with.
const ITEM: &str = "- **";
/// Sections of the text that are named at most.
const MOST: usize = 8;
/// How much a word must look like another to be named in its place.
const LIKE: f64 = 0.8;

/// What stands under a heading, or of the glossary one term.
struct Section {
    chapter: &'static Chapter,
    /// Its heading, or its term.
    heading: String,
    text: String,
    is_term: bool,
}

/// The places that have all of the words, or what to look for instead.
pub(super) fn look_up(words: &[String]) -> Result<String, String> {
    let words: Vec<String> = words.iter().flat_map(|word| word.split_whitespace()).map(str::to_lowercase).collect();
    let sections: Vec<Section> = CHAPTERS.iter().flat_map(sections).collect();
    let (terms, others): (Vec<_>, Vec<_>) = sections.iter().partition(|section| section.is_term);
    let by_heading = |section: &&&Section| has_all(&section.heading, &words);
    let by_text = |section: &&&Section| !by_heading(section) && has_all(&section.text, &words);
    let headings: Vec<_> = others.iter().filter(by_heading).collect();
    let terms: Vec<_> = terms.iter().filter(by_heading).chain(terms.iter().filter(by_text)).collect();
    let mut text: Vec<_> = others.iter().filter(by_text).collect();
    // Where the words stand more often, they are more likely what the section is about.
    text.sort_by_key(|section| Reverse(words.iter().map(|word| places(&section.text, word)).min()));
    if headings.is_empty() && terms.is_empty() && text.is_empty() {
        return Err(nothing(&words, &sections));
    }
    let mut found: String = terms.iter().take(MOST).map(|term| markdown::plain(&term.text)).collect();
    let width = CHAPTERS.iter().map(|chapter| chapter.name.len()).max().unwrap_or(0);
    let lists = [("Chapters and sections:", headings), ("In the text:", text)];
    for (title, sections) in lists.iter().filter(|(_, sections)| !sections.is_empty()) {
        let _ = writeln!(found, "{title}");
        for section in sections.iter().take(MOST) {
            let _ = writeln!(found, "  {:width$}  {}", section.chapter.name, section.heading);
        }
        found.push('\n');
    }
    Ok(format!("{found}`shardscope guide CHAPTER` shows a chapter.\n"))
}

/// A chapter, heading by heading; of the glossary also term by term.
fn sections(chapter: &'static Chapter) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut in_code = false;
    for line in chapter.text.lines() {
        in_code ^= line.starts_with("```");
        let heading = Some(line.trim_start_matches('#')).filter(|rest| !in_code && rest.len() < line.len());
        let term = line.strip_prefix(ITEM).filter(|_| chapter.name == GLOSSARY);
        let term = term.and_then(|rest| rest.split_once("**")).map(|(term, _)| term);
        if let Some(heading) = heading.or(term) {
            let heading = heading.trim().replace('`', "");
            sections.push(Section { chapter, heading, text: String::new(), is_term: term.is_some() });
        }
        if let Some(section) = sections.last_mut().filter(|_| heading.is_none()) {
            section.text.push_str(line);
            section.text.push('\n');
        }
    }
    sections
}

/// Whether a text has all of the words.
fn has_all(text: &str, words: &[String]) -> bool {
    words.iter().all(|word| places(text, word) > 0)
}

/// How often words of a text begin with a word in lower case.
fn places(text: &str, word: &str) -> usize {
    let text = text.to_lowercase();
    let begins = |place: usize| !text[..place].ends_with(char::is_alphanumeric);
    text.match_indices(word).filter(|(place, _)| begins(*place)).count()
}

/// Which of the words the guide lacks, and words of its headings and terms that are like them.
fn nothing(words: &[String], sections: &[Section]) -> String {
    let said: Vec<&str> = words.iter().map(String::as_str).collect();
    let names = CHAPTERS.iter().map(|chapter| chapter.name.to_owned());
    let headings = sections.iter().flat_map(|section| section.heading.split_whitespace()).map(str::to_lowercase);
    let known = names.chain(headings.map(|word| word.trim_matches(|c: char| ",.?:".contains(c)).to_owned()));
    let likeness = |known: &str| words.iter().map(|word| strsim::jaro_winkler(word, known)).fold(0.0, f64::max);
    let mut near: Vec<(f64, String)> = known.map(|known| (likeness(&known), known)).collect();
    near.retain(|(likeness, _)| *likeness > LIKE);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.dedup();
    let near: Vec<String> = near.into_iter().take(3).map(|(_, word)| word).collect();
    let near = if near.is_empty() { String::new() } else { format!("the nearest are {}; ", near.join(", ")) };
    let said: String = printable(&said.join(" ")).chars().take(60).collect();
    format!(
        "'{said}' stands in no chapter of the guide; {near}try fewer words, or `shardscope guide` for the list of chapters"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &str) -> String {
        look_up(&[words.to_owned()]).unwrap_or_else(|error| error)
    }

    /// What readers looked up, and the chapter that answers.
    #[test]
    fn what_people_look_up_is_found() {
        let asked = [
            ("MFU", "figures"),
            ("P(fits)", "glossary"),
            ("hpZ", "frontier"),
            ("GB/s per direction", "presets"),
            ("my GPU", "presets"),
            ("two clusters", "command-line"),
            ("offline", "glossary"),
            ("cite", "glossary"),
            ("bug", "command-line"),
            ("tp cross nodes", "pipelines"),
            ("PAT", "glossary"),
            ("re-tuned", "glossary"),
            ("not held", "glossary"),
        ];
        for (words, chapter) in asked {
            let found = found(words);
            let term = chapter == GLOSSARY && found.starts_with("- ");
            let named = found
                .lines()
                .any(|line| line.starts_with(&format!("  {chapter} ")) || line.contains(&format!("`guide {chapter}`")));
            assert!(term || named, "{words}: {chapter} is not in\n{found}");
        }
    }

    #[test]
    fn a_heading_comes_before_text_and_code_is_no_heading() {
        let chapter = &Chapter { name: "x", text: "# One\n\nmfu\n\n```sh\n# two\n```\n\n## Three `a`\n" };
        let headings: Vec<String> = sections(chapter).into_iter().map(|section| section.heading).collect();
        assert_eq!(headings, ["One", "Three a"]);
        let found = found("experts");
        let (heading, text) = (found.find("Chapters and sections:"), found.find("In the text:"));
        assert!(heading.is_some() && heading < text, "{found}");
    }

    #[test]
    fn a_word_counts_where_it_begins() {
        assert_eq!((places("Fit, fits; unfit", "fit"), places("P(fits) 90 %", "p(fits)")), (2, 1));
        assert!(has_all("two clusters", &["clus".to_owned(), "two".to_owned()]));
    }

    #[test]
    fn where_nothing_is_found_the_nearest_words_are_named() {
        let said = found("serch");
        assert!(said.starts_with("'serch' stands in no chapter of the guide; the nearest are search"), "{said}");
        assert!(found("qqqqqq").contains("guide; try fewer words"), "{}", found("qqqqqq"));
    }
}
