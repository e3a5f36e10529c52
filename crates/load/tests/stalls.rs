//! Percentiles of a server with known stalls, beside those that wrk2's method has by definition.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    ops::ControlFlow,
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use ackwise_link::Seed;
use ackwise_load::{LoadOptions, LoadReport, Pattern, load};

/// The server answers at once, but nothing from 1.0 to 1.5 s after its first request.
const STALL: (Duration, Duration) = (Duration::from_millis(1000), Duration::from_millis(1500));
const RUN: Duration = Duration::from_secs(4);
const RATE: f64 = 1000.0;

/// Of the requests due during the stall, each waits until its end: of all latencies, the share above
/// x is the share of the run in which a request would wait longer than x.
#[test]
fn a_stall_counts_for_each_request_that_was_due() {
    let stall = (STALL.1 - STALL.0).as_secs_f64();
    for arrivals in [Pattern::Constant, Pattern::Poisson(Seed(1))] {
        // A machine that other programs keep busy delays both ends. Three runs, as CONTRIBUTING.md
        // wants it for what depends on real time.
        let misses: Vec<String> = (0..3)
            .map_while(|_| {
                let report = run(arrivals);
                // How many of a Poisson process' requests are due during the stall varies by 4 %, which
                // is too much for the lowest share.
                let lowest = if arrivals == Pattern::Constant { 0.9 } else { 0.95 };
                let misses = [lowest, 0.99, 0.999].into_iter().filter_map(|share| {
                    let expected = stall - (1.0 - share) * RUN.as_secs_f64();
                    let found = report.latencies.value_at_quantile(share) as f64 / 1e6;
                    let near = (found / expected - 1.0).abs() < 0.1;
                    (!near).then(|| format!("p{share}: {found} s, expected {expected} s"))
                });
                let misses: Vec<_> = misses.collect();
                (!misses.is_empty())
                    .then(|| format!("{arrivals:?}: {misses:?}, {:?}", report.notes))
            })
            .collect();
        assert!(misses.len() < 3, "{misses:#?}");
    }
}

fn run(arrivals: Pattern) -> LoadReport {
    let target = format!("http://{}/", serve()).parse().unwrap();
    let options = LoadOptions {
        connections: None,
        requests_per_connection: None,
        concurrency: 32,
        rate: Some(RATE),
        arrivals,
        duration: Some(RUN),
        ..LoadOptions::new(target)
    };
    let report = load(&options, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((report.failed, report.missed), (0, 0), "{:?}", report.notes);
    let due = RATE * RUN.as_secs_f64();
    // The number of Poisson arrivals has the standard deviation of its root: five of them.
    assert!((report.requests as f64 - due).abs() <= 5.0 * due.sqrt(), "{}", report.requests);
    assert_eq!(report.connections, 32);
    report
}

/// A server with a thread for each connection, which all stall together.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let first = Arc::new(OnceLock::new());
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let first = Arc::clone(&first);
            thread::spawn(move || answer(socket, &first));
        }
    });
    address
}

fn answer(mut socket: TcpStream, first: &OnceLock<Instant>) {
    socket.set_nodelay(true).unwrap();
    // One request at a time, and each fits a read.
    while let Ok(1..) = socket.read(&mut [0; 4096]) {
        let began = *first.get_or_init(Instant::now);
        let stalls = began + STALL.0..began + STALL.1;
        let now = Instant::now();
        if stalls.contains(&now) {
            thread::sleep(stalls.end - now);
        }
        if socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}
