//! HTTP/2 (RFC 9113).
//!
//! An upload may fill a window, which is then opened again, unless it was refused: that is what keeps clients from sending
//! it all. SETTINGS and PING are acknowledged at once, as all servers do.

use std::collections::BTreeMap;

use ackwise_http::{
    Method,
    http2::{
        CLIENT_PREFACE, FRAME_LIMIT, Frame, FrameHeader, FrameKind, Frames,
        frame::{self, ACK, END_HEADERS, END_STREAM},
        hpack::{Decoder, write_literal},
        settings,
    },
};

use super::{Arrival, Response, content};
use crate::{
    client::observed::{Content, Request},
    http_client::Kept,
};

/// The streams of one connection.
pub(in crate::client) struct Http2 {
    /// Bytes of the client's preface that are still to come.
    preface: usize,
    frames: Frames,
    decoder: Decoder<Kept>,
    block: Option<(FrameHeader, Vec<u8>)>,
    /// Streams that are not complete in both directions, [`MOST_STREAMS`] at most.
    streams: BTreeMap<u32, Stream>,
    /// The highest number so far.
    last: u32,
    due: Vec<u8>,
    /// What a new stream may send, and what all may.
    initial: i64,
    connection: i64,
}

/// What HTTP/2's windows let us send, in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::client) struct Credit {
    pub(in crate::client) stream: i64,
    pub(in crate::client) connection: i64,
}

struct Stream {
    /// Bytes of the request's content.
    content: u64,
    is_whole: bool,
    /// Bytes of it for which the client got no new credit; `None` if it gets none.
    taken: Option<u32>,
    credit: i64,
    /// Content of the response, and how much of it was sent.
    response: Vec<u8>,
    sent: usize,
}

impl Http2 {
    pub(super) fn new() -> Self {
        let mut due = Vec::new();
        let window = (settings::INITIAL_WINDOW_SIZE, WINDOW);
        let streams = (settings::MAX_CONCURRENT_STREAMS, MOST_STREAMS);
        let parameters = settings::write(&[streams, window]);
        FrameHeader::append(FrameKind::Settings, 0, 0, &parameters, &mut due);
        let more = settings::LARGEST_WINDOW - settings::DEFAULT_WINDOW;
        FrameHeader::append(FrameKind::WindowUpdate, 0, 0, &more.to_be_bytes(), &mut due);
        Self {
            preface: CLIENT_PREFACE.len(),
            frames: Frames::new(),
            decoder: Decoder::new(),
            block: None,
            streams: BTreeMap::new(),
            last: 0,
            due,
            initial: settings::DEFAULT_WINDOW.into(),
            connection: settings::DEFAULT_WINDOW.into(),
        }
    }

    pub(super) fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Arrival>, String> {
        let expected = &CLIENT_PREFACE[CLIENT_PREFACE.len() - self.preface..];
        let (seen, rest) = input.split_at(self.preface.min(input.len()));
        if seen != &expected[..seen.len()] {
            return Err("HTTP/2's preface is broken".to_owned());
        }
        self.preface -= seen.len();
        *input = rest;
        while let Some(frame) = self.frames.advance(input).map_err(|error| error.to_string())? {
            if let Some(arrival) = self.take(&frame)? {
                return Ok(Some(arrival));
            }
        }
        Ok(None)
    }

    pub(super) fn take_due(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.due)
    }

    pub(super) fn credit(&self, stream: u32) -> Option<Credit> {
        let stream = self.streams.get(&stream)?.credit;
        Some(Credit { stream, connection: self.connection })
    }

    /// RFC 9113, section 6.8: streams above the last that it names were not processed.
    pub(super) fn go_away(&mut self, stream: u32) {
        let last = stream.saturating_sub(2).to_be_bytes();
        let payload = [&last[..], &0_u32.to_be_bytes()].concat();
        FrameHeader::append(FrameKind::Goaway, 0, 0, &payload, &mut self.due);
    }

    pub(super) fn respond(&mut self, stream: u32, response: Response) {
        let content = content(response);
        let (status, length) = match response {
            Response::Continue => ("100", None),
            Response::Refusal => ("413", Some(content.len())),
            Response::Empty => ("200", Some(3)),
            Response::Small | Response::Large => ("200", Some(content.len())),
        };
        let mut block = Vec::new();
        write_literal(b":status", status.as_bytes(), &mut block);
        if let Some(length) = length {
            write_literal(b"content-type", b"application/json", &mut block);
            write_literal(b"content-length", length.to_string().as_bytes(), &mut block);
        }
        let ends = if response == Response::Empty { END_STREAM } else { 0 };
        FrameHeader::append(FrameKind::Headers, END_HEADERS | ends, stream, &block, &mut self.due);
        match self.streams.get_mut(&stream) {
            Some(open) => {
                open.response = content;
                open.taken = open.taken.filter(|_| response != Response::Refusal);
            }
            None => return,
        }
        if response == Response::Empty {
            self.streams.remove(&stream);
        }
        self.send();
        if response == Response::Refusal {
            // RFC 9113, section 8.1: "the server MAY request that the client abort transmission of a request without error
            // by sending a RST_STREAM with an error code of NO_ERROR after sending a complete response".
            FrameHeader::append(FrameKind::RstStream, 0, stream, &[0; 4], &mut self.due);
        }
    }

    fn take(&mut self, frame: &Frame) -> Result<Option<Arrival>, String> {
        let FrameHeader { kind, stream, .. } = frame.header;
        match kind {
            FrameKind::Data => return Ok(self.take_data(frame)),
            FrameKind::Headers | FrameKind::Continuation => return self.take_block(frame),
            FrameKind::Settings if !frame.header.has(ACK) => self.take_settings(&frame.payload),
            FrameKind::Ping if !frame.header.has(ACK) => {
                FrameHeader::append(kind, ACK, 0, &frame.payload, &mut self.due);
            }
            FrameKind::WindowUpdate => {
                let increment = i64::from(frame.number(0).unwrap_or_default() & (u32::MAX >> 1));
                match self.streams.get_mut(&stream) {
                    Some(stream) => stream.credit += increment,
                    None if stream == 0 => self.connection += increment,
                    None => {}
                }
                self.send();
            }
            FrameKind::RstStream => drop(self.streams.remove(&stream)),
            FrameKind::Settings
            | FrameKind::Ping
            | FrameKind::Priority
            | FrameKind::PushPromise
            | FrameKind::Goaway
            | FrameKind::Other(_) => {}
        }
        Ok(None)
    }

    fn take_data(&mut self, frame: &Frame) -> Option<Arrival> {
        let id = frame.header.stream;
        let stream = self.streams.get_mut(&id).filter(|it| !it.is_whole)?;
        stream.content += frame::content(&frame.header, &frame.payload).len() as u64;
        stream.is_whole = frame.header.has(END_STREAM);
        let taken = stream.taken.unwrap_or_default() + frame.header.length;
        if stream.taken.is_some() && taken >= WINDOW / 2 && !stream.is_whole {
            let more = taken.to_be_bytes();
            FrameHeader::append(FrameKind::WindowUpdate, 0, id, &more, &mut self.due);
            stream.taken = Some(0);
        } else {
            stream.taken = stream.taken.map(|_| taken);
        }
        let (content, is_whole) = (stream.content, stream.is_whole);
        self.forget(id);
        Some(Arrival { stream: id, head: None, content, is_whole })
    }

    fn take_block(&mut self, frame: &Frame) -> Result<Option<Arrival>, String> {
        let piece = frame::content(&frame.header, &frame.payload);
        if frame.header.kind == FrameKind::Headers {
            self.block = Some((frame.header, Vec::new()));
        }
        let Some((header, block)) = &mut self.block else {
            return Err("CONTINUATION without HEADERS".to_owned());
        };
        block.extend_from_slice(piece);
        if block.len() > BLOCK_LIMIT {
            return Err(format!("a field block of {} bytes", block.len()));
        }
        if !frame.header.has(END_HEADERS) {
            return Ok(None);
        }
        let (header, block) = (*header, std::mem::take(block));
        self.block = None;
        let (id, is_whole) = (header.stream, header.has(END_STREAM));
        let mut fields = Vec::new();
        self.decoder
            .decode(&block, |field| fields.push(field.clone()))
            .map_err(|error| error.to_string())?;
        if let Some(stream) = self.streams.get_mut(&id) {
            // Trailers (section 8.1).
            stream.is_whole |= is_whole;
            let (content, is_whole) = (stream.content, stream.is_whole);
            self.forget(id);
            return Ok(Some(Arrival { stream: id, head: None, content, is_whole }));
        }
        if id <= self.last || self.streams.len() >= MOST_STREAMS as usize {
            return Ok(None); // Of a stream that is closed, or was refused by our SETTINGS.
        }
        self.last = id;
        let credit = self.initial;
        let stream =
            Stream { content: 0, is_whole, taken: Some(0), credit, response: Vec::new(), sent: 0 };
        self.streams.insert(id, stream);
        let mut head = begun(&fields)?;
        if is_whole {
            head.content = Content::None;
        }
        let head = Some(head);
        Ok(Some(Arrival { stream: id, head, content: 0, is_whole }))
    }

    fn take_settings(&mut self, payload: &[u8]) {
        for (name, value) in settings::read(payload) {
            if name == settings::INITIAL_WINDOW_SIZE {
                // Section 6.9.2: it changes every window by the difference.
                let change = i64::from(value) - self.initial;
                self.initial += change;
                self.streams.values_mut().for_each(|stream| stream.credit += change);
            }
        }
        FrameHeader::append(FrameKind::Settings, ACK, 0, &[], &mut self.due);
        self.send();
    }

    /// Sends what there is room for.
    fn send(&mut self) {
        for (id, stream) in &mut self.streams {
            while stream.sent < stream.response.len() {
                let room = stream.credit.min(self.connection).min(FRAME_LIMIT.into());
                let room = usize::try_from(room).unwrap_or(0);
                let rest = &stream.response[stream.sent..];
                let piece = &rest[..room.min(rest.len())];
                if piece.is_empty() {
                    break;
                }
                let flags = if piece.len() == rest.len() { END_STREAM } else { 0 };
                FrameHeader::append(FrameKind::Data, flags, *id, piece, &mut self.due);
                let size = i64::try_from(piece.len()).unwrap_or(i64::MAX);
                stream.credit -= size;
                self.connection -= size;
                stream.sent += piece.len();
            }
        }
        let is_open = |it: &Stream| !it.is_whole || it.sent < it.response.len();
        self.streams.retain(|_, stream| stream.response.is_empty() || is_open(stream));
    }

    /// Drops a stream that is answered and complete.
    fn forget(&mut self, id: u32) {
        let is_over =
            |it: &Stream| it.is_whole && !it.response.is_empty() && it.sent == it.response.len();
        if self.streams.get(&id).is_some_and(is_over) {
            self.streams.remove(&id);
        }
    }
}

/// The record of a request whose head has just arrived.
fn begun(fields: &[Kept]) -> Result<Request, String> {
    let text = |name: &[u8]| {
        let mut pairs = fields.iter().map(Kept::name_and_value);
        std::str::from_utf8(pairs.find(|(it, _)| *it == name)?.1).ok()
    };
    let token = text(b":method").ok_or("a request has no :method")?;
    let method = Method::ALL.into_iter().find(|it| it.as_str() == token);
    let method = method.ok_or_else(|| format!("unknown method {token:?}"))?;
    let content = match text(b"content-length").and_then(|it| it.parse().ok()) {
        Some(length) => Content::Length(length),
        None => Content::Unknown,
    };
    let expects = text(b"expect").is_some_and(|it| it.eq_ignore_ascii_case("100-continue"));
    let target = text(b":path").unwrap_or_default();
    Ok(Request { expects, ..Request::new(method, target, content) })
}

/// Streams at a time (SETTINGS_MAX_CONCURRENT_STREAMS). RFC 9113, section 6.5.2: "It is recommended that this value be no
/// smaller than 100".
const MOST_STREAMS: u32 = 100;

/// What a client may send of an upload before it is granted more; of all uploads, 2 GB. Our choice: as Go's server
/// (`MaxUploadBufferPerStream`).
const WINDOW: u32 = 1 << 20;

/// Longest field block that is read. Our choice; nginx and nghttp2 have the same.
const BLOCK_LIMIT: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::http::LARGE;

    fn frame(kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        FrameHeader::append(kind, flags, stream, payload, &mut bytes);
        bytes
    }

    fn head(stream: u32, flags: u8, method: &str) -> Vec<u8> {
        let mut block = Vec::new();
        let fields = [(":method", method), (":path", "/x"), ("expect", "100-continue")];
        for (name, value) in fields {
            write_literal(name.as_bytes(), value.as_bytes(), &mut block);
        }
        frame(FrameKind::Headers, END_HEADERS | flags, stream, &block)
    }

    /// A connection on which `bytes` have arrived, and what they said.
    fn after(bytes: &[Vec<u8>]) -> (Http2, Vec<Arrival>) {
        let mut http = Http2::new();
        drop(http.take_due());
        let all = [CLIENT_PREFACE, &bytes.concat()].concat();
        let mut arrivals = Vec::new();
        // However it is cut.
        for piece in all.chunks(7) {
            let mut rest = piece;
            while let Some(arrival) = http.advance(&mut rest).expect("it is HTTP/2") {
                arrivals.push(arrival);
            }
        }
        (http, arrivals)
    }

    fn frames(http: &mut Http2) -> Vec<Frame> {
        let due = http.take_due();
        let (mut frames, mut rest) = (Frames::new(), &due[..]);
        std::iter::from_fn(|| frames.advance(&mut rest).expect("our frames are short")).collect()
    }

    #[test]
    fn requests_arrive_frame_by_frame_and_in_any_order() {
        let data = |stream, flags| frame(FrameKind::Data, flags, stream, b"abc");
        let (_, arrivals) = after(&[
            head(1, 0, "POST"),
            head(3, END_STREAM, "GET"),
            data(1, 0),
            data(1, END_STREAM),
        ]);
        let seen: Vec<_> = arrivals.iter().map(|it| (it.stream, it.content, it.is_whole)).collect();
        assert_eq!(seen, [(1, 0, false), (3, 0, true), (1, 3, false), (1, 6, true)]);
        let head = arrivals[0].head.as_ref().expect("it begins");
        assert_eq!((head.method, &*head.target, head.expects), (Method::Post, "/x", true));
        assert_eq!(head.content, Content::Unknown);
    }

    #[test]
    fn a_response_waits_for_the_windows_of_its_stream_and_of_the_connection() {
        let window = settings::write(&[(settings::INITIAL_WINDOW_SIZE, 100_000)]);
        let (mut http, _) =
            after(&[frame(FrameKind::Settings, 0, 0, &window), head(1, END_STREAM, "GET")]);
        http.respond(1, Response::Large);
        let sent = |http: &mut Http2| -> usize {
            let data = frames(http).into_iter().filter(|it| it.header.kind == FrameKind::Data);
            data.map(|it| it.payload.len()).sum()
        };
        assert_eq!(sent(&mut http), 65_535, "the connection's");
        assert_eq!(http.credit(1), Some(Credit { stream: 34_465, connection: 0 }));
        let mut grant = |stream: u32, more: u32| {
            let update = frame(FrameKind::WindowUpdate, 0, stream, &more.to_be_bytes());
            assert!(http.advance(&mut &update[..]).is_ok_and(|it| it.is_none()));
            sent(&mut http)
        };
        assert_eq!(grant(0, 1 << 24), 34_465, "the stream's");
        assert_eq!(grant(1, 1 << 24), LARGE - 100_000);
        assert_eq!(http.credit(1), None, "it is forgotten");
    }

    #[test]
    fn a_refusal_ends_the_stream_and_a_goaway_names_the_last() {
        let (mut http, _) = after(&[head(1, 0, "POST"), head(3, 0, "POST")]);
        http.respond(1, Response::Refusal);
        let kinds: Vec<_> = frames(&mut http).iter().map(|it| it.header.kind).collect();
        assert_eq!(kinds, [FrameKind::Headers, FrameKind::Data, FrameKind::RstStream]);
        http.go_away(3);
        assert_eq!(frames(&mut http)[0].number(0), Some(1));
    }

    #[test]
    fn an_upload_gets_new_credit_until_it_is_refused() {
        let (mut http, _) = after(&[head(1, 0, "POST")]);
        let upload = |http: &mut Http2| {
            let piece = frame(FrameKind::Data, 0, 1, &vec![0; FRAME_LIMIT as usize]);
            for _ in 0..32 {
                assert!(http.advance(&mut &piece[..]).is_ok_and(|it| it.is_some()));
            }
            frames(http).iter().filter_map(|it| it.number(0)).collect::<Vec<_>>()
        };
        assert_eq!(upload(&mut http), [WINDOW / 2]);
        http.respond(1, Response::Refusal);
        drop(http.take_due());
        assert!(upload(&mut http).is_empty());
    }

    #[test]
    fn what_is_not_http2_is_an_error() {
        let broken = [CLIENT_PREFACE, &frame(FrameKind::Continuation, 0, 1, b"")].concat();
        assert!(Http2::new().advance(&mut &broken[..]).is_err());
        assert!(Http2::new().advance(&mut &b"PRI * HTTP/2.1"[..]).is_err());
        assert!(matches!(Http2::new().advance(&mut &b"PRI * HT"[..]), Ok(None)));
    }
}
