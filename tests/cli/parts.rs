//! `sweep --part`, `search --part` and `merge`: parts are the whole again, byte for byte, or they are refused by name; and
//! the job array that computes them.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::files::pipe;
use super::run::{Home, Run, assert_contains, keys, run};

/// 5 x 7 cells, some of them impossible.
const PLAIN: &str = "--hardware a100-80gb-nvlink16 --model mpt-125m --x nodes=1..16 --y micro-batch=1..7:1";
const TUNED: &str = "--hardware a100-80gb-nvlink16 --model mpt-125m --x nodes=1,2 --y seq=512,1024,2048 --tune";
const HEADER: &str = "x,y,metric,value,fits,reason,micro_batch,recompute,accumulate,global_batch\n";

/// Writes all parts of a sweep to `part-K.csv`; hands back their names and what they say.
fn parts(home: &Home, axes: &str, count: usize) -> Vec<(String, String)> {
    let part = |index: usize| {
        let Run { code, stdout, stderr } = home.run(&format!("sweep {axes} --format csv --part {index}/{count}"));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        let name = format!("part-{index}.csv");
        home.write(&name, &stdout);
        (name, stdout)
    };
    (0..count).map(part).collect()
}

fn names(parts: &[(String, String)]) -> String {
    // Backwards: the order in which parts are given does not matter.
    parts.iter().rev().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn parts_merged_are_the_whole_byte_for_byte() {
    for (axes, counts) in [(PLAIN, &[1, 2, 7, 100][..]), (TUNED, &[1, 2, 7])] {
        let whole = run(&format!("sweep {axes} --format csv")).stdout;
        for count in counts {
            let home = Home::new();
            let parts = parts(&home, axes, *count);
            let rows: String = parts
                .iter()
                .map(|(name, text)| {
                    let rows = text.strip_prefix(HEADER).expect("the header");
                    let (rows, seal) = rows.split_at(rows.trim_end().rfind('\n').map_or(0, |end| end + 1));
                    let part = name.trim_start_matches("part-").trim_end_matches(".csv");
                    assert!(seal.starts_with(&format!("# part {part}/{count} of ")), "{seal}");
                    rows
                })
                .collect();
            assert_eq!(format!("{HEADER}{rows}"), whole, "{count} parts of {axes}");
            let merged = home.run(&format!("merge {}", names(&parts)));
            assert_eq!((merged.code, merged.stderr.as_str(), merged.stdout.as_str()), (Some(0), "", whole.as_str()));
        }
    }
}

#[test]
fn the_whole_is_written_to_a_file_or_not_at_all() {
    let home = Home::new();
    let parts = parts(&home, PLAIN, 2);
    let whole = run(&format!("sweep {PLAIN} --format csv")).stdout;
    let merge = format!("merge {} --out whole.csv", names(&parts));
    assert_eq!(home.run(&merge).stdout, "");
    let written = || std::fs::read_to_string(home.path().join("whole.csv")).expect("a file");
    assert_eq!(written(), whole);
    let again = home.run(&merge);
    assert_eq!(again.code, Some(1));
    assert_contains(&again.stderr, &["whole.csv: already exists", "--force"]);
    assert_eq!(home.run(&format!("{merge} --force")).code, Some(0));
    // An input is never replaced, and a part with a row too few ends with the old file in place.
    assert_contains(home.run("merge part-0.csv part-1.csv --out part-0.csv --force").refused()[0], &["is an input"]);
    home.write("part-1.csv", &without_line(&parts[1].1, 3));
    assert_contains(home.run(&format!("{merge} --force")).refused()[0], &["part-1.csv: has 17 rows of 18"]);
    assert_eq!(written(), whole);
}

#[test]
fn what_a_part_hides_is_not_written_into_the_whole() {
    let home = Home::new();
    let parts = parts(&home, PLAIN, 1);
    let hostile = "impossible \u{1b}]52;c;eA==\u{7}\u{202e}";
    home.write("part-0.csv", &unsealed(&parts[0].1).replace(",true,,", &format!(",true,{hostile},")));
    assert_eq!(home.run("merge part-0.csv --out whole.csv").code, Some(0));
    let whole = std::fs::read_to_string(home.path().join("whole.csv")).expect("text");
    assert!(whole.contains("]52;c;eA=="), "the reason is gone: {whole}");
    assert_eq!(whole.chars().find(|c| *c == '\u{202e}' || (*c != '\n' && c.is_control())), None);
}

/// The part as it was written before its rows were sealed.
fn unsealed(part: &str) -> String {
    let (before, _) = part.rsplit_once(" holding ").expect("a seal of the rows");
    format!("{before}\n")
}

#[test]
fn a_part_with_other_rows_than_were_computed_is_refused_and_an_older_one_is_read() {
    let home = Home::new();
    let parts = parts(&home, PLAIN, 2);
    let whole = run(&format!("sweep {PLAIN} --format csv")).stdout;
    let (text, seal) = (&parts[1].1, parts[1].1.rfind("# part").expect("the last line"));
    let lines: Vec<&str> = text.lines().collect();
    let exchanged = text.replace(lines[2], "?").replace(lines[3], lines[2]).replace('?', lines[3]);
    let digit = text[HEADER.len()..seal].find("throughput,").expect("a row") + HEADER.len() + "throughput,".len();
    let flipped =
        format!("{}{}{}", &text[..digit], if text[digit..].starts_with('9') { '8' } else { '9' }, &text[digit + 1..]);
    let first = &parts[0].1;
    // 17 rows of the first part where the second has 18: one of its own is kept.
    let rows = &first[HEADER.len()..first.rfind("# part").expect("the last line")];
    let other = format!("{HEADER}{rows}{}\n{}", lines[lines.len() - 2], &text[seal..]);
    for changed in [exchanged, flipped, other] {
        home.write("changed.csv", &changed);
        let refused = home.run("merge part-0.csv changed.csv --out whole.csv");
        assert_contains(refused.refused()[0], &["changed.csv: its rows are not those that were computed"]);
        home.write("older.csv", &unsealed(&changed));
        assert_eq!(home.run("merge part-0.csv older.csv").code, Some(0));
    }
    assert!(!home.path().join("whole.csv").exists());
    home.write("older.csv", &unsealed(text));
    assert_eq!(home.run("merge part-0.csv older.csv").stdout, whole);
}

fn without_line(text: &str, line: usize) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    lines.filter(|(at, _)| *at != line).map(|(_, line)| line).collect()
}

#[test]
fn what_is_not_all_of_one_whole_is_refused_by_name() {
    let home = Home::new();
    let parts = parts(&home, PLAIN, 4);
    let merge = |arguments: &str| home.run(&format!("merge {arguments}")).refused().join("\n");
    assert_contains(&merge("part-0.csv part-2.csv"), &["missing: part 1/4, 3/4"]);
    home.write("again.csv", &parts[1].1);
    assert_contains(
        &merge("part-0.csv part-1.csv part-2.csv part-3.csv again.csv"),
        &["part-1.csv, again.csv: all are part 1/4"],
    );
    // A part that a kill cut off, in a row or behind one, has no last line.
    for cut in [parts[1].1.len() / 2, parts[1].1.rfind('#').expect("the last line"), parts[1].1.len() - 1] {
        home.write("cut.csv", &parts[1].1[..cut]);
        assert_contains(
            &merge("part-0.csv cut.csv part-2.csv part-3.csv"),
            &["cut.csv: is partial", "missing: part 1/4"],
        );
    }
    let other = run(&format!("sweep {PLAIN} --metric mfu --format csv --part 1/4")).stdout;
    home.write("other.csv", &other);
    assert_contains(&merge("part-0.csv other.csv part-2.csv part-3.csv"), &["other.csv: is part 1/4 of "]);
    let hostile = parts[1].1.replacen("throughput", "\"\u{1b}[2J\n", 1);
    home.write("hostile.csv", &hostile);
    let run = home.run("merge part-0.csv hostile.csv part-2.csv part-3.csv");
    assert_eq!(run.code, Some(2));
    assert_contains(&run.stderr, &["hostile.csv: line 2 is not a row"]);
    assert_eq!(home.run("merge none.csv").code, Some(1));
}

#[test]
fn parts_and_large_maps_are_csv() {
    let refused = |arguments: &str| run(&format!("sweep {arguments}")).refused().join("\n");
    assert_contains(&refused(&format!("{PLAIN} --part 0/2")), &["--part: a part is CSV"]);
    assert_contains(&refused(&format!("{PLAIN} --part 2/2 --format csv")), &["K/N"]);
    assert_contains(&refused("--x seq=1..4000:1 --y nodes=1..4000:1"), &["--format csv"]);
}

/// A part of a map where nothing fits is done; the whole says that nothing fits.
#[test]
fn the_whole_tells_that_nothing_fits() {
    let home = Home::new();
    let axes = "--hardware a100-80gb-nvlink16 --model mpt-70b --strategy ddp --x nodes=1,2 --y micro-batch=1,2";
    let parts = parts(&home, axes, 2);
    assert_eq!(home.run(&format!("merge {}", names(&parts))).code, Some(3));
}

/// 1B parameters on up to two nodes, with few values of what costs time.
const SEARCH: &str = "search --hardware a100-80gb-dgx --model mpt-1b --nodes 1..2 --global-batch 64 --tp 1 --cp 1 \
                      --over micro-batch=1,2,4 --over recompute=none,full --tokens 20B --pareto days,devices --top 5";

#[test]
fn parts_of_a_search_merged_are_the_search() {
    let whole = run(&format!("{SEARCH} --format json")).json(0);
    let figures = |json: &Value| -> Vec<Value> {
        let plans = json["plans"].as_array().expect("plans").iter();
        plans
            .map(|plan| json!([plan["rank"], plan["evaluation"]["step_time_s"], plan["evaluation"]["memory"]]))
            .collect()
    };
    let front = |json: &Value| -> Vec<Value> {
        let plans = json["pareto"].as_array().expect("a front").iter();
        plans.map(|plan| json!([plan["devices"], plan["days"]])).collect()
    };
    for informed in [false, true] {
        let home = Home::new();
        let mut names = Vec::new();
        for index in 0..3 {
            let known = if informed && index > 0 { format!("--known {}", names.join(" ")) } else { String::new() };
            let part = home.run(&format!("{SEARCH} --format json --part {index}/3 {known}"));
            part.json(0);
            names.push(format!("part-{index}.json"));
            home.write(&names[index], &part.stdout);
        }
        let merged = home.run(&format!("merge {} {} {}", names[2], names[0], names[1])).json(0);
        assert_eq!((figures(&merged), front(&merged)), (figures(&whole), front(&whole)), "informed: {informed}");
        assert_eq!(merged["space"]["plans"], whole["space"]["plans"]);
        assert_eq!(keys(&merged), keys(&whole));
        // A pipe can be read only once.
        pipe(&home, "pipe");
        let (path, text) = (home.path().join("pipe"), std::fs::read(home.path().join(&names[2])).expect("a part"));
        let writer = std::thread::spawn(move || std::fs::write(path, text));
        assert_eq!(home.run(&format!("merge pipe {} {}", names[0], names[1])).json(0), merged);
        writer.join().expect("it writes").expect("all of it is read");
        assert_eq!(merged["per_operator"], whole["per_operator"]);
        assert_eq!(keys(&merged["plans"][0]), keys(&whole["plans"][0]));
        assert_eq!(home.run(&format!("merge {} --out whole.json", names.join(" "))).code, Some(0));
        let refused = |arguments: &str| home.run(arguments).refused().join("\n");
        assert_contains(&refused("merge part-0.json part-2.json"), &["missing: part 1/3"]);
        assert_contains(&refused("merge part-0.json part-0.json part-1.json part-2.json"), &["all are part 0/3"]);
        let part = std::fs::read_to_string(home.path().join("part-0.json")).expect("a part");
        home.write("part-0.json", &part.replacen("\"simulated\": ", "\"simulated\": 1", 1));
        assert_contains(&refused("merge part-0.json part-1.json part-2.json"), &["part-0.json: is not as", "changed"]);
        let content = part.find(",\n    \"content\"").expect("a seal");
        let end = content + part[content..].find("\n  }").expect("the end of the object");
        home.write("part-0.json", &format!("{}{}", &part[..content], &part[end..]));
        assert_eq!(home.run("merge part-0.json part-1.json part-2.json").json(0)["plans"], merged["plans"]);
        home.write("part-0.json", &part);
        home.write("cut.json", "{\"format\": 1, \"objective\"");
        assert_contains(&refused("merge part-0.json cut.json"), &["cut.json: is no part of a search"]);
        let other = SEARCH.replace("--top 5", "--top 6");
        let other = format!("{other} --format json --part 1/3 --known part-0.json");
        assert_contains(&refused(&other), &["part-0.json", "give parts of one whole"]);
        assert_contains(&refused(&format!("{SEARCH} --part 1/3")), &["--part: a part is JSON"]);
    }
}

/// Every task of the array is run as its script says, on a shell that Slurm's variable is given to: the parts are whole.
#[test]
fn a_job_array_computes_the_sweep() {
    let home = Home::new();
    let axes = "--x nodes=1..4 --y micro-batch=1,2,4";
    let export = home.run(&format!("export --to sbatch --sweep --model mpt-125m {axes} --tune --parts 3 --out jobs"));
    assert_eq!((export.code, export.stdout.as_str()), (Some(0), "jobs/sweep.sbatch\n"), "{}", export.stderr);
    let binary = Path::new(env!("CARGO_BIN_EXE_shardscope")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").expect("a path"));
    for task in 0..3 {
        let mut shell = Command::new("bash");
        shell.arg("jobs/sweep.sbatch").current_dir(home.path()).env("SLURM_ARRAY_TASK_ID", task.to_string());
        assert!(shell.env("PATH", &path).status().expect("a shell").success());
    }
    let merged = home.run("merge part-0.csv part-1.csv part-2.csv").stdout;
    assert_eq!(merged, run(&format!("sweep --model mpt-125m {axes} --tune --format csv")).stdout);
    for (arguments, part) in [
        ("--to sbatch --sweep --x nodes=1", "--y"),
        ("--to sbatch --sweep --x nodes=1 --y nodes=2", "both axes are nodes"),
        ("--to sbatch --sweep --x nodes=1 --y seq=512 --parts 1001", "1001"),
        ("--to fsdp2 --sweep --x nodes=1 --y seq=512", "--to sbatch"),
    ] {
        assert_contains(&run(&format!("export {arguments}")).refused().join("\n"), &[part]);
    }
}
