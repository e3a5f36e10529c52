//! Conversations as text: what went over the wire, and what came of it.
//!
//! | line | what it does |
//! | --- | --- |
//! | `c "GET /"` | the client sends these bytes; `\r`, `\n` and `\xff` are escapes |
//! | `s "HTTP…" 500` | the server sends these bytes and 500 more |
//! | `s hex 16 0301` | bytes in hexadecimal, blanks ignored |
//! | `c tls 22:300 20:1` | TLS records of these types and lengths |
//! | `c h2 preface, settings, headers 1 5 828684` | HTTP/2 frames: stream, flags, hexadecimal |
//! | `s h2 data 1 0 500, window 0 100, rst 1` | and others: stream, flags, bytes; increment |
//! | `s h2 goaway 6d61` | the last stream and the error code are 0; debug data |
//! | `s early h2 data 1 0 500` | the same, before it has what the other side has sent last |
//! | `c pg startup:20 Q:30 S` | PostgreSQL's messages: what, bytes behind the header (`ssl`, `gss`, `cancel`) |
//! | `s gap 500` | it sends 500 bytes that the capture lost |
//! | `c end`, `abort` | FIN of the client; RST |
//! | `silence` | the server sends nothing for a while |

use ackwise_capture::conversation::{
    Event, ExchangeId, ExchangeReader, GrpcRequest, MessageNews, Protocol,
};
use ackwise_cause::Direction;

/// One line of a script.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    Data(Direction, Vec<u8>),
    /// Sent when the last data of the other side had not arrived.
    Early(Direction, Vec<u8>),
    Gap(Direction, u64),
    End(Direction),
    Abort,
    Silence,
}

/// How a capture shows a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Longest segment; each line begins a new one.
    pub(crate) segment: usize,
    /// Bytes captured of each segment.
    pub(crate) snap: usize,
}

/// Each line is one segment and shown as a whole.
pub(crate) const WHOLE: Shown = Shown { segment: usize::MAX, snap: usize::MAX };

/// Reads a script.
pub(crate) fn script(text: &str) -> Vec<Line> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(line).collect()
}

fn line(text: &str) -> Line {
    let (who, what) = text.split_once(' ').unwrap_or((text, ""));
    let direction = match who {
        "c" => Direction::ToServer,
        "s" => Direction::ToClient,
        "abort" => return Line::Abort,
        "silence" => return Line::Silence,
        _ => panic!("who is {who:?}?"),
    };
    if let Some(what) = what.strip_prefix("early ") {
        match line(&format!("{who} {what}")) {
            Line::Data(direction, bytes) => Line::Early(direction, bytes),
            other => panic!("{other:?} is never early"),
        }
    } else if what == "end" {
        Line::End(direction)
    } else if let Some(length) = what.strip_prefix("gap ") {
        Line::Gap(direction, length.parse().unwrap())
    } else if let Some(digits) = what.strip_prefix("hex ") {
        Line::Data(direction, hex(digits))
    } else if let Some(frames) = what.strip_prefix("h2 ") {
        Line::Data(direction, frames.split(',').flat_map(frame).collect())
    } else if let Some(messages) = what.strip_prefix("pg ") {
        Line::Data(direction, messages.split_whitespace().flat_map(message).collect())
    } else if let Some(records) = what.strip_prefix("tls ") {
        Line::Data(direction, records.split_whitespace().flat_map(record).collect())
    } else {
        let (_, rest) = what.split_once('"').unwrap();
        let (text, filler) = rest.rsplit_once('"').unwrap();
        let filler = filler.trim().parse().unwrap_or(0);
        let mut bytes = unescape(text);
        bytes.resize(bytes.len() + filler, b'x');
        Line::Data(direction, bytes)
    }
}

fn record(text: &str) -> Vec<u8> {
    let (kind, length) = text.split_once(':').unwrap();
    let length: u16 = length.parse().unwrap();
    let mut bytes = vec![kind.parse().unwrap(), 3, 3];
    bytes.extend(length.to_be_bytes());
    bytes.resize(5 + usize::from(length), 0xaa);
    bytes
}

/// A message of PostgreSQL, whose content is zeros.
fn message(text: &str) -> Vec<u8> {
    let (kind, length) = text.split_once(':').unwrap_or((text, "0"));
    let length: u32 = length.parse().unwrap();
    let coded = |code: u32, length: u32| [(8 + length).to_be_bytes(), code.to_be_bytes()].concat();
    let (mut bytes, length) = match kind {
        "startup" => (coded(0x3_0000, length), length),
        "ssl" => (coded(80_877_103, 0), 0),
        "gss" => (coded(80_877_104, 0), 0),
        "cancel" => (coded(80_877_102, 8), 8),
        _ => ([kind.as_bytes(), &(4 + length).to_be_bytes()].concat(), length),
    };
    bytes.resize(bytes.len() + length as usize, 0);
    bytes
}

fn frame(text: &str) -> Vec<u8> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |at: usize| words.get(at).map_or(0, |word| word.parse::<u32>().unwrap());
    let (kind, stream, flags, payload) = match words[0] {
        "preface" => return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        "settings" => (4, 0, 0, hex(words.get(1).unwrap_or(&""))),
        "ack" => (4, 0, 1, Vec::new()),
        "headers" => (1, number(1), number(2), hex(words[3])),
        "continuation" => (9, number(1), number(2), hex(words[3])),
        "data" => (0, number(1), number(2), vec![0xaa; number(3) as usize]),
        "body" => (0, number(1), number(2), hex(words.get(3).unwrap_or(&""))),
        "window" => (8, number(1), 0, number(2).to_be_bytes().to_vec()),
        "rst" => (3, number(1), 0, vec![0; 4]),
        "ping" => (6, 0, 0, vec![0; 8]),
        "goaway" => (7, 0, 0, [vec![0; 8], hex(words.get(1).unwrap_or(&""))].concat()),
        other => panic!("what frame is {other:?}?"),
    };
    let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    bytes.extend([kind, u8::try_from(flags).unwrap()]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Bytes of hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: String = digits.chars().filter(|digit| !digit.is_whitespace()).collect();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        (bytes, rest) = match (first, tail) {
            (b'\\', [b'r', tail @ ..]) => ([bytes, vec![b'\r']].concat(), tail),
            (b'\\', [b'n', tail @ ..]) => ([bytes, vec![b'\n']].concat(), tail),
            (byte, tail) => ([bytes, vec![*byte]].concat(), tail),
        };
    }
    bytes
}

/// Plays `lines` as a capture shows them; what the conversation tells, one event a line.
pub(crate) fn play(lines: &[Line], shown: Shown) -> String {
    let mut conversation = ExchangeReader::new();
    let mut ends = [0, 0];
    let mut told = Vec::new();
    for line in lines {
        match line {
            Line::Data(direction, bytes) | Line::Early(direction, bytes) => {
                if matches!(line, Line::Data(..)) {
                    let other = direction.opposite();
                    conversation.handle_arrival(other, ends[other as usize]);
                }
                for segment in bytes.chunks(shown.segment) {
                    let end = &mut ends[*direction as usize];
                    let (length, snap) = (segment.len(), shown.snap.min(segment.len()));
                    let length = u32::try_from(length).unwrap();
                    conversation.handle_data(*direction, *end, length, &segment[..snap]);
                    *end += u64::from(length);
                }
            }
            Line::Gap(direction, length) => {
                let end = &mut ends[*direction as usize];
                conversation.handle_gap(*direction, *end, *end + length);
                *end += length;
            }
            Line::End(direction) => conversation.handle_end(*direction),
            Line::Abort => conversation.handle_abort(),
            Line::Silence => conversation.handle_silence(),
        }
        while let Some(event) = conversation.poll_event() {
            told.push(print(&event));
        }
    }
    told.join("\n")
}

/// An event in words; `~` before positions that only a turn shows.
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
pub(crate) fn print(event: &Event) -> String {
    let at = |position: &u64, exact: &bool| format!("{}{position}", if *exact { "" } else { "~" });
    match event {
        Event::Protocol(Protocol::Resp) => "RESP".into(),
        Event::Protocol(protocol) => protocol.title().unwrap_or("opaque").into(),
        Event::TlsFlight(flight) => {
            let done = if flight.done { ", done" } else { "" };
            let who = flight.direction.sender().name();
            format!("{who} shakes hands {}..{}{done}", flight.start, flight.end)
        }
        Event::RequestBegins { exchange, stream: 0, position, exact } => {
            format!("{} begins {}", exchange.0, at(position, exact))
        }
        Event::RequestBegins { exchange, stream, position, exact } => {
            format!("{} begins {} on stream {stream}", exchange.0, at(position, exact))
        }
        Event::RequestHead { exchange, head } => {
            let unknown = || "?".into();
            let method = head.method.clone().unwrap_or_else(unknown);
            let path = head.path.clone().unwrap_or_else(unknown);
            let end = head.end.map_or(String::new(), |end| format!(" to {end}"));
            let query = if head.has_query { "?…" } else { "" };
            let expects = if head.expects_continue { ", expects 100" } else { "" };
            let close = if head.wants_close { ", closes" } else { "" };
            let grpc = match head.grpc {
                Some(GrpcRequest { timeout: Some(it) }) => format!(", gRPC within {it:?}"),
                Some(_) => ", gRPC".into(),
                None => String::new(),
            };
            format!("{} asks {method} {path}{query}{end}{expects}{close}{grpc}", exchange.0)
        }
        Event::RequestEnds { exchange, position, exact } => {
            format!("{} is asked {}", exchange.0, at(position, exact))
        }
        Event::Interim { exchange, status, start, end } => {
            format!("{} hears {status} {start}..{end}", exchange.0)
        }
        Event::ResponseBegins { exchange, position, exact } => {
            format!("{} is being answered {}", exchange.0, at(position, exact))
        }
        Event::ResponseHead { exchange, head } => {
            let status = head.status.map_or_else(|| "?".into(), |status| status.to_string());
            let end = head.end.map_or(String::new(), |end| format!(" to {end}"));
            let close = if head.wants_close { ", closes" } else { "" };
            format!("{} gets {status}{end}{close}", exchange.0)
        }
        Event::GrpcStatus { exchange, status } => {
            format!("{} ends with grpc-status {}", exchange.0, status.0)
        }
        Event::Goaway(it) => {
            let pings = if it.says_too_many_pings { ", too many pings" } else { "" };
            let code = it.code.map_or_else(|| "?".into(), |it| it.to_string());
            format!("the server goes away {code}{pings}")
        }
        Event::FirstMessage { exchange, position } => {
            format!("{} has a first message {position}", exchange.0)
        }
        Event::ResponseEnds { exchange, position, exact } => {
            format!("{} is answered {}", exchange.0, at(position, exact))
        }
        Event::Abandoned { exchange, .. } => format!("{} is abandoned", exchange.0),
        Event::Lost { exchange } => format!("{} is lost", exchange.0),
        Event::TunnelBegins { exchange, tunnel } => {
            format!("{} opens a {}", exchange.0, tunnel.name())
        }
        Event::TunnelEnds { exchange } => format!("what {} opened is over", exchange.0),
        Event::Messages { exchange, direction, news } => {
            let MessageNews { continues, begun, ended, control, lost } = news;
            let goes_on = if *continues { " goes on," } else { "" };
            let lost = if *lost { ", lost" } else { "" };
            let (exchange, way) = (exchange.0, direction.name());
            format!(
                "{exchange} {way}:{goes_on} {begun} begun, {ended} ended, {control} control{lost}"
            )
        }
        Event::Multiplexed { exchange } => format!("{} overlaps", exchange.0),
        Event::FlowControlBlocked { exchange, window: by, direction, position } => {
            let (whom, by) = (window(*exchange), by.name());
            format!("{whom} {} blocked {position} by {by}", direction.name())
        }
        Event::FlowControlReopened { exchange, direction, position } => {
            format!("{} {} reopened {position}", window(*exchange), direction.name())
        }
        Event::FlowControlUnseen { least: [to_server, to_client] } => {
            format!("windows unseen beyond {to_server} and {to_client}")
        }
        other => format!("{other:?}"),
    }
}

fn window(exchange: Option<ExchangeId>) -> String {
    exchange.map_or_else(|| "all".into(), |exchange| exchange.0.to_string())
}

/// Compares what a script tells, shown as a whole, with `expected`, blanks at the ends of lines
/// aside.
#[track_caller]
pub(crate) fn tells(text: &str, expected: &str) {
    tells_shown(text, WHOLE, expected);
}

/// As [`tells`], shown as `shown` says.
#[track_caller]
pub(crate) fn tells_shown(text: &str, shown: Shown, expected: &str) {
    let told = play(&script(text), shown);
    let expected: Vec<&str> =
        expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(told, expected.join("\n"), "\n\ntold:\n{told}\n");
}
