//! What CLIENT_CLOSE does to servers that do not know it: one table, as measured.

use crate::{
    missing::Missing,
    network::Network,
    program::load_loopback,
    server::Running,
    servers::{Nginx, Server},
    with_network,
};

/// Enough to see a share of them go another way.
const CONNECTIONS: u64 = 500;

#[rustfmt::skip]
const TABLE: [(Server, &str, HeldCount); 6] = [
    // what does not know it        after CLIENT_CLOSE  is in TIME-WAIT
    (Server::Nginx(Nginx::HeadApart), "half-close",     HeldCount::AtTheClient),
    (Server::Nginx(Nginx::HeadApart), "plain",          HeldCount::Nowhere),
    (Server::Apache,                  "half-close",     HeldCount::AtTheClient),
    (Server::Apache,                  "plain",          HeldCount::Nowhere),
    (Server::Lighttpd,                "half-close",     HeldCount::AtTheClient),
    (Server::Lighttpd,                "plain",          HeldCount::Nowhere),
];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum HeldCount {
    AtTheClient,
    Nowhere,
}

#[test]
fn time_wait_is_where_the_table_says() {
    let name = "time_wait_is_where_the_table_says";
    for (server, drain, expected) in TABLE {
        with_network(name, |network| row(network, name, server, drain, expected));
    }
}

fn row(
    network: &Network,
    name: &str,
    server: Server,
    drain: &str,
    expected: HeldCount,
) -> Result<(), Missing> {
    let _running = Running::start(server, network, name)?;
    let connections = CONNECTIONS.to_string();
    // With all its workers busy Apache closes kept connections without a word, and some before we do.
    let arguments = [
        ["--close", "client-close", "--drain", drain],
        ["--connections", &connections, "--concurrency", "8"],
    ];
    let loaded = load_loopback(&network.server, &arguments.concat());
    loaded.assert_whole(CONNECTIONS);
    let held = match expected {
        HeldCount::AtTheClient => [0, CONNECTIONS],
        HeldCount::Nowhere => [0, 0],
    };
    assert_eq!(loaded.held(), held, "{server:?}, {drain}: {loaded}");
    Ok(())
}
