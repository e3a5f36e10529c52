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
        let losses: Vec<_> = failed.iter().map(|it| loss(it)).collect();
        format!("{who} {}{}", losses.join(" and "), change(worst))
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

fn loss(finding: &Finding) -> String {
    match finding.cost_ms {
        Some(cost) => format!("loses {} per response to {}", milliseconds(cost), finding.id),
        None => format!("fails {}", finding.id),
    }
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
            "http://127.0.0.1:8080/ loses 40.2 ms per response to nagle-delayed-ack; to remove it: Set \
             TCP_NODELAY on the accepted socket. One question stays open."
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
