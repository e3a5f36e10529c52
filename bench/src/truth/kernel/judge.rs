//! Divides the time of each exchange among its phases, and each phase among what it waited for.

use std::net::SocketAddrV4;

use ackwise_cause::Direction;

use super::clock::Nanos;
use super::play::Played;
use super::reason::Reason::{self, *};
use super::view::{Records, View, of_flow};
use super::waits::{Verdict, wait};

/// A time with its reasons. Empty ones: it is not known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) from: Nanos,
    pub(super) until: Nanos,
    pub(super) direction: Direction,
    pub(super) reasons: Vec<Reason>,
    pub(super) witness: &'static str,
    /// Counted from 0 on its connection.
    pub(super) exchange: usize,
}

/// The spans of all exchanges of a connection. None if the records lack its setup.
pub(super) fn judge(records: Records<'_>, played: &Played) -> Vec<Span> {
    let (client, server) = (played.client_address, played.server_address);
    let views = View::of(records, client, server, &played.client).zip(View::of(
        records,
        server,
        client,
        &played.server,
    ));
    let Some((requests, responses)) = views else { return Vec::new() };
    let mut spans = Vec::new();
    let setup = setup(records, client, server);
    if let Some((syn, established)) = setup {
        spans.push(span((syn, established), Direction::ToServer, Handshake, LINKS, 0));
    }
    let pairs = requests.diary.messages.clone().into_iter().zip(responses.diary.messages.clone());
    let mut free = 0;
    for (number, (request, response)) in pairs.enumerate() {
        let exchange = Exchange { requests: &requests, responses: &responses, request, response };
        if let Some(end) = exchange.divide(number, free, &mut spans) {
            free = end;
        }
    }
    if records.plan.protocol == super::plan::Protocol::Tls
        && let Some((_, established)) = setup
        && let Some(first) = requests.diary.messages.first()
        && let Some((begins, _)) = reaches(&requests.sent, first.0 + 1)
    {
        spans.push(span((established, begins), Direction::ToServer, TlsHandshake, LINKS, 0));
    }
    merge(spans)
}

/// One request and its response.
struct Exchange<'a> {
    requests: &'a View,
    responses: &'a View,
    request: (u64, u64),
    response: (u64, u64),
}

impl Exchange<'_> {
    /// Adds its spans. The connection is `free` of earlier responses from then on; returns the end.
    fn divide(&self, number: usize, free: Nanos, spans: &mut Vec<Span>) -> Option<Nanos> {
        let begins = reaches(&self.requests.sent, self.request.0 + 1)?.0;
        let asked = reaches(&self.requests.arrived, self.request.1)?.0;
        let answered = reaches(&self.responses.written, self.response.0 + 1)?.0.max(asked);
        let ends = reaches(&self.responses.arrived, self.response.1)?.0;
        let to_client = Direction::ToClient;
        self.message(
            self.requests,
            self.request,
            (begins, asked),
            Direction::ToServer,
            number,
            spans,
        );
        // Behind an earlier response, nothing else counts.
        let behind = free.clamp(asked, ends);
        spans.push(span((asked, behind), to_client, HeadOfLine, LINKS, number));
        let answered = answered.max(behind);
        spans.push(span((behind, answered), to_client, ServerThink, PROGRAM, number));
        self.message(self.responses, self.response, (answered, ends), to_client, number, spans);
        Some(ends)
    }

    fn message(
        &self,
        view: &View,
        message: (u64, u64),
        (from, until): (Nanos, Nanos),
        direction: Direction,
        exchange: usize,
        spans: &mut Vec<Span>,
    ) {
        let mut times = view.times();
        times.retain(|at| (from..until).contains(at));
        times.extend([from, until]);
        times.sort_unstable();
        times.dedup();
        for pair in times.windows(2) {
            let verdict: Option<Verdict> = wait(view, message, pair[0]);
            let (mut reasons, witness) = verdict.unwrap_or_default();
            if direction == Direction::ToServer {
                reasons
                    .iter_mut()
                    .filter(|it| **it == Transmission)
                    .for_each(|it| *it = RequestUpload);
            }
            let (from, until) = (pair[0], pair[1]);
            spans.push(Span { from, until, direction, reasons, witness, exchange });
        }
    }
}

fn span(
    (from, until): (Nanos, Nanos),
    direction: Direction,
    reason: Reason,
    witness: &'static str,
    exchange: usize,
) -> Span {
    Span { from, until, direction, reasons: vec![reason], witness, exchange }
}

/// When a growing value reaches `value`.
fn reaches(steps: &super::steps::Steps<u64>, value: u64) -> Option<(Nanos, u64)> {
    steps.changes().iter().copied().find(|(_, it)| *it >= value)
}

/// From the SYN to the arrival of its answer. `None` if either was sent twice.
fn setup(
    records: Records<'_>,
    client: SocketAddrV4,
    server: SocketAddrV4,
) -> Option<(Nanos, Nanos)> {
    let mut syns = of_flow(records.journeys, client, server).filter(|it| it.syn);
    let mut answers = of_flow(records.journeys, server, client).filter(|it| it.syn);
    let (syn, answer) = (syns.next()?, answers.next()?);
    let alone = syns.next().is_none() && answers.next().is_none();
    answer.arrived.filter(|_| alone).map(|arrived| (syn.sent, arrived))
}

/// Joins neighbours that say the same.
fn merge(spans: Vec<Span>) -> Vec<Span> {
    let mut merged: Vec<Span> = Vec::new();
    for span in spans.into_iter().filter(|it| it.from < it.until) {
        match merged.last_mut() {
            Some(last)
                if last.until == span.from
                    && (last.exchange, last.direction) == (span.exchange, span.direction)
                    && last.reasons == span.reasons =>
            {
                last.until = span.until;
            }
            _ => merged.push(span),
        }
    }
    merged
}

const LINKS: &str = "emulator";
const PROGRAM: &str = "program";
