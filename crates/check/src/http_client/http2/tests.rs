use ackwise_http::http2::{frame::PADDED, hpack::write_literal};

use super::*;
use crate::{
    http_client::Protocol,
    http_client::{
        Page, Template,
        request::{Addressee, Request},
    },
};

/// Both ends of a connection in clear text: what the client sends is read as a server reads it.
struct Wire {
    client: Http2,
    /// What the client has sent and nobody has looked at.
    sent: Vec<u8>,
    /// How far the server's stream goes.
    end: u64,
}

impl Wire {
    /// After the server's SETTINGS.
    fn open(settings: &[(u16, u32)]) -> Self {
        let mut wire = Self { client: Http2::new(), sent: Vec::new(), end: 0 };
        wire.serve(FrameKind::Settings, 0, 0, &settings::write(settings));
        wire
    }

    fn ask(&mut self, content: &[u8]) -> Encoded {
        let to = Addressee { host: "h", protocol: Protocol::Http2, scheme: "http" };
        let content = (!content.is_empty()).then(|| content.to_vec());
        let template = Template { content, ..Template::default() };
        let request = Request::new(to, &template, &Page::whole("/a"), None).unwrap();
        let encoded = self.client.ask(&request);
        self.sent.extend_from_slice(&encoded.bytes);
        encoded
    }

    fn serve(&mut self, kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) {
        let mut bytes = Vec::new();
        FrameHeader::append(kind, flags, stream, payload, &mut bytes);
        self.serve_bytes(bytes);
    }

    fn serve_bytes(&mut self, bytes: Vec<u8>) {
        let (offset, wire) = (self.end, self.end..self.end + bytes.len() as u64);
        self.end = wire.end;
        self.client.feed(&Plain { bytes, offset, wire, sealed: false });
        let due = self.client.take_due();
        self.sent.extend_from_slice(&due);
    }

    /// The frames that the client has sent since the last call, without its preface.
    fn client_frames(&mut self) -> Vec<(FrameKind, u8, u32, usize)> {
        let sent = std::mem::take(&mut self.sent);
        let mut rest = sent.strip_prefix(CLIENT_PREFACE).unwrap_or(&sent);
        let (mut frames, mut found) = (Frames::new(), Vec::new());
        while let Some(Frame { header, payload, .. }) = frames.advance(&mut rest).unwrap() {
            found.push((header.kind, header.flags, header.stream, payload.len()));
        }
        found
    }

    fn failure(&mut self) -> String {
        self.client.advance().unwrap_err().to_string()
    }
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        write_literal(name.as_bytes(), value.as_bytes(), &mut block);
    }
    block
}

fn number(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

const BOTH: u8 = END_HEADERS | END_STREAM;

#[test]
fn the_client_opens_all_windows_before_its_first_request() {
    let mut wire = Wire { client: Http2::new(), sent: Vec::new(), end: 0 };
    wire.ask(b"");
    assert!(wire.sent.starts_with(CLIENT_PREFACE));
    let frames = wire.client_frames();
    let kinds: Vec<_> = frames.iter().map(|(kind, _, stream, _)| (*kind, *stream)).collect();
    assert_eq!(
        kinds,
        [(FrameKind::Settings, 0), (FrameKind::WindowUpdate, 0), (FrameKind::Headers, 1)]
    );
    assert_eq!(frames[2].1, BOTH);
}

#[test]
fn a_response_is_placed_in_the_stream_of_tcp() {
    let mut wire = Wire::open(&[]);
    wire.ask(b"");
    let begin = wire.end;
    let early = block(&[(":status", "103"), ("link", "x")]);
    wire.serve(FrameKind::Headers, END_HEADERS, 1, &early);
    let head = block(&[(":status", "200"), ("server", "s"), ("content-length", "5")]);
    let head_begins = wire.end;
    let (first, second) = head.split_at(4);
    wire.serve(FrameKind::Headers, 0, 1, first);
    assert!(!wire.client.draft().has_head());
    wire.serve(FrameKind::Continuation, END_HEADERS, 1, second);
    let head_end = wire.end;
    wire.serve(FrameKind::Data, PADDED, 1, b"\x02abc\0\0");
    wire.serve(FrameKind::Data, 0, 1, b"de");
    assert_eq!(wire.client.advance().ok(), Some(false));
    wire.serve(FrameKind::Headers, BOTH, 1, &block(&[("grpc-status", "0")]));
    assert_eq!(wire.client.advance().ok(), Some(true));
    let draft = wire.client.take_draft();
    let now = std::time::Instant::now();
    let exchange = draft.into_exchange(now, Vec::new(), Vec::new(), wire.end).unwrap();
    assert_eq!((exchange.start, exchange.head_end.offset), (begin, head_end));
    assert_eq!(exchange.head.bytes, head_end - head_begins);
    assert_eq!((exchange.head.status, exchange.content), (200, 5));
    assert_eq!(exchange.head.content_length, Some(5));
    assert_eq!(exchange.trailers.unwrap().text("grpc-status"), Some("0"));
}

#[test]
fn settings_and_pings_are_acknowledged_at_once() {
    let mut wire = Wire::open(&[]);
    wire.serve(FrameKind::Ping, 0, 0, b"12345678");
    wire.serve(FrameKind::Ping, ACK, 0, b"ackwise\0");
    wire.serve(FrameKind::Settings, ACK, 0, b"");
    let answers: Vec<_> = wire.client_frames().into_iter().skip(2).collect();
    assert_eq!(answers, [(FrameKind::Settings, ACK, 0, 0), (FrameKind::Ping, ACK, 0, 8)]);
    assert_eq!(wire.client.pongs(), 1);
}

/// RFC 9113, sections 5.2 and 6.9.2: both windows hold what is sent, and SETTINGS change those of open streams.
#[test]
fn content_waits_for_room_in_both_windows() {
    let mut wire = Wire::open(&[(settings::INITIAL_WINDOW_SIZE, 20_000)]);
    wire.client_frames();
    wire.ask(&vec![7; 70_000]);
    let data = |wire: &mut Wire| -> Vec<_> {
        let frames = wire.client_frames().into_iter();
        frames.filter(|it| it.0 == FrameKind::Data).map(|it| (it.1, it.3)).collect()
    };
    assert_eq!(data(&mut wire), [(0, 16_384), (0, 3_616)]);
    assert!(wire.client.awaits_credit());
    wire.serve(FrameKind::WindowUpdate, 0, 1, &number(100));
    assert_eq!(data(&mut wire), [(0, 100)]);
    let more = settings::write(&[(settings::INITIAL_WINDOW_SIZE, 90_000)]);
    wire.serve(FrameKind::Settings, 0, 0, &more);
    // The connection's 65,535 hold the rest.
    let sizes: Vec<_> = data(&mut wire).into_iter().map(|(_, size)| size).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 65_535 - 20_100);
    wire.serve(FrameKind::WindowUpdate, 0, 0, &number(1 << 20));
    assert_eq!(data(&mut wire), [(END_STREAM, 70_000 - 65_535)]);
    assert!(!wire.client.awaits_credit());
    assert_eq!(wire.client.windows().connection_at_first(), 65_535, "granted later");
}

#[test]
fn what_the_connection_may_carry_at_first_is_what_was_granted_before_anything_was_sent() {
    let mut wire = Wire::open(&[]);
    wire.serve(FrameKind::WindowUpdate, 0, 0, &number(1 << 20));
    assert_eq!(wire.client.windows().connection_at_first(), 65_535 + (1 << 20));
}

#[test]
fn a_stream_that_is_refused_may_be_asked_for_again() {
    let refused = [number(7).to_vec(), number(11).to_vec(), Vec::new()];
    for (reset, says) in refused.iter().zip(["did not process", "ENHANCE_YOUR_CALM", "NO_ERROR"]) {
        let mut wire = Wire::open(&[]);
        wire.ask(b"");
        wire.serve(FrameKind::RstStream, 0, 1, reset);
        let failure = wire.failure();
        assert!(failure.contains(says), "{failure}");
        assert_eq!(wire.client.advance().ok(), Some(false), "it is said once");
    }
    let mut wire = Wire::open(&[]);
    wire.ask(b"");
    wire.ask(b"");
    wire.serve(FrameKind::Goaway, 0, 0, &[number(1), number(0)].concat());
    wire.serve(FrameKind::Headers, BOTH, 1, &block(&[(":status", "200")]));
    assert_eq!(wire.client.advance().ok(), Some(true), "it was processed");
    let draft = wire.client.take_draft();
    let now = std::time::Instant::now();
    assert!(!draft.into_exchange(now, Vec::new(), Vec::new(), 0).unwrap().persists());
    assert!(wire.failure().contains("did not process"));
    wire.ask(b"");
    assert!(wire.failure().contains("did not process"), "no stream after GOAWAY");
}

#[test]
fn what_is_not_http2_is_said() {
    let headers = |flags, payload: &[u8]| {
        let mut bytes = Vec::new();
        FrameHeader::append(FrameKind::Settings, 0, 0, &[], &mut bytes);
        FrameHeader::append(FrameKind::Headers, flags, 1, payload, &mut bytes);
        bytes
    };
    let mut endless = headers(0, b"");
    for _ in 0..8 {
        FrameHeader::append(FrameKind::Continuation, 0, 1, &[0; 16_000], &mut endless);
    }
    for (bytes, says) in [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            "no SETTINGS; the response begins with \"HTTP/1.1 400",
        ),
        (b"\0\0\0\x06\0\0\0\0\0".to_vec(), "no SETTINGS; the response begins with"),
        (headers(END_HEADERS, b"\x80"), "not HPACK"),
        (headers(BOTH, &block(&[("server", "x")])), "no :status"),
        (b"\0\0\x03\x04\0\0\0\0\0abc".to_vec(), "SETTINGS of 3 bytes"),
        (headers(BOTH, &block(&[(":status", "103")])), "without a response"),
        (endless, "a field block is too long"),
    ] {
        let mut wire = Wire { client: Http2::new(), sent: Vec::new(), end: 0 };
        wire.ask(b"");
        wire.serve_bytes(bytes);
        let failure = wire.failure();
        assert!(failure.contains(says), "{failure}");
    }
}

#[test]
fn content_is_as_long_as_the_head_says() {
    for (says, fails) in [("3", false), ("500", true)] {
        let mut wire = Wire::open(&[]);
        wire.ask(b"");
        let head = block(&[(":status", "200"), ("content-length", says)]);
        wire.serve(FrameKind::Headers, END_HEADERS, 1, &head);
        wire.serve(FrameKind::Data, END_STREAM, 1, b"abc");
        assert_eq!(wire.client.advance().is_err(), fails, "{says}");
    }
}

/// Under TLS, what ends in a record can be read with the record's last byte.
#[test]
fn parts_end_with_their_records() {
    let mut wire = Wire::open(&[]);
    wire.ask(b"");
    let mut bytes = Vec::new();
    FrameHeader::append(
        FrameKind::Headers,
        END_HEADERS,
        1,
        &block(&[(":status", "200")]),
        &mut bytes,
    );
    let head = bytes.len() as u64;
    FrameHeader::append(FrameKind::Data, END_STREAM, 1, b"abc", &mut bytes);
    let (offset, sealed) = (wire.end, true);
    wire.client.feed(&Plain { bytes, offset, wire: 1_000..2_000, sealed });
    let draft = wire.client.take_draft();
    let now = std::time::Instant::now();
    let exchange = draft.into_exchange(now, Vec::new(), Vec::new(), 0).unwrap();
    assert_eq!((exchange.start, exchange.head_end.offset), (1_000, 2_000));
    assert!(!exchange.head_end.separable, "{head}");
}

#[test]
fn a_request_is_cut_between_head_and_content() {
    let mut wire = Wire::open(&[]);
    let to = Addressee { host: "h", protocol: Protocol::Http2, scheme: "http" };
    let content = Some(b"0123456789".to_vec());
    for (split, behind) in [(Some(0), 1), (Some(4), 1), (Some(10), 0)] {
        let template = Template { content: content.clone(), split, ..Template::default() };
        let request = Request::new(to, &template, &Page::whole("/a"), None).unwrap();
        wire.sent.clear();
        let Encoded { bytes, cut } = wire.client.ask(&request);
        wire.sent = bytes[cut..].to_vec();
        assert_eq!(wire.client_frames().len(), behind, "{split:?}");
    }
}
