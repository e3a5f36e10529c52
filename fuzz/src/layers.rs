//! Conversations in layers, made up from a fuzzer's bytes: a balancer's header, a request for encryption, and a protocol
//! with the beginnings of many.

use ackwise_capture::conversation::{Event, ExchangeReader};
use ackwise_cause::Direction::{self, ToClient, ToServer};
use arbitrary::Arbitrary;

use crate::told::Told;

/// A whole input.
#[derive(Arbitrary, Debug)]
pub enum Input {
    /// Anything in any order.
    Hostile(Vec<Step>),
    /// A dialogue as both ends would have it, and where the capture's segments end.
    Sound { balancer: Option<Balancer>, speaks: Speaks, rounds: Vec<Round>, cuts: Vec<u8> },
}

/// What a capture may show.
#[derive(Arbitrary, Debug)]
pub enum Step {
    Data { from_server: bool, piece: Piece, hidden: u8 },
    Gap { from_server: bool, len: u16 },
    /// The other end has all but this number of bytes.
    Arrival { from_server: bool, but: u8 },
    End { from_server: bool },
    Silence,
    Abort,
}

/// Bytes of one protocol or another.
#[derive(Arbitrary, Debug)]
pub enum Piece {
    Balancer(Balancer),
    /// One of [`BEGINNINGS`].
    Beginning(u8),
    Command(Command),
    Reply(Reply),
    Message(u8, u8),
    Startup(u8),
    Raw(Vec<u8>),
}

/// The PROXY protocol.
#[derive(Arbitrary, Debug)]
pub enum Balancer {
    Line,
    Binary { len: u8 },
}

/// What a sound dialogue is in.
#[derive(Arbitrary, Debug)]
pub enum Speaks {
    Resp,
    /// After this number of requests for encryption, which the server declines.
    Postgres { declined: u8 },
}

/// Requests that are sent together, and their responses.
#[derive(Arbitrary, Debug)]
pub struct Round {
    requests: Vec<(Command, Reply)>,
}

/// A command of Redis, by the place of its name, and its arguments.
#[derive(Arbitrary, Clone, Debug)]
pub struct Command {
    name: u8,
    arguments: Vec<u8>,
}

/// A reply of Redis.
#[derive(Arbitrary, Clone, Debug)]
pub enum Reply {
    Simple,
    Error,
    Number(i16),
    Bulk(u8),
    Nothing,
    Array(Vec<Reply>),
    Map(Vec<(Reply, Reply)>),
    Push(Vec<Reply>),
}

impl Balancer {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Line => b"PROXY TCP4 192.0.2.1 198.51.100.1 49152 443\r\n".to_vec(),
            Self::Binary { len } => {
                let mut bytes = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0".to_vec();
                bytes.push(*len);
                bytes.resize(bytes.len() + usize::from(*len), 0xc0);
                bytes
            }
        }
    }
}

impl Command {
    fn bytes(&self, names: &[&str]) -> Vec<u8> {
        let name = names[usize::from(self.name) % names.len()];
        let mut bytes = format!("*{}\r\n${}\r\n{name}\r\n", self.arguments.len() + 1, name.len());
        for len in &self.arguments {
            bytes += &format!("${len}\r\n{}\r\n", "a".repeat(usize::from(*len)));
        }
        bytes.into_bytes()
    }
}

impl Reply {
    /// At most [`DEEPEST`] deep.
    fn write(&self, depth: usize, out: &mut Vec<u8>) {
        let whole = |kind: char, len: usize| format!("{kind}{len}\r\n").into_bytes();
        match self {
            Self::Simple => out.extend(b"+OK\r\n"),
            Self::Error => out.extend(b"-ERR a\r\n"),
            Self::Number(number) => out.extend(format!(":{number}\r\n").bytes()),
            Self::Bulk(len) => {
                out.extend(whole('$', usize::from(*len)));
                out.extend(vec![b'b'; usize::from(*len)]);
                out.extend(b"\r\n");
            }
            _ if depth == DEEPEST => out.extend(b"$-1\r\n"),
            Self::Nothing => out.extend(b"_\r\n"),
            Self::Array(items) | Self::Push(items) => {
                let kind = if matches!(self, Self::Push(_)) && depth == 0 { '>' } else { '*' };
                out.extend(whole(kind, items.len()));
                items.iter().for_each(|it| it.write(depth + 1, out));
            }
            Self::Map(pairs) => {
                out.extend(whole('%', pairs.len()));
                for (key, value) in pairs {
                    key.write(depth + 1, out);
                    value.write(depth + 1, out);
                }
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(0, &mut out);
        out
    }
}

impl Piece {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Balancer(balancer) => balancer.bytes(),
            Self::Beginning(which) => BEGINNINGS[usize::from(*which) % BEGINNINGS.len()].to_vec(),
            Self::Command(command) => command.bytes(COMMANDS),
            Self::Reply(reply) => reply.bytes(),
            Self::Message(kind, len) => message(*kind, (*len).into()),
            Self::Startup(code) => startup(*code),
            Self::Raw(bytes) => bytes.clone(),
        }
    }
}

/// Runs one input.
///
/// # Panics
///
/// If its events contradict each other.
pub fn run(input: &Input) {
    match input {
        Input::Hostile(steps) => hostile(steps),
        Input::Sound { balancer, speaks, rounds, cuts } => {
            let lines = dialogue(balancer.as_ref(), speaks, rounds);
            let whole = told(&lines, &[]);
            let cut = told(&lines, cuts);
            assert_eq!(whole, cut, "cut at {cuts:?}");
        }
    }
}

fn hostile(steps: &[Step]) {
    let mut reader = ExchangeReader::new();
    let (mut told, mut ends) = (Told::default(), [0_u64; 2]);
    for step in steps {
        match step {
            Step::Data { from_server, piece, hidden } => {
                let direction = direction(*from_server);
                let end = &mut ends[direction as usize];
                let bytes = piece.bytes();
                let len = u32::try_from(bytes.len()).expect("a short piece") + u32::from(*hidden);
                reader.handle_data(direction, *end, len, &bytes);
                *end += u64::from(len);
            }
            Step::Gap { from_server, len } => {
                let end = &mut ends[direction(*from_server) as usize];
                reader.handle_gap(direction(*from_server), *end, *end + u64::from(*len));
                *end += u64::from(*len);
            }
            Step::Arrival { from_server, but } => {
                let direction = direction(*from_server);
                let end = ends[direction as usize].saturating_sub((*but).into());
                reader.handle_arrival(direction, end);
            }
            Step::End { from_server } => reader.handle_end(direction(*from_server)),
            Step::Silence => reader.handle_silence(),
            Step::Abort => reader.handle_abort(),
        }
        told.drain(&mut reader, ends);
    }
    reader.handle_abort();
    told.drain(&mut reader, ends);
    told.finish();
}

/// What both ends say, in order.
fn dialogue(
    balancer: Option<&Balancer>,
    speaks: &Speaks,
    rounds: &[Round],
) -> Vec<(Direction, Vec<u8>)> {
    let mut lines = Vec::new();
    lines.extend(balancer.map(|it| (ToServer, it.bytes())));
    if let Speaks::Postgres { declined } = speaks {
        for _ in 0..declined % 3 {
            lines.extend([(ToServer, coded(80_877_103, 0)), (ToClient, b"N".to_vec())]);
        }
        let ready = [message(b'R', 4), message(b'Z', 1)].concat();
        lines.extend([(ToServer, coded(0x3_0000, 20)), (ToClient, ready)]);
    }
    for Round { requests } in rounds {
        let (mut asked, mut answered) = (Vec::new(), Vec::new());
        for (command, reply) in requests {
            match speaks {
                Speaks::Resp => {
                    asked.extend(command.bytes(ANSWERED));
                    answered.extend(reply.bytes());
                    if matches!(reply, Reply::Push(_)) {
                        answered.extend(b"+OK\r\n");
                    }
                }
                Speaks::Postgres { .. } => {
                    asked.extend(message(b'Q', u32::from(command.name) + 1));
                    let rows = command.arguments.iter().map(|&len| message(b'D', len.into()));
                    answered.extend(rows.flatten());
                    answered.extend([message(b'C', 5), message(b'Z', 1)].concat());
                }
            }
        }
        lines.extend([(ToServer, asked), (ToClient, answered)]);
    }
    lines.retain(|it| !it.1.is_empty());
    lines
}

/// The events of lines that are cut into segments of these lengths, one after the other; whole ones if there are none.
fn told(lines: &[(Direction, Vec<u8>)], cuts: &[u8]) -> Vec<Event> {
    let mut reader = ExchangeReader::new();
    let (mut told, mut ends, mut cuts) = (Vec::new(), [0_u64; 2], cuts.iter().cycle());
    for (direction, line) in lines {
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            let len = cuts.next().map_or(rest.len(), |&len| usize::from(len).clamp(1, rest.len()));
            let (piece, after) = rest.split_at(len);
            let end = &mut ends[*direction as usize];
            reader.handle_data(*direction, *end, u32::try_from(len).expect("short"), piece);
            *end += len as u64;
            rest = after;
            told.extend(std::iter::from_fn(|| reader.poll_event()));
        }
    }
    reader.handle_abort();
    told.extend(std::iter::from_fn(|| reader.poll_event()));
    told
}

const fn direction(from_server: bool) -> Direction {
    if from_server { ToClient } else { ToServer }
}

/// A message of PostgreSQL.
fn message(kind: u8, len: u32) -> Vec<u8> {
    let mut bytes = [&[kind][..], &(len + 4).to_be_bytes()].concat();
    bytes.resize(5 + len as usize, 0);
    bytes
}

fn coded(code: u32, len: u32) -> Vec<u8> {
    let mut bytes = [(len + 8).to_be_bytes(), code.to_be_bytes()].concat();
    bytes.resize(8 + len as usize, 0);
    bytes
}

fn startup(which: u8) -> Vec<u8> {
    let codes = [0x3_0000, 0x3_0002, 80_877_102, 80_877_103, 80_877_104];
    coded(codes[usize::from(which) % codes.len()], 8)
}

const DEEPEST: usize = 3;

/// Commands that are answered at once.
const ANSWERED: &[&str] = &["GET", "set", "MGET", "PING", "INCR", "unknown"];
/// Some of them are not.
const COMMANDS: &[&str] =
    &["GET", "BLPOP", "SUBSCRIBE", "MONITOR", "CLIENT", "XREAD", "QUIT", "HELLO", "WAIT", "MULTI"];

/// What ends of protocols that are judged by TCP alone, or not divided, begin with, and what is said in them.
const BEGINNINGS: &[&[u8]] = &[
    b"\x4a\0\0\0\x0a8.0.36\0\x01\x02\x03\x04",
    b"\x20\0\0\x01\x8c\xa2\xbf\0\0\0\0\x10\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    b"\x05\0\0\0\x03sel1",
    b"\x01\0\0\0\x01",
    b"\x01\0\0\0\x12",
    b"\x4a\x01\0\0\x67\x45\x8b\x6b\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\x35\x01\0\0\x10getMore\0",
    b"get a\r\n",
    b"VALUE a 0 1\r\nb\r\nEND\r\n",
    b"set a 0 0 1 noreply\r\n",
    b"220 a ESMTP\r\n",
    b"EHLO b\r\n",
    b"USER b\r\n",
    b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\0\x80\0",
    b"\x30\x05\x02\x01\x02\x42\0",
    b"AMQP\0\0\x09\x01",
    b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0",
    b"SSH-2.0-a\r\n",
    b"* OK [CAPABILITY IMAP4rev1] a\r\n",
    b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
];
