//! Whether a recovery was for nothing, so that it is taken back: by D-SACK or timestamps (`undo`), or by what an ACK
//! acknowledges after a timeout (`frto`).

use super::{
    episode::Episode,
    frto::{Frto, Progress},
    phase::Phase,
    recovery::Recovery,
    undo::Undo,
};
use crate::{
    congestion::{Expiry, Windows},
    policy::{FrtoPolicy, Policies, ReductionPolicy, UndoPolicy},
};

/// What an ACK of new data tells of the last recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judgement {
    /// It was for nothing.
    pub(crate) spurious: bool,
    /// A late original has filled the hole, and not what was sent again.
    pub(crate) late_original: bool,
    /// Neither, and the timeout that began it is put to the test.
    pub(crate) undecided: bool,
}

impl Recovery {
    /// A repair begins at `una`, or a timeout goes back there: notes what there was.
    pub(crate) fn begin_episode(&mut self, windows: Windows, una: u64, policies: &Policies) {
        let &Policies { reduction, undo, frto, .. } = policies;
        let off = (ReductionPolicy::AtOnce, UndoPolicy::Off, FrtoPolicy::Off);
        if (reduction, undo, frto) == off {
            return;
        }
        let Windows { congestion, threshold } = windows;
        let threshold = match self.phase() {
            Phase::Fast(_) => threshold,
            // Linux `tcp_current_ssthresh`.
            _ => threshold.max(congestion / 4 * 3),
        };
        let from = (undo != UndoPolicy::Off).then_some(una);
        self.remember(Episode::new(Windows { congestion, threshold }, Undo::new(from)));
    }

    /// RFC 5682, section 2.1, step 1: a timeout while `[una, max)` is outstanding that ends no other repair is put to
    /// the test, and so is one that repeats itself (section 3.2; Linux `tcp_enter_loss`).
    pub(crate) fn test_timeout(&mut self, expiry: Expiry, una: u64, max: u64, policy: FrtoPolicy) {
        let applies =
            (self.phase() == Phase::Open || expiry == Expiry::Again) && policy != FrtoPolicy::Off;
        if let Some(episode) = self.episode_mut() {
            episode.test(applies.then_some(Frto::new(una, max)));
        }
    }

    /// Whether the SACK blocks of a segment show that nothing was lost, however far it acknowledges.
    pub(crate) fn is_spurious_by_sack(&self) -> bool {
        self.episode().is_some_and(|episode| match self.phase() {
            Phase::Open | Phase::Fast(_) => episode.undo().is_all_reported(),
            Phase::GoneBack | Phase::Forward => {
                episode.frto().is_some_and(Frto::is_original_sacked)
            }
        })
    }

    /// What an ACK of new data that echoes this timestamp tells (Linux `tcp_try_undo_recovery`, `tcp_try_undo_partial`,
    /// `tcp_process_loss`), if a recovery is remembered. `sent_once` unless all the segments that it acknowledges are
    /// known to have been sent more than once.
    #[expect(clippy::fn_params_excessive_bools, reason = "a fact of the segments")]
    pub(crate) fn judge(
        &self,
        progress: Progress,
        echo: Option<u32>,
        sent_once: bool,
    ) -> Option<Judgement> {
        let episode = self.episode()?;
        let done = progress.una >= self.recover();
        let mut late_original = false;
        let spurious = match self.phase() {
            Phase::Open => false,
            Phase::Fast(_) if done => episode.undo().may_undo(echo),
            Phase::Fast(_) if episode.undo().is_late_original(echo) => {
                late_original = true;
                // What was sent again and is on its way would be taken for new data.
                progress.una >= self.high_retransmitted()
            }
            Phase::Fast(_) => false,
            Phase::GoneBack | Phase::Forward => {
                let original = episode.frto().is_some_and(|it| match self.uses_sack() {
                    true => it.acknowledges_original(progress) && sent_once,
                    false => it.acknowledges_original_only(progress),
                });
                episode.undo().may_undo(echo) || original
            }
        };
        let undecided = !spurious && !done && episode.frto().is_some();
        Some(Judgement { spurious, late_original, undecided })
    }
}
