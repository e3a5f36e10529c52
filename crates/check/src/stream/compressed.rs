//! `stream-gzip`: whether a client that accepts gzip gets events later. A compressor that is not flushed keeps what it
//! has read until it can make a block of it.

use std::time::Duration;

use ackwise_cause::FindingId;
use ackwise_text::words::rounded;

use super::{
    judged::{Judged, ms},
    readings::Readings,
    record::Record,
};
use crate::card::{StreamGzip, Verdict};

const ID: FindingId = FindingId::StreamGzip;

pub(super) fn judge(readings: &Readings) -> Judged {
    let plain = &readings.prompt;
    if plain.is_at_once() {
        return Judged::without(ID, None, "the stream comes at once without compression");
    }
    let compressed = match &readings.gzip {
        Some(Ok(compressed)) => compressed,
        Some(Err(error)) => return Judged::failed(ID, error),
        None => return Judged::without(ID, None, "the requests say themselves what they accept"),
    };
    let encoding = compressed.exchange.head.fields.text("Content-Encoding");
    let Some(encoding) = encoding.filter(|it| !it.eq_ignore_ascii_case("identity")) else {
        let why = "a client that accepts gzip gets the stream without compression";
        return Judged::new(ID, Verdict::Pass, why, values(plain, compressed, None));
    };
    let values = values(plain, compressed, Some(encoding));
    let (before, after) = (plain.pace(), compressed.pace());
    if after < before * SLOWER || after < before + COSTLY {
        let (before, after) = (rounded(before), rounded(after));
        let summary = format!("compressed, the stream arrives every {after} ({before} without)");
        return Judged::new(ID, Verdict::Pass, summary, values);
    }
    let summary = match compressed.bursts.len() {
        0 => format!("compressed ({encoding}), nothing arrives for {}", rounded(after)),
        _ => format!(
            "compressed ({encoding}), the stream arrives every {} instead of every {}: the compressor holds events",
            rounded(after),
            rounded(before)
        ),
    };
    Judged::new(ID, Verdict::Warn, summary, values)
        .costing(after.saturating_sub(before))
        .remedied_by(ID.remedy(readings.software))
        .shown_by(&compressed.exchange)
}

fn values(plain: &Record, compressed: &Record, encoding: Option<&str>) -> StreamGzip {
    StreamGzip {
        content_encoding: encoding.map(str::to_owned),
        plain_gap_ms: Some(ms(plain.pace())),
        gzip_gap_ms: Some(ms(compressed.pace())),
    }
}

/// How many times as far apart arrivals are if a compressor holds events. Our choice.
const SLOWER: u32 = 3;

/// And by how much. Our choice.
const COSTLY: Duration = Duration::from_millis(50);
