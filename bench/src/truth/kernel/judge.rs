//! Divides the time of each exchange among its phases, and each phase among what it waited for.

use std::net::SocketAddrV4;

use ackwise_cause::Direction;

use super::journeys::Journey;
use super::line::Diary;
use super::plan::Protocol;
use super::play::Played;
use super::steps::Steps;
use super::view::{Records, View, of_flow};
use super::waits::wait;
use crate::truth::case::ACCEPT_QUEUE;
use crate::witness::clock::Nanos;
use ackwise_cause::Cause::{self, *};

/// A time with its reasons. Empty ones: it is not known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) from: Nanos,
    pub(super) until: Nanos,
    pub(super) direction: Direction,
    pub(super) reasons: Vec<Cause>,
    pub(super) witness: &'static str,
    /// Counted from 0 on its connection.
    pub(super) exchange: usize,
}

/// The spans of all exchanges of a connection. None if the records lack its setup.
pub(super) fn judge(records: Records<'_>, played: &Played) -> Vec<Span> {
    let (client, server) = (played.client_address, played.server_address);
    if records.plan.one_host {
        return on_one_host(played);
    }
    let behind = records.plan.front.map(|_| written_as_sent(records, played));
    let diaries = [&played.client, behind.as_ref().unwrap_or(&played.server)];
    let views = View::of(records, client, server, diaries, Direction::ToServer).zip(View::of(
        records,
        server,
        client,
        [diaries[1], diaries[0]],
        Direction::ToClient,
    ));
    let Some((requests, responses)) = views else { return Vec::new() };
    let mut spans = Vec::new();
    let may_queue = records.plan.concurrent && !records.plan.served_at_once;
    let queued = if may_queue { queued(records, played, &mut spans) } else { None };
    let setup = setup(records, client, server).filter(|_| queued.is_none());
    if let Some((syn, established)) = setup {
        spans.push(span((syn, established), Direction::ToServer, Handshake, LINKS, 0));
    }
    let pairs = requests.diary.messages.clone().into_iter().zip(responses.diary.messages.clone());
    let mut free = Free::default();
    for (number, (request, response)) in pairs.enumerate() {
        let views = (&requests, &responses);
        let accepted = queued.filter(|_| number == 0);
        let exchange = Exchange { views, request, response, number, accepted };
        if let Some(end) = exchange.divide(free, &mut spans) {
            free = end;
            closing(records, played, free, number, &mut spans);
        }
    }
    if records.plan.protocol.is_sealed()
        && let Some((_, established)) = setup
    {
        tls(&requests, &responses, (established, played.accepted), &mut spans);
    }
    if records.plan.front.is_some() {
        spans = spans.into_iter().filter_map(|it| known_of_proxy(it, played)).collect();
    }
    merge(spans)
}

/// The diary of a proxy, which keeps none: its messages are those that the client read, and what it wrote left at once.
fn written_as_sent(records: Records<'_>, played: &Played) -> Diary {
    let flow = of_flow(records.journeys, played.server_address, played.client_address);
    let flow: Vec<_> = flow.collect();
    let first = flow.iter().find(|it| it.syn).map_or(0, |it| it.seq.wrapping_add(1));
    let end = |it: &Journey| u64::from(it.seq.wrapping_sub(first)) + u64::from(it.len);
    let data = flow.iter().filter(|it| it.len > 0 && !it.syn);
    let mut written: Vec<(Nanos, u64)> = data.map(|it| (it.sent, end(it))).collect();
    written.dedup_by(|next, before| next.1 <= before.1);
    let mut messages = Vec::new();
    for length in &played.client.lengths {
        let begin = messages.last().map_or(0, |it: &(u64, u64)| it.1);
        messages.push((begin, begin + length));
    }
    Diary { written, messages, no_delay: true, ..Diary::default() }
}

/// What is known in spite of that: the proxy's side thinks until the program behind it writes, and what the proxy has
/// not sent, nobody knows why.
fn known_of_proxy(span: Span, played: &Played) -> Option<Span> {
    match (span.direction, &span.reasons[..]) {
        (Direction::ToClient, [ServerThink]) => {
            let answered = *played.behind.get(span.exchange)?;
            (span.from < answered).then(|| Span { until: span.until.min(answered), ..span })
        }
        (Direction::ToClient, reasons) if reasons.contains(&ApplicationLimited) => None,
        _ => Some(span),
    }
}

/// When the earlier responses of a connection were over.
#[derive(Clone, Copy, Debug, Default)]
struct Free {
    /// The last byte left the server.
    sent: Nanos,
    /// The last byte arrived.
    arrived: Nanos,
}

/// One request and its response.
struct Exchange<'a> {
    /// To the server, and to the client.
    views: (&'a View, &'a View),
    request: (u64, u64),
    response: (u64, u64),
    number: usize,
    /// When the server took the connection from a queue that had been full.
    accepted: Option<Nanos>,
}

impl Exchange<'_> {
    /// Adds its spans, and returns when it was over.
    fn divide(&self, free: Free, spans: &mut Vec<Span>) -> Option<Free> {
        let (requests, responses) = self.views;
        let begins = reaches(&requests.sent, self.request.0 + 1)?;
        let asked = reaches(&requests.arrived, self.request.1)?;
        let answered = reaches(&responses.written, self.response.0 + 1)?.max(asked);
        let sent = reaches(&responses.sent, self.response.1)?;
        let ends = reaches(&responses.arrived, self.response.1)?;
        self.message(requests, self.request, (begins, asked), Direction::ToServer, spans);
        // Behind an earlier response, nothing else counts.
        let behind = free.sent.clamp(asked, ends);
        let to_client = Direction::ToClient;
        spans.push(span((asked, behind), to_client, HeadOfLine, LINKS, self.number));
        let mut own = Vec::new();
        let answered = answered.max(behind);
        let accepted = self.accepted.map_or(behind, |it| it.clamp(behind, answered));
        own.push(span((behind, accepted), to_client, ServerThink, ACCEPT_QUEUE, self.number));
        own.push(span((accepted, answered), to_client, ServerThink, PROGRAM, self.number));
        self.message(responses, self.response, (answered, ends), to_client, &mut own);
        // While the earlier one is on its way, both are true.
        for part in own {
            let (before, after) = part.split(free.arrived);
            let reasons = [vec![HeadOfLine], before.reasons.clone()].concat();
            spans.extend([Span { reasons, ..before }, after]);
        }
        Some(Free { sent, arrived: ends })
    }

    fn message(
        &self,
        view: &View,
        message: (u64, u64),
        (from, until): (Nanos, Nanos),
        direction: Direction,
        spans: &mut Vec<Span>,
    ) {
        let asks = direction == Direction::ToServer && !view.diary.awaited.is_empty();
        let changing = if asks { vec![view, self.views.1] } else { vec![view] };
        for (from, until) in pieces(&changing, (from, until)) {
            let (mut reasons, witness) = wait(view, message, from).unwrap_or_default();
            if asks && reasons == [ApplicationLimited] && view.awaited.at(from) > 0 {
                reasons = self.leave(from);
            }
            if direction == Direction::ToServer {
                reasons
                    .iter_mut()
                    .filter(|it| **it == Transmission)
                    .for_each(|it| *it = RequestUpload);
            } else if reasons == [ApplicationLimited, CorkTimer] && view.sent.at(from) <= message.0
            {
                // Nothing of the response has left: whether its program keeps it or has its socket keep it,
                // until it goes on, nobody outside can tell.
                reasons.push(ServerThink);
            }
            let exchange = self.number;
            spans.push(Span { from, until, direction, reasons, witness, exchange });
        }
    }

    /// Why a client waits for leave to send the body (RFC 9110, section 10.1.1), which it chooses to do: the head is
    /// on its way, or the leave, or the server has not given it.
    fn leave(&self, at: Nanos) -> Vec<Cause> {
        let (requests, responses) = self.views;
        let under_way = [requests, responses]
            .into_iter()
            .find(|view| view.written.at(at) > view.arrived.at(at));
        let mut reasons = under_way.map_or_else(
            || vec![ServerThink],
            |view| wait(view, (0, view.written.at(at)), at).unwrap_or_default().0,
        );
        reasons.push(ApplicationLimited);
        reasons
    }
}

impl Span {
    /// The parts before and after a time.
    fn split(self, at: Nanos) -> (Self, Self) {
        let at = at.clamp(self.from, self.until);
        (Self { until: at, ..self.clone() }, Self { from: at, ..self })
    }
}

/// The TLS handshake: the ends compute, or the one whose data is outstanding waits. Distance and rate belong
/// to it, and stalls do not. Until its connection is accepted, a server has not begun; and once the client has written
/// the last of the handshake, nobody waits until it writes a request.
fn tls(
    requests: &View,
    responses: &View,
    (established, accepted): (Nanos, Nanos),
    spans: &mut Vec<Span>,
) {
    let first = |view: &View| view.diary.messages.first().map(|message| message.0);
    let ways = first(requests).zip(first(responses)).and_then(|(to_server, to_client)| {
        let begins = reaches(&requests.sent, to_server + 1)?;
        let idle = reaches(&requests.sent, to_server)?..reaches(&requests.written, to_server + 1)?;
        let ways = [
            (responses, to_client, Direction::ToClient),
            (requests, to_server, Direction::ToServer),
        ];
        Some((begins, idle, ways))
    });
    let Some((begins, idle, ways)) = ways else { return };
    let accepted = accepted.clamp(established, begins);
    let halves = [(established, accepted), (accepted, begins)];
    let pieces = halves.into_iter().flat_map(|it| pieces(&[requests, responses], it));
    for (from, until) in pieces.filter(|it| !idle.contains(&it.0)) {
        let outstanding =
            |(view, _, _): &&(&View, u64, Direction)| view.written.at(from) > view.arrived.at(from);
        let waiting = ways.iter().find(outstanding);
        let (mut reasons, mut witness) = (vec![TlsHandshake], PROGRAM);
        let mut direction = Direction::ToServer;
        if from < accepted && waiting.is_none() && requests.arrived.at(from) > 0 {
            reasons.push(ServerThink);
        }
        if let Some((view, end, towards)) = waiting {
            direction = *towards;
            (reasons, witness) = wait(view, (0, *end), from).unwrap_or_default();
            let belongs =
                |it: &Cause| matches!(it, Transmission | Propagation | ApplicationLimited);
            reasons.iter_mut().filter(|it| belongs(it)).for_each(|it| *it = TlsHandshake);
            reasons.dedup();
        }
        spans.push(Span { from, until, direction, reasons, witness, exchange: 0 });
    }
}

/// A time, cut wherever something changes.
fn pieces(views: &[&View], (from, until): (Nanos, Nanos)) -> Vec<(Nanos, Nanos)> {
    let mut times: Vec<Nanos> = views.iter().flat_map(|it| it.times()).collect();
    times.retain(|at| (from..until).contains(at));
    times.extend([from, until]);
    times.sort_unstable();
    times.dedup();
    times.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

fn span(
    (from, until): (Nanos, Nanos),
    direction: Direction,
    reason: Cause,
    witness: &'static str,
    exchange: usize,
) -> Span {
    Span { from, until, direction, reasons: vec![reason], witness, exchange }
}

/// When a growing value reaches `value`.
fn reaches(steps: &Steps<u64>, value: u64) -> Option<Nanos> {
    steps.changes().iter().find(|(_, it)| *it >= value).map(|(at, _)| *at)
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

/// The setup of a connection that found the server's accept queue full, so that the server dropped what had
/// arrived: SYNs (`tcp_conn_request`), or the handshake's last ACK and the data behind it
/// (`tcp_v4_syn_recv_sock`). When the server accepted it; `None` if nothing was dropped there.
fn queued(records: Records<'_>, played: &Played, spans: &mut Vec<Span>) -> Option<Nanos> {
    let (client, server) = (played.client_address, played.server_address);
    let syns: Vec<_> = of_flow(records.journeys, client, server).filter(|it| it.syn).collect();
    let answers: Vec<_> = of_flow(records.journeys, server, client).filter(|it| it.syn).collect();
    let (syn, answer) = (syns.first()?, answers.first()?);
    let setup_is_repeated = syns.len() + answers.len() > 2;
    if !setup_is_repeated && !first_data_was_dropped(records, client, server) {
        return None;
    }
    let (arrived, answered) = (syn.arrived?, answer.arrived?);
    let to_server = Direction::ToServer;
    spans.push(span((syn.sent, arrived), to_server, Handshake, LINKS, 0));
    let taken = if setup_is_repeated { answer.sent.max(arrived) } else { arrived };
    spans.push(span((arrived, taken), Direction::ToClient, ServerThink, ACCEPT_QUEUE, 0));
    spans.push(span((taken, answered), to_server, Handshake, LINKS, 0));
    Some(played.accepted)
}

/// Whether the client's first data reached the server, which acknowledged only a later copy of it. In the accept
/// queue there is a socket that would have acknowledged the first one at once, whether or not its program
/// accepts it: a connection begins with quick ACKs (`tcp_event_data_recv`).
fn first_data_was_dropped(
    records: Records<'_>,
    client: SocketAddrV4,
    server: SocketAddrV4,
) -> bool {
    let data = || of_flow(records.journeys, client, server).filter(|it| it.len > 0 && !it.syn);
    let Some(first) = data().next() else { return false };
    let ends = first.seq.wrapping_add(first.len);
    let acknowledges = |ack: u32| ack.wrapping_sub(ends) < 1 << 31;
    let mut acks = of_flow(records.journeys, server, client).filter(|it| !it.syn);
    let Some(ack) = acks.find(|it| acknowledges(it.ack)) else { return false };
    let copies = data().filter(|it| it.seq == first.seq);
    copies.filter(|it| it.arrived.is_some_and(|at| at <= ack.sent)).count() > 1
}

/// A response without a length ends with the FIN, which the program may send late.
fn closing(
    records: Records<'_>,
    played: &Played,
    free: Free,
    number: usize,
    spans: &mut Vec<Span>,
) {
    let (client, server) = (played.client_address, played.server_address);
    let closes = records.plan.protocol == Protocol::Closes;
    let fin = || of_flow(records.journeys, server, client).find(|it| it.fin)?.arrived;
    let Some((closed, arrived)) = played.server.closed.filter(|_| closes).zip(fin()) else {
        return;
    };
    let to_client = Direction::ToClient;
    let late = closed.max(free.arrived);
    let waits = Span {
        reasons: vec![ApplicationLimited, ServerThink],
        ..span((free.arrived, late), to_client, ApplicationLimited, PROGRAM, number)
    };
    spans.extend([waits, span((late, arrived), to_client, Propagation, LINKS, number)]);
}

/// Nothing is on a path: what is known is how long the server had a request and had not begun to answer.
fn on_one_host(played: &Played) -> Vec<Span> {
    let (requests, responses) = (&played.server.received, &played.server.messages);
    let written = Steps::growing(played.server.written.clone());
    let think = |(number, (asked, response)): (usize, (&Nanos, &(u64, u64)))| {
        let answered = reaches(&written, response.0 + 1)?;
        let thinks = (*asked, answered.max(*asked));
        Some(span(thinks, Direction::ToClient, ServerThink, PROGRAM, number))
    };
    requests.iter().zip(responses).enumerate().filter_map(think).collect()
}

/// Joins neighbours that say the same.
fn merge(spans: Vec<Span>) -> Vec<Span> {
    let mut merged: Vec<Span> = Vec::new();
    for span in spans.into_iter().filter(|it| it.from < it.until) {
        match merged.last_mut() {
            Some(last)
                if last.until == span.from
                    && (last.exchange, last.direction) == (span.exchange, span.direction)
                    && last.reasons == span.reasons
                    && (last.witness == ACCEPT_QUEUE) == (span.witness == ACCEPT_QUEUE) =>
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
