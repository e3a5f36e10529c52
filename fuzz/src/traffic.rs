//! Connections as a vantage point may see them, made up from a fuzzer's bytes: two hosts, a few
//! ports, sequence numbers near one another, and streams that begin as HTTP, TLS and others do.

use ackwise_tcp::{
    Flags, Instant, Options, SackBlocks, Segment, SeqNumber, Timestamps, WindowShift,
};
use arbitrary::Arbitrary;
use std::net::SocketAddr;

use crate::piece::Piece;

/// A whole input.
#[derive(Arbitrary, Clone, Debug)]
pub struct Traffic {
    steps: Vec<Step>,
}

/// One packet, or what happens instead of one.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Step {
    /// Its lowest bits say which of a few connections.
    connection: u8,
    from_server: bool,
    /// Time since the step before: 12 bits of microseconds, and how often they double.
    wait: u16,
    shown: Shown,
    act: Act,
}

/// How much of the packet the capture has.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Shown {
    Whole,
    /// Cut after so many bytes of data.
    Cut(u8),
    /// The packet went by, and the capture does not have it.
    Lost,
}

/// What an end does.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Act {
    Syn,
    Say(Piece),
    /// Sends something again, from so many bytes back.
    Again(u16, u16),
    /// Acknowledges all but so many bytes, with a window.
    Acknowledge(u8, u16),
    /// Acknowledges with a hole of so many bytes, reported by SACK.
    Selectively(u8, u8),
    Fin,
    Reset,
    /// The packet before is seen elsewhere on its way, too.
    Copy,
}

/// A packet.
#[derive(Clone, Debug)]
pub struct Packet {
    pub at: Instant,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub segment: Segment,
    pub data: Vec<u8>,
    /// Bytes of the data that were captured.
    pub captured: usize,
    pub interface: u32,
    pub hop_limit: u8,
    pub identification: u16,
}

impl Traffic {
    /// What the capture has. Of the steps only the first 400 count.
    pub fn packets(&self) -> Vec<Packet> {
        let mut hosts = Hosts::default();
        self.steps.iter().take(MOST_STEPS).filter_map(|step| hosts.take(step)).collect()
    }
}

/// What is going on.
#[derive(Default)]
struct Hosts {
    micros: u64,
    connections: [[Half; 2]; CONNECTIONS],
    last: Option<Packet>,
    packets: u16,
}

/// What one end has sent.
#[derive(Default)]
struct Half {
    begun: bool,
    /// SND.NXT.
    next: SeqNumber,
    sent: Vec<u8>,
}

impl Hosts {
    fn take(&mut self, step: &Step) -> Option<Packet> {
        self.wait(step.wait);
        let packet = match (step.act, self.last.clone()) {
            (Act::Copy, Some(last)) => {
                let (interface, hop_limit) = (last.interface ^ 1, last.hop_limit.wrapping_sub(1));
                Packet { at: self.now(), interface, hop_limit, ..last }
            }
            (Act::Copy, None) => return None,
            (act, _) => self.packet(act, step),
        };
        let captured = match step.shown {
            Shown::Whole => packet.data.len(),
            Shown::Cut(bytes) => packet.data.len().min(bytes.into()),
            Shown::Lost => return None,
        };
        let packet = Packet { captured, ..packet };
        self.last = Some(packet.clone());
        Some(packet)
    }

    /// Time passes; now and then a capture's clock goes back a little.
    fn wait(&mut self, wait: u16) {
        let micros = u64::from(wait & 0xfff);
        self.micros = match wait >> 12 {
            15 => self.micros.saturating_sub(micros),
            doubled => self.micros + (micros << doubled),
        };
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(1_000_000_000_000 + self.micros * 1_000)
    }

    fn packet(&mut self, act: Act, step: &Step) -> Packet {
        let connection = usize::from(step.connection) % CONNECTIONS;
        let port = 50_000 + u16::try_from(connection).expect("a few");
        let (client, server) =
            (SocketAddr::from(([10, 0, 0, 2], port)), SocketAddr::from(([10, 0, 0, 1], 80)));
        let [own, other] = if step.from_server { [1, 0] } else { [0, 1] };
        let peer = self.connections[connection][other].next;
        let own = &mut self.connections[connection][own];
        let (segment, data) = own.act(act, peer);
        let micros = self.micros;
        let segment = if step.connection & 0x80 == 0 { segment } else { stamped(segment, micros) };
        self.packets = self.packets.wrapping_add(1);
        let (source, destination) =
            if step.from_server { (server, client) } else { (client, server) };
        Packet {
            at: self.now(),
            source,
            destination,
            segment,
            data,
            captured: 0,
            interface: u32::from(step.connection >> 6 & 1),
            hop_limit: 64,
            identification: self.packets,
        }
    }
}

impl Half {
    /// The segment that this end sends, and its data; `peer` is what it has heard of.
    fn act(&mut self, act: Act, peer: SeqNumber) -> (Segment, Vec<u8>) {
        let ack = Some(peer);
        let plain = Segment { seq: self.next, ack, window: 500, ..Segment::default() };
        match act {
            Act::Syn => (self.open(plain, peer), Vec::new()),
            Act::Say(piece) => {
                let mut data = piece.bytes();
                data.truncate(LONGEST);
                self.sent.extend(&data);
                self.next = self.next + length(&data);
                (Segment { len: length(&data), flags: Flags::PSH, ..plain }, data)
            }
            Act::Again(back, bytes) => {
                let from = self.sent.len().saturating_sub(back.into());
                let data = &self.sent[from..];
                let seq = self.next - length(data);
                let data = data[..data.len().min(bytes.into()).min(LONGEST)].to_vec();
                (Segment { seq, len: length(&data), ..plain }, data)
            }
            Act::Acknowledge(all_but, window) => {
                let ack = Some(peer - u32::from(all_but));
                (Segment { ack, window, ..plain }, Vec::new())
            }
            Act::Selectively(hole, block) => {
                let right = peer - u32::from(hole);
                let left = right - u32::from(block);
                let mut sack = SackBlocks::default();
                sack.push(left, right);
                let options = Options { sack, ..Options::NONE };
                (Segment { ack: Some(left - u32::from(hole)), options, ..plain }, Vec::new())
            }
            Act::Fin => {
                self.next = self.next + 1;
                (Segment { flags: Flags::FIN, ..plain }, Vec::new())
            }
            // A copy is made elsewhere.
            Act::Reset | Act::Copy => (Segment { flags: Flags::RST, ..plain }, Vec::new()),
        }
    }

    /// A SYN, the first or again, or of another connection between the same ports.
    fn open(&mut self, plain: Segment, peer: SeqNumber) -> Segment {
        if !self.begun || !self.sent.is_empty() {
            self.sent.clear();
            self.next = self.next + (1 << 20);
        }
        self.begun = true;
        let seq = self.next - 1;
        let options = Options {
            mss: Some(1460),
            window_scale: Some(WindowShift::new(7)),
            sack_permitted: true,
            ..plain.options
        };
        let ack = plain.ack.filter(|_| peer != SeqNumber::default());
        Segment { seq, ack, flags: Flags::SYN, options, ..plain }
    }
}

fn stamped(segment: Segment, micros: u64) -> Segment {
    let value = u32::try_from((micros / 1_000) & 0xffff_ffff).expect("of 32 bits");
    let timestamps = Some(Timestamps { value, echo: value.saturating_sub(1) });
    Segment { options: Options { timestamps, ..segment.options }, ..segment }
}

fn length(data: &[u8]) -> u32 {
    u32::try_from(data.len()).expect("a piece is short")
}

/// More steps find nothing that fewer do not.
const MOST_STEPS: usize = 400;

/// So few that ports are used again.
const CONNECTIONS: usize = 3;

/// What an IPv4 packet has room for beside its headers, TCP's with all options.
const LONGEST: usize = u16::MAX as usize - 20 - 60;
