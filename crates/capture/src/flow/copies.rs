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
