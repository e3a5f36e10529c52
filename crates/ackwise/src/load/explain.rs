//! One sentence: which end holds TIME-WAIT, for how many of the connections, and why.

use ackwise_serve::load::Drain;
use ackwise_tcp::TimeWaitReason;

use super::{CloseMode, Held, TimeWait};

/// What the sentence follows from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) connections: u64,
    pub(super) close: CloseMode,
    pub(super) drain: Drain,
    pub(super) time_wait: &'a TimeWait,
    /// Packets that our own TCP could not send.
    pub(super) lost: u64,
    /// Connections that broke after their last response.
    pub(super) unclean: u64,
    /// Connections that the server said it closes, where the client was to.
    pub(super) forestalled: u64,
}

/// The sentence.
pub(super) fn explain(facts: &Facts<'_>) -> String {
    let TimeWait { server, client, .. } = facts.time_wait;
    let all = facts.connections;
    match (server, client) {
        (Held::Known(server), Held::Known(client)) => {
            format!("{}: {}.", who(*server, *client, all), why(facts, *server, *client))
        }
        (Held::Known(server), Held::Unknown(_)) => format!(
            "The server holds TIME-WAIT for {}; what the clients hold is not known.",
            of(*server, all)
        ),
        (Held::Unknown(_), Held::Known(client)) => format!(
            "The clients hold TIME-WAIT for {}; what the server holds is not known.",
            of(*client, all)
        ),
        (Held::Unknown(_), Held::Unknown(_)) => {
            format!("Which end holds TIME-WAIT for the {} connections is not known.", grouped(all))
        }
    }
}

fn who(server: u64, client: u64, all: u64) -> String {
    match (server, client) {
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
        0 => format!("none of the {} connections", grouped(all)),
        some if some == all => format!("all {} connections", grouped(all)),
        some => format!("{} of the {} connections", grouped(some), grouped(all)),
    }
}

fn why(facts: &Facts<'_>, server: u64, client: u64) -> String {
    match facts.close {
        CloseMode::Swap => why_swap(facts, server),
        CloseMode::Client | CloseMode::ClientClose if facts.forestalled > 0 && server > 0 => {
            format!("the server said on {} that it closes, and did", grouped(facts.forestalled))
        }
        _ if server > 0 && client > 0 => {
            "whose FIN is the first decides it, connection by connection".to_owned()
        }
        CloseMode::Server if server > 0 => "it closes first".to_owned(),
        CloseMode::Server if client > 0 => "the server left it to the client to close".to_owned(),
        CloseMode::Client | CloseMode::ClientClose if client > 0 => "it closes first".to_owned(),
        CloseMode::ClientClose if server == 0 && facts.drain == Drain::Plain => {
            "the server does not know CLIENT_CLOSE, and its answer, to a socket that is closed, draws \
             an RST"
                .to_owned()
        }
        CloseMode::Client | CloseMode::ClientClose if server > 0 => {
            "the server closes first all the same".to_owned()
        }
        _ if facts.connections == 0 => "there was none".to_owned(),
        _ => "they ended by an RST".to_owned(),
    }
}

fn why_swap(facts: &Facts<'_>, server: u64) -> String {
    let both = |reason| {
        let reasons = &facts.time_wait.reasons;
        reasons.iter().find(|(known, _)| *known == reason).map_or(0, |(_, count)| *count)
    };
    if server == 0 {
        return "the server closes first, and the client takes it over with an RST".to_owned();
    }
    if facts.time_wait.server_ignores_resets == Some(true) {
        return "the server ignores an RST in TIME-WAIT (net.ipv4.tcp_rfc1337=1)".to_owned();
    }
    let mut causes = Vec::new();
    let mut add = |count: u64, cause: &str| {
        if count > 0 {
            causes.push(format!("{} {cause}", grouped(count)));
        }
    };
    add(both(TimeWaitReason::BothClosed), "closed by both ends at once");
    add(both(TimeWaitReason::ClosedFirst), "closed by the client first");
    add(facts.unclean, "not closed in an orderly way");
    add(facts.lost, "packets of ours that the device did not take, RSTs perhaps");
    match causes.is_empty() {
        true => "the client has taken the others over by an RST; there it was lost, or met the server on \
                 its way into TIME-WAIT, before which Linux sends its last ACK"
            .to_owned(),
        false => format!("the rest was swapped; not so: {}", causes.join(", ")),
    }
}

/// `12345` as `12,345`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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
                "The server holds TIME-WAIT for all 100 connections, the client for none: it \
                 closes first.",
            ),
            (
                Client,
                0,
                99,
                None,
                "The client holds TIME-WAIT for 99 of the 100 connections, the server for none: \
                 it closes first.",
            ),
            (
                Swap,
                0,
                100,
                Some(false),
                "The client holds TIME-WAIT for all 100 connections, the server for none: the \
                 server closes first, and the client takes it over with an RST.",
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
                 client has taken the others over by an RST; there it was lost, or met the server \
                 on its way into TIME-WAIT, before which Linux sends its last ACK.",
            ),
            (
                ClientClose,
                0,
                0,
                None,
                "Neither end holds TIME-WAIT for any of the 100 connections: the server does not \
                 know CLIENT_CLOSE, and its answer, to a socket that is closed, draws an RST.",
            ),
        ];
        for (close, server, client, server_ignores_resets, expected) in table {
            let time_wait = TimeWait {
                server: Held::Known(server),
                client: Held::Known(client),
                series: Vec::new(),
                server_ignores_resets,
                reasons: Vec::new(),
            };
            let facts = Facts {
                connections: 100,
                close,
                drain: Drain::Plain,
                time_wait: &time_wait,
                lost: 0,
                unclean: 0,
                forestalled: 0,
            };
            assert_eq!(explain(&facts), expected);
        }
    }

    #[test]
    fn an_end_that_cannot_be_seen_is_not_said_to_hold_none() {
        let time_wait = TimeWait {
            server: Held::Unknown("far away".to_owned()),
            client: Held::Known(0),
            series: Vec::new(),
            server_ignores_resets: None,
            reasons: Vec::new(),
        };
        let facts = Facts {
            connections: 12_345,
            close: Server,
            drain: Drain::HalfClose,
            time_wait: &time_wait,
            lost: 0,
            unclean: 0,
            forestalled: 0,
        };
        assert_eq!(
            explain(&facts),
            "The clients hold TIME-WAIT for none of the 12,345 connections; what the server holds \
             is not known."
        );
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
