//! Where the events of a stream end in its content: server-sent events, lines, messages of gRPC, or pieces.

use crate::http_client::{Head, Piece};

/// What the content of a stream consists of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Syntax {
    /// `text/event-stream`: an event ends at an empty line (HTML, section 9.2.5).
    ServerSentEvents,
    /// A JSON text in each line.
    Lines,
    /// Messages with a prefix of five bytes (gRPC's PROTOCOL-HTTP2.md).
    Grpc,
    /// Unknown: what became readable together, a chunk or a frame.
    Pieces,
}

/// Offsets in the content, in order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Marks {
    /// Where events end.
    pub(crate) events: Vec<u64>,
    /// Where a program may end a write: it writes whole events, or at least whole lines.
    pub(crate) seams: Vec<u64>,
}

impl Syntax {
    /// What the head of a response announces.
    pub(crate) fn of(head: &Head) -> Self {
        let kind = head.fields.text("Content-Type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match &*kind {
            "text/event-stream" => Self::ServerSentEvents,
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/x-jsonlines"
            | "application/json-seq"
            | "application/stream+json" => Self::Lines,
            grpc if grpc.starts_with("application/grpc") => Self::Grpc,
            _ => Self::Pieces,
        }
    }

    /// Whether the server says that it sends events.
    pub(crate) fn is_announced(self) -> bool {
        self != Self::Pieces
    }

    /// Where the events of `content`, which became readable in `pieces`, end.
    pub(crate) fn marks(self, content: &[u8], pieces: &[Piece]) -> Marks {
        match self {
            Self::ServerSentEvents => lines(content, Empty::EndsEvent),
            Self::Lines => lines(content, Empty::IsNone),
            Self::Grpc => messages(content),
            Self::Pieces => {
                let ends: Vec<u64> = pieces.iter().map(|piece| piece.content).collect();
                Marks { events: ends.clone(), seams: ends }
            }
        }
    }
}

/// What an empty line means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Empty {
    /// The end of an event, if there was data before it.
    EndsEvent,
    /// Nothing: every other line is an event.
    IsNone,
}

/// Lines end with CR LF, LF or CR.
fn lines(content: &[u8], empty: Empty) -> Marks {
    let mut marks = Marks::default();
    let (mut start, mut at, mut has_data) = (0, 0, false);
    while let Some(found) = content[at..].iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        let end = at + found;
        let line = &content[start..end];
        at = end + if content[end..].starts_with(b"\r\n") { 2 } else { 1 };
        start = at;
        marks.seams.push(at as u64);
        let ends = match (empty, line) {
            (Empty::EndsEvent, []) => std::mem::take(&mut has_data),
            (Empty::EndsEvent, line) => {
                has_data |= is_data(line);
                false
            }
            (Empty::IsNone, line) => !line.is_empty(),
        };
        if ends {
            marks.events.push(at as u64);
        }
    }
    marks
}

/// Whether a line is the field `data`; a block without one is no event, but a comment that keeps a connection alive.
fn is_data(line: &[u8]) -> bool {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    line == b"data" || line.starts_with(b"data:")
}

fn messages(content: &[u8]) -> Marks {
    let mut marks = Marks::default();
    let mut at = 0;
    while let Some([_, length @ ..]) = content.get(at..).and_then(|rest| rest.first_chunk::<5>()) {
        let length = u32::from_be_bytes(*length) as usize;
        at = at.saturating_add(5).saturating_add(length);
        if at > content.len() {
            break;
        }
        marks.events.push(at as u64);
    }
    marks.seams = marks.events.clone();
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sse(content: &[u8]) -> Vec<u64> {
        Syntax::ServerSentEvents.marks(content, &[]).events
    }

    #[test]
    fn an_event_ends_at_an_empty_line_however_lines_end() {
        assert_eq!(sse(b"data: a\n\ndata: b\n\n"), [9, 18]);
        assert_eq!(sse(b"data: a\r\n\r\ndata: b\r\n\r\n"), [11, 22]);
        assert_eq!(sse(b"data: a\r\rdata: b\r\r"), [9, 18]);
        assert_eq!(sse(b"data: a\r\n\ndata: b\n\r\n"), [10, 20]);
        assert_eq!(sse(b"data: a\n\r\n"), [10]);
        assert_eq!(sse(b"\xef\xbb\xbfdata: a\n\n"), [12]);
    }

    #[test]
    fn what_has_no_data_is_no_event_and_yet_a_seam() {
        assert_eq!(sse(b": ping\n\nid: 1\ndata\n\n\n\nevent: x\n\n"), [20]);
        let marks = Syntax::ServerSentEvents.marks(b": ping\n\ndata: a\ndata: b\n\nda", &[]);
        assert_eq!(marks, Marks { events: vec![25], seams: vec![7, 8, 16, 24, 25] });
    }

    #[test]
    fn no_bytes_break_it() {
        for content in [&b""[..], b"\n", b"\r", b"\r\n", b"\0\xff\n\n\n", b"data"] {
            assert_eq!(sse(content), [0; 0], "{content:?}");
        }
        // Wherever the content is cut off, what has come before is the same.
        let all = b"data: a\r\n\r\n: c\n\ndata: b\n\ndata: \xff\r\r";
        for cut in 0..all.len() {
            let whole = sse(all);
            let known: Vec<_> = whole.into_iter().filter(|end| *end <= cut as u64).collect();
            let part = sse(&all[..cut]);
            assert!(part.starts_with(&known), "{cut}: {part:?} {known:?}");
            assert!(part.len() <= known.len() + 1, "{cut}: a CR may end an event before its LF");
        }
    }

    #[test]
    fn lines_and_messages_are_events() {
        let marks = Syntax::Lines.marks(b"{}\n\n{\"a\":1}\r\n{", &[]);
        assert_eq!(marks, Marks { events: vec![3, 13], seams: vec![3, 4, 13] });
        let marks = Syntax::Grpc.marks(b"\0\0\0\0\x01a\0\0\0\0\0\x01\xff\xff\xff\xffx", &[]);
        assert_eq!(marks, Marks { events: vec![6, 11], seams: vec![6, 11] });
        let pieces = [Piece { content: 3, wire: 9 }, Piece { content: 4, wire: 20 }];
        assert_eq!(Syntax::Pieces.marks(b"abcd", &pieces).events, [3, 4]);
    }
}
