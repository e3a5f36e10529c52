//! The processor time of `ackwise tune` with many open connections on loopback.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use ackwise_linux::sockets::{Family, Query, SocketTable};
use ackwise_linux::{Namespace, processor_time};
use ackwise_tcp::State;
use anyhow::{Context, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

use super::Tuning;

pub(super) fn run(ackwise: &Path, count: usize, time: Duration) -> anyhow::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    // Both ends of a connection are in this process.
    let possible = usize::try_from(most)?.saturating_sub(100) / 2;
    let count = if count > possible {
        println!("warning: {most} descriptors are enough for {possible} connections only");
        possible
    } else {
        count
    };
    Namespace::create()?.run(|| in_namespace(ackwise, count, time))?
}

fn in_namespace(ackwise: &Path, count: usize, time: Duration) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let connections = open(&listener, count)?;
    println!("tune: {count} open connections on loopback\n");
    let query = Query::local_port(port).in_family(Family::V4);
    let query = query.in_states(&[State::Established, State::CloseWait]);
    println!("| scan of all connections | processor time: least, mean of {SCANS} |");
    println!("| --- | --- |");
    for (name, query) in [
        ("addresses and queues", query),
        ("with `TCP_INFO`", query.with_info()),
        ("with `TCP_INFO` and buffers", query.with_info().with_memory()),
    ] {
        let (least, mean) = scans(query, count)?;
        println!("| {name} | {least:.1} ms, {mean:.1} ms |");
    }
    let most = (count + 10).to_string();
    let fewer = (count - count / 10).to_string();
    println!("\n| `tune --apply` with | processor, after the first 20 s |");
    println!("| --- | --- |");
    for (name, arguments) in [
        ("`--max-connections`, places left", vec!["--max-connections", &most, "--keep-free", "0"]),
        (
            "`--max-connections`, too many and none idle",
            vec!["--max-connections", &fewer, "--idle-at-least", "60m", "--unsure-after", "60m"],
        ),
        ("`--nodelay`", vec!["--nodelay"]),
        ("`--buffer-memory 64MiB`", vec!["--buffer-memory", "64MiB"]),
    ] {
        let tuning = Tuning::start(ackwise, port, &arguments)?;
        thread::sleep(SETTLE);
        let before = tuning.processor_time()?;
        thread::sleep(time);
        #[expect(clippy::cast_precision_loss, reason = "some digits")]
        let used = (tuning.processor_time()? - before) as f64 / 1e9;
        println!("| {name} | {:.2} % |", 100.0 * used / time.as_secs_f64());
        tuning.end()?;
    }
    drop(connections);
    Ok(())
}

/// Each connection has had one request and one response.
fn open(listener: &TcpListener, count: usize) -> anyhow::Result<Vec<(TcpStream, TcpStream)>> {
    let address = listener.local_addr()?;
    let mut open = Vec::new();
    for index in 0..count {
        // An address has some 28,000 ports.
        let host = u8::try_from(2 + index / 20_000)?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from(([127, 0, 0, host], 0)).into())?;
        socket.connect(&address.into())?;
        let (mut client, (mut server, _)) = (TcpStream::from(socket), listener.accept()?);
        client.write_all(b"GET")?;
        server.read_exact(&mut [0; 3])?;
        server.write_all(b"OK")?;
        client.read_exact(&mut [0; 2])?;
        open.push((client, server));
    }
    Ok(open)
}

/// Least and mean processor time of a scan, in milliseconds.
fn scans(query: Query, count: usize) -> anyhow::Result<(f64, f64)> {
    let mut table = SocketTable::here()?;
    let mut times = Vec::new();
    for _ in 0..SCANS {
        let (mut found, before) = (0, processor_time().context("no clock of processor time")?);
        table.each(query, |_| found += 1)?;
        let after = processor_time().context("no clock of processor time")?;
        // A dump may visit a socket twice.
        ensure!(found >= count, "{found} of {count} connections are in the table");
        times.push((after - before).as_secs_f64() * 1e3);
    }
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    #[expect(clippy::cast_precision_loss, reason = "a few")]
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    Ok((least, mean))
}

const SCANS: usize = 20;
/// Each connection has had its four looks by then.
const SETTLE: Duration = Duration::from_secs(20);
