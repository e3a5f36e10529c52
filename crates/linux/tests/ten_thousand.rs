//! Ten thousand endpoints in one driver, connected to a real server, without data loss.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "each test file uses its part")]
mod host;

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::{AsFd, AsRawFd},
    thread,
    time::Instant,
};

use ackwise_linux::{ConnectionId, stack::Tap};
use ackwise_tcp::Event;
use ackwise_testing::skip;
use host::{Host, config, stream};
use nix::sys::{
    epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
    resource::{Resource, getrlimit, setrlimit},
    socket::{Backlog, listen},
};

const ENDPOINTS: usize = 10_000;
const BYTES: usize = 4_096;

#[test]
fn ten_thousand_endpoints_talk_to_a_real_server() {
    let name = "ten_thousand_endpoints_talk_to_a_real_server";
    Host::with(name, |mut host| {
        let allowed = raise_descriptor_limit();
        if allowed < ENDPOINTS as u64 + 100 {
            let grant = "raise it with `ulimit -Hn 20000`";
            return skip(name, format!("only {allowed} open files are allowed; {grant}"));
        }
        // Belongs to the namespace and is removed with it.
        fs::write("/proc/sys/net/core/somaxconn", "16384").unwrap();
        let listener = TcpListener::bind(host.kernel(0)).unwrap();
        // std's backlog of 128 would cause SYN cookies, and a reset for each that fails the check
        // on later data.
        listen(&listener, Backlog::MAXALLOWABLE).unwrap();
        let server = listener.local_addr().unwrap();
        let echo = thread::spawn(move || serve_echo(&listener, ENDPOINTS));

        let start = Instant::now();
        let mut clients = Clients::connect(&mut host, server);
        host.run_until("ten thousand handshakes", |host| {
            clients.advance(host);
            clients.open == ENDPOINTS
        });
        let connected = start.elapsed();
        host.run_until("ten thousand echoes", |host| {
            clients.advance(host);
            clients.complete == ENDPOINTS
        });
        let done = start.elapsed();
        assert_eq!(host.stack.connections(), ENDPOINTS, "all open at once");
        let counters = host.stack.counters();
        eprintln!("{ENDPOINTS} open after {connected:?}, echoed after {done:?}: {counters:?}");

        for id in clients.of.keys() {
            host.stack.close(*id);
        }
        host.run_until("the end of the server", |_| echo.is_finished());
        assert_eq!(echo.join().unwrap(), ENDPOINTS * BYTES);
    });
}

#[derive(Default)]
struct Clients {
    of: BTreeMap<ConnectionId, Client>,
    open: usize,
    complete: usize,
}

struct Client {
    sent: usize,
    bytes: Vec<u8>,
    received: Vec<u8>,
}

impl Clients {
    fn connect(host: &mut Host, server: SocketAddr) -> Self {
        let mut clients = Self::default();
        for number in 0..u32::try_from(ENDPOINTS).unwrap() {
            let id = host.stack.connect(server, config(), Tap::Off).unwrap();
            let bytes = stream(number, BYTES);
            clients.of.insert(id, Client { sent: 0, bytes, received: Vec::new() });
        }
        clients
    }

    /// Handles the events since the last call.
    fn advance(&mut self, host: &mut Host) {
        for (id, event) in host.take_events() {
            let client = self.of.get_mut(&id).unwrap();
            match event {
                Event::Connected => self.open += 1,
                Event::Writable | Event::Readable => {}
                other => panic!("{other:?} on {id}"),
            }
            client.sent += host.stack.write(id, &client.bytes[client.sent..]);
            let mut buffer = [0; BYTES];
            let len = host.stack.read(id, &mut buffer);
            client.received.extend_from_slice(&buffer[..len]);
            if len > 0 && client.received.len() == BYTES {
                assert!(client.received == client.bytes, "{id} got what it did not send");
                self.complete += 1;
            }
        }
    }
}

/// A single-threaded kernel server: accepts `count` connections and echoes data until all are
/// closed. Returns the number of bytes.
fn serve_echo(listener: &TcpListener, count: usize) -> usize {
    let epoll = Epoll::new(EpollCreateFlags::empty()).unwrap();
    let add = |socket: &dyn AsRawFd, fd: std::os::fd::BorrowedFd<'_>| {
        let number = u64::try_from(socket.as_raw_fd()).unwrap();
        epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, number)).unwrap();
        number
    };
    listener.set_nonblocking(true).unwrap();
    let doorbell = add(listener, listener.as_fd());
    let mut sockets: BTreeMap<u64, TcpStream> = BTreeMap::new();
    let (mut closed, mut bytes) = (0, 0);
    let mut events = [EpollEvent::empty(); 256];
    while closed < count {
        let ready = epoll.wait(&mut events, EpollTimeout::NONE).unwrap();
        for event in &events[..ready] {
            if event.data() == doorbell {
                while let Ok((socket, _)) = listener.accept() {
                    sockets.insert(add(&socket, socket.as_fd()), socket);
                }
                continue;
            }
            let mut buffer = [0; BYTES];
            let socket = sockets.get_mut(&event.data()).unwrap();
            match socket.read(&mut buffer) {
                Ok(0) => {
                    sockets.remove(&event.data());
                    closed += 1;
                }
                Ok(len) => {
                    socket.write_all(&buffer[..len]).unwrap();
                    bytes += len;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error} on {socket:?}"),
            }
        }
    }
    bytes
}

fn raise_descriptor_limit() -> u64 {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let wanted = hard.max(2 * ENDPOINTS as u64);
    // Only root may exceed the hard limit.
    if setrlimit(Resource::RLIMIT_NOFILE, wanted, wanted).is_err() {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    }
    getrlimit(Resource::RLIMIT_NOFILE).unwrap().0
}
