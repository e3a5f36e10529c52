//! A server that does what the header `X-Do` of each request says, and writes down what that was.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ackwise_linux::Namespace;
use ackwise_linux::emulator::Scheduling;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, SockRef, Socket, Type};

use super::client::header;
use super::truth::Diary;
use crate::witness::clock::Nanos;

/// A server in a namespace. Ends when it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    shared: Arc<Shared>,
    accepts: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    diary: Arc<Diary>,
    /// Closes a connection that is idle for so long.
    idle: Option<Duration>,
    stop: AtomicBool,
    /// By the client's port; a port that is used again has both here.
    served: Mutex<BTreeMap<u16, Vec<Served>>>,
}

/// What was done with a request, or with a connection that ended without one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Served {
    /// The first byte was read.
    pub(super) first: Option<Nanos>,
    /// All was written that was to be.
    pub(super) answered: Option<Nanos>,
    /// The connection was closed, reset, or seen to end.
    pub(super) over: Option<Nanos>,
}

/// How a server is set up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Setup {
    pub(super) idle: Option<Duration>,
    pub(super) backlog: Option<i32>,
    /// Accept nothing for so long.
    pub(super) deaf: Duration,
}

impl Server {
    pub(super) fn start(
        host: &Namespace,
        at: SocketAddrV4,
        setup: Setup,
        diary: &Arc<Diary>,
    ) -> anyhow::Result<Self> {
        let socket = host.run(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
        socket.set_reuse_address(true)?;
        socket.bind(&at.into())?;
        socket.listen(setup.backlog.unwrap_or(128))?;
        let listener = TcpListener::from(socket);
        let shared = Arc::new(Shared {
            diary: Arc::clone(diary),
            idle: setup.idle,
            stop: AtomicBool::new(false),
            served: Mutex::default(),
        });
        let own = Arc::clone(&shared);
        let accepts = thread::spawn(move || {
            thread::sleep(setup.deaf);
            own.accept(&listener);
        });
        Ok(Self { shared, accepts: Some(accepts) })
    }

    /// What was done on a connection, in order.
    pub(super) fn served(&self, port: u16) -> Vec<Served> {
        self.shared.served().get(&port).cloned().unwrap_or_default()
    }

    /// Of one request.
    pub(super) fn of(&self, port: u16, number: u32) -> Served {
        self.served(port).get(number as usize).copied().unwrap_or_default()
    }

    /// Stops listening; connections go on.
    pub(super) fn stop_listening(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.accepts.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

impl Shared {
    fn served(&self) -> std::sync::MutexGuard<'_, BTreeMap<u16, Vec<Served>>> {
        self.served.lock().expect("nobody panics here")
    }

    fn change(&self, port: u16, change: impl FnOnce(&mut Served)) {
        if let Some(last) = self.served().entry(port).or_default().last_mut() {
            change(last);
        }
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        while !self.stop.load(Ordering::Acquire) {
            if !is_readable(listener, TURN) {
                continue;
            }
            let Ok((stream, peer)) = listener.accept() else { continue };
            let own = Arc::clone(self);
            // It ends with its connection.
            drop(thread::spawn(move || {
                let _scheduling = Scheduling::prefer_round_robin();
                own.serve(stream, peer);
            }));
        }
    }

    fn serve(&self, mut stream: TcpStream, peer: SocketAddr) {
        let port = peer.port();
        self.diary.note("server", port, "accepts");
        let _ = stream.set_nodelay(true);
        let mut rest = Vec::new();
        while let Ok(true) = self.request(&mut stream, port, &mut rest) {}
        // Whoever has not said how the connection ends lets it end now.
        let at = self.diary.note("server", port, "closes");
        self.change(port, |it| it.over = it.over.or(Some(at)));
        drop(stream);
    }

    /// Reads a request, and does what it says; whether the connection goes on.
    fn request(&self, stream: &mut TcpStream, port: u16, rest: &mut Vec<u8>) -> io::Result<bool> {
        if rest.is_empty() && !is_readable(&*stream, self.idle.unwrap_or(PATIENCE)) {
            return Ok(false);
        }
        let mut first = None;
        let end = loop {
            if let Some(end) = rest.windows(4).position(|it| it == b"\r\n\r\n") {
                break end + 4;
            }
            let got = match read(stream, rest) {
                Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
                other => other,
            };
            if let Err(why) = got {
                let at = self.diary.note("server", port, format!("sees the end: {why}"));
                self.change(port, |it| it.over = Some(at));
                return Err(why);
            }
            if first.is_none() {
                first = Some(self.diary.note("server", port, "reads a request"));
                self.served().entry(port).or_default().push(Served { first, ..Served::default() });
            }
        };
        let head = String::from_utf8_lossy(&rest[..end]).to_ascii_lowercase();
        rest.drain(..end);
        if first.is_none() {
            let at = self.diary.note("server", port, "reads a request");
            self.served()
                .entry(port)
                .or_default()
                .push(Served { first: Some(at), ..Served::default() });
        }
        let script = Script::parse(header(&head, "x-do").unwrap_or_default());
        let body = header(&head, "content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
        let kept = self.perform(stream, port, rest, &script, body);
        if let Err(why) = &kept {
            let at = self.diary.note("server", port, format!("sees the end: {why}"));
            self.change(port, |it| it.over = it.over.or(Some(at)));
        }
        kept
    }

    fn perform(
        &self,
        stream: &mut TcpStream,
        port: u16,
        rest: &mut Vec<u8>,
        script: &Script,
        body: usize,
    ) -> io::Result<bool> {
        let wanted = script.number("read").map_or(body, |it| it.min(body));
        let is_early = script.word("early").is_some();
        let skip = |stream: &mut TcpStream, rest: &mut Vec<u8>, count: usize| -> io::Result<()> {
            while rest.len() < count {
                if read(stream, rest)? == 0 {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
            }
            rest.drain(..count);
            Ok(())
        };
        if !is_early {
            skip(stream, rest, wanted)?;
            self.diary.note("server", port, "has read the request");
        }
        thread::sleep(Duration::from_micros(script.number("think").unwrap_or(0) as u64));
        if script.word("end") != Some("none") {
            self.respond(stream, script)?;
            let at = self.diary.note("server", port, "has answered");
            self.change(port, |it| it.answered = Some(at));
        }
        if is_early {
            skip(stream, rest, wanted)?;
        }
        thread::sleep(Duration::from_micros(script.number("pause").unwrap_or(0) as u64));
        Ok(self.finish(stream, port, script))
    }

    /// Ends the connection as asked; whether it goes on.
    fn finish(&self, stream: &TcpStream, port: u16, script: &Script) -> bool {
        match script.word("then") {
            Some("rst") => {
                let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
                let at = self.diary.note("server", port, "resets");
                self.change(port, |it| it.over = Some(at));
                false
            }
            Some("fin") => false,
            // Until the client is gone.
            Some("hang") => {
                let mut nothing = [0; 1];
                let _ = stream.set_read_timeout(Some(PATIENCE));
                let _ = stream.peek(&mut nothing);
                let at = self.diary.note("server", port, "sees the client go");
                self.change(port, |it| it.over = Some(at));
                false
            }
            _ => true,
        }
    }

    fn respond(&self, stream: &mut TcpStream, script: &Script) -> io::Result<()> {
        let size = script.number("size").unwrap_or(0);
        let sent = script.number("sent").map_or(size, |it| it.min(size));
        let status = script.number("status").unwrap_or(200);
        let framing = script.word("framing").unwrap_or("length");
        let mut head = format!("HTTP/1.1 {status} Status\r\nServer: bench\r\n");
        match framing {
            "length" => head += &format!("Content-Length: {size}\r\n"),
            "chunked" => head += "Transfer-Encoding: chunked\r\n",
            "close" => head += "Connection: close\r\n",
            "events" => head += "Content-Type: text/event-stream\r\n",
            _ => {}
        }
        let head = format!("{head}\r\n").into_bytes();
        let apart = script.word("apart").is_some();
        let bytes = match framing {
            "none" => Vec::new(),
            "chunked" => chunked(size, sent),
            "events" => return self.events(stream, &head, script),
            _ => vec![b'y'; sent],
        };
        if apart {
            stream.write_all(&head)?;
            thread::sleep(Duration::from_millis(1));
            return stream.write_all(&bytes);
        }
        stream.write_all(&[head, bytes].concat())
    }

    /// Some of them, and then more until the client has gone.
    fn events(&self, stream: &mut TcpStream, head: &[u8], script: &Script) -> io::Result<()> {
        stream.write_all(head)?;
        let every = Duration::from_micros(script.number("every").unwrap_or(50_000) as u64);
        loop {
            stream.write_all(b"data: something happened\n\n")?;
            if is_readable(&*stream, every) {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// In chunks of 4 KiB; an end only if all is sent.
fn chunked(size: usize, sent: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut left = size;
    while left > 0 {
        let len = left.min(4096);
        bytes.extend(format!("{len:x}\r\n").bytes());
        bytes.extend(vec![b'y'; len]);
        bytes.extend(b"\r\n");
        left -= len;
    }
    if sent < size {
        bytes.truncate(sent);
    } else {
        bytes.extend(b"0\r\n\r\n");
    }
    bytes
}

fn read(stream: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut chunk = vec![0; 65_536];
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let len = stream.read(&mut chunk)?;
    into.extend(&chunk[..len]);
    Ok(len)
}

/// Whether there is something to read, or an end, within this time.
fn is_readable(socket: &impl AsFd, within: Duration) -> bool {
    let limit = PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX);
    let mut one = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut one, limit), Ok(it) if it > 0)
}

/// What a request asks the server for: `size=10 think=500 then=rst`. Times are in microseconds.
///
/// `read=N` reads only N bytes of the body; `early` answers before the body; `end=none` answers nothing;
/// `status`, `size`, `sent` (of `size`), `framing` and `apart` shape the response; `pause` waits behind it, and `then`
/// ends the connection (`fin`, `rst`) or waits for the client to do so (`hang`).
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    words: BTreeMap<String, String>,
}

impl Script {
    fn parse(text: &str) -> Self {
        let word = |it: &str| {
            let (name, value) = it.split_once('=').unwrap_or((it, ""));
            (name.to_owned(), value.to_owned())
        };
        Self { words: text.split_whitespace().map(word).collect() }
    }

    fn word(&self, name: &str) -> Option<&str> {
        self.words.get(name).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.word(name)?.parse().ok()
    }
}

/// Longer than any case.
const PATIENCE: Duration = Duration::from_secs(40);
const TURN: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_words_and_numbers() {
        let script = Script::parse("size=10 early then=rst");
        assert_eq!(script.number("size"), Some(10));
        assert_eq!(script.word("then"), Some("rst"));
        assert_eq!(script.word("early"), Some(""));
        assert_eq!(script.word("late"), None);
    }

    #[test]
    fn chunks_that_are_not_all_sent_have_no_end() {
        assert!(chunked(5000, 5000).ends_with(b"\r\n0\r\n\r\n"));
        assert_eq!(chunked(5000, 100).len(), 100);
    }
}
