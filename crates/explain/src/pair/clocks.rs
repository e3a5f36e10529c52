//! How far the clock of one capture is ahead of the other's, as NTP finds out.
//!
//! A packet is seen at one end, and later at the other: the difference of the two times is its way and
//! how the clocks differ. Of the least differences in both directions, half the difference is how the
//! clocks differ, if both ways are equally long, and half the sum is how wrong that can be.
//!
//! Clocks drift, some milliseconds in a few minutes: so they are compared minute by minute.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::SocketAddr,
};

use ackwise_capture::{analysis::Analysis, decode::Seen};
use ackwise_cause::Direction;
use ackwise_tcp::{Flags, Instant, SeqNumber, Timestamps};

use super::{
    PairError,
    journeys::{Journey, Journeys},
};
use crate::joined::{Clocks, Minute};

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
    /// Most that are kept: about 30 MB (our choice).
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
        self.insert(print, Sighting { at: seen.at, ends: [seen.source, seen.destination] });
    }

    fn insert(&mut self, print: Print, sighting: Sighting) {
        if !self.keeps(&print) {
            return;
        }
        // Of one that was sent again, the first counts.
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

/// Compares the clocks, and the names that the ends have; `None` if nothing came back from the server.
pub(super) fn compare(
    client: &Sightings,
    server: &Sightings,
    analysis: &Analysis,
) -> Result<Option<(Clocks, Names, Journeys)>, PairError> {
    let connections: Connections =
        analysis.connections.iter().map(|it| [it.client, it.server]).collect();
    let mut common = Common::default();
    for (print, ours) in &client.seen {
        let theirs = server.seen.get(print);
        if let Some((theirs, direction)) = theirs.zip(direction(print, ours, &connections)) {
            common.add(direction, ours, theirs);
        }
    }
    let Some(clocks) = common.clocks()? else { return Ok(None) };
    let journeys = Journeys::of(common.journeys, &clocks);
    Ok(Some((clocks, common.names, journeys)))
}

/// The client and the server of each, by the client's capture.
type Connections = BTreeSet<[SocketAddr; 2]>;

fn direction(print: &Print, ours: &Sighting, connections: &Connections) -> Option<Direction> {
    let [source, destination] = ours.ends;
    match (print.flags.syn, print.ack) {
        (true, None) => Some(Direction::ToServer),
        (true, Some(_)) => Some(Direction::ToClient),
        _ if connections.contains(&ours.ends) => Some(Direction::ToServer),
        _ if connections.contains(&[destination, source]) => Some(Direction::ToClient),
        _ => None,
    }
}

/// What packets say that both captures have, in any order.
#[derive(Debug, Default)]
struct Common {
    names: Names,
    /// The least differences by minute of the server's clock, and by direction.
    least: BTreeMap<u64, [Option<i128>; 2]>,
    packets: [u64; 2],
    journeys: Vec<Journey>,
}

impl Common {
    fn add(&mut self, direction: Direction, ours: &Sighting, theirs: &Sighting) {
        let later = i128::from(theirs.at.as_nanos()) - i128::from(ours.at.as_nanos());
        let way = match direction {
            Direction::ToServer => later,
            Direction::ToClient => -later,
        };
        let minute = self.least.entry(theirs.at.as_nanos() / Minute::NANOS).or_default();
        let least = &mut minute[direction as usize];
        *least = Some(least.map_or(way, |least| least.min(way)));
        self.packets[direction as usize] += 1;
        let (mut client, mut server) = (ours.ends, theirs.ends);
        if direction == Direction::ToClient {
            client.reverse();
            server.reverse();
        }
        self.journeys.push(Journey { direction, ends: client, ours: ours.at, theirs: theirs.at });
        self.names.insert(client, server);
    }

    /// `None` if no packet shows the way back.
    fn clocks(&self) -> Result<Option<Clocks>, PairError> {
        match self.packets {
            [0, _] => return Err(PairError::NothingToServer),
            [_, 0] => return Ok(None),
            _ => {}
        }
        let minute = |(number, least): (&u64, &[Option<i128>; 2])| {
            let [there, back] = *least;
            Minute::of(Instant::from_nanos(number * Minute::NANOS), there?, back?)
        };
        let mut minutes: Vec<Minute> = self.least.iter().filter_map(minute).collect();
        if minutes.is_empty() {
            minutes.extend(self.whole());
        }
        Clocks::of(minutes, self.packets).map(Some).ok_or(PairError::Contradiction)
    }

    /// All of it as one minute, if no minute has packets in both directions.
    fn whole(&self) -> Option<Minute> {
        let least = |way: usize| self.least.values().filter_map(|it| it[way]).min();
        Minute::of(Instant::EPOCH, least(0)?, least(1)?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ackwise_capture::analysis::Analyser;

    use super::*;

    /// SYNs and their answers: the second, which end's, and when it is seen there, in milliseconds.
    fn sightings(packets: &[(u32, bool, u64)]) -> Sightings {
        let ends = ["10.0.0.1:5000", "10.0.0.2:80"].map(|it| it.parse().unwrap());
        let mut sightings = Sightings::default();
        for &(seq, from_client, millis) in packets {
            let ack = (!from_client).then_some(SeqNumber(0));
            let print =
                Print { seq: SeqNumber(seq), ack, flags: Flags::SYN, len: 0, timestamps: None };
            let at = Instant::from_nanos(millis * 1_000_000);
            sightings.insert(print, Sighting { at, ends });
        }
        sightings
    }

    fn compared(
        client: &[(u32, bool, u64)],
        server: &[(u32, bool, u64)],
    ) -> Result<Option<Clocks>, PairError> {
        let analysis = Analyser::default().finish();
        compare(&sightings(client), &sightings(server), &analysis).map(|it| Some(it?.0))
    }

    #[test]
    fn half_the_difference_is_the_clocks_and_half_the_sum_the_doubt() {
        let client = [(1, true, 1_000), (2, false, 1_030), (3, true, 1_040)];
        let server = [(1, true, 6_010), (2, false, 6_010), (3, true, 6_090)];
        let clocks = compared(&client, &server).unwrap().unwrap();
        assert_eq!(clocks.ahead, 4_995_000_000);
        assert_eq!(clocks.uncertainty, Duration::from_millis(15));
        assert_eq!((clocks.drift, clocks.packets), (0, [2, 1]));
        let told = clocks.at_client(Instant::from_nanos(5_000_000_000));
        assert_eq!(told, Instant::from_nanos(5_000_000));
    }

    #[test]
    fn clocks_that_drift_are_followed() {
        let client = [(1, true, 1_000), (2, false, 1_020), (3, true, 601_000), (4, false, 601_020)];
        let server = [(1, true, 1_010), (2, false, 1_010), (3, true, 601_310), (4, false, 601_310)];
        let clocks = compared(&client, &server).unwrap().unwrap();
        assert_eq!((clocks.ahead, clocks.drift), (0, 300_000_000));
        let told = clocks.at_client(Instant::from_nanos(601_400_000_000));
        assert_eq!(told, Instant::from_nanos(601_100_000_000));
        assert!(clocks.to_string().contains("gained 300.000 ms during the capture"), "{clocks}");
    }

    #[test]
    fn what_cannot_be_is_no_answer() {
        let (there, back) = ((1, true, 1_000), (2, false, 1_020));
        for (client, server, error) in [
            (vec![there, back], vec![], PairError::NothingToServer),
            (
                vec![(1, true, 1_010), (2, false, 1_010)],
                vec![there, back],
                PairError::Contradiction,
            ),
        ] {
            assert_eq!(compared(&client, &server).unwrap_err(), error);
        }
        let nothing_back = compared(&[there, back], &[(1, true, 1_010)]);
        assert!(nothing_back.unwrap().is_none());
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_same_in_both() {
        let end = u32::try_from(Sightings::MOST).unwrap() + 10;
        let all: Vec<_> = (0..end).map(|seq| (seq, true, 1)).collect();
        let (many, fewer) = (sightings(&all), sightings(&all[10..]));
        assert!(many.seen.len() <= Sightings::MOST && many.seen.len() > Sightings::MOST / 4);
        let common = many.seen.keys().filter(|it| fewer.seen.contains_key(it)).count();
        assert!(common + 10 >= many.seen.len(), "{common} of {}", many.seen.len());
    }
}
