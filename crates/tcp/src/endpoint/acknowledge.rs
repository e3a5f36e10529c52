//! When to acknowledge: the state behind [`AckPolicy`].

use core::time::Duration;

use super::{Endpoint, alarm::Alarm};
use crate::{
    policy::{AckDecision, AckPolicy, Arrival},
    units::Instant,
    wait::AckWait,
};

/// What is unacknowledged, and Linux's and Heidemann's estimates of when to acknowledge it.
#[derive(Clone, Debug)]
pub(super) struct Acknowledger {
    /// An ACK must leave at once.
    pub(super) now: bool,
    /// RCV.NXT as it stood in the last segment sent.
    pub(super) last_sent: u64,
    /// When the delayed ACK is due.
    pub(super) due: Alarm,
    /// When the first unacknowledged segment arrived; meaningful while `due` is on.
    since: Instant,
    /// When data last arrived, once it has.
    last_arrival: Alarm,
    /// The largest segment that the peer has sent: what "full" means.
    full_segment: u32,
    /// Heidemann's interarrival time, in microseconds.
    interarrival_us: u32,
    /// Linux: `ato`, in microseconds.
    time_out_us: u32,
    /// Linux: ACKs left in the quick-ACK phase.
    quick: u8,
    /// Linux: "ping-pong", this end answers what it receives.
    interactive: bool,
}

/// RFC 9293, section 3.7.1: the MSS that holds if none was announced, so a full segment is no smaller.
const DEFAULT_SEGMENT: u32 = 536;
/// Linux `TCP_ATO_MIN` and `TCP_DELACK_MIN`.
const TIME_OUT_MIN_US: u32 = 40_000;
/// Linux `TCP_DELACK_MAX`; also the longest that we wait for an interarrival time (ours).
const TIME_OUT_MAX_US: u32 = 200_000;
/// Linux `TCP_MAX_QUICKACKS`.
const QUICK_MAX: u8 = 16;

impl Acknowledger {
    pub(super) const fn new() -> Self {
        Self {
            now: false,
            last_sent: 0,
            due: Alarm::OFF,
            since: Instant::EPOCH,
            last_arrival: Alarm::OFF,
            full_segment: DEFAULT_SEGMENT,
            interarrival_us: TIME_OUT_MAX_US,
            time_out_us: 0,
            quick: 0,
            interactive: false,
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        self.now || self.due.is_on()
    }

    pub(super) const fn clear(&mut self) {
        self.now = false;
        self.due = Alarm::OFF;
    }

    /// A segment that carries ACK = `next` has left.
    pub(super) const fn sent(&mut self, next: u64) {
        self.clear();
        self.last_sent = next;
        self.quick = self.quick.saturating_sub(1);
    }

    /// We have sent data: if that came soon after receiving some, it was an answer, and the next ACK
    /// can travel with the next answer (Linux `tcp_event_data_sent`).
    pub(super) fn data_sent(&mut self, now: Instant) {
        let answered = self.last_arrival.due().is_some_and(|arrival| {
            now.since(arrival) < Duration::from_micros(u64::from(self.time_out_us))
        });
        self.interactive |= answered;
    }

    pub(super) fn wait(&self, policy: AckPolicy) -> Option<AckWait> {
        let (since, until) = (self.since, self.due.due().filter(|_| !self.now)?);
        Some(match policy {
            AckPolicy::HostTick { .. } => AckWait::HostTick { since, until },
            AckPolicy::Interarrival => AckWait::Interarrival { since, until },
            AckPolicy::Withheld { .. } => AckWait::Withheld { since, until },
            AckPolicy::EverySegment | AckPolicy::Delayed { .. } | AckPolicy::LinuxQuickAck => {
                AckWait::Delayed { since, until }
            }
        })
    }

    /// Learns from an arrival of `len` octets at `now`: what is full, how fast they follow.
    fn learn(&mut self, len: u32, largest: u32, rto: Duration, now: Instant) {
        self.full_segment = self.full_segment.max(len.min(largest));
        match self.last_arrival.due() {
            // Linux `tcp_event_data_recv`: the first data starts the quick-ACK phase.
            None => {
                self.quick = QUICK_MAX;
                self.time_out_us = TIME_OUT_MIN_US;
            }
            Some(last) => {
                let gap = now.since(last);
                let gap_us = u32::try_from(gap.as_micros()).unwrap_or(u32::MAX);
                if gap_us <= TIME_OUT_MIN_US / 2 {
                    self.time_out_us = self.time_out_us / 2 + TIME_OUT_MIN_US / 2;
                } else if gap_us < self.time_out_us {
                    self.time_out_us = self.time_out_us / 2 + gap_us;
                } else if gap > rto {
                    // "Too long gap. Apparently sender failed to restart window."
                    self.quick = QUICK_MAX;
                }
                self.interarrival_us = self.interarrival_us.min(gap_us.max(1));
            }
        }
        self.last_arrival = Alarm::at(now);
    }
}

impl Endpoint {
    /// Data of `len` octets has arrived; `in_order` if it was just what was expected next.
    pub(super) fn schedule_ack(&mut self, len: u32, in_order: bool, now: Instant) {
        let rto = self.round_trip.rto();
        let srtt = self.round_trip.srtt();
        let acknowledger = &mut self.acknowledger;
        acknowledger.learn(len, self.sender.mss, rto, now);
        let unacked = self.receiver.next.saturating_sub(acknowledger.last_sent);
        let out_of_order = !in_order || !self.receiver.out_of_order.is_empty();
        if out_of_order {
            // Linux `tcp_enter_quickack_mode`.
            acknowledger.interactive = false;
            acknowledger.quick = acknowledger.quick.max(2);
        }
        let arrival = Arrival {
            unacked_octets: u32::try_from(unacked).unwrap_or(u32::MAX),
            mss: acknowledger.full_segment.min(self.sender.mss),
            out_of_order,
            quick: acknowledger.quick > 0 && !acknowledger.interactive,
            time_out: linux_time_out(acknowledger.time_out_us, acknowledger.interactive, srtt),
            interarrival: Duration::from_micros(u64::from(acknowledger.interarrival_us)),
        };
        if !acknowledger.due.is_on() {
            acknowledger.since = now;
        }
        match self.config.policies.ack.on_arrival(arrival, now) {
            AckDecision::Now(_) => acknowledger.now = true,
            AckDecision::At(due) => acknowledger.due.not_later_than(due),
        }
    }

    /// The reader has taken `octets`: the peer may want to hear of the window.
    pub(super) fn after_read(&mut self, octets: u32, _now: Instant) {
        let withheld = matches!(self.config.policies.ack, AckPolicy::Withheld { .. });
        if octets > 0
            && !withheld
            && self.state.receives()
            && self.receiver.deserves_update(self.sender.mss)
        {
            self.acknowledger.now = true;
        }
    }
}

/// Linux `tcp_send_delayed_ack`: the time-out, at most 500 ms, 200 ms for an answering connection, or
/// the round-trip time (but 40 ms at least).
fn linux_time_out(time_out_us: u32, interactive: bool, srtt: Option<Duration>) -> Duration {
    let time_out = Duration::from_micros(u64::from(time_out_us));
    let floor = Duration::from_micros(u64::from(TIME_OUT_MIN_US));
    if time_out <= floor {
        return time_out;
    }
    let longest = if interactive { TIME_OUT_MAX_US } else { 500_000 };
    let longest = Duration::from_micros(u64::from(longest));
    time_out.min(srtt.map_or(longest, |srtt| srtt.max(floor).min(longest)))
}
