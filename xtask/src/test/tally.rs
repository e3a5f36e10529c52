//! Counts tests in the output of `cargo test`, and records relevant names.

/// Total of the test runs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Names of the tests that failed.
    pub(crate) failures: Vec<String>,
    /// Names of the tests that failed and then passed alone ([`again`](super::again)).
    pub(crate) flaky: Vec<String>,
    /// Names of the tests that libtest did not run.
    pub(crate) ignored: Vec<String>,
}

impl Tally {
    /// Processes one line of output. Returns the name of a failed test, if the line reports one.
    pub(crate) fn on_line<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        if let Some(summary) = line.strip_prefix("test result: ") {
            self.passed += count(summary, "passed");
            self.failed += count(summary, "failed");
        } else if let Some((name, verdict)) = named_verdict(line) {
            match verdict {
                "FAILED" => {
                    self.failures.push(name.to_owned());
                    return Some(name);
                }
                // "ignored, REASON" if the attribute has a reason.
                _ if verdict.starts_with("ignored") => self.ignored.push(name.to_owned()),
                _ => {}
            }
        }
        None
    }

    /// Adds another program's results.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.flaky.extend(other.flaky);
        self.ignored.extend(other.ignored);
    }
}

/// The number before `word` in `ok. 12 passed; 0 failed; …`.
fn count(summary: &str, word: &str) -> usize {
    let number = |part: &str| part.strip_suffix(word)?.trim().parse().ok();
    summary.split(['.', ';']).find_map(number).unwrap_or(0)
}

/// `test NAME ... VERDICT`.
fn named_verdict(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.rsplit_once(" ... ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 3 tests
test close::sends_fin ... ok
test nagle::holds_the_last_segment ... FAILED
test slow::million_packets ... ignored, takes an hour

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

running 12 tests
test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 12.40s
";

    #[test]
    fn adds_up_all_runs_and_keeps_the_names() {
        let mut tally = Tally::default();
        let failed: Vec<_> = OUTPUT.lines().filter_map(|line| tally.on_line(line)).collect();
        assert_eq!(failed, ["nagle::holds_the_last_segment"]);
        assert_eq!(
            tally,
            Tally {
                passed: 13,
                failed: 1,
                failures: vec!["nagle::holds_the_last_segment".to_owned()],
                flaky: Vec::new(),
                ignored: vec!["slow::million_packets".to_owned()],
            }
        );
    }

    #[test]
    fn other_lines_change_nothing() {
        let mut tally = Tally::default();
        for line in ["test result: ", "test", "testing 5 passed", "error: 3 failed", ""] {
            assert_eq!(tally.on_line(line), None);
        }
        assert_eq!(tally, Tally::default());
    }
}
