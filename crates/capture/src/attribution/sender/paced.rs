//! What a sender's departures tell the record of pacing.

use super::{Gap, Loss, Nanos, PathDelays, SeenData, Sender};
use crate::attribution::{
    gap::Missing,
    pacing::{Pacing, Release, Sent},
};

impl Sender {
    /// What has let a segment go, as far as that shows whether it is paced. Only what was captured counts: a
    /// rate that was learned of the path may be the sender's.
    pub(super) fn released_by(
        &self,
        data: &SeenData,
        gap: Option<&Gap>,
        delays: &PathDelays,
    ) -> Release {
        let (Some(gap), Some(last)) = (gap, &self.last) else { return Release::Other };
        if data.loss == Some(Loss::Repairs) || data.missing != Missing::Nothing {
            return Release::Repair;
        }
        if Nanos::between(last.seen, data.seen) <= Release::PROMPT {
            return Release::Same;
        }
        let shut = gap.hold.waits_for_receiver();
        if shut || last.ended || data.answers.is_some() {
            return Release::Other;
        }
        let since_ack = self.pacing.heard().map(|heard| Nanos::between(heard, data.seen));
        let is_prompt = since_ack.is_some_and(|since| since <= Release::prompt(delays));
        let latest = self.latest.as_ref().map(|it| Nanos::between(it.at, gap.until));
        match self.flight() {
            _ if is_prompt => Release::Acknowledgement,
            1.. => Release::Timer,
            // All was acknowledged, and perhaps just now.
            0 if latest.is_some_and(|since| since <= delays.immediate) => Release::Acknowledgement,
            0 => Release::Other,
        }
    }

    /// A segment has left.
    pub(super) fn note_pacing(&mut self, data: &SeenData, by: Release, delays: &PathDelays) {
        // When what answers it would have been captured.
        let acked = self.latest.as_ref().map(|it| (it.at + delays.sender, it.flight[1]));
        self.pacing.see(&Sent {
            at: data.seen,
            bytes: data.len(),
            full: data.full,
            flight: self.flight(),
            by,
            acked,
            round_trip: delays.round_trip,
            at_sender: delays.sender <= Release::NEAR
                && delays.is_next_to_sender()
                && !delays.is_one_host(),
        });
    }

    /// Bytes that the record of pacing takes in memory, about.
    pub(crate) fn held(&self) -> usize {
        self.pacing.held()
    }

    /// How it spread its segments, if that shows.
    pub(crate) fn pacing(&self) -> Option<Pacing> {
        self.pacing.shown()
    }
}
