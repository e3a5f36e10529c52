//! Our own server, which knows CLIENT_CLOSE.

use std::net::{Ipv4Addr, SocketAddr};

use ackwise_http::Behaviour;
use ackwise_serve::{Config, Server, Stats};

use crate::{
    connections,
    network::{Network, PORT},
    program::{Loaded, load_loopback},
    with_network,
};

/// Loads our server on a host of its own; what both say then, connections made besides not counted.
fn with_own(name: &str, arguments: &[&str], test: impl FnOnce(Loaded, Stats)) {
    with_network(name, |network| {
        let server = start(network);
        let all = connections().to_string();
        let arguments = [&["--connections", &all], arguments].concat();
        let loaded = load_loopback(&network.server, &arguments);
        let stats = server.stats();
        loaded.assert_whole(connections());
        assert_eq!((stats.answered, stats.refused), (connections(), 0), "{loaded}");
        test(loaded, stats);
        Ok(())
    });
}

pub(crate) fn start(network: &Network) -> Server {
    let bind = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
    let config = Config { bind, client_close: true, ..Config::loopback(Behaviour::FIXED) };
    network.server.run(|| Server::start(config)).unwrap().unwrap()
}

#[test]
fn closing_first_it_waits_for_all() {
    with_own("closing_first_it_waits_for_all", &["--close", "server"], |loaded, _| {
        assert_eq!(loaded.held(), [connections(), 0], "{loaded}");
    });
}

#[test]
fn with_swap_it_waits_for_a_thousandth_at_most() {
    with_own("with_swap_it_waits_for_a_thousandth_at_most", &["--close", "swap"], |loaded, _| {
        let [server, client] = loaded.held();
        assert!(server <= connections() / 1000, "{loaded}");
        assert_eq!(client, connections(), "{loaded}");
    });
}

#[test]
fn with_client_close_it_waits_for_none_and_counts_no_error() {
    let name = "with_client_close_it_waits_for_none_and_counts_no_error";
    for drain in ["half-close", "plain"] {
        let arguments = ["--close", "client-close", "--drain", drain];
        with_own(name, &arguments, |loaded, stats| {
            assert_eq!(loaded.held(), [0, connections()], "{drain}: {loaded}");
            assert_eq!(stats.client_closed, connections(), "{drain}: {stats:?}");
        });
    }
}

#[test]
fn our_tcp_says_client_close_as_well() {
    let arguments = ["--close", "client-close", "--stack", "ackwise"];
    with_own("our_tcp_says_client_close_as_well", &arguments, |loaded, stats| {
        assert_eq!(loaded.held(), [0, connections()], "{loaded}");
        assert_eq!(stats.client_closed, connections(), "{stats:?}");
    });
}
