//! The path on the kernel: sockets in two namespaces, joined by the link emulator.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use ackwise_link::{Faults, LinkConfig, Pick, Queue, Rate};
use ackwise_linux::emulator::{Disturbance, EmulatorOptions, Report, Scheduling};
use ackwise_linux::{Emulator, Namespace};
use anyhow::{Context, anyhow};
use socket2::{Domain, SockRef, Socket, Type};

use super::flow::{End, Flow, OnWire};
use super::path::{Buffers, Fates, Path, REQUEST};
use crate::witness::clock::Clock;
use crate::witness::header::Header;
use crate::witness::trace::{Event, Tracer, What};

/// One run, and why it may be wrong.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) flow: Flow,
    /// What disturbed it; `None` if nothing did.
    pub(super) disturbed: Option<String>,
}

/// Transfers over the path, with the server on `port`, which no other run uses at the same time.
pub(super) fn run(path: &Path, fates: &Fates, port: u16) -> anyhow::Result<Ran> {
    let [client, server] = [Namespace::create()?, Namespace::create()?];
    let clock = Clock::start();
    let emulator = Emulator::between(&client, &server, &options(path, fates)?)?;
    for namespace in [&client, &server] {
        namespace.run(|| configure(path.buffers))??;
    }
    let tracer = Tracer::start(port)?;
    let address = SocketAddrV4::new(emulator.server_address(), port);
    let listener = server.run(|| listen(path, port))??;
    let socket = client.run(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
    transfer(path, &listener, socket, address)?;
    thread::sleep(2 * path.one_way() + SETTLE);
    let events = tracer.stop()?;
    let report = emulator.stop()?;
    let flow = flow(&report, &events, address, clock);
    let disturbed = disturbed(path, &flow, &report, clock);
    Ok(Ran { flow, disturbed })
}

/// Why the times of a run may be wrong.
fn disturbed(path: &Path, flow: &Flow, report: &Report, clock: Clock) -> Option<String> {
    let by_accident = |it: &Disturbance| matches!(it, Disturbance::DroppedByAccident { .. });
    if let Some(disturbance) = report.disturbances().into_iter().find(by_accident) {
        return Some(disturbance.to_string());
    }
    let (late, limit) = (report.lateness.p99, Disturbance::LATE.max(path.one_way() / LATE_SHARE));
    if late > limit {
        return Some(format!("1 % of the packets were more than {late:.1?} late"));
    }
    let spans = flow.transfers(path.work())?;
    let whole: u64 = spans.iter().map(|[from, until]| until - from).sum();
    let paused = |[from, until]: &[Instant; 2]| -> u64 {
        let (from, until) = (clock.nanos(*from), clock.nanos(*until));
        let within = |span: &[u64; 2]| until.min(span[1]).saturating_sub(from.max(span[0]));
        spans.iter().map(within).sum()
    };
    let paused: u64 = report.pauses.iter().map(paused).sum();
    (paused > whole / PAUSED_SHARE).then(|| {
        let [paused, whole] = [paused, whole].map(Duration::from_nanos);
        format!("processors paused for {paused:.1?} of the transfers' {whole:.1?}")
    })
}

fn options(path: &Path, fates: &Fates) -> anyhow::Result<EmulatorOptions> {
    let link = LinkConfig {
        rate: Rate::bits_per_second(u64::from(path.rate) * 1_000),
        delay: path.one_way(),
        queue: Queue::packets(path.queue).context("a path needs a queue")?,
        ..LinkConfig::IDEAL
    };
    let mut options = EmulatorOptions::symmetric(link);
    options.to_client.faults = Faults {
        loss: Pick::Nth(fates.lost.clone()),
        reordering: Pick::Nth(fates.late.clone()),
        lateness: Duration::from_micros(path.lateness.into()),
        ..Faults::NONE
    };
    options.congestion_control = None;
    options.log = true;
    Ok(options)
}

/// Of the calling thread's namespace, which no other run uses: so there are no old metrics either.
fn configure(buffers: Buffers) -> anyhow::Result<()> {
    let set = |name: &str, value: &str| {
        let file = format!("/proc/sys/net/ipv4/{name}");
        fs::write(&file, value).with_context(|| format!("cannot write {file}"))
    };
    set("tcp_no_metrics_save", "1")?;
    match buffers {
        Buffers::Stated => {
            // Half of the buffer is the window (`TCP_DEFAULT_SCALING_RATIO`), the rest is overhead.
            let bytes = 2 * Buffers::STATED;
            set("tcp_rmem", &format!("4096 {bytes} {bytes}"))?;
            set("tcp_wmem", &format!("4096 {bytes} {bytes}"))
        }
        // Linux 6.17 and later, whatever this kernel has.
        Buffers::Tuned => {
            set("tcp_rmem", "4096 131072 33554432")?;
            set("tcp_wmem", "4096 16384 4194304")
        }
    }
}

fn listen(path: &Path, port: u16) -> anyhow::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    // Accepted sockets inherit it.
    control(path, &socket)?;
    socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())?;
    socket.listen(1)?;
    Ok(socket.into())
}

fn control(path: &Path, socket: &Socket) -> anyhow::Result<()> {
    let name = path.control.name();
    socket.set_tcp_congestion(name.as_bytes()).with_context(|| {
        format!("the kernel has no congestion control {name} (try `modprobe tcp_{name}`)")
    })
}

/// Both programs, which nothing of normal priority keeps waiting.
fn transfer(
    path: &Path,
    listener: &TcpListener,
    socket: Socket,
    address: SocketAddrV4,
) -> anyhow::Result<()> {
    control(path, &socket)?;
    thread::scope(|scope| {
        let server = scope.spawn(|| -> anyhow::Result<()> {
            let _ = Scheduling::prefer_round_robin();
            SockRef::from(listener).set_read_timeout(Some(LIMIT))?;
            let mut stream = prepared(listener.accept()?.0)?;
            let mut request = vec![0; REQUEST as usize];
            let response = vec![b'x'; path.size as usize];
            for _ in 0..path.transfers {
                stream.read_exact(&mut request)?;
                stream.write_all(&response)?;
            }
            // The client closes first, so that no FIN shares a segment with data.
            stream.read_exact(&mut request[..1]).map_or(Ok(()), |()| Err(anyhow!("too much")))
        });
        let client = scope.spawn(|| -> anyhow::Result<()> {
            let _ = Scheduling::prefer_round_robin();
            socket.connect_timeout(&address.into(), LIMIT)?;
            let mut stream = prepared(socket.into())?;
            let mut buffer = vec![0; 1 << 16];
            for nth in 0..path.transfers {
                if nth > 0 {
                    thread::sleep(path.pause());
                }
                stream.write_all(&[b'y'; REQUEST as usize])?;
                let mut left = path.size as usize;
                while left > 0 {
                    let most = left.min(buffer.len());
                    match stream.read(&mut buffer[..most])? {
                        0 => return Err(anyhow!("the server closed too early")),
                        count => left -= count,
                    }
                }
            }
            Ok(())
        });
        let (client, server) = (client.join(), server.join());
        client.map_err(|_| anyhow!("the client panicked"))?.context("the client")?;
        server.map_err(|_| anyhow!("the server panicked"))?.context("the server")
    })
}

fn prepared(stream: TcpStream) -> anyhow::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    Ok(stream)
}

fn flow(report: &Report, events: &[Event], server: SocketAddrV4, clock: Clock) -> Flow {
    let mut flow = Flow::default();
    let (mut sent, mut arrived, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
    for record in &report.packets {
        let Some(header) = Header::parse(&record.headers, record.length) else { continue };
        let Header { from, syn, seq, ack, len, .. } = header;
        let from = if from == server { End::Server } else { End::Client };
        let packet = OnWire { from, syn, seq, ack, len };
        flow.note(&packet);
        sent.push((packet, clock.nanos(record.offered)));
        arrived.extend(record.delivered.map(|at| (packet, clock.nanos(at))));
        if record.sent.is_err() {
            dropped.push((packet, clock.nanos(record.offered)));
        }
    }
    let placed = |list: Vec<(OnWire, u64)>| {
        let mut packets: Vec<_> =
            list.into_iter().map(|(packet, at)| flow.packet(&packet, at)).collect();
        packets.sort_by_key(|packet| packet.at);
        packets
    };
    let (sent, arrived, dropped) = (placed(sent), placed(arrived), placed(dropped));
    let windows = events.iter().filter_map(|event| match event.what {
        What::Probe { snd_cwnd, ssthresh } if event.local == server => {
            Some(((event.at, snd_cwnd), (event.at, ssthresh)))
        }
        _ => None,
    });
    (flow.sent, flow.arrived, flow.dropped) = (sent, arrived, dropped);
    (flow.windows, flow.thresholds) = windows.unzip();
    flow
}

/// A packet in a hundred may be late by this part of the delay, if that is more than
/// [`Disturbance::LATE`]. Our choice: it changes a round trip by 1 %.
const LATE_SHARE: u32 = 50;
/// Pauses of the processors, added up, may take this part of the transfers' time. Our choice: half of them
/// hit a processor that does something else, so the time is wrong by 1 %, a fifth of the closest target.
const PAUSED_SHARE: u64 = 50;
/// Our choice: longer than any transfer drawn takes.
const LIMIT: Duration = Duration::from_secs(30);
/// Our choice: the last ACKs arrive.
const SETTLE: Duration = Duration::from_millis(20);
