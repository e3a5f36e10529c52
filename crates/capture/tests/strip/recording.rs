//! A conversation as a capture of TCP segments, with losses and snap lengths.

use std::{net::SocketAddr, time::Duration};

use ackwise_capture::{PcapWriter, WHOLE_FRAMES, frame};
use ackwise_cause::Direction;
use ackwise_tcp::{Flags, Instant, Options, Segment, SeqNumber, WindowShift};

use crate::script::{Line, script};

/// How a script is sent and captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Longest data of a segment.
    pub(crate) mss: usize,
    /// Bytes captured of each frame.
    pub(crate) snap: u32,
    /// One segment in this number is lost on its way and sent again 30 ms later; 0: none.
    pub(crate) loses: usize,
    /// One segment in this number is missing from the capture; 0: none.
    pub(crate) misses: usize,
}

pub(crate) const GOOD: Path = Path { mss: 1448, snap: WHOLE_FRAMES, loses: 0, misses: 0 };

pub(crate) const CLIENT: &str = "203.0.113.77:49152";
pub(crate) const SERVER: &str = "198.51.100.99:80";

/// The segments sent so far, and what the next one needs.
struct Recording {
    path: Path,
    now: Instant,
    next: [u32; 2],
    segments: Vec<(Instant, Direction, Segment, Vec<u8>)>,
    sent: usize,
}

/// The capture of a script's connection, at the client.
pub(crate) fn capture(text: &str, path: Path) -> Vec<u8> {
    let mut recording = Recording {
        path,
        now: Instant::from_nanos(1_700_000_000_000_000_000),
        next: [1_000, 2_000_000_000],
        segments: Vec::new(),
        sent: 0,
    };
    recording.open();
    for line in script(text) {
        match line {
            Line::Data(direction, bytes) | Line::Early(direction, bytes) => {
                recording.send(direction, &bytes);
            }
            Line::Gap(direction, length) => {
                recording.next[direction as usize] += u32::try_from(length).unwrap();
            }
            Line::End(direction) => recording.end(direction),
            Line::Silence => {}
            Line::Abort => recording.header(Direction::ToServer, Flags::RST, Options::NONE),
        }
    }
    recording.write()
}

impl Recording {
    fn open(&mut self) {
        let options =
            Options { mss: Some(1460), window_scale: Some(WindowShift::new(7)), ..Options::NONE };
        self.header(Direction::ToServer, Flags::SYN, options);
        self.pass(10_000);
        self.header(Direction::ToClient, Flags::SYN, options);
        self.pass(100);
        self.header(Direction::ToServer, Flags::default(), Options::NONE);
    }

    /// Sends data, each segment acknowledged 10 ms later.
    fn send(&mut self, direction: Direction, bytes: &[u8]) {
        self.pass(5_003);
        for piece in bytes.chunks(self.path.mss) {
            self.sent += 1;
            let is_every = |number: usize| number > 0 && self.sent.is_multiple_of(number);
            let segment = self.segment(direction, Flags::PSH, u32::try_from(piece.len()).unwrap());
            if !is_every(self.path.misses) {
                let late = if is_every(self.path.loses) { 30_000 } else { 0 };
                let at = self.now + Duration::from_micros(late);
                self.segments.push((at, direction, segment, piece.to_vec()));
            }
            self.next[direction as usize] += segment.len;
            self.pass(120);
        }
        self.pass(10_000);
        let other = match direction {
            Direction::ToServer => Direction::ToClient,
            Direction::ToClient => Direction::ToServer,
        };
        self.header(other, Flags::default(), Options::NONE);
    }

    fn end(&mut self, direction: Direction) {
        self.pass(40_000);
        self.header(direction, Flags { fin: true, ..Flags::default() }, Options::NONE);
    }

    fn header(&mut self, direction: Direction, flags: Flags, options: Options) {
        let segment = Segment { options, ..self.segment(direction, flags, 0) };
        self.segments.push((self.now, direction, segment, Vec::new()));
        self.next[direction as usize] += u32::from(flags.syn) + u32::from(flags.fin);
    }

    fn segment(&self, direction: Direction, flags: Flags, len: u32) -> Segment {
        let other = self.next[1 - direction as usize];
        let ack = (!flags.syn || direction == Direction::ToClient).then_some(SeqNumber(other));
        let seq = SeqNumber(self.next[direction as usize]);
        Segment { seq, ack, flags, window: 8_000, len, ..Segment::default() }
    }

    fn pass(&mut self, micros: u64) {
        self.now = self.now + Duration::from_micros(micros);
    }

    fn write(mut self) -> Vec<u8> {
        self.segments.sort_by_key(|(at, ..)| *at);
        let [client, server] = [CLIENT, SERVER].map(|it| it.parse::<SocketAddr>().unwrap());
        let mut file = PcapWriter::new(Vec::new(), self.path.snap).unwrap();
        let mut packet = Vec::new();
        for (at, direction, segment, data) in &self.segments {
            let (source, destination) = match direction {
                Direction::ToServer => (client, server),
                Direction::ToClient => (server, client),
            };
            let link = frame::write(&mut packet, source, destination, segment, data).unwrap();
            file.write(&link, &packet, *at).unwrap();
        }
        file.finish().unwrap()
    }
}
