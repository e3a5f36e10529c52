//! WebSockets and other tunnels: time that no exchange accounts for, and that nobody is blamed for.

use std::{collections::BTreeMap, time::Duration};

use ackwise_capture::{
    analysis::{Analysis, ConnectionResult, ExchangeResult, TunnelResult},
    conversation::Tunnel,
};
use ackwise_text::words::{counted, grouped, rounded};

/// The tunnels of a capture, by the exchange that opened each.
pub(super) struct TunnelIndex<'a> {
    by_opener: BTreeMap<(u32, u32, u64), &'a TunnelResult>,
}

impl<'a> TunnelIndex<'a> {
    pub(super) fn of(analysis: &'a Analysis) -> Self {
        let tunnels = |connection: &'a ConnectionResult| {
            connection.tunnels.iter().map(|it| ((connection.id, it.stream, it.packet), it))
        };
        Self { by_opener: analysis.connections.iter().flat_map(tunnels).collect() }
    }

    /// The tunnel that an exchange opened, if it did.
    pub(super) fn of_opener(&self, exchange: &ExchangeResult) -> Option<&'a TunnelResult> {
        let opener = (exchange.connection, exchange.stream, exchange.packet);
        self.by_opener.get(&opener).copied()
    }

    /// `CONNECT tunnel from then on: 12.0 s not judged`, if the exchange opened one.
    pub(super) fn opened_by(&self, exchange: &ExchangeResult) -> Option<String> {
        let tunnel = self.of_opener(exchange)?;
        let (name, time) = (tunnel.kind.name(), rounded(not_judged(tunnel)));
        Some(match &tunnel.messages {
            Some(messages) => {
                let [to_server, to_client] = messages.each_ref().map(|it| grouped(it.messages));
                format!(
                    "{name} from then on: {time}, messages: {to_server} to the server, {to_client} to the client"
                )
            }
            None => format!("{name} from then on: {time} not judged"),
        })
    }
}

/// Those of whose contents nothing is known.
fn unread(analysis: &Analysis) -> impl Iterator<Item = &TunnelResult> {
    analysis.connections.iter().flat_map(|it| &it.tunnels).filter(|it| it.messages.is_none())
}

/// That exchanges, which took so long, are the smaller part, and tunnels that nobody can read the larger one.
pub(super) fn most_is_unread(analysis: &Analysis, exchanges: Duration) -> Option<String> {
    let opened = unread(analysis).filter(|it| it.kind.reason().is_none());
    let (mut count, mut span) = (0, Duration::ZERO);
    for tunnel in opened {
        count += 1;
        span = span.saturating_add(not_judged(tunnel));
    }
    (span > exchanges).then(|| {
        format!(
            "Most of the time is not judged: {} ({}) with unreadable content.",
            counted(count, "tunnel"),
            rounded(span),
        )
    })
}

/// How long it lasted.
pub(super) fn not_judged(tunnel: &TunnelResult) -> Duration {
    tunnel.until.saturating_since(tunnel.from)
}

/// What the report leaves out because of tunnels; `None` if there are none.
pub(super) fn note(analysis: &Analysis) -> Option<String> {
    let mut by_kind: BTreeMap<Tunnel, (u64, Duration)> = BTreeMap::new();
    for tunnel in unread(analysis) {
        let (count, time) = by_kind.entry(tunnel.kind).or_default();
        *count += 1;
        *time += not_judged(tunnel);
    }
    let named = |(kind, (count, time)): (Tunnel, (u64, Duration))| {
        let what = format!("{} ({}", counted(count, kind.name()), rounded(time));
        (
            kind.reason().is_some(),
            format!("{what}{})", kind.reason().map_or_else(String::new, |it| format!("; {it}"))),
        )
    };
    let (divided, judged): (Vec<_>, Vec<_>) = by_kind.into_iter().map(named).partition(|it| it.0);
    let listed = |kinds: Vec<(bool, String)>| {
        kinds.into_iter().map(|it| it.1).collect::<Vec<_>>().join(", ")
    };
    let parts = [("Not judged", judged), ("Not divided into exchanges", divided)];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(_, kinds)| !kinds.is_empty())
        .map(|(what, kinds)| format!("{what}: {}.", listed(kinds)))
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "{} The capture does not show when an application waited for a message there, so this \
             time is not included in exchanges or totals.",
            parts.join(" ")
        )
    })
}
