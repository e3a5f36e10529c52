//! One run: the server plays its script, and records what the client does.

use std::{
    collections::BTreeMap,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use ackwise_http::{Method, RequestParser, Version};
use rustls::ServerConfig;

use super::{
    command::Running,
    observed::{Connection, Content, Exit, MOST_STEPS, Observed, Request, Step},
    script::{Act, Facts, Moment, PATIENCE, Script},
    session::{Opened, Session},
    wire::{Happening, What, Wire},
};
use crate::card::Ending;

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
    has_closed: bool,
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
    parser: RequestParser,
    /// Bytes that the parser has consumed.
    offset: u64,
    delay: Option<Duration>,
    /// Steps of a request whose head is not complete.
    steps: Vec<Step>,
    /// Whether the last request of the record is not complete.
    within: bool,
    /// Whether what arrives is only counted.
    refused: bool,
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
            has_closed: false,
        }
    }

    /// Serves until `end`, or for `limit`, and resets what is open then.
    pub(super) fn run(
        mut self,
        mut end: End<'_>,
        limit: Duration,
        progress: &mut dyn FnMut(),
    ) -> io::Result<Observed> {
        let deadline = Instant::now() + limit;
        let mut exit = None;
        while exit.is_none() && Instant::now() < deadline {
            progress();
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
            it.seats.values().any(|seat| seat.refused && it.connections[seat.place].ended.is_none())
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
                What::Acknowledged => self.step(connection, Step::Acknowledged { at }),
                What::Fin => self.ended(connection, Ending::Fin, at),
                What::Reset => self.ended(connection, Ending::Reset, at),
            }
        }
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
            parser: RequestParser::new().with_content_limit(u64::MAX),
            offset: 0,
            delay,
            steps: Vec::new(),
            within: false,
            refused: false,
        };
        self.seats.insert(id, seat);
        self.connections.push(Connection { opened: at, ..Connection::default() });
    }

    fn next_delay(&self) -> Duration {
        self.script.delay(self.earlier + self.requests, self.wire.longest_delay())
    }

    /// Notes a step of the request that is arriving.
    fn step(&mut self, id: u64, step: Step) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        let steps = match self.connections[seat.place].requests.last_mut() {
            Some(request) if seat.within => &mut request.steps,
            _ => &mut seat.steps,
        };
        // An ACK before the first byte is of an earlier request.
        let belongs = !steps.is_empty() || matches!(step, Step::Arrived { .. });
        if belongs && steps.len() < MOST_STEPS {
            steps.push(step);
        }
    }

    fn arrived(&mut self, id: u64, bytes: &[u8], at: Duration) {
        self.step(id, Step::Arrived { at, bytes: bytes.len() });
        let Some(seat) = self.seats.get_mut(&id) else { return };
        let plain = match &mut seat.session {
            None => bytes.to_vec(),
            Some(session) => {
                let Opened { plain, records, of_handshake, error } = session.open(bytes);
                if of_handshake {
                    seat.steps.clear();
                }
                self.wire.send(id, &records);
                if error.is_some() {
                    self.connections[seat.place].not_http = error;
                    self.wire.half_close(id);
                    self.seats.remove(&id);
                    return;
                }
                plain
            }
        };
        let mut rest = &plain[..];
        while let Some(act) = self.advance(id, &mut rest, at) {
            self.act(id, act, at);
        }
    }

    /// Consumes bytes to the next moment at which the script acts. `None` if they are consumed.
    fn advance(&mut self, id: u64, rest: &mut &[u8], at: Duration) -> Option<Act> {
        let seat = self.seats.get_mut(&id)?;
        let record = &mut self.connections[seat.place];
        if seat.refused {
            if let Some(request) = record.requests.last_mut() {
                request.content_bytes += rest.len() as u64;
            }
            return None;
        }
        if rest.is_empty() {
            return None;
        }
        let before = rest.len();
        let advanced = match seat.parser.advance(rest) {
            Ok(advanced) => advanced,
            Err(error) => {
                record.not_http = Some(error.to_string());
                self.wire.abort(id);
                self.seats.remove(&id);
                return None;
            }
        };
        seat.offset += (before - rest.len()) as u64;
        let is_whole = advanced.is_some();
        let parsed = advanced.as_ref().or_else(|| seat.parser.pending())?;
        let begins = !seat.within;
        if begins && self.requests >= MOST_REQUESTS {
            self.wire.abort(id);
            self.seats.remove(&id);
            return None;
        }
        if begins {
            record.requests.push(begun(parsed, std::mem::take(&mut seat.steps), seat.delay, at));
            self.requests += 1;
        }
        let request = record.requests.last_mut()?;
        let so_far = seat.offset - parsed.end;
        let content = if is_whole { request.whole_content() } else { so_far };
        if content > 0 {
            request.content_at.get_or_insert(at);
        }
        request.content_bytes = content;
        seat.within = !is_whole;
        let moment = match (is_whole, begins) {
            (true, _) => Moment::Whole,
            (false, true) => Moment::Head,
            (false, false) => return None,
        };
        let facts = Facts {
            expects: request.expects,
            number: record.requests.len() - 1,
            has_closed: self.has_closed,
        };
        Some(self.script.act(moment, facts))
    }

    fn send(&mut self, id: u64, bytes: &[u8]) {
        match self.seats.get_mut(&id).and_then(|seat| seat.session.as_mut()) {
            Some(session) => self.wire.send(id, &session.seal(bytes)),
            None => self.wire.send(id, bytes),
        }
    }

    fn half_close(&mut self, id: u64) {
        if let Some(session) = self.seats.get_mut(&id).and_then(|seat| seat.session.as_mut()) {
            self.wire.send(id, &session.close());
        }
        self.wire.half_close(id);
    }

    fn act(&mut self, id: u64, act: Act, at: Duration) {
        let delay = self.next_delay();
        let Some(seat) = self.seats.get_mut(&id) else { return };
        let Some(request) = self.connections[seat.place].requests.last_mut() else { return };
        match act {
            Act::Wait => {}
            Act::Continue => {
                request.continued_at = Some(at);
                self.send(id, CONTINUE);
            }
            Act::Answer => {
                request.answered_at = Some(at);
                let (last, head) = (request.last, request.method == Method::Head);
                seat.delay = Some(delay);
                self.send(id, &answer(last, head));
                match last {
                    true => self.half_close(id),
                    false => self.wire.delay_acks(id, delay),
                }
            }
            Act::Refuse => {
                request.answered_at = Some(at);
                seat.refused = true;
                self.wire.read_slowly(id);
                self.send(id, REFUSAL);
                self.half_close(id);
            }
            Act::Close => {
                request.met_close = true;
                self.has_closed = true;
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
        if seat.refused {
            return self.wire.half_close(id);
        }
        self.half_close(id);
        self.wire.forget(id);
        self.seats.remove(&id);
    }

    /// Acts where a client has sent no content for too long.
    fn lose_patience(&mut self) {
        let now = self.wire.begun().elapsed().saturating_sub(self.begun);
        let waits = |(id, seat): (&u64, &Seat)| {
            let request = self.connections[seat.place].requests.last().filter(|_| seat.within)?;
            let waits = request.content_at.is_none()
                && request.continued_at.is_none()
                && request.head_at + PATIENCE <= now;
            let facts = Facts { expects: request.expects, number: 0, has_closed: self.has_closed };
            waits.then_some((*id, facts))
        };
        let waiting: Vec<_> = self.seats.iter().filter_map(waits).collect();
        for (id, facts) in waiting {
            self.act(id, self.script.act(Moment::NoContent, facts), now);
        }
    }
}

/// The record of a request whose head has just arrived.
fn begun(
    parsed: &ackwise_http::Request,
    steps: Vec<Step>,
    delay: Option<Duration>,
    at: Duration,
) -> Request {
    let fields = &parsed.fields;
    let length = fields.text("Content-Length").and_then(|it| it.trim().parse().ok());
    let content = match (fields.first("Transfer-Encoding"), length) {
        (Some(_), _) => Content::Chunked,
        (None, Some(length @ 1..)) => Content::Length(length),
        _ => Content::None,
    };
    let persists = match parsed.version {
        Version::Http11 => !parsed.connection.close,
        Version::Http10 => parsed.connection.keep_alive && !parsed.connection.close,
    };
    let expects = fields.list("Expect").any(|it| it.eq_ignore_ascii_case(b"100-continue"));
    Request {
        method: parsed.method,
        target: parsed.target.clone(),
        expects: expects && parsed.version == Version::Http11,
        last: !persists,
        content,
        delay,
        steps,
        head_at: at,
        content_at: None,
        content_bytes: 0,
        continued_at: None,
        answered_at: None,
        met_close: false,
    }
}

/// A small response: JSON and text at the same time, which any client takes.
fn answer(last: bool, head: bool) -> Vec<u8> {
    let connection = if last { "Connection: close" } else { "Connection: keep-alive" };
    let content = if head { "" } else { "{}\n" };
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\
         {connection}\r\n\r\n{content}"
    )
    .into_bytes()
}

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const REFUSAL: &[u8] =
    b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbig\n";

/// How late the end of the command, or an interrupt, may be noticed. Our choice.
const TICK: Duration = Duration::from_millis(20);

/// How long FINs are waited for after the command has ended. Our choice.
const GRACE: Duration = Duration::from_millis(30);

/// How long the rest of an upload is read. Our choice: more than Linux's send buffer of 4 MB takes.
const UPLOAD_GRACE: Duration = Duration::from_secs(2);

/// Connections of one run, and requests after which no more are taken. Our choice.
const MOST_CONNECTIONS: usize = 1_000;
const MOST_REQUESTS: usize = 2_000;
