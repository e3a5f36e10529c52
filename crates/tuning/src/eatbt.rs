//! E-ATBT, equation-based automatic TCP buffer tuning: the send buffer of one connection from its
//! losses and its round trip.
//!
//! Okamoto et al. 2001, section 2.1, in the order of its sentences: the mean window from loss
//! ratio, RTT and RTO by PFTK; the throughput, retransmission timeouts included; and "the required
//! [...] socket buffer size as multiplication of the estimated throughput and RTT". That section
//! says *receive* buffer twice; the introduction and section 3.1 say send buffer, and a sender can
//! size no other. For a Web server alone (SSBT), this rule is enough; a proxy needs
//! [`E2Atbt`](crate::E2Atbt). Buffers that are too large for the pool are cut by
//! [`Division`](crate::Division).

use core::num::{NonZeroU8, NonZeroU32};

use ackwise_tcp::{ByteCount, Nanos};

use crate::{
    demand::{Demand, DemandReason},
    loss::{Loss, LossRate},
    pftk::{Model, Path, Throughput},
    ratio::whole,
};

/// What the sender of a connection knows of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sender {
    /// From a [`LossEstimate`](crate::LossEstimate).
    pub loss: Loss,
    /// The smoothed round-trip time.
    pub round_trip: Nanos,
    /// The retransmission timeout, without back-off.
    pub timeout: Nanos,
    /// Bytes of data in a full segment.
    pub mss: NonZeroU32,
    /// The largest receive window that the peer has advertised.
    pub peer_window: ByteCount,
    /// Segments that the receiver acknowledges with one ACK: 2 with delayed ACKs.
    pub segments_per_ack: NonZeroU8,
}

/// The rule and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eatbt {
    /// Which form of the model. The paper says "the analysis result in \[10\]", which is the full
    /// model.
    pub model: Model,
    /// How the throughput becomes a window.
    pub sizing: Sizing,
    /// The size before anything is measured.
    ///
    /// The paper gives none. SABT (Matsuo, Hasegawa, Murata, INET 2000) derives it from the
    /// characteristics of Web traffic. Our choice is the size of the scheme without tuning.
    pub initial: ByteCount,
    /// The size between the first measurement and the first loss.
    pub before_loss: BeforeLoss,
}

/// The window that a buffer has to hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sizing {
    /// Throughput times RTT, as in the paper: the mean window.
    ///
    /// A buffer of the mean window cuts the peaks that the mean consists of, so the connection
    /// stays below its estimate: by 16 % at a loss rate of 0.0001, and by 24 % at 0.01 (RTT 0.1 s,
    /// RTO 0.3 s).
    Mean,
    /// The mean of the largest windows, E\[Wu\] of PFTK: 1.35 to 1.53 times as much memory at
    /// these rates, without this loss of throughput. Not in the paper.
    Peak,
}

/// The size between the first measurement and the first loss, for which the paper has no rule.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BeforeLoss {
    /// As if the next segment were the first to be lost, but at least the initial size. Otherwise,
    /// the first segments would shrink the buffer of each short transfer: a document of 10 KB is
    /// seven segments, which can show no rate below 1/8, for which two segments are enough.
    AtLeastInitial,
    /// As if the next segment were the first to be lost.
    Estimate,
}

impl Eatbt {
    /// As in the paper, and our choices where it has no rule.
    pub const OKAMOTO_2001: Self = Self {
        model: Model::Full,
        sizing: Sizing::Mean,
        initial: FIXED_BUFFER,
        before_loss: BeforeLoss::AtLeastInitial,
    };

    /// The send buffer that the connection can use.
    #[must_use]
    pub fn demand(&self, sender: &Sender) -> Demand {
        let (loss, initial) = match (sender.loss, self.before_loss) {
            (Loss::Unmeasured, _) => {
                return sender.demand(self.initial, DemandReason::NothingSent);
            }
            (Loss::NoneAmong { segments, at_most }, BeforeLoss::AtLeastInitial) => {
                (at_most, Some(sender.demand(self.initial, DemandReason::NoLossYet { segments })))
            }
            (Loss::NoneAmong { at_most: loss, .. } | Loss::Measured(loss), _) => (loss, None),
        };
        let window = self.window(&sender.path(loss));
        let estimated = sender.demand_for(window, DemandReason::Estimated { window });
        initial.filter(|initial| initial.bytes > estimated.bytes).unwrap_or(estimated)
    }

    /// The throughput that the sender can reach; `None` if it is not known.
    ///
    /// Before the first loss there is only a lower bound. It counts with [`BeforeLoss::Estimate`]
    /// only, because it would slow down the connection that this one supplies.
    #[must_use]
    pub fn throughput(&self, sender: &Sender) -> Option<Throughput> {
        let loss = match (sender.loss, self.before_loss) {
            (Loss::Measured(loss), _) => loss,
            (Loss::NoneAmong { at_most, .. }, BeforeLoss::Estimate) => at_most,
            (Loss::Unmeasured | Loss::NoneAmong { .. }, _) => return None,
        };
        Some(self.model.throughput(&sender.path(loss)))
    }

    fn window(&self, path: &Path) -> f64 {
        match self.sizing {
            Sizing::Mean => self.model.throughput(path).window(path.round_trip),
            Sizing::Peak => path.peak_window(),
        }
    }
}

impl Sender {
    fn path(&self, loss: LossRate) -> Path {
        let segments = self.peer_window.0 / u64::from(self.mss.get());
        let max_window = u32::try_from(segments).unwrap_or(u32::MAX);
        Path {
            loss,
            round_trip: self.round_trip,
            timeout: self.timeout,
            max_window: NonZeroU32::new(max_window).unwrap_or(NonZeroU32::MIN),
            segments_per_ack: self.segments_per_ack,
        }
    }

    /// The buffer for a window, in whole segments.
    pub(crate) fn demand_for(&self, window: f64, reason: DemandReason) -> Demand {
        let segments = whole(libm::ceil(window));
        self.demand(ByteCount(segments.saturating_mul(self.mss.get().into())), reason)
    }

    /// `bytes`, but at most what the peer accepts, and at least two segments.
    ///
    /// The minimum is our choice, because a smaller buffer can make a sender wait for a delayed ACK
    /// after each segment (RFC 1122, section 4.2.3.2). It also applies if the peer's window is
    /// smaller, because that may change.
    pub(crate) fn demand(&self, bytes: ByteCount, reason: DemandReason) -> Demand {
        let two_segments = ByteCount(2 * u64::from(self.mss.get()));
        let most = self.peer_window.max(two_segments);
        if bytes > most && self.peer_window >= two_segments {
            Demand { bytes: most, reason: DemandReason::PeerWindow }
        } else if bytes < two_segments || bytes > most {
            Demand { bytes: two_segments, reason: DemandReason::TwoSegments }
        } else {
            Demand { bytes, reason }
        }
    }
}

/// Okamoto et al. 2001, section 4: "it fixedly assigns 16 KBytes of send/receive socket buffer to
/// each TCP connection".
pub(crate) const FIXED_BUFFER: ByteCount = ByteCount(16 * 1024);

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_460;

    /// RTT 0.1 s, RTO three times that, a window of a thousand segments.
    fn sender(loss: Loss) -> Sender {
        Sender {
            loss,
            round_trip: Nanos::from_millis(100),
            timeout: Nanos::from_millis(300),
            mss: NonZeroU32::new(1_460).unwrap(),
            peer_window: ByteCount(1_000 * MSS),
            segments_per_ack: NonZeroU8::new(2).unwrap(),
        }
    }

    fn measured(rate: f64) -> Loss {
        Loss::Measured(LossRate::new(rate).unwrap())
    }

    fn none_among(segments: u32) -> Loss {
        let at_most = LossRate::new(1.0 / (f64::from(segments) + 1.0)).unwrap();
        Loss::NoneAmong { segments: segments.into(), at_most }
    }

    /// The demand in segments, and its reason.
    fn segments(rule: &Eatbt, sender: &Sender) -> (u64, DemandReason) {
        let demand = rule.demand(sender);
        assert_eq!(demand.bytes.0 % MSS, 0, "{demand}");
        (demand.bytes.0 / MSS, demand.reason)
    }

    #[test]
    fn the_buffer_is_throughput_times_round_trip_in_whole_segments() {
        let rule = Eatbt::OKAMOTO_2001;
        for (rate, expected) in [(0.0001, 87), (0.0005, 39), (0.001, 27), (0.005, 12), (0.01, 8)] {
            let (segments, reason) = segments(&rule, &sender(measured(rate)));
            assert_eq!(segments, expected, "{rate}");
            assert!(matches!(reason, DemandReason::Estimated { .. }), "{reason}");
        }
    }

    #[test]
    fn a_peak_needs_more_and_keeps_the_throughput() {
        let peak = Eatbt { sizing: Sizing::Peak, ..Eatbt::OKAMOTO_2001 };
        // The loss of throughput in percent, and the memory that avoids it.
        for (rate, cut, ratio) in [(0.0001, 16, 1.35), (0.01, 24, 1.53)] {
            let sender = sender(measured(rate));
            let free = peak.throughput(&sender).unwrap();
            let mean = free.window(sender.round_trip);
            let capped = |window: f64| {
                let path = sender.path(LossRate::new(rate).unwrap());
                let max_window = NonZeroU32::new(u32::try_from(whole(window)).unwrap()).unwrap();
                Model::Full.throughput(&Path { max_window, ..path }).as_f64() / free.as_f64()
            };
            let lower = 100.0 * (1.0 - capped(mean.round()));
            assert!((lower - f64::from(cut)).abs() < 1.0, "{lower} % at {rate}");
            let DemandReason::Estimated { window } = peak.demand(&sender).reason else {
                panic!("not estimated at {rate}");
            };
            assert!((window / mean - ratio).abs() < 0.01, "{} at {rate}", window / mean);
            assert!(capped(window.ceil()) > 0.99);
        }
    }

    #[test]
    fn the_initial_size_applies_until_something_is_sent_and_until_a_loss() {
        let rule = Eatbt::OKAMOTO_2001;
        let demand = |loss| rule.demand(&sender(loss));
        let initial = |reason| Demand { bytes: ByteCount(16_384), reason };
        assert_eq!(demand(Loss::Unmeasured), initial(DemandReason::NothingSent));
        assert_eq!(demand(none_among(7)), initial(DemandReason::NoLossYet { segments: 7 }));
        // Many segments without a loss show that more is of use.
        assert!(demand(none_among(10_000)).bytes > ByteCount(80 * MSS));
        let estimate = Eatbt { before_loss: BeforeLoss::Estimate, ..rule };
        assert_eq!(segments(&estimate, &sender(none_among(7))).0, 2);
        assert_eq!(segments(&rule, &sender(measured(0.125))).0, 2, "a loss was seen");
    }

    #[test]
    fn the_peer_limits_the_buffer_but_not_below_two_segments() {
        let rule = Eatbt::OKAMOTO_2001;
        let demand = |loss, peer_window| {
            rule.demand(&Sender { peer_window: ByteCount(peer_window), ..sender(loss) })
        };
        let limited = |bytes| Demand { bytes: ByteCount(bytes), reason: DemandReason::PeerWindow };
        assert_eq!(demand(Loss::Unmeasured, 8_192), limited(8_192));
        assert_eq!(demand(Loss::Unmeasured, 2_920), limited(2_920));
        assert_eq!(demand(measured(0.0), 20_000).bytes, ByteCount(13 * MSS), "whole segments");
        let two = Demand { bytes: ByteCount(2 * MSS), reason: DemandReason::TwoSegments };
        for window in [0, 1, 2_919] {
            assert_eq!(demand(measured(0.0001), window), two, "{window}");
            assert_eq!(demand(Loss::Unmeasured, window), two, "{window}");
        }
        assert_eq!(demand(measured(1.0), 100_000), two);
    }

    /// Section 2.1's example, a client behind 64 kb/s and one on a LAN of 100 Mb/s: the equations
    /// know losses and round trips, not link rates.
    #[test]
    fn a_slow_link_is_recognised_by_its_losses_only() {
        let rule = Eatbt::OKAMOTO_2001;
        let (slow, near) = (Nanos::from_millis(400), Nanos::from_millis(1));
        let to = |loss, round_trip| Sender { round_trip, timeout: round_trip * 3, ..sender(loss) };
        let lossless = rule.demand(&to(measured(0.0), slow)).bytes;
        assert_eq!(lossless, rule.demand(&to(measured(0.0), near)).bytes);
        assert_eq!(lossless, ByteCount(1_000 * MSS));
        let lossy = rule.demand(&to(measured(0.05), slow)).bytes;
        assert!(lossy < ByteCount(4 * MSS), "{lossy:?}");
    }

    #[test]
    fn a_throughput_is_known_from_the_first_loss_on() {
        let rule = Eatbt::OKAMOTO_2001;
        let known = |rule: &Eatbt, loss| rule.throughput(&sender(loss)).is_some();
        assert_eq!(
            [Loss::Unmeasured, none_among(7), measured(0.1)].map(|it| known(&rule, it)),
            [false, false, true]
        );
        let estimate = Eatbt { before_loss: BeforeLoss::Estimate, ..rule };
        assert!(!known(&estimate, Loss::Unmeasured) && known(&estimate, none_among(7)));
    }

    #[test]
    fn the_approximation_differs_little_where_loss_is_rare() {
        let rule = Eatbt { model: Model::Approximate, ..Eatbt::OKAMOTO_2001 };
        assert_eq!(segments(&rule, &sender(measured(0.0001))).0, 87);
        assert_eq!(segments(&rule, &sender(measured(0.1))).0, 2);
    }
}
