//! The send side of a connection: what was sent, what became of it, and what may be sent now.
//!
//! | module | one idea |
//! | --- | --- |
//! | `sequence`, `piece` | the send sequence space, and a range of it that may leave |
//! | `next_piece` | what may be sent now, and if nothing, why |
//! | `on_sent`, `process_ack`, `timeouts` | a segment leaves, an ACK arrives, a timer fires |
//! | `timers` | the timers, of which the retransmission timer is one |
//! | `control_block` | with which window a connection begins, and what it takes over from others (RFC 9040) |
//! | `recovery`, `phase`, `scoreboard`, `repair` | what is sent again (RFC 5681, 6582, 6675) |
//! | `episode`, `prr` | what a recovery remembers, and how the window comes down meanwhile (RFC 9937) |
//! | `undo`, `frto`, `spurious` | whether a recovery was for nothing (RFC 3708, 3522, 5682) |
//! | `in_flight`, `flight`, `sent`, `latest`, `news` | the segments that are out, and what an ACK tells of them |
//! | `rack`, `losses`, `probe` | losses found by time, and probes for the tail of a flight (RFC 8985) |
//! | `bbr_samples` | what BBR learns of the path from an ACK |
//! | `paced`, `tso_deferral` | segments that leave at a rate, and such that wait for others |
//! | `cwnd_use` | how much of the congestion window is used |
//! | `estimators`, `packet_count`, `ack_spacing` | what some policies estimate: packets in a round trip, bandwidth |
//! | `validation` | whether the window is used (RFC 7661) |

mod ack_spacing;
mod bbr_samples;
mod control;
mod control_block;
mod cwnd_use;
mod episode;
mod estimators;
mod flight;
mod frto;
mod in_flight;
mod latest;
mod losses;
mod news;
mod next_piece;
mod on_sent;
mod paced;
mod packet_count;
mod phase;
mod piece;
mod probe;
mod process_ack;
mod prr;
mod rack;
mod recovery;
mod repair;
mod round_trips;
mod scoreboard;
mod sent;
mod sequence;
mod spurious;
mod timeouts;
mod timers;
mod tso_deferral;
mod undo;
mod validation;

pub(crate) use self::{phase::Phase, piece::Piece, process_ack::Effects, timeouts::AfterTimeout};

use self::{
    control::Control,
    flight::Flight,
    in_flight::InFlight,
    recovery::{Recovery, Reports},
    round_trips::RoundTrips,
    sequence::SendSequence,
    timers::Timers,
};
use crate::{
    config::Config,
    congestion::Windows,
    pacing::Pace,
    policy::LossDetection,
    round_trip::RoundTrip,
    seq::SeqNumber,
    units::Instant,
    wait::{Timer, Wait},
};

/// The send side.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    sequence: SendSequence,
    round_trips: RoundTrips,
    control: Control,
    recovery: Recovery,
    timers: Timers,
    in_flight: InFlight,
}

impl Sender {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "an endpoint is built where it stays")]
    pub(crate) fn new(iss: SeqNumber, config: &Config) -> Self {
        Self {
            sequence: SendSequence::new(iss, config.mss),
            round_trips: RoundTrips::new(config.policies.timers),
            control: Control::new(config),
            recovery: Recovery::default(),
            timers: Timers::default(),
            in_flight: InFlight::default(),
        }
    }

    #[inline]
    pub(crate) const fn sequence(&self) -> &SendSequence {
        &self.sequence
    }

    #[inline]
    pub(crate) const fn sequence_mut(&mut self) -> &mut SendSequence {
        &mut self.sequence
    }

    #[inline]
    pub(crate) const fn round_trip(&self) -> &RoundTrip {
        self.round_trips.estimate()
    }

    #[inline]
    pub(crate) const fn timers(&self) -> &Timers {
        &self.timers
    }

    #[inline]
    pub(crate) const fn timers_mut(&mut self) -> &mut Timers {
        &mut self.timers
    }

    /// Where loss recovery stands.
    pub(crate) const fn phase(&self) -> Phase {
        self.recovery.phase()
    }

    /// Whether duplicate ACKs have arrived since new data was acknowledged.
    pub(crate) const fn has_duplicate_acks(&self) -> bool {
        self.recovery.duplicate_acks() > 0
    }

    /// cwnd and ssthresh.
    #[inline]
    pub(crate) fn windows(&self) -> Windows {
        self.control.windows()
    }

    /// The rate of a sender that is paced.
    pub(crate) fn pace(&self) -> Option<Pace> {
        self.control.pace()
    }

    /// Lets `piece` pass, unless it must wait for its time.
    #[inline]
    pub(crate) fn when_paced(&self, piece: Piece, now: Instant) -> Result<Piece, Wait> {
        match self.control.paced_until(now) {
            Some(_) => Err(Wait::Pacing),
            None => Ok(piece),
        }
    }

    /// Nothing is paced any more.
    fn stop_pacing(&mut self) {
        self.control.stop_pacing();
        self.timers.stop_waiting_for(Timer::Pacing);
    }

    /// Bytes that [`write`](Self::write) takes before they are acknowledged.
    pub(crate) fn buffer(&self, config: &Config) -> u32 {
        let window = || self.control.window();
        let policies = &config.policies;
        policies.send_tuning.send_buffer(config.send_buffer, policies.congestion, window)
    }

    /// Whether the send buffer has room.
    pub(crate) fn has_room(&self, config: &Config) -> bool {
        self.sequence.has_room(self.buffer(config))
    }

    /// The retransmission timer goes on where another one was in its place.
    fn resume_retransmission(&mut self, config: &Config, now: Instant) {
        let head = self.in_flight.list().and_then(Flight::head_sent);
        self.timers.resume_retransmission(head, self.round_trips.time_out(), config, now);
    }

    /// Whether losses are found by time: RFC 8985 needs SACK (section 4).
    #[inline]
    fn detects_by_time(&self) -> bool {
        self.in_flight.has_list() && self.recovery.is_timed()
    }

    /// Repairs begun since the last time.
    pub(crate) const fn take_loss_events(&mut self) -> u8 {
        self.recovery.take_loss_events()
    }

    /// The peer's SYN says how it reports what arrives.
    pub(crate) fn agree_on_sack(&mut self, sack: bool, policy: LossDetection) {
        self.recovery.agree(match (sack, policy) {
            (false, _) => Reports::Unselective,
            (true, LossDetection::Rfc6675) => Reports::Selective,
            (true, LossDetection::Rack) => Reports::SelectiveTimed,
        });
    }

    /// The handshake is over, and the congestion control has begun.
    pub(crate) fn establish(&mut self, config: &Config, now: Instant) {
        self.round_trips.estimate_mut().on_established();
        let round_trip = self.round_trips.smoothed();
        if let Some(round_trip) = round_trip {
            self.in_flight.on_round_trip(round_trip, now);
        }
        self.control.establish(self.sequence.iss(), round_trip, config, now);
        let window = self.windows().congestion.min(self.sequence.window());
        if let Some(pacing) =
            config.policies.start.pacing(window, self.round_trips.estimate().srtt())
        {
            self.control.start_pacing(pacing, now);
        }
    }

    /// Takes `bytes` from the application; how many there was room for.
    pub(crate) fn write(&mut self, bytes: u32, config: &Config) -> u32 {
        self.sequence.write(bytes, self.buffer(config))
    }

    /// Small segments may be held again.
    pub(crate) fn hold(&mut self) {
        self.timers.stop_waiting_for(Timer::Cork);
        self.sequence.hold();
    }

    /// The path takes segments of `mss` bytes, of which `overhead` are options; what is in flight is sent again. `false`
    /// if they are no larger now.
    pub(crate) fn limit_mss(&mut self, mss: u32, overhead: u16) -> bool {
        let smaller = self.sequence.limit_mss(mss, overhead);
        if smaller && self.sequence.una() > 0 {
            self.control.controller_mut().set_segment_size(self.sequence.mss());
            if self.sequence.is_outstanding() {
                self.send_smaller();
            }
        }
        smaller
    }

    /// The connection is over: stops all timers, and frees what was kept for sending.
    pub(crate) fn stop(&mut self) {
        self.control.stop();
        self.in_flight.forget();
        self.timers.stop();
        // The counters do not count what the last ACK has told of losses.
        self.recovery.take_loss_events();
    }
}
