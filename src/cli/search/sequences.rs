//! `search --objective sequence`: the longest sequence that fits, and the fastest plan of each length.

use std::time::Instant;

use shardscope_engine::evaluate::Workspace;
use shardscope_engine::search::plans::PlanSearch;
use shardscope_engine::search::sequences::{SequenceAnswer, SequenceSearch};
use shardscope_engine::search::{self, Cancel, Evaluator};
use shardscope_engine::units::Seconds;
use shardscope_library::command;
use shardscope_report::figures::{SequenceReport, tried_words};

use crate::app::answers::launchers::RUNS_IN;
use crate::cli::args::SearchArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::session::Session;
use crate::cli::{files, interrupt, log, output, progress};

pub fn run(session: &Session, plans: PlanSearch, arguments: &SearchArgs) -> Result<Exit, Failure> {
    let search = SequenceSearch { plans };
    let start = Instant::now();
    let cancel = Cancel::default();
    interrupt::cancels(&cancel);
    let answer = answer(session, &search, &cancel)?;
    let time = Seconds::new(start.elapsed().as_secs_f64());
    if !answer.exact {
        output::warning(&"interrupted: these are the lengths so far");
    }
    let longest = answer.longest().map(|longest| &longest.found.scenario);
    let evaluation = longest.map(|scenario| search::full(scenario, &mut Workspace::default())).transpose()?;
    let commands: Vec<Option<String>> =
        answer.lengths.iter().map(|length| command::eval(&session.library, &length.found.scenario)).collect();
    let report = SequenceReport {
        search: &search,
        answer: &answer,
        evaluation: evaluation.as_ref(),
        commands: &commands,
        runs_in: RUNS_IN,
        time,
    };
    output::table(arguments.format, || report.text(), || report.csv(), || report.json())?;
    if let Some((file, best)) = arguments.out.as_ref().zip(longest) {
        let text = session.library.file(best).to_toml().map_err(Failure::unwritten)?;
        files::write(&[(file.clone(), &text)], arguments.force)?;
    }
    interrupt::ends(&cancel);
    Ok(if answer.lengths.is_empty() { Exit::DoesNotFit } else { Exit::Done })
}

fn answer(session: &Session, search: &SequenceSearch, cancel: &Cancel) -> Result<SequenceAnswer, Failure> {
    let pool = session.pool()?;
    log::line(&format!("searching lengths on {} threads", pool.current_num_threads()));
    let waiting = progress::waiting("searching lengths; Ctrl-C prints those so far", &session.options);
    let answer = search.run(&Evaluator::new(&pool, cancel), &mut |so_far| waiting.set_message(tried_words(so_far)));
    waiting.finish_and_clear();
    Ok(answer)
}
