//! What a recovery remembers beside the scoreboard: how far its window has come down (PRR), what it may
//! take back (undo), and whether its timeout was spurious (F-RTO).
//!
//! It takes a pointer in an endpoint that has lost nothing, or whose policies have none of it.

use alloc::boxed::Box;

use super::Endpoint;
use crate::{
    congestion::{Repair, Windows},
    policy::{FrtoPolicy, Policies, Reducing, ReductionPolicy, UndoPolicy},
    segment::Segment,
    send::phase::Phase,
    seq::SeqNumber,
    timestamp::timestamp,
    units::Instant,
};

/// One recovery, and what may still be learnt about it afterwards.
#[derive(Clone, Debug)]
pub(super) struct Episode {
    /// cwnd and ssthresh before (Linux `prior_cwnd`, `prior_ssthresh`).
    before: Windows,
    /// SND.UNA when it began (`undo_marker`), until it is taken back.
    undo_from: Option<u64>,
    /// When the first retransmission left, on the timestamp clock (`retrans_stamp`).
    sent_again_at: Option<u32>,
    /// Bytes sent again that no D-SACK has reported (`undo_retrans`).
    unreported: u64,
    /// prr_delivered and prr_out of RFC 9937, in bytes.
    delivered: u64,
    out: u64,
    /// The end of what was lost when the window was last computed.
    lost_end: u64,
    /// A timeout that is put to the test.
    test: Option<Test>,
}

/// A timeout that may have been spurious (RFC 5682).
#[derive(Clone, Copy, Debug)]
struct Test {
    /// What was sent again since ends here.
    again_to: u64,
    /// What was sent before ends here.
    sent_to: u64,
    /// Data in between was SACKed, though it was sent only once.
    original_sacked: bool,
}

impl Episode {
    /// Whether the ACK that echoes this timestamp was caused by the original of what was sent again
    /// (Linux `tcp_packet_delayed`).
    fn is_delayed(&self, echo: Option<u32>) -> bool {
        let Some(first) = self.sent_again_at else { return true };
        echo.is_some_and(|echo| SeqNumber(echo).precedes(SeqNumber(first)))
    }

    /// Whether all that was sent again arrived twice.
    fn is_all_reported(&self) -> bool {
        self.undo_from.is_some() && self.sent_again_at.is_some() && self.unreported == 0
    }

    /// Linux `tcp_may_undo`.
    fn may_undo(&self, echo: Option<u32>) -> bool {
        self.undo_from.is_some() && (self.is_all_reported() || self.is_delayed(echo))
    }

    /// A segment with these bytes has left, which counts as `least` at least: where packets are counted, as a full one.
    pub(super) fn on_sent(&mut self, start: u64, end: u64, again: bool, least: u32, now: Instant) {
        let bytes = end - start;
        self.out += bytes.max(least.into());
        if again {
            self.sent_again_at.get_or_insert_with(|| timestamp(now));
            self.unreported += bytes;
            if let Some(test) = &mut self.test {
                test.again_to = test.again_to.max(end);
            }
        }
    }

    /// A D-SACK (RFC 2883) reports `[left, right)`.
    pub(super) fn on_duplicate(&mut self, left: u64, right: u64) {
        if self.undo_from.is_some_and(|from| from <= left) {
            self.unreported = self.unreported.saturating_sub(right - left);
        }
    }

    /// A SACK block that begins at `left` has told something new.
    pub(super) fn on_sacked(&mut self, left: u64) {
        if let Some(test) = &mut self.test {
            test.original_sacked |= test.again_to <= left && left < test.sent_to;
        }
    }
}

/// What an ACK has done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Bytes that it acknowledges for the first time, by its number.
    pub(super) bytes: u32,
    /// The part of them that was not SACKed before.
    pub(super) fresh: u64,
}

impl Endpoint {
    /// A repair begins, or a timeout goes back: notes what there was.
    pub(super) fn begin_episode(&mut self) {
        let Policies { reduction, undo, frto, .. } = self.config.policies;
        let off = (ReductionPolicy::AtOnce, UndoPolicy::Off, FrtoPolicy::Off);
        if (reduction, undo, frto) == off {
            return;
        }
        let Windows { congestion, threshold } = self.windows();
        let threshold = match self.recovery.phase {
            Phase::Fast(_) => threshold,
            // Linux `tcp_current_ssthresh`.
            _ => threshold.max(congestion / 4 * 3),
        };
        let episode = Episode {
            before: Windows { congestion, threshold },
            undo_from: (undo != UndoPolicy::Off).then_some(self.sender.una),
            sent_again_at: None,
            unreported: 0,
            delivered: 0,
            out: 0,
            lost_end: 0,
            test: None,
        };
        match &mut self.recovery.episode {
            Some(kept) => **kept = episode,
            none => *none = Some(Box::new(episode)),
        }
    }

    /// RFC 5682, section 2.1, step 1: a timeout that ends no other repair is put to the test, and so is one
    /// that repeats itself (section 3.2; Linux `tcp_enter_loss`).
    pub(super) fn test_timeout(&mut self, first: bool) {
        let tested = self.recovery.phase == Phase::Open || !first;
        let applies = tested && self.config.policies.frto != FrtoPolicy::Off;
        let (una, max) = (self.sender.una, self.sender.max);
        if let Some(episode) = &mut self.recovery.episode {
            let test = Test { again_to: una, sent_to: max, original_sacked: false };
            episode.test = applies.then_some(test);
        }
    }

    /// Whether the SACK blocks of a segment show that nothing was lost, however far it acknowledges.
    pub(super) fn take_back_by_sack(&mut self, now: Instant) {
        let Some(episode) = self.recovery.episode.as_deref() else { return };
        let spurious = match self.recovery.phase {
            Phase::Open | Phase::Fast(_) => episode.is_all_reported(),
            Phase::GoneBack | Phase::Forward => episode.test.is_some_and(|it| it.original_sacked),
        };
        if spurious {
            self.take_back(now);
        }
    }

    /// New data is acknowledged: takes the recovery back if nothing was lost, or puts its timeout to
    /// the test (Linux `tcp_try_undo_recovery`, `tcp_try_undo_partial`, `tcp_process_loss`).
    pub(super) fn question(&mut self, progress: Progress, segment: &Segment, now: Instant) {
        let Some(episode) = self.recovery.episode.as_deref() else { return };
        let echo = segment.options.timestamps.map(|clock| clock.echo);
        let una = self.sender.una;
        let done = una >= self.recovery.recover;
        let mut late_original = false;
        let spurious = match self.recovery.phase {
            Phase::Open => false,
            Phase::Fast(_) if done => episode.may_undo(echo),
            Phase::Fast(_) if episode.undo_from.is_some() && episode.is_delayed(echo) => {
                late_original = true;
                // What was sent again and is on its way would be taken for new data.
                una >= self.recovery.high_retransmitted
            }
            Phase::Fast(_) => false,
            Phase::GoneBack | Phase::Forward => {
                let original = match self.receiver.sequence().uses_sack() {
                    true => {
                        episode.acknowledges_original(una, progress) && self.tells_of_sent_once()
                    }
                    false => episode.acknowledges_original_only(una, progress),
                };
                episode.may_undo(echo) || original
            }
        };
        let tested = episode.test.is_some();
        if late_original {
            self.note_late_original(una - u64::from(progress.bytes));
        }
        if spurious {
            self.take_back(now);
        } else if !done && tested {
            self.test_further();
        }
    }

    /// Whether the ACK that is being taken acknowledges a segment that was sent once, as far as that is known.
    fn tells_of_sent_once(&self) -> bool {
        self.news().is_none_or(|news| news.first_round_trip.is_some())
    }

    /// Linux `tcp_undo_cwnd_reduction`.
    fn take_back(&mut self, now: Instant) {
        let Some(episode) = self.recovery.episode.as_deref_mut() else { return };
        (episode.undo_from, episode.test) = (None, None);
        self.congestion.undo(episode.before);
        self.sender.usage.renew(now);
        let went_back = matches!(self.recovery.phase, Phase::GoneBack | Phase::Forward);
        if went_back {
            self.sender.next = self.sender.max;
            self.recovery.restore_scoreboard();
        }
        if self.recovery.phase != Phase::Open {
            self.find_flight();
            self.recovery.phase = Phase::Open;
            self.recovery.retransmit_head = false;
            self.recovery.duplicate_acks = 0;
            self.recovery.recover = self.sender.una;
        }
    }

    /// RFC 5682, section 3.1, step 2b: the first retransmission is acknowledged, so new data leaves, if
    /// there is some. If that tells nothing, everything is sent again after all.
    fn test_further(&mut self) {
        let sender = &mut self.sender;
        let receivable = sender.una + u64::from(sender.window) > sender.max;
        if self.recovery.phase == Phase::GoneBack && sender.max < sender.end() && receivable {
            self.recovery.phase = Phase::Forward;
            self.recovery.recover = sender.max;
            sender.next = sender.max;
        } else {
            self.end_test();
        }
    }

    /// The timeout was no mistake (RFC 5682, section 3.1, step 3a).
    pub(super) fn end_test(&mut self) {
        if let Some(episode) = &mut self.recovery.episode {
            episode.test = None;
        }
        if self.recovery.phase == Phase::Forward {
            self.recovery.phase = Phase::GoneBack;
            self.recovery.recover = self.sender.max;
            if !self.detects_by_time() {
                self.sender.next = self.sender.una;
            }
        }
    }

    /// Proportional rate reduction: cwnd after an ACK that tells of `delivered` bytes.
    pub(super) fn reduce_proportionally(&mut self, delivered: u32, advances: bool) {
        let proportional = self.config.policies.reduction == ReductionPolicy::Proportional;
        let repairs = self.recovery.phase == Phase::Fast(Repair::Scoreboard);
        if !proportional || !repairs || delivered == 0 {
            return;
        }
        let board = self.scoreboard();
        let (pipe, lost_end) = (board.pipe(), board.lost_end());
        let Windows { threshold, .. } = self.windows();
        let mss = self.sender.mss;
        let Some(episode) = self.recovery.episode.as_deref_mut() else { return };
        episode.delivered += u64::from(delivered);
        let reducing = Reducing {
            before: episode.before.congestion,
            threshold,
            delivered: episode.delivered,
            out: episode.out,
            newly_delivered: delivered,
            safe: advances && lost_end <= episode.lost_end,
            pipe,
            mss,
        };
        episode.lost_end = episode.lost_end.max(lost_end);
        let window = pipe.saturating_add(reducing.may_leave());
        self.congestion.set_recovery_window(u32::try_from(window).unwrap_or(u32::MAX));
    }

    /// The repair is over: RFC 9937, section 6, cwnd becomes ssthresh.
    pub(super) fn end_reduction(&mut self) {
        if self.config.policies.reduction == ReductionPolicy::Proportional {
            self.congestion.set_recovery_window(self.windows().threshold);
        }
    }
}

impl Episode {
    /// RFC 5682, section 3.1, step 3b: data is acknowledged that was sent once only.
    fn acknowledges_original(&self, una: u64, progress: Progress) -> bool {
        let Some(test) = self.test else { return false };
        let began = una - u64::from(progress.bytes);
        progress.fresh > una.min(test.again_to).saturating_sub(began)
    }

    /// The same without SACK: what was sent once may have arrived before the timeout, so nothing that was sent again
    /// may be acknowledged with it (Linux `tcp_clean_rtx_queue`: "non-SACK case cannot confirm").
    fn acknowledges_original_only(&self, una: u64, progress: Progress) -> bool {
        let began = una - u64::from(progress.bytes);
        self.test.is_some_and(|test| began >= test.again_to)
            && self.acknowledges_original(una, progress)
    }
}
