//! The server on our own TCP serves while spoofed SYNs arrive: SYN cookies (RFC 4987, section 3.6).

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use ackwise_http::Behaviour;
use ackwise_linux::{
    TunDevice,
    device::TunOptions,
    stack::Counters,
    testing::{in_namespace, skip},
};
use ackwise_serve::{Config, StackServer};
use ackwise_tcp::{Flags, Options, Segment, SeqNumber, policy::ClosePolicy, wire};
use socket2::{Domain, Protocol, Socket, Type};

const CLIENT_INTERVAL: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(3);
/// SYNs between two looks at the clock.
const BATCH: u32 = 100;

/// Sends SYNs at a rate, for some time.
#[derive(Clone, Copy)]
struct Flood {
    rate: u32,
    lasts: Duration,
}

/// Of `clients` that connect while the floods last, one after the other, how many are served; what the stack counted.
fn served(floods: &[Flood], clients: u32) -> Option<(usize, Counters)> {
    let device = TunDevice::open(TunOptions::default())
        .inspect_err(|missing| skip("a flood of SYNs", missing))
        .ok()?;
    let config = Config { bind: ([0, 0, 0, 0], 8080).into(), ..Config::loopback(Behaviour::FIXED) };
    let mut server = StackServer::start(device, config, ClosePolicy::Ordinary).unwrap();
    let address = server.address();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                server.poll(Instant::now() + Duration::from_millis(20)).unwrap();
            }
            server.stack_counters()
        });
        let flooding = scope.spawn(|| floods.iter().for_each(|it| flood(*it, address)));
        thread::sleep(CLIENT_INTERVAL);
        let clients: Vec<_> = (0..clients)
            .map(|_| {
                thread::sleep(CLIENT_INTERVAL);
                scope.spawn(move || fetch(address).is_ok_and(|bytes| bytes > 300))
            })
            .collect();
        let served = clients.into_iter().map(|client| client.join().unwrap());
        let served = served.filter(|served| *served).count();
        flooding.join().unwrap();
        done.store(true, Ordering::Relaxed);
        Some((served, serving.join().unwrap()))
    })
}

/// SYNs from addresses of which none answers.
fn flood(Flood { rate, lasts }: Flood, server: SocketAddr) {
    // IPPROTO_RAW: the IP header is ours.
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255))).unwrap();
    let options = Options { mss: Some(1460), ..Options::NONE };
    let (mut packet, started) = (Vec::new(), Instant::now());
    let mut sent = 0_u32;
    while started.elapsed() < lasts {
        for _ in 0..BATCH {
            let [_, high, middle, low] = sent.to_be_bytes();
            let port = 1024 + u16::from(low);
            let source = SocketAddr::from(([10, high + 1, middle, low.max(1)], port));
            let syn = Segment {
                seq: SeqNumber(sent),
                flags: Flags::SYN,
                window: 65_535,
                options,
                ..Segment::default()
            };
            wire::write(&mut packet, source, server, &syn, &[]).unwrap();
            // A full queue drops it, as on any link.
            let _ = socket.send_to(&packet, &SocketAddr::from((server.ip(), 0)).into());
            sent += 1;
        }
        let due = Duration::from_secs(1) * sent / rate;
        thread::sleep(due.saturating_sub(started.elapsed()));
    }
}

fn fetch(server: SocketAddr) -> io::Result<usize> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /300 HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n")?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)
}

#[test]
fn clients_are_served_during_a_flood_of_syns() {
    in_namespace("clients_are_served_during_a_flood_of_syns", || {
        let (floods, clients, syns): (&[Flood], _, _) = match std::env::var_os(WHOLE) {
            None => (&[Flood { rate: 10_000, lasts: Duration::from_millis(2_500) }], 20, 5_000),
            Some(_) => {
                let first = Flood { rate: 46_500, lasts: Duration::from_secs(2) };
                (&[first, Flood { rate: 50_000, lasts: Duration::from_secs(10) }], 100, 400_000)
            }
        };
        let Some((served, counters)) = served(floods, clients) else { return };
        eprintln!("{served} of {clients} clients were served: {counters:?}");
        assert!(served * 100 >= clients as usize * 95, "{served} of {clients}: {counters:?}");
        assert!(counters.cookies_sent > syns, "{counters:?}");
        assert!(counters.cookies_accepted >= served as u64, "{counters:?}");
    });
}

/// Set to anything for 93,000 SYNs in 2 s and 50,000 a second for 10 s: a benchmark.
const WHOLE: &str = "ACKWISE_WHOLE_FLOOD";
