//! Whether a recovery was for nothing, so that it is taken back: by D-SACK or timestamps (`undo`), or by what an ACK
//! acknowledges after a timeout (`frto`).

use super::{
    Sender,
    episode::Episode,
    frto::{Frto, Progress},
    phase::Phase,
    undo::Undo,
};
use crate::{
    config::Config,
    congestion::Windows,
    policy::{FrtoPolicy, Policies, ReductionPolicy, UndoPolicy},
    segment::Segment,
    units::Instant,
};

impl Sender {
    /// A repair begins, or a timeout goes back: notes what there was.
    pub(super) fn begin_episode(&mut self, config: &Config) {
        let Policies { reduction, undo, frto, .. } = config.policies;
        let off = (ReductionPolicy::AtOnce, UndoPolicy::Off, FrtoPolicy::Off);
        if (reduction, undo, frto) == off {
            return;
        }
        let Windows { congestion, threshold } = self.windows();
        let threshold = match self.recovery.phase() {
            Phase::Fast(_) => threshold,
            // Linux `tcp_current_ssthresh`.
            _ => threshold.max(congestion / 4 * 3),
        };
        let from = (undo != UndoPolicy::Off).then_some(self.sequence.una());
        let before = Windows { congestion, threshold };
        self.recovery.remember(Episode::new(before, Undo::new(from)));
    }

    /// RFC 5682, section 2.1, step 1: a timeout that ends no other repair is put to the test, and so is one
    /// that repeats itself (section 3.2; Linux `tcp_enter_loss`).
    pub(super) fn test_timeout(&mut self, first: bool, config: &Config) {
        let tested = self.recovery.phase() == Phase::Open || !first;
        let applies = tested && config.policies.frto != FrtoPolicy::Off;
        let frto = Frto::new(self.sequence.una(), self.sequence.max());
        if let Some(episode) = self.recovery.episode_mut() {
            episode.test(applies.then_some(frto));
        }
    }

    /// Whether the SACK blocks of a segment show that nothing was lost, however far it acknowledges.
    pub(super) fn take_back_by_sack(&mut self, now: Instant) {
        let Some(episode) = self.recovery.episode() else { return };
        let spurious = match self.recovery.phase() {
            Phase::Open | Phase::Fast(_) => episode.undo().is_all_reported(),
            Phase::GoneBack | Phase::Forward => {
                episode.frto().is_some_and(Frto::is_original_sacked)
            }
        };
        if spurious {
            self.take_back(now);
        }
    }

    /// New data is acknowledged: takes the recovery back if nothing was lost, or puts its timeout to
    /// the test (Linux `tcp_try_undo_recovery`, `tcp_try_undo_partial`, `tcp_process_loss`).
    pub(super) fn detect_spurious(&mut self, progress: Progress, segment: &Segment, now: Instant) {
        let Some(episode) = self.recovery.episode() else { return };
        let echo = segment.options.timestamps.map(|clock| clock.echo);
        let una = progress.una;
        let done = una >= self.recovery.recover();
        let mut late_original = false;
        let spurious = match self.recovery.phase() {
            Phase::Open => false,
            Phase::Fast(_) if done => episode.undo().may_undo(echo),
            Phase::Fast(_) if episode.undo().is_late_original(echo) => {
                late_original = true;
                // What was sent again and is on its way would be taken for new data.
                una >= self.recovery.high_retransmitted()
            }
            Phase::Fast(_) => false,
            Phase::GoneBack | Phase::Forward => {
                let original = episode.frto().is_some_and(|it| match self.recovery.uses_sack() {
                    true => it.acknowledges_original(progress) && self.tells_of_sent_once(),
                    false => it.acknowledges_original_only(progress),
                });
                episode.undo().may_undo(echo) || original
            }
        };
        let tested = episode.frto().is_some();
        if late_original {
            self.in_flight.note_late_original(progress.from, self.sequence.mss());
        }
        if spurious {
            self.take_back(now);
        } else if !done && tested {
            self.test_further();
        }
    }

    /// Whether the ACK that is being taken acknowledges a segment that was sent once, as far as that is known.
    fn tells_of_sent_once(&self) -> bool {
        self.in_flight.news().is_none_or(|news| news.first_round_trip.is_some())
    }

    /// Linux `tcp_undo_cwnd_reduction`.
    fn take_back(&mut self, now: Instant) {
        let Some(episode) = self.recovery.episode_mut() else { return };
        episode.take_back();
        self.control.controller_mut().undo(episode.before());
        self.sequence.cwnd_use_mut().renew(now);
        if self.recovery.take_back() {
            self.sequence.skip_to_new();
        }
        if self.recovery.phase() != Phase::Open {
            // RACK looks again.
            if let Some(flight) = self.in_flight.list_mut() {
                flight.find();
            }
            self.recovery.end(self.sequence.una());
        }
    }

    /// RFC 5682, section 3.1, step 2b: the first retransmission is acknowledged, so new data leaves, if
    /// there is some. If that tells nothing, everything is sent again after all.
    fn test_further(&mut self) {
        let sequence = &mut self.sequence;
        let max = sequence.max();
        let receivable = sequence.una() + u64::from(sequence.window()) > max;
        if self.recovery.phase() == Phase::GoneBack && max < sequence.end() && receivable {
            self.recovery.go_forward(max);
            sequence.skip_to_new();
        } else {
            self.end_test();
        }
    }

    /// The timeout was no mistake (RFC 5682, section 3.1, step 3a).
    pub(super) fn end_test(&mut self) {
        if self.recovery.end_test(self.sequence.max()) && !self.detects_by_time() {
            self.sequence.rewind();
        }
    }
}
