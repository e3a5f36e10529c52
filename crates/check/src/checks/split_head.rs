//! `split-head`: does the response head leave in a segment of its own?

use ackwise_cause::{BUFFER_SOCKETS, Remedy, Software};
use ackwise_http::ConnectionOption;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, Exchange, ReusedConnection},
    no_verdict::NoVerdict,
    server::{Facts, follow::Delays},
    stack::{AckRule, Acknowledge, Receiver},
    verdict::Verdict,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact("split-head", "the response head is sent in its own segment"),
    is_stall: false,
    remedies: &[REMEDIES],
    // The checks before may have seen it already.
    run: Run::Server(ServerCheck::new(7, [1, 6], 0.3, run)),
};

/// Values of `split-head`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct SplitHead {
    /// Size of the response head.
    pub head_bytes: Option<u64>,
    /// Whether the head is sent in its own segment.
    pub split: Option<bool>,
}

/// Looks at the ends of segments, or of reads, in responses to requests for the page: two segments may merge into
/// one read, never the other way, so two sightings show a split and only several merged reads speak
/// against it.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    let exact = client.capabilities().segments;
    // Behind Nagle's algorithm the content comes after our ACK: withheld, it makes the cut plain.
    let withheld = Delays::within(client.capabilities(), client.hold())
        .map_or(Acknowledge::Promptly, |delays| Acknowledge::Delayed(AckRule::Linux, delays.short));
    let request = client.ask_for(&facts.page, Some(ConnectionOption::KeepAlive))?;
    let mut reused = ReusedConnection::new(Receiver::ETHERNET);
    let mut seen = Seen { exact, ..Seen::default() };
    seen.look(&facts.first);
    let both = [withheld, Acknowledge::Promptly];
    // Where segments are seen as they are, one more answer, on a used connection, is enough.
    let looks = if exact { LOOKS_EXACT } else { LOOKS };
    for acknowledge in both.into_iter().cycle().take(looks) {
        if !seen.splits() {
            let exchange = reused.request(&request, acknowledge, client)?;
            facts.note(&exchange);
            seen.look(&exchange);
        }
    }
    decide(facts, &seen)
}

/// Responses whose heads arrived by themselves.
#[derive(Debug, Default)]
struct Seen {
    /// Segments are seen as they are.
    exact: bool,
    splits: usize,
    shown: Option<Exchange>,
}

impl Seen {
    fn look(&mut self, exchange: &Exchange) {
        if exchange.has_split_head() {
            self.splits += 1;
            self.shown.get_or_insert_with(|| exchange.clone());
        }
    }

    /// A read may end at the head by chance, while the rest is on its way through the kernel: unless segments
    /// are seen, it takes two of them.
    const fn splits(&self) -> bool {
        self.splits >= if self.exact { 1 } else { 2 }
    }
}

fn decide(facts: &Facts, seen: &Seen) -> Result<Judged, NoVerdict> {
    let first = &facts.first;
    let head_bytes = first.head.bytes;
    let values = |split: bool| SplitHead { split: Some(split), head_bytes: Some(head_bytes) };
    if first.content == 0 {
        return Err(NoVerdict::not_applicable("the response has no body, so it cannot be split"));
    }
    Ok(match &seen.shown {
        Some(exchange) if seen.splits() => {
            let summary = format!(
                "the {head_bytes}-byte head is sent in its own segment: this costs one more packet per response, and Nagle's algorithm can hold the body"
            );
            Judged::new(Verdict::Warn, summary, values(true)).shown_by(Some(exchange))
        }
        _ => {
            let how = if seen.exact { "" } else { ", as far as socket reads show" };
            let summary = format!("head and body share segments{how}");
            Judged::new(Verdict::Pass, summary, values(false)).shown_by(Some(first))
        }
    })
}

/// Answers looked at where reads may merge segments, and where segments are seen: with the ACK withheld and
/// without.
const LOOKS: usize = 6;
const LOOKS_EXACT: usize = 2;

const NOTHING_JOINS: &str = "no setting joins head and body, which costs a packet but no time where Nagle's \
    algorithm is off; a proxy in front that buffers responses, as nginx does, sends them together";

#[rustfmt::skip]
const REMEDIES: &[Remedy] = &[
    Remedy::of(Software::Nginx, "tcp_nopush on; (needs sendfile on;), so that head and file \
             share segments").tested("nginx_tcp_nopush_joins_the_head"),
    Remedy::of(Software::PythonHttpServer, "set wbufsize of the handler class larger than the response, so that head and \
             body are written together").tested("python_wbufsize_joins_the_head"),
    Remedy::of(Software::Werkzeug, "WSGIRequestHandler.wbufsize larger than the response, so that head and body are \
             written together").tried(),
    Remedy::of(Software::Gunicorn, "--worker-class asgi for an ASGI application; other workers have no setting for it, but a \
             proxy in front that buffers responses, as nginx does, sends head and body \
             together").tried(),
    Remedy::of(Software::Uvicorn, NOTHING_JOINS).tried(),
    Remedy::of(Software::Hypercorn, NOTHING_JOINS).tried(),
    Remedy::of(Software::Aiohttp, "return web.Response with the whole body, and not a StreamResponse").tried(),
    Remedy::of(Software::Waitress, "--send-bytes=18000 (deprecated in waitress 3), which waits for that many bytes or \
             for the end of the response").tried(),
    Remedy::of(Software::Node, "pass the whole body to response.end(body), and do not call \
             flushHeaders() first").tried(),
    Remedy::of(Software::Express, "pass the whole body to response.send(body), and do not call \
             flushHeaders() first").tried(),
    Remedy::of(Software::Webrick, BUFFER_SOCKETS).tried(),
    Remedy::of(Software::Php, NOTHING_JOINS).tried(),
    Remedy::of(Software::Go, "do not call Flush before writing the body; net/http then joins \
             head and body itself").tried(),
    Remedy::of(Software::Jdk, NOTHING_JOINS).tried(),
    Remedy::of(Software::Netty, "write the head without a flush, and flush with the body").tried(),
    Remedy::new("write head and body in one call: use writev, or a buffer \
             that is flushed after the body").tested("joining_head_and_body_removes_the_split"),
];
