//! What `check` prints: one [`Report`], and one [`Exporter`] per format.
//!
//! An exporter returns the whole document instead of writing piece by piece, so that whoever prints
//! it prints all or nothing: nobody ever reads half a JSON. Nothing here decides a verdict.

mod conclusion;
mod json;
mod markdown;
mod pages;
#[cfg(test)]
mod sample;
mod stalls;
mod text;

pub use json::{Document, Json};
pub use markdown::Markdown;
pub use stalls::STALLS;
pub use text::Text;

use ackwise_text::escape;

use super::{
    card::{BuiltIn, Card, Finding, Verdict},
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
}

impl Report {
    /// The weightiest verdict of all cards; [`Verdict::Pass`] if there are none.
    #[must_use]
    pub fn worst(&self) -> Verdict {
        let verdicts = self.cards.iter().flat_map(|card| &card.findings).map(|it| it.verdict);
        verdicts.max().unwrap_or(Verdict::Pass)
    }

    /// Whether a question about stalls that was asked of a server was not found out.
    #[must_use]
    pub fn has_open_stalls(&self) -> bool {
        self.cards.iter().any(|card| stalls::open(card).next().is_some())
    }

    /// Whether a disturbance took the answer to a question about stalls.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.disturbance().is_some()
    }

    /// What a disturbance left open, and why, in one sentence.
    #[must_use]
    pub fn disturbance(&self) -> Option<String> {
        let disturbed = self.cards.iter().flat_map(stalls::open).filter(|it| it.disturbed);
        let named: Vec<_> = disturbed.map(|it| format!("{}: {}", it.id, it.summary)).collect();
        (!named.is_empty()).then(|| {
            format!("a disturbance took an answer: {} (run the check again)", named.join("; "))
        })
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

/// How a card is headed: the name of a built-in server, or what the user called the target.
fn title(card: &Card) -> String {
    match card.server {
        Some(BuiltIn::Paper1996) => "1996 server".to_owned(),
        Some(BuiltIn::Fixed) => "fixed server".to_owned(),
        None => escape::line(&card.target).into_owned(),
    }
}
