//! A server with one worker serves one connection at a time: a check must not hold one open while it asks on
//! another, nor keep other clients waiting for long.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ackwise_check::{
    Options, StackChoice, Target,
    card::{CheckId, Finding, Reason, Verdict},
    check,
};

#[test]
fn a_check_of_a_server_with_one_worker_never_waits_for_itself() {
    let server = OneWorker::start();
    let card = server.check();
    let hung = |it: &&Finding| {
        it.reason.is_some_and(|it| it != Reason::Stack) || it.summary.contains("no bytes within")
    };
    assert_eq!(card.findings.iter().find(hung).map(|it| &it.summary), None, "{card:?}");
    let found = card.findings.iter().find(|it| it.id == CheckId::NagleDelayedAck).expect("asked");
    assert_eq!(found.verdict, Verdict::Pass, "{found:?}");
}

#[test]
fn other_clients_of_a_server_with_one_worker_wait_for_less_than_a_delayed_ack() {
    let server = OneWorker::start();
    let address = server.address;
    let over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&over);
    let other = thread::spawn(move || {
        let mut longest = Duration::ZERO;
        while !stop.load(Ordering::SeqCst) {
            let begun = Instant::now();
            let mut stream = TcpStream::connect(address).expect("it listens");
            stream
                .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                .expect("sent");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("answered");
            longest = longest.max(begun.elapsed());
            thread::sleep(Duration::from_millis(20));
        }
        longest
    });
    server.check();
    over.store(true, Ordering::SeqCst);
    let longest = other.join().expect("it only asks");
    // 150 ms, and what a busy machine adds; an idle connection that is watched would be 2 s.
    assert!(longest < Duration::from_millis(700), "{longest:?}");
}

struct OneWorker {
    address: SocketAddr,
}

impl OneWorker {
    /// It accepts the next connection when the one before has ended.
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(stream); // The client has gone.
            }
        });
        Self { address }
    }

    fn check(&self) -> ackwise_check::card::Card {
        let target: Target = format!("http://{}/", self.address).parse().expect("a URL");
        let options = Options { stack: StackChoice::Kernel, ..Options::default() };
        check(&target, &options, &mut |_| {}).expect("a card")
    }
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut unread, mut buffer) = (Vec::new(), [0; 4_096]);
    loop {
        while let Some(end) = unread.windows(4).position(|it| it == b"\r\n\r\n") {
            let head: Vec<u8> = unread.drain(..end + 4).collect();
            let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
            let closes = head.contains("connection: close");
            let close = if closes { "Connection: close\r\n" } else { "" };
            let answer = format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 5\r\n\r\nhello");
            stream.write_all(answer.as_bytes())?;
            if closes {
                return Ok(());
            }
        }
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        unread.extend_from_slice(&buffer[..read]);
    }
}
