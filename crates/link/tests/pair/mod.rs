//! Two endpoints over two links. The test stores the payload, as a driver would.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use ackwise_link::{Link, LinkConfig};
use ackwise_tcp::{
    ByteCount, Config, Endpoint, Event, Instant, Segment, SeqNumber, State, endpoint::refuse,
};

/// Size of IPv4 and TCP headers without options.
const HEADERS: u64 = 40;
/// A run with more steps than this counts as hung (our choice).
const MAX_STEPS: usize = 2_000_000;

/// A segment with its payload.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    segment: Segment,
    payload: Vec<u8>,
}

/// One endpoint with its driver's streams.
pub(crate) struct Side {
    pub(crate) endpoint: Endpoint,
    /// All data this side sends. `written` is the amount written so far.
    to_send: Vec<u8>,
    written: usize,
    /// Data received, by offset.
    pub(crate) received: Vec<u8>,
    /// Whether to close after everything is written.
    closes: bool,
    closed: bool,
    pub(crate) events: Vec<Event>,
}

impl Side {
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    pub(crate) fn new(endpoint: Endpoint, to_send: Vec<u8>, closes: bool) -> Self {
        Self {
            endpoint,
            to_send,
            written: 0,
            received: Vec::new(),
            closes,
            closed: false,
            events: Vec::new(),
        }
    }

    /// Writes, reads and closes as far as the endpoint accepts.
    fn act(&mut self) {
        let left = self.to_send.len() - self.written;
        if left > 0 {
            let bytes = u32::try_from(left.min(1 << 20)).unwrap();
            self.written += usize::try_from(self.endpoint.write(bytes)).unwrap();
        }
        let readable = u32::try_from(self.endpoint.readable()).unwrap();
        if readable > 0 {
            assert_eq!(self.endpoint.read(readable), readable);
        }
        let writable = !matches!(self.endpoint.state(), State::Listen | State::SynSent);
        if self.closes && !self.closed && writable && self.written == self.to_send.len() {
            self.closed = true;
            self.endpoint.close();
        }
    }

    /// Receives a packet. Returns the response of a host whose connection is gone.
    fn take(&mut self, packet: &Packet, now: Instant) -> Option<Packet> {
        if self.endpoint.state() == State::Closed {
            let segment = refuse(&packet.segment)?;
            return Some(Packet { segment, payload: Vec::new() });
        }
        let received = self.endpoint.handle_segment(&packet.segment, now);
        if let Some(placement) = received.placement() {
            let skip = usize::try_from(placement.skip).unwrap();
            let offset = usize::try_from(placement.offset).unwrap();
            let len = usize::try_from(placement.len).unwrap();
            if self.received.len() < offset + len {
                self.received.resize(offset + len, 0);
            }
            self.received[offset..offset + len].copy_from_slice(&packet.payload[skip..skip + len]);
        }
        None
    }

    fn next_packet(&mut self, now: Instant) -> Option<Packet> {
        let transmit = self.endpoint.poll_transmit(now)?;
        let start = usize::try_from(transmit.offset).unwrap();
        let len = usize::try_from(transmit.segment.len).unwrap();
        let payload = if len == 0 { Vec::new() } else { self.to_send[start..start + len].to_vec() };
        Some(Packet { segment: transmit.segment, payload })
    }

    fn done(&self) -> bool {
        matches!(self.endpoint.state(), State::Closed | State::TimeWait)
    }
}

/// Two sides and the links between them; index 0 opens the connection.
pub(crate) struct Pair {
    pub(crate) sides: [Side; 2],
    links: [Link<Packet>; 2],
    pub(crate) now: Instant,
    /// Every segment sent, with time and sender. Bounded, for the failure message.
    pub(crate) trace: VecDeque<String>,
    hash: DefaultHasher,
    pub(crate) segments: u64,
}

impl Pair {
    pub(crate) fn new(sides: [Side; 2], links: [LinkConfig; 2]) -> Self {
        let [there, back] = links;
        Self {
            sides,
            links: [Link::new(there), Link::new(back)],
            now: Instant::EPOCH,
            trace: VecDeque::new(),
            hash: DefaultHasher::new(),
            segments: 0,
        }
    }

    pub(crate) fn of(
        config: &Config,
        data: [Vec<u8>; 2],
        isn: [u32; 2],
        links: [LinkConfig; 2],
    ) -> Self {
        let mut client = Endpoint::connect(*config, SeqNumber(isn[0]), Instant::EPOCH);
        let mut server = Endpoint::listen(*config, SeqNumber(isn[1]));
        // If the policy has it. A SYN that may carry data waits for some.
        if !data[0].is_empty() {
            client.allow_data_with_syn();
            server.allow_data_with_syn();
        }
        let [from_client, from_server] = data;
        Self::new(
            [Side::new(client, from_client, true), Side::new(server, from_server, true)],
            links,
        )
    }

    /// Runs until both ends are closed, `limit` has passed, or no event is pending.
    pub(crate) fn run(&mut self, limit: Duration) {
        for _ in 0..MAX_STEPS {
            self.settle();
            if self.sides.iter().all(Side::done) {
                return;
            }
            let timers = self.sides.iter().filter_map(|side| side.endpoint.poll_timeout());
            let links = self.links.iter().filter_map(Link::poll_timeout);
            let Some(next) = timers.map(|deadline| deadline.at).chain(links).min() else { return };
            assert!(next >= self.now, "time goes back: {next:?} before {:?}", self.now);
            if next.since(Instant::EPOCH) > limit {
                return;
            }
            self.now = next;
            for (to, link) in [(1, 0), (0, 1)] {
                while let Some(packet) = self.links[link].poll(self.now) {
                    if let Some(answer) = self.sides[to].take(&packet, self.now) {
                        self.send(to, answer);
                    }
                    self.settle();
                }
            }
            for side in &mut self.sides {
                side.endpoint.handle_timeout(self.now);
            }
        }
        panic!("no end after {MAX_STEPS} steps at {:?}\n{}", self.now, self.trace_text());
    }

    fn settle(&mut self) {
        for index in [0, 1] {
            self.sides[index].act();
            while let Some(packet) = self.sides[index].next_packet(self.now) {
                self.send(index, packet);
            }
            while let Some(event) = self.sides[index].endpoint.poll_event() {
                self.sides[index].events.push(event);
            }
        }
    }

    fn send(&mut self, from: usize, packet: Packet) {
        self.note(from, &packet);
        let size = ByteCount(HEADERS + u64::try_from(packet.payload.len()).unwrap());
        let _ = self.links[from].push(packet, size, self.now);
    }

    fn note(&mut self, from: usize, packet: &Packet) {
        (self.now, from, packet.segment).hash(&mut self.hash);
        self.segments += 1;
        let segment = packet.segment;
        let line = format!(
            "{} {} {:?} seq {} ack {:?} len {} win {}",
            self.now,
            ['>', '<'][from],
            segment.flags,
            segment.seq.0,
            segment.ack.map(|ack| ack.0),
            segment.len,
            segment.window
        );
        if self.trace.len() == 60 {
            self.trace.pop_front();
        }
        self.trace.push_back(line);
    }

    pub(crate) fn trace_hash(&self) -> u64 {
        self.hash.finish()
    }

    pub(crate) fn trace_text(&self) -> String {
        self.trace.iter().map(|line| format!("{line}\n")).collect()
    }
}
