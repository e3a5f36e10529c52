//! Header lines of a script: which policies, which buffers.

use std::{num::NonZeroU8, time::Duration};

use ackwise_tcp::{
    Config, IpVersion, Policies, SeqNumber, TimeWaitHolder,
    notation::Isns,
    policy::{
        AckDelay, AckPolicy, BufferTuning, ClosePolicy, CongestionPolicy, DSackPolicy, DecayRule,
        DeferralPolicy, FrtoPolicy, HoldPolicy, IdleRestart, IdleSince, IdleThreshold, IdleTime,
        InitialWindow, LossDetection, Offer, PacedUntil, RateBased, RateVersion, ReductionPolicy,
        ResetInTimeWait, RestartWindow, Scale, SlowStartPolicy, StartPolicy, TimerPolicy,
        UndoPolicy, UnusedWindow,
    },
};

/// What a script may choose before its first step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) config: Config,
    pub(super) ip: IpVersion,
    /// `sender` is our end, `receiver` the peer.
    pub(super) isns: Isns,
    /// The listener has no room, so that it answers with cookies.
    pub(super) full: bool,
}

impl Default for Settings {
    /// The initial sequence numbers make both directions wrap around after 5 and 10 segments.
    fn default() -> Self {
        let before_wrap = |bytes: u32| SeqNumber(0u32.wrapping_sub(bytes));
        let isns = Isns { sender: before_wrap(5 * 1460), receiver: before_wrap(10 * 1460) };
        Self { config: Config::new(Policies::RFC), ip: IpVersion::V4, isns, full: false }
    }
}

impl Settings {
    /// Applies a header line; `None` if the line is not one.
    pub(super) fn apply(&mut self, line: &str) -> Option<Result<(), String>> {
        let (kind, words) = line.split_once(char::is_whitespace)?;
        let each = |apply: &mut dyn FnMut(&str) -> Option<()>| {
            words.split_whitespace().try_for_each(|word| {
                apply(word).ok_or_else(|| format!("{word:?} is not known to {kind}"))
            })
        };
        match kind {
            "policies" => Some(each(&mut |word| policy(&mut self.config.policies, word))),
            "config" => Some(each(&mut |word| config(&mut self.config, word))),
            "ip" => Some(each(&mut |word| ip(&mut self.ip, word))),
            "isn" => Some(each(&mut |word| isn(&mut self.isns, word))),
            "listener" => Some(each(&mut |word| full(&mut self.full, word))),
            _ => None,
        }
    }
}

fn config(config: &mut Config, word: &str) -> Option<()> {
    let (name, value) = word.split_once('=')?;
    match name {
        "mss" => config.mss = value.parse().ok()?,
        "receive_buffer" => config.receive_buffer = value.parse().ok()?,
        "send_buffer" => config.send_buffer = value.parse().ok()?,
        "time_wait" => config.time_wait = duration(value)?,
        "bbr_phase" => config.bbr_phase = value.parse().ok()?,
        "tick_phase" => config.tick_phase = Some(duration(value)?),
        "user_timeout" => config.user_timeout = duration(value)?,
        _ => return None,
    }
    Some(())
}

fn ip(ip: &mut IpVersion, word: &str) -> Option<()> {
    *ip = match word {
        "4" => IpVersion::V4,
        "6" => IpVersion::V6,
        _ => return None,
    };
    Some(())
}

fn isn(isns: &mut Isns, word: &str) -> Option<()> {
    match word.split_once('=')? {
        ("ours", value) => isns.sender = SeqNumber(value.parse().ok()?),
        ("peer", value) => isns.receiver = SeqNumber(value.parse().ok()?),
        _ => return None,
    }
    Some(())
}

fn full(full: &mut bool, word: &str) -> Option<()> {
    *full = word == "full";
    full.then_some(())
}

fn policy(policies: &mut Policies, word: &str) -> Option<()> {
    let Some((name, value)) = word.split_once('=') else {
        *policies = preset(word)?;
        return Some(());
    };
    match name {
        "ack" => policies.ack = ack(value)?,
        "hold" => policies.hold = hold(value)?,
        "iw" => policies.initial_window = initial_window(value)?,
        "start" => policies.start = start(value)?,
        "slow-start" => policies.slow_start = slow_start(value)?,
        "congestion" => policies.congestion = congestion(value)?,
        "loss" => policies.loss_detection = loss_detection(value)?,
        "reduction" => policies.reduction = reduction(value)?,
        "undo" => policies.undo = if switch(value)? { UndoPolicy::Linux } else { UndoPolicy::Off },
        "frto" => policies.frto = if switch(value)? { FrtoPolicy::Linux } else { FrtoPolicy::Off },
        "receive-tuning" => policies.receive_tuning = tuning(value)?,
        "send-tuning" => policies.send_tuning = tuning(value)?,
        "unused" => policies.unused_window = unused_window(value)?,
        "idle" => policies.idle_restart = idle_restart(value)?,
        "timers" => policies.timers = timers(value)?,
        "deferral" => {
            policies.deferral =
                if switch(value)? { DeferralPolicy::Linux } else { DeferralPolicy::Off };
        }
        "d-sack" => policies.d_sack = d_sack(value)?,
        "offer" => policies.offer = offer(value)?,
        "close" => policies.close = close(value)?,
        "rfc1337" => policies.reset_in_time_wait = rfc1337(value)?,
        _ => return None,
    }
    Some(())
}

fn preset(name: &str) -> Option<Policies> {
    Some(match name {
        "RFC" => Policies::RFC,
        "LINUX_6" => Policies::LINUX_6,
        "LINUX_6_BBR" => Policies::LINUX_6_BBR,
        "BSD_4_4" => Policies::BSD_4_4,
        "SUNOS_4_1" => Policies::SUNOS_4_1,
        _ => return None,
    })
}

/// `every`, `delayed(2,40ms)`, `tick(200ms,0ms)`, `ns-2(1,100ms)`, `linux`, `interarrival` or
/// `withheld(120ms)`.
pub(super) fn ack(value: &str) -> Option<AckPolicy> {
    let delay = |text: &str| AckDelay::try_from(duration(text)?).ok();
    let (name, arguments) = arguments(value)?;
    Some(match (name, &arguments[..]) {
        ("every", []) => AckPolicy::EverySegment,
        ("delayed", [every, after]) => {
            AckPolicy::Delayed { every: every.parse::<NonZeroU8>().ok()?, delay: delay(after)? }
        }
        ("tick", [period, phase]) => {
            AckPolicy::HostTick { period: delay(period)?, phase: delay(phase)? }
        }
        ("ns-2", [every, interval]) => {
            AckPolicy::Ns2 { every: every.parse::<NonZeroU8>().ok()?, interval: delay(interval)? }
        }
        ("linux", []) => AckPolicy::LinuxQuickAck,
        ("interarrival", []) => AckPolicy::Interarrival,
        ("withheld", [after]) => AckPolicy::Withheld { delay: delay(after)? },
        _ => return None,
    })
}

fn hold(value: &str) -> Option<HoldPolicy> {
    let (name, arguments) = arguments(value)?;
    Some(match (name, &arguments[..]) {
        ("off", []) => HoldPolicy::Off,
        ("nagle", []) => HoldPolicy::Nagle,
        ("bsd", []) => HoldPolicy::BsdNagle,
        ("minshall", []) => HoldPolicy::Minshall,
        ("cork", [release]) => HoldPolicy::Cork { release: duration(release)? },
        _ => return None,
    })
}

fn initial_window(value: &str) -> Option<InitialWindow> {
    Some(match value {
        "bsd" => InitialWindow::BsdPassiveTwo,
        "rfc3390" => InitialWindow::Rfc3390,
        "rfc6928" => InitialWindow::Rfc6928,
        segments => InitialWindow::Segments(segments.parse().ok()?),
    })
}

fn slow_start(value: &str) -> Option<SlowStartPolicy> {
    match value {
        "until-loss" => Some(SlowStartPolicy::UntilLoss),
        "hoe" => Some(SlowStartPolicy::Hoe),
        "hystart" => Some(SlowStartPolicy::HyStart),
        _ => None,
    }
}

fn loss_detection(value: &str) -> Option<LossDetection> {
    match value {
        "rfc-6675" => Some(LossDetection::Rfc6675),
        "rack" => Some(LossDetection::Rack),
        _ => None,
    }
}

fn reduction(value: &str) -> Option<ReductionPolicy> {
    match value {
        "at-once" => Some(ReductionPolicy::AtOnce),
        "prr" => Some(ReductionPolicy::Proportional),
        _ => None,
    }
}

fn d_sack(value: &str) -> Option<DSackPolicy> {
    match value {
        "off" => Some(DSackPolicy::Off),
        "rfc2883" => Some(DSackPolicy::Rfc2883),
        _ => None,
    }
}

fn unused_window(value: &str) -> Option<UnusedWindow> {
    match value {
        "kept" => Some(UnusedWindow::Kept),
        "linux" => Some(UnusedWindow::Linux),
        _ => None,
    }
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "off" => Some(false),
        "linux" => Some(true),
        _ => None,
    }
}

fn tuning(value: &str) -> Option<BufferTuning> {
    Some(if switch(value)? { BufferTuning::Linux } else { BufferTuning::Off })
}

fn start(value: &str) -> Option<StartPolicy> {
    match value {
        "at-once" => Some(StartPolicy::AtOnce),
        "paced" => Some(StartPolicy::Paced),
        _ => None,
    }
}

fn congestion(value: &str) -> Option<CongestionPolicy> {
    Some(match value {
        "tahoe" => CongestionPolicy::Tahoe,
        "ns-2-tahoe" => CongestionPolicy::Ns2Tahoe,
        "reno" => CongestionPolicy::Reno,
        "newreno" => CongestionPolicy::NewReno,
        "sack" => CongestionPolicy::Sack,
        "linux-reno" => CongestionPolicy::LinuxReno,
        "cubic" => CongestionPolicy::Cubic,
        "bbr" => CongestionPolicy::Bbr,
        _ => return None,
    })
}

/// `keep`, `since-send`, `since-receive`, `slow-start(one-segment,send,2rto)`, `decay`, `rfc-2861`,
/// `decay(8)` with a cap in segments, or `paced(reno,75,first-ack)`.
fn idle_restart(value: &str) -> Option<IdleRestart> {
    let (name, arguments) = arguments(value)?;
    Some(match (name, &arguments[..]) {
        ("keep", []) => IdleRestart::Keep,
        ("since-send", []) => IdleRestart::RFC_5681,
        ("since-receive", []) => IdleRestart::BSD_4_4,
        ("slow-start", [window, since, threshold]) => IdleRestart::SlowStart {
            after: IdleTime { since: idle_since(since)?, threshold: threshold_of(threshold)? },
            window: match *window {
                "one-segment" => RestartWindow::OneSegment,
                "rfc-5681" => RestartWindow::Rfc5681,
                _ => return None,
            },
        },
        ("decay", []) => IdleRestart::LINUX,
        ("rfc-2861", []) => IdleRestart::RFC_2861,
        ("new-cwv", []) => IdleRestart::NewCwv,
        ("decay", [cap]) => {
            IdleRestart::Decay { rule: DecayRule::Linux, cap: Some(cap.parse().ok()?) }
        }
        ("paced", [version, percent, until]) => IdleRestart::Paced {
            after: IdleTime::RFC_5681,
            by: RateBased {
                version: rate_version(version)?,
                scale: Scale::percent(percent.parse().ok()?)?,
                until: match *until {
                    "first-ack" => PacedUntil::FirstAck,
                    "first-arrival" => PacedUntil::FirstArrival,
                    _ => return None,
                },
            },
        },
        _ => return None,
    })
}

fn idle_since(value: &str) -> Option<IdleSince> {
    match value {
        "send" => Some(IdleSince::Send),
        "receive" => Some(IdleSince::Receive),
        _ => None,
    }
}

fn threshold_of(value: &str) -> Option<IdleThreshold> {
    match value {
        "rtt" => Some(IdleThreshold::RoundTrip),
        count => Some(IdleThreshold::Timeouts(count.strip_suffix("rto")?.parse().ok()?)),
    }
}

fn rate_version(value: &str) -> Option<RateVersion> {
    Some(match value {
        "reno" => RateVersion::Reno,
        "vegas" => RateVersion::Vegas,
        "vegas-window" => RateVersion::VegasWindow,
        "count" => RateVersion::Count,
        _ => return None,
    })
}

fn timers(value: &str) -> Option<TimerPolicy> {
    Some(match value {
        "bsd" => TimerPolicy::Bsd,
        "rfc" => TimerPolicy::Rfc6298,
        "linux" => TimerPolicy::Linux,
        "ns-2" => TimerPolicy::Ns2,
        _ => return None,
    })
}

/// `none`, `all`, or some of `sack`, `timestamps`, `wscale`, joined by `+`.
fn offer(value: &str) -> Option<Offer> {
    let mut offer = Offer::NONE;
    for option in value.split('+') {
        match option {
            "none" => {}
            "all" => offer = Offer::ALL,
            "sack" => offer.sack = true,
            "timestamps" => offer.timestamps = true,
            "wscale" => offer.window_scale = true,
            _ => return None,
        }
    }
    Some(offer)
}

/// `ordinary`, `swap`, and `mine` or `yours` for the end that is offered to hold TIME-WAIT.
pub(super) fn close(value: &str) -> Option<ClosePolicy> {
    Some(match value {
        "ordinary" => ClosePolicy::Ordinary,
        "swap" => ClosePolicy::Swap,
        "mine" => ClosePolicy::Negotiated(TimeWaitHolder::Mine),
        "yours" => ClosePolicy::Negotiated(TimeWaitHolder::Yours),
        _ => return None,
    })
}

/// Linux's `tcp_rfc1337`.
fn rfc1337(value: &str) -> Option<ResetInTimeWait> {
    Some(match value {
        "0" => ResetInTimeWait::Ends,
        "1" => ResetInTimeWait::Ignored,
        _ => return None,
    })
}

/// `name(a,b)` as its name and its arguments.
fn arguments(value: &str) -> Option<(&str, Vec<&str>)> {
    let Some((name, rest)) = value.split_once('(') else { return Some((value, Vec::new())) };
    Some((name, rest.strip_suffix(')')?.split(',').collect()))
}

/// `40ms` or `1.5s`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    match text.strip_suffix("ms") {
        Some(millis) => Some(Duration::from_millis(millis.parse().ok()?)),
        None => seconds(text.strip_suffix('s')?),
    }
}

/// Decimal seconds, to the nanosecond.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let nanos: u32 = format!("{fraction:0<9}").parse().ok()?;
    Some(Duration::new(whole.parse().ok()?, nanos))
}
