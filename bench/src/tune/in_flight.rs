//! Whether `ackwise tune --max-connections` ever closes a connection whose request the server has read and not
//! answered yet. There is room for one connection, so every idle one closes at once.
//!
//! The server notes each request that it reads. If a client's connection ends before the response, the note says
//! whether the request was in flight, or had crossed the close and is to be repeated (RFC 9112, section 9.3.1).

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ackwise_linux::Namespace;
use anyhow::{anyhow, ensure};
use socket2::{Domain, Socket, Type};

use super::Tuning;
use crate::dice::Dice;

/// What the clients of a row do.
#[derive(Clone, Copy, Debug)]
struct Row {
    name: &'static str,
    clients: u32,
    /// Requests of all clients.
    requests: u32,
    /// The longest time between response and request, in milliseconds.
    pause: u32,
    /// The least and the longest time between request and response.
    answer: (u32, u32),
    host: u8,
    arguments: &'static [&'static str],
}

pub(super) fn run(ackwise: &Path, requests: u32) -> anyhow::Result<()> {
    let half = requests / 2;
    let quick = &["--idle-at-least", "200ms", "--unsure-after", "2s"];
    let patient = &["--unsure-after", "60s"];
    let row = |name, clients, requests, pause, answer| {
        let (host, arguments): (_, &[&str]) = (1, quick);
        Row { name, clients, requests, pause, answer, host, arguments }
    };
    let silent =
        row("30 s without a byte, requests at once (`--unsure-after 60s`)", 20, 40, 0, SILENT);
    let rows = [
        row("requests at once, answered in 0 to 50 ms", 10, half, 0, (0, 50)),
        row("pauses of 0 to 400 ms, answered in 0 to 50 ms", 80, half, 400, (0, 50)),
        Row { arguments: patient, ..silent },
        Row {
            name: "excluded address, pauses of up to 5 s",
            clients: 20,
            requests: 100,
            pause: 5_000,
            answer: (0, 50),
            host: 2,
            arguments: &[
                "--exclude",
                "127.0.0.2",
                "--idle-at-least",
                "200ms",
                "--unsure-after",
                "1s",
            ],
        },
    ];
    println!("tune --in-flight: connections beyond `--max-connections 1`\n");
    println!(
        "| clients | responses | closed with a request in flight | requests sent on a connection that was closed while idle | idle connections closed |"
    );
    println!("| --- | --- | --- | --- | --- |");
    let seen = Row {
        name: "30 s without a byte, requests at once (eBPF)",
        arguments: &["--idle-at-least", "200ms", "--unsure-after", "1s"],
        ..silent
    };
    for row in rows.into_iter().chain([seen]) {
        println!("{}", Namespace::create()?.run(|| once(ackwise, row))??);
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Tally {
    responses: AtomicU64,
    /// Connections that ended while the server worked on a request.
    in_flight: AtomicU64,
    crossed: AtomicU64,
}

fn once(ackwise: &Path, row: Row) -> anyhow::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, listener.local_addr()?.port()));
    let read: Arc<[AtomicU32]> = (0..row.clients).map(|_| AtomicU32::new(0)).collect();
    let noted = Arc::clone(&read);
    // It ends with the process.
    drop(thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let noted = Arc::clone(&noted);
            thread::spawn(move || serve(stream, &noted));
        }
    }));
    let arguments = [&["--max-connections", "1"], row.arguments].concat();
    let tuning = Tuning::start(ackwise, address.port(), &arguments)?;
    // eBPF knows the order of what is written from now on.
    let began = Instant::now();
    while fs::metadata(&tuning.output)?.len() == 0 {
        ensure!(began.elapsed() < LIMIT, "ackwise tune reports nothing");
        thread::sleep(Duration::from_millis(50));
    }
    let tally = Arc::new(Tally::default());
    let clients: Vec<_> = (0..row.clients)
        .map(|index| {
            let (read, tally) = (Arc::clone(&read), Arc::clone(&tally));
            thread::spawn(move || client(address, row, index, &read[index as usize], &tally))
        })
        .collect();
    for client in clients {
        client.join().map_err(|_| anyhow!("a client panicked"))??;
    }
    let text = tuning.end()?;
    if row.name.ends_with("(eBPF)") && !text.contains("seen by eBPF") {
        return Ok(format!("| {} | not measured: no eBPF | | | |", row.name));
    }
    let closed = text.lines().filter(|line| line.contains(" closed      ")).count();
    let [responses, in_flight, crossed] =
        [&tally.responses, &tally.in_flight, &tally.crossed].map(|it| it.load(Ordering::Relaxed));
    Ok(format!("| {} | {responses} | {in_flight} | {crossed} | {closed} |", row.name))
}

/// Answers requests of three numbers: the client, the number of the request, milliseconds until the response.
fn serve(mut stream: TcpStream, read: &[AtomicU32]) {
    let _ = stream.set_nodelay(true);
    let mut request = [[0; 4]; 3];
    while stream.read_exact(request.as_flattened_mut()).is_ok() {
        let [index, number, answer] = request.map(u32::from_be_bytes);
        let Some(noted) = read.get(index as usize) else { return };
        noted.store(number, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(answer.into()));
        if stream.write_all(&request[1]).is_err() {
            return;
        }
    }
}

fn client(
    address: SocketAddr,
    row: Row,
    index: u32,
    read: &AtomicU32,
    tally: &Tally,
) -> io::Result<()> {
    let mut dice = Dice::new(1).of("in flight", index.into());
    let mut kept: Option<TcpStream> = None;
    for number in 1..=row.requests / row.clients {
        let (least, most) = row.answer;
        // A connection is known by its first exchange, so that one is quick.
        let answer = if number == 1 { 0 } else { dice.between(least, most) };
        let request = [index, number, answer].map(u32::to_be_bytes);
        let mut tries = 0;
        loop {
            let mut stream = match kept.take() {
                Some(stream) => stream,
                None => connect(row.host, address)?,
            };
            let sent = stream.write_all(request.as_flattened());
            if sent.and_then(|()| stream.read_exact(&mut [0; 4])).is_ok() {
                tally.responses.fetch_add(1, Ordering::Relaxed);
                kept = Some(stream);
                break;
            }
            let was_read = read.load(Ordering::SeqCst) == number;
            let counted = if was_read { &tally.in_flight } else { &tally.crossed };
            counted.fetch_add(1, Ordering::Relaxed);
            tries += 1;
            if was_read || tries > TRIES {
                break;
            }
        }
        thread::sleep(Duration::from_millis(dice.between(0, row.pause).into()));
    }
    Ok(())
}

fn connect(host: u8, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from(([127, 0, 0, host], 0)).into())?;
    socket.connect(&address.into())?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    // A response that never comes is an error of the bench.
    stream.set_read_timeout(Some(LIMIT))?;
    Ok(stream)
}

/// The time without a byte in milliseconds.
const SILENT: (u32, u32) = (30_000, 30_500);
/// Our choice: a request crosses a close once, and hardly twice.
const TRIES: u32 = 5;
const LIMIT: Duration = Duration::from_secs(60);
