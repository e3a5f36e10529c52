//! Proportional rate reduction (PRR, RFC 9937): how far cwnd has come down in a repair.

use crate::policy::Reducing;

/// How far cwnd has come down in a repair.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// prr_delivered and prr_out, in bytes.
    delivered: u64,
    out: u64,
    /// The end of what was lost when the window was last computed.
    lost_end: u64,
}

/// What an ACK tells in a repair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InRepair {
    /// cwnd before the repair, and ssthresh.
    pub(crate) before: u32,
    pub(crate) threshold: u32,
    /// Bytes that it has delivered.
    pub(crate) delivered: u32,
    /// It acknowledges new data.
    pub(crate) advances: bool,
    /// What is on its way.
    pub(crate) pipe: u64,
    /// The end of what is lost.
    pub(crate) lost_end: u64,
    pub(crate) mss: u32,
}

impl Prr {
    /// These `bytes` have left.
    pub(crate) const fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// cwnd after an ACK.
    pub(crate) fn window(&mut self, ack: &InRepair) -> u64 {
        let &InRepair { before, threshold, delivered, advances, pipe, lost_end, mss } = ack;
        self.delivered += u64::from(delivered);
        let reducing = Reducing {
            before,
            threshold,
            delivered: self.delivered,
            out: self.out,
            newly_delivered: delivered,
            safe: advances && lost_end <= self.lost_end,
            pipe,
            mss,
        };
        self.lost_end = self.lost_end.max(lost_end);
        pipe.saturating_add(reducing.may_leave())
    }
}
