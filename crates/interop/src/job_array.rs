//! A sweep as a job array of Slurm: each task computes one part, and `merge` makes the whole of them.

use shlex::Quoter;

/// A job array that computes a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobArray {
    /// The sweep's command line, word by word, without its part and its format.
    pub command: Vec<String>,
    /// How many parts, each a task.
    pub parts: u32,
    /// How many tasks run at a time.
    pub at_once: u32,
    /// How many cells the sweep has.
    pub cells: usize,
    /// Options of the job beside these, like `--partition=P`.
    pub options: Vec<String>,
}

/// The most parts: Slurm numbers tasks up to 1,000 unless its site says otherwise (`MaxArraySize` is 1,001).
pub const MOST_PARTS: u32 = 1000;

impl JobArray {
    /// How many parts make tasks of about a minute of one core: fewer cells are done before Slurm has started them.
    pub fn parts(cells: usize, tuned: bool) -> u32 {
        // Cells that one core computes in a minute, as measured: most of a plain sweep's time is arithmetic of known
        // length, while a tuned cell tries dozens of plans.
        let a_minute = if tuned { 100_000 } else { 3_000_000 };
        u32::try_from(cells.div_ceil(a_minute)).unwrap_or(MOST_PARTS).clamp(1, MOST_PARTS)
    }

    /// The script for `sbatch`; a word that no shell can hold is an error.
    pub fn script(&self) -> Result<String, shlex::QuoteError> {
        let Self { parts, at_once, cells, .. } = self;
        let command = Quoter::new().join(self.command.iter().map(String::as_str))?;
        // The count of parts stands in the command, not in the array, so that one part can be submitted again alone:
        // `sbatch --array=3` is still part 3 of 100.
        let last = parts - 1;
        let options = self.options.iter().fold(String::new(), |all, option| all + "#SBATCH " + option + "\n");
        Ok(format!(
            r#"#!/bin/bash
# A sweep of {cells} cells as a job array of {parts} tasks, for Slurm 22.05 and later, by shardscope {version}.
# What else the site asks for goes beside it: sbatch --time 10 sweep.sbatch
{options}#SBATCH --job-name=shardscope-sweep
#SBATCH --array=0-{last}%{at_once}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --output=part-%a.log
set -euo pipefail

# A part gets its name when it is whole: what a kill leaves behind is no part.
part=part-$SLURM_ARRAY_TASK_ID.csv
{command} \
    --part "$SLURM_ARRAY_TASK_ID/{parts}" --format csv --threads 1 > "$part.unfinished"
mv "$part.unfinished" "$part"

# When all tasks have ended: shardscope merge part-*.csv --out sweep.csv
# It names the parts that are missing, like 3/{parts}; then: sbatch --array=3 sweep.sbatch, and merge again.
"#,
            version = env!("CARGO_PKG_VERSION"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_worth_a_minute_and_there_are_at_most_a_thousand() {
        // 100 x 100 plain cells take a second; 10^8 / 3e6 = 33.3; 10^7 / 1e5 = 100 tuned.
        assert_eq!(JobArray::parts(10_000, false), 1);
        assert_eq!(JobArray::parts(100_000_000, false), 34);
        assert_eq!(JobArray::parts(10_000_000, true), 100);
        assert_eq!(JobArray::parts(4_000_000_000, true), MOST_PARTS);
    }

    #[test]
    fn words_reach_the_command_as_they_are() {
        let words = ["shardscope", "sweep", "--global-batch", "4M tokens", "--presets", "it's; rm -r $HOME"];
        let command = words.map(str::to_owned).to_vec();
        let script = JobArray { command, parts: 7, at_once: 3, cells: 100, options: vec!["--partition=p".to_owned()] }
            .script()
            .expect("a script");
        let line = script.lines().find(|line| line.starts_with("shardscope sweep")).expect("the command");
        let read = shlex::split(line.trim_end_matches('\\')).expect("words");
        assert_eq!(read, words);
        assert!(
            script.contains("#SBATCH --partition=p\n#SBATCH --job-name")
                && script.contains("#SBATCH --array=0-6%3\n")
                && script.contains("$SLURM_ARRAY_TASK_ID/7\""),
            "{script}"
        );
    }
}
