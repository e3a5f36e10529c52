//! One packet, seen several times on its way through the capturing host.
//!
//! A capture of all interfaces (`-i any`) sees a packet on a veth, on the bridge, and again with other
//! addresses behind NAT. A mirror port may deliver it twice, as it comes in and as it goes out. The first
//! sight of it counts; the others are neither retransmissions nor other connections.
//!
//! In one place, only the identification of IPv4 tells a copy from a packet that was sent again.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use ackwise_tcp::{Flags, Instant, Segment, SeqNumber};

use super::batch::{Batch, Located, Place};
use crate::decode::Seen;

/// What stays the same of a packet on its way through a host, NAT or not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Print {
    seq: SeqNumber,
    ack: Option<SeqNumber>,
    flags: Flags,
    len: u32,
    window: u16,
    timestamp: Option<u32>,
    identification: u16,
}

impl Print {
    fn of(seen: &Seen<'_>) -> Self {
        let Segment { seq, ack, flags, window, options, time_wait_holder: _, len } = seen.segment;
        let timestamp = options.timestamps.map(|it| it.value);
        Self { seq, ack, flags, len, window, timestamp, identification: seen.identification }
    }

    /// No other packet of the connection has the same for a long time: IPv6 has no identification, and
    /// some senders of IPv4 leave it 0 (RFC 6864, section 4.1).
    const fn is_unique(&self) -> bool {
        self.identification != 0
    }

    /// No SYN is sent again so soon.
    const fn is_soon_unique(&self) -> bool {
        self.is_unique() || self.flags.syn
    }
}

/// A packet that was seen a moment ago.
#[derive(Clone, Copy, Debug)]
struct Sight {
    at: Instant,
    place: Place,
    print: Print,
    addresses: [SocketAddr; 2],
}

/// A packet that was seen before, elsewhere on its way.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    /// Segments of the capture before it.
    pub ordinal: u64,
    pub addresses: [SocketAddr; 2],
    /// Those that it had there.
    pub original: [SocketAddr; 2],
}

/// Packets that were seen a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    recent: VecDeque<Sight>,
    /// The last packet while all were seen in one place; the copy of it may come next.
    alone: Option<Sight>,
    /// More than one place has shown up: there may be copies.
    several: bool,
    /// So has a copy in the same place.
    doubled: bool,
}

impl Copies {
    /// The longest a host takes to hand a packet from one interface to the next. Our choice.
    const LONGEST: Duration = Duration::from_millis(20);
    /// Packets that a new one is compared with: those of the last few ms. Our choice.
    const MOST: usize = 128;

    /// Whether there may be copies among the packets of `batch`, which come next; if not, they are noted.
    pub(crate) fn may_be_among(&mut self, batch: &Batch) -> bool {
        self.doubled |= batch.repeats();
        let Some((place, last)) = batch.seen_at() else { return true };
        if self.several || self.doubled || self.alone.is_some_and(|it| it.place != place) {
            return true;
        }
        self.alone = Some(Sight::of(&last, place));
        false
    }

    /// The copies among the packets of `batch`, which come next, in order. Packets before them tell: so one thread finds
    /// them before others judge the batch.
    pub(super) fn among(&mut self, batch: &Batch) -> Vec<Copy> {
        let copy = |(located, seen): (Located, Seen<'_>)| {
            let addresses = [seen.source, seen.destination];
            let original = self.original(&seen)?;
            Some(Copy { ordinal: located.ordinal, addresses, original })
        };
        batch.segments().filter_map(copy).collect()
    }

    /// If this packet was seen before, somewhere else on its way: from whom and for whom it was there.
    pub(crate) fn original(&mut self, seen: &Seen<'_>) -> Option<[SocketAddr; 2]> {
        let place = (seen.interface, seen.station);
        let print = Print::of(seen);
        if !self.several && !self.doubled {
            self.several = self.alone.is_some_and(|it| it.place != place);
            self.doubled =
                self.alone.is_some_and(|it| it.is_same(&print, seen) && print.is_unique());
            if !self.several && !self.doubled {
                self.alone = Some(Sight::of(seen, place));
                return None;
            }
        }
        self.recent.extend(self.alone.take());
        while self.recent.front().is_some_and(|it| seen.at.saturating_since(it.at) > Self::LONGEST)
        {
            self.recent.pop_front();
        }
        let is_copy = |it: &&Sight| {
            (it.print == print && it.place != place)
                || (self.doubled && print.is_soon_unique() && it.is_same(&print, seen))
        };
        // The newest first: copies come soon.
        let before = self.recent.iter().rev().find(is_copy);
        if let Some(before) = before {
            return Some(before.addresses);
        }
        if self.recent.len() == Self::MOST {
            self.recent.pop_front();
        }
        self.recent.push_back(Sight::of(seen, place));
        None
    }
}

impl Sight {
    /// In one place, nothing changes the addresses of a packet.
    fn is_same(&self, print: &Print, seen: &Seen<'_>) -> bool {
        self.print == *print && self.addresses == [seen.source, seen.destination]
    }

    fn of(seen: &Seen<'_>, place: Place) -> Self {
        let addresses = [seen.source, seen.destination];
        Self { at: seen.at, place, print: Print::of(seen), addresses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::RawSegment;

    fn seen(micros: u64, interface: u32, identification: u16) -> Seen<'static> {
        Seen {
            number: 1,
            at: Instant::EPOCH + Duration::from_micros(micros),
            interface,
            source: ([10, 0, 0, 1], 5_000).into(),
            destination: ([10, 0, 0, 2], 80).into(),
            segment: Segment::default(),
            payload: &[],
            hop_limit: 64,
            identification,
            fragment: false,
            options_cut: false,
            station: None,
        }
    }

    /// Another packet.
    fn numbered(seq: u32, packet: Seen<'static>) -> Seen<'static> {
        let segment = Segment { seq: SeqNumber(seq), ..packet.segment };
        Seen { segment, ..packet }
    }

    fn is_copy(copies: &mut Copies, packet: &Seen<'_>) -> bool {
        copies.original(packet).is_some()
    }

    #[test]
    fn a_host_hands_a_packet_on_within_20_ms() {
        for (micros, is_same) in [(20_000, true), (20_001, false)] {
            let mut copies = Copies::default();
            assert!(!is_copy(&mut copies, &seen(0, 0, 0)));
            assert_eq!(is_copy(&mut copies, &seen(micros, 1, 0)), is_same, "{micros}");
        }
    }

    #[test]
    fn in_one_place_a_copy_has_the_same_number_and_addresses() {
        let twice = |first: Seen<'static>, second: Seen<'static>| {
            let mut copies = Copies::default();
            assert!(!is_copy(&mut copies, &first));
            is_copy(&mut copies, &second)
        };
        let first = seen(0, 0, 7);
        let elsewhere = Seen { source: ([10, 0, 0, 3], 5_000).into(), ..first };
        assert!(twice(first, seen(5, 0, 7)));
        assert!(!twice(first, seen(5, 0, 8)), "another number");
        assert!(!twice(seen(0, 0, 0), seen(5, 0, 0)), "no number");
        assert!(!twice(first, numbered(1, first)), "other data");
        assert!(!twice(first, elsewhere), "other addresses");
        assert!(twice(first, Seen { interface: 1, ..elsewhere }), "behind NAT");
    }

    #[test]
    fn where_packets_come_twice_a_syn_without_a_number_is_a_copy_and_no_other() {
        let flags = Flags::SYN;
        let plain = numbered(1, seen(10, 0, 0));
        let syn = Seen { segment: Segment { flags, ..plain.segment }, ..plain };
        for (packet, is_same) in [(syn, true), (plain, false), (numbered(2, seen(10, 0, 9)), true)]
        {
            let mut copies = Copies::default();
            assert!(!is_copy(&mut copies, &seen(0, 0, 7)));
            assert!(is_copy(&mut copies, &seen(5, 0, 7)));
            assert!(!is_copy(&mut copies, &packet));
            assert_eq!(is_copy(&mut copies, &packet), is_same, "{packet:?}");
        }
    }

    /// Packets one after the other, each with its interface and its number.
    fn batch(packets: &[(u32, u16)]) -> Batch {
        let mut batch = Batch::default();
        for &(interface, identification) in packets {
            let mut bytes = [0; 20];
            bytes[4..6].copy_from_slice(&identification.to_be_bytes());
            bytes[12] = 5 << 4;
            batch.push(&RawSegment {
                number: 1,
                at: Instant::EPOCH,
                interface,
                addresses: [1, 2],
                ports: [5_000, 80],
                is_v6: false,
                bytes: &bytes,
                length: 20,
                hop_limit: 64,
                identification,
                fragment: false,
                station: None,
            });
        }
        batch
    }

    #[test]
    fn a_batch_is_searched_for_copies_once_there_may_be_some() {
        for (why, before, next, may) in [
            ("in one place", &[(0, 1), (0, 2)][..], &[(0, 3)][..], false),
            ("in one place, by other numbers", &[(5, 1)], &[(5, 2), (5, 3)], false),
            ("in another place than before", &[(0, 1), (0, 2)], &[(1, 2)], true),
            ("in two places", &[], &[(0, 1), (1, 1)], true),
            ("a number twice", &[(0, 1)], &[(0, 7), (0, 7)], true),
            ("a number twice, before", &[(0, 7), (0, 7)], &[(0, 8)], true),
        ] {
            let mut copies = Copies::default();
            if !before.is_empty() {
                copies.may_be_among(&batch(before));
            }
            assert_eq!(copies.may_be_among(&batch(next)), may, "{why}");
        }
    }

    #[test]
    fn a_packet_is_compared_with_the_last_128() {
        for (others, is_same) in [(127, true), (128, false)] {
            let mut copies = Copies::default();
            let packet = seen(0, 0, 0);
            for other in [numbered(1, packet), numbered(2, seen(0, 1, 0)), packet] {
                assert!(!is_copy(&mut copies, &other));
            }
            for other in 0..others {
                assert!(!is_copy(&mut copies, &numbered(100 + other, packet)));
            }
            assert_eq!(is_copy(&mut copies, &seen(0, 1, 0)), is_same, "{others}");
        }
    }
}
