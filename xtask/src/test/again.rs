//! A test that failed runs once more, alone: a machine that takes a processor away for a moment fails a different test each
//! time. It is then listed as `FLAKY`, never counted as passed.

use super::tally::Tally;

/// More failures than this are no accident. Our choice.
const MOST: usize = 4;

/// The arguments of `cargo` to run what failed again, if it may; `all` are those of the first time.
pub(crate) fn arguments(all: &[String], tally: &Tally) -> Option<Vec<String>> {
    let failures = &tally.failures;
    // A test that took its process down is counted by none of the two.
    let all_are_named = failures.len() == tally.failed;
    if !(1..=MOST).contains(&failures.len()) || !all_are_named {
        return None;
    }
    let alone = ["--", "--test-threads=1", "--exact"].map(str::to_owned);
    Some(all.iter().cloned().chain(alone).chain(failures.iter().cloned()).collect())
}

/// Notes in `first` that its failures have passed in `second`; false if they have not.
pub(crate) fn settle(first: &mut Tally, second: &Tally) -> bool {
    if second.failed > 0 || second.passed < first.failures.len() {
        return false;
    }
    first.failed = 0;
    first.flaky.append(&mut first.failures);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(names: &[&str]) -> Tally {
        let failures: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        Tally { passed: 3, failed: failures.len(), failures, ..Tally::default() }
    }

    #[test]
    fn a_few_tests_run_again() {
        let all = ["test".to_owned()];
        let again = |tally: &Tally| arguments(&all, tally);
        let expected = ["test", "--", "--test-threads=1", "--exact", "cork", "nagle"];
        assert_eq!(again(&failed(&["cork", "nagle"])).unwrap_or_default(), expected);
        assert_eq!(again(&failed(&[])), None);
        assert_eq!(again(&failed(&["a", "b", "c", "d", "e"])), None, "no accident");
        assert_eq!(again(&Tally { failed: 2, ..failed(&["cork"]) }), None, "one crashed");
    }

    #[test]
    fn what_passes_alone_is_flaky_and_what_fails_again_has_failed() {
        let (mut first, second) = (failed(&["cork"]), Tally { passed: 1, ..Tally::default() });
        assert!(settle(&mut first, &second));
        assert_eq!((first.failed, first.flaky, first.passed), (0, vec!["cork".to_owned()], 3));
        let mut first = failed(&["cork"]);
        for second in [failed(&["cork"]), Tally::default()] {
            assert!(!settle(&mut first, &second));
            assert_eq!(first, failed(&["cork"]));
        }
    }
}
