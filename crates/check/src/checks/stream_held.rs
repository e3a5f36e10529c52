//! `stream-held`: whether events wait for something between the program and us.
//!
//! Four things hold events, and each shows in its own way:
//!
//! | what | shows as |
//! | --- | --- |
//! | Nagle's algorithm | arrivals follow our ACK, at two delays of it, and none comes before |
//! | a cork | events come in bursts, which are shorter for a client that announces small segments |
//! | a buffer | bursts end in the middle of a line, where no program ends a write, at about the same size each |
//! | the program, or a proxy, until the end | everything comes at once, long after the request |
//!
//! Bursts of whole events that none of this explains are the program's own: a model that emits several tokens at once is
//! not held, and nobody is accused.

use std::time::Duration;

use ackwise_cause::{Remedy, Software};
use ackwise_text::words::{counted, grouped, rounded};
use ackwise_units::statistics::middle;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, CheckId, Run, Subject, judged::Judged},
    milliseconds::ms,
    no_verdict::NoVerdict,
    stream::{
        Readings,
        record::{ByAck, Record},
    },
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "stream-held",
        "events of a stream wait for an ACK, a timer, or a full buffer",
    ),
    is_stall: true,
    remedies: &[HELD, CORKED],
    run: Run::Stream(judge),
};

/// Values of `stream-held`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct StreamHeld {
    /// Size of the buffer, as far as arrivals show it: median of the bytes of content that arrive together.
    pub buffer_bytes: Option<u64>,
    /// Median time between two arrivals of events if the client delays its ACKs by `delay_ms`.
    pub delayed_gap_ms: Option<f64>,
    /// The ACK delay with which `delayed_gap_ms` was measured.
    pub delay_ms: Option<f64>,
    /// Arrivals that followed an ACK which was delayed for longest.
    pub follow_ack: Option<u32>,
    /// Arrivals before such an ACK, which cannot have waited for it.
    pub before_ack: Option<u32>,
    /// What holds the events.
    pub held_by: Option<HeldBy>,
    /// Median time between two arrivals if the client announces an MSS of 128 bytes; null if that was not tried.
    pub small_mss_gap_ms: Option<f64>,
}

/// What holds the events of a stream.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldBy {
    /// Nothing that shows.
    None,
    /// Nagle's algorithm, until the client's ACK.
    Nagle,
    /// A cork, until a segment is full or its timer expires.
    Cork,
    /// A buffer of the program or of a proxy, until it is full.
    Buffer,
    /// The program or a proxy, until the end of the stream.
    End,
}

fn judge(readings: &Readings) -> Judged {
    let prompt = &readings.prompt;
    if prompt.is_in_one_piece() {
        return in_one_piece(prompt);
    }
    let values = values(readings);
    if let Some(found) = by_nagle(readings, values) {
        return found;
    }
    let corked = shows_cork(readings);
    let buffer = buffer(prompt).filter(|_| corked != Some(true));
    match (corked, buffer) {
        (Some(true), _) => by_cork(readings, values),
        (None, _) if prompt.together() > 1 => Judged::unknown(
            readings.why_not(),
            format!("{}; what holds them could not be determined", rhythm(prompt)),
        ),
        (_, Some(bytes)) => by_buffer(readings, values, bytes),
        _ => beyond_stack(readings).unwrap_or_else(|| free(readings, values)),
    }
}

/// A stream in which nothing shows who holds what.
fn in_one_piece(prompt: &Record) -> Judged {
    let events = counted(prompt.events as u64, "event");
    let after = prompt.begins_after().map(rounded).unwrap_or_default();
    let late = prompt.begins_after().is_some_and(|after| after >= LATE);
    if !prompt.exchange.complete {
        let why = format!("only {events} came; the stream was read for some seconds");
        return Judged::unknown(Reason::Limit, why);
    }
    if !prompt.syntax.is_announced() || prompt.events < MANY || !late {
        let why = format!("{events} came at once, {after} after the request: no stream to judge");
        return Judged::not_applicable(why);
    }
    let summary = format!(
        "all {events} arrive at once, {after} after the request, with the end of the stream: the program or a proxy \
         before it holds them until then"
    );
    let values = StreamHeld { held_by: Some(HeldBy::End), ..StreamHeld::default() };
    Judged::new(Verdict::Warn, summary, values).shown_by(&prompt.exchange)
}

fn values(readings: &Readings) -> StreamHeld {
    let by_ack = readings.longest.as_ref().ok().map(Record::by_ack);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let shorter = readings.shorter.as_ref().and_then(|it| it.as_ref().ok());
    let delayed = shorter.or_else(|| readings.longest.as_ref().ok());
    StreamHeld {
        buffer_bytes: None,
        delayed_gap_ms: delayed.and_then(Record::median_gap).map(ms),
        delay_ms: delayed.map(|it| ms(it.trial.delay)),
        follow_ack: by_ack.map(|it| count(it.followed)),
        before_ack: by_ack.map(|it| count(it.before)),
        held_by: Some(HeldBy::None),
        small_mss_gap_ms: small(readings).and_then(Record::median_gap).map(ms),
    }
}

fn small(readings: &Readings) -> Option<&Record> {
    readings.small.as_ref()?.as_ref().ok()
}

/// Nagle's algorithm, or that nobody can tell.
fn by_nagle(readings: &Readings, values: StreamHeld) -> Option<Judged> {
    let longest = match &readings.longest {
        Ok(longest) => longest,
        Err(error) => return Some(NoVerdict::from(error).into()),
    };
    let by_ack = longest.by_ack();
    let disturbed = || {
        let ByAck { followed, before, .. } = by_ack;
        let why = format!("{followed} arrivals followed a delayed ACK, and {before} came before");
        Some(Judged::unknown(Reason::Disturbed, why))
    };
    if by_ack.is_free() {
        let gaps = readings.prompt.median_gap().zip(longest.median_gap());
        // Whatever it is, something waits if ACKs are late.
        return match gaps {
            Some((prompt, delayed)) if delayed >= prompt * 2 + COSTLY => disturbed(),
            _ => None,
        };
    }
    let shorter = match readings.shorter.as_ref()? {
        Ok(shorter) => shorter,
        Err(error) => return Some(NoVerdict::from(error).into()),
    };
    if shorter.by_ack().is_free() {
        return None;
    }
    if !by_ack.waits() || !shorter.by_ack().waits() {
        return disturbed();
    }
    let gaps = readings.prompt.median_gap().zip(shorter.median_gap());
    let Some((prompt, delayed)) = gaps else { return disturbed() };
    let (what, cost) = lost_to_nagle(&readings.prompt, shorter, [prompt, delayed])?;
    let verdict = if cost >= COSTLY { Verdict::Fail } else { Verdict::Warn };
    let summary = format!(
        "Nagle's algorithm holds events until the client's ACK: with ACKs after {}, {what} ({} arrivals followed an ACK \
         that was {} late)",
        rounded(ACK_ON_LINUX),
        by_ack.followed,
        rounded(longest.trial.delay),
    );
    let values = StreamHeld { held_by: Some(HeldBy::Nagle), ..values };
    // Some software turns Nagle's algorithm off for streams alone.
    let own = CheckId::StreamHeld.remedy(readings.software).filter(|it| it.software.is_some());
    let remedy = own.or_else(|| CheckId::NagleDelayedAck.remedy(readings.software));
    Some(held(verdict, summary, values, cost, remedy).shown_by(&longest.exchange))
}

/// What a client on Linux would lose, whose ACKs come after 40 ms: what happens to events, and the cost. `None` if late
/// ACKs do no harm, since what they release is held by something else. The gaps are those of the two readings.
fn lost_to_nagle(
    prompt: &Record,
    shorter: &Record,
    gaps: [Duration; 2],
) -> Option<(String, Duration)> {
    let later = ACK_ON_LINUX.saturating_sub(shorter.trial.delay);
    let [before, delayed] = gaps;
    if delayed > before {
        let [apart, instead] = [delayed + later, before].map(rounded);
        let what = format!("they arrive {apart} apart instead of {instead}");
        return Some((what, delayed + later - before));
    }
    let wait = shorter.by_ack().wait() + later;
    let what = format!("their ends arrive {} after their beginnings", rounded(wait));
    (prompt.together() <= 1).then_some((what, wait))
}

/// Events that are farther apart than this stack can delay an ACK, and closer than some client does.
fn beyond_stack(readings: &Readings) -> Option<Judged> {
    let (gap, longest) = (readings.prompt.median_gap()?, readings.longest.as_ref().ok()?);
    let by_ack = longest.by_ack();
    let tried = by_ack.before + by_ack.followed >= 2;
    let is_beyond = !tried && longest.trial.delay < LONG_DELAY && gap <= LONGEST_ACK_DELAY;
    is_beyond.then(|| {
        let (gap, delay) = (rounded(gap), rounded(longest.trial.delay));
        let why = format!(
            "events arrive {gap} apart, and this TCP stack delays ACKs by at most {delay}: whether later ACKs hold them \
             could not be measured"
        );
        Judged::unknown(Reason::Stack, why)
    })
}

/// Whether bursts are shorter for a client with small segments; `None` if that was not measured.
fn shows_cork(readings: &Readings) -> Option<bool> {
    let prompt = readings.prompt.median_gap()?;
    let small = small(readings)?.median_gap().unwrap_or(Duration::MAX);
    // Another reading with ordinary segments is a repetition.
    let longest = readings.longest.as_ref().ok().and_then(Record::median_gap);
    let ordinary = longest.map_or(prompt, |gap| gap.min(prompt));
    Some(readings.prompt.together() > 1 && small <= ordinary.mul_f64(FEWER))
}

fn by_cork(readings: &Readings, values: StreamHeld) -> Judged {
    let prompt = readings.prompt.median_gap().unwrap_or_default();
    let small = small(readings).and_then(Record::median_gap).unwrap_or_default();
    let cost = prompt.saturating_sub(small);
    let summary = format!(
        "a cork holds events until a segment is full or its timer expires: they arrive {} together, {} apart, and {} apart \
         for a client with segments of 128 bytes",
        readings.prompt.together(),
        rounded(prompt),
        rounded(small)
    );
    let values = StreamHeld { held_by: Some(HeldBy::Cork), ..values };
    let remedy = Remedy::choose(CORKED, readings.software);
    held(Verdict::Warn, summary, values, cost, remedy).shown_by(&readings.prompt.exchange)
}

/// The size of a buffer that shows: most bursts end within a line, and have about the same size.
fn buffer(prompt: &Record) -> Option<u64> {
    // The last one may still be under way, and the first may have what the head left of the buffer.
    let inner = prompt.bursts.get(1..prompt.bursts.len().checked_sub(1)?)?;
    let cut = prompt.bursts.iter().rev().skip(1).filter(|burst| burst.is_cut).count();
    let all = prompt.bursts.len() - 1;
    let size = middle(inner.iter().map(|burst| burst.bytes))?;
    let near = |bytes: u64| bytes.abs_diff(size) * 10 <= size;
    let alike = inner.iter().filter(|burst| near(burst.bytes)).count();
    let far_apart = prompt.median_gap().is_some_and(|gap| gap >= COSTLY.max(3 * prompt.rtt));
    let shows = cut >= CUT_MIN && cut * 4 >= all * 3 && alike * 4 >= inner.len() * 3 && far_apart;
    shows.then_some(size)
}

fn by_buffer(readings: &Readings, values: StreamHeld, bytes: u64) -> Judged {
    let prompt = &readings.prompt;
    let gap = prompt.median_gap().unwrap_or_default();
    let summary = format!(
        "a buffer of the program or of a proxy before it holds events until it is full: {}, in pieces of about {} bytes \
         that end in the middle of an event",
        rhythm(prompt),
        grouped(bytes)
    );
    let values = StreamHeld { held_by: Some(HeldBy::Buffer), buffer_bytes: Some(bytes), ..values };
    held(Verdict::Warn, summary, values, gap, CheckId::StreamHeld.remedy(readings.software))
        .shown_by(&prompt.exchange)
}

fn free(readings: &Readings, values: StreamHeld) -> Judged {
    let prompt = &readings.prompt;
    let summary = match prompt.together() {
        0 | 1 => format!("no event waits for an ACK, a timer or a buffer: {}", rhythm(prompt)),
        _ => format!("{}; no visible ACK, timer or buffer holds them", rhythm(prompt)),
    };
    Judged::new(Verdict::Pass, summary, values)
}

/// How the events of a stream come.
fn rhythm(record: &Record) -> String {
    let gap = record.median_gap().map(rounded);
    match (record.together(), gap) {
        (0 | 1, Some(gap)) => format!("events arrive one by one, {gap} apart"),
        (together, Some(gap)) => format!("{together} events arrive together, every {gap}"),
        (_, None) => {
            let bursts = counted(record.bursts.len() as u64, "burst");
            format!("{} arrived in {bursts}", counted(record.events as u64, "event"))
        }
    }
}

fn held(
    verdict: Verdict,
    summary: String,
    values: StreamHeld,
    cost: Duration,
    remedy: Option<Remedy>,
) -> Judged {
    Judged::new(verdict, summary, values).costing(ms(cost)).remedied_by(remedy)
}

/// A shorter wait is no stall, as for all checks.
const COSTLY: Duration = Duration::from_millis(10);

/// Linux: `TCP_DELACK_MIN`, HZ/25.
const ACK_ON_LINUX: Duration = Duration::from_millis(40);

/// Windows and BSD.
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(200);

/// Delays from here on are like those of clients in use. Our choice.
const LONG_DELAY: Duration = Duration::from_millis(100);

/// A response that begins so late and is over at once may have been held. Our choice.
const LATE: Duration = Duration::from_millis(500);

/// Fewer events may well come at once. Our choice.
const MANY: usize = 5;

/// Bursts of a cork are at most this share as far apart if segments are small. Our choice.
const FEWER: f64 = 0.6;

/// Bursts that end in the middle of a line. Our choice.
const CUT_MIN: usize = 3;

/// Where a buffer or Nagle's algorithm holds events.
#[rustfmt::skip]
const HELD: &[Remedy] = &[
    Remedy::of(Software::Nginx, "proxy_buffering off; or X-Accel-Buffering: no from the server behind it, and tcp_nodelay on; \
             (the default): while nginx buffers, it sets TCP_NODELAY only after the first response of \
             a connection, and with TLS it fills buffers of 16 KB; if it does not buffer, flush after \
             each event in the program behind it").tested("nginx_without_proxy_buffering_sends_each_token"),
    Remedy::new("flush after each event, in the program and in each proxy before it"),
];

/// Where a cork does.
#[rustfmt::skip]
const CORKED: &[Remedy] = &[
    Remedy::of(Software::HaProxy, "option http-no-delay").tested("haproxy_http_no_delay_sends_each_token"),
    Remedy::new("clear TCP_CORK after each event, and write it without MSG_MORE, in the program and in each proxy before it"),
];
