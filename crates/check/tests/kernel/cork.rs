//! A program that takes as long as a cork's timer: only a close shows the difference, if there is one.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use ackwise_check::{
    Options, StackChoice, Target,
    card::{CheckId, Finding, Reason, Verdict},
    check,
};

/// What the server does if a client asks it to close.
#[derive(Clone, Copy, Debug)]
enum OnClose {
    Closes,
    Ignores,
}

#[test]
fn a_think_time_of_200_ms_is_one_only_where_the_connection_closes() {
    for (on_close, verdict, reason) in [
        (OnClose::Closes, Verdict::Pass, None),
        (OnClose::Ignores, Verdict::Unknown, Some(Reason::NoAnswer)),
    ] {
        let found = finding(serve(on_close));
        assert_eq!((found.verdict, found.reason), (verdict, reason), "{on_close:?}: {found:?}");
    }
}

/// Thinks for 205 ms before each response of five bytes.
fn serve(on_close: OnClose) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let _ = answer(stream, on_close); // The client has gone.
            });
        }
    });
    address
}

fn answer(mut stream: TcpStream, on_close: OnClose) -> std::io::Result<()> {
    let (mut seen, mut buffer) = (Vec::new(), [0; 4_096]);
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        seen.extend_from_slice(&buffer[..count]);
        while let Some(end) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head: Vec<u8> = seen.drain(..end + 4).collect();
            let asked =
                String::from_utf8_lossy(&head).to_ascii_lowercase().contains("connection: close");
            let closes = asked && matches!(on_close, OnClose::Closes);
            thread::sleep(Duration::from_millis(205));
            let close = if closes { "Connection: close\r\n" } else { "" };
            let response = format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 5\r\n\r\nhello");
            stream.write_all(response.as_bytes())?;
            if closes {
                return Ok(());
            }
        }
    }
}

fn finding(address: SocketAddr) -> Finding {
    let target: Target = format!("http://{address}/").parse().expect("a URL");
    let only = Some([CheckId::CorkTimer].into());
    let options = Options { stack: StackChoice::Kernel, only, ..Options::default() };
    check(&target, &options, &mut |_| {}).expect("a card").findings.remove(0)
}
