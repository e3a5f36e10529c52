//! A capture that can be passed on: it says the same of time, and nothing of people.
//!
//! What stays: times; the headers of IP and TCP as far as the analyser reads them (ports, sequence
//! numbers, flags, windows, options with the values of timestamps, hop limit, identification);
//! lengths; on which interface and which way a packet was seen; what the capture lost. Of what
//! connections say:
//!
//! | protocol | what stays |
//! | --- | --- |
//! | HTTP/1 | method, status, version; values of fields that delimit messages; sizes of chunks |
//! | HTTP/2 | headers of frames, settings, windows; method and status |
//! | TLS | headers of records; whether the hellos offer HTTP/2 |
//! | RESP | types and lengths of values; the names of commands that Redis has |
//! | PostgreSQL | headers of messages |
//! | others | lengths |
//!
//! Those fields are Content-Length, Transfer-Encoding, Connection, Expect and Upgrade, and of their
//! values the numbers and the words that everybody uses; of all other fields only the lengths stay.
//! A path becomes a name that is the same wherever the path is, by a key that is nowhere. Hosts are
//! numbered as they come: [`Hosts`]. All other bytes are zero or, at the end of a packet, as if
//! the snap length had cut them off. Link headers, tunnels and packets without TCP go, so the
//! packets have other numbers.
//!
//! | file | its one idea |
//! | --- | --- |
//! | `connection` | the analyser's own reading of a connection, which tells what it looks at |
//! | `mask` | what is written in the place of that |
//! | `streams` | where bytes stand in their streams |
//! | `held` | packets in order, until it is decided what of them stays |
//! | `hosts` | numbers for addresses |
//! | `packet` | headers of our own |
//!
//! *Not* here: what hides *how much* is said and when. Lengths and times tell who knows a site
//! which of its pages was asked for.

mod connection;
mod held;
mod hosts;
mod mask;
mod packet;
mod streams;

pub use hosts::Hosts;

use std::{
    collections::VecDeque,
    fmt,
    hash::RandomState,
    io::{self, Write},
};

use hashbrown::{HashMap, hash_map::Entry};

use crate::{
    decode::{Seen, decode},
    flow::{EndpointPair, roles},
    limits::{Limit, Reached, STRIPPED_BYTES},
    pcapng::{File, Packet},
    read::{Drops, Frame, LinkType},
};
use connection::FollowedConnection;
use held::Held;

/// Writes what is left of a capture, packet by packet, as pcapng.
///
/// A packet is written when it is decided what of it stays: mostly at once, at the latest after
/// 65,536 others or 32 MiB. Memory is bounded by that and by [`limits`](crate::limits).
///
/// ```
/// use ackwise_capture::{read::{Frame, LinkType}, strip::Stripper};
/// use ackwise_tcp::{Instant, Segment, wire};
///
/// let request = b"GET /?password=1234 HTTP/1.1\r\nCookie: secret\r\n\r\n";
/// let segment = Segment { len: 48, ..Segment::default() };
/// let mut packet = Vec::new();
/// wire::write(
///     &mut packet,
///     "203.0.113.9:49152".parse()?,
///     "198.51.100.1:80".parse()?,
///     &segment,
///     request,
/// )?;
/// let mut stripper = Stripper::new(Vec::new())?;
/// stripper.handle(&Frame {
///     number: 1,
///     at: Instant::EPOCH,
///     interface: 0,
///     link_type: LinkType::RAW,
///     original_len: 88,
///     bytes: &packet,
///     direction: None,
///     lost_before: 0,
/// })?;
/// let file = stripper.finish(Default::default())?;
/// let holds = |text: &[u8]| file.windows(text.len()).any(|bytes| bytes == text);
/// assert!(holds(b"GET /") && holds(b" HTTP/1.1\r\nxxxxxx:"));
/// assert!(!holds(b"password") && !holds(b"secret") && !holds(&[203, 0, 113, 9]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Stripper<W> {
    file: File<W>,
    // Looked up, never walked.
    connections: HashMap<EndpointPair, Box<FollowedConnection>>,
    /// The same by when they were used last, or earlier; some may be over.
    used: VecDeque<(u64, EndpointPair)>,
    packets: u64,
    /// Bytes that the connections take, about.
    bytes: usize,
    reached: Reached,
    held: Held,
    hosts: Hosts,
    key: RandomState,
    /// Packets that the capture lost before one that is to be written.
    lost: u64,
}

impl<W: Write> Stripper<W> {
    /// Connections that are over may be this many among those by use. Our choice.
    const MOST_USED: usize = 1 << 13;

    /// Begins a file, with a key of its own.
    ///
    /// # Errors
    ///
    /// If `output` takes no more.
    pub fn new(output: W) -> io::Result<Self> {
        Ok(Self {
            file: File::new(output)?,
            connections: HashMap::new(),
            used: VecDeque::new(),
            packets: 0,
            bytes: 0,
            reached: Reached::default(),
            held: Held::default(),
            hosts: Hosts::default(),
            key: RandomState::new(),
            lost: 0,
        })
    }

    /// Takes the next packet of the capture; one without TCP is left out.
    ///
    /// # Errors
    ///
    /// If the output takes no more: the file is broken then.
    pub fn handle(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        self.lost = self.lost.saturating_add(frame.lost_before);
        let Ok(seen) = decode(frame) else { return Ok(()) };
        let Some(addresses) = self.hosts.of(seen.source, seen.destination) else { return Ok(()) };
        let mut headers = Vec::new();
        if packet::headers(&seen, addresses, &mut headers).is_err() {
            return Ok(());
        }
        let (interface, station) = (seen.interface, seen.station);
        let lost_before = std::mem::take(&mut self.lost);
        let link_type = LinkType::RAW;
        let packet = Packet { at: seen.at, interface, link_type, station, lost_before };
        let number = self.held.push(packet, headers, &seen);
        self.follow(&seen, number);
        while let Some(ready) = self.held.pop() {
            self.file.write(&ready)?;
        }
        Ok(())
    }

    /// Writes what is left and what the capture has lost, and gives the output back, flushed.
    ///
    /// # Errors
    ///
    /// If the output takes no more.
    pub fn finish(mut self, drops: Drops) -> io::Result<W> {
        while let Some(ready) = self.held.pop_undecided() {
            self.file.write(&ready)?;
        }
        self.file.finish(drops)
    }

    /// Lets the packet's connection decide what stays of it, and of packets before it.
    fn follow(&mut self, seen: &Seen<'_>, number: u64) {
        self.packets += 1;
        let pair = EndpointPair::of(seen.source, seen.destination);
        let is_end = seen.segment.len == 0 && !seen.segment.flags.syn;
        let another = || {
            let (client, _) = roles(seen);
            Box::new(FollowedConnection::new(client, self.key.clone()))
        };
        let mut known = match self.connections.entry(pair) {
            Entry::Vacant(_) if is_end => return self.held.decide(number),
            Entry::Vacant(vacant) => {
                self.used.push_back((self.packets, pair));
                vacant.insert_entry(another())
            }
            Entry::Occupied(mut occupied) => {
                if occupied.get().is_reused_by(&seen.segment) {
                    let mut before = occupied.insert(another());
                    before.let_go(&mut self.held);
                    self.bytes -= before.charged;
                }
                occupied
            }
        };
        let connection = known.get_mut();
        connection.touched = self.packets;
        connection.handle(seen, number, &mut self.held, &mut self.reached);
        self.bytes -= connection.charged;
        if connection.is_over() {
            known.remove();
        } else {
            connection.charged = connection.cost();
            self.bytes += connection.charged;
        }
        self.keep_to_limit();
    }

    /// Lets go of the connections that were idle longest, if they take too much.
    fn keep_to_limit(&mut self) {
        if self.used.len() > 2 * self.connections.len() + Self::MOST_USED {
            self.used.retain(|(_, pair)| self.connections.contains_key(pair));
        }
        // Each is looked at once, and once more for each time it was used.
        while self.bytes > STRIPPED_BYTES
            && let Some((used, pair)) = self.used.pop_front()
        {
            let Entry::Occupied(connection) = self.connections.entry(pair) else { continue };
            if connection.get().touched > used {
                self.used.push_back((connection.get().touched, pair));
                continue;
            }
            let mut connection = connection.remove();
            connection.let_go(&mut self.held);
            self.bytes -= connection.charged;
            self.reached.count(Limit::StrippedConnections, 1);
        }
    }

    /// The limits that were reached so far.
    #[must_use]
    pub const fn reached(&self) -> Reached {
        self.reached
    }
}

impl<W> fmt::Debug for Stripper<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stripper")
            .field("file", &self.file)
            .field("connections", &self.connections.len())
            .finish_non_exhaustive()
    }
}
