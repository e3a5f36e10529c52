//! One client's side of an HTTP/2 connection (RFC 9113), which knows no time.
//!
//! Every frame is seen by whoever asks: SETTINGS and PING are acknowledged at once, as all clients do, and nothing else
//! is sent of its own accord. Our windows are as large as they can be, so that no response waits for credit.

mod fields;
mod windows;

use std::{collections::VecDeque, time::Duration};

use ackwise_http::{
    Method,
    http2::{
        CLIENT_PREFACE, FRAME_LIMIT, Frame, FrameHeader, FrameKind, Frames,
        frame::{self, ACK, END_HEADERS, END_STREAM},
        hpack::Decoder,
        settings,
    },
};

pub(crate) use self::fields::Kept;
use self::fields::Response;
pub use self::windows::Windows;
use super::{
    ExchangeError, Request,
    draft::PartialResponse,
    exchange::{Head, HeadEnd},
    http1::SAMPLE,
    plain::Plain,
    request::Encoded,
};

/// A connection, from the client's preface on.
pub struct Http2 {
    frames: Frames,
    /// Where in TCP's stream the frame under way begins.
    frame_start: u64,
    decoder: Decoder<Kept>,
    block: Option<Block>,
    /// Those whose responses have not been taken, in the order of their requests.
    streams: VecDeque<Stream>,
    /// The number of the next stream.
    next: u32,
    /// What has to be sent before anything else.
    due: Vec<u8>,
    kept: usize,
    windows: Windows,
    settings: Option<Settings>,
    goaway: Option<Goaway>,
    /// PINGs that were acknowledged.
    pongs: u32,
    /// What came first, for messages.
    sample: Vec<u8>,
    failure: Option<ExchangeError>,
    nothing: PartialResponse,
}

/// What the server's first SETTINGS say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// Bytes that a client may send on a stream at first.
    pub initial_window: u32,
    /// Streams that a client may have open; `None` for any number.
    pub max_concurrent_streams: Option<u32>,
}

/// The server's announcement that it takes no more streams (RFC 9113, section 6.8).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Goaway {
    /// The last stream that it may have processed.
    pub last_stream: u32,
    /// Why: an error code of section 7.
    pub code: u32,
}

/// A request that was sent, and its response.
struct Stream {
    id: u32,
    method: Method,
    draft: PartialResponse,
    /// Parts of the content that have no room in the server's windows, each for a frame or more.
    unsent: VecDeque<Vec<u8>>,
    failure: Option<ExchangeError>,
}

/// A field block under way.
struct Block {
    header: FrameHeader,
    /// Where in TCP's stream its first frame begins, and where in HTTP's.
    start: u64,
    offset: u64,
    bytes: Vec<u8>,
}

impl Http2 {
    pub(super) fn new() -> Self {
        Self {
            frames: Frames::new(),
            frame_start: 0,
            decoder: Decoder::new(),
            block: None,
            streams: VecDeque::new(),
            next: 1,
            due: preface(),
            kept: 0,
            windows: Windows::new(),
            settings: None,
            goaway: None,
            pongs: 0,
            sample: Vec::new(),
            failure: None,
            nothing: PartialResponse::default(),
        }
    }

    /// What the server's first SETTINGS say, if they have come.
    #[must_use]
    pub const fn settings(&self) -> Option<Settings> {
        self.settings
    }

    /// The server's windows.
    #[must_use]
    pub const fn windows(&self) -> &Windows {
        &self.windows
    }

    /// The server's GOAWAY, if it has come.
    #[must_use]
    pub const fn goaway(&self) -> Option<Goaway> {
        self.goaway
    }

    /// PINGs of ours that were acknowledged.
    #[must_use]
    pub const fn pongs(&self) -> u32 {
        self.pongs
    }

    /// Whether some of a request waits for room in the server's windows.
    pub(super) fn awaits_credit(&self) -> bool {
        self.streams.iter().any(|stream| !stream.unsent.is_empty() && !stream.is_over())
    }

    pub(super) fn ask(&mut self, request: &Request) -> Encoded {
        let (block, content, split) = request.as_fields();
        let mut bytes = self.take_due();
        let before = bytes.len();
        let id = self.next;
        self.next += 2;
        let ends = if content.is_empty() { END_STREAM } else { 0 };
        write_block(id, block, ends, &mut bytes);
        let head = bytes.len();
        let (first, second) = content.split_at(split.unwrap_or_default().min(content.len()));
        let unsent = [first, second].into_iter().filter(|part| !part.is_empty());
        let mut stream = Stream {
            id,
            method: request.method(),
            draft: PartialResponse::keeping(self.kept),
            unsent: unsent.map(<[u8]>::to_vec).collect(),
            failure: self.goaway.map(|goaway| goaway.unprocessed()),
        };
        self.windows.open(id);
        stream.send(&mut self.windows, &mut bytes);
        self.streams.push_back(stream);
        let cut = match split {
            None => before + (bytes.len() - before) / 2,
            Some(_) if first.is_empty() => head,
            Some(_) => head + FrameHeader::SIZE + first.len(),
        };
        Encoded { cut: cut.min(bytes.len()), bytes }
    }

    /// What asks whether the server is there.
    pub(super) fn ping(&mut self) -> Vec<u8> {
        let mut bytes = self.take_due();
        FrameHeader::append(FrameKind::Ping, 0, 0, PING, &mut bytes);
        bytes
    }

    pub(super) fn begin(&mut self, kept: usize) {
        self.kept = kept;
        for stream in self.streams.iter_mut().filter(|stream| stream.draft.content() == 0) {
            stream.draft.keep(kept);
        }
    }

    /// What has to be sent at once.
    pub(super) fn take_due(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.due)
    }

    pub(super) fn feed(&mut self, plain: &Plain) {
        let shown = plain.bytes.len().min(SAMPLE.saturating_sub(self.sample.len()));
        self.sample.extend_from_slice(&plain.bytes[..shown]);
        let mut rest = &plain.bytes[..];
        while self.failure.is_none() {
            if self.frames.is_between_frames() && !rest.is_empty() {
                self.frame_start = plain.start_on_wire(self.frames.offset());
            }
            match self.frames.advance(&mut rest) {
                Ok(Some(frame)) => self.take(&frame, plain),
                Ok(None) => break,
                Err(_) if self.settings.is_none() => self.failure = Some(self.no_http2()),
                Err(error) => self.fail(error),
            }
        }
    }

    pub(super) fn advance(&mut self) -> Result<bool, ExchangeError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let Some(stream) = self.streams.front_mut() else { return Ok(false) };
        match stream.failure.take_if(|_| !stream.draft.is_complete()) {
            Some(failure) => {
                self.streams.pop_front();
                Err(failure)
            }
            None => Ok(stream.draft.is_complete()),
        }
    }

    pub(super) fn draft(&self) -> &PartialResponse {
        self.streams.front().map_or(&self.nothing, |stream| &stream.draft)
    }

    pub(super) fn take_draft(&mut self) -> PartialResponse {
        let mut draft = self.streams.pop_front().map(|stream| stream.draft).unwrap_or_default();
        if self.goaway.is_some() {
            draft.is_the_last();
        }
        draft
    }

    pub(super) fn close(&self) -> Result<bool, ExchangeError> {
        match self.draft().has_head() {
            true => Err(http2("the connection ended within a response")),
            false => Ok(false),
        }
    }

    pub(super) fn unanswered(&self, waited: Duration) -> ExchangeError {
        match self.settings {
            None if !self.sample.is_empty() => self.no_http2(),
            _ => ExchangeError::Silent(waited),
        }
    }

    fn take(&mut self, frame: &Frame, plain: &Plain) {
        let FrameHeader { kind, stream, .. } = frame.header;
        if self.settings.is_none() && kind != FrameKind::Settings {
            // RFC 9113, section 3.4: SETTINGS are the first frame.
            self.failure = Some(self.no_http2());
            return;
        }
        match kind {
            FrameKind::Data => self.take_data(frame, plain),
            FrameKind::Headers | FrameKind::PushPromise | FrameKind::Continuation => {
                self.take_block(frame, plain);
            }
            FrameKind::Settings if !frame.header.has(ACK) => self.take_settings(&frame.payload),
            FrameKind::Ping if frame.header.has(ACK) => self.pongs += 1,
            FrameKind::Ping => FrameHeader::append(kind, ACK, 0, &frame.payload, &mut self.due),
            FrameKind::Goaway => {
                let number = |at| frame.number(at).unwrap_or_default();
                let last_stream = number(0) & (u32::MAX >> 1);
                let goaway = Goaway { last_stream, code: number(4) };
                self.goaway = Some(goaway);
                for stream in self.streams.iter_mut().filter(|it| it.id > last_stream) {
                    stream.failure = Some(goaway.unprocessed());
                }
            }
            FrameKind::RstStream => {
                let failure = refusal(frame.number(0).unwrap_or_default());
                if let Some(stream) = self.stream(stream) {
                    stream.failure.get_or_insert(failure);
                }
            }
            FrameKind::WindowUpdate => {
                let increment = frame.number(0).unwrap_or_default() & (u32::MAX >> 1);
                self.windows.grant(stream, increment);
                self.send();
            }
            FrameKind::Settings | FrameKind::Priority | FrameKind::Other(_) => {}
        }
    }

    fn take_data(&mut self, frame: &Frame, plain: &Plain) {
        let (start, end) = (self.frame_start, plain.end_on_wire(frame.end()));
        let Some(stream) = self.stream(frame.header.stream) else { return };
        stream.draft.begin(start);
        stream.draft.take_content(frame::content(&frame.header, &frame.payload), end);
        if frame.header.has(END_STREAM) {
            stream.end(end);
        }
    }

    fn take_block(&mut self, frame: &Frame, plain: &Plain) {
        let piece = frame::content(&frame.header, &frame.payload);
        if frame.header.kind != FrameKind::Continuation {
            let (start, offset) = (self.frame_start, frame.start);
            self.block = Some(Block { header: frame.header, start, offset, bytes: Vec::new() });
        }
        let Some(block) = &mut self.block else {
            return self.fail("CONTINUATION without HEADERS");
        };
        block.bytes.extend_from_slice(piece);
        if block.bytes.len() > BLOCK_LIMIT {
            return self.fail("a field block is too long");
        }
        if !frame.header.has(END_HEADERS) {
            return;
        }
        let Some(block) = self.block.take() else { return };
        let mut fields = Response::default();
        if let Err(error) = self.decoder.decode(&block.bytes, |field| fields.note(field)) {
            return self.fail(error);
        }
        // What a server promises without being allowed to is read for the table alone.
        if block.header.kind == FrameKind::Headers {
            let end = HeadEnd {
                offset: plain.end_on_wire(frame.end()),
                separable: plain.can_end_at(frame.end()),
            };
            self.take_fields(&block, fields, end, frame.end() - block.offset);
        }
    }

    fn take_fields(&mut self, block: &Block, fields: Response, end: HeadEnd, bytes: u64) {
        let Some(stream) = self.stream(block.header.stream) else { return };
        stream.draft.begin(block.start);
        let ends = block.header.has(END_STREAM);
        match (stream.draft.has_head(), fields.status) {
            (false, Some(100..=199)) => {} // Part of what precedes the head.
            (false, Some(status)) => {
                let fields = fields.fields();
                let length = fields.text("content-length").and_then(|it| it.parse().ok());
                let head = Head {
                    bytes,
                    status,
                    content_length: length.filter(|_| stream.method != Method::Head),
                    fields,
                    keep_alive: None,
                    persists: true,
                };
                stream.draft.take_head(head, end);
            }
            (true, _) => stream.draft.take_trailers(fields.fields()),
            (false, None) => {
                stream.failure = Some(http2("a response has no :status"));
            }
        }
        if ends {
            stream.end(end.offset);
        }
    }

    fn take_settings(&mut self, payload: &[u8]) {
        if !payload.len().is_multiple_of(6) {
            // RFC 9113, section 6.5.
            return self.fail(format!("SETTINGS of {} bytes", payload.len()));
        }
        let all = || settings::read(payload);
        let last =
            |wanted| all().filter(|(name, _)| *name == wanted).last().map(|(_, value)| value);
        if let Some(window) = last(settings::INITIAL_WINDOW_SIZE) {
            self.windows.set_initial(window.min(settings::LARGEST_WINDOW));
        }
        self.settings.get_or_insert_with(|| Settings {
            initial_window: last(settings::INITIAL_WINDOW_SIZE).unwrap_or(settings::DEFAULT_WINDOW),
            max_concurrent_streams: last(settings::MAX_CONCURRENT_STREAMS),
        });
        FrameHeader::append(FrameKind::Settings, ACK, 0, &[], &mut self.due);
        self.send();
    }

    /// Sends what there is room for now.
    fn send(&mut self) {
        for stream in &mut self.streams {
            stream.send(&mut self.windows, &mut self.due);
        }
    }

    fn stream(&mut self, id: u32) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|stream| stream.id == id && !stream.is_over())
    }

    fn fail(&mut self, why: impl ToString) {
        self.failure = Some(http2(why));
    }

    fn no_http2(&self) -> ExchangeError {
        http2(format!("no SETTINGS; the response begins with \"{}\"", self.sample.escape_ascii()))
    }
}

impl Goaway {
    /// The error of a request that the server has not processed.
    fn unprocessed(self) -> ExchangeError {
        match self.code {
            0 => ExchangeError::Unprocessed,
            code => http2(format!("GOAWAY with {}", error_name(code))),
        }
    }
}

impl Stream {
    fn is_over(&self) -> bool {
        self.draft.is_complete() || self.failure.is_some()
    }

    fn end(&mut self, end: u64) {
        // RFC 9113, section 8.1.1; a response without content may say how much there would be.
        let says = self.draft.content_length().filter(|_| self.draft.content() > 0);
        if let Some(said) = says.filter(|said| *said != self.draft.content()) {
            let seen = self.draft.content();
            let why =
                format!("malformed response: {seen} bytes of content (content-length says {said})");
            self.failure.get_or_insert_with(|| http2(why));
            return;
        }
        match self.draft.has_head() {
            true => self.draft.complete(Some(end)),
            false => {
                self.failure.get_or_insert_with(|| http2("a stream ended without a response"));
            }
        }
    }

    /// Writes what there is room for.
    fn send(&mut self, windows: &mut Windows, to: &mut Vec<u8>) {
        while let Some(part) = self.unsent.front_mut() {
            let room = windows.room(self.id).min(FRAME_LIMIT as usize).min(part.len());
            if room == 0 || self.failure.is_some() {
                return;
            }
            let rest = part.split_off(room);
            let piece = std::mem::replace(part, rest);
            if part.is_empty() {
                self.unsent.pop_front();
            }
            windows.spend(self.id, piece.len());
            let flags = if self.unsent.is_empty() { END_STREAM } else { 0 };
            FrameHeader::append(FrameKind::Data, flags, self.id, &piece, to);
        }
    }
}

/// The client's preface: SETTINGS that open each stream's window as far as it goes, and the connection's.
fn preface() -> Vec<u8> {
    let parameters =
        [(settings::ENABLE_PUSH, 0), (settings::INITIAL_WINDOW_SIZE, settings::LARGEST_WINDOW)];
    let more = settings::LARGEST_WINDOW - settings::DEFAULT_WINDOW;
    let mut bytes = CLIENT_PREFACE.to_vec();
    FrameHeader::append(FrameKind::Settings, 0, 0, &settings::write(&parameters), &mut bytes);
    FrameHeader::append(FrameKind::WindowUpdate, 0, 0, &more.to_be_bytes(), &mut bytes);
    bytes
}

/// HEADERS with these `flags`, and CONTINUATION for what exceeds a frame (RFC 9113, section 6.10).
fn write_block(stream: u32, block: &[u8], flags: u8, to: &mut Vec<u8>) {
    let mut pieces = block.chunks(FRAME_LIMIT as usize).peekable();
    let mut kind = FrameKind::Headers;
    while let Some(piece) = pieces.next() {
        let ends_block = if pieces.peek().is_none() { END_HEADERS } else { 0 };
        let of_headers = if kind == FrameKind::Headers { flags } else { 0 };
        FrameHeader::append(kind, ends_block | of_headers, stream, piece, to);
        kind = FrameKind::Continuation;
    }
}

/// What RST_STREAM says.
fn refusal(code: u32) -> ExchangeError {
    match code {
        // RFC 9113, section 8.7: it was not processed, and may be sent again.
        REFUSED_STREAM => ExchangeError::Unprocessed,
        code => http2(format!("the server resets the stream with {}", error_name(code))),
    }
}

fn error_name(code: u32) -> String {
    frame::error_name(code).map_or_else(|| format!("error code {code}"), str::to_owned)
}

fn http2(why: impl ToString) -> ExchangeError {
    ExchangeError::Http2(why.to_string())
}

const REFUSED_STREAM: u32 = 7;

/// What a PING carries; anything will do.
const PING: &[u8; 8] = b"ackwise\0";

/// Longest field block that is read. Our choice; nginx and nghttp2 have the same.
const BLOCK_LIMIT: usize = 64 << 10;

#[cfg(test)]
mod tests;
