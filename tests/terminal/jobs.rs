//! The jobs of the guide's table, each done at 80 x 24 with the keys that it says, and the answer read from the screen.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use super::harness::{Options, READY, Session};

/// How a job of the table is checked.
struct Job {
    /// What its name in the table begins with.
    name: &'static str,
    /// What a person waits for before pressing some of the keys: those, as the table has them, and what the screen shows.
    waits: &'static [(&'static str, &'static [&'static str])],
    /// What is on the screen at the end, all of it.
    shows: &'static [&'static str],
    /// Whether the figures on the screen are right, and what was left in the folder.
    check: fn(&str, &Path),
}

const JOBS: [Job; 12] = [
    Job {
        name: "Your own 30B",
        waits: &[("Esc", &["32,528,943,616 parameters"]), ("1g", &["[2 Map]"])],
        shows: &["now finishes first, A is cheaper", "days", "cost, EUR"],
        check: |screen, _| {
            assert_eq!(row(screen, "devices")[..2], [128.0, 256.0], "16 and 32 nodes of 8");
            let (days, hours, cost) = (row(screen, "days"), row(screen, "device-hours"), row(screen, "cost, EUR"));
            for (place, devices) in [128.0, 256.0].into_iter().enumerate() {
                // Days are shown with three digits.
                assert!((days[place] * 24.0 * devices / hours[place] - 1.0).abs() < 2e-3, "{screen}");
                assert!((hours[place] * 2.5 / cost[place] - 1.0).abs() < 1e-4, "at 2.50 EUR an hour:\n{screen}");
            }
        },
    },
    Job {
        name: "Your own A100s",
        waits: &[("a", &["a100-80gb-dgx ◂"])],
        shows: &["a100-80gb-dgx-2", "12.5 GB/s", "FITS", "days"],
        check: |_, folder| {
            let saved = folder.join(".config/shardscope/clusters/a100-80gb-dgx-2.toml");
            let saved = fs::read_to_string(saved).unwrap();
            assert!(saved.contains("nodes = 24") && saved.contains("bandwidth = \"12.5 GB/s\""), "{saved}");
        },
    },
    Job {
        name: "A 20B on Frontier",
        waits: &[],
        shows: &["zero3", "zeropp", "zero-topo", "★ best", "empty: z hides"],
        check: |screen, _| {
            let columns = row(screen, "nodes");
            assert!([2.0, 384.0].iter().all(|nodes| columns.contains(nodes)), "{columns:?}");
            let on_384 = columns.iter().position(|nodes| *nodes > 383.0 && *nodes < 385.0).unwrap();
            let [zero3, zeropp, levels] = ["zero3", "zeropp", "zero-topo"].map(|name| row(screen, name)[on_384]);
            assert!(zero3 < zeropp && zeropp < levels, "three levels win on 384 nodes:\n{screen}");
        },
    },
    Job {
        name: "\"My job gets 38 %\"",
        waits: &[],
        shows: &["measured", "predicted", "it may have been", "within the prediction"],
        check: |_, _| {},
    },
    Job {
        name: "Four scenarios",
        waits: &[
            ("Space", &["│    4 "]),
            ("s", &["D ", "now ", "B − A"]),
            ("Ctrl-L", &["^L save set"]),
            ("Enter", &["Name of the set"]),
        ],
        shows: &["exported to set.toml", "Comparison", "all tokens/s"],
        check: |screen, folder| {
            assert!(row(screen, "all tokens/s").len() >= 5, "four, and the one shown:\n{screen}");
            let kept = fs::read_to_string(folder.join("set.toml")).unwrap();
            assert_eq!(kept.matches("[[members]]").count(), 4, "{kept}");
        },
    },
    Job {
        // Any build finds a plan at once; to prove the best takes this one minutes.
        name: "The best plan within 80 %",
        waits: &[("Enter", &["20 % of memory free", "▸   1 "])],
        shows: &["applied ", "FITS"],
        check: |_, _| {},
    },
    Job {
        name: "GPT-3 175B on 64 nodes",
        waits: &[],
        shows: &["gpt3-175b", "64 nodes", "Best plans", "▸   1 ", "simulated", "step time"],
        check: |_, _| {},
    },
    Job {
        name: "70B LoRA",
        waits: &[],
        shows: &["llama-3.1-70b", "1 node", "▸   1 ", "spare", "recompute "],
        check: |_, _| {},
    },
    Job {
        name: "The same with nothing prepared",
        waits: &[],
        shows: &["llama-3.1-70b", "1 node", "▸ 1+1 ", "spare", "recompute "],
        check: |_, _| {},
    },
    Job {
        name: "7B QLoRA",
        waits: &[],
        shows: &["micro-batch ", "seq ", "16384 ", "★ best", "GiB too many"],
        check: |_, _| {},
    },
    Job {
        name: "Full tuning of 8B",
        waits: &[],
        shows: &["none fits the devices alone", "on each host", "without offload", "more than a device has", "▸   1 "],
        check: |_, _| {},
    },
    Job {
        name: "A DeepSeek-V3 on 64 nodes",
        waits: &[
            ("/pri", &["64 = 512 devices ◂"]),
            ("B", &["price     3"]),
            ("Enter", &["optimal", "▸ 1+1 "]),
            ("5", &["applied "]),
        ],
        shows: &["deepseek-v3 · b200-dgx", "64 nodes", "FITS", "days", "training", "cost"],
        check: |screen, _| {
            let figure = |name: &str| {
                let row = screen.lines().find_map(|line| line.strip_prefix("│ ")?.trim_start().strip_prefix(name));
                let number = row.and_then(|rest| rest.split_whitespace().next()?.replace(',', "").parse::<f64>().ok());
                number.unwrap_or_else(|| panic!("no {name} on\n{screen}"))
            };
            let [days, hours, cost] = ["days ", "device-hours ", "cost "].map(figure);
            // 64 nodes of 8 cards, 3 for each hour of a card; days have three digits.
            assert!((days * 24.0 * 512.0 / hours - 1.0).abs() < 6e-3 && (cost / hours - 3.0).abs() < 1e-3, "{screen}");
        },
    },
];

/// A Llama of 60 layers and 6,656 columns, with untied embeddings of 32,000 words:
/// 60 x (4 x 6656^2 + 3 x 6656 x 17920 + 2 x 6656) + 2 x 32000 x 6656 + 6656 = 32,528,943,616 parameters.
const CONFIG: &str = r#"{
    "model_type": "llama", "hidden_size": 6656, "intermediate_size": 17920, "num_hidden_layers": 60,
    "num_attention_heads": 52, "vocab_size": 32000, "max_position_embeddings": 2048, "tie_word_embeddings": false
}"#;

/// A row of the guide's table.
struct Row {
    name: String,
    arguments: Vec<String>,
    keys: Vec<String>,
    count: usize,
}

/// The rows: the job, what to start, the keys, how many they are.
fn table() -> Vec<Row> {
    let chapters = ["explorer", "fine-tuning", "experts"]
        .map(|chapter| fs::read_to_string(format!("{}/docs/{chapter}.md", env!("CARGO_MANIFEST_DIR"))).unwrap());
    let lines = chapters.iter().flat_map(|chapter| {
        let table = chapter.lines().skip_while(|line| !line.starts_with("| Job | Start | Press |")).skip(2);
        table.take_while(|line| line.starts_with('|'))
    });
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect();
        let words = |cell: &str| cell.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let [name, start, keys, count] = cells[..] else { panic!("four cells: {line}") };
        Row {
            name: name.to_owned(),
            arguments: words(start).split_off(1),
            keys: words(keys),
            count: count.parse().expect(line),
        }
    });
    rows.collect()
}

/// What is sent for a word of the keys, and how many keys it is: those with a name are one, of others each letter.
fn sent(word: &str) -> (&str, usize) {
    match word {
        "Enter" => ("\r", 1),
        "Esc" => ("\x1b", 1),
        "Space" => (" ", 1),
        "Ctrl-L" => ("\x0c", 1),
        letters => (letters, letters.chars().count()),
    }
}

/// The numbers of the row with a name on its left, no number where it marks a cell as none.
fn row(screen: &str, name: &str) -> Vec<f64> {
    let rest = screen.lines().find_map(|line| line.trim_start_matches(['│', '▸', ' ']).strip_prefix(name));
    let rest = rest.unwrap_or_else(|| panic!("no row {name}:\n{screen}"));
    let words = rest.split_whitespace().map(|word| word.trim_matches(['★', '▐', '▌', '│']).replace(',', ""));
    words.filter_map(|word| if matches!(&*word, "×" | "–") { Some(f64::NAN) } else { word.parse().ok() }).collect()
}

/// The memory of a job that fits, in GiB.
fn peak(screen: &str) -> Option<f64> {
    screen.split("FITS").nth(1)?.split('/').next()?.trim().parse().ok()
}

fn wait(session: &mut Session, texts: &[&str]) {
    session.wait(&format!("showing {texts:?}"), |session| {
        let screen = session.text();
        texts.iter().all(|text| screen.contains(text))
    });
}

#[test]
fn each_job_of_the_guide_is_done_with_the_keys_that_it_says() {
    let rows = table();
    assert_eq!(rows.len(), JOBS.len());
    for (row, job) in rows.iter().zip(&JOBS) {
        let Row { name, arguments, keys, count } = row;
        assert!(name.starts_with(job.name), "{name} is not {}", job.name);
        assert_eq!(keys.iter().map(|word| sent(word).1).sum::<usize>(), *count, "keys of {name}");
        let folder = tempdir().unwrap();
        fs::write(folder.path().join("config.json"), CONFIG).unwrap();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let options = Options { arguments: &arguments, size: (80, 24), ..Options::default() };
        let mut session = Session::start(folder.path(), &options);
        session.wait_for(READY);
        session.wait_for("FITS");
        let mut waits = job.waits.iter();
        let mut next = waits.next();
        for word in keys {
            if let Some((_, texts)) = next.filter(|(key, _)| key == word) {
                wait(&mut session, texts);
                next = waits.next();
            }
            session.press(sent(word).0);
        }
        assert!(next.is_none(), "{name}: never waited for {next:?}");
        wait(&mut session, job.shows);
        // A plan that was applied is evaluated before the headline shows it.
        session.wait("the peak of what was applied, within 80 % of 79.65 GiB", |session| {
            let screen = session.text();
            !name.starts_with("The best plan") || peak(&screen).is_some_and(|peak| peak <= 0.8 * 79.65)
        });
        (job.check)(&session.text(), folder.path());
        session.press("q");
        assert!(session.end().success(), "{name}");
    }
}
