use std::sync::Arc;

use super::*;
use shardscope_engine::cost::{Factors, Payload, Rates};
use shardscope_engine::hardware::Group;
use shardscope_engine::plan::Format;
use shardscope_engine::scenario::file;
use shardscope_engine::units::Count;

macro_rules! log {
    ($file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/links/", $file)))
    };
}

const NODE: (&str, &str) = log!("h100-n1-g8-ar-ag-rs.log");
const TEN: (&str, &str) = log!("h100-n10-g8.log");
const OLD_GATHER: (&str, &str) = log!("a100-g8-allgather-old.log");
const OLD_REDUCE: (&str, &str) = log!("a100-g8-allreduce-old.log");
const BATCH: (&str, &str) = log!("aws-p5-n1-batch-prefix.log");
const LABEL: (&str, &str) = log!("aws-srun-label-two-runs.log");
const DGXC: (&str, &str) = log!("dgxc-h100-allreduce.log");
const PAIR: (&str, &str) = log!("h100-pair-alltoall-sendrecv.log");
const CUT: (&str, &str) = log!("h100-pair-cut-short2.log");

const ALL_REDUCE: LinkOptions<'_> = LinkOptions { collective: Some(TimedCollective::AllReduce), name: None };

fn on(cluster: &str) -> Scenario {
    let library = shardscope_presets::library();
    let mut scenario = shardscope_report::snapshot::open("default", &library).expect("the default").scenario;
    scenario.cluster = library.cluster(cluster).expect("a preset");
    scenario
}

fn imported(logs: &[(&str, &str)], cluster: &str, options: LinkOptions<'_>) -> Imported<MeasuredLinks> {
    let logs: Vec<_> = logs.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    links(&logs, &on(cluster), options).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn refused(text: &str, options: LinkOptions<'_>) -> String {
    let logs = [("a.log".to_owned(), text.to_owned())];
    let errors = links(&logs, &on("h100-80gb-dgx"), options).expect_err("it is refused");
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What an all-gather of so many bytes takes by the model of `eval`, on the cluster's file as it was written.
fn gather(links: &MeasuredLinks, like: &str, group: Group, bytes: f64) -> f64 {
    let text = links.to_toml().expect("a file");
    let (cluster, source) = file::read::<Cluster>(&text, 1).expect("it is read again");
    assert_eq!(source.mistakes(&cluster.problems()).mistakes, []);
    let mut scenario = on(like);
    scenario.cluster = Arc::new(cluster);
    let rates = Rates::new(&scenario, &Factors::default());
    rates.gather(Payload::plain(Count::new(bytes / 4.0), Format::Fp32), group).time.get() * 1e6
}

/// Eight H100s: 8 us to start (the calibration's), 7 hops of 3 us, 7/8 of the bytes at 300 GB/s.
fn synthetic(head: &str, ranks: u32) -> String {
    use std::fmt::Write;
    let mut log = format!("{head}#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n");
    for power in 10..34 {
        let size = libm::exp2(f64::from(power));
        let others = f64::from(ranks - 1) / f64::from(ranks);
        let micros = 29.0 + size * others / 300e3;
        let (algorithm, bus) = (size / micros / 1e3, size * others / micros / 1e3);
        let body = format!("{micros:.3} {algorithm:.4} {bus:.4} 0");
        writeln!(log, "  {size} 1 float none -1 {body} {body}").expect("text takes text");
    }
    log
}

fn head(program: &str, hosts: &[(&str, u32)]) -> String {
    use std::fmt::Write;
    let mut text = format!("# Collective test starting: {program}\n# nThread 1 nGpus 1 minBytes 8 iters: 20\n");
    let ranks = hosts.iter().flat_map(|(host, each)| (0..*each).map(move |device| (host, device)));
    for (rank, (host, device)) in ranks.enumerate() {
        writeln!(text, "#  Rank {rank:2} Group  0 Pid 7 on {host} device {device} [0000:1b:00] NVIDIA H100")
            .expect("text");
    }
    text
}

/// The facts that stand in the logs, found apart from this reader.
/// Collective, ranks, hosts, rows, and the largest row's bytes, microseconds and GB/s.
type ExpectedRun = (TimedCollective, u32, u32, usize, (f64, f64, f64));

#[test]
fn each_log_s_runs_are_told() {
    use TimedCollective::{AllGather, AllReduce, AllToAll, ReduceScatter, SendReceive};
    let sixteen_gib = 17_179_869_184.0;
    let nearly = 17_179_868_160.0;
    let none = (0.0, 0.0, 0.0);
    let expected: [((&str, &str), &[ExpectedRun]); 9] = [
        (
            NODE,
            &[
                (AllReduce, 8, 1, 10, (sixteen_gib, 62340.7, 482.27)),
                (AllGather, 8, 1, 10, (sixteen_gib, 41542.0, 361.86)),
                (ReduceScatter, 8, 1, 10, (sixteen_gib, 41211.4, 364.76)),
                (AllToAll, 8, 1, 10, (sixteen_gib, 43193.3, 348.03)),
                (SendReceive, 8, 1, 10, (sixteen_gib, 46779.2, 367.25)),
            ],
        ),
        (
            TEN,
            &[
                (AllReduce, 80, 10, 10, (sixteen_gib, 105_854.0, 320.54)),
                (AllGather, 80, 10, 10, (nearly, 52314.1, 324.29)),
                (ReduceScatter, 80, 10, 10, (nearly, 52458.7, 323.4)),
                (AllToAll, 80, 10, 10, (nearly, 336_737.0, 50.38)),
                (SendReceive, 80, 10, 10, (sixteen_gib, 1_128_428.0, 15.22)),
            ],
        ),
        (
            PAIR,
            &[
                (AllToAll, 2, 2, 10, (sixteen_gib, 635_876.0, 13.51)),
                (SendReceive, 2, 2, 10, (sixteen_gib, 1_263_724.0, 13.59)),
            ],
        ),
        (CUT, &[(AllToAll, 2, 2, 10, (sixteen_gib, 633_962.0, 13.55)), (SendReceive, 2, 2, 0, none)]),
        (OLD_GATHER, &[(AllGather, 8, 1, 34, (8_589_934_592.0, 33646.0, 223.39))]),
        (OLD_REDUCE, &[(AllReduce, 8, 1, 34, (8_589_934_592.0, 63896.0, 235.26))]),
        (BATCH, &[(AllReduce, 8, 1, 32, (sixteen_gib, 62239.0, 483.05))]),
        (LABEL, &[(AllReduce, 16, 2, 29, (2_147_483_648.0, 51406.0, 78.33))]),
        (DGXC, &[(AllReduce, 8, 1, 32, (sixteen_gib, 62648.0, 479.9))]),
    ];
    for ((file, text), runs) in expected {
        let mut facts = Vec::new();
        for run in text::runs(file, text) {
            take_run(run, &on("h100-80gb-dgx"), LinkOptions::default(), &mut ImportReport::default(), &mut facts)
                .unwrap_or_else(|error| panic!("{error}"));
        }
        let found: Vec<ExpectedRun> = facts
            .iter()
            .map(|fact| {
                let spread = fact.spread.expect("ranks and hosts are told");
                let largest = fact.largest_bytes.zip(fact.largest_us).zip(fact.largest_busbw);
                let largest = largest.map_or(none, |((bytes, micros), bus)| (bytes, micros, bus));
                (fact.collective.expect("it is told"), spread.ranks, spread.hosts, fact.rows, largest)
            })
            .collect();
        assert_eq!(found, runs, "{file}");
    }
}

/// Worked out by hand in `synthetic`: what went in comes out.
#[test]
fn a_law_that_is_known_is_found_again() {
    let log = synthetic(&head("all_gather_perf", &[("one", 8)]), 8);
    let found = imported(&[("a.log", &log)], "h100-80gb-dgx", LinkOptions::default()).made;
    let measured = found.cluster.levels[0].measured.clone().expect("the node is measured");
    assert!((measured.bandwidth.get() / 300e9 - 1.0).abs() < 0.002, "{measured:?}");
    assert!((measured.latency.get() / 3e-6 - 1.0).abs() < 0.01, "{measured:?}");
    assert!(measured.ramp.is_none_or(|ramp| ramp.time.get() < 0.3e-6), "{measured:?}");
    assert_eq!(found.cluster.levels[1].measured, None);
    // 1 GiB: 29 us + 2^30 x 7/8 / 300 GB/s = 29 + 3131.7 us.
    let time = gather(&found, "h100-80gb-dgx", Group::new(1, 8), libm::exp2(30.0));
    assert!((time / 3160.7 - 1.0).abs() < 0.002, "{time}");
    // Four of the eight: 8 + 3 x 3 us + 2^30 x 3/4 / 300 GB/s = 17 + 2684.4 us.
    let time = gather(&found, "h100-80gb-dgx", Group::new(1, 4), libm::exp2(30.0));
    assert!((time / 2701.4 - 1.0).abs() < 0.002, "{time}");
}

/// One rank on each of two hosts: what one device sends into the level between nodes, over a single hop.
#[test]
fn ranks_on_hosts_of_their_own_measure_the_level_between_nodes() {
    let log = synthetic(&head("reduce_scatter_perf", &[("one", 1), ("two", 1)]), 2);
    let found = imported(&[("a.log", &log)], "h100-80gb-dgx", LinkOptions::default());
    let levels = &found.made.cluster.levels;
    let measured = levels[1].measured.clone().expect("the system is measured");
    assert_eq!(levels[0].measured, None);
    // 29 us less 8 to start; 300 GB/s as it went in.
    assert!((measured.latency.get() / 21e-6 - 1.0).abs() < 0.01, "{measured:?}");
    assert!((measured.bandwidth.get() / 300e9 - 1.0).abs() < 0.002, "{measured:?}");
    assert!(found.report.text().contains("one rank of each host ran"), "{}", found.report.text());
}

/// What `eval` takes for a gather on the imported cluster, beside each row of the log: 11 % off at most where the node's
/// logs have all sizes, 7 % where they begin at 32 MiB.
#[test]
fn the_times_of_a_log_come_out_again() {
    for (log, cluster, most) in [(OLD_GATHER, "a100-40gb-dgx", 0.11), (NODE, "h100-80gb-dgx", 0.07)] {
        let found = imported(&[log], cluster, LinkOptions::default()).made;
        let gathers = text::runs(log.0, log.1).into_iter().filter(|run| {
            matches!(run.collective(None), Some(TimedCollective::AllGather | TimedCollective::ReduceScatter))
        });
        let rows: Vec<BenchmarkRow> = gathers.flat_map(|run| run.rows).filter(|row| row.size > 0.0).collect();
        assert!(rows.len() >= 20, "{}", log.0);
        for row in rows {
            let time = gather(&found, cluster, Group::new(1, 8), row.size);
            assert!((time / row.micros - 1.0).abs() < most, "{}:{}: {time} for {}", log.0, row.line, row.micros);
        }
    }
}

/// 80 ranks on 10 hosts: rings through eight devices of each carry busbw / 8. From 512 MiB on the law is 15 % off at most.
#[test]
fn both_levels_are_measured_by_logs_of_both() {
    let found = imported(&[NODE, TEN], "h100-80gb-dgx", LinkOptions::default());
    let levels = &found.made.cluster.levels;
    assert!(levels.iter().all(|level| level.measured.is_some()));
    let reached = levels[1].measured.as_ref().expect("it is").bandwidth.get() / 1e9;
    assert!((36.0..42.0).contains(&reached), "{reached}");
    let source = &levels[1].measured.as_ref().expect("it is").source;
    assert!(source.contains("h100-n10-g8.log:") && source.contains("80 ranks on 10 hosts"), "{source}");
    for run in text::runs(TEN.0, TEN.1).into_iter().filter(|run| run.named == Some(TimedCollective::AllGather)) {
        for row in run.rows.iter().filter(|row| row.size > 5e8) {
            let time = gather(&found.made, "h100-80gb-dgx", Group::new(1, 80), row.size);
            assert!((time / row.micros - 1.0).abs() < 0.15, "{}: {time} for {}", row.line, row.micros);
        }
    }
    assert!(found.report.text().contains("leave each device"), "{}", found.report.text());
}

/// NVLink switches add up: an all-reduce passes more than the links carry, and counts only where that is asked for.
#[test]
fn all_reduces_count_only_where_that_is_asked_for() {
    for log in [DGXC, BATCH, OLD_REDUCE, LABEL] {
        assert!(refused(log.1, LinkOptions::default()).contains("--collective all-reduce"), "{}", log.0);
    }
    for (log, cluster) in [(DGXC, "h100-80gb-dgx"), (BATCH, "h100-80gb-dgx"), (OLD_REDUCE, "a100-40gb-dgx")] {
        let found = imported(&[log], cluster, ALL_REDUCE);
        let mut scenario = on(cluster);
        scenario.cluster = Arc::new(found.made.cluster.clone());
        let rates = Rates::new(&scenario, &Factors::default());
        let rows = text::runs(log.0, log.1).into_iter().flat_map(|run| run.rows);
        for row in rows.filter(|row| row.size >= 67_108_864.0) {
            let payload = Payload::plain(Count::new(row.size / 4.0), Format::Fp32);
            let time = rates.all_reduce(payload, Group::new(1, 8)).time.get() * 1e6;
            assert!((time / row.micros - 1.0).abs() < 0.1, "{}:{}: {time} for {}", log.0, row.line, row.micros);
        }
    }
    let label = imported(&[LABEL], "h100-80gb-dgx", ALL_REDUCE);
    assert!(label.report.text().contains("hosts = 2"), "{}", label.report.text());
}

#[test]
fn what_cannot_be_measured_is_refused_with_its_place() {
    let whole = synthetic(&head("all_gather_perf", &[("one", 8)]), 8);
    let last = whole.lines().last().expect("a row");
    let wrong = whole.replace(last, &last.replacen(" 0 ", " 3 ", 1));
    let in_place = last.strip_suffix('0').expect("its last count").to_owned() + "3";
    let in_place = whole.replace(last, &in_place);
    for (text, said) in [
        ("Test NCCL failure common.cu:954 'unhandled system error'".to_owned(), "holds no row"),
        (synthetic(&head("all_gather_perf", &[("one", 1)]), 2), "one rank alone sends nothing"),
        (synthetic(&head("all_gather_perf", &[("one", 4), ("two", 2)]), 6), "4 on one, 2 on two"),
        (wrong, "line 35 counts wrong results"),
        (in_place, "line 35 counts wrong results"),
        (synthetic(&head("all_gather_perf", &[("one", 16)]), 16), "16 ranks on each host do not fit"),
        (whole.lines().take(14).collect::<Vec<_>>().join("\n"), "no size of 1 MiB or more"),
        (PAIR.1.to_owned(), "all-to-all, send-recv"),
        (CUT.1.to_owned(), "no run of all-gather or reduce-scatter"),
    ] {
        assert!(
            refused(&text, LinkOptions::default()).contains(said),
            "{said}: {}",
            refused(&text, LinkOptions::default())
        );
    }
    // A head without rows beside a whole run is left out.
    let both = format!("{whole}\n{}", head("all_gather_perf", &[("one", 8)]));
    let found = imported(&[("a.log", &both)], "h100-80gb-dgx", LinkOptions::default());
    assert!(found.report.text().contains("its head alone is there"), "{}", found.report.text());
}

/// The same run behind what launchers print before a line, in colours, and with `-I`'s and `-S`'s columns.
#[test]
fn prefixes_and_further_columns_change_nothing() {
    let log = synthetic(&head("all_gather_perf", &[("one", 8)]), 8);
    let rows = |text: &str| -> Vec<(f64, f64)> {
        let runs = text::runs("a.log", text);
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].listed.len(), 8);
        runs[0].rows.iter().map(|row| (row.size, row.micros)).collect()
    };
    let plain = rows(&log);
    assert_eq!(plain.len(), 24);
    for prefix in ["0: ", "[1,0]<stdout>:", "   ", "\u{1b}[32m", "worker-0: 2026-01-02T03:04:05Z "] {
        let all: Vec<String> =
            log.lines().map(|line| format!("{prefix}{line}\nnode:1:1 [0] NCCL INFO Launch")).collect();
        assert_eq!(rows(&all.join("\n")), plain, "{prefix:?}");
    }
    let more = log
        .replace("#wrong", "#wrong i_min i_max i_p99 i_cv%")
        .replace(" 0\n", " 0 1.0 2.0 2.0 0.5 2026-01-02 03:04:05\n");
    assert_eq!(rows(&more), plain);
}

/// `-J` lists the first rank of each process; two processes of four devices each are eight ranks.
#[test]
fn json_is_read_as_the_log_is() {
    let process = |rank: u32| serde_json::json!({ "rank": rank, "group": 0, "hostname": "one", "device_info": "H100" });
    let row = |power: i32| {
        let size = libm::exp2(f64::from(power));
        let micros = 29.0 + size * 0.875 / 300e3;
        let body = serde_json::json!({
            "time": micros, "alg_bw": size / micros / 1e3, "bus_bw": size * 0.875 / micros / 1e3, "nwrong": 0.0,
        });
        serde_json::json!({ "size": size as u64, "count": 1, "type": "float", "redop": "none", "root": "    -1",
            "out_of_place": body, "in_place": body })
    };
    let document = serde_json::json!({
        "version": 2, "args": ["./build/all_gather_perf", "-J", "x.json"],
        "config": { "nthreads": 1, "ngpus": 4, "devices": [process(0), process(4)] },
        "results": (10..34).map(row).collect::<Vec<_>>(),
    });
    let found = imported(&[("a.json", &document.to_string())], "h100-80gb-dgx", LinkOptions::default()).made;
    assert_eq!(found.runs[0].spread, Some(RankSpread { ranks: 8, hosts: 1 }));
    let reached = found.cluster.levels[0].measured.as_ref().expect("it is measured").bandwidth.get();
    assert!((reached / 300e9 - 1.0).abs() < 0.002, "{reached}");
}

/// Of a long list the program leaves ranks out: 0 to 3 and 12 to 15 of four hosts of four are sixteen.
#[test]
fn ranks_that_are_not_listed_count() {
    let lines = |ranks: std::ops::Range<u32>, host: &str| {
        let line = |rank| format!("#  Rank {rank} Pid 1 on {host} device 0 [0x00] A100\n");
        ranks.map(line).collect::<Vec<_>>().concat()
    };
    let text = lines(0..4, "one") + "# ...\n" + &lines(12..16, "four");
    let runs = text::runs("a.log", &text);
    assert_eq!(runs[0].spread(), Ok(Some(RankSpread { ranks: 16, hosts: 4 })));
    // Groups run side by side: eight of two, each over two hosts.
    let line = |rank| format!("# Rank {rank} Group {} Pid 1 on host{} device 0 [0] H100\n", rank % 8, rank / 8);
    let split: Vec<String> = (0..16).map(line).collect();
    assert_eq!(text::runs("a.log", &split.concat())[0].spread(), Ok(Some(RankSpread { ranks: 2, hosts: 2 })));
}
/// Cut at each tenth, a byte changed, doubled: read or refused, and what is said is one line for each mistake.
#[test]
fn broken_logs_are_read_or_refused() {
    let base = on("h100-80gb-dgx");
    for (file, text) in [NODE, OLD_GATHER, OLD_REDUCE, BATCH, LABEL, DGXC, PAIR, CUT] {
        let cut = |tenth: usize| text.chars().take(text.len() * tenth / 10).collect::<String>();
        let changed = |at: usize| text.chars().enumerate().map(|(i, c)| if i % 97 == at { '7' } else { c }).collect();
        let versions = (0..10).map(cut).chain((0..5).map(changed)).chain([text.repeat(2), text.replace('0', "-")]);
        for version in versions {
            for options in [LinkOptions::default(), ALL_REDUCE] {
                match links(&[(file.to_owned(), version.clone())], &base, options) {
                    Ok(imported) => {
                        let cluster = imported.made.cluster;
                        assert_eq!(cluster.problems(), [], "{file}");
                    }
                    Err(errors) => assert!(!errors.is_empty() && !format!("{errors:?}").contains("NaN"), "{errors:?}"),
                }
            }
        }
    }
}
