//! `stream-gaps`: how far apart events arrive, with every segment acknowledged at once.

use std::time::Duration;

use ackwise_text::words::{counted, rounded};
use ackwise_units::statistics::percentile;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged},
    milliseconds::ms,
    stream::Readings,
    verdict::Verdict,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact("stream-gaps", "how far apart the events of a stream arrive"),
    is_stall: false,
    remedies: &[],
    run: Run::Stream(judge),
};

/// Values of `stream-gaps`: with every segment acknowledged at once.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct StreamGaps {
    /// Events that were read.
    pub events: Option<u32>,
    /// Median of the events that arrive together.
    pub events_together: Option<u32>,
    /// Longest time between two arrivals of events.
    pub longest_ms: Option<f64>,
    /// Median time between two arrivals of events.
    pub median_ms: Option<f64>,
    /// The 99th percentile; with fewer than 100, the longest.
    pub p99_ms: Option<f64>,
}

fn judge(readings: &Readings) -> Judged {
    let prompt = &readings.prompt;
    let events = counted(prompt.events as u64, "event");
    let mut gaps: Vec<Duration> = prompt.gaps().collect();
    gaps.sort_unstable();
    let of = |percent| percentile(&gaps, percent);
    let (Some(longest), Some(median), Some(p99)) = (gaps.last().copied(), of(50), of(99)) else {
        return Judged::not_applicable(format!("{events} came at once"));
    };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let values = StreamGaps {
        events: Some(count(prompt.events)),
        events_together: Some(count(prompt.together())),
        longest_ms: Some(ms(longest)),
        median_ms: Some(ms(median)),
        p99_ms: Some(ms(p99)),
    };
    let arrivals = counted(prompt.bursts.len() as u64, "arrival");
    let summary = format!(
        "{events} in {arrivals}, {} apart (median; 99 %: {}, longest: {})",
        rounded(median),
        rounded(p99),
        rounded(longest)
    );
    Judged::new(Verdict::Pass, summary, values)
}
