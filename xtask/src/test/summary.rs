//! Summary and exit code of `cargo xtask test`.

use std::fmt;
use std::time::Duration;

use super::tally::Tally;

/// How a step ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    Passed,
    /// With the reason.
    Failed(String),
    /// With what is missing and how to install it.
    Skipped(String),
    /// With the reason why there was nothing to run. No test is missing, so it is not counted.
    NotRun(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => write!(f, "ok"),
            Self::Failed(why) => write!(f, "FAILED ({why})"),
            Self::Skipped(missing) => write!(f, "skipped ({missing})"),
            Self::NotRun(why) => write!(f, "not run ({why})"),
        }
    }
}

/// One step in the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) step: &'static str,
    pub(crate) took: Duration,
    /// User and system time of its commands.
    pub(crate) cpu: Duration,
    pub(crate) verdict: Outcome,
    /// Results of its test runs; empty for a step without tests.
    pub(crate) tests: Tally,
}

impl Row {
    /// A step that failed without a failed test counts as one failure, so that no failure is shown
    /// as 0.
    fn failures(&self) -> usize {
        self.tests.failed.max(usize::from(matches!(self.verdict, Outcome::Failed(_))))
    }
}

/// The complete results.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) rows: Vec<Row>,
    /// The lines of tests that were skipped or inconclusive. libtest counts these as passed.
    pub(crate) excused_tests: Vec<String>,
}

impl Summary {
    /// 0: all passed, 1: failures, 2: skipped tests.
    #[expect(clippy::fn_params_excessive_bools, reason = "an option of the command line")]
    pub(crate) fn exit_code(&self, allow_skips: bool) -> u8 {
        if self.failed() > 0 {
            1
        } else if !self.skipped().is_empty() && !allow_skips {
            2
        } else {
            0
        }
    }

    /// The last line counts tests; CI parses it, so its wording is fixed.
    pub(crate) fn print(&self) {
        println!("\n{:<8} {:>8} {:>8}  result", "step", "wall s", "cpu s");
        for Row { step, took, cpu, verdict, tests: _ } in &self.rows {
            let (wall, cpu) = (took.as_secs_f64(), cpu.as_secs_f64());
            println!("{step:<8} {wall:>8.1} {cpu:>8.1}  {verdict}");
        }
        for name in self.rows.iter().flat_map(|row| &row.tests.failures) {
            println!("FAILED {name}");
        }
        for name in self.rows.iter().flat_map(|row| &row.tests.flaky) {
            println!(
                "FLAKY {name}: failed, then passed alone; counted neither as passed nor failed"
            );
        }
        let skipped = self.skipped();
        for line in skipped.iter().chain(self.inconclusive()) {
            println!("{line}");
        }
        println!("\n{}", self.last_line());
    }

    fn last_line(&self) -> String {
        let passed: usize = self.rows.iter().map(|row| row.tests.passed).sum();
        let passed = passed.saturating_sub(self.excused_tests.len());
        format!("{passed} passed, {} failed, {} skipped", self.failed(), self.skipped().len())
    }

    fn failed(&self) -> usize {
        self.rows.iter().map(Row::failures).sum()
    }

    fn skipped(&self) -> Vec<String> {
        let ignored = self.rows.iter().flat_map(|row| &row.tests.ignored);
        let ignored = ignored.map(|name| format!("SKIPPED {name}: ignored"));
        let steps = self.rows.iter().filter_map(|row| match &row.verdict {
            Outcome::Skipped(missing) => Some(format!("SKIPPED step {}: {missing}", row.step)),
            _ => None,
        });
        let tests = self.excused_tests.iter().filter(|line| !is_inconclusive(line)).cloned();
        tests.chain(ignored).chain(steps).collect()
    }

    /// Tests that ran, but were inconclusive because the machine was busy. Not counted as passed,
    /// failed or skipped.
    fn inconclusive(&self) -> impl Iterator<Item = &String> {
        self.excused_tests.iter().filter(|line| is_inconclusive(line))
    }
}

fn is_inconclusive(line: &str) -> bool {
    line.starts_with("INCONCLUSIVE ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdict: Outcome, passed: usize, failed: usize) -> Row {
        let tests = Tally { passed, failed, ..Tally::default() };
        let (took, cpu) = (Duration::from_secs(1), Duration::from_secs(1));
        Row { step: "test", took, cpu, verdict, tests }
    }

    fn summary(rows: Vec<Row>, skips: &[&str]) -> Summary {
        Summary { rows, excused_tests: skips.iter().map(|line| (*line).to_owned()).collect() }
    }

    fn failed() -> Outcome {
        Outcome::Failed("exit status: 101".to_owned())
    }

    #[test]
    fn a_skipped_test_does_not_count_as_passed() {
        let summary = summary(vec![row(Outcome::Passed, 12, 0)], &["SKIPPED tun: needs root"]);
        assert_eq!(summary.last_line(), "11 passed, 0 failed, 1 skipped");
        assert_eq!(summary.exit_code(false), 2);
        assert_eq!(summary.exit_code(true), 0);
    }

    #[test]
    fn a_test_that_was_always_disturbed_neither_passes_nor_fails() {
        let summary = summary(vec![row(Outcome::Passed, 12, 0)], &["INCONCLUSIVE cork: too busy"]);
        assert_eq!(summary.last_line(), "11 passed, 0 failed, 0 skipped");
        assert_eq!(summary.exit_code(false), 0);
    }

    #[test]
    fn a_failed_step_without_a_failed_test_counts_as_one() {
        let rows = vec![row(failed(), 0, 0), row(failed(), 12, 3), row(Outcome::Passed, 5, 0)];
        let summary = summary(rows, &[]);
        assert_eq!(summary.last_line(), "17 passed, 4 failed, 0 skipped");
        assert_eq!(summary.exit_code(true), 1);
    }

    #[test]
    fn an_ignored_test_is_a_skip_by_name() {
        let mut row = row(Outcome::Passed, 1, 0);
        row.tests.ignored.push("slow::million_packets".to_owned());
        let summary = summary(vec![row], &[]);
        assert_eq!(summary.skipped(), ["SKIPPED slow::million_packets: ignored"]);
    }

    #[test]
    fn a_step_that_could_not_run_is_a_skip_by_name() {
        let missing = Outcome::Skipped("rustup toolchain install nightly".to_owned());
        let summary = summary(vec![row(missing, 0, 0)], &[]);
        assert_eq!(summary.skipped(), ["SKIPPED step test: rustup toolchain install nightly"]);
        assert_eq!(summary.exit_code(false), 2);
    }

    #[test]
    fn a_step_that_had_nothing_to_run_is_no_skip() {
        let rows = vec![row(Outcome::NotRun("set BASE".to_owned()), 0, 0)];
        let summary = summary(rows, &[]);
        assert_eq!(summary.last_line(), "0 passed, 0 failed, 0 skipped");
        assert_eq!(summary.exit_code(false), 0);
    }
}
