//! `[tcp]`: a preset, and every choice that differs from it.

use std::{num::NonZeroU8, time::Duration};

use ackwise_tcp::{
    ByteCount, Config, TimeWaitHolder,
    policy::{
        AckDelay, AckPolicy, BufferTuning, ClosePolicy, CongestionPolicy, DSackPolicy,
        DeferralPolicy, FrtoPolicy, HoldPolicy, InitialWindow, LossDetection, Offer, OpenPolicy,
        Policies, Preset, ReductionPolicy, ResetInTimeWait, Sharing, SlowStartPolicy, StartPolicy,
        TimerPolicy, UndoPolicy, UnusedWindow,
    },
};

mod idle_restart;

use super::{
    document::{Item, Table, Value},
    error::ExperimentError,
    quantity::{Quantity, Segments, parse},
    reader::{Field, Reader, words},
};

/// What `tcp = …` may look like, as a table: the name of a preset stands for itself.
pub(crate) fn as_table(field: &Field<'_>) -> Result<Table, ExperimentError> {
    match &field.item.value {
        Value::Table(table) => Ok(table.clone()),
        Value::Text(_) => {
            let mut table = Table::default();
            table.insert("preset", field.item.clone());
            Ok(table)
        }
        _ => Err(field.wrong("the name of a preset, or a table")),
    }
}

/// Reads a whole configuration.
pub(crate) fn config(field: &Field<'_>) -> Result<Config, ExperimentError> {
    let table = as_table(field)?;
    let mut reader = Reader::new(&table, field.place(), &field.path);
    let presets = Preset::ALL.map(|preset| (preset.name(), preset.policies()));
    let mut preset = reader.or_with("preset", Policies::RFC, |field| field.choice(&presets))?;
    // A buffer that is set keeps its size, as with `SO_RCVBUF`.
    let (receive, send) = (reader.optional("receive_buffer"), reader.optional("send_buffer"));
    if receive.is_some() {
        preset.receive_tuning = BufferTuning::Off;
    }
    if send.is_some() {
        preset.send_tuning = BufferTuning::Off;
    }
    let policies = policies(&mut reader, preset)?;
    let default = Config::new(policies);
    let mss = reader.or_with("mss", default.mss, mss)?;
    let config = Config {
        policies,
        mss,
        receive_buffer: receive.map_or(Ok(default.receive_buffer), |f| buffer(&f, mss))?,
        send_buffer: send.map_or(Ok(default.send_buffer), |f| buffer(&f, mss))?,
        time_wait: reader.or("time_wait", default.time_wait)?,
        user_timeout: reader.or("user_timeout", default.user_timeout)?,
        bbr_phase: reader.or_with("bbr_phase", default.bbr_phase, |f| f.integer(0..=6))?,
        tick_phase: reader.maybe("tick_phase")?,
    };
    reader.finish()?;
    Ok(config)
}

fn policies(reader: &mut Reader<'_>, preset: Policies) -> Result<Policies, ExperimentError> {
    let Policies {
        ack: default_ack,
        hold: default_hold,
        deferral,
        initial_window: default_window,
        start,
        slow_start,
        congestion,
        loss_detection,
        reduction,
        undo,
        frto,
        unused_window,
        idle_restart,
        timers,
        receive_tuning,
        send_tuning,
        sharing,
        offer,
        d_sack,
        open,
        close,
        reset_in_time_wait,
    } = preset;
    let Offer { sack, timestamps, window_scale } = offer;
    Ok(Policies {
        ack: reader.or_with("ack", default_ack, ack)?,
        hold: reader.or_with("hold", default_hold, hold)?,
        deferral: reader.or("deferral", deferral)?,
        initial_window: reader.or_with("initial_window", default_window, initial_window)?,
        start: reader.or("start", start)?,
        slow_start: reader.or("slow_start", slow_start)?,
        congestion: reader.or("congestion", congestion)?,
        loss_detection: reader.or("loss_detection", loss_detection)?,
        reduction: reader.or("reduction", reduction)?,
        undo: reader.or("undo", undo)?,
        frto: reader.or("frto", frto)?,
        unused_window: reader.or("unused_window", unused_window)?,
        idle_restart: reader.or_with("idle_restart", idle_restart, idle_restart::read)?,
        timers: reader.or("timers", timers)?,
        receive_tuning: reader.or("receive_tuning", receive_tuning)?,
        send_tuning: reader.or("send_tuning", send_tuning)?,
        sharing: reader.or("sharing", sharing)?,
        offer: Offer {
            sack: reader.or("sack", sack)?,
            timestamps: reader.or("timestamps", timestamps)?,
            window_scale: reader.or("window_scale", window_scale)?,
        },
        d_sack: reader.or("d_sack", d_sack)?,
        open: reader.or("open", open)?,
        close: reader.or("close", close)?,
        reset_in_time_wait: reader.or("reset_in_time_wait", reset_in_time_wait)?,
    })
}

fn ack(field: Field<'_>) -> Result<AckPolicy, ExperimentError> {
    let (name, variant) = field.variant(ACK)?;
    match name {
        "every-segment" => variant.bare(AckPolicy::EverySegment),
        "linux-quick-ack" => variant.bare(AckPolicy::LinuxQuickAck),
        "interarrival" => variant.bare(AckPolicy::Interarrival),
        "delayed" => {
            let mut reader = variant.table_or_word("{ every, delay }")?;
            let every = reader.or("every", const { NonZeroU8::new(2).expect("not 0") })?;
            let delay = reader.or_with("delay", AckDelay::MILLIS_200, ack_delay)?;
            reader.finish()?;
            Ok(AckPolicy::Delayed { every, delay })
        }
        "host-tick" => {
            let mut reader = variant.table_or_word("{ period, phase }")?;
            let period = reader.or_with("period", AckDelay::MILLIS_200, ack_delay)?;
            let phase = reader.or_with("phase", AckDelay::ZERO, ack_delay)?;
            reader.finish()?;
            Ok(AckPolicy::HostTick { period, phase })
        }
        "ns-2" => {
            let mut reader = variant.table_or_word("{ every, interval }")?;
            let every = reader.or("every", NonZeroU8::MIN)?;
            let interval = reader.or_with("interval", AckDelay::MILLIS_100, ack_delay)?;
            reader.finish()?;
            Ok(AckPolicy::Ns2 { every, interval })
        }
        _ => {
            let mut reader = variant.table("{ withheld = { delay = \"100 ms\" } }")?;
            let delay = ack_delay(reader.required("delay", Duration::EXPECTED)?)?;
            reader.finish()?;
            Ok(AckPolicy::Withheld { delay })
        }
    }
}

fn ack_delay(field: Field<'_>) -> Result<AckDelay, ExperimentError> {
    let fits = |delay: &Duration| AckDelay::try_from(*delay).is_ok();
    let delay = field.quantity_in(&fits, "less than 500 ms (RFC 9293, section 3.8.6.3)")?;
    Ok(AckDelay::try_from(delay).expect("it was just tried"))
}

fn hold(field: Field<'_>) -> Result<HoldPolicy, ExperimentError> {
    let (name, variant) = field.variant(HOLD)?;
    match name {
        "off" => variant.bare(HoldPolicy::Off),
        "nagle" => variant.bare(HoldPolicy::Nagle),
        "bsd-nagle" => variant.bare(HoldPolicy::BsdNagle),
        "minshall" => variant.bare(HoldPolicy::Minshall),
        _ => {
            let mut reader = variant.table("{ cork = { release = \"200 ms\" } }")?;
            let release = reader.required("release", Duration::EXPECTED)?.quantity()?;
            reader.finish()?;
            Ok(HoldPolicy::Cork { release })
        }
    }
}

fn initial_window(field: Field<'_>) -> Result<InitialWindow, ExperimentError> {
    match &field.item.value {
        Value::Integer(_) => field.read().map(InitialWindow::Segments),
        Value::Text(_) => field.read(),
        _ => Err(field.wrong("a number of segments, bsd, rfc-3390 or rfc-6928")),
    }
}

fn mss(field: Field<'_>) -> Result<u16, ExperimentError> {
    let fits = |size: &ByteCount| (64..=65_495).contains(&size.0);
    let size = field.quantity_in(&fits, "from 64 B to 65495 B")?;
    Ok(u16::try_from(size.0).expect("the range is one of 16 bits"))
}

/// A socket buffer: a size, or a number of full segments.
fn buffer(field: &Field<'_>, mss: u16) -> Result<u32, ExperimentError> {
    if let Item { value: Value::Text(text), .. } = field.item
        && let Ok(Segments(count)) = parse(text)
    {
        let size = u64::from(count) * u64::from(mss);
        return u32::try_from(size)
            .ok()
            .filter(|size| (1..=MAX_BUFFER).contains(size))
            .ok_or_else(|| field.wrong("a buffer of at most 1 GiB"));
    }
    let fits = |size: &ByteCount| (1..=u64::from(MAX_BUFFER)).contains(&size.0);
    let size = field.quantity_in(&fits, "or in segments, from 1 B to 1 GiB")?;
    Ok(u32::try_from(size.0).expect("the range is one of 32 bits"))
}

/// RFC 7323, section 2.3: the largest window that a scale of 14 can express is 1 GiB.
const MAX_BUFFER: u32 = 1 << 30;

const ACK: &[&str] = &[
    "every-segment",
    "delayed",
    "host-tick",
    "ns-2",
    "linux-quick-ack",
    "interarrival",
    "withheld",
];

const HOLD: &[&str] = &["off", "nagle", "bsd-nagle", "minshall", "cork"];
words! {
    InitialWindow { "bsd" => BsdPassiveTwo, "rfc-3390" => Rfc3390, "rfc-6928" => Rfc6928 }
    StartPolicy { "at-once" => AtOnce, "paced" => Paced }
    SlowStartPolicy { "until-loss" => UntilLoss, "hoe" => Hoe, "hystart" => HyStart }
    LossDetection { "rfc-6675" => Rfc6675, "rack" => Rack }
    ReductionPolicy { "at-once" => AtOnce, "proportional" => Proportional }
    DeferralPolicy { "off" => Off, "linux" => Linux }
    UndoPolicy { "off" => Off, "linux" => Linux }
    FrtoPolicy { "off" => Off, "linux" => Linux }
    UnusedWindow { "kept" => Kept, "linux" => Linux }
    CongestionPolicy {
        "tahoe" => Tahoe, "ns-2-tahoe" => Ns2Tahoe, "reno" => Reno, "new-reno" => NewReno,
        "sack" => Sack, "linux-reno" => LinuxReno, "cubic" => Cubic, "bbr" => Bbr,
        "external" => External
    }
    BufferTuning { "off" => Off, "linux" => Linux }
    TimerPolicy { "bsd" => Bsd, "rfc-6298" => Rfc6298, "linux" => Linux, "ns-2" => Ns2 }
    OpenPolicy { "handshake" => Handshake, "transaction" => Transaction, "fast-open" => FastOpen }
    ClosePolicy {
        "ordinary" => Ordinary, "swap" => Swap,
        "negotiated-mine" => Negotiated(TimeWaitHolder::Mine),
        "negotiated-yours" => Negotiated(TimeWaitHolder::Yours)
    }
    ResetInTimeWait { "ends" => Ends, "ignored" => Ignored }
    Sharing { "off" => Off, "temporal" => Temporal, "ensemble" => Ensemble }
}

words! {
    DSackPolicy { "off" => Off, "rfc-2883" => Rfc2883 }
}
