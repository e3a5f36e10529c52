//! Data that was sent again, and what an acknowledgement shows of the copies.

use std::ops::Range;

use ackwise_cause::{Direction, RepairedBy};
use ackwise_tcp::Instant;

use super::Sender;
use crate::attribution::{Acknowledgement, Distances, Nanos, later::Resolution, path::PathDelays};

/// Data that was sent again.
#[derive(Clone, Debug)]
pub(super) struct Again {
    pub packet: u64,
    pub seen: Instant,
    pub bytes: Range<u64>,
    pub by: RepairedBy,
    pub timestamp: Option<u32>,
    /// An acknowledgement came that does not show of which copy.
    pub acked: bool,
    /// Before that, one came of earlier data: that was still on its way when this was sent again.
    pub came_before: bool,
}

impl Again {
    /// A timer sent it, and the acknowledgement of it tells of a hole before it: that was lost.
    pub(super) fn probes_hole(&self, ack: &Acknowledgement) -> bool {
        self.by == RepairedBy::Timeout && ack.sacks && ack.acked < self.bytes.start
    }

    /// Takes note of an acknowledgement of earlier data, which tells of no hole.
    pub(super) const fn note_earlier(&mut self, ack: &Acknowledgement, acked_before: u64) {
        self.came_before |= ack.acked > acked_before && ack.acked < self.bytes.start && !ack.sacks;
    }

    /// RFC 3522 (Eifel): whether what is acknowledged is an earlier copy, by the timestamp that is echoed.
    /// Data before it could have been acknowledged instead if that was not yet (RFC 7323, section 4.3).
    pub(super) fn is_of_earlier_copy(
        &self,
        ack: &Acknowledgement,
        acked_before: u64,
    ) -> Option<bool> {
        let (sent, echo) = self.timestamp.zip(ack.echo)?;
        (acked_before >= self.bytes.start).then(|| sent.wrapping_sub(echo).cast_signed() > 0)
    }
}

/// What the first acknowledgement of data that was sent again shows of its copies.
#[derive(Clone, Copy, Debug)]
struct Copies {
    /// It acknowledges an earlier copy, or the later one, by the timestamp that it echoes.
    of_earlier: Option<bool>,
    /// It comes too soon to be for the later one; or as soon as that can be.
    too_soon: bool,
    prompt: bool,
    /// It reports that the data arrived twice.
    twice: bool,
    /// A timer had sent it again.
    by_timer: bool,
    /// All of it had been acknowledged before.
    acknowledged: bool,
    /// The receive window has no room for more.
    leaves_no_room: bool,
    /// The receiver is far; what had been sent before was still on its way when this was sent again.
    is_far: bool,
    came_before: bool,
    /// A packet of the receiver is missing before the data that it comes with.
    answer_lost: bool,
    /// It is the first data of a connection. Where it was captured: next to the receiver, and not to both.
    first: bool,
    at_receiver: bool,
    one_host: bool,
}

impl Copies {
    /// What happened to them, if that shows.
    fn resolution(&self) -> Option<Resolution> {
        let of_earlier = self.of_earlier.unwrap_or(self.too_soon);
        // If it arrived twice, no acknowledgement of the first copy came before, and this one echoes what
        // the first brought (RFC 7323, section 4.3). If this came late, too, the path held both copies.
        let held = self.is_far && !self.prompt && self.by_timer;
        // The path held what had been sent before, and so this, which was sent with it.
        let held_with_earlier = held && self.came_before && self.of_earlier.is_none();
        let in_vain = if self.twice { held } else { of_earlier || held_with_earlier };
        Some(match () {
            () if (of_earlier || self.acknowledged) && self.leaves_no_room => {
                Resolution::WindowClosed
            }
            () if in_vain && self.answer_lost => Resolution::AnswerLost,
            () if in_vain => Resolution::Spurious,
            () if self.twice => Resolution::AckLost,
            () if !self.prompt && self.of_earlier.is_none() => return None,
            () if !self.first => Resolution::Confirmed,
            // Between two hosts that are so near, a client's capture looks the same.
            () if self.at_receiver => {
                Resolution::Refused { sure: self.of_earlier == Some(false) && !self.one_host }
            }
            () => Resolution::OrRefused,
        })
    }
}

impl Sender {
    /// What was sent again is acknowledged: what that shows of it. `duplicate`: it reports that something arrived twice.
    pub(super) fn resolve(
        &mut self,
        again: Again,
        ack: &Acknowledgement,
        acked_before: u64,
        duplicate: bool,
        direction: Direction,
        distances: &mut Distances,
    ) -> Option<Resolution> {
        let delays = *distances.path_delays(direction);
        let (receiver, is_far) = (delays.receiver, delays.is_far_from_receiver());
        let of_earlier = again.is_of_earlier_copy(ack, acked_before);
        let took = Nanos::between(again.seen, ack.seen);
        if of_earlier == Some(false) {
            distances.limit(direction, took);
        }
        let by_timer = again.by == RepairedBy::Timeout;
        let copies = Copies {
            of_earlier,
            too_soon: is_far && took < receiver * 2 * 3 / 4,
            prompt: took <= receiver * 2 * 5 / 4 + delays.prompt_ack,
            twice: duplicate,
            by_timer,
            acknowledged: acked_before >= again.bytes.end,
            leaves_no_room: self.leaves_no_room(ack),
            is_far,
            came_before: again.came_before,
            answer_lost: ack.lost_before,
            first: direction == Direction::ToServer
                && by_timer
                && acked_before == 0
                && self.window.initial > 0,
            at_receiver: delays.is_next_to_receiver(),
            one_host: delays.is_one_host(),
        };
        let resolution = copies.resolution();
        match resolution {
            Some(Resolution::WindowClosed | Resolution::Spurious) => {
                let known = resolution == Some(Resolution::WindowClosed) || by_timer;
                self.in_vain = Some(again.packet).filter(|_| known);
                self.recover = None;
            }
            Some(_) => {}
            None => self.again = Some(Again { acked: true, ..again }),
        }
        resolution
    }

    /// What was sent again is acknowledged. If it then is reported to have arrived twice, that was the
    /// acknowledgement of the first copy: nothing had been lost.
    pub(crate) fn hear_after_acknowledgement(
        &mut self,
        duplicate: bool,
        delays: &PathDelays,
    ) -> Option<Resolution> {
        let again = self.again.take_if(|again| again.acked)?;
        let is_far = delays.is_far_from_receiver();
        if !duplicate || !is_far || again.by != RepairedBy::Timeout {
            return None;
        }
        (self.in_vain, self.recover) = (Some(again.packet), None);
        Some(Resolution::Spurious)
    }

    /// Nothing is outstanding, and the receiver reports that something arrived twice: if it is what was sent again, the
    /// acknowledgement of the first copy was lost, which the capture has.
    pub(crate) fn hear_duplicate(&mut self, delays: &PathDelays) -> Option<Resolution> {
        let late = self.hear_after_acknowledgement(true, delays);
        late.or_else(|| self.again.take().map(|_| Resolution::AckLost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::Nanos;

    #[test]
    fn the_echoed_timestamp_tells_which_copy_was_acknowledged() {
        // The first copy left at 100, the second at 300.
        for (sent, echo, acked_before, earlier) in [
            (Some(300), Some(100), 1_000, Some(true)),
            (Some(300), Some(300), 1_000, Some(false)),
            (Some(300), Some(310), 1_000, Some(false)),
            (Some(5), Some(u32::MAX), 1_000, Some(true)),
            // Data before it was not acknowledged yet: its timestamp may be the one echoed.
            (Some(300), Some(100), 999, None),
            (None, Some(100), 1_000, None),
            (Some(300), None, 1_000, None),
        ] {
            let (packet, seen, bytes, by) = (1, Instant::EPOCH, 1_000..2_000, RepairedBy::Timeout);
            let (timestamp, acked, came_before) = (sent, false, false);
            let again = Again { packet, seen, bytes, by, timestamp, acked, came_before };
            let (acked, edge, sacks) = (2_000, None, false);
            let ack = Acknowledgement {
                packet: 2,
                seen,
                acked,
                edge,
                stamp: None,
                echo,
                sacks,
                is_pure: true,
                held: Nanos::ZERO,
                lost_before: false,
                unread: false,
            };
            let found = again.is_of_earlier_copy(&ack, acked_before);
            assert_eq!(found, earlier, "{sent:?} {echo:?} {acked_before}");
        }
    }

    /// A timer sent it again, and an acknowledgement came as soon as one of that can.
    const COPIES: Copies = Copies {
        of_earlier: None,
        too_soon: false,
        prompt: true,
        twice: false,
        by_timer: true,
        acknowledged: false,
        leaves_no_room: false,
        is_far: true,
        came_before: false,
        answer_lost: false,
        first: false,
        at_receiver: false,
        one_host: false,
    };

    #[track_caller]
    fn check(rows: &[(&str, Copies, Option<Resolution>)]) {
        for (why, copies, resolution) in rows {
            assert_eq!(copies.resolution(), *resolution, "{why}");
        }
    }

    #[test]
    fn an_earlier_copy_had_arrived_if_its_timestamp_or_the_time_says_so() {
        use Resolution::{AnswerLost, Confirmed, Spurious, WindowClosed};
        let echo = |earlier| Copies { of_earlier: Some(earlier), ..COPIES };
        let soon = Copies { too_soon: true, ..COPIES };
        let no_room = |copies| Copies { leaves_no_room: true, ..copies };
        let lost = |copies| Copies { answer_lost: true, ..copies };
        check(&[
            ("as soon as that can be", COPIES, Some(Confirmed)),
            ("later", Copies { prompt: false, ..COPIES }, None),
            ("later, but it echoes this", Copies { prompt: false, ..echo(false) }, Some(Confirmed)),
            ("it echoes the earlier", echo(true), Some(Spurious)),
            ("too soon", soon, Some(Spurious)),
            ("but it echoes this", Copies { too_soon: true, ..echo(false) }, Some(Confirmed)),
            ("too soon, and no more may leave", no_room(soon), Some(WindowClosed)),
            ("no more may leave", no_room(COPIES), Some(Confirmed)),
            (
                "all was acknowledged before",
                no_room(Copies { acknowledged: true, ..COPIES }),
                Some(WindowClosed),
            ),
            ("but more may leave", Copies { acknowledged: true, ..COPIES }, Some(Confirmed)),
            ("too soon, and what it comes with was lost", lost(soon), Some(AnswerLost)),
            ("what it comes with was lost", lost(COPIES), Some(Confirmed)),
        ]);
    }

    #[test]
    fn the_path_held_what_a_timer_sent_again_if_the_acknowledgement_is_late_and_more_shows_it() {
        use Resolution::{AckLost, Confirmed, Spurious};
        let late = Copies { prompt: false, ..COPIES };
        let behind = Copies { came_before: true, ..late };
        let twice = Copies { twice: true, ..late };
        check(&[
            ("behind one of earlier data", behind, Some(Spurious)),
            ("in time", Copies { prompt: true, ..behind }, Some(Confirmed)),
            ("by an acknowledgement", Copies { by_timer: false, ..behind }, None),
            ("to a receiver that is near", Copies { is_far: false, ..behind }, None),
            ("it echoes this", Copies { of_earlier: Some(false), ..behind }, Some(Confirmed)),
            ("both arrived", twice, Some(Spurious)),
            ("both, and soon", Copies { prompt: true, ..twice }, Some(AckLost)),
            ("both, by an acknowledgement", Copies { by_timer: false, ..twice }, Some(AckLost)),
            ("both, and near", Copies { is_far: false, ..twice }, Some(AckLost)),
            (
                "both, and too soon for the later",
                Copies { too_soon: true, prompt: true, ..twice },
                Some(AckLost),
            ),
        ]);
    }

    #[test]
    fn the_first_data_of_a_connection_may_have_been_refused() {
        use Resolution::{OrRefused, Refused};
        let first = Copies { first: true, ..COPIES };
        let here = Copies { at_receiver: true, of_earlier: Some(false), ..first };
        check(&[
            ("far away, both are common", first, Some(OrRefused)),
            ("next to the server, it is shown", here, Some(Refused { sure: true })),
            (
                "without timestamps",
                Copies { of_earlier: None, ..here },
                Some(Refused { sure: false }),
            ),
            ("on one host", Copies { one_host: true, ..here }, Some(Refused { sure: false })),
        ]);
    }

    #[test]
    fn an_acknowledgement_of_earlier_data_or_of_a_hole_is_told_from_others() {
        let ack = |acked, sacks| Acknowledgement {
            packet: 2,
            seen: Instant::EPOCH,
            acked,
            edge: None,
            stamp: None,
            echo: None,
            sacks,
            is_pure: true,
            held: Nanos::ZERO,
            lost_before: false,
            unread: false,
        };
        for (acked, sacks, by, earlier, hole) in [
            (501, false, RepairedBy::Timeout, true, false),
            (500, false, RepairedBy::Timeout, false, false),
            (999, false, RepairedBy::Timeout, true, false),
            (1_000, false, RepairedBy::Timeout, false, false),
            (999, true, RepairedBy::Timeout, false, true),
            (1_000, true, RepairedBy::Timeout, false, false),
            (999, true, RepairedBy::Recovery, false, false),
        ] {
            let (packet, seen, bytes, timestamp) = (1, Instant::EPOCH, 1_000..2_000, None);
            let (acked_later, came_before) = (false, false);
            let mut again =
                Again { packet, seen, bytes, by, timestamp, acked: acked_later, came_before };
            again.note_earlier(&ack(acked, sacks), 500);
            assert_eq!(again.came_before, earlier, "{acked} {sacks}");
            assert_eq!(again.probes_hole(&ack(acked, sacks)), hole, "{acked} {sacks} {by:?}");
        }
    }
}
