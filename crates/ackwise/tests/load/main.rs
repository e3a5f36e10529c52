#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
//! `ackwise load` against real servers, on hosts of their own: who is left in TIME-WAIT.
//!
//! `ACKWISE_TIME_WAIT_CONNECTIONS=10000` makes 10,000 connections instead of 2,000.

mod card;
#[path = "../real_servers/missing.rs"]
mod missing;
#[path = "../real_servers/network.rs"]
mod network;
mod own_server;
mod program;
mod proxy;
#[path = "../schema/mod.rs"]
mod schema;
#[path = "../real_servers/server.rs"]
mod server;
#[expect(dead_code, reason = "not every server of the other tests is wanted here")]
#[path = "../real_servers/servers.rs"]
mod servers;
#[path = "../real_servers/site.rs"]
mod site;
mod situations;
mod strangers_to_client_close;
#[expect(dead_code, reason = "the client need not be kept apart here")]
#[path = "../real_servers/undisturbed.rs"]
mod undisturbed;
mod who_waits;

use ackwise_testing::skip;

use crate::{
    card::Stack,
    missing::Missing,
    network::Network,
    server::Running,
    servers::{Nginx, Server},
};

/// How many connections the tests make that count them.
fn connections() -> u64 {
    let asked = std::env::var("ACKWISE_TIME_WAIT_CONNECTIONS");
    asked.map_or(2_000, |number| number.parse().unwrap())
}

/// Runs `test` with `server` on a host of its own, or skips it.
fn with_server(name: &str, server: Server, test: impl FnOnce(&Network, &Running)) {
    with_network(name, |network| {
        test(network, &Running::start(server, network, name)?);
        Ok(())
    });
}

fn with_nginx(name: &str, test: impl FnOnce(&Network, &Running)) {
    with_server(name, Server::Nginx(Nginx::HeadApart), test);
}

/// Runs `test` on a host of its own, or skips it.
fn with_network(name: &str, test: impl FnOnce(&Network) -> Result<(), Missing>) {
    let run = || {
        let network = Network::new(Stack::Ackwise)?;
        // A tail-loss probe repeats a FIN; if the client has forgotten the connection by then, its RST ends
        // TIME-WAIT, on a busy machine for one connection in some thousand.
        network.set_on_server("tcp_early_retrans", "0")?;
        test(&network)
    };
    if let Err(missing) = run() {
        skip(name, missing);
    }
}
