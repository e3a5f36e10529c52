//! The summary sentence: which end holds TIME-WAIT, for how many connections, and why.

use ackwise_tcp::TimeWaitReason;
use ackwise_text::words::{counted, grouped};

use super::{CloseMode, HeldCount, TimeWait};
use crate::generator::Drain;

/// Input of the summary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) connections: u64,
    pub(super) close: CloseMode,
    pub(super) drain: Drain,
    pub(super) time_wait: &'a TimeWait,
    /// Packets that Ackwise's TCP could not send.
    pub(super) lost: u64,
    /// Connections that were reset, or not closed in time, after their last response.
    pub(super) not_closed: u64,
    /// Connections that were open when the run was stopped.
    pub(super) unfinished: u64,
    /// Connections that broke before a response was complete.
    pub(super) broken: u64,
    /// Connections that the server announced it would close although the client was to close first.
    pub(super) forestalled: u64,
    /// Kept connections that the client closed because no request was left for them.
    pub(super) dismissed: u64,
}

/// Writes the summary.
pub(super) fn explain(facts: &Facts<'_>) -> String {
    let TimeWait { server, client, .. } = facts.time_wait;
    let all = facts.connections;
    match (server, client) {
        (HeldCount::Known(server), HeldCount::Known(client)) => {
            format!("{}: {}.", who(*server, *client, all), why(facts, *server, *client))
        }
        (HeldCount::Known(server), HeldCount::Unknown(_)) => format!(
            "The server holds TIME-WAIT for {}; the clients' number could not be determined.",
            of(*server, all)
        ),
        (HeldCount::Unknown(_), HeldCount::Known(client))
            if facts.close == CloseMode::Negotiated =>
        {
            let why = why_negotiated(facts);
            format!("The clients hold TIME-WAIT for {}: {why}.", of(*client, all))
        }
        (HeldCount::Unknown(_), HeldCount::Known(client)) => format!(
            "The clients hold TIME-WAIT for {}; the server's number could not be determined.",
            of(*client, all)
        ),
        (HeldCount::Unknown(_), HeldCount::Unknown(_)) => {
            format!(
                "Could not determine which end holds TIME-WAIT for {}.",
                counted(all, "connection")
            )
        }
    }
}

fn who(server: u64, client: u64, all: u64) -> String {
    match (server, client) {
        (0, 0) if all == 1 => "Neither end holds TIME-WAIT for the only connection".to_owned(),
        (0, 0) => {
            format!("Neither end holds TIME-WAIT for any of the {} connections", grouped(all))
        }
        (server, 0) => {
            format!("The server holds TIME-WAIT for {}, the client for none", of(server, all))
        }
        (0, client) => {
            format!("The client holds TIME-WAIT for {}, the server for none", of(client, all))
        }
        (server, client) if server == client => {
            format!("Both ends hold TIME-WAIT for {}", of(server, all))
        }
        (server, client) => format!(
            "The server holds TIME-WAIT for {}, the client for {}",
            of(server, all),
            grouped(client)
        ),
    }
}

fn of(some: u64, all: u64) -> String {
    match some {
        0 if all == 1 => "no connection".to_owned(),
        0 => format!("none of the {} connections", grouped(all)),
        1 if all == 1 => "the only connection".to_owned(),
        some if some == all => format!("all {} connections", grouped(all)),
        some => format!("{} of the {} connections", grouped(some), grouped(all)),
    }
}

fn why(facts: &Facts<'_>, server: u64, client: u64) -> String {
    match facts.close {
        _ if server == 0 && client == 0 => why_neither(facts),
        CloseMode::Swap => why_swap(facts, server, client),
        CloseMode::Negotiated => why_negotiated(facts),
        CloseMode::Client | CloseMode::ClientClose if facts.forestalled > 0 && server > 0 => {
            format!(
                "the server announced `Connection: close` on {} and closed first",
                grouped(facts.forestalled)
            )
        }
        _ if server > 0 && client > 0 => {
            "on each connection, the end that sends its FIN first holds it".to_owned()
        }
        CloseMode::Server if server > 0 => "the server closes first".to_owned(),
        CloseMode::Server if facts.dismissed > 0 => {
            "the client closes kept connections for which no request is left".to_owned()
        }
        CloseMode::Server => "the server let the client close first".to_owned(),
        CloseMode::Client | CloseMode::ClientClose if client > 0 => {
            "the client closes first".to_owned()
        }
        CloseMode::Client | CloseMode::ClientClose => "the server closes first anyway".to_owned(),
    }
}

/// Gives only observed reasons.
fn why_neither(facts: &Facts<'_>) -> String {
    let causes = causes(&broken_off(facts));
    match facts.close {
        _ if facts.connections == 0 => "no connection was made".to_owned(),
        _ if !causes.is_empty() => causes,
        CloseMode::ClientClose if facts.drain == Drain::Plain => {
            "the server does not implement CLIENT_CLOSE; its response arrives at a closed socket \
             and triggers an RST"
                .to_owned()
        }
        _ => "the reason could not be determined (TIME-WAIT begins when both ends have closed; an \
              RST ends it)"
            .to_owned(),
    }
}

/// What an agreement did, as the clients' TCP knows it.
fn why_negotiated(facts: &Facts<'_>) -> String {
    let agreed =
        facts.time_wait.reasons.iter().filter(|(reason, _)| *reason == TimeWaitReason::Agreed);
    match agreed.map(|(_, count)| *count).sum::<u64>() {
        0 => "the server did not accept the clients' offer to hold it (RFC 6994, ExID TWNG), so the end that closes \
              first holds it"
            .to_owned(),
        agreed if agreed == facts.connections => {
            "the server closes first, and both ends agreed in their SYNs that the client holds it".to_owned()
        }
        agreed => format!("both ends agreed in their SYNs that the client holds it for {}", grouped(agreed)),
    }
}

fn why_swap(facts: &Facts<'_>, server: u64, client: u64) -> String {
    let because = |reason| {
        let reasons = &facts.time_wait.reasons;
        reasons.iter().find(|(known, _)| *known == reason).map_or(0, |(_, count)| *count)
    };
    let both_closed = because(TimeWaitReason::BothClosed);
    let closed_first = because(TimeWaitReason::ClosedFirst);
    let swapped = client.saturating_sub(both_closed + closed_first);
    if swapped > 0 && server > 0 && facts.time_wait.server_ignores_resets == Some(true) {
        return "the server ignores an RST in TIME-WAIT (net.ipv4.tcp_rfc1337=1)".to_owned();
    }
    let [broken, not_closed, unfinished] = broken_off(facts);
    let causes = causes(&[
        (both_closed, "closed by both ends at once"),
        (closed_first, "closed by the client first"),
        broken,
        not_closed,
        unfinished,
        (facts.lost, "packets, perhaps RSTs, that the TUN device refused"),
    ]);
    match (swapped, server, causes.is_empty()) {
        (0, _, true) => "no connection was swapped; the reason could not be determined".to_owned(),
        (0, _, false) => format!("no connection was swapped: {causes}"),
        (_, 0, true) => {
            "the server closes first, and the client then takes over TIME-WAIT by sending an RST"
                .to_owned()
        }
        (_, 0, false) => format!(
            "the server closes first, and the client then takes over TIME-WAIT by sending an RST; \
             exceptions: {causes}"
        ),
        (_, _, true) => {
            "the client took TIME-WAIT over for the others with an RST; for these, the RST was \
             lost, or arrived before the server entered TIME-WAIT"
                .to_owned()
        }
        (_, _, false) => format!("the rest was swapped; exceptions: {causes}"),
    }
}

/// Number of connections that did not end as planned, by how they ended.
const fn broken_off(facts: &Facts<'_>) -> [(u64, &'static str); 3] {
    [
        (facts.broken, "broken off before the response was complete"),
        (facts.not_closed, "reset by the server, or not closed by it in time"),
        (facts.unfinished, "still open at the end of the run"),
    ]
}

fn causes(counted: &[(u64, &str)]) -> String {
    let seen = counted.iter().filter(|(count, _)| *count > 0);
    let causes: Vec<_> =
        seen.map(|(count, cause)| format!("{} {cause}", grouped(*count))).collect();
    causes.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{CloseMode::*, *};

    #[test]
    fn the_sentence_says_who_and_why() {
        let table = [
            (
                Server,
                100,
                0,
                None,
                "The server holds TIME-WAIT for all 100 connections, the client for none: the \
                 server closes first.",
            ),
            (
                Client,
                0,
                99,
                None,
                "The client holds TIME-WAIT for 99 of the 100 connections, the server for none: \
                 the client closes first.",
            ),
            (
                Swap,
                0,
                100,
                Some(false),
                "The client holds TIME-WAIT for all 100 connections, the server for none: the \
                 server closes first, and the client then takes over TIME-WAIT by sending an RST.",
            ),
            (
                Swap,
                100,
                100,
                Some(true),
                "Both ends hold TIME-WAIT for all 100 connections: the server ignores an RST in \
                 TIME-WAIT (net.ipv4.tcp_rfc1337=1).",
            ),
            (
                Swap,
                1,
                100,
                None,
                "The server holds TIME-WAIT for 1 of the 100 connections, the client for 100: the \
                 client took TIME-WAIT over for the others with an RST; for these, the RST was lost, \
                 or arrived before the server entered TIME-WAIT.",
            ),
            (
                ClientClose,
                0,
                0,
                None,
                "Neither end holds TIME-WAIT for any of the 100 connections: the server does not \
                 implement CLIENT_CLOSE; its response arrives at a closed socket and triggers an \
                 RST.",
            ),
        ];
        for (close, server, client, server_ignores_resets, expected) in table {
            let time_wait = TimeWait {
                server_ignores_resets,
                ..held(HeldCount::Known(server), HeldCount::Known(client))
            };
            let facts = Facts { close, drain: Drain::Plain, ..facts(&time_wait) };
            assert_eq!(explain(&facts), expected);
        }
    }

    #[test]
    fn what_was_not_seen_is_not_said() {
        let nowhere = held(HeldCount::Known(0), HeldCount::Known(0));
        let why = |facts: Facts<'_>| {
            let sentence = explain(&facts);
            sentence.split_once(": ").unwrap().1.to_owned()
        };
        let facts = facts(&nowhere);
        assert!(
            why(Facts { close: Client, ..facts }).starts_with("the reason could not be determined")
        );
        for close in [Server, Client, ClientClose, Swap] {
            let seen = why(Facts { close, not_closed: 97, broken: 2, unfinished: 1, ..facts });
            let expected = "2 broken off before the response was complete, 97 reset by the server, \
                            or not closed by it in time, 1 still open at the end of the run.";
            assert_eq!(seen, expected, "{close:?}");
        }
    }

    #[test]
    fn a_swap_is_said_of_those_that_were_swapped() {
        let mut time_wait = held(HeldCount::Known(0), HeldCount::Known(3));
        time_wait.reasons = vec![(TimeWaitReason::ClosedFirst, 3)];
        let facts = Facts { connections: 3, close: Swap, ..facts(&time_wait) };
        assert!(
            explain(&facts).ends_with("no connection was swapped: 3 closed by the client first.")
        );
    }

    #[test]
    fn an_agreement_is_said_of_those_that_agreed() {
        for (agreed, expected) in [
            (
                100,
                "the server closes first, and both ends agreed in their SYNs that the client holds it.",
            ),
            (3, "both ends agreed in their SYNs that the client holds it for 3."),
        ] {
            for server in [HeldCount::Known(0), HeldCount::Unknown("far away".to_owned())] {
                let mut time_wait = held(server, HeldCount::Known(agreed));
                time_wait.reasons = vec![(TimeWaitReason::Agreed, agreed)];
                let sentence = explain(&Facts { close: Negotiated, ..facts(&time_wait) });
                assert!(sentence.ends_with(expected), "{sentence}");
            }
        }
        let ordinary = held(HeldCount::Known(100), HeldCount::Known(0));
        let sentence = explain(&Facts { close: Negotiated, ..facts(&ordinary) });
        assert!(sentence.contains("did not accept"), "{sentence}");
    }

    #[test]
    fn one_connection_is_the_only_one() {
        let one = held(HeldCount::Known(1), HeldCount::Known(0));
        let expected = "The server holds TIME-WAIT for the only connection, the client for none: \
                        the server closes first.";
        assert_eq!(explain(&Facts { connections: 1, ..facts(&one) }), expected);
    }

    fn held(server: HeldCount, client: HeldCount) -> TimeWait {
        let (series, reasons) = (Vec::new(), Vec::new());
        TimeWait { server, client, series, server_ignores_resets: None, reasons }
    }

    fn facts(time_wait: &TimeWait) -> Facts<'_> {
        Facts {
            connections: 100,
            close: Server,
            drain: Drain::HalfClose,
            time_wait,
            lost: 0,
            not_closed: 0,
            unfinished: 0,
            broken: 0,
            forestalled: 0,
            dismissed: 0,
        }
    }

    #[test]
    fn kept_connections_end_at_the_client() {
        let time_wait = held(HeldCount::Known(0), HeldCount::Known(4));
        let facts = Facts { connections: 4, dismissed: 4, ..facts(&time_wait) };
        assert_eq!(
            explain(&facts),
            "The client holds TIME-WAIT for all 4 connections, the server for none: the client \
             closes kept connections for which no request is left."
        );
    }

    #[test]
    fn an_end_that_cannot_be_seen_is_not_said_to_hold_none() {
        let time_wait = held(HeldCount::Unknown("far away".to_owned()), HeldCount::Known(0));
        let facts = Facts { connections: 12_345, ..facts(&time_wait) };
        assert_eq!(
            explain(&facts),
            "The clients hold TIME-WAIT for none of the 12,345 connections; the server's number \
             could not be determined."
        );
    }
}
