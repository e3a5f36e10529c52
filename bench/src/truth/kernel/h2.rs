//! As much of HTTP/2 as the programs need (RFC 9113): one stream after the other, and flow control; and calls of gRPC
//! (its PROTOCOL-HTTP2) as such streams.

use std::io::{self, ErrorKind, Read, Write};

use super::channel::Channel;
use super::line::{Line, pause};
use super::plan::{Bound, Calls, Http2, Kind, Message, Reading, Step};

/// One end of an HTTP/2 connection.
#[derive(Debug)]
pub(super) struct Peer {
    channel: Channel,
    calls: Calls,
    /// HEADERS that are written with the first DATA, as programs do that know the body.
    head: Vec<u8>,
    received: Vec<u8>,
    stream: u32,
    /// What the other side lets us send on the connection, and on the current stream.
    connection_window: i64,
    stream_window: i64,
    /// The other side's initial window of a stream.
    initial_window: i64,
    /// Our initial window of a stream.
    our_window: u32,
}

/// A frame's type, flags and payload.
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Peer {
    pub(super) fn client(channel: Channel, http2: Http2) -> io::Result<Self> {
        let window = http2.window;
        let mut hello = PREFACE.to_vec();
        let setting =
            [&SETTINGS_INITIAL_WINDOW_SIZE.to_be_bytes()[..], &window.to_be_bytes()].concat();
        hello.extend(encode(SETTINGS, 0, 0, &setting));
        // RFC 9113, section 6.9.2: only a WINDOW_UPDATE changes the connection's window.
        if window > INITIAL_WINDOW && http2.bound == Bound::Stream {
            let more = window - INITIAL_WINDOW;
            hello.extend(encode(WINDOW_UPDATE, 0, 0, &more.to_be_bytes()));
        }
        let mut peer = Self::new(channel, http2.calls, window);
        peer.send(&hello)?;
        Ok(peer)
    }

    pub(super) fn server(mut channel: Channel, http2: Http2) -> io::Result<Self> {
        let mut preface = [0; PREFACE.len()];
        channel.read_exact(&mut preface)?;
        let mut peer = Self::new(channel, http2.calls, INITIAL_WINDOW);
        // Servers say at least that: an empty SETTINGS is none that TLS would show.
        peer.send(&encode(SETTINGS, 0, 0, MAX_CONCURRENT_STREAMS_100))?;
        Ok(peer)
    }

    const fn new(channel: Channel, calls: Calls, our_window: u32) -> Self {
        let window = INITIAL_WINDOW as i64;
        Self {
            channel,
            calls,
            head: Vec::new(),
            received: Vec::new(),
            stream: 1,
            connection_window: window,
            stream_window: window,
            initial_window: window,
            our_window,
        }
    }

    pub(super) const fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    fn line(&mut self) -> &mut Line {
        self.channel.line()
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.channel.write_all(bytes)?;
        self.channel.flush()
    }

    /// Writes the head with the first of the body, or alone if a step says so, and the body as flow control allows.
    pub(super) fn write(&mut self, kind: Kind, message: &Message) -> io::Result<()> {
        self.stream_window = self.initial_window;
        let fields = fields(self.calls, kind, message.body);
        let mut left = message.body + self.calls.prefix();
        let flags = END_HEADERS | if left == 0 { END_STREAM } else { 0 };
        self.line().diary.begin();
        self.head = encode(HEADERS, flags, self.stream, &fields);
        for step in &message.steps {
            match *step {
                Step::Head => self.write_head()?,
                Step::Bytes(len) => self.write_data(kind, len.min(left), &mut left)?,
                Step::Rest => self.write_data(kind, left, &mut left)?,
                Step::Pause(span) => pause(span),
                Step::Cork(on) => self.line().cork(on)?,
                // Nothing is awaited with HTTP/2.
                Step::AwaitContinue => {}
            }
        }
        self.write_head()?;
        self.line().diary.end();
        if kind == Kind::Response {
            self.stream += 2;
        }
        Ok(())
    }

    /// Writes HEADERS that wait for DATA.
    fn write_head(&mut self) -> io::Result<()> {
        let head = std::mem::take(&mut self.head);
        if head.is_empty() { Ok(()) } else { self.send(&head) }
    }

    fn write_data(&mut self, kind: Kind, mut len: usize, left: &mut usize) -> io::Result<()> {
        let has_trailers = self.calls == Calls::Grpc && kind == Kind::Response;
        while len > 0 {
            while let Some(frame) = self.buffered()? {
                self.handle(&frame)?;
            }
            let window = self.connection_window.min(self.stream_window);
            if window <= 0 {
                self.write_head()?;
                let from = self.line().now();
                let frame = self.next()?;
                self.handle(&frame)?;
                let until = self.line().now();
                self.line().diary.flow_controlled.push((from, until));
                continue;
            }
            let part = len.min(MAX_FRAME).min(usize::try_from(window).unwrap_or(MAX_FRAME));
            let is_last = part == *left;
            let flags = if is_last && !has_trailers { END_STREAM } else { 0 };
            let mut frames = std::mem::take(&mut self.head);
            frames.extend(encode(DATA, flags, self.stream, &vec![b'x'; part]));
            if is_last && has_trailers {
                let flags = END_HEADERS | END_STREAM;
                frames.extend(encode(HEADERS, flags, self.stream, GRPC_STATUS_0));
            }
            self.send(&frames)?;
            let sent = i64::try_from(part).expect("a frame is small");
            self.connection_window -= sent;
            self.stream_window -= sent;
            len -= part;
            *left -= part;
        }
        Ok(())
    }

    /// Reads until the end of the stream.
    pub(super) fn read(&mut self, kind: Kind, reading: Reading) -> io::Result<()> {
        let (mut for_stream, mut for_connection) = (0, 0);
        loop {
            let frame = self.next()?;
            if frame.kind == DATA {
                let len = u32::try_from(frame.payload.len()).expect("24 bits");
                for_stream += len;
                for_connection += len;
                pause(reading.pause);
            }
            self.handle(&frame)?;
            if frame.flags & END_STREAM != 0 && matches!(frame.kind, DATA | HEADERS) {
                if for_connection > 0 {
                    self.update(0, for_connection)?;
                }
                if kind == Kind::Response {
                    self.stream += 2;
                }
                return Ok(());
            }
            if for_stream >= self.our_window / 2 {
                self.update(frame.stream, for_stream)?;
                for_stream = 0;
            }
            if for_connection >= INITIAL_WINDOW / 2 {
                self.update(0, for_connection)?;
                for_connection = 0;
            }
        }
    }

    fn update(&mut self, stream: u32, by: u32) -> io::Result<()> {
        self.send(&encode(WINDOW_UPDATE, 0, stream, &by.to_be_bytes()))
    }

    fn handle(&mut self, frame: &Frame) -> io::Result<()> {
        match frame.kind {
            WINDOW_UPDATE => {
                let payload = frame.payload.get(..4).and_then(|it| it.try_into().ok());
                let by = i64::from(u32::from_be_bytes(payload.ok_or(ErrorKind::InvalidData)?));
                match frame.stream {
                    0 => self.connection_window += by,
                    stream if stream == self.stream => self.stream_window += by,
                    _ => {}
                }
            }
            SETTINGS if frame.flags & ACK == 0 => {
                if let [_, SETTINGS_WINDOW_LOW, a, b, c, d] = frame.payload[..] {
                    let window = i64::from(u32::from_be_bytes([a, b, c, d]));
                    self.stream_window += window - self.initial_window;
                    self.initial_window = window;
                }
                self.send(&encode(SETTINGS, ACK, 0, &[]))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Waits for a frame.
    fn next(&mut self) -> io::Result<Frame> {
        loop {
            if let Some(frame) = self.parse() {
                return Ok(frame);
            }
            let mut buffer = [0; 16_384];
            match self.channel.read(&mut buffer)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                len => self.received.extend(&buffer[..len]),
            }
        }
    }

    /// A frame that is there already.
    fn buffered(&mut self) -> io::Result<Option<Frame>> {
        if let Some(frame) = self.parse() {
            return Ok(Some(frame));
        }
        let mut buffer = [0; 16_384];
        if let Some(len) = self.channel.read_if_ready(&mut buffer)? {
            self.received.extend(&buffer[..len]);
        }
        Ok(self.parse())
    }

    fn parse(&mut self) -> Option<Frame> {
        let head = self.received.get(..9)?;
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let (kind, flags) = (head[3], head[4]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let payload = self.received.get(9..9 + len)?.to_vec();
        self.received.drain(..9 + len);
        Some(Frame { kind, flags, stream, payload })
    }
}

/// The field block of a message's head.
fn fields(calls: Calls, kind: Kind, body: usize) -> Vec<u8> {
    match (calls, kind) {
        (Calls::Grpc, Kind::Request) => {
            [&[METHOD_POST, SCHEME_HTTP], PATH_CALL, GRPC_CONTENT].concat()
        }
        (Calls::Grpc, Kind::Response) => [&[STATUS_200], GRPC_CONTENT].concat(),
        (Calls::Plain, Kind::Request) if body == 0 => vec![METHOD_GET, SCHEME_HTTP, PATH_ROOT],
        (Calls::Plain, Kind::Request) => vec![METHOD_POST, SCHEME_HTTP, PATH_ROOT],
        (Calls::Plain, Kind::Response) => vec![STATUS_200],
    }
}

fn encode(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).expect("a frame is small").to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const SETTINGS_INITIAL_WINDOW_SIZE: u16 = 4;
const SETTINGS_WINDOW_LOW: u8 = 4;
/// RFC 9113, section 6.5.2: "recommended that this value be no smaller than 100".
const MAX_CONCURRENT_STREAMS_100: &[u8] = &[0, 3, 0, 0, 0, 100];
/// RFC 9113, section 6.9.2.
const INITIAL_WINDOW: u32 = 65_535;
/// RFC 9113, section 4.2: what every peer takes.
const MAX_FRAME: usize = 16_384;
/// RFC 7541, appendix A: indexed fields.
const METHOD_GET: u8 = 0x82;
const METHOD_POST: u8 = 0x83;
const PATH_ROOT: u8 = 0x84;
const SCHEME_HTTP: u8 = 0x86;
const STATUS_200: u8 = 0x88;
/// RFC 7541, section 6.2.2: literals without indexing.
const PATH_CALL: &[u8] = b"\x04\x12/bench.Truth/Waits";
const GRPC_CONTENT: &[u8] = b"\x0f\x10\x10application/grpc";
const GRPC_STATUS_0: &[u8] = b"\x00\x0bgrpc-status\x010";
