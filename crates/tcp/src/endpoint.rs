//! One end of one connection, as a driver and an application see it. The state machine is `connection`; here are its verbs,
//! what can be seen of it, and the counters.
//!
//! | module | one idea |
//! | --- | --- |
//! | `connection` | the state machine, and what its parts have decided, carried out |
//! | `arrival` | the checks of a segment that arrives (RFC 9293, section 3.10.7) |
//! | `handshake` | how a connection opens, and data that travels with the SYN (RFC 1644, 7413) |
//! | `send` | what was sent, what became of it, and what may be sent now |
//! | `receive` | what has arrived and was read, and when it is acknowledged |
//! | `close`, `state` | which end waits in TIME-WAIT; the state machine, as a table |
//! | `challenge` | how many challenge ACKs may leave (RFC 5961) |
//! | `path_mtu` | what a router says about the size of packets (RFC 1191, 8201, 5927) |
//! | `config`, `events`, `received`, `transmit`, `counters` | what goes in, and what comes out |

pub use crate::{
    config::Config,
    counters::Counters,
    events::Event,
    handshake::{ListenDecision, classify_for_listener, refuse},
    path_mtu::{PathMtuIgnored, PathMtuReport},
    received::{DropReason, Placement, Received},
    state::{Input, State},
    transmit::Transmit,
};

use alloc::{boxed::Box, sync::Arc};
use core::time::Duration;

use crate::{
    congestion::{CongestionEvent, Inherited, Windows},
    connection::Connection,
    pacing::Pace,
    policy::{AckPolicy, BufferTuning, ClosePolicy, HoldPolicy},
    receive::ReceiveSequence,
    segment::{Segment, TimeWaitHolder, WindowShift},
    send::{Phase, SendSequence},
    seq::SeqNumber,
    units::{Instant, IpVersion},
    wait::{AckWait, Deadline, TimeWaitReason, Wait},
};

/// One end of one connection. It owns no socket, no clock, no thread and no payload.
///
/// The driver's contract: after any `handle_*` call, or any call by the application, drain
/// [`poll_transmit`](Self::poll_transmit), then [`poll_event`](Self::poll_event), and sleep until
/// [`poll_timeout`](Self::poll_timeout). Calling more often than needed is harmless.
///
/// ```
/// use ackwise_tcp::{Config, Endpoint, Instant, Policies, SeqNumber, State};
///
/// let now = Instant::EPOCH;
/// let config = Config::new(Policies::RFC);
/// let mut client = Endpoint::connect(config, SeqNumber(1000), now);
/// let mut server = Endpoint::listen(config, SeqNumber(5000));
/// // SYN, SYN-ACK, ACK: each end's segments are handed to the other.
/// while let Some(transmit) = client.poll_transmit(now) {
///     server.handle_segment(&transmit.segment, now);
///     while let Some(transmit) = server.poll_transmit(now) {
///         client.handle_segment(&transmit.segment, now);
///     }
/// }
/// assert_eq!((client.state(), server.state()), (State::Established, State::Established));
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    connection: Connection,
    counters: Option<Box<Counters>>,
}

/// The verbs.
impl Endpoint {
    /// Opens a connection actively; the SYN comes out of [`poll_transmit`](Self::poll_transmit).
    ///
    /// `iss` is the initial send sequence number; choosing it is the driver's duty (RFC 9293,
    /// section 3.4.1). Endpoints that are given the same [`Arc`] share their configuration.
    #[must_use]
    pub fn connect(config: impl Into<Arc<Config>>, iss: SeqNumber, now: Instant) -> Self {
        let mut connection = Connection::new(config.into(), iss);
        connection.connect(now);
        Self { connection, counters: None }
    }

    /// Waits for a connection. A driver that serves many creates one for each SYN.
    #[must_use]
    pub fn listen(config: impl Into<Arc<Config>>, iss: SeqNumber) -> Self {
        let mut connection = Connection::new(config.into(), iss);
        connection.listen();
        Self { connection, counters: None }
    }

    /// Lets data travel with the SYN, if the policy has it: the driver says that this end and its peer
    /// know each other, as the TAO test (RFC 1644, section 2.3) or a cookie (RFC 7413, section 4.1)
    /// would show. Only before anything was sent or received.
    ///
    /// The SYN of the end that opens then leaves with the first data that is written, and not before.
    pub fn allow_data_with_syn(&mut self) {
        self.connection.allow_data_with_syn();
    }

    /// Takes over what a host remembers of its other connections (RFC 9040), instead of the initial
    /// window and the initial RTO. Only before the handshake.
    pub fn inherit(&mut self, inherited: &Inherited) {
        self.connection.inherit(inherited);
    }

    /// Brings an endpoint from LISTEN to where it was when another one had answered `syn`: one whose sequence number
    /// was a cookie ([`driver::SynCookies`](crate::driver::SynCookies)).
    ///
    /// When that was, nobody knows, so the SYN-ACK's round trip is not measured (Linux `cookie_v4_check`:
    /// `snt_synack` is 0).
    #[cfg(feature = "driver")]
    pub(crate) fn resume(&mut self, syn: &Segment, now: Instant) {
        let _ = self.handle_segment(syn, now);
        let _ = self.poll_transmit(now);
        self.connection.sender_mut().sequence_mut().stop_timing();
    }

    /// Takes one segment off the wire; says where its data belongs, or why the segment was dropped.
    ///
    /// In CLOSED nothing is taken: see [`refuse`].
    pub fn handle_segment(&mut self, segment: &Segment, now: Instant) -> Received {
        self.connection.begin_call();
        let received = self.connection.arrive(segment, now);
        if self.counters.is_some() {
            self.count_received(segment, received);
        }
        received
    }

    #[cold]
    fn count_received(&mut self, segment: &Segment, received: Received) {
        if let Some(counters) = &mut self.counters {
            counters.received(segment, received);
            if self.connection.take_duplicate() {
                counters.duplicate_ack();
            }
            counters.lost(self.connection.sender_mut().take_loss_events());
        }
    }

    /// Lets timers fire. `now` may be late, never early; an idle call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.connection.begin_call();
        self.connection.handle_timeout(now);
        if let Some(counters) = &mut self.counters {
            counters.lost(self.connection.sender_mut().take_loss_events());
        }
    }

    /// Takes a router's report. If it is believed, segments become smaller, and what is in flight is
    /// sent again, one segment first: RFC 1191, section 6.4: such a retransmission "should not change
    /// the congestion window" but "should, however, trigger the slow-start mechanism".
    ///
    /// # Errors
    ///
    /// Says why nothing has changed.
    pub fn handle_path_mtu(&mut self, report: PathMtuReport) -> Result<(), PathMtuIgnored> {
        self.connection.begin_call();
        match self.connection.has_in_flight(report) {
            true => self.limit_path_mtu(report.mtu),
            false => Err(PathMtuIgnored::NotInFlight),
        }
    }

    /// Limits segments to packets of `mtu` bytes, IP header included: what a driver remembers of the
    /// path. On an open connection, what is in flight is sent again, as after a report. A limit never
    /// grows.
    ///
    /// # Errors
    ///
    /// Says why nothing has changed.
    pub fn limit_path_mtu(&mut self, mtu: u32) -> Result<(), PathMtuIgnored> {
        self.connection.begin_call();
        self.connection.limit_path_mtu(mtu)
    }

    /// Gives `bytes` to send; returns how many the send buffer takes.
    pub fn write(&mut self, bytes: u32) -> u32 {
        self.connection.begin_call();
        self.connection.write(bytes)
    }

    /// Takes `bytes` of the received stream; returns how many there were.
    pub fn read(&mut self, bytes: u32) -> u32 {
        self.connection.begin_call();
        self.connection.read(bytes)
    }

    /// Closes the sending direction: a FIN after all that is written. Receiving goes on.
    pub fn close(&mut self) {
        self.connection.begin_call();
        self.connection.close();
    }

    /// Gives the connection up, with an RST where one end may still send (RFC 9293, section 3.10.5). A
    /// reader who is gone before the peer has finished is such a case (section 3.6.1, SHLD-3).
    pub fn abort(&mut self) {
        self.connection.begin_call();
        self.connection.abort();
    }

    /// Acknowledges at once what was received and not yet acknowledged (`TCP_QUICKACK`).
    pub fn acknowledge_now(&mut self) {
        self.connection.begin_call();
        self.connection.receiver_mut().acks_mut().ask_if_pending();
    }

    /// The next segment to put on the wire, if the policies allow one at `now`.
    #[must_use]
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        // Two of five polls of a short connection find nothing but an ACK to send, for a fifth of the instructions.
        if self.connection.has_more() || self.counters.is_some() {
            return self.poll_in_detail(now);
        }
        self.connection.poll_ack(now)
    }

    #[inline(never)]
    fn poll_in_detail(&mut self, now: Instant) -> Option<Transmit> {
        match self.counters {
            None => self.connection.poll_transmit(now),
            Some(_) => self.poll_and_count(now),
        }
    }

    /// The counters want to know what is waited for.
    #[inline(never)]
    fn poll_and_count(&mut self, now: Instant) -> Option<Transmit> {
        let transmit = self.connection.poll_transmit(now);
        let wait = self.wait();
        if let Some(counters) = &mut self.counters {
            counters.polled(transmit.as_ref(), wait, now);
        }
        transmit
    }

    /// What the application should hear about, each kind at most once until it is taken.
    #[must_use]
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.connection.poll_event()
    }

    /// What a congestion control that is set from outside
    /// ([`CongestionPolicy::External`](crate::policy::CongestionPolicy::External)) hears, oldest first, after
    /// [`Event::Congestion`]. Set windows before the next [`poll_transmit`](Self::poll_transmit): what leaves then
    /// counts on them. Of events that nobody takes, the last 64 are kept.
    #[must_use]
    pub fn poll_congestion(&mut self) -> Option<CongestionEvent> {
        self.connection.take_congestion_event()
    }

    /// When to come back if nothing else happens, and which timer asks.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Deadline> {
        self.connection.poll_timeout()
    }

    /// Whether a SYN may reopen this connection out of TIME-WAIT: then the new connection's initial
    /// send sequence number must lie after the number returned.
    ///
    /// RFC 9293, section 3.6.1 (MAY-2), and RFC 6191, section 2: the SYN's timestamp is newer, or
    /// without timestamps its sequence number is beyond all that was received. The rest of MAY-2 is the
    /// driver's: it "returns to TIME-WAIT state if the SYN turns out to be an old duplicate", which is to
    /// say, if the new endpoint returns to LISTEN.
    #[must_use]
    pub fn reopens(&self, segment: &Segment) -> Option<SeqNumber> {
        self.connection.reopens(segment).then(|| self.next_sequence())
    }
}

/// What an application changes on an open connection.
impl Endpoint {
    /// Sets cwnd and ssthresh of a connection whose congestion control is set from outside; less than a segment
    /// counts as one. Returns `false` and changes nothing if it has another control.
    #[must_use]
    pub fn set_windows(&mut self, windows: Windows) -> bool {
        self.connection.set_windows(windows)
    }

    /// Changes when small segments are held (`TCP_NODELAY`, `TCP_CORK`).
    pub fn set_hold(&mut self, hold: HoldPolicy) {
        self.connection.begin_call();
        if self.connection.config().policies.hold != hold {
            self.connection.config_mut().policies.hold = hold;
        }
        self.connection.sender_mut().hold();
    }

    /// Changes when data is acknowledged, from the next segment on. [`AckPolicy::LinuxQuickAck`] learns from
    /// then on.
    pub fn set_ack(&mut self, ack: AckPolicy) {
        self.connection.config_mut().policies.ack = ack;
    }

    /// Chooses how this connection closes: a socket option, where the policies are the host's.
    ///
    /// It counts for a [`close`](Self::close) that is still to come, unless the ends have agreed who waits:
    /// that is negotiated when the connection opens, so [`ClosePolicy::Negotiated`] changes nothing later.
    pub fn set_close(&mut self, close: ClosePolicy) {
        self.connection.config_mut().policies.close = close;
    }

    /// Changes how long the peer may be silent before the connection is given up (`TCP_USER_TIMEOUT`),
    /// from the next timeout on.
    pub fn set_user_timeout(&mut self, user_timeout: Duration) {
        self.connection.config_mut().user_timeout = user_timeout;
    }

    /// Changes how many bytes [`write`](Self::write) takes before they are acknowledged (`SO_SNDBUF`):
    /// from now on, it has this size.
    /// What was written stays, also if it is more.
    pub fn set_send_buffer(&mut self, bytes: u32) {
        self.connection.begin_call();
        self.connection.set_send_buffer(bytes);
    }

    /// Changes the largest window that is advertised (`SO_RCVBUF`); from now on, it is this one. A smaller one takes back nothing
    /// that was advertised (RFC 9293, SHLD-14); a larger one is limited by the shift that the first SYN
    /// has announced, also while the handshake lasts. The peer learns of it with the next segment.
    pub fn set_receive_buffer(&mut self, bytes: u32) {
        let config = self.connection.config_mut();
        config.receive_buffer = bytes;
        config.policies.receive_tuning = BufferTuning::Off;
        self.connection.receiver_mut().sequence_mut().set_buffer(bytes);
    }

    /// Has the SYN announce a window shift that suffices for a receive buffer of `bytes`, to which
    /// [`set_receive_buffer`](Self::set_receive_buffer) may then enlarge it (Linux: the maximum of
    /// `net.ipv4.tcp_rmem`). Before the SYN leaves only; later, it changes nothing.
    pub fn expect_receive_buffer(&mut self, bytes: u32) {
        self.connection.receiver_mut().sequence_mut().expect_buffer(bytes);
    }

    /// Says which IP carries the connection, IPv4 unless this is called; before the handshake only.
    /// It decides the segment size that holds without an MSS option, and the size of the IP header.
    pub const fn set_ip_version(&mut self, ip: IpVersion) {
        self.connection.set_ip_version(ip);
    }
}

/// What can be seen from outside.
impl Endpoint {
    const fn sending(&self) -> &SendSequence {
        self.connection.sender().sequence()
    }

    const fn receiving(&self) -> &ReceiveSequence {
        self.connection.receiver().sequence()
    }

    /// The state of RFC 9293, section 3.3.2.
    #[must_use]
    pub const fn state(&self) -> State {
        self.connection.state()
    }

    /// Bytes of the peer's stream that have arrived in order.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.receiving().in_order()
    }

    /// Bytes that have arrived in order and are not yet read.
    #[must_use]
    pub const fn readable(&self) -> u64 {
        self.receiving().readable()
    }

    /// Bytes from the first unread one on to the end of the window that was advertised: what a
    /// [`Reassembly`](crate::driver::Reassembly) must have room for.
    #[must_use]
    pub const fn receivable(&self) -> u64 {
        self.receiving().receivable()
    }

    /// Bytes of our stream that the application has written.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.sending().written_end() - 1
    }

    /// Bytes of our stream that were sent, once or more often.
    #[must_use]
    pub fn sent(&self) -> u64 {
        let sequence = self.sending();
        sequence.max().min(sequence.written_end()).saturating_sub(1)
    }

    /// Bytes of our stream that the peer has acknowledged: a driver may forget what is before.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        self.sending().acknowledged()
    }

    /// Bytes (SYN and FIN included) that were sent and are not acknowledged: FlightSize.
    #[must_use]
    pub fn flight(&self) -> u32 {
        self.sending().flight()
    }

    /// Data bytes of a full segment to this peer.
    #[must_use]
    pub const fn segment_size(&self) -> u32 {
        self.sending().mss()
    }

    /// The peer's receive window, in bytes.
    #[must_use]
    pub const fn peer_window(&self) -> u32 {
        self.sending().window()
    }

    /// Our initial send sequence number.
    #[must_use]
    pub const fn initial_sequence(&self) -> SeqNumber {
        self.sending().iss()
    }

    /// SND.NXT: what an exact RST from here would carry.
    #[must_use]
    pub fn next_sequence(&self) -> SeqNumber {
        self.sending().max_number()
    }

    /// RCV.NXT.
    #[must_use]
    pub fn next_expected(&self) -> SeqNumber {
        self.receiving().next_number()
    }

    /// What the SYNs have agreed on; `None` until the peer's has arrived.
    #[must_use]
    pub fn negotiated(&self) -> Option<Negotiated> {
        let sequence = self.receiving();
        (sequence.next() > 0).then(|| Negotiated {
            sack: sequence.uses_sack(),
            timestamps: sequence.uses_timestamps(),
            window_shifts: sequence
                .scales()
                .then_some((sequence.window_shift(), self.sending().window_shift())),
            time_wait_holder: self.connection.closing().agreed(),
        })
    }

    /// The retransmission timeout as it stands now, back-off included (RFC 6298).
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.connection.sender().round_trip().rto()
    }

    /// The same without back-off: what the round trips measured so far give.
    #[must_use]
    pub fn rto_without_back_off(&self) -> Duration {
        self.connection.sender().round_trip().rto_without_back_off()
    }

    /// SRTT (RFC 6298), once there is a sample.
    #[must_use]
    pub fn smoothed_round_trip(&self) -> Option<Duration> {
        self.connection.sender().round_trip().srtt()
    }

    /// The largest receive window that the peer has advertised, in bytes.
    #[must_use]
    pub const fn largest_peer_window(&self) -> u32 {
        self.sending().max_window()
    }

    /// How often the retransmission timeout was doubled since the last progress.
    #[must_use]
    pub const fn back_offs(&self) -> u8 {
        self.connection.sender().round_trip().back_offs()
    }

    /// Where loss recovery stands.
    #[must_use]
    pub const fn recovery_phase(&self) -> RecoveryPhase {
        match self.connection.sender().phase() {
            Phase::Open if self.connection.sender().has_duplicate_acks() => RecoveryPhase::Disorder,
            Phase::Open => RecoveryPhase::Open,
            Phase::Fast(_) => RecoveryPhase::Recovery,
            Phase::GoneBack | Phase::Forward => RecoveryPhase::Loss,
        }
    }

    /// Why nothing (more) is sent now; `None` if something would be.
    #[must_use]
    pub fn wait(&self) -> Option<Wait> {
        self.connection.wait()
    }

    /// Why what was received is not acknowledged yet; `None` if nothing is unacknowledged.
    #[must_use]
    pub fn ack_wait(&self) -> Option<AckWait> {
        self.connection.receiver().acks().wait(self.connection.config().policies.ack)
    }

    /// Why this end is in TIME-WAIT, if it is.
    #[must_use]
    pub fn time_wait_reason(&self) -> Option<TimeWaitReason> {
        self.connection.closing().reason(self.connection.state())
    }

    /// cwnd and ssthresh.
    #[must_use]
    #[inline]
    pub fn windows(&self) -> Windows {
        self.connection.sender().windows()
    }

    /// The rate of a sender that is paced.
    #[must_use]
    pub fn pace(&self) -> Option<Pace> {
        self.connection.sender().pace()
    }

    /// What another connection to the same host may take over (RFC 9040): the windows only if there was
    /// a connection at all.
    #[must_use]
    pub fn heritage(&self) -> Inherited {
        self.connection.sender().heritage()
    }

    /// Counts from now on; counters that there are begin at zero again.
    pub fn count(&mut self) {
        let _ = (self.connection.take_duplicate(), self.connection.sender_mut().take_loss_events());
        self.counters = Some(Box::new(Counters::NONE));
    }

    /// What was counted; `None` before [`count`](Self::count).
    #[must_use]
    pub fn counters(&self) -> Option<&Counters> {
        self.counters.as_deref()
    }
}

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

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, vec::Vec};

    use super::*;
    use crate::{Flags, Policies, policy::Offer, units::Nanos};

    #[test]
    fn an_idle_endpoint_takes_at_most_512_bytes() {
        let size = size_of::<Endpoint>();
        assert!(size <= 512, "an endpoint takes {size} bytes");
    }

    #[test]
    fn the_state_of_bbr_takes_at_most_188_bytes_more() {
        assert!(size_of::<crate::congestion::Bbr>() <= 188);
    }

    #[test]
    fn data_behind_a_gap_is_not_readable() {
        let now = Instant::EPOCH;
        let config = Config::new(Policies { offer: Offer::NONE, ..Policies::RFC });
        let mut endpoint = Endpoint::listen(config, SeqNumber(5_000));
        let syn = Segment { seq: SeqNumber(0), flags: Flags::SYN, ..Segment::default() };
        assert_eq!(endpoint.handle_segment(&syn, now), Received::Taken(None));
        assert!(endpoint.poll_transmit(now).is_some_and(|transmit| transmit.segment.flags.syn));
        let data = |seq, len| Segment {
            seq: SeqNumber(seq),
            ack: Some(SeqNumber(5_001)),
            len,
            ..Segment::default()
        };
        for (segment, events) in [
            (data(1, 0), [Some(Event::Connected), None]),
            (data(101, 100), [None, None]),
            (data(1, 100), [Some(Event::Readable), None]),
        ] {
            let _ = endpoint.handle_segment(&segment, now);
            assert_eq!([endpoint.poll_event(), endpoint.poll_event()], events, "{segment:?}");
        }
    }

    const ROUND_TRIPS: u64 = 400;
    const BYTES: u32 = 300_000;
    const HALF: Nanos = Nanos::from_millis(5);

    /// What leaves in a transfer that loses each 20th segment, if both ends count, or not.
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn left(policies: Policies, counts: bool) -> Vec<(Instant, usize, Transmit)> {
        let mut now = Instant::EPOCH + Nanos::from_millis(1_000);
        let config = Config::new(policies);
        let server = Endpoint::listen(config, SeqNumber(1));
        let mut ends = [server, Endpoint::connect(config, SeqNumber(2), now)];
        if counts {
            ends.iter_mut().for_each(Endpoint::count);
        }
        let mut lines: [VecDeque<(Instant, Segment)>; 2] = Default::default();
        let (mut all, mut written) = (Vec::new(), 0);
        for _ in 0..2 * ROUND_TRIPS {
            written += ends[0].write(BYTES - written);
            for end in 0..2 {
                while let Some(transmit) = ends[end].poll_transmit(now) {
                    all.push((now, end, transmit));
                    if all.len() % 20 != 0 {
                        lines[1 - end].push_back((now + HALF, transmit.segment));
                    }
                }
            }
            now = now + HALF;
            for (end, line) in ends.iter_mut().zip(&mut lines) {
                while let Some((_, segment)) = line.pop_front_if(|(at, _)| *at <= now) {
                    let _ = end.handle_segment(&segment, now);
                    end.read(u32::MAX);
                }
                end.handle_timeout(now);
            }
        }
        assert_eq!(ends[0].acknowledged(), BYTES.into(), "{policies:?}");
        all
    }

    /// An end that counts takes the long way with each poll.
    #[test]
    fn the_short_way_finds_what_the_long_way_finds() {
        for policies in [Policies::RFC, Policies::LINUX_6, Policies::LINUX_6_BBR] {
            let [counting, other] = [true, false].map(|counts| left(policies, counts));
            let differs = counting.iter().zip(&other).position(|(one, another)| one != another);
            assert_eq!((differs, counting.len()), (None, other.len()), "{policies:?}");
        }
    }
}
