//! A timeline as the numbers that the page reads: `assets/report/timeline.js` is the other side.
//!
//! A page holds a quarter of a million packets. As objects with names they would take 50 MB; as
//! differences from the packet before they take 20 bytes each. Times are in microseconds.

use std::collections::BTreeMap;

use ackwise_capture::{
    attribution::Confidence,
    series::{Point, Series},
};
use ackwise_cause::{Cause, Direction, Party};
use ackwise_tcp::Instant;
use serde::{Serialize, Serializer};

use crate::timeline::{Timeline, TimelineConnection, TimelineExchange};

#[derive(Debug, Serialize)]
pub(crate) struct Packed<'a> {
    /// `[name, [party to the server, party to the client]]`, by the numbers used below.
    causes: Vec<(&'static str, [Option<&'static str>; 2])>,
    /// Causes that are not shaded: the path takes that time without anybody's fault.
    path_delays: Vec<&'static str>,
    labels: Vec<&'a str>,
    connections: Connections<'a>,
    exchanges: Exchanges<'a>,
}

/// Each is packed while it is written: together they would take as much as the page.
#[derive(Debug)]
struct Connections<'a>(&'a Timeline);

impl Serialize for Connections<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(timeline) = self;
        serializer
            .collect_seq(timeline.connections.iter().map(|it| pack_connection(it, timeline.first)))
    }
}

/// The same for exchanges, with the numbers of their labels.
#[derive(Debug)]
struct Exchanges<'a> {
    timeline: &'a Timeline,
    labels: BTreeMap<&'a str, usize>,
}

impl Serialize for Exchanges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { timeline, labels } = self;
        let pack =
            |it: &TimelineExchange| pack_exchange(it, timeline.first, labels[it.label.as_str()]);
        serializer.collect_seq(timeline.exchanges.iter().map(pack))
    }
}

#[derive(Debug, Serialize)]
struct PackedConnection<'a> {
    name: &'a str,
    grain: u32,
    left_out: u64,
    /// [`Packer::point`] for each point.
    points: Vec<i64>,
}

/// Connection, start, duration, label, packet.
#[derive(Debug, Serialize)]
struct PackedExchange(
    usize,
    i64,
    i64,
    usize,
    u64,
    /// For each share: kind, time, doubt.
    Vec<i64>,
    /// For each span: kind, from (since the start), time, doubt, three packets.
    Vec<i64>,
);

impl Timeline {
    pub(crate) fn pack(&self) -> Packed<'_> {
        let mut labels = BTreeMap::new();
        for exchange in &self.exchanges {
            labels.insert(exchange.label.as_str(), 0);
        }
        for (number, place) in labels.values_mut().enumerate() {
            *place = number;
        }
        Packed {
            causes: Cause::ALL.map(|cause| (cause.name(), parties(cause))).to_vec(),
            path_delays: Cause::ALL
                .into_iter()
                .filter(|cause| cause.is_path_delay())
                .map(Cause::name)
                .collect(),
            labels: labels.keys().copied().collect(),
            connections: Connections(self),
            exchanges: Exchanges { timeline: self, labels },
        }
    }
}

fn parties(cause: Cause) -> [Option<&'static str>; 2] {
    [Direction::ToServer, Direction::ToClient]
        .map(|direction| cause.party(direction).map(Party::name))
}

/// A cause and a direction in one number.
fn kind(cause: Cause, direction: Direction) -> i64 {
    place(cause) * 2 + direction as i64
}

/// The confidence and the rival, whose places count from 1, in one number: 0 is high and without a rival.
fn doubt(confidence: Confidence, rival: Option<Cause>) -> i64 {
    let unsure = match confidence {
        Confidence::High => 0,
        Confidence::Medium => 1,
        Confidence::Low => 2,
    };
    rival.map_or(0, |it| place(it) + 1) * 3 + unsure
}

fn place(cause: Cause) -> i64 {
    number(Cause::ALL.iter().position(|it| *it == cause).unwrap_or_default() as u64)
}

fn pack_exchange(it: &TimelineExchange, first: Instant, label: usize) -> PackedExchange {
    let mut shares = Vec::with_capacity(it.shares.len() * 3);
    for share in &it.shares {
        let doubt = doubt(share.confidence, share.rival);
        let kind = kind(share.cause, share.direction);
        shares.extend([kind, micros(share.span.as_nanos()), doubt]);
    }
    let mut spans = Vec::with_capacity(it.spans.len() * 7);
    for span in &it.spans {
        let from = span.from.saturating_since(it.start).as_nanos();
        let length = span.until.saturating_since(span.from).as_nanos();
        let doubt = doubt(span.confidence, span.rival);
        spans.extend([kind(span.cause, span.direction), micros(from), micros(length), doubt]);
        spans.extend(span.packets.map(number));
    }
    let start = micros(it.start.saturating_since(first).as_nanos());
    let duration = micros(it.duration.as_nanos());
    PackedExchange(it.connection, start, duration, label, it.packet, shares, spans)
}

fn pack_connection(it: &TimelineConnection, first: Instant) -> PackedConnection<'_> {
    let series = it.series.as_deref();
    let mut packer = Packer { first, ..Packer::default() };
    let points = series.map_or(&[][..], Series::points);
    PackedConnection {
        name: &it.name,
        grain: series.map_or(1, Series::grain),
        left_out: series.map_or(0, Series::left_out),
        points: points.iter().flat_map(|it| packer.point(it)).collect(),
    }
}

/// What the next point differs from.
#[derive(Debug, Default)]
struct Packer {
    first: Instant,
    at: i64,
    packet: i64,
    /// Where the data of each direction went on to.
    end: [i64; 2],
    /// What each direction has acknowledged.
    ack: [i64; 2],
}

impl Packer {
    const TO_CLIENT: i64 = 1;
    const SYN: i64 = 2;
    const FIN: i64 = 4;
    const RST: i64 = 8;
    const AGAIN: i64 = 16;
    const ACK: i64 = 32;
    const EDGE: i64 = 64;

    /// Time since the point before, packets since it, bits, where its data begins after the last of
    /// its direction, bytes, bytes acknowledged since then, window.
    fn point(&mut self, it: &Point) -> [i64; 7] {
        let way = it.direction as usize;
        let at = micros(it.at.saturating_since(self.first).as_nanos());
        let [from, to] = it.bytes.map(number);
        let ack = it.ack.map_or(self.ack[way], number);
        let packet = number(it.packet);
        let packed = [
            at - self.at,
            packet - self.packet,
            bits(it),
            from - self.end[way],
            to - from,
            ack - self.ack[way],
            it.edge.map_or(0, |edge| number(edge) - ack),
        ];
        (self.at, self.packet) = (at, packet);
        (self.end[way], self.ack[way]) = (to, ack);
        packed
    }
}

fn bits(it: &Point) -> i64 {
    let bits = [
        (it.direction == Direction::ToClient, Packer::TO_CLIENT),
        (it.flags.syn, Packer::SYN),
        (it.flags.fin, Packer::FIN),
        (it.flags.rst, Packer::RST),
        (it.again, Packer::AGAIN),
        (it.ack.is_some(), Packer::ACK),
        (it.edge.is_some(), Packer::EDGE),
    ];
    bits.into_iter().filter(|bit| bit.0).map(|bit| bit.1).sum()
}

/// Nanoseconds as microseconds, rounded.
fn micros(nanos: u128) -> i64 {
    i64::try_from((nanos + 500) / 1_000).unwrap_or(i64::MAX)
}

/// Scripts know integers up to 2^53 exactly; a stream of that length is not captured.
fn number(number: u64) -> i64 {
    const EXACT: u64 = 1 << 53;
    i64::try_from(number.min(EXACT)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sure_takes_one_digit_and_no_two_doubts_are_alike() {
        let rivals = [None].into_iter().chain(Cause::ALL.map(Some));
        let confidences = [Confidence::High, Confidence::Medium, Confidence::Low];
        let doubts: Vec<_> =
            rivals.flat_map(|rival| confidences.map(|it| doubt(it, rival))).collect();
        let expected: Vec<i64> = (0..).take(doubts.len()).collect();
        assert_eq!(doubts, expected);
        // `timeline.js` reads it so.
        let number = doubt(Confidence::Low, Some(Cause::ALL[4]));
        assert_eq!((number % 3, number / 3 - 1), (2, 4));
    }
}
