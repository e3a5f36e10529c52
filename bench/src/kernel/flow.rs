//! What one connection did on its path, in the same form from both worlds, and what follows from it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::witness::clock::Nanos;

/// An end of the connection. The server sends the data.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    Client,
    Server,
}

/// A TCP packet at one point of its way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Packet {
    pub(super) at: Nanos,
    pub(super) from: End,
    /// Where its data begins in the sender's stream.
    pub(super) offset: u64,
    /// Bytes of data.
    pub(super) len: u32,
    /// What it acknowledges of the other end's stream.
    pub(super) ack: u64,
}

/// A packet as it is on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnWire {
    pub(super) from: End,
    pub(super) syn: bool,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) len: u32,
}

/// Each list is in order of time. Times count from the same moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub(super) sent: Vec<Packet>,
    pub(super) arrived: Vec<Packet>,
    pub(super) dropped: Vec<Packet>,
    /// The server's congestion window in segments, whenever it was seen.
    pub(super) windows: Vec<(Nanos, u32)>,
    /// ssthresh in segments, where it is known.
    pub(super) thresholds: Vec<(Nanos, u32)>,
    /// Initial sequence numbers of client and server.
    initial: [u32; 2],
}

/// What the ends were asked to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Work {
    /// Bytes of each request.
    pub(super) request: u64,
    /// Bytes of each response.
    pub(super) response: u64,
    /// Requests, one after the other.
    pub(super) transfers: u32,
    /// Segments that follow each other within this time are back to back.
    pub(super) back_to_back: Nanos,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    /// From the SYN or the request to the response's last byte, summed over the transfers, in seconds.
    pub(super) time: f64,
    /// Data packets that the server sent.
    pub(super) sent: u64,
    /// Those that the path dropped.
    pub(super) dropped: u64,
    /// Those that had been sent before.
    pub(super) again: u64,
    /// Segments back to back in the first flight after an idle time, at most. 0 without idle time.
    pub(super) burst: u32,
    /// The congestion window in segments, averaged over the transfers' time.
    pub(super) window: f64,
}

impl Outcome {
    /// Dropped packets in percent of those sent.
    pub(super) fn drop_percent(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts of packets")]
        let [dropped, sent] = [self.dropped as f64, self.sent as f64];
        100.0 * dropped / sent
    }
}

impl End {
    const fn place(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

impl Flow {
    /// Learns the initial sequence number from a SYN.
    pub(super) const fn note(&mut self, packet: &OnWire) {
        if packet.syn {
            self.initial[packet.from.place()] = packet.seq;
        }
    }

    /// A packet with its place in the streams. The SYNs of both ends are noted before.
    pub(super) fn packet(&self, packet: &OnWire, at: Nanos) -> Packet {
        let &OnWire { from, syn, seq, ack, len } = packet;
        let since = |number: u32, end: End| {
            let first = self.initial[end.place()].wrapping_add(1);
            // What is before the stream is a SYN, or the ACK of nothing.
            u64::from(number.wrapping_sub(first).cast_signed().max(0).unsigned_abs())
        };
        let ack = if syn { 0 } else { since(ack, from.other()) };
        Packet { at, from, offset: if syn { 0 } else { since(seq, from) }, len, ack }
    }

    /// `None` if the transfers did not end.
    pub(super) fn outcome(&self, work: Work) -> Option<Outcome> {
        let spans = self.transfers(work)?;
        let data: Vec<&Packet> = self.sent.iter().filter(|it| it.is_data()).collect();
        let (mut highest, mut again) = (0, 0);
        for packet in &data {
            again += u64::from(packet.end() <= highest);
            highest = highest.max(packet.end());
        }
        let later = (1..u64::from(work.transfers))
            .map(|nth| self.burst(nth * work.response, work.back_to_back));
        let nanos: Nanos = spans.iter().map(|[from, until]| until - from).sum();
        Some(Outcome {
            time: Duration::from_nanos(nanos).as_secs_f64(),
            sent: data.len() as u64,
            dropped: self.dropped.iter().filter(|it| it.is_data()).count() as u64,
            again,
            burst: later.max().unwrap_or(0),
            window: self.window(&spans),
        })
    }

    /// When each transfer began and ended.
    pub(super) fn transfers(&self, work: Work) -> Option<Vec<[Nanos; 2]>> {
        let complete = self.completed(work.response);
        let span = |nth: u64| {
            let is_request = |it: &&Packet| {
                it.from == End::Client && it.len > 0 && it.offset == nth * work.request
            };
            let began = match nth {
                0 => self.sent.first()?.at,
                _ => self.sent.iter().find(is_request)?.at,
            };
            Some([began, *complete.get(usize::try_from(nth).ok()?)?])
        };
        (0..u64::from(work.transfers)).map(span).collect()
    }

    /// When each multiple of `response` bytes had arrived without a gap.
    fn completed(&self, response: u64) -> Vec<Nanos> {
        let (mut complete, mut next) = (Vec::new(), 0);
        let mut beyond: BTreeMap<u64, u64> = BTreeMap::new();
        for packet in self.arrived.iter().filter(|it| it.is_data()) {
            let end = beyond.entry(packet.offset).or_default();
            *end = packet.end().max(*end);
            while let Some(first) = beyond.first_entry().filter(|it| *it.key() <= next) {
                next = next.max(first.remove());
            }
            while next >= response * (complete.len() as u64 + 1) {
                complete.push(packet.at);
            }
        }
        complete
    }

    /// The longest run of segments back to back from the first one at `offset` or beyond until the first
    /// ACK for one of them arrives.
    fn burst(&self, offset: u64, back_to_back: Nanos) -> u32 {
        let is_answer = |it: &&Packet| it.from == End::Client && it.ack > offset;
        let acked = self.arrived.iter().find(is_answer).map_or(Nanos::MAX, |it| it.at);
        let first = self.sent.iter().filter(|it| it.is_data() && it.offset >= offset);
        let (mut longest, mut run, mut before) = (0, 0, None);
        for at in first.map(|it| it.at).take_while(|at| *at < acked) {
            let joins = before.is_some_and(|before| at - before <= back_to_back);
            run = if joins { run + 1 } else { 1 };
            longest = longest.max(run);
            before = Some(at);
        }
        longest
    }

    /// The mean over the spans. Each window holds until the next one is seen.
    fn window(&self, spans: &[[Nanos; 2]]) -> f64 {
        let (mut weighed, mut whole) = (0.0, 0.0);
        for (place, &(from, window)) in self.windows.iter().enumerate() {
            let until = self.windows.get(place + 1).map_or(Nanos::MAX, |next| next.0);
            for span in spans {
                let held = until.min(span[1]).saturating_sub(from.max(span[0]));
                let seconds = Duration::from_nanos(held).as_secs_f64();
                weighed += seconds * f64::from(window);
                whole += seconds;
            }
        }
        weighed / whole
    }
}

impl Packet {
    pub(super) fn is_data(&self) -> bool {
        self.from == End::Server && self.len > 0
    }

    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;
    const WORK: Work = Work { request: 100, response: 3_000, transfers: 2, back_to_back: MS };

    fn packet(at: Nanos, from: End, offset: u64, len: u32, ack: u64) -> Packet {
        Packet { at: at * MS, from, offset, len, ack }
    }

    /// Two transfers of three segments, 10 ms each way; the second segment is lost and repeated.
    fn flow() -> Flow {
        let mut flow = Flow::default();
        let server = |at, offset| packet(at, End::Server, offset, 1_000, 100);
        flow.sent.push(packet(0, End::Client, 0, 0, 0));
        flow.sent.push(packet(20, End::Client, 0, 100, 0));
        flow.sent.extend([server(30, 0), server(30, 1_000), server(30, 2_000), server(60, 1_000)]);
        flow.sent.push(packet(200, End::Client, 100, 100, 3_000));
        flow.sent.extend([server(210, 3_000), server(210, 4_000), server(213, 5_000)]);
        flow.dropped.push(server(30, 1_000));
        flow.arrived.extend([server(40, 0), server(40, 2_000), server(70, 1_000)]);
        flow.arrived.push(packet(210, End::Client, 100, 100, 3_000));
        flow.arrived.extend([server(220, 3_000), server(220, 4_000), server(223, 5_000)]);
        flow.arrived.push(packet(230, End::Client, 200, 0, 4_000));
        flow.windows = vec![(0, 10), (35 * MS, 20), (200 * MS, 5)];
        flow
    }

    #[test]
    fn transfers_end_with_their_last_gap() {
        let outcome = flow().outcome(WORK).unwrap();
        assert!((outcome.time - 0.093).abs() < 1e-9, "{outcome:?}");
        assert_eq!((outcome.sent, outcome.dropped, outcome.again), (7, 1, 1));
        assert_eq!(outcome.burst, 2, "the third segment left 3 ms later");
        let mean = (35.0 * 10.0 + 35.0 * 20.0 + 23.0 * 5.0) / 93.0;
        assert!((outcome.window - mean).abs() < 1e-9, "{outcome:?}");
    }

    #[test]
    fn a_transfer_that_did_not_end_has_no_outcome() {
        let mut flow = flow();
        flow.arrived.retain(|it| it.offset != 5_000);
        assert_eq!(flow.outcome(WORK), None);
    }

    #[test]
    fn places_in_the_stream_survive_the_wrap() {
        let mut flow = Flow::default();
        let syn = |from, seq| OnWire { from, syn: true, seq, ack: 0, len: 0 };
        flow.note(&syn(End::Client, u32::MAX));
        flow.note(&syn(End::Server, 4));
        let wire = OnWire { from: End::Client, syn: false, seq: 7, ack: 5, len: 1 };
        let packet = flow.packet(&wire, 3);
        assert_eq!((packet.offset, packet.ack, packet.len), (7, 0, 1));
        assert_eq!(flow.packet(&OnWire { ack: 0, ..wire }, 3).ack, 0);
    }
}
