#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
//! The examples' servers at their limit, with clients on real sockets.

use std::{
    io,
    num::NonZeroU64,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use ackwise_tuning::tokio::Gate;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{Instant, sleep, timeout},
};

#[path = "../../examples/axum.rs"]
#[expect(dead_code, reason = "its main function")]
mod on_axum;
#[path = "../../examples/hyper.rs"]
#[expect(dead_code, reason = "its main function")]
mod on_hyper;

const PLACES: u64 = 200;

#[derive(Clone, Copy, Debug)]
enum Server {
    Hyper,
    Axum,
}

/// Starts it, and returns its port.
async fn start(server: Server, idle_at_least: Duration) -> (u16, Gate) {
    let gate = Gate::new(NonZeroU64::new(PLACES).unwrap(), idle_at_least);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    match server {
        Server::Hyper => drop(tokio::spawn(on_hyper::serve(listener, gate.clone()))),
        Server::Axum => {
            let limited = on_axum::Limited { listener, gate: gate.clone() };
            drop(tokio::spawn(on_axum::serve(limited)));
        }
    }
    (port, gate)
}

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

/// A request, and its response.
async fn exchange(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await?;
    let (mut response, mut block) = (Vec::new(), [0; 1_024]);
    while !response.ends_with(b"page\n") {
        match stream.read(&mut block).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            size => response.extend_from_slice(&block[..size]),
        }
    }
    assert!(response.starts_with(b"HTTP/1.1 200"), "{response:?}");
    Ok(())
}

#[tokio::test]
async fn the_one_after_the_limit_is_served_and_the_longest_idle_one_ends() {
    for server in [Server::Hyper, Server::Axum] {
        let (port, gate) = start(server, Duration::from_millis(100)).await;
        let mut kept = Vec::new();
        for _ in 0..PLACES {
            let mut stream = connect(port).await;
            exchange(&mut stream).await.unwrap();
            kept.push(stream);
        }
        assert_eq!((gate.open(), gate.ended()), (PLACES, 0), "{server:?}");
        // The first has been idle for longest, until it asks again.
        exchange(&mut kept[0]).await.unwrap();
        let mut newcomer = connect(port).await;
        timeout(Duration::from_secs(5), exchange(&mut newcomer)).await.unwrap().unwrap();
        let ended = timeout(Duration::from_secs(5), kept[1].read(&mut [0])).await.unwrap();
        assert_eq!(ended.unwrap(), 0, "{server:?}: a FIN");
        assert_eq!((gate.open(), gate.ended()), (PLACES, 1), "{server:?}");
        exchange(&mut kept[0]).await.expect("it has its place still");
    }
}

/// 500 clients, of which 200 have room: everybody is served, and no request fails after one more try, which is what a client does
/// whose kept connection has ended (RFC 9112, section 9.3.1).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_clients_than_places_are_served_without_a_failed_request() {
    for server in [Server::Hyper, Server::Axum] {
        let (port, gate) = start(server, Duration::from_millis(20)).await;
        let (served, again) = (AtomicU32::new(0), AtomicU32::new(0));
        let (served, again): (&'static AtomicU32, &'static AtomicU32) =
            (Box::leak(Box::new(served)), Box::leak(Box::new(again)));
        let until = Instant::now() + Duration::from_secs(4);
        let clients = (0..500_u64).map(|number| {
            tokio::spawn(async move {
                let mut stream = connect(port).await;
                exchange(&mut stream).await.expect("a first request has no close to cross");
                served.fetch_add(1, Ordering::Relaxed);
                // Spread, and the same in each run.
                let mut pauses = (0..).map(|time| 100 + (number * 37 + time * 61) % 400);
                while Instant::now() < until {
                    sleep(Duration::from_millis(pauses.next().unwrap())).await;
                    if exchange(&mut stream).await.is_err() {
                        again.fetch_add(1, Ordering::Relaxed);
                        stream = connect(port).await;
                        exchange(&mut stream).await.expect("the second try");
                    }
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        assert_eq!(served.load(Ordering::Relaxed), 500, "{server:?}");
        assert!(gate.ended() > 300, "{server:?}: {}", gate.ended());
        println!(
            "{server:?}: {} ended, {} tried again",
            gate.ended(),
            again.load(Ordering::Relaxed)
        );
    }
}

/// A request that is answered slowly, and one that has not come: both are no idle connections.
#[tokio::test]
async fn a_busy_stream_keeps_its_place() {
    let gate = Gate::new(NonZeroU64::new(2).unwrap(), Duration::ZERO);
    let (mut client, server) = tokio::io::duplex(64);
    let (_new, silent) = tokio::io::duplex(64);
    let mut server = gate.admit(server).await;
    let _silent = gate.admit(silent).await;
    let handler = tokio::spawn(async move {
        let mut request = [0; 7];
        server.read_exact(&mut request).await.unwrap();
        // As hyper does, to see whether the client is still there.
        let early = timeout(Duration::from_millis(100), server.read(&mut request)).await;
        assert!(early.is_err(), "it waits while the request is worked on");
        server.write_all(b"response").await.unwrap();
        // Idle now: its end comes although the client has not closed.
        assert_eq!(server.read(&mut request).await.unwrap(), 0);
    });
    client.write_all(b"request").await.unwrap();
    let newcomer = tokio::io::duplex(64).1;
    let _newcomer = timeout(Duration::from_secs(5), gate.admit(newcomer)).await.unwrap();
    client.read_exact(&mut [0; 8]).await.unwrap();
    handler.await.unwrap();
    assert_eq!((gate.open(), gate.ended()), (2, 1));
}
