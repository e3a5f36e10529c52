//! Messages within WebSockets and streams: what was read of them, and which of them a sender's TCP held. They are in no
//! exchange, so this is reported beside exchanges.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_capture::{
    analysis::{Analysis, HeldMessages, TunnelResult},
    attribution::Confidence,
    conversation::Tunnel,
};
use ackwise_cause::{Cause, Direction, Party};
use ackwise_text::words::{counted, grouped, rounded};
use ackwise_units::statistics::middle;

use super::tunnels::{self, not_judged};

/// Once may be chance, as for requests that were held. Our choice.
const LEAST_TIMES: u64 = 2;
/// Less in all is worth no setting. Our choice.
const LEAST_TOTAL: Duration = Duration::from_millis(1);

/// What is reported about a capture's messages.
#[derive(Debug, Default)]
pub(super) struct MessagesSaid {
    /// What the most time was lost by, and what to change.
    held: Option<String>,
    /// What was read.
    read: Option<String>,
}

impl MessagesSaid {
    /// Of a capture whose exchanges took so long.
    pub(super) fn of(analysis: &Analysis, exchanges: Duration) -> Self {
        let held = Held::most(analysis);
        let read = read(analysis, held.as_ref());
        let unread = tunnels::most_is_unread(analysis, exchanges);
        let read = [read, unread].into_iter().flatten().reduce(|one, other| one + "\n" + &other);
        Self { held: held.map(|it| it.sentence()), read }
    }

    /// Whether nothing of it was held.
    pub(super) const fn is_well(&self) -> bool {
        self.held.is_none()
    }

    /// With what is reported about exchanges.
    pub(super) fn around(self, exchanges: String) -> String {
        let Self { held, read } = self;
        let parts: Vec<String> = [held, Some(exchanges), read].into_iter().flatten().collect();
        parts.join("\n")
    }
}

/// The messages of one kind from one end to the other that one cause held.
#[derive(Clone, Copy, Debug)]
struct Held {
    ends: (IpAddr, SocketAddr),
    kind: Tunnel,
    direction: Direction,
    /// All messages of these streams.
    of: u64,
    held: HeldMessages,
}

impl Held {
    /// What the most time was lost by.
    fn most(analysis: &Analysis) -> Option<Self> {
        let mut sums: BTreeMap<_, Self> = BTreeMap::new();
        for connection in &analysis.connections {
            let ends = (connection.client.ip(), connection.server);
            for (tunnel, direction) in connection.tunnels.iter().flat_map(ways) {
                let Some(messages) = &tunnel.messages else { continue };
                let counts = &messages[direction as usize];
                for held in &counts.held {
                    let key = (ends, tunnel.kind, direction as usize, held.cause.name());
                    let of = counts.messages;
                    let one = Self { ends, kind: tunnel.kind, direction, of, held: *held };
                    sums.entry(key).and_modify(|it| it.add(&one)).or_insert(one);
                }
            }
        }
        let is_usual = |it: &Self| it.held.times >= LEAST_TIMES && it.held.total >= LEAST_TOTAL;
        sums.into_values().filter(is_usual).max_by_key(|it| it.held.total)
    }

    fn add(&mut self, other: &Self) {
        self.of = self.of.saturating_add(other.of);
        self.held.add(&other.held);
    }

    fn sentence(&self) -> String {
        let Self { ends: (client, server), kind, direction, of, held } = self;
        let (from, to) = match direction {
            Direction::ToServer => (client.to_string(), server.to_string()),
            Direction::ToClient => (server.to_string(), client.to_string()),
        };
        let held_by = match held.cause {
            Cause::NagleDelayedAck => "waited for a delayed ACK of earlier data (Nagle)",
            Cause::NagleRtt => "waited a round trip for an ACK of earlier data (Nagle)",
            _ => "were held by the sender's cork (MSG_MORE or TCP_CORK) until its timer expired",
        };
        let limit = if held.is_upper_limit() { "at most" } else { "at least" };
        let each = match (rounded(held.shortest), rounded(held.longest)) {
            (shortest, longest) if shortest == longest => shortest,
            (shortest, longest) => format!("{shortest} to {longest}"),
        };
        let times = match held.times == held.messages {
            true => String::new(),
            false => format!(" (in {})", counted(held.times, "segment")),
        };
        let rival = match (held.cause, held.confidence) {
            (Cause::CorkTimer, Confidence::Medium) => {
                "; the packets also admit application-limited"
            }
            _ => "",
        };
        let label = if held.confidence == Confidence::High { "Fix" } else { "If so" };
        format!(
            "{} of {}{times} from {from} to {to} {held_by}: {each} each {limit}, {} in total ({} confidence{rival}), not \
             included in the exchanges and times below.\n{label}: {}.",
            grouped(held.messages),
            counted((*of).max(held.messages), message(*kind)),
            rounded(held.total),
            held.confidence.name(),
            remedy(held.cause, direction.sender()),
        )
    }
}

fn ways(tunnel: &TunnelResult) -> [(&TunnelResult, Direction); 2] {
    [(tunnel, Direction::ToServer), (tunnel, Direction::ToClient)]
}

/// What a message is called.
const fn message(kind: Tunnel) -> &'static str {
    match kind {
        Tunnel::WebSocket => "WebSocket message",
        Tunnel::EventStream => "event",
        Tunnel::GrpcStream => "gRPC message",
        _ => "message",
    }
}

const fn remedy(cause: Cause, sender: Party) -> &'static str {
    match (cause, sender) {
        (Cause::CorkTimer, Party::Client) => {
            "at the client, write the end of each message without MSG_MORE, or clear TCP_CORK after it"
        }
        (Cause::CorkTimer, _) => {
            "at the server, write the end of each message without MSG_MORE, or clear TCP_CORK after it"
        }
        (_, Party::Client) => {
            "set TCP_NODELAY at the client; or write each message, and messages that are due together, in one call"
        }
        _ => {
            "set TCP_NODELAY at the server; or write each message, and messages that are due together, in one call"
        }
    }
}

/// The streams of one kind.
#[derive(Debug, Default)]
struct Read {
    streams: u64,
    span: Duration,
    messages: [u64; 2],
    undivided: u64,
    first_after: Vec<Duration>,
    /// The median time between messages of each stream.
    apart: Vec<Duration>,
}

/// What was read, and that nothing was `held`, if it is so.
fn read(analysis: &Analysis, held: Option<&Held>) -> Option<String> {
    let mut by_kind: BTreeMap<Tunnel, Read> = BTreeMap::new();
    for tunnel in analysis.connections.iter().flat_map(|it| &it.tunnels) {
        if !tunnel.kind.has_messages() {
            continue;
        }
        let read = by_kind.entry(tunnel.kind).or_default();
        read.streams += 1;
        read.span = read.span.saturating_add(not_judged(tunnel));
        read.first_after.extend(tunnel.first_message_after);
        let Some(messages) = &tunnel.messages else {
            read.undivided += 1;
            continue;
        };
        for (sum, counts) in read.messages.iter_mut().zip(messages.iter()) {
            *sum += counts.messages;
        }
        read.apart.extend(messages[Direction::ToClient as usize].gaps.map(|it| it.median));
        read.undivided += u64::from(messages.iter().any(|it| it.undivided));
    }
    let is_divided = by_kind.values().all(|it| it.undivided == 0);
    let kinds: Vec<_> = by_kind.into_iter().map(|(kind, it)| it.words(kind)).collect();
    let verdict = match (held, is_divided) {
        (Some(_), _) => "",
        (None, true) => " Neither Nagle's algorithm nor a cork held messages.",
        (None, false) => {
            " As far as the capture shows, neither Nagle's algorithm nor a cork held messages."
        }
    };
    (!kinds.is_empty()).then(|| {
        format!("Messages, not included in the exchanges below: {}.{verdict}", kinds.join("; "))
    })
}

impl Read {
    fn words(self, kind: Tunnel) -> String {
        let Self { streams, span, messages: [to_server, to_client], undivided, first_after, apart } =
            self;
        let mut out = format!("{} ({}): ", counted(streams, kind.name()), rounded(span));
        out += &match kind {
            Tunnel::WebSocket | Tunnel::GrpcStream => {
                format!(
                    "{} to the server, {} to the client",
                    grouped(to_server),
                    grouped(to_client)
                )
            }
            _ => format!("{} to the client", grouped(to_client)),
        };
        if kind != Tunnel::WebSocket && !first_after.is_empty() {
            let which = if first_after.len() == 1 { "" } else { " (median)" };
            out += &format!(
                ", the first after {}{which}",
                rounded(middle(first_after).unwrap_or_default())
            );
        }
        if kind != Tunnel::WebSocket && !apart.is_empty() {
            out += &format!(", {} apart (median)", rounded(middle(apart).unwrap_or_default()));
        }
        if undivided > 0 {
            out += &format!(", {} not completely divided into messages", grouped(undivided));
        }
        out
    }
}
