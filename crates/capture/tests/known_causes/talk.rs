//! A client and a server that talk as a case wants it, watched at both ends.

use std::{
    fmt,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use ackwise_capture::analysis::Analysis;
use ackwise_http::cause::Party;

use super::{
    lab::Lab,
    tap::Tap,
    truth::{Injected, Truth},
};

/// What one end does in one exchange.
pub(crate) type Part = Box<dyn Fn(&mut TcpStream, usize, &Truth) + Sync>;

/// A client and a server with a habit.
pub(crate) struct Talk {
    /// So many exchanges on one connection.
    pub exchanges: usize,
    /// Once, before anything else; accepted sockets inherit what is set on the server's.
    pub listen: fn(&TcpListener),
    pub client: Part,
    pub server: Part,
}

/// What was measured, and what was seen.
#[derive(Debug)]
pub(crate) struct Watched {
    pub injected: Vec<Injected>,
    pub seen: Vec<(Party, Analysis)>,
}

impl Talk {
    /// Talks once. The captures stay until the next time.
    pub(crate) fn watch(&self, name: &str, lab: &Lab) -> Watched {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let taps =
            [(Party::Client, &lab.client), (Party::Server, &lab.server)].map(|(at, host)| {
                let file = format!("{}.{}.pcap", name.replace(' ', "_"), at.name());
                (at, Tap::at(host, &folder.join(file)))
            });
        let truth = Truth::default();
        let address = SocketAddr::from((lab.server.address, 80));
        let listener =
            lab.server.inside(|| TcpListener::bind(address)).expect("nobody has port 80");
        (self.listen)(&listener);
        thread::scope(|scope| {
            scope.spawn(|| {
                let (stream, _) = listener.accept().expect("the client connects");
                self.play(&self.server, stream, &truth);
            });
            let stream = lab.client.inside(|| TcpStream::connect(address));
            self.play(&self.client, stream.expect("the server listens"), &truth);
        });
        let seen = taps.map(|(at, tap)| (at, tap.finish()));
        Watched { injected: truth.into_inner(), seen: seen.into() }
    }

    fn play(&self, part: &Part, mut stream: TcpStream, truth: &Truth) {
        /// Nothing here takes so long. Ours.
        const PATIENCE: Duration = Duration::from_secs(20);
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket takes that");
        for exchange in 0..self.exchanges {
            part(&mut stream, exchange, truth);
        }
    }
}

impl fmt::Debug for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Talk").field("exchanges", &self.exchanges).finish_non_exhaustive()
    }
}

/// Nothing is set.
pub(crate) fn plainly(_: &TcpListener) {}

/// What is written goes at once.
pub(crate) fn without_nagle(listener: &TcpListener) {
    socket2::SockRef::from(listener).set_tcp_nodelay(true).expect("a TCP socket takes that");
}

/// Works, as far as anybody else sees.
pub(crate) fn think(span: Duration) {
    let until = Instant::now() + span;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        thread::sleep(left);
    }
}
