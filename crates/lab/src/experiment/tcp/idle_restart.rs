//! `idle_restart`: what an idle time does to the congestion window.

use ackwise_tcp::policy::{
    DecayRule, IdleRestart, IdleSince, IdleThreshold, IdleTime, PacedUntil, RateBased, RateVersion,
    RestartWindow, Scale,
};

use crate::experiment::{
    document::Value,
    error::ExperimentError,
    reader::{Field, Reader, words},
};

pub(super) fn read(field: Field<'_>) -> Result<IdleRestart, ExperimentError> {
    let (name, variant) = field.variant(IDLE_RESTART)?;
    match name {
        "new-cwv" => variant.bare(IdleRestart::NewCwv),
        "keep" => variant.bare(IdleRestart::Keep),
        "since-send" => variant.bare(IdleRestart::RFC_5681),
        "since-receive" => variant.bare(IdleRestart::BSD_4_4),
        "restart" => {
            let mut reader = variant.table_or_word("{ window, since, threshold }")?;
            let window = reader.or("window", RestartWindow::OneSegment)?;
            let after = idle_time(&mut reader)?;
            reader.finish()?;
            Ok(IdleRestart::SlowStart { after, window })
        }
        "decay" | "rfc-2861" => {
            let rule = if name == "decay" { DecayRule::Linux } else { DecayRule::Rfc2861 };
            let mut reader = variant.table_or_word("{ cap }")?;
            let cap = reader.maybe("cap")?;
            reader.finish()?;
            Ok(IdleRestart::Decay { rule, cap })
        }
        _ => {
            let mut reader =
                variant.table_or_word("{ version, scale, until, since, threshold }")?;
            let RateBased { version, scale, until } = RateBased::RENO;
            let by = RateBased {
                version: reader.or("version", version)?,
                scale: reader.or_with("scale", scale, self::scale)?,
                until: reader.or("until", until)?,
            };
            let after = idle_time(&mut reader)?;
            reader.finish()?;
            Ok(IdleRestart::Paced { after, by })
        }
    }
}

fn idle_time(reader: &mut Reader<'_>) -> Result<IdleTime, ExperimentError> {
    let IdleTime { since, threshold } = IdleTime::RFC_5681;
    Ok(IdleTime {
        since: reader.or("since", since)?,
        threshold: reader.or_with("threshold", threshold, self::threshold)?,
    })
}

fn threshold(field: Field<'_>) -> Result<IdleThreshold, ExperimentError> {
    match &field.item.value {
        Value::Text(_) => field.choice(&[("round-trip", IdleThreshold::RoundTrip)]),
        Value::Integer(_) => field.read().map(IdleThreshold::Timeouts),
        _ => Err(field.wrong("round-trip, or a number of RTOs")),
    }
}

/// In percent, rounded.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn scale(field: Field<'_>) -> Result<Scale, ExperimentError> {
    let number = field.number(0.01..=f64::from(Scale::MAX_PERCENT) / 100.0)?;
    Ok(Scale::percent((number * 100.0).round() as u16).expect("the range is one of a scale"))
}

const IDLE_RESTART: &[&str] =
    &["keep", "since-send", "since-receive", "restart", "decay", "rfc-2861", "new-cwv", "paced"];

words! {
    RestartWindow { "one-segment" => OneSegment, "rfc-5681" => Rfc5681 }
    IdleSince { "send" => Send, "receive" => Receive }
    RateVersion {
        "reno" => Reno, "vegas" => Vegas, "vegas-window" => VegasWindow, "count" => Count
    }
    PacedUntil { "first-ack" => FirstAck, "first-arrival" => FirstArrival }
}
