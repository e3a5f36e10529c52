//! What a capture may lack, drawn by seed and done to a capture before it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use ackwise_capture::{
    decode::{Seen, decode},
    frame,
    read::LinkType,
};
use ackwise_tcp::{Flags, Instant, Segment, SeqNumber};

use super::reading::{Packet, Packets};
use crate::dice::Dice;

/// A kind of damage.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Damage {
    /// Some packets are missing.
    Missing,
    /// Only one direction was captured.
    OneDirection,
    /// ACKs without data were filtered out.
    NoPureAcks,
    /// Packets were cut to 128 bytes.
    Cut,
    /// The network card joined segments.
    Offloads,
}

impl Damage {
    pub(super) const ALL: [Self; 5] =
        [Self::Missing, Self::OneDirection, Self::NoPureAcks, Self::Cut, Self::Offloads];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing packets",
            Self::OneDirection => "one direction",
            Self::NoPureAcks => "no pure ACKs",
            Self::Cut => "cut to 128 bytes",
            Self::Offloads => "offloads",
        }
    }

    /// Each kind is equally likely.
    pub(super) fn draw(dice: &mut Dice) -> Self {
        Self::ALL[dice.between(0, 4) as usize]
    }

    /// Damages a capture of connections to `servers`.
    pub(super) fn apply(
        self,
        whole: &Packets,
        servers: &BTreeSet<SocketAddr>,
        dice: &mut Dice,
    ) -> Packets {
        match self {
            Self::Missing => {
                let share = dice.scaled(FEWEST_MISSING, MOST_MISSING);
                let mut packets = whole.packets.clone();
                packets.retain(|_| dice.unit() >= share);
                whole.with(packets)
            }
            Self::OneDirection => {
                let of_servers = dice.between(0, 1) == 0;
                kept(whole, |seen| servers.contains(&seen.source) == of_servers)
            }
            Self::NoPureAcks => kept(whole, |seen| {
                let Flags { syn, fin, rst, .. } = seen.segment.flags;
                seen.segment.len > 0 || syn || fin || rst
            }),
            Self::Cut => {
                let mut packets = whole.packets.clone();
                packets.iter_mut().for_each(|it| it.bytes.truncate(CUT));
                whole.with(packets)
            }
            Self::Offloads => joined(whole),
        }
    }
}

/// Least and most of the packets that are missing, from a dropped packet now and then to an overloaded
/// capture. Our choice.
const FEWEST_MISSING: f64 = 0.001;
const MOST_MISSING: f64 = 0.05;

/// The snap length that docs/explain/capture.md recommends.
const CUT: usize = 128;

/// The packets that `keeps` keeps; what is no TCP segment stays.
fn kept(whole: &Packets, keeps: impl Fn(&Seen<'_>) -> bool) -> Packets {
    let keep = |it: &&Packet| decode(&it.frame(1)).map_or(true, |seen| keeps(&seen));
    whole.with(whole.packets.iter().filter(keep).cloned().collect())
}

/// Segments in a row that a network card (LRO, TSO) or the kernel (GRO, GSO) would handle as one. As
/// Linux does in `tcp_gro_receive`: same ACK and options, all but the last of one size, and PSH ends it.
fn joined(whole: &Packets) -> Packets {
    let mut out: Vec<Option<Packet>> = Vec::new();
    let mut open: BTreeMap<[SocketAddr; 2], Joined> = BTreeMap::new();
    for packet in &whole.packets {
        let place = out.len();
        out.push(Some(packet.clone()));
        let frame = packet.frame(1);
        let Ok(seen) = decode(&frame) else { continue };
        let way = [seen.source, seen.destination];
        let before = open.remove(&way);
        let Some(mut run) = Joined::of(&seen, place) else { continue };
        if let Some(before) = before.filter(|it| it.takes(&run)) {
            run = before.with(run);
            if let Some(packet) = run.packet(way) {
                out[run.first_place] = None;
                out[run.place] = Some(packet);
                run.first_place = run.place;
            }
        }
        open.insert(way, run);
    }
    whole.with(out.into_iter().flatten().collect())
}

/// Segments of one direction, in a row.
struct Joined {
    segment: Segment,
    payload: Vec<u8>,
    /// Of each segment but the last.
    size: u32,
    /// Whether the last is smaller, so that no more follow.
    complete: bool,
    at: Instant,
    first_place: usize,
    place: usize,
}

impl Joined {
    /// `None` if it cannot be joined with others.
    fn of(seen: &Seen<'_>, place: usize) -> Option<Self> {
        let Flags { syn, fin, rst, psh, .. } = seen.segment.flags;
        let is_whole = seen.payload.len() == seen.segment.len as usize && !seen.fragment;
        (seen.segment.len > 0 && is_whole && !(syn || fin || rst)).then(|| Self {
            segment: seen.segment,
            payload: seen.payload.to_vec(),
            size: seen.segment.len,
            complete: psh,
            at: seen.at,
            first_place: place,
            place,
        })
    }

    fn takes(&self, next: &Self) -> bool {
        let after = SeqNumber(self.segment.seq.0.wrapping_add(self.segment.len));
        !self.complete
            && next.segment.seq == after
            && next.segment.ack == self.segment.ack
            && next.segment.options == self.segment.options
            && next.size <= self.size
            && self.payload.len() + next.payload.len() <= MOST_JOINED
            && next.at <= self.at + LONGEST_APART
    }

    fn with(mut self, next: Self) -> Self {
        self.payload.extend(&next.payload);
        self.segment.len += next.segment.len;
        self.segment.flags = next.segment.flags;
        self.complete = next.complete || next.size < self.size;
        (self.at, self.place) = (next.at, next.place);
        self
    }

    fn packet(&self, [source, destination]: [SocketAddr; 2]) -> Option<Packet> {
        let mut packet = Vec::new();
        let link = frame::write(&mut packet, source, destination, &self.segment, &self.payload);
        let bytes = [&link.ok()?[..], &packet].concat();
        let original_len = u32::try_from(bytes.len()).ok()?;
        Some(Packet { at: self.at, link_type: LinkType::ETHERNET, original_len, bytes })
    }
}

/// An IPv4 packet has 65,535 bytes, headers of up to 120 bytes included.
const MOST_JOINED: usize = 65_535 - 120;

/// Segments further apart are not handled together: about what a card's interrupt moderation waits. Our
/// choice.
const LONGEST_APART: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: [&str; 2] = ["10.0.0.1:5000", "10.0.0.2:80"];

    /// From the server?, sequence number, bytes, PSH, microseconds.
    fn packets(rows: &[(bool, u32, u32, bool, u64)]) -> Packets {
        let [client, server] = ENDS.map(|it| it.parse().unwrap());
        let packet = |&(from_server, seq, len, psh, micros): &(bool, u32, u32, bool, u64)| {
            let ends = if from_server { [server, client] } else { [client, server] };
            let flags = if psh { Flags::PSH } else { Flags::NONE };
            let segment = Segment { seq: SeqNumber(seq), len, flags, ..Segment::default() };
            let segment = Segment { ack: Some(SeqNumber(1)), ..segment };
            let joined = Joined {
                segment,
                payload: vec![7; len as usize],
                size: len,
                complete: false,
                at: Instant::from_nanos(micros * 1_000),
                first_place: 0,
                place: 0,
            };
            joined.packet(ends).unwrap()
        };
        Packets::default().with(rows.iter().map(packet).collect())
    }

    fn rows(packets: &Packets) -> Vec<(bool, u32, u32, bool, u64)> {
        let row = |it: &Packet| {
            let frame = it.frame(1);
            let seen = decode(&frame).unwrap();
            let Segment { seq, len, flags, .. } = seen.segment;
            let from_server = seen.source.port() == 80;
            (from_server, seq.0, len, flags.psh, it.at.as_nanos() / 1_000)
        };
        packets.packets.iter().map(row).collect()
    }

    fn damaged(damage: Damage, from: &[(bool, u32, u32, bool, u64)]) -> Packets {
        let servers = BTreeSet::from([ENDS[1].parse().unwrap()]);
        damage.apply(&packets(from), &servers, &mut Dice::new(1))
    }

    #[test]
    fn full_segments_in_a_row_become_one_until_a_push_a_pause_or_a_hole() {
        let from = [
            (true, 0, 1000, false, 10),
            (false, 0, 0, false, 11),
            (true, 1000, 1000, false, 12),
            (true, 2000, 400, true, 13),
            (true, 2400, 1000, false, 14),
            (true, 3400, 1000, false, 500),
            (true, 5400, 1000, false, 501),
        ];
        assert_eq!(
            rows(&damaged(Damage::Offloads, &from)),
            [
                (false, 0, 0, false, 11),
                (true, 0, 2400, true, 13),
                (true, 2400, 1000, false, 14),
                (true, 3400, 1000, false, 500),
                (true, 5400, 1000, false, 501),
            ]
        );
    }

    #[test]
    fn what_is_filtered_out_is_gone_and_the_rest_is_as_it_was() {
        let from = [(false, 0, 50, true, 1), (true, 0, 0, false, 2), (true, 0, 900, true, 3)];
        assert_eq!(rows(&damaged(Damage::NoPureAcks, &from)), [from[0], from[2]]);
        let one_way = rows(&damaged(Damage::OneDirection, &from));
        assert!(one_way == [from[0]] || one_way == [from[1], from[2]], "{one_way:?}");
        let cut = damaged(Damage::Cut, &from);
        assert_eq!(rows(&cut), from, "lengths are those on the wire");
        assert_eq!(cut.packets[2].bytes.len(), CUT);
    }

    #[test]
    fn a_few_packets_are_missing_and_each_seed_has_others() {
        let from: Vec<_> =
            (0..2_000).map(|it| (true, it * 100, 100, false, u64::from(it))).collect();
        let servers = BTreeSet::new();
        let left = |seed| {
            let damaged = Damage::Missing.apply(&packets(&from), &servers, &mut Dice::new(seed));
            rows(&damaged)
        };
        let [one, other] = [left(1), left(2)];
        assert!((1_850..2_000).contains(&one.len()), "{}", one.len());
        assert_ne!(one, other);
        assert_eq!(one, left(1));
    }
}
