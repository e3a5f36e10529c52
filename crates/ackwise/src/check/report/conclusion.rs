//! The one sentence that stands above everything else.

use super::{Report, escape, layout::milliseconds, pages, title};
use crate::check::card::{Card, Finding, Verdict};

pub(super) fn of(report: &Report) -> String {
    let sentences: Vec<_> = match &report.cards[..] {
        [] => vec!["Nothing was checked.".to_owned()],
        cards => cards.iter().map(of_card).collect(),
    };
    let gain = pages::gain(&report.pages);
    sentences.into_iter().chain(gain).collect::<Vec<_>>().join(" ")
}

fn of_card(card: &Card) -> String {
    let with = |verdict| card.findings.iter().filter(move |it| it.verdict == verdict);
    let who = match card.server {
        Some(_) => format!("The {}", title(card)),
        None => title(card),
    };
    let mut failed: Vec<_> = with(Verdict::Fail).collect();
    failed.sort_by(|a, b| b.cost_ms.unwrap_or(0.0).total_cmp(&a.cost_ms.unwrap_or(0.0)));
    let warned: Vec<_> = with(Verdict::Warn).map(|it| it.id.as_str()).collect();

    let verdict = if let [worst, ..] = failed[..] {
        format!("{who} {}{}", losses(&failed), change(worst))
    } else if warned.is_empty() {
        format!("{who} has nothing to remove.")
    } else {
        format!("{who} loses no time here; worth a look: {}.", warned.join(", "))
    };
    match with(Verdict::Unknown).count() {
        // The built-in servers are there to be compared, and their card says what stays open.
        _ if card.server.is_some() => verdict,
        0 => verdict,
        1 => format!("{verdict} One question stays open."),
        n => format!("{verdict} {n} questions stay open."),
    }
}

/// What was lost per response, the dearest first, and what was wrong without a cost.
fn losses(failed: &[&Finding]) -> String {
    let costs = failed.iter().filter_map(|it| Some((milliseconds(it.cost_ms?), it.id)));
    let lost = costs.enumerate().map(|(index, (cost, id))| match index {
        0 => format!("loses {cost} per response to {id}"),
        _ => format!("{cost} to {id}"),
    });
    let wrong =
        failed.iter().filter(|it| it.cost_ms.is_none()).map(|it| format!("fails {}", it.id));
    lost.chain(wrong).collect::<Vec<_>>().join(" and ")
}

/// What to change, as far as one sentence carries it; the rest stands with the finding.
fn change(finding: &Finding) -> String {
    let Some(remedy) = finding.remedy.as_deref() else { return ".".to_owned() };
    let first_line = remedy.lines().next().unwrap_or_default();
    let sentence = first_line.split_inclusive(". ").next().unwrap_or_default();
    let sentence = sentence.trim_end().trim_end_matches('.');
    format!("; to remove it: {}.", escape::controls(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::report::sample;

    #[test]
    fn it_says_what_costs_how_much_and_what_to_change() {
        assert_eq!(
            of(&sample::one_card()),
            "http://127.0.0.1:8080/ loses 40.2 ms per response to nagle-delayed-ack; to remove it: set \
             TCP_NODELAY on accepted connections. One question stays open."
        );
    }

    #[test]
    fn losses_come_before_wrong_answers() {
        let mut report = sample::one_card();
        for finding in &mut report.cards[0].findings {
            finding.verdict = Verdict::Fail;
        }
        report.cards[0].findings[0].cost_ms = Some(200.0);
        let losses = losses(&report.cards[0].findings.iter().collect::<Vec<_>>());
        assert_eq!(
            losses,
            "loses 200.0 ms per response to split-head and 40.2 ms to nagle-delayed-ack and fails \
             short-initial-segment and fails send-buffer and fails pipelining"
        );
    }

    #[test]
    fn a_good_server_is_told_so() {
        let mut report = sample::one_card();
        for finding in &mut report.cards[0].findings {
            finding.verdict = Verdict::Pass;
        }
        assert_eq!(of(&report), "http://127.0.0.1:8080/ has nothing to remove.");
    }

    #[test]
    fn a_warning_is_no_loss() {
        let mut report = sample::one_card();
        report.cards[0].findings.retain(|finding| finding.verdict == Verdict::Warn);
        assert_eq!(
            of(&report),
            "http://127.0.0.1:8080/ loses no time here; worth a look: split-head."
        );
    }
}
