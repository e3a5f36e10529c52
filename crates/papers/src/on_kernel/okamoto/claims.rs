//! What the paper says of the schemes, at one proxy; and what its manager alone gives (scheme 3 beside 1).
//!
//! By the intervals of ratios over seeds, as in the simulator (`crates/papers/src/okamoto/claims.rs`).

use crate::{
    interval::{Interval, Lies},
    okamoto::{
        ratio::{MUCH, Place},
        sweep::Sweep,
    },
    on_kernel::{KernelClaim, OnKernelVerdict},
};

/// What is compared.
#[derive(Clone, Copy)]
enum Of {
    /// Figure 4's measure.
    Bytes,
    /// Figure 5's.
    Times,
}

/// What a ratio should be.
#[derive(Clone, Copy)]
enum Should {
    More,
    /// More than this many times.
    Above(f64),
    Below(f64),
    Little,
}

/// One scheme for another, at a number of clients.
type Test = (Of, Place<'static>, Place<'static>, Should);

struct Sentence {
    id: &'static str,
    text: &'static str,
    tests: Vec<Test>,
}

/// All claims at one proxy.
pub(super) fn claims(relay: &str, sweep: &Sweep) -> Vec<KernelClaim> {
    let decide = |sentence: Sentence| {
        let (on_kernel, because) = judge(&sentence.tests, sweep);
        let id = format!("okamoto {} ({relay})", sentence.id);
        KernelClaim { id: id.into(), text: sentence.text.into(), on_kernel, because }
    };
    sentences().into_iter().map(decide).collect()
}

/// All points must hold, and one that does not is enough against it. A point that was not run leaves it open.
fn judge(tests: &[Test], sweep: &Sweep) -> (OnKernelVerdict, String) {
    use OnKernelVerdict::{DoesNotHold, Holds, NotRun, Undecided};
    let points = tests.iter().map(|&(of, one, other, should)| {
        let ratio = match of {
            Of::Bytes => sweep.bytes(one, other),
            Of::Times => sweep.times(one, other),
        };
        let words = words(of, one, other);
        let Some(ratio) = ratio else { return (NotRun, format!("{words}: not run")) };
        let (lies, wanted) = lies(ratio, should);
        let verdict = match lies {
            Lies::Within => Holds,
            Lies::Without => DoesNotHold,
            Lies::Across => Undecided,
        };
        (verdict, format!("{words}: {} ({wanted})", spread(ratio)))
    });
    let (verdicts, because): (Vec<_>, Vec<_>) = points.unzip();
    let all = |verdict| verdicts.iter().all(|it| *it == verdict);
    let verdict = match () {
        () if all(NotRun) => NotRun,
        () if verdicts.contains(&DoesNotHold) => DoesNotHold,
        () if all(Holds) => Holds,
        () => Undecided,
    };
    (verdict, because.join("; "))
}

fn lies(ratio: Interval, should: Should) -> (Lies, String) {
    match should {
        Should::More => (ratio.more_than_the_other(), "must be above 1".to_owned()),
        Should::Above(least) => (ratio.above(least), format!("must be above {least}")),
        Should::Below(most) => (ratio.below(most), format!("must be below {most:.2}")),
        Should::Little => (ratio.near(1.0, 0.05), "must be within 5 % of 1".to_owned()),
    }
}

fn spread(ratio: Interval) -> String {
    match ratio.low.is_finite() {
        true => format!("{:.2} [{:.2}, {:.2}]", ratio.mean, ratio.low, ratio.high),
        false => format!("{:.2}, one run", ratio.mean),
    }
}

fn words(of: Of, one: Place<'_>, other: Place<'_>) -> String {
    let of = match of {
        Of::Bytes => "bytes",
        Of::Times => "times",
    };
    match one.0 == other.0 {
        true => format!("{of} {}/{} at {}", one.1, other.1, one.0),
        false => format!("{of} at {}/{}, scheme {}", one.0, other.0, one.1),
    }
}

fn sentences() -> Vec<Sentence> {
    use Of::{Bytes, Times};
    let all = |of, one, other, should| {
        [50, 100, 200, 500].map(|n| (of, (n, one), (n, other), should)).to_vec()
    };
    let less: Should = Should::Below(1.0);
    let sentence = |id, text, tests| Sentence { id, text, tests };
    vec![
        sentence(
            "scheme-1-falls",
            "The original scheme moves less with more clients.",
            vec![(Bytes, (500, "1"), (200, "1"), less)],
        ),
        sentence(
            "scheme-2-better",
            "E2-ATBT moves more than the original scheme, with any number of clients.",
            all(Bytes, "2", "1", Should::More),
        ),
        sentence(
            "scheme-3-significantly-better",
            "With connection management it moves significantly more, especially with many clients.",
            vec![(Bytes, (500, "3"), (500, "2"), Should::Above(MUCH))],
        ),
        sentence(
            "scheme-4-better-for-few",
            "Shrinking the buffers of idle connections moves more, especially with few clients.",
            vec![(Bytes, (50, "4"), (50, "3"), Should::More)],
        ),
        sentence(
            "scheme-4-little-for-many",
            "With many clients, shrinking them improves little.",
            vec![(Bytes, (500, "4"), (500, "3"), Should::Little)],
        ),
        sentence(
            "no-help-at-50",
            "With 50 clients, no scheme improves the response time.",
            ["2", "3", "4"].map(|it| (Times, (50, it), (50, "1"), Should::Little)).to_vec(),
        ),
        sentence(
            "response-time-much-improved",
            "With 100, 200 and 500 clients, the response time is much improved.",
            all(Times, "4", "1", Should::Below(1.0 / MUCH))[1..].to_vec(),
        ),
        sentence(
            "little-between-3-and-4",
            "The response times of schemes 3 and 4 differ little.",
            all(Times, "4", "3", Should::Little),
        ),
        sentence(
            "manager-alone-bytes",
            "Scheme 3 alone moves more than scheme 1 (ours, not the paper's).",
            all(Bytes, "3", "1", Should::More),
        ),
        sentence(
            "manager-alone-times",
            "Scheme 3 alone answers faster than scheme 1 (ours, not the paper's).",
            all(Times, "3", "1", less),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use ackwise_sim::measure::ProxyMeasures;

    use super::*;
    use crate::okamoto::sweep::Run;

    fn sweep(bytes: &[(&str, [u64; 3])]) -> Sweep {
        let mut sweep = Sweep::default();
        for (scheme, runs) in bytes {
            for bytes_to_clients in *runs {
                let proxy = ProxyMeasures { bytes_to_clients, ..ProxyMeasures::default() };
                sweep.push(500, scheme, Run::of_proxy(proxy, 1));
            }
        }
        sweep
    }

    fn verdict(sweep: &Sweep, id: &str) -> OnKernelVerdict {
        let all = claims("x", sweep);
        all.iter().find(|it| it.id == format!("okamoto {id} (x)")).unwrap().on_kernel
    }

    #[test]
    fn a_claim_holds_does_not_is_open_or_was_not_run() {
        use OnKernelVerdict::{DoesNotHold, Holds, NotRun, Undecided};
        let clear = sweep(&[("2", [100, 101, 99]), ("3", [200, 203, 197]), ("4", [200, 203, 197])]);
        assert_eq!(verdict(&clear, "scheme-3-significantly-better"), Holds);
        assert_eq!(verdict(&clear, "scheme-4-little-for-many"), Holds);
        assert_eq!(verdict(&clear, "no-help-at-50"), NotRun);
        let one_point = sweep(&[("1", [100, 101, 99]), ("3", [200, 203, 197])]);
        assert_eq!(verdict(&one_point, "manager-alone-bytes"), Undecided, "at 500 clients alone");
        let same = sweep(&[("2", [100, 101, 99]), ("3", [100, 100, 101])]);
        assert_eq!(verdict(&same, "scheme-3-significantly-better"), DoesNotHold);
        let wide = sweep(&[("2", [100, 300, 50]), ("3", [200, 200, 200])]);
        assert_eq!(verdict(&wide, "scheme-3-significantly-better"), Undecided);
    }
}
