#![cfg(target_os = "linux")]
//! `ackwise check` against the servers that people run, on networks of their own.
//!
//! The truth is known: `docs/notes` has captures of what each of them does. [`expectations`] says what
//! the card must say about it, and [`remedies`] applies what the card advises.
//!
//! Where root, a server or a TUN device is missing, a test says so and what to do, and does not fail.

mod card;
mod expectations;
mod missing;
mod network;
mod remedies;
mod server;
mod servers;
mod site;
mod streams;
mod undisturbed;

use ackwise_testing::skip;

use crate::{
    card::{Card, Stack, check},
    missing::Missing,
    network::Network,
    server::Running,
    servers::{Nginx, Python, Server},
};

/// Tests that check one server each, with the kernel's stack and with ours.
macro_rules! on_both_stacks {
    ($($name:ident: $server:expr;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn kernel() {
                the_card_is_as_expected(concat!(stringify!($name), "::kernel"), $server, Stack::Kernel);
            }

            #[test]
            fn ackwise() {
                the_card_is_as_expected(concat!(stringify!($name), "::ackwise"), $server, Stack::Ackwise);
            }
        })*
    };
}

on_both_stacks! {
    nginx_sends_the_head_apart_without_a_stall: Server::Nginx(Nginx::HeadApart);
    nginx_with_tcp_nopush_joins_head_and_body: Server::Nginx(Nginx::TcpNopush);
    apache_joins_head_and_body: Server::Apache;
    lighttpd_joins_head_and_body: Server::Lighttpd;
    python_that_sends_the_head_apart_stalls: Server::Python(Python::HeadApart);
    python_with_tcp_nodelay_does_not_stall: Server::Python(Python::NoDelay);
    python_that_writes_once_does_not_stall: Server::Python(Python::Joined);
    python_that_thinks_first_is_not_taken_for_a_stall: Server::Python(Python::Thinks);
    python_that_thinks_after_the_head_is_not_taken_for_a_stall:
        Server::Python(Python::ThinksAfterHead);
}

fn the_card_is_as_expected(test: &str, server: Server, stack: Stack) {
    match card_of(test, server, stack) {
        Ok(card) => expectations::compare(server, stack, &card),
        Err(missing) => skip(test, missing),
    }
}

/// Which TCP the client copies changes no verdict about nginx.
#[test]
fn a_client_that_copies_linux_or_bbr_finds_what_any_client_does() {
    let test = "a_client_that_copies_linux_or_bbr_finds_what_any_client_does";
    let server = Server::Nginx(Nginx::TcpNopush);
    let cards = || -> Result<Vec<(&str, Card)>, Missing> {
        let network = Network::new(Stack::Ackwise)?;
        let running = Running::start(server, &network, test)?;
        let copying =
            |preset| Ok((preset, check(&network, &running, Stack::Ackwise, &["--tcp", preset])?));
        ["linux-6", "linux-6-bbr"].into_iter().map(copying).collect()
    };
    match cards() {
        Ok(cards) => {
            for (preset, card) in cards {
                assert!(
                    card.to_string().contains(&format!("the client copies {preset}")),
                    "{card}"
                );
                expectations::compare(server, Stack::Ackwise, &card);
            }
        }
        Err(missing) => skip(test, missing),
    }
}

#[test]
fn a_swap_would_not_work_against_a_kernel_that_follows_rfc_1337() {
    let refused = || -> Result<Card, Missing> {
        let network = Network::new(Stack::Ackwise)?;
        network.set_on_server("tcp_rfc1337", "1")?;
        let running = Running::start(Server::Apache, &network, "rfc_1337")?;
        check(&network, &running, Stack::Ackwise, &["--only", "close"])
    };
    match refused() {
        Ok(card) => {
            assert_eq!(card.value("close", "/values/time_wait"), "server", "{card}");
            assert_eq!(card.value("close", "/values/swap"), "refused", "{card}");
        }
        Err(missing) => {
            skip("a_swap_would_not_work_against_a_kernel_that_follows_rfc_1337", missing)
        }
    }
}

/// Who closes an idle connection first, for what is in front of servers that close after 2 s, or never.
#[test]
fn a_server_that_closes_before_what_is_in_front_is_warned_of() {
    let test = "a_server_that_closes_before_what_is_in_front_is_warned_of";
    #[rustfmt::skip]
    let table = [
        (Server::Nginx(Nginx::Keeps(2)),    "500ms", "pass"),
        (Server::Nginx(Nginx::Keeps(2)),    "2s",    "warn"),
        (Server::Nginx(Nginx::Keeps(2)),    "4s",    "warn"),
        (Server::Python(Python::TimesOut),  "500ms", "pass"),
        (Server::Python(Python::TimesOut),  "2s",    "warn"),
        (Server::Python(Python::TimesOut),  "4s",    "warn"),
        (Server::Python(Python::NoDelay),   "2s",    "pass"),
        (Server::Node(5_000),               "2s",    "pass"),
        (Server::Node(2_000),               "4s",    "warn"),
    ];
    for (server, behind, verdict) in table {
        let card = match card_behind(test, server, behind) {
            Ok(card) => card,
            Err(missing) => return skip(test, missing),
        };
        assert_eq!(card.value("keep-alive", "/verdict"), verdict, "{server:?} {behind} {card}");
        if matches!(server, Server::Nginx(_)) {
            assert_eq!(card.value("keep-alive", "/values/max_requests"), 3, "{card}");
            assert_eq!(card.value("keep-alive", "/values/limit_announced"), true, "{card}");
        }
    }
}

/// nginx reads on (`lingering_close`). Node does not if the program says `Connection: close`.
#[test]
fn an_early_413_is_reset_by_node_and_not_by_nginx() {
    let test = "an_early_413_is_reset_by_node_and_not_by_nginx";
    let check = |server| {
        let network = Network::new(Stack::Kernel)?;
        let running = Running::start(server, &network, test)?;
        check(&network, &running, Stack::Kernel, &["--only", "early-response", "--data", "a=b"])
    };
    for (server, verdict, reset) in
        [(Server::Nginx(Nginx::HeadApart), "pass", false), (Server::Node(5_000), "warn", true)]
    {
        let card = match check(server) {
            Ok(card) => card,
            Err(missing) => return skip(test, missing),
        };
        assert_eq!(card.value("early-response", "/verdict"), verdict, "{card}");
        assert_eq!(card.value("early-response", "/values/status"), 413, "{card}");
        assert_eq!(card.value("early-response", "/values/reset"), reset, "{card}");
    }
}

/// The card of `server` behind something that keeps idle connections for so long.
fn card_behind(test: &str, server: Server, behind: &str) -> Result<Card, Missing> {
    let network = Network::new(Stack::Kernel)?;
    let running = Running::start(server, &network, test)?;
    check(&network, &running, Stack::Kernel, &["--only", "keep-alive", "--behind", behind])
}

/// A whole card of `server`, on a network made for it.
fn card_of(test: &str, server: Server, stack: Stack) -> Result<Card, Missing> {
    let network = Network::new(stack)?;
    let running = Running::start(server, &network, test)?;
    check(&network, &running, stack, &[])
}
