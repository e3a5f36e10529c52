//! A check of a server: its turn, its share of the budget, and how it asks.

use super::{CheckId, Finding, judged::Judged};
use crate::{http_client::Client, no_verdict::NoVerdict, server::Facts};

/// How a check asks a server.
pub(crate) struct ServerCheck {
    /// The most valuable first: a slow server may leave no time for the others.
    pub(crate) turn: u8,
    /// Requests that the checks before leave to it, since it answers nothing without, and that it may send.
    pub(crate) requests: [u32; 2],
    /// Share of the time that is left when its turn comes.
    pub(crate) share: f64,
    /// It speaks about an idle connection, which is watched as late as possible.
    pub(crate) needs_idle: bool,
    /// A small page leaves it open.
    pub(crate) needs_large: bool,
    /// Whether there is something to ask.
    pub(crate) applies: fn(&Client, &Facts) -> bool,
    ask: fn(&mut Client, &mut Facts) -> Result<Judged, NoVerdict>,
}

impl ServerCheck {
    pub(crate) const fn new(
        turn: u8,
        requests: [u32; 2],
        share: f64,
        ask: fn(&mut Client, &mut Facts) -> Result<Judged, NoVerdict>,
    ) -> Self {
        Self {
            turn,
            requests,
            share,
            needs_idle: false,
            needs_large: false,
            applies: |_, _| true,
            ask,
        }
    }

    pub(crate) const fn of_idle_connections(self) -> Self {
        Self { needs_idle: true, ..self }
    }

    pub(crate) const fn of_large_responses(self) -> Self {
        Self { needs_large: true, ..self }
    }

    pub(crate) const fn only_if(self, applies: fn(&Client, &Facts) -> bool) -> Self {
        Self { applies, ..self }
    }

    /// Asks, for the check `id`.
    pub(crate) fn run(&self, id: CheckId, client: &mut Client, facts: &mut Facts) -> Finding {
        let judged = (self.ask)(client, facts).unwrap_or_else(Judged::from);
        judged.into_finding(id, id.remedy(facts.software()))
    }
}
