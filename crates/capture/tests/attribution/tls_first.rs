//! The first request under TLS, and its response: when they begin and end, without secrets.

use std::time::Duration;

use ackwise_capture::analysis::ExchangeResult;
use ackwise_cause::Cause;

use crate::tls_wire::{CLIENT, SERVER, Tls};

/// What the exchanges took, in milliseconds, and of that the client before its requests and the handshakes.
fn taken(tls: &Tls) -> Vec<[f64; 3]> {
    let millis = |span: Duration| (span.as_secs_f64() * 1e4).round() / 10.0;
    let exchanges = tls.seen().exchanges;
    assert!(exchanges.iter().all(|it| it.complete), "{}", tls.script);
    let of = |it: &ExchangeResult, causes: &[Cause]| {
        let shares = it.shares.iter().filter(|share| causes.contains(&share.cause));
        millis(shares.map(|share| share.span).sum())
    };
    let row = |it: &ExchangeResult| {
        let set_up = [Cause::Handshake, Cause::TlsHandshake];
        [millis(it.duration), of(it, &[Cause::ApplicationLimited]), of(it, &set_up)]
    };
    exchanges.iter().map(row).collect()
}

/// Tickets in the server's first flight, as from Go, or none: then the first record behind the request is the response,
/// although it could be a ticket.
#[test]
fn a_response_is_over_before_the_next_request() {
    for (flight, response) in
        [("22:122 20:1 23:800 23:53", "23:300"), ("22:122 20:1 23:800 23:250", "23:100")]
    {
        let mut tls = Tls::opened();
        tls.send(10.2, CLIENT, "22:512");
        tls.send(20.4, SERVER, flight);
        tls.send(20.5, CLIENT, "20:1 23:53");
        tls.send(20.6, CLIENT, "23:100");
        tls.send(31.0, SERVER, response);
        tls.ack(31.1, CLIENT);
        // The client has nothing to ask for 1.5 s.
        tls.send(1_531.0, CLIENT, "23:100");
        tls.send(1_541.5, SERVER, response);
        tls.ack(1_541.6, CLIENT);
        let [first, second] = taken(&tls)[..] else { panic!("{}", tls.script) };
        assert!((30.9..31.2).contains(&first[0]) && first[1] < 0.2, "{first:?}\n{}", tls.script);
        assert!((10.4..10.6).contains(&second[0]), "{second:?}\n{}", tls.script);
    }
}

/// As browsers do: nobody waited for the handshakes. A client that asks behind them at once has.
#[test]
fn a_connection_that_was_opened_in_advance_has_no_handshake() {
    for version in ["1.2", "1.3"] {
        for (idle, is_advance) in [(0.1, false), (3_000.0, true)] {
            let mut tls = Tls::opened();
            tls.send(10.2, CLIENT, "22:512");
            let ready = match version {
                "1.3" => {
                    tls.send(20.4, SERVER, "22:122 20:1 23:800 23:53");
                    tls.send(20.5, CLIENT, "20:1 23:53");
                    if is_advance {
                        tls.send(30.6, SERVER, "23:250 23:250");
                        tls.ack(30.7, CLIENT);
                    }
                    20.5
                }
                _ => {
                    tls.send(20.4, SERVER, "22:122 22:800 22:4");
                    tls.send(20.5, CLIENT, "22:37 20:1 22:40");
                    tls.send(30.6, SERVER, "20:1 22:40");
                    30.7
                }
            };
            let asked = ready + idle;
            tls.send(asked, CLIENT, "23:100");
            tls.send(asked + 10.4, SERVER, "23:300");
            tls.ack(asked + 10.5, CLIENT);
            let [[took, _, set_up]] = taken(&tls)[..] else { panic!("{}", tls.script) };
            match is_advance {
                true => assert!((10.3..10.6).contains(&took), "{took}\n{}", tls.script),
                false => {
                    assert!(set_up > 20.0 && took > ready + 10.4, "{took} {set_up}\n{}", tls.script)
                }
            }
        }
    }
}

/// The answer to early data comes before the client has finished the handshake, and the server may close behind it.
#[test]
fn early_data_is_answered_within_the_handshake() {
    for close in ["", "23:19 fin"] {
        let mut tls = Tls::opened();
        tls.send(10.2, CLIENT, "22:512 20:1 23:100");
        tls.send(20.5, SERVER, "22:122 20:1 23:40 23:53");
        tls.send(20.6, SERVER, "23:400");
        if !close.is_empty() {
            tls.send(20.7, SERVER, close);
        }
        tls.send(20.8, CLIENT, "23:21 23:53");
        tls.send(21.0, CLIENT, "23:19 fin");
        let [[took, ..]] = taken(&tls)[..] else { panic!("{}", tls.script) };
        assert!((20.4..20.9).contains(&took), "{took}\n{}", tls.script);
    }
}

/// A client that asks `idle` milliseconds after the handshake over a path of 20 ms each way. Times are those at which a packet
/// leaves; `seen_at` is where the capture was taken.
fn asked_after(version: &str, idle: f64, seen_at: usize) -> Tls {
    const WAY: f64 = 20.0;
    let seen = |end: usize, left: f64| if end == seen_at { left } else { left + WAY };
    let script = format!(
        "{} > syn\n{} < syn\n{} > ack 0\n",
        seen(CLIENT, 0.0),
        seen(SERVER, 20.0),
        seen(CLIENT, 40.1)
    );
    let mut tls = Tls::default();
    tls.script = script;
    let mut send = |left: f64, end: usize, records: &str| tls.send(seen(end, left), end, records);
    send(40.2, CLIENT, "22:512");
    let ready = match version {
        "1.3" => {
            send(60.4, SERVER, "22:122 20:1 23:800 23:53");
            send(80.5, CLIENT, "20:1 23:53");
            80.5
        }
        _ => {
            send(60.4, SERVER, "22:122 22:800 22:4");
            send(80.5, CLIENT, "22:37 20:1 22:40");
            send(100.6, SERVER, "20:1 22:40");
            120.6
        }
    };
    send(ready + idle, CLIENT, "23:100");
    send(ready + idle + 20.4, SERVER, "23:300");
    tls.ack(seen(CLIENT, ready + idle + 40.5), CLIENT);
    tls
}

/// Both ends see one connection, whose client asks when it runs again; or later, because it was opened in advance.
#[test]
fn a_slow_client_waited_for_its_connection_wherever_that_was_captured() {
    for (version, ready, slow, idle) in [("1.2", 120.6, 17.0, 45.0), ("1.3", 80.5, 17.0, 30.0)] {
        for seen_at in [CLIENT, SERVER] {
            // Away from the client, the way of the SYN and that of the response are missing.
            let unseen = if seen_at == CLIENT { 0.0 } else { 40.0 };
            let tls = asked_after(version, slow, seen_at);
            let [[took, of_client, _]] = taken(&tls)[..] else { panic!("{}", tls.script) };
            let whole = ready + slow + 40.4 - unseen;
            assert!((took - whole).abs() < 0.3, "{version}: {took}, {whole}\n{}", tls.script);
            // The way of the server's Finished is not the client's time.
            assert!((of_client - slow).abs() < 0.3, "{version}: {of_client}\n{}", tls.script);

            let tls = asked_after(version, idle, seen_at);
            let [[took, of_client, _]] = taken(&tls)[..] else { panic!("{}", tls.script) };
            assert!((took - 40.4 + unseen).abs() < 0.3, "{version}: {took}\n{}", tls.script);
            assert!(of_client < 0.1, "{version}: {of_client}\n{}", tls.script);
        }
    }
}
