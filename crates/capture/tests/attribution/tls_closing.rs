//! What an end of TLS sends when it closes ends no response later and begins no exchange, whoever closes, and however
//! alerts look.

use std::{fmt::Write as _, time::Duration};

use ackwise_capture::analysis::ExchangeResult;
use ackwise_cause::Cause;

use crate::tls_wire::{CLIENT, SERVER, Tls};

/// What an exchange took, and of what.
#[derive(Debug, PartialEq)]
struct Account {
    duration: Duration,
    complete: bool,
    shares: Vec<(Cause, u128)>,
}

/// What each exchange took, and of what, to a tenth of a millisecond: what comes later shows the distance better.
fn accounts(tls: &Tls) -> Vec<Account> {
    let rounded = |span: Duration| (span.as_micros() + 110) / 500;
    let account = |it: &ExchangeResult| {
        let shares = it.shares.iter().map(|it| (it.cause, rounded(it.span))).collect();
        Account { duration: it.duration, complete: it.complete, shares }
    };
    tls.seen().exchanges.iter().map(account).collect()
}

/// Fails unless what was seen is one exchange, and like another.
#[track_caller]
fn is_like(found: &Tls, expected: &Tls) {
    assert_eq!(accounts(found), accounts(expected), "{}", found.script);
}

/// Alerts by version: OpenSSL's and rustls's; Java pads TLS 1.3; TLS 1.2 with GCM, with ChaCha20-Poly1305, with CBC.
const ALERTS: [(&str, &str); 5] =
    [("1.3", "23:19"), ("1.3", "23:35"), ("1.2", "21:26"), ("1.2", "21:18"), ("1.2", "21:48")];

/// A way to close a connection: its name, and what is seen from a time on, with an alert.
struct Close(&'static str, fn(&mut Tls, f64, &str));

/// How a connection is closed behind a response, from `at` on, with `alert`.
const CLOSES: [Close; 10] = [
    Close("server, FIN with the alert", |tls, at, alert| {
        tls.send(at, SERVER, &format!("{alert} fin"));
        tls.ack(at + 0.02, CLIENT);
        tls.send(at + 0.1, CLIENT, "fin");
        tls.ack(at + 10.0, SERVER);
    }),
    Close("server, FIN behind the alert, client's alert in answer", |tls, at, alert| {
        tls.send(at, SERVER, alert);
        tls.send(at + 0.02, SERVER, "fin");
        tls.send(at + 0.1, CLIENT, &format!("{alert} fin"));
        tls.send(at + 10.0, SERVER, "rst");
    }),
    Close("client, FIN with the alert, FIN in answer", |tls, at, alert| {
        tls.send(at, CLIENT, &format!("{alert} fin"));
        tls.send(at + 10.0, SERVER, "fin");
        tls.ack(at + 10.1, CLIENT);
    }),
    Close("client, FIN behind the alert, server's alert in answer, RST", |tls, at, alert| {
        tls.send(at, CLIENT, alert);
        tls.send(at + 0.1, CLIENT, "fin");
        tls.send(at + 10.0, SERVER, alert);
        tls.send(at + 10.1, CLIENT, "rst");
    }),
    Close("client without an alert, server's alert and FIN in answer", |tls, at, alert| {
        tls.send(at, CLIENT, "fin");
        tls.send(at + 10.0, SERVER, &format!("{alert} fin"));
        tls.send(at + 10.1, CLIENT, "rst");
    }),
    Close("client without an alert, server's alert late in answer, RST", |tls, at, alert| {
        tls.send(at, CLIENT, "fin");
        tls.send(at + 3_000.0, SERVER, alert);
        tls.send(at + 3_000.1, CLIENT, "rst");
    }),
    Close("both at the same time", |tls, at, alert| {
        let asked = tls.streams[CLIENT].len();
        tls.send(at, CLIENT, alert);
        tls.send(at + 0.1, SERVER, &format!("{alert} fin"));
        // It had not arrived.
        let cut = tls.script.rfind(" ack").unwrap();
        tls.script.truncate(cut);
        writeln!(tls.script, " ack {asked}").unwrap();
        tls.send(at + 0.2, CLIENT, "fin");
        tls.ack(at + 10.0, SERVER);
    }),
    Close("server's alert alone, and half a minute later the client's FIN", |tls, at, alert| {
        tls.send(at, SERVER, alert);
        tls.ack(at + 0.02, CLIENT);
        tls.send(at + 30_000.0, CLIENT, &format!("{alert} fin"));
        tls.send(at + 30_010.0, SERVER, "fin");
    }),
    Close("alerts of both, and an RST", |tls, at, alert| {
        tls.send(at, CLIENT, alert);
        tls.send(at + 10.0, SERVER, alert);
        tls.send(at + 10.1, CLIENT, "rst");
    }),
    Close("server, and the capture ends", |tls, at, alert| tls.send(at, SERVER, alert)),
];

#[test]
fn nobody_waits_for_a_close_notify() {
    for (version, alert) in ALERTS {
        let answered = Tls::answered(version);
        assert_eq!(answered.seen().exchanges.len(), 1);
        assert_eq!(answered.seen().exchanges[0].duration, Duration::from_micros(51_020));
        for Close(name, close) in CLOSES {
            for idle in [400.0, 1_500.0, 60_000.0] {
                let mut closed = answered.clone();
                close(&mut closed, 51.0 + idle, alert);
                println!("{version}, {alert}, {name}, after {idle} ms");
                is_like(&closed, &answered);
            }
        }
    }
}

#[test]
fn nor_for_one_at_once_behind_the_response() {
    for (version, alert) in ALERTS {
        let answered = Tls::answered(version);
        for Close(name, close) in CLOSES {
            // What a server sends last, alone, at once, and without closing, may be content.
            if name.starts_with("server's alert alone") || name.ends_with("capture ends") {
                continue;
            }
            let mut closed = answered.clone();
            close(&mut closed, 51.1, alert);
            println!("{version}, {alert}, {name}");
            is_like(&closed, &answered);
        }
    }
}

#[test]
fn a_goaway_before_the_alert_is_not_waited_for_either() {
    for (version, goaway, alert) in
        [("1.3", "23:34", "23:19"), ("1.2", "23:41", "21:26"), ("1.2", "23:33", "21:18")]
    {
        let answered = Tls::answered(version);
        for records in [format!("{goaway} {alert} fin"), format!("{goaway} {alert}")] {
            let mut closed = answered.clone();
            closed.send(75_000.0, SERVER, &records);
            closed.send(75_000.1, SERVER, "fin");
            is_like(&closed, &answered);
        }
        let mut closed = answered.clone();
        closed.send(75_000.0, SERVER, goaway);
        closed.send(75_000.1, SERVER, alert);
        closed.send(75_000.2, SERVER, "fin");
        is_like(&closed, &answered);
    }
}

/// What the exchanges took, in milliseconds.
fn took(tls: &Tls) -> Vec<u128> {
    tls.seen().exchanges.iter().map(|it| it.duration.as_millis()).collect()
}

#[test]
fn two_bytes_of_content_are_as_long_as_an_alert() {
    let answered = Tls::answered("1.3");
    // The body of a response, held by Nagle's algorithm, in a record of its own.
    let mut body = answered.clone();
    body.send(91.0, SERVER, "23:19");
    body.ack(91.02, CLIENT);

    let mut again = body.clone();
    again.send(1_000.0, CLIENT, "23:100");
    again.send(1_010.0, SERVER, "23:400");
    assert_eq!(took(&again), [91, 10], "the client asks again");

    let mut closed = body.clone();
    closed.send(91.1, CLIENT, "23:19 fin");
    closed.send(101.0, SERVER, "fin");
    assert_eq!(took(&closed), [91], "the client closes behind it");

    let mut closed = body.clone();
    closed.send(5_000.0, SERVER, "23:19 fin");
    assert_eq!(took(&closed), [91], "an alert comes after it");

    assert_eq!(took(&body), [91], "the capture ends");

    let mut stream = answered.clone();
    for at in 1..=4 {
        stream.send(51.0 + f64::from(at) * 1_000.0, SERVER, "23:19");
    }
    stream.send(4_100.0, SERVER, "23:500");
    assert_eq!(took(&stream), [4_100], "a stream of events goes on");
}

#[test]
fn what_may_be_either_after_a_long_silence_is_nothing_that_anybody_waited_for() {
    let mut pinged = Tls::answered("1.3");
    // A PING of HTTP/2, say, or a response that goes on: then its last record would be lost.
    pinged.send(20_000.0, SERVER, "23:34");
    pinged.send(21_000.0, CLIENT, "23:100");
    pinged.send(21_010.0, SERVER, "23:400");
    assert_eq!(took(&pinged), [51, 10]);
}
