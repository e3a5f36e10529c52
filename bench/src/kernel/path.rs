//! A path, and what is sent over it, drawn by seed.

use std::fmt;

use super::flow::Work;
use crate::dice::Dice;

/// Everything that decides a comparison. Both worlds get the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    pub(super) number: u64,
    pub(super) control: Control,
    /// In kb/s, in both directions.
    pub(super) rate: u32,
    /// One way, in microseconds.
    pub(super) delay: u32,
    /// In packets, the one being sent included.
    pub(super) queue: u32,
    /// Share of the server's packets that are lost.
    pub(super) loss: f64,
    /// Share of the server's packets that arrive late.
    pub(super) reordering: f64,
    /// How much later these arrive, in microseconds.
    pub(super) lateness: u32,
    /// Bytes of each response.
    pub(super) size: u32,
    pub(super) transfers: u32,
    /// Between a response and the next request, in milliseconds.
    pub(super) idle: u32,
    pub(super) buffers: Buffers,
    dice: Dice,
}

/// Congestion control of the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Control {
    Cubic,
    Reno,
    Bbr,
}

/// Socket buffers of both ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Buffers {
    /// [`Buffers::STATED`] at both ends, more than any path drawn here holds.
    Stated,
    /// The kernel's defaults, which grow with what the connection needs.
    Tuned,
}

/// What a target is set for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Class {
    NoLoss,
    Loss,
    Bbr,
}

/// Packets that a path loses and delays, by their number in the direction to the client, from 1.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Fates {
    pub(super) lost: Vec<u64>,
    pub(super) late: Vec<u64>,
}

/// The ranges of [`Path::draw`] (our choice): access links from ADSL to cable, within a region and across
/// an ocean, with shallow to bloated queues.
pub(super) const RANGES: &str = "\
paths: 1 to 50 Mb/s, 3 to 75 ms one way, queue 0.25 to 3 times the bandwidth-delay product (at least
12 packets), 1 to 3 responses of 0.2 to 2 s at full rate, 0.3 to 2 s apart; half of them without faults,
a quarter with 0.1 to 3 % loss, a quarter with 0.1 to 3 % of the packets 0.1 to 1 round trip late;
CUBIC (half), Reno and BBR; buffers of 8 MiB, or (a quarter) Linux's defaults, which grow";

impl Path {
    pub(super) fn draw(seed: u64, number: u64) -> Self {
        let mut dice = Dice::new(seed).of("path", number);
        let control = [Control::Cubic, Control::Reno, Control::Cubic, Control::Bbr];
        let control = control[usize::try_from(number % 4).unwrap_or(0)];
        let fault = number / 4 % 4;
        let rate = whole(dice.scaled(1_000.0, 50_000.0));
        let delay = whole(dice.scaled(3_000.0, 75_000.0));
        let packets_per_second = f64::from(rate) * 1e3 / 8.0 / PACKET;
        let round_trip = 2.0 * f64::from(delay) / 1e6;
        let held = packets_per_second * round_trip;
        let queue = whole((dice.scaled(0.25, 3.0) * held).max(LEAST_QUEUE));
        let share = dice.scaled(0.001, 0.03);
        let lateness = whole(dice.scaled(0.1, 1.0) * round_trip * 1e6);
        let (loss, reordering) = match fault {
            2 => (share, 0.0),
            3 => (0.0, share),
            _ => (0.0, 0.0),
        };
        // Mathis et al. 1997: the rate that random loss leaves, with C = 1.22 for every packet acknowledged.
        let left_by_loss =
            if loss > 0.0 { 1.22 / (round_trip * loss.sqrt()) } else { f64::INFINITY };
        let seconds = dice.scaled(0.2, 2.0);
        let packets = (seconds * packets_per_second.min(left_by_loss)).max(LEAST_PACKETS);
        let transfers = [1, 2, 2, 3][dice.between(0, 3) as usize];
        Self {
            number,
            control,
            rate,
            delay,
            queue,
            loss,
            reordering,
            lateness,
            size: whole(packets * SEGMENT / f64::from(transfers)),
            transfers,
            idle: if transfers > 1 { whole(dice.scaled(300.0, 2_000.0)) } else { 0 },
            buffers: if dice.between(0, 3) == 0 { Buffers::Tuned } else { Buffers::Stated },
            dice: dice.of("fates", 0),
        }
    }

    pub(super) const fn class(&self) -> Class {
        match self.control {
            Control::Bbr => Class::Bbr,
            _ if self.is_faulty() => Class::Loss,
            _ => Class::NoLoss,
        }
    }

    /// Whether packets are lost or late at random.
    pub(super) const fn is_faulty(&self) -> bool {
        self.loss > 0.0 || self.reordering > 0.0
    }

    pub(super) fn work(&self) -> Work {
        let (request, response) = (REQUEST.into(), self.size.into());
        // Of 1500 bytes at a rate in kb/s.
        let back_to_back = 12_000_000_000 / u64::from(self.rate) / BACK_TO_BACK_SHARE;
        Work { request, response, transfers: self.transfers, back_to_back }
    }

    /// The path of the run `nth`, whose responses are `nth` segments longer.
    ///
    /// Without random faults, a run is the same each time, and where a queue drops its tail, one segment
    /// more or less decides whether the last one is lost, which costs a timeout: phase effects (Floyd and
    /// Jacobson 1992), which a median over sizes leaves out.
    pub(super) fn for_run(&self, nth: u64) -> Self {
        let more = u32::try_from(nth).unwrap_or(0) * whole(SEGMENT);
        Self { size: self.size + more, ..self.clone() }
    }

    /// The packets that the pattern `nth` affects; the same in both worlds.
    pub(super) fn fates(&self, nth: u64) -> Fates {
        let mut fates = Fates::default();
        let packets = 2 * u64::from(self.size) * u64::from(self.transfers) / 1_000 + 1_000;
        let (mut loss, mut late) = (self.dice.of("loss", nth), self.dice.of("late", nth));
        // The SYN-ACK and the ACK of the request are not affected.
        for number in 3..packets {
            if loss.unit() < self.loss {
                fates.lost.push(number);
            }
            if late.unit() < self.reordering {
                fates.late.push(number);
            }
        }
        fates
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, delay) = (f64::from(self.rate) / 1e3, f64::from(self.delay) / 1e3);
        let (control, queue) = (self.control.name(), self.queue);
        write!(f, "{control:<5} {rate:>5.1} Mb/s {delay:>5.1} ms {queue:>4} pkt")?;
        let kilobytes = f64::from(self.size) / 1e3;
        write!(f, " {} x {kilobytes:>6.0} KB", self.transfers)?;
        if self.transfers > 1 {
            write!(f, " idle {:>4} ms", self.idle)?;
        }
        if self.buffers == Buffers::Tuned {
            write!(f, " tuned")?;
        }
        if self.loss > 0.0 {
            write!(f, " loss {:.1} %", 100.0 * self.loss)?;
        }
        if self.reordering > 0.0 {
            let late = f64::from(self.lateness) / 1e3;
            write!(f, " {:.1} % late by {late:.0} ms", 100.0 * self.reordering)?;
        }
        Ok(())
    }
}

impl Control {
    /// As the kernel calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
        }
    }
}

impl Buffers {
    /// Bytes of [`Buffers::Stated`] (our choice).
    pub(super) const STATED: u32 = 8 << 20;
}

impl Class {
    pub(super) const ALL: [Self; 3] = [Self::NoLoss, Self::Loss, Self::Bbr];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NoLoss => "no loss",
            Self::Loss => "loss",
            Self::Bbr => "BBR",
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the ranges")]
fn whole(value: f64) -> u32 {
    value.round() as u32
}

/// Bytes of a request (our choice): one segment.
pub(super) const REQUEST: u32 = 200;
/// Bytes of a packet, and of its data: an MTU of 1500, and timestamps.
const PACKET: f64 = 1_500.0;
pub(super) const SEGMENT: f64 = 1_448.0;
/// Segments within this part of a packet's time on the link are back to back (our choice): less than BBR
/// paces at its highest gain, 2.89; more than the kernel takes to send a window's segments.
const BACK_TO_BACK_SHARE: u64 = 4;
/// Our choice: the initial window passes, and the ACK of the request before it. With 10, the microseconds
/// between the two decide in the kernel whether the tenth segment is dropped.
const LEAST_QUEUE: f64 = 12.0;
/// Our choice: more than the initial window.
const LEAST_PACKETS: f64 = 20.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_paths_and_every_class() {
        let draw = |seed| (0..60).map(move |number| Path::draw(seed, number));
        assert!(draw(3).eq(draw(3)));
        assert!(!draw(3).eq(draw(4)));
        for class in Class::ALL {
            assert!(draw(1).filter(|path| path.class() == class).count() >= 12, "{class:?}");
        }
        assert!(draw(1).any(|path| path.transfers > 1) && draw(1).any(|path| path.transfers == 1));
    }

    #[test]
    fn a_pattern_hits_its_share_and_is_the_same_each_time() {
        let path = Path { loss: 0.02, size: 10_000_000, ..Path::draw(1, 8) };
        let (fates, again, other) = (path.fates(0), path.fates(0), path.fates(1));
        assert_eq!(fates, again);
        assert_ne!(fates, other);
        let share = fates.lost.len() as f64 / (20_000.0 * f64::from(path.transfers));
        assert!((0.01..0.03).contains(&share), "{share}");
    }
}
