//! One run: the server plays its script, and records what the client does.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use ackwise_http::{ConnectionOption, Method};
use rustls::ServerConfig;

use super::{
    Wish,
    command::Running,
    http::{Arrival, Http, Response},
    observed::{Connection, Ending, Exit, MOST_STEPS, Observed, Request, Step},
    script::{Act, FOLLOWS, Facts, Moment, PATIENCE, Script},
    session::{Opened, Session},
    wire::{Happening, What, Wire},
};
use crate::http_client::Protocol;

/// A server that plays `script` for one run.
pub(super) struct Player<'a> {
    wire: &'a mut dyn Wire,
    script: Script,
    /// For TLS.
    tls: Option<Arc<ServerConfig>>,
    /// Requests of this check in earlier runs.
    earlier: usize,
    /// When the run began, on the wire's clock.
    begun: Duration,
    seats: BTreeMap<u64, Seat>,
    connections: Vec<Connection>,
    requests: usize,
    is_done: bool,
    /// Connections that get a FIN at this time.
    leaving: VecDeque<(Duration, u64)>,
}

/// When a run is over.
pub(super) enum End<'a> {
    /// With the client's command.
    Command(&'a mut Running),
    /// After that number of requests, from clients that nobody here has started.
    Requests(usize),
}

impl End<'_> {
    /// How the run ended, if it has, after that number of requests.
    fn reached(&mut self, requests: usize) -> Option<Exit> {
        match self {
            Self::Command(running) => running.exit(),
            Self::Requests(most) => (requests >= *most).then_some(Exit::Success),
        }
    }
}

/// A connection that is open.
struct Seat {
    /// Its place in the record.
    place: usize,
    session: Option<Session>,
    http: Http,
    /// Bytes that HTTP needs more of.
    unread: Vec<u8>,
    delay: Option<Duration>,
    /// Steps since the last bytes to the client that are not those of a request yet: of a part of a head, or of small frames
    /// of HTTP/2, for whose ACK Nagle's algorithm lets the next request wait.
    steps: Vec<Step>,
    /// Requests that are not complete: stream, and place in the record.
    open: Vec<(u32, usize)>,
    /// Streams whose content is only counted.
    refused: BTreeSet<u32>,
    /// The first stream that a GOAWAY refuses, and when it was sent.
    gone_away: Option<(u32, Duration)>,
    /// The stream of a large response.
    large: Option<u32>,
}

/// A request of which something has arrived.
#[derive(Clone, Copy)]
struct RequestAt {
    connection: u64,
    stream: u32,
    /// In the record of the connection.
    request: usize,
}

impl<'a> Player<'a> {
    pub(super) fn new(
        wire: &'a mut dyn Wire,
        script: Script,
        tls: Option<Arc<ServerConfig>>,
        earlier: usize,
    ) -> Self {
        let begun = wire.begun().elapsed();
        // Those of an earlier run.
        drop(wire.take_unanswered_syns());
        Self {
            wire,
            script,
            tls,
            earlier,
            begun,
            seats: BTreeMap::new(),
            connections: Vec::new(),
            requests: 0,
            is_done: false,
            leaving: VecDeque::new(),
        }
    }

    /// Serves until `end`, or for `limit`, and resets what is open then.
    pub(super) fn run(
        mut self,
        mut end: End<'_>,
        limit: Duration,
        progress: &mut dyn FnMut() -> Wish,
    ) -> io::Result<Observed> {
        let deadline = Instant::now() + limit;
        let mut exit = None;
        while exit.is_none() && Instant::now() < deadline && progress() == Wish::GoOn {
            self.serve(Instant::now() + TICK)?;
            exit = end.reached(self.requests);
        }
        self.serve_rest(exit)?;
        Ok(self.end(exit))
    }

    /// Serves what the command left: its last FIN, and what of an upload is still in its kernel's buffer.
    fn serve_rest(&mut self, exit: Option<Exit>) -> io::Result<()> {
        let begun = Instant::now();
        let uploads = |it: &Self| {
            it.seats
                .values()
                .any(|seat| !seat.refused.is_empty() && it.connections[seat.place].ended.is_none())
        };
        while begun.elapsed() < GRACE
            || exit.is_some() && begun.elapsed() < UPLOAD_GRACE && uploads(self)
        {
            self.serve(Instant::now() + TICK)?;
        }
        Ok(())
    }

    fn end(self, exit: Option<Exit>) -> Observed {
        self.seats.keys().for_each(|id| self.wire.abort(*id));
        let syns = self.wire.take_unanswered_syns().into_iter();
        let unanswered_syns = syns.map(|at| at.saturating_sub(self.begun)).collect();
        let lasted = self.wire.begun().elapsed().saturating_sub(self.begun);
        Observed { connections: self.connections, exit, lasted, unanswered_syns }
    }

    /// Handles what happens until `deadline` or the next wake-up.
    fn serve(&mut self, deadline: Instant) -> io::Result<()> {
        let mut happenings = Vec::new();
        self.wire.poll(deadline, &mut happenings)?;
        for Happening { connection, at, what } in happenings {
            let at = at.saturating_sub(self.begun);
            match what {
                What::Opened => self.open(connection, at),
                What::Arrived(bytes) => self.arrived(connection, &bytes, at),
                What::Acknowledged => self.acknowledged(connection, at),
                What::Fin => self.ended(connection, Ending::Fin, at),
                What::Reset => self.ended(connection, Ending::Reset, at),
            }
        }
        self.watch_downloads();
        self.lose_patience();
        Ok(())
    }

    fn open(&mut self, id: u64, at: Duration) {
        if self.connections.len() >= MOST_CONNECTIONS || self.requests >= MOST_REQUESTS {
            return self.wire.abort(id);
        }
        let delay = self.next_delay();
        self.wire.delay_acks(id, delay);
        let delay = self.wire.rules_first_ack().then_some(delay);
        let seat = Seat {
            place: self.connections.len(),
            session: self.tls.as_ref().and_then(Session::new),
            http: Http::Unknown,
            unread: Vec::new(),
            delay,
            steps: Vec::new(),
            open: Vec::new(),
            refused: BTreeSet::new(),
            gone_away: None,
            large: None,
        };
        self.seats.insert(id, seat);
        self.connections.push(Connection { opened: at, ..Connection::default() });
    }

    fn next_delay(&self) -> Duration {
        self.script.delay(self.earlier + self.requests, self.wire.longest_delay())
    }

    /// Notes our ACK of what has arrived.
    fn acknowledged(&mut self, id: u64, at: Duration) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        let step = Step::Acknowledged { at };
        // An ACK before the first byte is of an earlier request.
        if !seat.steps.is_empty() {
            note(&mut seat.steps, &[step]);
        }
        for (_, place) in &seat.open {
            note(&mut self.connections[seat.place].requests[*place].steps, &[step]);
        }
    }

    fn arrived(&mut self, id: u64, bytes: &[u8], at: Duration) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        note(&mut seat.steps, &[Step::Arrived { at, bytes: bytes.len() }]);
        let Some(plain) = self.open_records(id, bytes) else { return };
        let Some(seat) = self.seats.get_mut(&id) else { return };
        let mut unread = std::mem::take(&mut seat.unread);
        unread.extend_from_slice(&plain);
        let mut rest = &unread[..];
        let mut touched = BTreeSet::new();
        while let Some((place, act)) = self.advance(id, &mut rest, at) {
            if touched.insert(place.request) {
                self.attribute_steps(place);
            }
            self.act(place, act, at);
        }
        let Some(seat) = self.seats.get_mut(&id) else { return };
        seat.unread = rest.to_vec();
        if !touched.is_empty() {
            seat.steps.clear();
        }
        let due = seat.http.take_due();
        self.send(id, &due);
    }

    /// What TLS carries; `None` if the session is over.
    fn open_records(&mut self, id: u64, bytes: &[u8]) -> Option<Vec<u8>> {
        let seat = self.seats.get_mut(&id)?;
        let Some(session) = &mut seat.session else { return Some(bytes.to_vec()) };
        let Opened { plain, records, of_handshake, error } = session.open(bytes);
        if of_handshake {
            seat.steps.clear();
        }
        self.wire.send(id, &records);
        if error.is_some() {
            self.connections[seat.place].not_http = error;
            self.wire.half_close(id);
            self.seats.remove(&id);
            return None;
        }
        Some(plain)
    }

    /// What was not known to be part of a request is part of this one.
    fn attribute_steps(&mut self, place: RequestAt) {
        let Some(seat) = self.seats.get_mut(&place.connection) else { return };
        let record = &mut self.connections[seat.place];
        let request = &mut record.requests[place.request];
        let steps = match record.protocol {
            Some(Protocol::Http2) if request.steps.is_empty() => since_idle(&seat.steps),
            _ => &seat.steps,
        };
        note(&mut request.steps, steps);
    }

    /// Consumes bytes to the next moment at which the script acts. `None` if they are consumed.
    fn advance(&mut self, id: u64, rest: &mut &[u8], at: Duration) -> Option<(RequestAt, Act)> {
        let seat = self.seats.get_mut(&id)?;
        let record = &mut self.connections[seat.place];
        if !seat.refused.is_empty() && record.protocol == Some(Protocol::Http1) {
            if let Some(request) = record.requests.last_mut() {
                request.content_bytes += rest.len() as u64;
            }
            *rest = &[];
            return None;
        }
        let advanced = seat.http.advance(rest);
        record.protocol = seat.http.protocol();
        let too_many = self.requests >= MOST_REQUESTS;
        let arrival = match advanced {
            Ok(None) => return None,
            Ok(Some(arrival)) if !too_many || arrival.head.is_none() => arrival,
            refused => {
                record.not_http = refused.err();
                self.wire.abort(id);
                self.seats.remove(&id);
                return None;
            }
        };
        let Arrival { stream, head, content, is_whole } = arrival;
        let begins = head.is_some();
        if let Some(head) = head {
            let after_goaway = seat.gone_away.is_some_and(|(_, gone)| at > gone + CROSSING);
            let delay = seat.delay;
            record.requests.push(Request { delay, head_at: at, after_goaway, ..head });
            seat.open.push((stream, record.requests.len() - 1));
            self.requests += 1;
        }
        let number = seat.open.iter().find(|(it, _)| *it == stream)?.1;
        let request = &mut record.requests[number];
        if content > 0 {
            request.content_at.get_or_insert(at);
        }
        request.content_bytes = content;
        if is_whole {
            seat.open.retain(|(it, _)| *it != stream);
        }
        let facts = Facts { expects: request.expects, number, is_done: self.is_done };
        let act = match (is_whole, begins) {
            (true, _) => self.script.act(Moment::Whole, facts),
            (false, true) => self.script.act(Moment::Head, facts),
            (false, false) => Act::Wait,
        };
        Some((RequestAt { connection: id, stream, request: number }, act))
    }

    fn send(&mut self, id: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let Some(seat) = self.seats.get_mut(&id) else { return };
        // What is sent carries an ACK.
        seat.steps.clear();
        for (_, place) in &seat.open {
            self.connections[seat.place].requests[*place].delay = None;
        }
        match &mut seat.session {
            Some(session) => {
                // Its buffer takes a little at a time.
                let records: Vec<_> =
                    bytes.chunks(RECORDS).flat_map(|it| session.seal(it)).collect();
                self.wire.send(id, &records);
            }
            None => self.wire.send(id, bytes),
        }
    }

    fn half_close(&mut self, id: u64) {
        if let Some(session) = self.seats.get_mut(&id).and_then(|seat| seat.session.as_mut()) {
            self.wire.send(id, &session.close());
        }
        self.wire.half_close(id);
    }

    fn act(&mut self, place: RequestAt, act: Act, at: Duration) {
        let RequestAt { connection: id, stream, request } = place;
        let delay = self.next_delay();
        let Some(seat) = self.seats.get_mut(&id) else { return };
        if seat.gone_away.is_some_and(|(first, _)| stream >= first)
            || seat.refused.contains(&stream)
        {
            return;
        }
        let request = &mut self.connections[seat.place].requests[request];
        let (last, is_head) = (request.last, request.method == Method::Head);
        let option = if last { ConnectionOption::Close } else { ConnectionOption::KeepAlive };
        let mut respond = |response| seat.http.respond(stream, response, option);
        match act {
            Act::Wait => {}
            Act::Continue => {
                request.continued_at = Some(at);
                let bytes = respond(Response::Continue);
                self.send(id, &bytes);
            }
            Act::Answer | Act::AnswerAtLength => {
                request.answered_at = Some(at);
                let response = match act {
                    _ if is_head => Response::Empty,
                    Act::AnswerAtLength => Response::Large,
                    _ => Response::Small,
                };
                let bytes = respond(response);
                seat.delay = Some(delay);
                if response == Response::Large {
                    seat.large = Some(stream);
                    self.is_done = true;
                }
                self.send(id, &bytes);
                match last {
                    true => self.half_close(id),
                    false => self.wire.delay_acks(id, delay),
                }
            }
            Act::Refuse => {
                request.answered_at = Some(at);
                let bytes = seat.http.respond(stream, Response::Refusal, ConnectionOption::Close);
                seat.refused.insert(stream);
                self.wire.read_slowly(id);
                let is_http1 = seat.http.protocol() == Some(Protocol::Http1);
                self.send(id, &bytes);
                if is_http1 {
                    self.half_close(id);
                }
            }
            Act::Close => {
                request.met_close = true;
                self.is_done = true;
                self.close(id, stream, at);
            }
        }
    }

    /// As a server that closes an idle connection and has not seen the request.
    fn close(&mut self, id: u64, stream: u32, at: Duration) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        match seat.http.go_away(stream) {
            Some(bytes) => {
                seat.gone_away = Some((stream, at));
                self.leaving.push_back((at + LEAVES, id));
                self.send(id, &bytes);
            }
            None => {
                self.half_close(id);
                self.wire.abort(id);
                self.seats.remove(&id);
            }
        }
    }

    fn ended(&mut self, id: u64, ending: Ending, at: Duration) {
        let Some(seat) = self.seats.get(&id) else { return };
        self.connections[seat.place].ended.get_or_insert((at, ending));
        // Of a refused upload, some may not have been read.
        if !seat.refused.is_empty() {
            return self.wire.half_close(id);
        }
        self.half_close(id);
        self.wire.forget(id);
        self.seats.remove(&id);
    }

    /// Notes the windows of those that get a large response.
    fn watch_downloads(&mut self) {
        for (id, seat) in &self.seats {
            let (Some(stream), Some(sending)) = (seat.large, self.wire.sending(*id)) else {
                continue;
            };
            let download = self.connections[seat.place].download.get_or_insert_default();
            download.tcp = download.tcp.max(sending.window);
            download.delivered = sending.acknowledged;
            // What the client's TCP has not acknowledged was taken off HTTP/2's windows, and does not use them yet.
            if let Some(credit) = seat.http.credit(stream) {
                let window = |credit: i64| {
                    credit.saturating_add_unsigned(sending.pending).max(0).unsigned_abs()
                };
                let (stream, connection) = download.http2.unwrap_or_default();
                let now = (window(credit.stream), window(credit.connection));
                download.http2 = Some((stream.max(now.0), connection.max(now.1)));
            }
        }
    }

    /// Acts where a client has sent no content for too long, or has not closed after a GOAWAY.
    fn lose_patience(&mut self) {
        let now = self.wire.begun().elapsed().saturating_sub(self.begun);
        while let Some((_, id)) = self.leaving.pop_front_if(|(at, _)| *at <= now) {
            self.half_close(id);
        }
        let is_done = self.is_done;
        let waits = |connection: u64, seat: &Seat, (stream, place): (u32, usize)| {
            let request = &self.connections[seat.place].requests[place];
            let waits = request.content_at.is_none()
                && request.continued_at.is_none()
                && request.head_at + PATIENCE <= now;
            let facts = Facts { expects: request.expects, number: 0, is_done };
            waits.then_some((RequestAt { connection, stream, request: place }, facts))
        };
        let all = self.seats.iter();
        let waiting: Vec<_> = all
            .flat_map(|(id, seat)| seat.open.iter().filter_map(move |open| waits(*id, seat, *open)))
            .collect();
        for (place, facts) in waiting {
            self.act(place, self.script.act(Moment::NoContent, facts), now);
        }
    }
}

/// The last steps without a piece that came later after an ACK than one that waited for it.
fn since_idle(steps: &[Step]) -> &[Step] {
    let is_late = |two: &[Step]| match two {
        [Step::Acknowledged { at: acked }, Step::Arrived { at, .. }] => *at > *acked + FOLLOWS,
        _ => false,
    };
    let last = steps.windows(2).rposition(is_late);
    &steps[last.map_or(0, |place| place + 1)..]
}

/// Appends steps, as far as they are kept.
fn note(steps: &mut Vec<Step>, more: &[Step]) {
    let room = MOST_STEPS.saturating_sub(steps.len()).min(more.len());
    steps.extend_from_slice(&more[..room]);
}

/// How late the end of the command, or an interrupt, may be noticed. Our choice.
const TICK: Duration = Duration::from_millis(20);

/// How long FINs are waited for after the command has ended. Our choice.
const GRACE: Duration = Duration::from_millis(30);

/// How long the rest of an upload is read. Our choice: more than Linux's send buffer of 4 MB takes.
const UPLOAD_GRACE: Duration = Duration::from_secs(2);

/// When a client is sent a FIN that has not closed after a GOAWAY. Our choice: as Go's server does (`goAwayTimeout`).
const LEAVES: Duration = Duration::from_secs(1);

/// A request that comes this long after a GOAWAY has not crossed it. Our choice: many times a round trip here.
const CROSSING: Duration = Duration::from_millis(200);

/// Bytes that are given to TLS at a time. Our choice: a full record.
const RECORDS: usize = 16 << 10;

/// Connections of one run, and requests after which no more are taken. Our choice.
const MOST_CONNECTIONS: usize = 1_000;
const MOST_REQUESTS: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_long_before_a_request_is_no_part_of_it() {
        let arrived = |at| Step::Arrived { at: Duration::from_millis(at), bytes: 13 };
        let acked = |at| Step::Acknowledged { at: Duration::from_millis(at) };
        let waits = [arrived(0), acked(40), arrived(41)];
        assert_eq!(since_idle(&waits), waits);
        let idle = [arrived(0), acked(40), arrived(300), acked(340), arrived(341)];
        assert_eq!(since_idle(&idle), &idle[2..]);
        assert_eq!(since_idle(&[arrived(0), acked(40), arrived(300)]), [arrived(300)]);
    }
}
