//! nginx closes first, and either holds TIME-WAIT or has it taken over.

use crate::{connections, network::Network, program::load_loopback, with_nginx};

/// Loads the server with as many connections as the tests make.
fn load(network: &Network, close: &str) -> crate::program::Loaded {
    let loaded = load_loopback(
        &network.server,
        &["--close", close, "--connections", &connections().to_string()],
    );
    loaded.assert_whole(connections());
    loaded
}

#[test]
fn a_server_that_closes_first_waits_for_all() {
    with_nginx("a_server_that_closes_first_waits_for_all", |network, _| {
        let loaded = load(network, "server");
        assert_eq!(loaded.held(), [connections(), 0], "{loaded}");
        assert!(loaded.summary().contains("the server closes first"), "{loaded}");
        let last = loaded.value("/time_wait/series").as_array().and_then(|all| all.last()).unwrap();
        assert_eq!(last["server"], connections(), "{loaded}");
    });
}

#[test]
fn with_swap_a_thousandth_is_left_at_the_server_at_most() {
    with_nginx("with_swap_a_thousandth_is_left_at_the_server_at_most", |network, _| {
        let loaded = load(network, "swap");
        let [server, client] = loaded.held();
        assert!(server <= connections() / 1000, "{loaded}");
        assert_eq!(client, connections(), "{loaded}");
        assert!(loaded.summary().contains("RST"), "{loaded}");
    });
}

#[test]
fn a_server_that_follows_rfc_1337_keeps_all_and_the_report_says_why() {
    let name = "a_server_that_follows_rfc_1337_keeps_all_and_the_report_says_why";
    with_nginx(name, |network, _| {
        network.set_on_server("tcp_rfc1337", "1").unwrap();
        let loaded = load(network, "swap");
        assert_eq!(loaded.held(), [connections(), connections()], "{loaded}");
        assert!(loaded.summary().contains("net.ipv4.tcp_rfc1337=1"), "{loaded}");
        assert_eq!(loaded.value("/time_wait/server_ignores_resets"), true);
    });
}

#[test]
fn a_client_that_closes_first_waits_for_all() {
    with_nginx("a_client_that_closes_first_waits_for_all", |network, _| {
        let loaded = load(network, "client");
        assert_eq!(loaded.held(), [0, connections()], "{loaded}");
        assert!(loaded.notes("ports for 60 s"), "{loaded}");
    });
}
