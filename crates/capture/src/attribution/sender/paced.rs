//! What a sender's departures tell the record of pacing.

use ackwise_tcp::{Instant, Wait};

use super::{Gap, Loss, Nanos, PathDelays, SeenData, Sender};
use crate::attribution::{
    gap::Missing,
    pacing::{Pacing, Release, Sent},
};

impl Sender {
    /// What has let a segment go, as far as that shows whether it is paced.
    pub(super) fn released_by(
        &self,
        data: &SeenData,
        sent: Instant,
        gap: Option<&Gap>,
        delays: &PathDelays,
    ) -> Release {
        let (Some(gap), Some(last)) = (gap, &self.last) else { return Release::Other };
        if data.loss == Some(Loss::Repairs) || data.missing != Missing::Nothing {
            return Release::Repair;
        }
        let prompt = Release::prompt(delays.sender);
        if Nanos::between(last.sent, sent) <= prompt {
            return Release::Same;
        }
        let shut = matches!(gap.hold.wait, Wait::ReceiveWindow { .. });
        if shut || last.ended || data.answers.is_some() {
            return Release::Other;
        }
        let acked = self.latest.as_ref().filter(|it| it.at + prompt >= last.sent);
        if acked.is_some_and(|it| Nanos::between(it.at, sent) <= prompt) {
            return Release::Acknowledgement;
        }
        if self.flight() > 0 { Release::Timer } else { Release::Other }
    }

    /// A segment has left.
    pub(super) fn note_pacing(&mut self, data: &SeenData, sent: Instant, by: Release, delays: &PathDelays) {
        let acked = self.latest.as_ref().map(|it| (it.at, it.flight[1]));
        self.pacing.see(&Sent {
            at: sent,
            bytes: data.len(),
            full: data.full,
            flight: self.flight(),
            by,
            acked,
            round_trip: delays.round_trip,
            next_to_sender: delays.is_next_to_sender() && !delays.is_one_host(),
        });
    }

    /// How it spread its segments, if that shows.
    pub(crate) fn pacing(&self) -> Option<Pacing> {
        self.pacing.shown()
    }
}
