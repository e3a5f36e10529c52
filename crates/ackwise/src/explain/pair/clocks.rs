//! How far the clock of one capture is ahead of the other's, as NTP finds out.
//!
//! A packet is seen at one end, and later at the other: the difference of the two times is its way and
//! how the clocks differ. Of the least differences in both directions, half the difference is how the
//! clocks differ, if both ways are equally long, and half the sum is how wrong that can be.
//!
//! Not here: clocks that drift while the captures run.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    net::SocketAddr,
    time::Duration,
};

use ackwise_capture::{analysis::Analysis, decode::Seen};
use ackwise_http::cause::Direction;
use ackwise_tcp::{Flags, Instant, SeqNumber, Timestamps};

use super::Apart;

/// How two clocks differ.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Clocks {
    /// By so many nanoseconds the server's clock is ahead of the client's.
    pub ahead: i64,
    /// It is not more wrong than that.
    pub uncertainty: Duration,
    /// Packets that are in both captures, by direction: to the server, to the client.
    pub packets: [u64; 2],
}

impl Clocks {
    /// What the client's clock says when the server's says that.
    pub(super) fn at_client(&self, at_server: Instant) -> Instant {
        Instant::from_nanos(at_server.as_nanos().saturating_add_signed(-self.ahead))
    }
}

impl fmt::Display for Clocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ahead, uncertainty, packets: [to_server, to_client] } = self;
        let millis = |nanos: f64| nanos / 1e6;
        write!(
            f,
            "the server's clock is {:.3} ms {} the client's, give or take {:.3} ms ({to_server} and \
             {to_client} packets in common)",
            millis(ahead.unsigned_abs() as f64),
            if *ahead < 0 { "behind" } else { "ahead of" },
            millis(uncertainty.as_nanos() as f64),
        )
    }
}

/// The ends of a connection as the client's capture has them, and as the server's has them.
pub(super) type Names = BTreeMap<[SocketAddr; 2], [SocketAddr; 2]>;

/// Packets of one capture, to be found in another: those with data, and SYNs.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    // Looked up, and walked only for what does not depend on the order.
    seen: HashMap<Print, Sighting>,
    /// Only one of 2 to this power is kept: the same ones in each capture.
    rarity: u32,
}

/// What a packet has at both ends, even if addresses are translated between them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Print {
    seq: SeqNumber,
    ack: Option<SeqNumber>,
    flags: Flags,
    len: u32,
    timestamps: Option<Timestamps>,
}

#[derive(Clone, Copy, Debug)]
struct Sighting {
    at: Instant,
    /// From whom, for whom.
    ends: [SocketAddr; 2],
}

impl Print {
    /// As random as sequence numbers are: its first bits choose what is kept.
    fn lot(&self) -> u32 {
        let ack = self.ack.map_or(0, |ack| ack.0);
        // The golden ratio spreads numbers that follow each other.
        (self.seq.0 ^ ack.rotate_left(16)).wrapping_mul(0x9e37_79b1)
    }
}

impl Sightings {
    /// So many are kept: some 30 MB. Ours.
    const MOST: usize = 1 << 18;

    pub(super) fn add(&mut self, seen: &Seen<'_>) {
        let segment = &seen.segment;
        if segment.len == 0 && !segment.flags.syn {
            return;
        }
        let print = Print {
            seq: segment.seq,
            ack: segment.ack,
            flags: segment.flags,
            len: segment.len,
            timestamps: segment.options.timestamps,
        };
        if !self.keeps(&print) {
            return;
        }
        // Of one that was sent again, the first counts.
        let sighting = Sighting { at: seen.at, ends: [seen.source, seen.destination] };
        self.seen.entry(print).or_insert(sighting);
        if self.seen.len() > Self::MOST {
            self.rarity += 1;
            let rarity = self.rarity;
            self.seen.retain(|print, _| print.lot().leading_zeros() >= rarity);
        }
    }

    fn keeps(&self, print: &Print) -> bool {
        print.lot().leading_zeros() >= self.rarity
    }
}

/// Compares the clocks, and the names that the ends have.
pub(super) fn compare(
    client: &Sightings,
    server: &Sightings,
    analysis: &Analysis,
) -> Result<(Clocks, Names), Apart> {
    let connections: BTreeMap<[SocketAddr; 2], ()> =
        analysis.connections.iter().map(|it| ([it.client, it.server], ())).collect();
    let (mut names, mut least, mut packets) = (Names::new(), [None; 2], [0; 2]);
    for (print, ours) in &client.seen {
        let Some(theirs) = server.seen.get(print) else { continue };
        let [source, destination] = ours.ends;
        let direction = match (print.flags.syn, print.ack) {
            (true, None) => Direction::ToServer,
            (true, Some(_)) => Direction::ToClient,
            _ if connections.contains_key(&ours.ends) => Direction::ToServer,
            _ if connections.contains_key(&[destination, source]) => Direction::ToClient,
            _ => continue,
        };
        let later = i128::from(theirs.at.as_nanos()) - i128::from(ours.at.as_nanos());
        let (way, renamed) = match direction {
            Direction::ToServer => (later, [ours.ends, theirs.ends]),
            Direction::ToClient => {
                let [there, here] = theirs.ends;
                (-later, [[destination, source], [here, there]])
            }
        };
        names.insert(renamed[0], renamed[1]);
        let least = &mut least[direction as usize];
        *least = Some(least.map_or(way, |least: i128| least.min(way)));
        packets[direction as usize] += 1;
    }
    let [there, back] = least;
    let (there, back) = (there.ok_or(Apart::NothingToServer)?, back.ok_or(Apart::NothingToClient)?);
    let ahead = i64::try_from((there - back) / 2).map_err(|_| Apart::Contradiction)?;
    let uncertainty = u64::try_from((there + back) / 2).map_err(|_| Apart::Contradiction)?;
    let uncertainty = Duration::from_nanos(uncertainty);
    Ok((Clocks { ahead, uncertainty, packets }, names))
}
