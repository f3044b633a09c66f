fn main() {
    let library = shardscope_presets::library();
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let (rows, bad) = shardscope_evidence::measured::read(&path, &text);
        let (cases, skipped) = shardscope_evidence::measured::cases(&rows, &library);
        for one in bad.iter().chain(&skipped) {
            println!("{one:?}");
        }
        for case in cases {
            println!(
                "{} {:?} {:?} {:?} {} {:?}",
                case.row.id(),
                case.assumed,
                case.step_time,
                case.peak,
                case.more,
                case.scenarios.iter().map(|s| (&s.plan, &s.stack, &s.strategy, &s.model)).collect::<Vec<_>>()
            );
        }
    }
}
