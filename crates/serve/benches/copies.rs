//! What a file costs by each way of copying: `cargo bench -p ackwise-serve`.
//!
//! A client on loopback requests files of 1 KB to 64 MB on one connection and discards them. Printed are the processor
//! time of the server's thread and the time of a response, medians of [`ROUNDS`] rounds in which the ways take turns.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on fails")]

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use ackwise_http::Behaviour;
use ackwise_serve::{Config, Copies, Documents, Server, Site};

fn main() {
    let directory = tempfile::tempdir().unwrap();
    println!(
        "| size | {} |",
        ["read", "stdio", "sendfile", "mmap"].map(|way| format!("{way}: CPU, time")).join(" | ")
    );
    println!("| --- |{}", " --- |".repeat(WAYS.len()));
    for shift in (10..=26).step_by(4) {
        let size = 1_usize << shift;
        fs::write(directory.path().join("file"), vec![b'x'; size]).unwrap();
        let requests = (BYTES / size).clamp(3, 2000);
        let mut costs: [Vec<(Duration, Duration)>; 4] = Default::default();
        for _ in 0..ROUNDS {
            for (way, costs) in WAYS.into_iter().zip(&mut costs) {
                costs.push(cost(way, directory.path(), size, requests));
            }
        }
        let medians = costs.map(|costs| {
            let [cpu, time] = [|it: &(Duration, Duration)| it.0, |it: &(Duration, Duration)| it.1]
                .map(|of| {
                    let mut each: Vec<_> = costs.iter().map(of).collect();
                    each.sort_unstable();
                    each[ROUNDS / 2].as_secs_f64() * 1e6
                });
            format!("{cpu:.1} µs, {time:.1} µs")
        });
        println!("| {} KB | {} |", size >> 10, medians.join(" | "));
    }
}

/// Processor time of the server's thread, and time, for one response.
fn cost(
    copies: Copies,
    directory: &std::path::Path,
    size: usize,
    requests: usize,
) -> (Duration, Duration) {
    let documents = Documents::Stored(Arc::new(Site::open(directory).unwrap()));
    let config = Config { documents, copies, ..Config::loopback(Behaviour::FIXED) };
    let server = Server::start(config).unwrap();
    let mut client = TcpStream::connect(server.local_addr()).unwrap();
    let mut buffer = vec![0; 1 << 20];
    exchange(&mut client, &mut buffer, size); // The file is in the page cache, the window open.
    // The thread of an earlier server may still be about to end.
    while of_connections().len() > 1 {
        thread::sleep(Duration::from_millis(1));
    }
    let (before, began) = (total(), Instant::now());
    for _ in 0..requests {
        exchange(&mut client, &mut buffer, size);
    }
    let (time, cpu) = (began.elapsed(), total() - before);
    server.stop();
    let each = u32::try_from(requests).unwrap();
    (cpu / each, time / each)
}

fn exchange(client: &mut TcpStream, buffer: &mut [u8], size: usize) {
    client.write_all(b"GET /file HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    let mut head = None;
    let mut got = 0;
    while head.is_none_or(|head: usize| got < head + size) {
        let bytes = client.read(buffer).unwrap();
        assert!(bytes > 0, "the server closed");
        if head.is_none() {
            head = buffer[..bytes].windows(4).position(|it| it == b"\r\n\r\n").map(|at| at + 4);
        }
        got += bytes;
    }
}

/// Processor time of the server's connections in this process.
fn total() -> Duration {
    of_connections().iter().sum()
}

/// The same for each connection.
///
/// Documentation/scheduler/sched-stats.rst: the first number is time on a processor in nanoseconds.
fn of_connections() -> Vec<Duration> {
    let mut times = Vec::new();
    for task in fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok) {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        if read("comm").trim_end() == "connection" {
            let stat = read("schedstat");
            let nanos = stat.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
            times.push(Duration::from_nanos(nanos));
        }
    }
    times
}

const WAYS: [Copies; 4] = [Copies::Read, Copies::Stdio, Copies::Sendfile, Copies::Mmap { over: 0 }];
/// An odd number, for a median (our choice).
const ROUNDS: usize = 5;
/// Bytes of one round (our choice: some hundredths of a second).
const BYTES: usize = 64 << 20;
