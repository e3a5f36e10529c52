//! `stream-gzip`: whether a client that accepts gzip gets events later. A compressor that is not flushed keeps what it
//! has read until it can make a block of it.

use std::time::Duration;

use ackwise_cause::{Remedy, Software};
use ackwise_text::words::rounded;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, CheckId, Run, Subject, judged::Judged},
    milliseconds::ms,
    no_verdict::NoVerdict,
    stream::{Readings, record::Record},
    verdict::Verdict,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "stream-gzip",
        "events of a stream come later if the client accepts gzip",
    ),
    is_stall: true,
    remedies: &[&[
        Remedy::of(Software::Nginx, "proxy_buffering off; or gzip_types without the stream's type")
            .tried(),
        Remedy::new("do not compress streams of events, or flush the compressor after each event"),
    ]],
    run: Run::Stream(judge),
};

/// Values of `stream-gzip`.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct StreamGzip {
    /// The `Content-Encoding` of the response to a request with `Accept-Encoding: gzip`; null if there is none.
    pub content_encoding: Option<String>,
    /// Median time between two arrivals without compression.
    pub plain_gap_ms: Option<f64>,
    /// The same with compression; null if less than three arrivals came.
    pub gzip_gap_ms: Option<f64>,
}

fn judge(readings: &Readings) -> Judged {
    let plain = &readings.prompt;
    if plain.is_in_one_piece() {
        return Judged::not_applicable("the stream comes at once without compression");
    }
    let compressed = match &readings.gzip {
        Some(Ok(compressed)) => compressed,
        Some(Err(error)) => return NoVerdict::from(error).into(),
        None => {
            let why = "the requests say themselves what they accept, or gRPC does";
            return Judged::not_applicable(why);
        }
    };
    let encoding = compressed.exchange.head.fields.text("Content-Encoding");
    let Some(encoding) = encoding.filter(|it| !it.eq_ignore_ascii_case("identity")) else {
        let why = "a client that accepts gzip gets the stream without compression";
        return Judged::new(Verdict::Pass, why, values(plain, compressed, None));
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
        return Judged::new(Verdict::Pass, summary, values);
    };
    Judged::new(Verdict::Warn, format!("{summary}: the compressor holds events"), values)
        .costing(ms(cost))
        .remedied_by(CheckId::StreamGzip.remedy(readings.software))
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
