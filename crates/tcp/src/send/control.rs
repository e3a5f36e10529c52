//! How much may be sent, and how fast: the congestion control, what some policies have estimated for it, and pacing.

use alloc::boxed::Box;

use super::{
    estimators::{Conditions, Estimators},
    paced::PacedSender,
    sent::Sending,
    sequence::Una,
};
use crate::{
    config::Config,
    congestion::{
        AtLoss, Bbr, CongestionEvent, CongestionEventKind, Controller, Delivery, Repair, Windows,
    },
    pacing::{self, Pace},
    policy::{Counted, Pacing, Policies, ReductionPolicy},
    seq::SeqNumber,
    units::{Instant, Nanos},
};

/// The congestion control, with what is estimated and paced for it.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    controller: Controller,
    /// While what is sent is paced.
    paced: Option<Box<PacedSender>>,
    /// If a policy has something estimated.
    estimators: Option<Box<Estimators>>,
}

impl Control {
    pub(crate) fn new(config: &Config) -> Self {
        let mss = u32::from(config.mss);
        let start = Windows { congestion: mss, threshold: u32::MAX };
        Self { controller: config.policies.control(start, mss), paced: None, estimators: None }
    }

    /// Begins with these windows.
    pub(crate) fn begin(&mut self, windows: Windows, mss: u32, policies: &Policies) {
        self.controller = policies.control(windows, mss);
    }

    /// What a control that is set from outside has heard, oldest first.
    pub(crate) fn take_note(&mut self) -> Option<CongestionEvent> {
        match &mut self.controller {
            Controller::External(control) => control.take_note(),
            _ => None,
        }
    }

    /// Sets the windows of a control that is set from outside; `false` for all others.
    pub(crate) fn set_windows(&mut self, windows: Windows) -> bool {
        match &mut self.controller {
            Controller::External(control) => {
                control.set(windows);
                true
            }
            _ => false,
        }
    }

    /// The connection is established, with this round trip: it is estimated what `config` asks for, and BBR's model
    /// begins.
    pub(crate) fn establish(
        &mut self,
        iss: SeqNumber,
        round_trip: Option<Nanos>,
        config: &Config,
        now: Instant,
    ) {
        if let Controller::Bbr(bbr) = &mut self.controller {
            // The driver draws the ISS, so connections of one host begin with different phases.
            let phase = u32::from(config.bbr_phase) + iss.0 % u32::from(Bbr::PHASES);
            bbr.begin(round_trip, u8::try_from(phase).unwrap_or(0), now);
        }
        self.controller.note_ack(CongestionEventKind::Established, None, 0);
        self.estimators = Estimators::new(&config.policies);
    }

    /// Nothing more is sent: frees what was kept for it.
    pub(crate) fn stop(&mut self) {
        (self.paced, self.estimators) = (None, None);
    }

    #[inline]
    pub(crate) const fn controller(&self) -> &Controller {
        &self.controller
    }

    #[inline]
    pub(crate) const fn controller_mut(&mut self) -> &mut Controller {
        &mut self.controller
    }

    /// cwnd.
    #[inline]
    pub(crate) const fn window(&self) -> u32 {
        self.controller.window()
    }

    /// cwnd and ssthresh.
    #[inline]
    pub(crate) const fn windows(&self) -> Windows {
        Windows { congestion: self.controller.window(), threshold: self.controller.threshold() }
    }

    /// Whether a model of the path is kept.
    #[inline]
    pub(crate) const fn has_model(&self) -> bool {
        matches!(self.controller, Controller::Bbr(_))
    }

    /// Less was left to send than a segment while `in_flight` segments were out (Linux `tcp_rate_check_app_limited`).
    pub(crate) fn on_write_after_gap(&mut self, in_flight: u32) {
        if let Controller::Bbr(bbr) = &mut self.controller {
            bbr.on_write_after_gap(in_flight);
        }
    }

    /// What an ACK tells of the path.
    pub(crate) fn on_delivery(&mut self, delivery: &Delivery, now: Instant) {
        if let Controller::Bbr(bbr) = &mut self.controller {
            bbr.on_ack(delivery, now);
        }
    }

    /// Paces from now on; the first segment may leave at once.
    pub(crate) fn start_pacing(&mut self, pacing: Pacing, now: Instant) {
        self.paced = Some(Box::new(PacedSender::new(pacing, now)));
    }

    /// Nothing is paced any more.
    pub(crate) fn stop_pacing(&mut self) {
        self.paced = None;
    }

    /// The rate of a sender that is paced.
    pub(crate) fn pace(&self) -> Option<Pace> {
        match &self.controller {
            Controller::Bbr(bbr) => {
                Pace::bytes_per_second(u32::try_from(bbr.pacing_rate()).unwrap_or(u32::MAX))
            }
            _ => self.paced.as_ref().map(|paced| paced.pace()),
        }
    }

    /// When the next segment may leave, if that is not yet.
    #[inline]
    pub(crate) fn paced_until(&self, now: Instant) -> Option<Instant> {
        match &self.controller {
            Controller::Bbr(bbr) => bbr.paced_until(now),
            _ => self.paced.as_ref().and_then(|paced| paced.held_until(now)),
        }
    }

    /// A segment with data has left; no round trip was shorter than `shortest`.
    #[inline]
    pub(crate) fn note_paced(&mut self, bytes: u32, shortest: Option<Nanos>, now: Instant) {
        if let Some(paced) = &mut self.paced {
            paced.on_sent(bytes, now);
        }
        if let Controller::Bbr(bbr) = &mut self.controller {
            bbr.note_paced(bytes, shortest, now);
        }
    }

    /// When a model of the path, if one is kept, saw something leave.
    #[inline]
    pub(crate) fn sent_at(&self) -> Option<Instant> {
        match &self.controller {
            Controller::Bbr(bbr) => Some(bbr.sent_at()),
            _ => None,
        }
    }

    /// Segments that the kernel would hand to a device at once (`tcp_tso_autosize`).
    #[inline]
    pub(crate) fn burst(&self, srtt: Nanos, shortest: Option<Nanos>, mss: u32) -> u32 {
        if let Controller::Bbr(bbr) = &self.controller {
            return bbr.burst(shortest);
        }
        let Windows { congestion, threshold } = self.windows();
        // `tcp_update_pacing_rate`: twice the window in a round trip, or 1.2 times if slow start has not
        // far to go.
        let percent = if congestion < threshold / 2 { 200 } else { 120 };
        let rate = u64::from(congestion) * percent * 10_000 / srtt.micros().max(1);
        pacing::burst(rate, shortest, mss).max(LEAST_BURST)
    }

    /// Something has arrived; `flight` was outstanding before. Whether pacing ends.
    #[inline]
    pub(crate) fn ends_pacing(&mut self, una: Una, flight: u32) -> bool {
        self.paced.is_some() && self.end_pacing(una, flight)
    }

    #[cold]
    fn end_pacing(&mut self, una: Una, flight: u32) -> bool {
        let ends = self.paced.as_ref().is_some_and(|paced| paced.ends(una));
        // Before the ACK is taken, so that it opens the window which is left.
        if ends
            && una == Una::Advances
            && self.paced.as_ref().is_some_and(|paced| paced.closes_window())
        {
            let windows = self.windows();
            let congestion = windows.congestion.min(flight);
            self.controller.on_restart(Windows { congestion, ..windows });
        }
        if ends {
            self.stop_pacing();
        }
        ends
    }

    /// Whether a policy has something estimated.
    #[inline]
    pub(crate) const fn has_estimators(&self) -> bool {
        self.estimators.is_some()
    }

    fn conditions(&self, srtt: Option<Nanos>, last_send: Instant) -> Conditions {
        Conditions { windows: self.windows(), srtt, last_send }
    }

    /// A segment of `bytes` that ends at `end` leaves.
    #[inline]
    pub(crate) fn estimate_on_sent(
        &mut self,
        end: u64,
        bytes: u32,
        sending: Sending,
        now: Instant,
    ) {
        if let Some(estimators) = self.estimators.as_deref_mut() {
            estimators.on_sent(end, bytes, sending, now);
        }
    }

    /// What some policies estimate by an ACK; whether the window may grow by it.
    #[cold]
    pub(crate) fn estimate(&mut self, ack: &Estimated, now: Instant) -> bool {
        let &Estimated { una, max, flight, mss, srtt, last_send } = ack;
        let before = self.conditions(srtt, last_send);
        let Some(estimators) = self.estimators.as_deref_mut() else { return true };
        if let Some(bytes) = estimators.end_of_slow_start(una, max, &before, now) {
            let threshold = bytes.max(mss.saturating_mul(2));
            self.controller.on_restart(Windows { threshold, ..before.windows });
        }
        let after = self.conditions(srtt, last_send);
        let estimators = self.estimators.as_deref_mut();
        estimators.is_none_or(|it| it.may_grow(una, flight, &after, now))
    }

    /// What was counted in the last round trip.
    pub(crate) fn counted(&self) -> Option<Counted> {
        self.estimators.as_deref().and_then(Estimators::counted)
    }

    /// The first data after an idle time leaves: a window that was not used may be smaller now (RFC 7661).
    pub(crate) fn validate(
        &mut self,
        initial_window: u32,
        srtt: Option<Nanos>,
        last_send: Instant,
        now: Instant,
    ) {
        let conditions = self.conditions(srtt, last_send);
        let estimators = self.estimators.as_deref_mut();
        if let Some(adjusted) =
            estimators.and_then(|it| it.unused_window(initial_window, &conditions, now))
        {
            self.controller.on_restart(adjusted);
        }
    }

    /// A loss is believed.
    pub(crate) fn on_loss(
        &mut self,
        at_loss: AtLoss,
        repair: Repair,
        srtt: Option<Nanos>,
        now: Instant,
    ) {
        let at_loss = match self.estimators.as_deref_mut() {
            Some(estimators) => estimators.at_loss(at_loss, srtt, now),
            None => at_loss,
        };
        self.controller.on_loss(at_loss, repair);
    }

    /// The repair of a loss is over, `flight` bytes are outstanding.
    pub(crate) fn on_repaired(&mut self, flight: u32, mss: u32, reduction: ReductionPolicy) {
        self.controller.on_recovered(flight);
        if reduction == ReductionPolicy::Proportional {
            // RFC 9937, section 6: cwnd becomes ssthresh.
            self.controller.set_recovery_window(self.controller.threshold());
        }
        self.end_loss(mss);
    }

    /// A loss was repaired as soon as it was believed.
    pub(crate) fn on_loss_repaired(
        &mut self,
        at_loss: AtLoss,
        mss: u32,
        srtt: Option<Nanos>,
        now: Instant,
    ) {
        self.on_loss(at_loss, Repair::Scoreboard, srtt, now);
        self.controller.on_recovered(at_loss.flight);
        self.end_loss(mss);
    }

    fn end_loss(&mut self, mss: u32) {
        let windows = self.windows();
        let estimators = self.estimators.as_deref_mut();
        if let Some(windows) = estimators.and_then(|it| it.after_repair(windows, mss)) {
            self.controller.on_restart(windows);
        }
    }
}

/// An ACK, as estimates need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimated {
    /// Everything before is acknowledged, and everything before `max` was sent.
    pub(crate) una: u64,
    pub(crate) max: u64,
    /// The most bytes that were outstanding in the round trip.
    pub(crate) flight: u32,
    pub(crate) mss: u32,
    pub(crate) srtt: Option<Nanos>,
    /// When data last left.
    pub(crate) last_send: Instant,
}

/// `net.ipv4.tcp_min_tso_segs`.
pub(crate) const LEAST_BURST: u32 = 2;
