//! What `check` prints: one [`Report`], and one [`Exporter`] per format.
//!
//! An exporter returns the whole document instead of writing piece by piece, so that whoever prints
//! it prints all or nothing: nobody ever reads half a JSON. Nothing here decides a verdict.

mod conclusion;
mod json;
mod junit;
mod markdown;
mod pages;
#[cfg(test)]
pub(crate) mod sample;
mod stalls;
mod text;

pub use json::{Document, Json};
pub use junit::Junit;
pub use markdown::Markdown;
pub use text::Text;

use std::collections::BTreeSet;

use ackwise_text::{Name, escape};

use super::{
    baseline::Baseline,
    card::{BuiltIn, Card, CheckId, Finding, Protocol, Reason, Verdict},
    page_times::PageTimes,
};

/// Everything that one run of `check` has to say.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One card per server.
    pub cards: Vec<Card>,
    /// What pages cost at the built-in servers; empty when the user's own server was checked.
    pub pages: Vec<PageTimes>,
    /// Where the built-in servers differ from what they must show; empty is as it should be.
    pub surprises: Vec<String>,
    /// What was found earlier, and counts no more.
    pub baseline: Option<Baseline>,
}

impl Report {
    /// The weightiest verdict of all findings that count; [`Verdict::Pass`] if there are none.
    #[must_use]
    pub fn worst(&self) -> Verdict {
        let counted = self.findings().filter(|(card, finding)| self.counts(card, finding));
        counted.map(|(_, it)| it.verdict).max().unwrap_or(Verdict::Pass)
    }

    /// Whether a finding is not known from the baseline.
    fn counts(&self, card: &Card, finding: &Finding) -> bool {
        self.baseline.as_ref().is_none_or(|baseline| baseline.is_new(card.protocol, finding))
    }

    /// What the baseline did not have, if there is one.
    fn news(&self) -> Option<Vec<CheckId>> {
        let baseline = self.baseline.as_ref()?;
        let news: BTreeSet<_> = self
            .findings()
            .filter(|(card, finding)| {
                finding.verdict >= Verdict::Unknown && baseline.is_new(card.protocol, finding)
            })
            .map(|(_, finding)| finding.id)
            .collect();
        Some(news.into_iter().collect())
    }

    fn findings(&self) -> impl Iterator<Item = (&Card, &Finding)> {
        self.cards.iter().flat_map(|card| card.findings.iter().map(move |it| (card, it)))
    }

    /// What was not found out about stalls, and why, in one sentence.
    #[must_use]
    pub fn unanswered(&self) -> Option<String> {
        let of_card = |card| stalls::open(card).filter(move |it| self.counts(card, it));
        let open = || self.cards.iter().flat_map(of_card);
        let named: Vec<_> = open().map(|it| format!("{}: {}", it.id, it.summary)).collect();
        let again = match open().all(|it| it.reason == Some(Reason::Disturbed)) {
            true => " (run the check again)",
            false => "",
        };
        (!named.is_empty()).then(|| format!("no verdict on {}{again}", named.join("; ")))
    }

    /// One sentence: what costs how much, and what to change.
    #[must_use]
    pub fn conclusion(&self) -> String {
        conclusion::of(self)
    }
}

/// A format for people or for programs.
pub trait Exporter {
    /// The whole document, with a line feed at its end.
    fn export(&self, report: &Report) -> String;
}

/// The findings that ask for action, the weightiest first; otherwise in the order of the card.
fn actionable(card: &Card) -> Vec<&Finding> {
    let mut found: Vec<_> =
        card.findings.iter().filter(|finding| finding.verdict >= Verdict::Warn).collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    found
}

/// A verdict in a table.
fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::NotApplicable => "n/a".to_owned(),
        verdict => Name(verdict).to_string(),
    }
}

/// How a card is headed: the name of a built-in server, or what the user called the target.
fn title(card: &Card) -> String {
    match card.server {
        Some(BuiltIn::Paper1996) => "1996 server".to_owned(),
        Some(BuiltIn::Fixed) => "fixed server".to_owned(),
        None => match card.protocol {
            Protocol::Http1 => escape::line(&card.target).into_owned(),
            Protocol::Http2 => format!("{} (HTTP/2)", escape::line(&card.target)),
        },
    }
}
