//! Servers that try to keep the generator busy: each run ends with the timeout of its requests.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    ops::ControlFlow,
    thread,
    time::{Duration, Instant},
};

use ackwise_load::{CloseMode, LoadOptions, StackMode, load};

/// What a server does on a connection after the first bytes of the client.
type Attack = fn(&mut TcpStream) -> io::Result<()>;

const ATTACKS: &[(&str, Attack)] = &[
    ("silence", |_| wait()),
    ("chunk extensions", |out| {
        let chunk = format!("1;{}\r\nx\r\n", "e".repeat(8_000));
        flood(out, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunk.as_bytes())
    }),
    ("a body that never ends", |out| flood(out, b"HTTP/1.1 200 OK\r\n\r\n", b"xxxxxxxx")),
    ("interim responses", |out| flood(out, b"", b"HTTP/1.1 103 Early Hints\r\n\r\n")),
    ("a body, one byte at a time", |out| {
        out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")?;
        let end = Instant::now() + LIFETIME;
        while Instant::now() < end {
            out.write_all(b"x")?;
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }),
    ("a connection that is never closed", |out| {
        out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")?;
        wait()
    }),
    ("bytes after the response", |out| {
        out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")?;
        flood(out, b"", b"garbage ")
    }),
];

#[test]
fn no_answer_keeps_a_request_busy_beyond_its_timeout() {
    for &(name, attack) in ATTACKS {
        let target = format!("http://{}/", serve(attack)).parse().unwrap();
        let options = LoadOptions {
            connections: Some(2),
            concurrency: 2,
            timeout: TIMEOUT,
            close: CloseMode::Server,
            stack: Some(StackMode::Kernel),
            ..LoadOptions::new(target)
        };
        let begun = Instant::now();
        // Whether there is a report or an error is not the question here.
        let result = load(&options, &mut |_| ControlFlow::Continue(())).map(drop);
        let took = begun.elapsed();
        assert!(took < 2 * TIMEOUT + SLACK, "{name}: {took:?}, {result:?}");
    }
}

/// A server that attacks each client until that has gone.
fn serve(attack: Attack) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            thread::spawn(move || {
                // The client goes in the middle of it.
                let _ = socket.read(&mut [0; 4096]).and_then(|_| attack(&mut socket));
            });
        }
    });
    address
}

fn flood(out: &mut TcpStream, first: &[u8], again: &[u8]) -> io::Result<()> {
    out.write_all(first)?;
    let many = again.repeat(65_536_usize.div_ceil(again.len()));
    let end = Instant::now() + LIFETIME;
    while Instant::now() < end {
        out.write_all(&many)?;
    }
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "an attack that only waits is one, too")]
fn wait() -> io::Result<()> {
    thread::sleep(LIFETIME);
    Ok(())
}

const TIMEOUT: Duration = Duration::from_millis(500);
/// Our choice, for a busy machine; timeouts are looked at every 50 ms. Twice the timeout: one for the
/// response, one for the close. Without timeouts, the attacks last [`LIFETIME`].
const SLACK: Duration = Duration::from_secs(5);
const LIFETIME: Duration = Duration::from_secs(20);
