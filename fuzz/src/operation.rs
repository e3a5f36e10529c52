//! A fuzz input: how two endpoints are set up, and what is done to them.

use core::{num::NonZeroU8, time::Duration};

use ackwise_tcp::{
    Config, Flags, Instant, Options, Policies, SackBlocks, Segment, SeqNumber, TimeWaitHolder,
    Timestamps, WindowShift,
    policy::{
        AckDelay, AckPolicy, ClosePolicy, CongestionPolicy, HoldPolicy, LossDetection, Offer,
        ResetInTimeWait,
    },
};
use arbitrary::Arbitrary;

/// A whole input.
#[derive(Arbitrary, Clone, Debug)]
pub struct Run {
    /// The end that is attacked, or the first of the pair.
    pub setup: Setup,
    /// The second of the pair.
    pub peer: Setup,
    /// Whether the first opens the connection.
    pub active: bool,
    /// What happens. Only the first [`Run::LIMIT`] count.
    pub operations: Vec<Operation>,
}

impl Run {
    /// More operations find nothing that fewer do not.
    pub const LIMIT: usize = 400;
}

/// How an endpoint is configured.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Setup {
    preset: u8,
    congestion: u8,
    by_time: bool,
    hold: Hold,
    ack: Ack,
    sack: bool,
    timestamps: bool,
    window_scale: bool,
    close: u8,
    ignores_resets: bool,
    mss: u16,
    receive_buffer: u32,
    send_buffer: u32,
    iss: u32,
}

/// When small segments are held.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Hold {
    Off,
    Nagle,
    Bsd,
    Minshall,
    Cork,
}

/// When is acknowledged.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Ack {
    Every,
    Delayed(u8, u8),
    Tick(u8),
    Linux,
    Interarrival,
    Withheld(u8),
}

/// Something that happens to one end, or to the link.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Operation {
    /// A crafted segment arrives at the first end.
    Segment(Crafted),
    Write(End, u16),
    Read(End, u16),
    Close(End),
    Abort(End),
    Hold(End, Hold),
    Ack(End, Ack),
    AcknowledgeNow(End),
    /// The receive buffer of this end gets another size.
    ReceiveBuffer(End, u32),
    /// A router reports an MTU to this end, for the segment that lies so far before SND.NXT.
    PathMtu(End, u16, u16),
    /// Time passes, in units of 100 us; timers fire when they are due.
    Pass(u16),
    /// Time passes until the next timer.
    NextTimer,
    /// The oldest segment on its way to this end arrives.
    Deliver(End),
    /// It is lost.
    Lose(End),
    /// It arrives and stays on the way too.
    Duplicate(End),
    /// It is overtaken by the next.
    Overtake(End),
}

/// One of two ends.
#[derive(Arbitrary, Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    First,
    Second,
}

/// A segment with numbers near those that an endpoint expects.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Crafted {
    seq: i32,
    near: bool,
    ack: Option<i32>,
    flags: u8,
    window: u16,
    len: u16,
    mss: Option<u16>,
    window_scale: Option<u8>,
    sack_permitted: bool,
    timestamps: Option<(i8, i8)>,
    sack: Option<[(i16, i16); 4]>,
    time_wait: Option<bool>,
}

impl Crafted {
    /// The segment, if RCV.NXT is `seq`, SND.NXT is `ack` and the clock shows `clock`.
    pub fn segment(&self, seq: SeqNumber, ack: SeqNumber, clock: u32) -> Segment {
        let offset = if self.near { self.seq % 4 } else { self.seq % 200_000 };
        let flag = |bit: u8| self.flags & (1 << bit) != 0;
        let mut sack = SackBlocks::default();
        for (left, right) in self.sack.into_iter().flatten() {
            sack.push(shifted(ack, left.into()), shifted(ack, right.into()));
        }
        Segment {
            seq: shifted(seq, offset),
            ack: self.ack.map(|offset| shifted(ack, if self.near { offset % 4 } else { offset })),
            flags: Flags { fin: flag(0), syn: flag(1), rst: flag(2), psh: flag(3), urg: flag(4) },
            window: self.window,
            options: Options {
                mss: self.mss,
                window_scale: self.window_scale.map(WindowShift::new),
                sack_permitted: self.sack_permitted,
                timestamps: self.timestamps.map(|(value, echo)| Timestamps {
                    value: clock.wrapping_add_signed(value.into()),
                    echo: clock.wrapping_add_signed(echo.into()),
                }),
                sack,
            },
            time_wait_holder: self.time_wait.map(holder),
            len: (self.len % 3_000).into(),
        }
    }
}

impl Setup {
    pub fn iss(&self) -> SeqNumber {
        SeqNumber(self.iss)
    }

    /// Anything that a caller may ask for. Buffers are small, so that they fill.
    pub fn config(&self) -> Config {
        let presets = [
            Policies::RFC,
            Policies::LINUX_6,
            Policies::BSD_4_4,
            Policies::SUNOS_4_1,
            Policies::LINUX_6_BBR,
        ];
        let congestion = [
            CongestionPolicy::Tahoe,
            CongestionPolicy::Ns2Tahoe,
            CongestionPolicy::Reno,
            CongestionPolicy::NewReno,
            CongestionPolicy::Sack,
            CongestionPolicy::LinuxReno,
            CongestionPolicy::Cubic,
            CongestionPolicy::External,
            CongestionPolicy::Bbr,
        ];
        let close = [
            ClosePolicy::Ordinary,
            ClosePolicy::Swap,
            ClosePolicy::Negotiated(TimeWaitHolder::Mine),
            ClosePolicy::Negotiated(TimeWaitHolder::Yours),
        ];
        let resets = [ResetInTimeWait::Ends, ResetInTimeWait::Ignored];
        let policies = Policies {
            close: close[usize::from(self.close) % close.len()],
            reset_in_time_wait: resets[usize::from(self.ignores_resets)],
            hold: self.hold.policy(),
            ack: self.ack.policy(),
            loss_detection: match self.by_time {
                true => LossDetection::Rack,
                false => LossDetection::Rfc6675,
            },
            congestion: congestion[usize::from(self.congestion) % congestion.len()],
            offer: Offer {
                sack: self.sack,
                timestamps: self.timestamps,
                window_scale: self.window_scale,
            },
            ..presets[usize::from(self.preset) % presets.len()]
        };
        Config {
            mss: self.mss.clamp(100, 9_000),
            receive_buffer: receive_buffer(self.receive_buffer),
            send_buffer: self.send_buffer % 100_000 + 1,
            ..Config::new(policies)
        }
    }
}

/// A size of a receive buffer: with and without need of a window scale.
pub fn receive_buffer(bytes: u32) -> u32 {
    bytes % 200_000 + SMALLEST_BUFFER
}

/// With less than some segments' room a run takes too many round trips to be worth its time.
const SMALLEST_BUFFER: u32 = 500;

impl Hold {
    pub fn policy(self) -> HoldPolicy {
        match self {
            Self::Off => HoldPolicy::Off,
            Self::Nagle => HoldPolicy::Nagle,
            Self::Bsd => HoldPolicy::BsdNagle,
            Self::Minshall => HoldPolicy::Minshall,
            Self::Cork => HoldPolicy::LINUX_CORK,
        }
    }
}

impl Ack {
    pub fn policy(self) -> AckPolicy {
        let delay = |millis: u8| {
            AckDelay::try_from(Duration::from_millis(millis.into())).expect("below 500 ms")
        };
        match self {
            Self::Every => AckPolicy::EverySegment,
            Self::Delayed(every, millis) => AckPolicy::Delayed {
                every: NonZeroU8::new(every).unwrap_or(NonZeroU8::MIN),
                delay: delay(millis),
            },
            Self::Tick(phase) => {
                AckPolicy::HostTick { period: AckDelay::MILLIS_200, phase: delay(phase) }
            }
            Self::Linux => AckPolicy::LinuxQuickAck,
            Self::Interarrival => AckPolicy::Interarrival,
            Self::Withheld(millis) => AckPolicy::Withheld { delay: delay(millis) },
        }
    }
}

fn holder(mine: bool) -> TimeWaitHolder {
    if mine { TimeWaitHolder::Mine } else { TimeWaitHolder::Yours }
}

fn shifted(number: SeqNumber, by: i32) -> SeqNumber {
    SeqNumber(number.0.wrapping_add_signed(by))
}

/// The clock that timestamps are near to.
pub fn clock(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}
