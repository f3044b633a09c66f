//! A sweep as a Slurm job array: each task computes one part, and `merge` joins the parts.

use crate::FileText;
use shardscope_library::text::shell::ShellCode;

/// A job array that computes a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobArray {
    /// The sweep's arguments, without its part and its format.
    pub command: Vec<String>,
    /// Number of parts, one task each.
    pub parts: u32,
    /// Number of tasks that run at a time.
    pub at_once: u32,
    /// Number of cells in the sweep.
    pub cells: usize,
    /// Other options of the job, like `partition`, and their values.
    pub options: Vec<(&'static str, String)>,
}

/// The most parts: Slurm's task ids end at 1,000 unless the site says otherwise (`MaxArraySize` is 1,001).
pub const MOST_PARTS: u32 = 1000;

impl JobArray {
    /// Number of parts for tasks of about a minute on one core; smaller tasks run for less time than they take to start.
    pub fn parts(cells: usize, tuned: bool) -> u32 {
        // Cells per core and minute, measured: a plain cell is arithmetic of known length, a tuned one tries dozens of
        // plans.
        let a_minute = if tuned { 100_000 } else { 3_000_000 };
        u32::try_from(cells.div_ceil(a_minute)).unwrap_or(MOST_PARTS).clamp(1, MOST_PARTS)
    }

    /// The script for `sbatch`; an argument that no script can hold is an error.
    pub fn script(&self) -> Result<FileText, String> {
        let Self { parts, at_once, cells, .. } = self;
        let about = format!("A sweep of {cells} cells as a job array of {parts} tasks, for Slurm 22.05 and later");
        let script = ShellCode::default()
            .code("#!/bin/bash\n")
            .comments([format!("{about}, by shardscope {}.", env!("CARGO_PKG_VERSION"))])
            .code("# What else the site asks for goes beside it: sbatch --time 10 sweep.sbatch\n");
        let script = self.options.iter().fold(script, |script, (option, value)| script.sbatch(option, value));
        let script = script
            .sbatch("job-name", "shardscope-sweep")
            .sbatch("array", format!("0-{}%{at_once}", parts - 1))
            .code(BEFORE);
        let command = self.command.iter().fold(script, |script, word| script.code(" ").word(word));
        // The number of parts is in the command, not in the array, so that one part can be submitted again alone:
        // `sbatch --array=3` is still part 3 of 100.
        let script = command.code(" \\\n    --part \"$SLURM_ARRAY_TASK_ID/\"").word(parts).code(BEHIND);
        let missing =
            format!("It names the parts that are missing, like 3/{parts}; then: sbatch --array=3 sweep.sbatch");
        FileText::shell(script.comments([missing + ", and merge again."]))
    }
}

/// Script text before the sweep's arguments, and after `--part`.
const BEFORE: &str = r"#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --output=part-%a.log
set -euo pipefail

# A part gets its name when it is whole: what a kill leaves behind is no part.
part=part-$SLURM_ARRAY_TASK_ID.csv
shardscope";
const BEHIND: &str = r#" --format csv --threads 1 > "$part.unfinished"
mv "$part.unfinished" "$part"

# When all tasks have ended: shardscope merge part-*.csv --out sweep.csv
"#;

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
        let words = ["sweep", "--global-batch", "4M tokens", "--presets", "it's; rm -r $HOME"];
        let command = words.map(str::to_owned).to_vec();
        let script =
            JobArray { command, parts: 7, at_once: 3, cells: 100, options: vec![("partition", "p".to_owned())] }
                .script()
                .expect("a script");
        let script = script.as_str();
        let line = script.lines().find(|line| line.starts_with("shardscope sweep")).expect("the command");
        let read = shlex::split(line.trim_end_matches('\\')).expect("words");
        assert_eq!(read[1..], words);
        assert!(
            script.contains("#SBATCH --partition=p\n#SBATCH --job-name")
                && script.contains("#SBATCH --array=0-6%3\n")
                && script.contains("--part \"$SLURM_ARRAY_TASK_ID/\"7 "),
            "{script}"
        );
    }
}
