//! All that a decision on a segment may depend on, as it is known when the segment is seen.

use ackwise_tcp::Instant;

use super::{Arrived, Departure, Facts, Loss, Nanos, PathDelays, SeenData, Sender, Stall};
use crate::attribution::hold::{Lacks, Late};

impl Sender {
    /// Of `data`, which left at `sent`, after the data in `last` and the `latest` acknowledgement.
    #[inline(never)]
    pub(super) fn facts(
        &self,
        (last, latest): (&Departure, Option<&Arrived>),
        data: &SeenData,
        sent: Instant,
        delays: &PathDelays,
    ) -> Facts {
        let gap = Nanos::between(last.sent, sent);
        let flight = self.flight();
        // What was sent after the acknowledgement, in the same burst, is outstanding, too.
        let is_earlier = |it: &&Arrived| it.at <= last.sent && gap > delays.immediate;
        let flights = latest.filter(|it| !is_earlier(it)).map_or([flight, flight], |it| it.flight);
        // Several updates in a row may open a window: what it was before the first, held the data for as
        // long as the sender took to answer it is short beside that.
        let shut = self.opened.filter(|&(_, at)| Nanos::between(at, sent) * 4 <= gap);
        let since_ack = latest.map(|it| Nanos::between(it.at, sent));
        Facts {
            since_data: gap,
            by_stamps: self.by_stamps(last, data),
            since_ack,
            since_progress: self.progress_at.map(|at| Nanos::between(at, sent)),
            immediate: delays.immediate,
            bytes: data.len(),
            full: data.full,
            flight: flights,
            usable_window: shut.map(|it| it.0).or_else(|| latest.and_then(|it| it.usable_window)),
            least_window: latest.map_or(self.window.least, |it| it.least_window),
            sure_window: latest.map_or_else(|| self.window.sure(data.full), |it| it.sure_window),
            peak_before_idle: self.window.peak_before_idle,
            after_idle: self.window.after_idle,
            reach_before_idle: self.window.reach_before_idle,
            lossy: self.window.lossy,
            slow_start: self.window.slow_start,
            stays: self.window.stays(data.full),
            most_flight: self.most_flight,
            fills_receive_window: self.edge.is_some_and(|edge| data.bytes.end >= edge),
            round_trip: delays.round_trip,
            left_late: self.left_as_seen(last, data),
            small_acknowledged: latest.is_some_and(|it| it.small_acknowledged),
            sacked: latest.is_some_and(|it| it.sacks),
            pushed: last.pushed,
            ended: last.ended,
            forced: last.forced,
            may_miss_losses: delays.is_far_from_sender(),
            lost_before: data.lost_before,
            emptied_before: self.emptied,
            fills_same_buffer: self.fills_same_buffer(last, data),
            nagle: self.nagle.habit_after(gap, delays.immediate, since_ack),
            outstanding: self.left_with[0],
            since_room: self.room_at.map(|at| Nanos::between(at, sent)),
            window_was_full: self.left_with[0] + data.len() > self.left_with[1],
            // What the acknowledgement came with is what it answers.
            answers: data
                .answers
                .is_some_and(|it| latest.is_some_and(|ack| ack.packet <= it.packet)),
            follows_held: data.answers.is_none() && last.small && last.was_held_by_nagle(),
            behind_small: self.small_end > self.acked,
            loss: data.loss,
            fills_in_vain: data.loss == Some(Loss::Repairs) && self.is_known_to_fill_window(data),
            stall: Stall::None,
            kind: None,
            lacks: self.lacks(data),
            late: self.late(last, data, sent, latest, delays),
            without: self.without,
        }
    }

    /// All that was written had left with the data before, and filled a buffer as it did earlier.
    fn fills_same_buffer(&self, last: &Departure, data: &SeenData) -> bool {
        let left = self.left_with[0];
        // What a window holds of full segments is a multiple of one.
        let is_of_window = !last.ended && left.is_multiple_of(data.full.max(1));
        last.pushed && self.buffer.is_filled_by(left) && !is_of_window
    }

    fn lacks(&self, data: &SeenData) -> Lacks {
        Lacks {
            ack: self.lacks_ack,
            opening: self.lacks_ack && self.is_beyond_window(data),
            window: self.edge.is_none(),
        }
    }

    fn late(
        &self,
        last: &Departure,
        data: &SeenData,
        sent: Instant,
        latest: Option<&Arrived>,
        delays: &PathDelays,
    ) -> Late {
        let silent = latest.map(|ack| Nanos::between(last.arrives, ack.left));
        let slow = silent > Some((delays.round_trip / 2).max(Stall::LEAST));
        let silent = silent.filter(|it| *it > Stall::least(delays.round_trip));
        Late {
            slow,
            due_ack: self.lacks_what_it_should_have(data, sent, delays),
            silent,
            usual: silent
                .is_none_or(|it| !delays.is_far_from_receiver() || self.is_usual_delay(it)),
            may_have_arrived: self.may_be_in_vain(data, delays),
            sender_nearer: delays.sender_in_doubt,
            more_acks: !self.acks_in_flight.is_empty(),
            unexplained: self.unexplained(),
            by_link: self.may_be_busy_with_window()
                && Self::delayed_until(last, latest, delays).is_some()
                && latest.is_some_and(|it| it.flight[0] > 0),
        }
    }

    /// Until when the receiver delayed the acknowledgement of all that was sent before, if it did.
    pub(super) fn delayed_until(
        last: &Departure,
        latest: Option<&Arrived>,
        delays: &PathDelays,
    ) -> Option<Instant> {
        let of_all = latest.filter(|it| it.flight[1] == 0).map(|it| it.left);
        of_all.filter(|&left| Nanos::between(last.arrives, left) > delays.prompt_ack)
    }
}
