//! A server of TLS 1.3 that refuses a client that has no certificate: its request crosses the alert.

use ackwise_cause::ConnectOutcome;

use crate::tls_wire::{CLIENT, SERVER, Tls};

/// A handshake with this last flight of the client, and its request.
fn asked(flight: &str) -> Tls {
    let mut tls = Tls::opened();
    tls.send(10.2, CLIENT, "22:512");
    tls.send(20.4, SERVER, "22:122 20:1 23:38 23:82 23:806 23:97 23:53");
    tls.send(20.5, CLIENT, flight);
    tls.send(20.6, CLIENT, "23:219");
    tls
}

/// An empty Certificate before Finished, in a record of its own, as from Go and OpenSSL, or in one; and one that is not
/// empty, with CertificateVerify.
const CERTIFIED: [&str; 4] =
    ["20:1 23:25 23:53", "20:1 23:61", "20:1 23:900 23:97 23:53", "20:1 23:1020"];

#[test]
fn who_is_refused_has_asked_nothing() {
    for flight in CERTIFIED {
        for closing in ["23:19", "23:19 fin"] {
            let mut tls = asked(flight);
            tls.send(31.0, SERVER, closing);
            tls.send(31.1, CLIENT, "rst");
            let analysis = tls.seen();
            assert!(analysis.exchanges.is_empty(), "{}", tls.script);
            let connection = &analysis.connections[0];
            assert_eq!(connection.connect, Some(ConnectOutcome::TlsAlert), "{}", tls.script);
            assert!(connection.alert.is_some_and(|it| it.refuses_client), "{}", tls.script);
        }
    }
}

/// At the server the request arrives behind the alert.
#[test]
fn what_crosses_the_alert_does_not_answer_it() {
    for flight in CERTIFIED {
        let mut tls = Tls::opened();
        tls.send(10.2, CLIENT, "22:512");
        tls.send(10.4, SERVER, "22:122 20:1 23:38 23:82 23:806 23:97 23:53");
        tls.send(20.5, CLIENT, flight);
        let heard = tls.streams[SERVER].len();
        tls.send(20.6, SERVER, "23:19");
        tls.send(20.7, CLIENT, "23:219");
        let (head, acked) = tls.script.trim_end().rsplit_once(' ').unwrap();
        assert_ne!(acked, heard.to_string());
        tls.script = format!("{head} {heard}\n");
        tls.send(20.8, SERVER, "rst");
        let analysis = tls.seen();
        assert!(analysis.exchanges.is_empty(), "{}", tls.script);
        assert!(
            analysis.connections[0].alert.is_some_and(|it| it.refuses_client),
            "{}",
            tls.script
        );
    }
}

/// One of whom no certificate was asked, and whose request the server does not answer before it closes.
#[test]
fn who_closes_an_idle_session_refuses_nobody() {
    let mut tls = asked("20:1 23:53");
    tls.send(31.0, SERVER, "23:19 fin");
    tls.send(31.1, CLIENT, "rst");
    let analysis = tls.seen();
    assert_eq!(analysis.exchanges.len(), 1, "{}", tls.script);
    assert_eq!(analysis.connections[0].connect, None, "{}", tls.script);
}

/// Nor who closes a session with a certificate, without tickets, on which nobody has asked for long.
#[test]
fn who_closes_an_idle_session_with_a_certificate_refuses_nobody() {
    for flight in CERTIFIED {
        let mut tls = Tls::opened();
        tls.send(10.2, CLIENT, "22:512");
        tls.send(20.4, SERVER, "22:122 20:1 23:38 23:82 23:806 23:97 23:53");
        tls.send(20.5, CLIENT, flight);
        tls.send(60_000.0, SERVER, "23:19 fin");
        tls.send(60_000.1, CLIENT, "fin");
        let analysis = tls.seen();
        assert_eq!(analysis.connections[0].connect, None, "{}", tls.script);
    }
}

/// Tickets, a response, or a body of two bytes: the server has taken what the client has shown.
#[test]
fn who_is_answered_is_not_refused() {
    for flight in CERTIFIED {
        for answer in ["23:250 23:250 23:300", "23:300", "23:19"] {
            let mut tls = asked(flight);
            tls.send(31.0, SERVER, answer);
            tls.ack(31.1, CLIENT);
            tls.send(40.0, CLIENT, "23:219");
            tls.send(50.5, SERVER, "23:300");
            tls.ack(50.6, CLIENT);
            tls.send(60.0, SERVER, "23:19 fin");
            tls.send(60.1, CLIENT, "rst");
            let analysis = tls.seen();
            assert_eq!(analysis.exchanges.len(), 2, "{}", tls.script);
            assert!(analysis.exchanges.iter().all(|it| it.complete), "{}", tls.script);
        }
    }
}
