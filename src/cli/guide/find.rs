//! Words looked up in the guide: its headings, its glossary, its text.

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
/// Bytes below which a section's length says nothing of what it is about.
const SHORT: f64 = 800.0;
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
    let (headed, others): (Vec<_>, Vec<_>) = sections.iter().partition(|section| has_all(&section.heading, &words));
    let (terms, headings): (Vec<_>, Vec<_>) = headed.into_iter().partition(|section| section.is_term);
    let mut text: Vec<_> = others.into_iter().filter(|section| has_all(&section.text, &words)).collect();
    text.sort_by(|a, b| share(b, &words).total_cmp(&share(a, &words)));
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

/// How much of a section is about words. Twice as often in a text four times as long is as much: else the long tables of
/// options and fields would come first whatever is asked, and without an end the shortest sections.
fn share(section: &Section, words: &[String]) -> f64 {
    let least = words.iter().map(|word| places(&section.text, word)).min().unwrap_or(0);
    least as f64 / (section.text.len() as f64 + SHORT).sqrt()
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

    /// The chapter that is named first: by the first term, else by the first line of the lists.
    fn first(found: &str) -> String {
        let (first, _) = found.split_once("\n\n").unwrap_or((found, ""));
        let words: Vec<&str> = first.split_whitespace().collect();
        if !first.starts_with("- ") {
            let row = first.lines().nth(1).and_then(|row| row.split_whitespace().next());
            return row.unwrap_or_default().to_owned();
        }
        let at = words.iter().position(|word| word.ends_with("`guide"));
        at.map_or("", |at| words[at + 1].split('`').next().unwrap_or_default()).to_owned()
    }

    /// What readers look up, and the chapter that answers, which comes first.
    #[test]
    fn what_people_look_up_is_found() {
        let asked = [
            ("glossary", "offline|internet|PAT|re-tuned|not held|HSDP|qwZ|tight|NVLS|cite|bug"),
            ("figures", "MFU"),
            ("frontier", "hpZ|ZeRO++"),
            ("presets", "my GPU|my cluster|ZeRO-3|FSDP|strategy|flash attention"),
            ("glossary", "GB/s per direction"),
            ("command-line", "two clusters|exit code|standard input"),
            ("evidence", "P(fits)|wrong prediction|how accurate|80 % interval|symptom"),
            ("import", "OOM|out of memory|Slurm|Hugging Face|config.json|nccl-tests|axolotl|nvidia-smi"),
            ("training", "days|cost|price|energy|power|failures|checkpoint|stragglers|goodput|Chinchilla"),
            ("explorer", "resume|session|snapshots"),
            ("fine-tuning", "LoRA|QLoRA|adapters|SFT"),
            ("post-training", "RLHF|GRPO|DPO|reward model|KV cache|rollout"),
            ("experts", "MoE|mixture of experts|dispatcher"),
            ("context", "long context|ring attention|Ulysses|sequence length"),
            ("fields", "tensor parallel|fp8|NVFP4"),
            ("pipelines", "bubble|tp cross nodes|zero bubble|virtual stage"),
            ("limits", "roofline|best possible"),
            ("loss", "logits|vocabulary"),
            ("model", "CUDA graphs|host-bound"),
            ("terminals", "colours|mouse"),
            ("sweeps", "job array|split a sweep"),
            ("search", "best plan|budget|deadline"),
            ("python", "python"),
        ];
        for (chapter, words) in asked {
            for words in words.split('|') {
                let found = found(words);
                let is_term = chapter == GLOSSARY && found.starts_with("- ");
                assert!(is_term || first(&found) == chapter, "{words}: {chapter} is not first in\n{found}");
            }
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
