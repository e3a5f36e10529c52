//! Captures of others, of which only sums are known, such as 840 ms of `server-think` in all exchanges.
//!
//! Nothing says when, so nothing is compared in time. What reports print is added up over the exchanges, and what takes
//! most of it is compared with what should.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use ackwise_capture::attribution::Confidence;
use ackwise_cause::Cause;

use super::case::{Amount, Recorded};
use super::compare::Claim;
use super::reading::{Said, Vantage};
use super::score::ms;

/// What was said of a capture, beside one amount.
#[derive(Clone, Debug)]
pub(super) struct Told {
    case: String,
    vantage: Vantage,
    amount: Amount,
    total: f64,
    /// Of the amount's causes, and of that with medium or high confidence.
    right: [f64; 2],
    /// What takes most of the time, in ms, and how sure most of that is.
    leads: Option<(Cause, f64, Confidence)>,
    faults: Vec<String>,
}

/// Beside each amount of a case.
pub(super) fn told(recorded: &Recorded, vantage: Vantage, said: &Said) -> Vec<Told> {
    let claims: Vec<Claim> = said.exchanges.iter().flat_map(|it| it.printed.clone()).collect();
    let told = |amount: &Amount| Told::of(&recorded.case.name, vantage, amount, &claims);
    recorded.truth.amounts.iter().map(told).collect()
}

impl Told {
    fn of(case: &str, vantage: Vantage, amount: &Amount, claims: &[Claim]) -> Self {
        let sum = |counts: &dyn Fn(&Claim) -> bool| {
            ms(claims.iter().filter(|it| counts(it)).map(|it| it.until - it.from).sum())
        };
        let total = sum(&|_| true);
        let right = [
            sum(&|it| admits(amount, it)),
            sum(&|it| admits(amount, it) && it.confidence >= Confidence::Medium),
        ];
        let mut spans: BTreeMap<(Cause, bool), u64> = BTreeMap::new();
        for it in claims {
            *spans.entry((it.cause, admits(amount, it))).or_default() += it.until - it.from;
        }
        let leads = spans.into_iter().max_by_key(|it| it.1).map(|((cause, admitted), span)| {
            let of_it = |it: &&Claim| it.cause == cause && admits(amount, it) == admitted;
            let longest = claims.iter().filter(of_it).max_by_key(|it| it.until - it.from);
            (cause, admitted, ms(span), longest.map_or(Confidence::Low, |it| it.confidence))
        });
        let mut faults = Vec::new();
        if amount.total_at_most_ms.is_some_and(|most| total > most) {
            faults.push(format!("{total:.1} ms in all"));
        }
        if let Some(expected) = amount.ms
            && (right[0] - expected).abs() > (expected * TOLERANCE).max(LEAST_TOLERANCE)
        {
            faults.push(format!("{:.1} ms of it", right[0]));
        }
        let named = !amount.causes.is_empty() && !amount.is_minor;
        match leads {
            Some((_, true, _, Confidence::Medium | Confidence::High)) => {}
            _ if named => faults.push("does not lead with medium or more".to_owned()),
            _ => {}
        }
        for name in &amount.never {
            let said = sum(&|it| it.cause.name() == name);
            if said > LEAST_TOLERANCE {
                faults.push(format!("{name} {said:.1} ms"));
            }
        }
        let sure = sum(&|it| {
            let doubted = amount.doubted.iter().any(|name| it.cause.name() == name);
            it.confidence == Confidence::High
                && (doubted || amount.never_high && admits(amount, it))
        });
        if sure > LEAST_TOLERANCE {
            faults.push(format!("{sure:.1} ms too sure"));
        }
        let leads = leads.map(|it| (it.0, it.2, it.3));
        Self { case: case.to_owned(), vantage, amount: amount.clone(), total, right, leads, faults }
    }
}

/// Whether what is said is part of the amount.
fn admits(amount: &Amount, claim: &Claim) -> bool {
    let name = claim.cause.name();
    let towards = amount.direction.as_ref().is_none_or(|it| claim.direction.name() == it);
    let doubted = claim.confidence < Confidence::High && amount.doubted.iter().any(|it| it == name);
    towards && (doubted || amount.causes.iter().any(|it| it == name))
}

/// One line for each capture and amount.
pub(super) fn text(all: &[Told]) -> String {
    let mut out = String::new();
    write(&mut out, all).expect("a string takes everything");
    out
}

fn write(out: &mut String, all: &[Told]) -> fmt::Result {
    let right = all.iter().filter(|it| it.faults.is_empty()).count();
    writeln!(out, "\nAMOUNTS: captures of others, as printed. {right} of {} are right", all.len())?;
    for it in all {
        let expected = it.amount.ms.map_or_else(String::new, |ms| format!(" {ms:.0} ms"));
        let leads = it.leads.map_or_else(
            || "no exchange".to_owned(),
            |(cause, ms, confidence)| format!("{cause} {ms:.0} ms, {}", confidence.name()),
        );
        let verdict = if it.faults.is_empty() { "right" } else { "WRONG" };
        writeln!(
            out,
            "  {:<20} {:<6} {verdict} true: {}{expected}; said {:.0} ms of it, {:.0} sure, of {:.0}; most is {leads}{}{}",
            it.case,
            it.vantage,
            it.amount.causes.join("/"),
            it.right[0],
            it.right[1],
            it.total,
            if it.faults.is_empty() { "" } else { ": " },
            it.faults.join(", "),
        )?;
    }
    Ok(())
}

/// What packets and a program's clock may differ by. Our choice.
const TOLERANCE: f64 = 0.15;
/// In ms. Our choice.
const LEAST_TOLERANCE: f64 = 5.0;

#[cfg(test)]
mod tests {
    use Confidence::{High, Medium};
    use ackwise_cause::Direction::{self, ToClient, ToServer};

    use ackwise_capture::attribution::Rule;

    use super::*;

    fn claim(
        from: u64,
        until: u64,
        cause: Cause,
        direction: Direction,
        confidence: Confidence,
    ) -> Claim {
        let [from, until] = [from, until].map(|it| it * 1_000_000);
        Claim { from, until, cause, direction, confidence, by: (Rule::Written, None) }
    }

    fn faults(amount: &Amount, claims: &[Claim]) -> usize {
        Told::of("case", Vantage::Client, amount, claims).faults.len()
    }

    #[test]
    fn an_amount_is_right_by_sum_lead_and_confidence() {
        let amount = Amount {
            causes: vec!["path-stall".to_owned()],
            doubted: vec!["server-think".to_owned()],
            ms: Some(100.0),
            ..Amount::default()
        };
        let stall = claim(0, 95, Cause::PathStall, ToServer, Medium);
        assert_eq!(faults(&amount, &[stall]), 0);
        assert_eq!(faults(&amount, &[claim(0, 95, Cause::ServerThink, ToClient, Medium)]), 0);
        // Neither the sum, nor the lead, and too sure.
        assert_eq!(faults(&amount, &[claim(0, 95, Cause::ServerThink, ToClient, High)]), 3);
        let most = Amount { total_at_most_ms: Some(90.0), ..Amount::default() };
        assert_eq!(faults(&most, &[stall]), 1);
        let never = Amount { never: vec!["path-stall".to_owned()], ..Amount::default() };
        assert_eq!(faults(&never, &[stall]), 1);
        let ours = Amount { direction: Some("to-client".to_owned()), ..amount };
        assert_eq!(faults(&ours, &[stall]), 2);
    }
}
