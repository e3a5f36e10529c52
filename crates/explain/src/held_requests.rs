//! Requests that Nagle's algorithm held before their first byte: a wait in front of exchanges, and so in none of them.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_capture::{
    analysis::{Analysis, HeldRequests},
    attribution::Confidence,
};
use ackwise_cause::{Cause, Direction};
use ackwise_text::words::{counted, rounded};

/// Once may be chance: a program may write just when an ACK arrives. Our choice.
const LEAST_TIMES: u32 = 2;
/// Less in all is worth no setting, as for a stall within an exchange. Our choice.
const LEAST_TOTAL: Duration = Duration::from_millis(1);

/// Those of one client at one server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    client: IpAddr,
    server: SocketAddr,
    requests: HeldRequests,
}

impl Held {
    /// The client and the server that have the most of it.
    pub(super) fn most(analysis: &Analysis) -> Option<Self> {
        let mut all: BTreeMap<(IpAddr, SocketAddr, &str), HeldRequests> = BTreeMap::new();
        for connection in &analysis.connections {
            let held = connection.held_requests.as_deref().filter(|it| is_usual(it));
            let Some(held) = held else { continue };
            let ends = (connection.client.ip(), connection.server, held.cause.name());
            all.entry(ends).and_modify(|it| it.add(held)).or_insert(*held);
        }
        let ((client, server, _), requests) = all.into_iter().max_by_key(|it| it.1.total)?;
        Some(Self { client, server, requests })
    }

    /// How long they waited, at most.
    pub(super) const fn total(&self) -> Duration {
        self.requests.total
    }

    /// What happened, and what to change, unless `already` says that.
    pub(super) fn sentence(&self, already: &str) -> String {
        let Self { client, server, requests: held } = self;
        let out = format!(
            "Before exchanges, and not included in the times below: {} from {client} to {server} waited for {} (Nagle), {} to {} each \
             (upper limits), {} in total ({} confidence).",
            counted(held.count.into(), "request"),
            match held.cause {
                Cause::NagleRtt => "the ACK of an earlier request on the same connection",
                _ => "a delayed ACK of earlier data",
            },
            rounded(held.shortest),
            rounded(held.longest),
            rounded(held.total),
            held.confidence.name(),
        );
        let remedy = held.cause.remedy(Direction::ToServer).map_or("", |it| it.text);
        let label = if held.confidence == Confidence::High { "Fix" } else { "If so" };
        let fix = format!("\n{label}: {remedy}.");
        if already.contains(&fix) { out } else { out + &fix }
    }
}

fn is_usual(held: &HeldRequests) -> bool {
    held.count >= LEAST_TIMES && held.total >= LEAST_TOTAL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failures::tests::{Host, Pair};

    #[test]
    fn once_is_chance_and_what_is_fixed_already_is_not_repeated() {
        let mut host = Host::default();
        host.exchange(Pair(1_000, "10.0.0.2:80"), 10);
        let mut analysis = host.finish();
        assert!(Held::most(&analysis).is_none());
        let mut held = HeldRequests::once(Duration::from_millis(40), Confidence::High);
        analysis.connections[0].held_requests = Some(Box::new(held));
        assert!(Held::most(&analysis).is_none(), "once");
        held.add(&HeldRequests::once(Duration::from_millis(44), Confidence::Medium));
        analysis.connections[0].held_requests = Some(Box::new(held));
        let said = Held::most(&analysis).unwrap().sentence("");
        let expected = "2 requests from 10.0.0.1 to 10.0.0.2:80 waited for a delayed ACK of earlier data (Nagle), \
                        40.0 ms to 44.0 ms each (upper limits), 84.0 ms in total (medium confidence).\nIf so: set TCP_NODELAY";
        assert!(said.contains(expected), "{said}");
        let again = Held::most(&analysis).unwrap().sentence(&said);
        assert!(!again.contains("TCP_NODELAY"), "{again}");
    }
}
