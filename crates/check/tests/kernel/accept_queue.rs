//! A full accept queue is read, not provoked: here, other clients fill it while a check runs.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use ackwise_check::{
    Options, Progress, StackChoice, Target,
    card::{CheckId, Finding, Verdict},
    check,
};
use socket2::{Domain, SockAddr, Socket, Type};

#[test]
fn an_overflow_during_the_check_and_a_queue_that_is_full_are_warned_of() {
    for (clients, leave, verdict, says) in [
        (0, false, Verdict::Pass, "no overflow"),
        (2, true, Verdict::Warn, "is full"),
        (6, true, Verdict::Warn, "overflowed"),
        (6, false, Verdict::Warn, "overflowed"),
    ] {
        let server = Small::start();
        let mut others = Vec::new();
        let found = server.found(|| {
            server.accepts.store(false, Ordering::SeqCst);
            thread::sleep(10 * Small::PAUSE);
            others.extend((0..clients).map(|_| connecting(server.address)));
            thread::sleep(10 * Small::PAUSE);
            if !leave {
                server.accepts.store(true, Ordering::SeqCst);
                thread::sleep(10 * Small::PAUSE);
            }
        });
        assert_eq!(found.verdict, verdict, "{clients} clients: {found:?}");
        assert!(found.summary.contains(says), "{found:?}");
        assert_eq!(found.remedy.is_some(), verdict == Verdict::Warn, "{found:?}");
        let values = serde_json::to_value(&found.values).unwrap();
        assert_eq!(values["limit"], 1, "{values}");
        if clients == 6 {
            assert!(values["listen_overflows"].as_u64() >= values["dropped"].as_u64(), "{values}");
            assert!(values["dropped"].as_u64() > Some(0), "{values}");
        }
    }
}

/// A SYN, and no patience.
fn connecting(server: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_nonblocking(true).expect("it is new");
    let _ = socket.connect(&server.into()); // In progress, or waiting to be accepted.
    socket
}

/// A server whose queue has room for two.
struct Small {
    address: SocketAddr,
    accepts: Arc<AtomicBool>,
}

impl Small {
    const PAUSE: Duration = Duration::from_millis(2);

    fn start() -> Self {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        listener.bind(&SockAddr::from(SocketAddr::from(([127, 0, 0, 1], 0)))).expect("a free port");
        listener.listen(1).expect("it is bound");
        listener.set_nonblocking(true).expect("it listens");
        let address = listener.local_addr().ok().and_then(|it| it.as_socket()).expect("IPv4");
        let accepts = Arc::new(AtomicBool::new(true));
        let accepting = Arc::clone(&accepts);
        thread::spawn(move || {
            loop {
                match accepting.load(Ordering::SeqCst).then(|| listener.accept()) {
                    Some(Ok((stream, _))) => {
                        stream.set_nonblocking(false).expect("it is open");
                        thread::spawn(move || serve(stream.into()));
                    }
                    _ => thread::sleep(Self::PAUSE),
                }
            }
        });
        Self { address, accepts }
    }

    /// What a check finds, where `meanwhile` happens before it looks again.
    fn found(&self, meanwhile: impl FnOnce()) -> Finding {
        let options = Options {
            stack: StackChoice::Kernel,
            only: Some([CheckId::AcceptQueueFull].into()),
            ..Options::default()
        };
        let target: Target = format!("http://{}/", self.address).parse().expect("a URL");
        let mut meanwhile = Some(meanwhile);
        let mut card = check(&target, &options, &mut |step| {
            if matches!(step, Progress::Checking { .. }) {
                meanwhile.take().into_iter().for_each(|it| it());
            }
        })
        .expect("a card");
        card.findings.remove(0)
    }
}

fn serve(mut stream: TcpStream) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    loop {
        while !lines.next()?.ok()?.is_empty() {}
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
    }
}
