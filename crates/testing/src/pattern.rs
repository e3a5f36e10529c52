//! A server whose responses leave in named patterns of writes: what programs do that stall, or nearly do.
//!
//! It answers every request with the same page,
//! on any path; ranges, `Connection` fields and other methods are ignored.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use ackwise_http::behaviour::Nagle;

/// The writes of a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WritePattern {
    /// As in a table of results.
    pub name: &'static str,
    /// Bytes of each write; the head is part of the first.
    pub writes: &'static [usize],
    /// Time between two writes: what the program computes.
    pub gap: Duration,
    /// The pattern is that of one response in so many; the others leave in one write.
    pub one_in: usize,
    /// Nagle's algorithm on the server's socket.
    pub nagle: Nagle,
    /// Whether a client of today waits for its own delayed ACK.
    pub stalls: Stalls,
}

/// Which clients of today wait for their own delayed ACKs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stalls {
    /// None.
    Never,
    /// Those on the server's host: the MSS of loopback makes small segments of these writes.
    SameHost,
    /// These, and those whose segments arrive one by one. Loopback, and hosts that merge segments (GRO), hand the last
    /// one over together with those before it, so that Linux acknowledges it at once.
    SegmentBySegment,
    /// All.
    Always,
}

impl WritePattern {
    /// Head and body apart: Python's `http.server`, with a small page.
    pub const HEAD_APART: Self = Self {
        name: "head apart, 500 bytes",
        writes: &[200, 500],
        gap: Duration::ZERO,
        one_in: 1,
        nagle: Nagle::On,
        stalls: Stalls::Always,
    };
    /// A small write, a large one, a small one: the large one's last segment is in flight, not acknowledged,
    /// when the last write comes.
    pub const THREE_WRITES: Self = Self {
        name: "4,096 + 20,000 + 100 bytes, 1 ms apart",
        writes: &[4_096, 20_000, 100],
        gap: Duration::from_millis(1),
        one_in: 1,
        nagle: Nagle::On,
        stalls: Stalls::SegmentBySegment,
    };
    /// As [`HEAD_APART`](Self::HEAD_APART) in every third response.
    pub const ONE_IN_THREE: Self =
        Self { name: "head apart in one response of three", one_in: 3, ..Self::HEAD_APART };
    /// Head and body apart, and the body longer than a segment: only a receiver of 1996 waits, and one on the same
    /// host.
    pub const HEAD_APART_1623: Self = Self {
        name: "head apart, 1,623 bytes",
        writes: &[200, 1_623],
        gap: Duration::ZERO,
        one_in: 1,
        nagle: Nagle::On,
        stalls: Stalls::SameHost,
    };
    /// As [`HEAD_APART_1623`](Self::HEAD_APART_1623).
    pub const EIGHTY_AND_2000: Self =
        Self { name: "80 + 2,000 bytes", writes: &[80, 2_000], ..Self::HEAD_APART_1623 };
    /// One write.
    pub const JOINED: Self = Self {
        name: "one write",
        writes: &[24_196],
        stalls: Stalls::Never,
        ..Self::HEAD_APART_1623
    };
    /// As [`THREE_WRITES`](Self::THREE_WRITES), without Nagle's algorithm.
    pub const NO_DELAY: Self = Self {
        name: "4,096 + 20,000 + 100 bytes, 1 ms apart, TCP_NODELAY",
        nagle: Nagle::Off,
        stalls: Stalls::Never,
        ..Self::THREE_WRITES
    };

    /// All of them, those that stall first.
    pub const ALL: [Self; 7] = [
        Self::HEAD_APART,
        Self::THREE_WRITES,
        Self::ONE_IN_THREE,
        Self::HEAD_APART_1623,
        Self::EIGHTY_AND_2000,
        Self::JOINED,
        Self::NO_DELAY,
    ];
}

/// A running server. It accepts no more when dropped.
#[derive(Debug)]
pub struct PatternServer {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
}

impl PatternServer {
    /// Starts a server on `bind`; port 0 lets the kernel choose.
    ///
    /// # Errors
    ///
    /// If the address cannot be bound.
    pub fn start(bind: SocketAddr, pattern: WritePattern) -> io::Result<Self> {
        Self::serve(TcpListener::bind(bind)?, pattern)
    }

    /// The same with a congestion control of Linux, as in `net.ipv4.tcp_congestion_control`.
    ///
    /// # Errors
    ///
    /// If the address cannot be bound, or the kernel does not have it.
    #[cfg(target_os = "linux")]
    pub fn start_with(
        bind: SocketAddr,
        pattern: WritePattern,
        congestion: &str,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(bind)?;
        // Accepted connections inherit it.
        rustix::net::sockopt::set_tcp_congestion(&listener, congestion)?;
        Self::serve(listener, pattern)
    }

    fn serve(listener: TcpListener, pattern: WritePattern) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let open = Arc::new(AtomicUsize::new(0));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                if open.fetch_add(1, Ordering::SeqCst) < CONNECTIONS_LIMIT {
                    let open = Arc::clone(&open);
                    thread::spawn(move || {
                        let _ = serve(stream, pattern); // The client has gone.
                        open.fetch_sub(1, Ordering::SeqCst);
                    });
                } else {
                    open.fetch_sub(1, Ordering::SeqCst);
                }
            }
        });
        Ok(Self { address, stopping })
    }

    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for PatternServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        let mut wake = self.address;
        if wake.ip().is_unspecified() {
            wake.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        let _ = TcpStream::connect_timeout(&wake, WAKE_LIMIT); // Wakes the acceptor.
    }
}

fn serve(mut stream: TcpStream, pattern: WritePattern) -> io::Result<()> {
    stream.set_nodelay(pattern.nagle == Nagle::Off)?;
    stream.set_read_timeout(Some(IDLE_LIMIT))?;
    stream.set_write_timeout(Some(IDLE_LIMIT))?;
    let response = response(pattern.writes.iter().sum());
    let mut buffer = [0; 4_096];
    let mut tail = Vec::new();
    for number in 1.. {
        // A request ends with an empty line; those of `check` have no body here.
        while !tail.windows(END.len()).any(|bytes| bytes == END) {
            let read = stream.read(&mut buffer)?;
            if read == 0 || tail.len() > REQUEST_LIMIT {
                return Ok(());
            }
            tail.extend_from_slice(&buffer[..read]);
        }
        let end = tail.windows(END.len()).position(|bytes| bytes == END);
        tail.drain(..end.map_or(tail.len(), |end| end + END.len()));
        if number % pattern.one_in != 0 {
            stream.write_all(&response)?;
            continue;
        }
        let mut rest = &response[..];
        for (number, size) in pattern.writes.iter().enumerate() {
            if number > 0 && !pattern.gap.is_zero() {
                thread::sleep(pattern.gap);
            }
            let (now, later) = rest.split_at(*size);
            stream.write_all(now)?;
            rest = later;
        }
    }
    Ok(())
}

/// A response of so many bytes in all.
fn response(total: usize) -> Vec<u8> {
    let head = |content: usize| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {content}\r\n\r\n")
    };
    let content = total.saturating_sub(head(total).len());
    // The shorter number may leave a byte to fill.
    let content = content + total.saturating_sub(content + head(content).len());
    let mut response = head(content).into_bytes();
    response.resize(total.max(response.len()), b'x');
    response
}

const END: &[u8] = b"\r\n\r\n";

/// Our choices: more than `check` opens at once, and longer than it leaves a connection idle.
const CONNECTIONS_LIMIT: usize = 16;
const IDLE_LIMIT: Duration = Duration::from_secs(30);
const REQUEST_LIMIT: usize = 64 << 10;
const WAKE_LIMIT: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_as_long_as_its_writes_and_says_so() {
        for pattern in WritePattern::ALL {
            let total = pattern.writes.iter().sum();
            let response = response(total);
            assert_eq!(response.len(), total, "{}", pattern.name);
            let text = String::from_utf8(response).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let said: usize = head.rsplit(' ').next().unwrap().parse().unwrap();
            assert_eq!(said, body.len(), "{}", pattern.name);
        }
    }
}
