//! How much of a connection a capture has, and how that limits the confidence of verdicts.
//!
//! Data that was acknowledged but never captured was delivered: the capture lost it, not the network.

use ackwise_cause::{Cause, Direction};

use crate::attribution::Confidence;

/// What a capture has of one direction of a connection.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct DirectionQuality {
    // In 32 bits, as a capture may list many connections: no connection has more packets.
    /// Packets that were captured.
    pub packets: u32,
    /// Bytes that were captured or are known to be missing.
    pub bytes: u64,
    /// Bytes that were acknowledged but never captured.
    pub missing_bytes: u64,
    /// The number of packets that held these, at least.
    pub missing_packets: u32,
    /// Packets whose data was captured only in part.
    pub cut: u32,
    /// Packets with more data than a segment may have: captured on a host whose network interface divides
    /// what it sends or joins what it receives.
    pub oversized: u32,
    /// ACKs without data.
    pub pure_acks: u32,
    /// The other end sent more at once than a receiver may leave unacknowledged, and no ACK without data
    /// was captured.
    pub lacks_acks: bool,
}

/// What a capture has of a connection.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Quality {
    /// By direction: to the server, to the client.
    pub directions: [DirectionQuality; 2],
    /// How often the capture's clock was set back.
    pub clock_steps: u32,
    /// The first packet is no SYN: the capture began after the connection.
    pub begins_in_middle: bool,
    /// Its packets are in two of the files that were read.
    pub in_two_captures: bool,
    /// HTTP/2 flow control may have held data, and the capture lacks the frames that would show it.
    pub flow_control_unseen: bool,
}

impl Quality {
    /// Fewer missing packets affect only the time around them. Our choice.
    const FEW_MISSING: u64 = 3;
    /// If one byte in this many is missing, no verdict has high confidence. Our choice.
    const SOME: u64 = 100;
    /// If one byte in this many is missing, every verdict has low confidence. Our choice.
    const MANY: u64 = 10;
    /// Full segments that a receiver must have acknowledged: twice what RFC 5681, section 4.2, allows.
    const UNACKNOWLEDGED: u64 = 4;

    /// One packet may be missing by accident, data of its end among them. Our choice.
    const SEVERAL_UNHEARD: u64 = 3;

    /// The direction without any captured packet, if the other has data.
    #[must_use]
    pub fn unseen(&self) -> Option<Direction> {
        let [to_server, to_client] = &self.directions;
        match (to_server.packets, to_client.packets) {
            (0, _) if to_client.bytes > 0 => Some(Direction::ToServer),
            (_, 0) if to_server.bytes > 0 => Some(Direction::ToClient),
            _ => None,
        }
    }

    /// The minimum number of packets that were delivered but not captured.
    #[must_use]
    pub fn missing_packets(&self) -> u64 {
        self.directions.iter().map(|it| u64::from(it.missing_packets)).sum()
    }

    /// Whether the ACKs of an end are missing.
    #[must_use]
    pub fn lacks_acks(&self) -> bool {
        self.directions.iter().any(|it| it.lacks_acks)
    }

    /// The highest confidence that a verdict on the connection can have; `None` if nothing can be
    /// attributed.
    #[must_use]
    pub fn confidence(&self) -> Option<Confidence> {
        if self.unseen().is_some() {
            return None;
        }
        let lacks = |one_in: u64| {
            self.missing_packets() >= Self::FEW_MISSING
                && self
                    .directions
                    .iter()
                    .any(|it| it.missing_bytes.saturating_mul(one_in) >= it.bytes.max(1))
        };
        let is_wrong = self.clock_steps > 0 || self.in_two_captures;
        Some(if self.lacks_acks() || is_wrong || lacks(Self::MANY) {
            Confidence::Low
        } else if lacks(Self::SOME) {
            Confidence::Medium
        } else {
            Confidence::High
        })
    }

    /// The highest confidence that a verdict with this cause can have; `None` if the capture lacks what
    /// would show it.
    pub(crate) fn supports(&self, cause: Cause, direction: Direction) -> Option<Confidence> {
        let acks = &self.directions[direction.opposite() as usize];
        self.confidence().filter(|_| !acks.lacks_acks || !depends_on_acks(cause))
    }

    /// Adds what another capture of the same connection has.
    pub fn join(&mut self, others: &Self) {
        for (joined, other) in self.directions.iter_mut().zip(others.directions) {
            let DirectionQuality {
                packets,
                bytes,
                missing_bytes,
                missing_packets,
                cut,
                oversized,
                pure_acks,
                lacks_acks,
            } = other;
            joined.packets = joined.packets.saturating_add(packets);
            joined.bytes += bytes;
            joined.missing_bytes += missing_bytes;
            joined.missing_packets = joined.missing_packets.saturating_add(missing_packets);
            joined.cut = joined.cut.saturating_add(cut);
            joined.oversized = joined.oversized.saturating_add(oversized);
            joined.pure_acks = joined.pure_acks.saturating_add(pure_acks);
            joined.lacks_acks |= lacks_acks;
        }
        self.clock_steps = self.clock_steps.saturating_add(others.clock_steps);
        self.begins_in_middle |= others.begins_in_middle;
        self.in_two_captures |= others.in_two_captures;
        self.flow_control_unseen |= others.flow_control_unseen;
    }
}

impl DirectionQuality {
    /// Records that the other end sent at most `longest_run` bytes between two packets of this one; full
    /// segments have `full` bytes.
    pub(crate) fn note_longest_run(&mut self, longest_run: u64, full: u64) {
        self.lacks_acks = self.packets > 0
            && self.pure_acks == 0
            && full > 0
            && longest_run > full * Quality::UNACKNOWLEDGED;
    }

    /// Records how often the other end echoed the timestamp of a packet that was not captured.
    pub(crate) const fn note_unheard(&mut self, times: u64) {
        self.lacks_acks |=
            self.packets > 0 && self.pure_acks == 0 && times >= Quality::SEVERAL_UNHEARD;
    }
}

/// Whether only ACKs show that a sender waited for this.
const fn depends_on_acks(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::ShortInitialSegment
            | Cause::NagleDelayedAck
            | Cause::NagleRtt
            | Cause::CorkTimer
            | Cause::SillyWindow
            | Cause::SlowStart
            | Cause::CongestionWindow
            | Cause::IdleRestart
            | Cause::Pacing
            | Cause::ReceiveWindow
            | Cause::SendBuffer
            | Cause::ApplicationLimited
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: DirectionQuality = DirectionQuality {
        packets: 100,
        bytes: 100_000,
        missing_bytes: 0,
        missing_packets: 0,
        cut: 0,
        oversized: 0,
        pure_acks: 50,
        lacks_acks: false,
    };

    #[test]
    fn what_a_capture_lacks_limits_the_confidence_in_its_verdicts() {
        use Confidence::{High, Low, Medium};
        let missing = |missing_bytes, missing_packets| DirectionQuality {
            missing_bytes,
            missing_packets,
            ..WHOLE
        };
        let absent = DirectionQuality::default();
        for (why, one, limit) in [
            ("all is there", WHOLE, Some(High)),
            ("two packets", missing(50_000, 2), Some(High)),
            ("few bytes", missing(999, 3), Some(High)),
            ("one in a hundred", missing(1_000, 3), Some(Medium)),
            ("nearly one in ten", missing(9_999, 7), Some(Medium)),
            ("one in ten", missing(10_000, 7), Some(Low)),
            ("no ACK", DirectionQuality { lacks_acks: true, ..WHOLE }, Some(Low)),
            ("cut packets say what they say", DirectionQuality { cut: 99, ..WHOLE }, Some(High)),
            ("nothing of one direction", absent, None),
        ] {
            for directions in [[one, WHOLE], [WHOLE, one]] {
                let quality = Quality { directions, ..Quality::default() };
                assert_eq!(quality.confidence(), limit, "{why}");
            }
        }
        let whole = Quality { directions: [WHOLE; 2], ..Quality::default() };
        let set_back = Quality { clock_steps: 1, ..whole };
        assert_eq!(set_back.confidence(), Some(Low), "its durations are wrong");
        let twice = Quality { in_two_captures: true, ..whole };
        assert_eq!(twice.confidence(), Some(Low), "copies look like retransmissions");
    }

    #[test]
    fn without_the_receivers_acks_nothing_is_known_of_the_senders_waits() {
        use Direction::{ToClient, ToServer};
        let none = DirectionQuality { lacks_acks: true, ..WHOLE };
        let quality = Quality { directions: [none, WHOLE], ..Quality::default() };
        for (cause, direction, supported) in [
            (Cause::Pacing, ToClient, None),
            (Cause::Pacing, ToServer, Some(Confidence::Low)),
            (Cause::ServerThink, ToClient, Some(Confidence::Low)),
            (Cause::LossRecovery, ToClient, Some(Confidence::Low)),
        ] {
            assert_eq!(quality.supports(cause, direction), supported, "{cause} {direction:?}");
        }
        let directions = [WHOLE, DirectionQuality::default()];
        let quality = Quality { directions, ..Quality::default() };
        assert_eq!(quality.supports(Cause::ServerThink, ToClient), None);
    }

    #[test]
    fn a_direction_is_unseen_if_the_other_has_data() {
        let absent = DirectionQuality::default();
        let syn = DirectionQuality { packets: 1, ..absent };
        for (directions, unseen) in [
            ([WHOLE, WHOLE], None),
            ([absent, WHOLE], Some(Direction::ToServer)),
            ([WHOLE, absent], Some(Direction::ToClient)),
            ([syn, absent], None),
            ([absent, absent], None),
        ] {
            let quality = Quality { directions, ..Quality::default() };
            assert_eq!(quality.unseen(), unseen, "{directions:?}");
        }
    }

    #[test]
    fn acks_are_missing_if_the_other_end_echoes_what_nobody_saw() {
        for (why, pure_acks, times, lacks) in
            [("twice", 0, 2, false), ("three times", 0, 3, true), ("one was captured", 1, 9, false)]
        {
            let mut direction = DirectionQuality { pure_acks, ..WHOLE };
            direction.note_unheard(times);
            assert_eq!(direction.lacks_acks, lacks, "{why}");
        }
    }

    #[test]
    fn acks_are_missing_where_a_receiver_must_have_sent_some() {
        let none = DirectionQuality { pure_acks: 0, ..WHOLE };
        for (why, direction, run, full, lacks) in [
            ("four full segments", none, 4_000, 1_000, false),
            ("more", none, 4_001, 1_000, true),
            ("there is one", DirectionQuality { pure_acks: 1, ..none }, 9_000, 1_000, false),
            ("nobody knows how long they are", none, 9_000, 0, false),
            (
                "nothing at all was seen",
                DirectionQuality { packets: 0, ..none },
                9_000,
                1_000,
                false,
            ),
        ] {
            let mut direction = direction;
            direction.note_longest_run(run, full);
            assert_eq!(direction.lacks_acks, lacks, "{why}");
        }
    }
}
