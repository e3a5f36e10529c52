//! Serves one connection: reads requests, answers them, reads again; then closes.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::{Instant, SystemTime},
};

use ackwise_http::{
    Behaviour, Request, RequestError, RequestParser,
    behaviour::{Answer, Gather, Outlook, Pipelining, RequestPieces},
};

use crate::{
    AfterIdle, Config,
    close::{close, close_after_client},
    counters::Counters,
    limits::{ENDLESS_FIELDS, READ_SIZE},
    pace,
    reply::Reply,
    send::{Timing, configure, left_until, send},
    send_buffer::SendBuffer,
    stop::StopSignal,
};

/// One accepted connection, with the server's shared state that it uses.
pub(crate) struct Connection<'s> {
    pub(crate) stream: &'s TcpStream,
    pub(crate) config: &'s Config,
    pub(crate) stop: &'s StopSignal,
    pub(crate) counters: &'s Counters,
}

/// The end that closes first. Equivalent if the client has closed already.
enum End {
    Ours,
    /// The client, as announced by a CLIENT_CLOSE.
    Clients,
}

/// The requests completed by one read, and the error after them, if any.
pub(crate) struct Batch {
    pub(crate) requests: Vec<Request>,
    /// The client closes; later bytes are ignored.
    pub(crate) client_closes: bool,
    pub(crate) broken: Option<RequestError>,
}

impl Connection<'_> {
    /// Serves the connection to its end. Errors are not reported: the client vanished or was too
    /// slow, or the server is stopping.
    pub(crate) fn run(&self) {
        let served = match self.config.behaviour.answer {
            Answer::Close => Ok(End::Ours),
            Answer::Silence => self.keep_quiet(),
            Answer::Garbage => self.shout(GARBAGE, b"", 0),
            Answer::EndlessHead => self.shout(ENDLESS_START, ENDLESS_FIELD, ENDLESS_FIELDS),
            _ => self.serve(),
        };
        let linger = self.config.limits.linger;
        match served {
            Ok(End::Ours) => close(self.stream, linger),
            Ok(End::Clients) => close_after_client(self.stream, linger),
            // A slow client gets a FIN; a vanished one gets nothing.
            Err(error) if is_time_out(&error) => close(self.stream, linger),
            Err(_) => {}
        }
    }

    fn serve(&self) -> io::Result<End> {
        configure(self.stream, &self.config.behaviour)?;
        let mut parser = RequestParser::new();
        if self.config.client_close {
            parser = parser.with_client_close();
        }
        if self.config.getweb {
            parser = parser.with_getweb();
        }
        let mut buffer = vec![0; READ_SIZE];
        let mut answered = 0;
        let mut send_buffer = SendBuffer::new(self.config.send_buffers);
        while let Some(batch) = self.read_batch(&mut parser, &mut buffer, answered)? {
            let Batch { requests, client_closes, broken } = batch;
            let requests = in_order(requests, self.config.behaviour.pipelining);
            for together in requests.chunks(self.answered_together()) {
                let replies = replies_to(together, self.config, self.counters, &mut answered);
                self.answer(&replies, &mut send_buffer)?;
                if replies.last().is_some_and(|reply| reply.outlook == Outlook::Closes) {
                    return Ok(End::Ours);
                }
            }
            if client_closes {
                self.counters.count_client_close();
                return Ok(End::Clients);
            }
            if let Some(error) = broken {
                let reply = Reply::to_error(&error.kind, SystemTime::now());
                self.answer(&[reply], &mut send_buffer)?;
                return Ok(End::Ours);
            }
        }
        Ok(End::Ours)
    }

    /// Reads until at least one request is complete or the stream is malformed; `None` at its end.
    fn read_batch(
        &self,
        parser: &mut RequestParser,
        buffer: &mut [u8],
        answered: u32,
    ) -> io::Result<Option<Batch>> {
        let waiting_since = Instant::now();
        let mut begun = parser.is_within_request().then_some(waiting_since);
        loop {
            // The request limit applies from the accept or the first byte; between requests the
            // idle timeout applies.
            let deadline = match self.config.behaviour.keep_alive.idle() {
                Some(idle) if begun.is_none() && answered > 0 => waiting_since + idle,
                _ => begun.unwrap_or(waiting_since) + self.config.limits.request,
            };
            self.stream.set_read_timeout(Some(left_until(deadline)?))?;
            let bytes = read_some(self.stream, buffer)?;
            if bytes == 0 {
                return Ok(None);
            }
            let batch = parse(parser, &buffer[..bytes]);
            if !batch.requests.is_empty() || batch.client_closes || batch.broken.is_some() {
                return Ok(Some(batch));
            }
            begun.get_or_insert_with(Instant::now);
            if let RequestPieces::LookedAtAfter(pause) = self.config.behaviour.request_pieces
                && !self.stop.sleep(pause)
            {
                return Ok(None);
            }
        }
    }

    /// Maximum number of requests answered by one stream of writes.
    fn answered_together(&self) -> usize {
        if self.config.behaviour.gather == Gather::Pending { usize::MAX } else { 1 }
    }

    fn answer(&self, replies: &[Reply], buffer: &mut SendBuffer) -> io::Result<()> {
        let deadline = Instant::now() + self.config.limits.response;
        let Config { behaviour, copies, .. } = self.config;
        let mut restart = match self.config.after_idle {
            AfterIdle::Paced => pace::restart(self.stream)?,
            AfterIdle::Kernel => None,
        };
        // One client sends all of them, so all of them have the same.
        let head_flush = replies.first().map_or(behaviour.head_flush, |reply| reply.head_flush);
        if head_flush == behaviour.head_flush {
            let timing = Timing { restart, buffer };
            send(self.stream, replies, behaviour, *copies, timing, self.stop, deadline)?;
        } else {
            let remedied = Behaviour { head_flush, ..*behaviour };
            for reply in replies {
                let alone = std::slice::from_ref(reply);
                let timing = Timing { restart: restart.take(), buffer: &mut *buffer };
                send(self.stream, alone, &remedied, *copies, timing, self.stop, deadline)?;
            }
        }
        for _ in replies {
            self.counters.count_answer();
        }
        Ok(())
    }

    /// Waits for any input, then writes `start`, and `phrase` repeated `times` times.
    fn shout(&self, start: &[u8], phrase: &[u8], times: usize) -> io::Result<End> {
        let mut stream = self.stream;
        stream.set_read_timeout(Some(self.config.limits.request))?;
        if read_some(stream, &mut [0; READ_SIZE])? == 0 {
            return Ok(End::Ours);
        }
        let deadline = Instant::now() + self.config.limits.response;
        stream.write_all(start)?;
        for _ in 0..times {
            stream.set_write_timeout(Some(left_until(deadline)?))?;
            stream.write_all(phrase)?;
        }
        Ok(End::Ours)
    }

    /// Reads without responding, for the duration of the response limit.
    fn keep_quiet(&self) -> io::Result<End> {
        let deadline = Instant::now() + self.config.limits.response;
        let mut buffer = vec![0; READ_SIZE];
        loop {
            self.stream.set_read_timeout(Some(left_until(deadline)?))?;
            if read_some(self.stream, &mut buffer)? == 0 {
                return Ok(End::Ours);
            }
        }
    }
}

/// The replies to `requests`, up to the first that closes the connection, of which `answered` came before.
pub(crate) fn replies_to(
    requests: &[Request],
    config: &Config,
    counters: &Counters,
    answered: &mut u32,
) -> Vec<Reply> {
    let mut replies = Vec::with_capacity(requests.len());
    for request in requests {
        *answered += 1;
        let behaviour = config.behaviour_for(request);
        let now = SystemTime::now();
        let reply = Reply::to(request, &config.documents, &behaviour, *answered, now);
        if let Some(time) = reply.parsed_in {
            counters.count_page(time);
        }
        let closes = reply.outlook == Outlook::Closes;
        replies.push(reply);
        if closes {
            break;
        }
    }
    replies
}

pub(crate) fn parse(parser: &mut RequestParser, mut input: &[u8]) -> Batch {
    let mut batch = Batch { requests: Vec::new(), client_closes: false, broken: None };
    loop {
        match parser.advance(&mut input) {
            Ok(Some(request)) if request.is_client_close() => batch.client_closes = true,
            Ok(Some(request)) => {
                batch.requests.push(request);
                continue;
            }
            Ok(None) => {}
            Err(error) => batch.broken = Some(error),
        }
        return batch;
    }
}

/// The requests in the order in which the behaviour answers them.
fn in_order(mut requests: Vec<Request>, pipelining: Pipelining) -> Vec<Request> {
    match pipelining {
        Pipelining::FirstOnly => requests.truncate(1),
        Pipelining::Reversed => requests.reverse(),
        _ => {}
    }
    requests
}

fn read_some(mut stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// A socket timeout is `WouldBlock` on some systems.
fn is_time_out(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

/// Neither HTTP nor text.
const GARBAGE: &[u8] = b"\x00\xff\x16\x03\x01garbage, not HTTP\r\n\r\n";

const ENDLESS_START: &[u8] = b"HTTP/1.1 200 OK\r\n";
const ENDLESS_FIELD: &[u8] = b"X-Endless: and another field, and another, and another\r\n";
