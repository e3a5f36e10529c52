//! `--behind`: the server must keep idle connections longer than what is in front of it, and say when it closes.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use ackwise_check::{
    Options, Progress, StackChoice, Target,
    card::{CheckId, Finding, Verdict},
    check,
};
use ackwise_http::{Behaviour, behaviour::KeepAlivePolicy};
use ackwise_serve::{Config, Server};

const MS: Duration = Duration::from_millis(1);

#[test]
fn the_verdict_depends_on_who_closes_first() {
    use Verdict::{Pass, Warn};
    let closes = Some(1_500 * MS);
    // What is in front keeps connections for a shorter time, as long, and longer; the margin is a second.
    #[rustfmt::skip]
    let table = [
        (closes, 200 * MS,   Pass),
        (closes, 1_500 * MS, Warn),
        (closes, 3_000 * MS, Warn),
        (None,   200 * MS,   Pass),
        (None,   1_500 * MS, Pass),
        (None,   3_000 * MS, Pass),
    ];
    thread::scope(|scope| {
        for (idle, behind, verdict) in table {
            scope.spawn(move || {
                let idle = idle.unwrap_or(3_600_000 * MS);
                let keep_alive = KeepAlivePolicy::Silent { idle, max_requests: None };
                let server =
                    Server::start(Config::loopback(Behaviour { keep_alive, ..Behaviour::FIXED }))
                        .unwrap();
                let (found, waits) = keep_alive_of(server.local_addr(), Some(behind), TIME);
                assert_eq!(found.verdict, verdict, "{idle:?} behind {behind:?}: {found:?}");
                assert!(waits > 0, "it is said that it waits");
                assert_eq!(value(&found, "behind_s"), behind.as_secs_f64(), "{found:?}");
                assert_eq!(found.remedy.is_some(), verdict == Warn, "{found:?}");
                if verdict == Warn {
                    let seen = value(&found, "timeout_seen_s").as_f64();
                    assert!(seen.is_some_and(|it| (1.4..2.2).contains(&it)), "{found:?}");
                    assert!(found.summary.contains("margin 1.0 s"), "{found:?}");
                }
            });
        }
    });
}

#[test]
fn a_wait_that_is_too_long_for_the_time_limit_is_unknown_and_says_so() {
    let server = Server::start(Config::loopback(Behaviour::FIXED)).unwrap();
    let (found, _) = keep_alive_of(server.local_addr(), Some(60_000 * MS), 3_000 * MS);
    assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
    assert!(found.summary.contains("--timeout"), "{found:?}");
}

#[test]
fn a_connection_that_is_full_must_be_closed_with_a_word() {
    for (says, behind, verdict) in [
        (true, Some(100 * MS), Verdict::Pass),
        (false, Some(100 * MS), Verdict::Warn),
        (false, None, Verdict::Pass),
    ] {
        let (found, _) = keep_alive_of(closes_after_three(says), behind, TIME);
        assert_eq!(found.verdict, verdict, "{found:?}");
        assert_eq!(value(&found, "max_requests"), 3, "{found:?}");
        assert_eq!(value(&found, "limit_announced"), says, "{found:?}");
    }
}

/// The finding about the server at `address`, and how often it was said that it waits.
fn keep_alive_of(
    address: SocketAddr,
    behind: Option<Duration>,
    time: Duration,
) -> (Finding, usize) {
    let options = Options {
        stack: StackChoice::Kernel,
        only: Some([CheckId::KeepAlive].into()),
        behind,
        time,
        ..Options::default()
    };
    let target: Target = format!("http://{address}/300").parse().expect("a URL");
    let mut waits = 0;
    let count = &mut |step| waits += usize::from(matches!(step, Progress::Idle { .. }));
    let card = check(&target, &options, count).expect("a card");
    (card.findings[0].clone(), waits)
}

/// A server whose connections take three requests.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn closes_after_three(says: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream, says));
        }
    });
    address
}

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn serve(mut stream: TcpStream, says: bool) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    for number in 1..=3 {
        while !lines.next()?.ok()?.is_empty() {}
        let last = if says && number == 3 { "Connection: close\r\n" } else { "" };
        let answer = format!("HTTP/1.1 200 OK\r\n{last}Content-Length: 2\r\n\r\nok");
        stream.write_all(answer.as_bytes()).ok()?;
    }
    Some(())
}

fn value(found: &Finding, key: &str) -> serde_json::Value {
    serde_json::to_value(&found.values).expect("values are JSON")[key].clone()
}

const TIME: Duration = Duration::from_secs(30);
