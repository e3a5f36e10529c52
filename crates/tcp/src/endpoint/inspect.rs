//! What can be seen of an endpoint from outside.

use alloc::boxed::Box;
use core::time::Duration;

use super::{Counters, Endpoint, State};
use crate::{
    congestion::{Inherited, Windows},
    pacing::Pace,
    segment::{TimeWaitHolder, WindowShift},
    send::Phase,
    seq::SeqNumber,
    wait::{AckWait, TimeWaitReason, Timer, Wait},
};

/// What the two SYNs have agreed on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Negotiated {
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Timestamps (RFC 7323, section 3).
    pub timestamps: bool,
    /// Window scaling (RFC 7323, section 2): our shift and the peer's.
    pub window_shifts: Option<(WindowShift, WindowShift)>,
    /// Who holds TIME-WAIT, if the ends have agreed on that.
    pub time_wait_holder: Option<TimeWaitHolder>,
}

/// Where loss recovery stands; the names are those of Linux (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum RecoveryPhase {
    /// Nothing is believed lost.
    Open,
    /// Duplicate ACKs have arrived, too few to believe in a loss.
    Disorder,
    /// Duplicate ACKs or SACK blocks announced a loss, which is being repaired.
    Recovery,
    /// All from SND.UNA on is sent again: after a timeout, a report of a smaller path MTU, or by
    /// Tahoe.
    Loss,
}

impl Endpoint {
    /// The state of RFC 9293, section 3.3.2.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Bytes of the peer's stream that have arrived in order.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.receiver.sequence().in_order()
    }

    /// Bytes that have arrived in order and are not yet read.
    #[must_use]
    pub const fn readable(&self) -> u64 {
        self.receiver.sequence().readable()
    }

    /// Bytes from the first unread one on to the end of the window that was advertised: what a
    /// [`Reassembly`](crate::driver::Reassembly) must have room for.
    #[must_use]
    pub const fn receivable(&self) -> u64 {
        self.receiver.sequence().receivable()
    }

    /// Bytes of our stream that the application has written.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.sender.sequence().written_end() - 1
    }

    /// Bytes of our stream that were sent, once or more often.
    #[must_use]
    pub fn sent(&self) -> u64 {
        let sequence = self.sender.sequence();
        sequence.max().min(sequence.written_end()).saturating_sub(1)
    }

    /// Bytes of our stream that the peer has acknowledged: a driver may forget what is before.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        self.sender.sequence().acknowledged()
    }

    /// Bytes (SYN and FIN included) that were sent and are not acknowledged: FlightSize.
    #[must_use]
    pub fn flight(&self) -> u32 {
        self.sender.sequence().flight()
    }

    /// Data bytes of a full segment to this peer.
    #[must_use]
    pub const fn segment_size(&self) -> u32 {
        self.sender.sequence().mss()
    }

    /// The peer's receive window, in bytes.
    #[must_use]
    pub const fn peer_window(&self) -> u32 {
        self.sender.sequence().window()
    }

    /// Our initial send sequence number.
    #[must_use]
    pub const fn initial_sequence(&self) -> SeqNumber {
        self.sender.sequence().iss()
    }

    /// SND.NXT: what an exact RST from here would carry.
    #[must_use]
    pub fn next_sequence(&self) -> SeqNumber {
        self.sender.sequence().max_number()
    }

    /// RCV.NXT.
    #[must_use]
    pub fn next_expected(&self) -> SeqNumber {
        self.receiver.sequence().next_number()
    }

    /// What the SYNs have agreed on; `None` until the peer's has arrived.
    #[must_use]
    pub fn negotiated(&self) -> Option<Negotiated> {
        let sequence = self.receiver.sequence();
        (sequence.next() > 0).then(|| Negotiated {
            sack: sequence.uses_sack(),
            timestamps: sequence.uses_timestamps(),
            window_shifts: sequence
                .scales()
                .then_some((sequence.window_shift(), self.sender.sequence().window_shift())),
            time_wait_holder: self.closing.agreed(),
        })
    }

    /// The retransmission timeout as it stands now, back-off included (RFC 6298).
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.sender.round_trip().rto()
    }

    /// The same without back-off: what the round trips measured so far give.
    #[must_use]
    pub fn rto_without_back_off(&self) -> Duration {
        self.sender.round_trip().rto_without_back_off()
    }

    /// SRTT (RFC 6298), once there is a sample.
    #[must_use]
    pub fn smoothed_round_trip(&self) -> Option<Duration> {
        self.sender.round_trip().srtt()
    }

    /// The largest receive window that the peer has advertised, in bytes.
    #[must_use]
    pub const fn largest_peer_window(&self) -> u32 {
        self.sender.sequence().max_window()
    }

    /// How often the retransmission timeout was doubled since the last progress.
    #[must_use]
    pub const fn back_offs(&self) -> u8 {
        self.sender.round_trip().back_offs()
    }

    /// Where loss recovery stands.
    #[must_use]
    pub const fn recovery_phase(&self) -> RecoveryPhase {
        match self.sender.phase() {
            Phase::Open if self.sender.has_duplicate_acks() => RecoveryPhase::Disorder,
            Phase::Open => RecoveryPhase::Open,
            Phase::Fast(_) => RecoveryPhase::Recovery,
            Phase::GoneBack | Phase::Forward => RecoveryPhase::Loss,
        }
    }

    /// Why nothing (more) is sent now; `None` if something would be.
    #[must_use]
    pub fn wait(&self) -> Option<Wait> {
        let paced = || self.sender.timers().runs(Timer::Pacing).then_some(Wait::Pacing);
        self.waits_for_state().or_else(|| {
            let full = self.room_for_data();
            self.sender.next_piece_again(full, &self.config).map_or_else(Some, |_| paced())
        })
    }

    /// Why what was received is not acknowledged yet; `None` if nothing is unacknowledged.
    #[must_use]
    pub fn ack_wait(&self) -> Option<AckWait> {
        self.receiver.acks().wait(self.config.policies.ack)
    }

    /// Why this end is in TIME-WAIT, if it is.
    #[must_use]
    pub fn time_wait_reason(&self) -> Option<TimeWaitReason> {
        self.closing.reason(self.state)
    }

    /// cwnd and ssthresh.
    #[must_use]
    #[inline]
    pub fn windows(&self) -> Windows {
        self.sender.windows()
    }

    /// The rate of a sender that is paced.
    #[must_use]
    pub fn pace(&self) -> Option<Pace> {
        self.sender.pace()
    }

    /// What another connection to the same host may take over (RFC 9040): the windows only if there was
    /// a connection at all.
    #[must_use]
    pub fn heritage(&self) -> Inherited {
        self.sender.heritage()
    }

    /// Counts from now on; counters that there are begin at zero again.
    pub fn count(&mut self) {
        self.sender.take_loss_events();
        self.counters = Some(Box::new(Counters::NONE));
    }

    /// What was counted; `None` before [`count`](Self::count).
    #[must_use]
    pub fn counters(&self) -> Option<&Counters> {
        self.counters.as_deref()
    }
}
