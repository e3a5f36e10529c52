//! What a recovery remembers beside the scoreboard: how far its window has come down (PRR), what it may
//! take back (undo), and whether its timeout was spurious (F-RTO).
//!
//! It takes a pointer in an endpoint that has lost nothing, or whose policies have none of it.

use super::{
    frto::Frto,
    prr::{InRepair, Prr},
    sent::Sending,
    undo::Undo,
};
use crate::{congestion::Windows, units::Instant};

/// One recovery, and what may still be learnt about it afterwards.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    /// cwnd and ssthresh before (Linux `prior_cwnd`, `prior_ssthresh`).
    before: Windows,
    undo: Undo,
    prr: Prr,
    /// Its timeout, while that is put to the test.
    frto: Option<Frto>,
}

impl Episode {
    /// A recovery begins with these windows.
    pub(crate) fn new(before: Windows, undo: Undo) -> Self {
        Self { before, undo, prr: Prr::default(), frto: None }
    }

    /// cwnd and ssthresh before.
    pub(crate) const fn before(&self) -> Windows {
        self.before
    }

    pub(crate) const fn undo(&self) -> &Undo {
        &self.undo
    }

    /// The timeout that is put to the test.
    pub(crate) const fn frto(&self) -> Option<Frto> {
        self.frto
    }

    /// The timeout is put to the test, or it is not.
    pub(crate) const fn test(&mut self, frto: Option<Frto>) {
        self.frto = frto;
    }

    /// No timeout is put to the test.
    pub(crate) const fn end_test(&mut self) {
        self.frto = None;
    }

    /// The recovery is taken back.
    pub(crate) const fn take_back(&mut self) {
        self.undo.end();
        self.end_test();
    }

    /// A segment with these bytes has left, which counts as `least` at least: where packets are counted, as a full one.
    pub(crate) fn on_sent(
        &mut self,
        start: u64,
        end: u64,
        sending: Sending,
        least: u32,
        now: Instant,
    ) {
        let bytes = end - start;
        self.prr.on_sent(bytes.max(least.into()));
        if sending == Sending::Again {
            self.undo.on_sent_again(bytes, now);
            if let Some(frto) = &mut self.frto {
                frto.on_sent_again(end);
            }
        }
    }

    /// A D-SACK (RFC 2883) reports `[left, right)`.
    pub(crate) fn on_d_sack(&mut self, left: u64, right: u64) {
        self.undo.on_d_sack(left, right);
    }

    /// A SACK block that begins at `left` has told something new.
    pub(crate) const fn on_sacked(&mut self, left: u64) {
        if let Some(frto) = &mut self.frto {
            frto.on_sacked(left);
        }
    }

    /// cwnd after an ACK in a repair.
    pub(crate) fn window(&mut self, ack: &InRepair) -> u64 {
        self.prr.window(ack)
    }
}
