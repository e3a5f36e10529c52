//! What the client and the server of a case do, captured at both ends.

use std::{
    fmt,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use ackwise_capture::{
    analysis::{Analyser, Analysis},
    decode::decode,
    read::Source,
};
use ackwise_cause::Party;
use ackwise_linux::emulator::Scheduling;
use socket2::{Domain, SockRef, Socket, Type};

use super::{
    http::{GET, body, read_message, response_head},
    lab::Lab,
    tap::Tap,
    truth::{Injected, Truth},
};

/// What one end does in one exchange.
pub(crate) type Part = Box<dyn Fn(&mut TcpStream, usize, &Truth) + Sync>;

/// What a client and a server do, and on how many connections.
pub(crate) struct Scenario {
    /// One after the other.
    pub connections: usize,
    /// On each connection.
    pub exchanges: usize,
    /// Prepares the server's socket: accepted ones inherit what is set on it.
    pub listen: fn(SockRef<'_>),
    /// Prepares the client's sockets before they connect.
    pub connect: fn(SockRef<'_>),
    pub client: Part,
    pub server: Part,
}

/// What was measured, and where the captures of both ends are.
#[derive(Debug)]
pub(crate) struct Recorded {
    injected: Vec<Injected>,
    captures: [(Party, PathBuf); 2],
}

/// What the programs measured, and what the captures show.
#[derive(Debug)]
pub(crate) struct Observation {
    pub injected: Vec<Injected>,
    pub seen: Vec<(Party, Analysis)>,
}

impl Recorded {
    /// Captures at both ends while something is done. The captures stay until the next time.
    pub(crate) fn record(name: &str, lab: &Lab, act: impl FnOnce(&Truth) + Send) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let taps =
            [(Party::Client, &lab.client), (Party::Server, &lab.server)].map(|(at, host)| {
                let file = format!("{}.{}.pcap", name.replace(' ', "_"), at.name());
                (at, Tap::at(host, &folder.join(file)))
            });
        let truth = Truth::default();
        // In a thread of its own: programs that it starts inherit how it is scheduled, tcpdump does not.
        thread::scope(|scope| {
            scope.spawn(|| {
                if lab.programs_first {
                    run_before_others();
                }
                act(&truth);
            });
        });
        let captures = taps.map(|(at, tap)| (at, tap.stop()));
        Self { injected: truth.into_inner(), captures }
    }

    /// Explains both captures.
    pub(crate) fn analyse(self) -> Observation {
        let seen = self.captures.map(|(at, capture)| (at, analyse(&capture)));
        Observation { injected: self.injected, seen: seen.into() }
    }
}

impl Scenario {
    /// Runs both programs once.
    pub(crate) fn run(&self, lab: &Lab, truth: &Truth) {
        let address = SocketAddr::from((lab.server.address, 80));
        let listener =
            lab.server.inside(|| TcpListener::bind(address)).expect("nobody has port 80");
        (self.listen)(SockRef::from(&listener));
        thread::scope(|scope| {
            scope.spawn(|| {
                for connection in 0..self.connections {
                    let (stream, _) = listener.accept().expect("the client connects");
                    let mut stream = self.play(&self.server, stream, connection, truth);
                    // The client closes first, so that no FIN tells of what was lost.
                    let _ = stream.read(&mut [0]);
                }
            });
            for connection in 0..self.connections {
                let socket = lab.client.inside(|| Socket::new(Domain::IPV4, Type::STREAM, None));
                let socket = socket.expect("there are sockets");
                (self.connect)(SockRef::from(&socket));
                socket.connect(&address.into()).expect("the server listens");
                self.play(&self.client, socket.into(), connection, truth);
            }
        });
    }

    fn play(
        &self,
        part: &Part,
        mut stream: TcpStream,
        connection: usize,
        truth: &Truth,
    ) -> TcpStream {
        /// Nothing here takes so long. Ours.
        const PATIENCE: Duration = Duration::from_secs(20);
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket takes that");
        let first = connection * self.exchanges;
        for exchange in first..first + self.exchanges {
            part(&mut stream, exchange, truth);
        }
        stream
    }

    /// Exchanges on all its connections.
    pub(crate) const fn total_exchanges(&self) -> usize {
        self.connections * self.exchanges
    }
}

fn analyse(file: &Path) -> Analysis {
    let mut source = Source::open([file]);
    let mut analyser = Analyser::default();
    while let Some(frame) = source.next().expect("tcpdump writes captures") {
        if let Ok(seen) = decode(&frame) {
            analyser.handle(&seen);
        }
    }
    analyser.finish()
}

/// Programs that do nothing, to begin with.
impl Default for Scenario {
    fn default() -> Self {
        Self {
            connections: 1,
            exchanges: 1,
            listen: |_| (),
            connect: |_| (),
            client: Box::new(|_, _, _| ()),
            server: Box::new(|_, _, _| ()),
        }
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario").field("exchanges", &self.exchanges).finish_non_exhaustive()
    }
}

/// What is written goes at once.
pub(crate) fn without_nagle(socket: SockRef<'_>) {
    socket.set_tcp_nodelay(true).expect("a TCP socket takes that");
}

/// A program that cannot run because others do pauses, and the analyser rightly reports pauses that
/// nobody injected.
fn run_before_others() {
    let scheduling = Scheduling::prefer_round_robin();
    if let Scheduling::Normal { .. } = scheduling {
        println!("client and server may pause: {scheduling}");
    }
}

/// Works, as far as anybody else sees.
pub(crate) fn think(span: Duration) {
    let until = Instant::now() + span;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        thread::sleep(left);
    }
}

/// Asks, and reads the answer.
pub(crate) fn ask(stream: &mut TcpStream) {
    stream.write_all(GET).expect("the server reads");
    read_message(stream).expect("the server answers");
}

/// Answers each request at once, in one write.
pub(crate) fn respond(len: usize) -> Part {
    // Large ones take milliseconds to make.
    let response = [response_head(len), body(len)].concat();
    Box::new(move |stream, _, _| {
        read_message(stream).expect("the client asks");
        stream.write_all(&response).expect("the client reads");
    })
}
