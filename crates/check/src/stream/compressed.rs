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
    if plain.is_in_one_piece() {
        return Judged::without(ID, None, "the stream comes at once without compression");
    }
    let compressed = match &readings.gzip {
        Some(Ok(compressed)) => compressed,
        Some(Err(error)) => return Judged::failed(ID, error),
        None => {
            let why = "the requests say themselves what they accept, or gRPC does";
            return Judged::without(ID, None, why);
        }
    };
    let encoding = compressed.exchange.head.fields.text("Content-Encoding");
    let Some(encoding) = encoding.filter(|it| !it.eq_ignore_ascii_case("identity")) else {
        let why = "a client that accepts gzip gets the stream without compression";
        return Judged::new(ID, Verdict::Pass, why, values(plain, compressed, None));
    };
    let values = values(plain, compressed, Some(encoding));
    let (before, after) = (plain.pace(), compressed.pace());
    let [begins, later] = [plain, compressed].map(|it| it.begins_after().unwrap_or_default());
    let waited = later.saturating_sub(begins);
    let (summary, cost) = if compressed.bursts.is_empty() {
        (format!("compressed ({encoding}), nothing arrives for {}", rounded(after)), after)
    } else if compressed.is_in_one_piece() && waited >= LATE {
        let later = rounded(later);
        (
            format!(
                "compressed ({encoding}), everything arrives at once, {later} after the request"
            ),
            waited,
        )
    } else if after >= before * SLOWER && after >= before + COSTLY {
        let [after, before] = [after, before].map(rounded);
        let what = format!(
            "compressed ({encoding}), the stream arrives every {after} instead of every {before}"
        );
        (what, compressed.pace() - plain.pace())
    } else {
        let [after, before] = [after, before].map(rounded);
        let summary = format!("compressed, the stream arrives every {after} ({before} without)");
        return Judged::new(ID, Verdict::Pass, summary, values);
    };
    Judged::new(ID, Verdict::Warn, format!("{summary}: the compressor holds events"), values)
        .costing(cost)
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

/// How much later a compressed stream begins whose compressor holds it until its end. Our choice.
const LATE: Duration = Duration::from_millis(500);
