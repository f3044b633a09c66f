//! The documents: every link leads somewhere, every file that is named exists, every command has the flags that are given
//! and prints what is shown, what is read first is short, and the guide is whole.

#![expect(clippy::unwrap_used, reason = "a helper of tests ends the test")]

mod examples;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use shardscope::guide::CHAPTERS;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What a reader looks at before anything else, and its lines at most.
const SHORT: [(&str, usize); 2] = [("README.md", 200), ("CONTRIBUTING.md", 200)];
const README_PICTURES: usize = 5;

/// Where a Markdown file leads, what can be led to in it, and what it names.
#[derive(Default)]
struct Document {
    /// Targets of links and pictures, each with its line.
    targets: Vec<(usize, String)>,
    pictures: usize,
    /// Anchors of its headings.
    anchors: Vec<String>,
    /// What stands in code between words, each with its line.
    named: Vec<(usize, String)>,
    /// Blocks of commands for a shell.
    shell: Vec<String>,
    /// Those that lines of their output stand behind, with these.
    examples: Vec<(String, String)>,
}

impl Document {
    fn read(text: &str) -> Self {
        let mut document = Self::default();
        let mut heading: Option<String> = None;
        let mut shell: Option<String> = None;
        let mut shown: Option<String> = None;
        // Whether nothing stands behind the last block of commands yet.
        let mut is_behind = false;
        for (event, place) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = || text[..place.start].matches('\n').count() + 1;
            match event {
                Event::Start(Tag::Link { dest_url, .. }) => document.targets.push((line(), dest_url.into_string())),
                Event::Start(Tag::Image { dest_url, .. }) => {
                    document.targets.push((line(), dest_url.into_string()));
                    document.pictures += 1;
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap());
                    let before = document.anchors.iter().filter(|other| **other == anchor).count();
                    document.anchors.push(if before == 0 { anchor } else { format!("{anchor}-{before}") });
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) if &*language == "sh" => {
                    shell = Some(String::new());
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) if &*language == "text" && is_behind => {
                    shown = Some(String::new());
                }
                Event::End(TagEnd::CodeBlock) => {
                    is_behind = shell.is_some();
                    document.shell.extend(shell.take());
                    document.examples.extend(document.shell.last().cloned().zip(shown.take()));
                }
                Event::Start(_) => is_behind = false,
                Event::Text(words) => {
                    for text in heading.iter_mut().chain(&mut shell).chain(&mut shown) {
                        text.push_str(&words);
                    }
                }
                Event::Code(words) => {
                    if let Some(text) = &mut heading {
                        text.push_str(&words);
                    }
                    document.named.push((line(), words.into_string()));
                }
                _ => {}
            }
        }
        document
    }
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The Markdown files under a folder, by their paths in it. Hidden folders and what was built are not ours.
fn documents(root: &Path) -> BTreeMap<PathBuf, Document> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if is_markdown(&path) {
                let text = fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(root).unwrap().to_owned(), Document::read(&text));
            }
        }
    }
    found
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// Links that lead nowhere, with file and line.
fn broken(root: &Path) -> Vec<String> {
    let documents = documents(root);
    let mut broken = Vec::new();
    for (file, document) in &documents {
        for (line, target) in &document.targets {
            if let Some(why) = fault(root, &documents, file, target) {
                broken.push(format!("{}:{line}: '{target}': {why}", file.display()));
            }
        }
    }
    broken
}

/// Why a link of a file leads nowhere. What lies on the network is not looked at.
fn fault(root: &Path, documents: &BTreeMap<PathBuf, Document>, file: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let to = if path.is_empty() { file.to_owned() } else { resolved(&file.parent().unwrap().join(path)) };
    if !root.join(&to).exists() {
        return Some(format!("there is no {}", to.display()));
    }
    let anchors = documents.get(&to).map_or(&[][..], |document| &document.anchors);
    let anchor = anchor.filter(|anchor| !anchors.iter().any(|known| known == anchor))?;
    Some(format!("{} has no heading '{anchor}'; it has {}", to.display(), anchors.join(", ")))
}

/// A path without `..`; one that leads out of the project stays as it is, and is found missing.
fn resolved(path: &Path) -> PathBuf {
    let mut steps = PathBuf::new();
    for step in path.components() {
        match step {
            Component::ParentDir if steps.pop() => {}
            Component::ParentDir => return path.to_owned(),
            step => steps.push(step),
        }
    }
    steps
}

#[test]
fn every_link_leads_somewhere() {
    let documents = documents(Path::new(ROOT));
    let links: usize = documents.values().map(|document| document.targets.len()).sum();
    assert!(documents.len() > 20 && links > 50, "{} files and {links} links: are these all?", documents.len());
    let broken = broken(Path::new(ROOT));
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    fs::write(folder.path().join("docs/there.md"), "# A `b` heading, twice\n## A b heading twice\n").unwrap();
    let good =
        "[a](docs/there.md#a-b-heading-twice) [b](docs/there.md#a-b-heading-twice-1) [c](https://example.org/x)\n";
    let bad = "[a](docs/gone.md)\n![b](gone.svg)\n[c](docs/there.md#gone)\n[d](#gone)\n[e](docs/../../outside.md)\n";
    fs::write(folder.path().join("README.md"), good).unwrap();
    assert_eq!(broken(folder.path()), Vec::<String>::new());
    fs::write(folder.path().join("README.md"), bad).unwrap();
    let found = broken(folder.path());
    assert_eq!(found.len(), 5, "{found:#?}");
    for (line, found) in (1..).zip(&found) {
        assert!(found.starts_with(&format!("README.md:{line}: ")), "{found}");
    }
}

/// Whether it is a path in this project, without a part that stands for any other.
fn is_own_path(text: &str) -> bool {
    let folders = ["src/", "crates/", "presets/", "docs/", "tests/", "benches/"];
    folders.iter().any(|folder| text.starts_with(folder))
        && !text.contains(|c: char| c.is_uppercase() || "* ".contains(c))
}

#[test]
fn every_file_that_is_named_exists() {
    let documents = documents(Path::new(ROOT));
    let named = documents.iter().flat_map(|(file, document)| document.named.iter().map(move |named| (file, named)));
    let (there, gone): (Vec<_>, Vec<_>) = named
        .filter(|(_, (_, path))| is_own_path(path))
        .partition(|(_, (_, path))| Path::new(ROOT).join(path).exists());
    let gone: Vec<_> = gone.iter().map(|(file, (line, path))| format!("{}:{line}: {path}", file.display())).collect();
    assert!(there.len() > 30, "only {there:?}: are these all?");
    assert!(gone.is_empty(), "not there:\n{}\n", gone.join("\n"));
}

/// The commands of this program in a block, as arguments; those that are cut short with `...` are left out.
fn commands(block: &str) -> Vec<Vec<String>> {
    let lines = block.replace("\\\n", " ");
    let words = lines.lines().filter(|line| !line.contains("...")).filter_map(shlex::split);
    let parts = words.flat_map(|words| {
        let parts = words.split(|word| ["|", "&&", ">"].contains(&word.as_str())).map(<[String]>::to_vec);
        parts.collect::<Vec<_>>()
    });
    parts.filter(|words| words.first().is_some_and(|first| first == "shardscope")).collect()
}

/// With `--help` behind them, arguments are read and nothing is done.
#[test]
fn every_command_has_the_flags_that_are_given() {
    let mut count = 0;
    for (file, document) in documents(Path::new(ROOT)) {
        for command in document.shell.iter().flat_map(|block| commands(block)) {
            let output =
                Command::new(env!("CARGO_BIN_EXE_shardscope")).args(&command[1..]).arg("--help").output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {}\n{said}", file.display(), command.join(" "));
            count += 1;
        }
    }
    assert!(count > 50, "only {count} commands: are these all?");
}

/// Each command of the README's `Four commands` works on what the one before it wrote.
#[test]
fn the_readme_s_commands_do_what_they_say() {
    let readme = Document::read(&fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let blocks = readme.shell.iter().map(|block| commands(block)).filter(|commands| commands.len() == 4);
    let [block] = &blocks.collect::<Vec<_>>()[..] else { panic!("the README has one block of four commands") };
    for command in block {
        let mut run = Command::new(env!("CARGO_BIN_EXE_shardscope"));
        let output = run.args(&command[1..]).current_dir(&folder).env("HOME", folder.path()).output().unwrap();
        assert!(output.status.success(), "{}: {}", command.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    assert!(folder.path().join("run/megatron.sh").is_file());
}

#[test]
fn a_flag_that_is_unknown_is_found() {
    let found =
        commands("# Say.\nsinfo | shardscope import \\\n  - --out 'a b' && ls  # done\nshardscope eval ... --x\n");
    assert_eq!(found, [["shardscope", "import", "-", "--out", "a b"].map(str::to_owned).to_vec()]);
    for (flag, known) in [("--tp", true), ("--tq", false)] {
        let run = Command::new(env!("CARGO_BIN_EXE_shardscope")).args(["eval", flag, "2", "--help"]).output().unwrap();
        assert_eq!(run.status.success(), known, "{flag}");
    }
}

#[test]
fn what_is_read_first_is_short() {
    for (file, most) in SHORT {
        let lines = fs::read_to_string(Path::new(ROOT).join(file)).unwrap().lines().count();
        assert!(lines <= most, "{file} has {lines} lines of at most {most}: move some to docs/");
    }
    let pictures = documents(Path::new(ROOT))[Path::new("README.md")].pictures;
    assert!(pictures <= README_PICTURES, "README.md has {pictures} pictures of at most {README_PICTURES}");
}

#[test]
fn the_guide_has_every_chapter_and_its_contents_list_them() {
    let docs = Path::new(ROOT).join("docs");
    let names = fs::read_dir(&docs).unwrap().map(|entry| entry.unwrap().path()).filter(|path| is_markdown(path));
    let names = names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let mut files: Vec<String> = names.filter(|name| name != "README").collect();
    let mut chapters: Vec<String> = CHAPTERS.iter().map(|chapter| chapter.name.to_owned()).collect();
    files.sort();
    chapters.sort();
    assert_eq!(chapters, files, "list each file of docs/ in src/guide.rs");
    let contents = fs::read_to_string(docs.join("README.md")).unwrap();
    let listed: Vec<&str> = contents.lines().filter(|line| line.starts_with("- ")).collect();
    let wanted = CHAPTERS.iter().map(|chapter| format!("- [{0}]({0}.md): {1}", chapter.name, chapter.title()));
    assert_eq!(listed, wanted.collect::<Vec<_>>(), "docs/README.md lists the chapters, in their order");
}

#[test]
fn each_chapter_begins_with_what_its_reader_wants() {
    for chapter in CHAPTERS {
        let mut lines = chapter.text.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with("# ")), "{}: a heading", chapter.name);
        let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
        assert!(first.starts_with("You "), "{}: say what the reader wants: {first}", chapter.name);
    }
}
