//! What connections say, made up from a fuzzer's bytes: heads, bodies and frames that begin as they
//! should, and rarely end so.

use arbitrary::Arbitrary;

/// Stands for all that is nobody else's business. In no piece does it stand for anything else, so
/// wherever it turns up something was told.
pub const SECRET: u8 = 0xe7;

/// Some bytes of a stream.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Piece {
    /// A request by its method; the path and a field are secret.
    Request(Method),
    /// A status, and how the body is delimited.
    Response(Status, Framing),
    /// The rest of a head, or an empty line.
    EndOfHead,
    /// Secret bytes.
    Body(u16),
    /// A chunk of so many secret bytes, or the last one.
    Chunk(u8),
    /// HTTP/2 begins.
    Preface,
    /// A frame of HTTP/2: its type, its flags, its stream, and so much of a payload, of which codes, streams and increments
    /// are no secret.
    Frame(u8, u8, u8, u16),
    /// A TLS record: its type, and so much of a secret payload.
    Record(u8, u16),
    /// Anything.
    ByteCount([u8; 6]),
}

/// How a request begins.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Method {
    Get,
    Head,
    /// With a body of so many bytes.
    Post(u16),
    /// With a chunked body, and only when asked to go on.
    Expect,
    Connect,
    Upgrade,
}

/// What a response says of the request.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Status {
    Continue,
    Ok,
    NotModified,
    Switching,
}

/// How long a body is.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Framing {
    Length(u16),
    Chunked,
    UntilClose,
    /// The head does not end here.
    Unfinished,
}

impl Piece {
    /// What is sent.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Self::Request(method) => request(method),
            Self::Response(status, framing) => response(status, framing),
            Self::EndOfHead => b"\r\n\r\n".to_vec(),
            Self::Body(length) => secret(length & MOST),
            Self::Chunk(0) => b"0\r\n\r\n".to_vec(),
            Self::Chunk(length) => {
                [format!("{length:x}\r\n").as_bytes(), &secret(length.into()), b"\r\n"].concat()
            }
            Self::Preface => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            Self::Frame(kind, flags, stream, length) => frame(kind, flags, stream, length),
            Self::Record(kind, length) => {
                let length = unlike_secret(length & MOST);
                let [high, low] = length.to_be_bytes();
                [&[20 + kind % 5, 3, 3, high, low], &secret(length)[..]].concat()
            }
            Self::ByteCount(bytes) => bytes.map(|it| if it == SECRET { 0 } else { it }).to_vec(),
        }
    }
}

fn request(method: Method) -> Vec<u8> {
    let (name, rest) = match method {
        Method::Get => ("GET", String::new()),
        Method::Head => ("HEAD", String::new()),
        Method::Post(length) => ("POST", format!("Content-Length: {}\r\n", length & MOST)),
        Method::Expect => {
            ("PUT", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n".to_owned())
        }
        Method::Connect => ("CONNECT", String::new()),
        Method::Upgrade => ("GET", "Connection: Upgrade\r\nUpgrade: h2c\r\n".to_owned()),
    };
    let secret = [SECRET; 4];
    let lines = [name.as_bytes(), b" /", &secret, b" HTTP/1.1\r\nCookie: ", &secret, b"\r\n"];
    [&lines.concat(), rest.as_bytes(), b"\r\n"].concat()
}

fn response(status: Status, framing: Framing) -> Vec<u8> {
    let status = match status {
        Status::Continue => "100 Continue",
        Status::Ok => "200 OK",
        Status::NotModified => "304 Not Modified",
        Status::Switching => "101 Switching Protocols",
    };
    let rest = match framing {
        Framing::Length(length) => format!("Content-Length: {}\r\n\r\n", length & MOST),
        Framing::Chunked => "Transfer-Encoding: chunked\r\n\r\n".to_owned(),
        Framing::UntilClose => "Connection: close\r\n\r\n".to_owned(),
        Framing::Unfinished => "X".to_owned(),
    };
    let head = format!("HTTP/1.1 {status}\r\nSet-Cookie: ");
    [head.as_bytes(), &[SECRET; 4], b"\r\n", rest.as_bytes()].concat()
}

fn frame(kind: u8, flags: u8, stream: u8, length: u16) -> Vec<u8> {
    let length = unlike_secret(length & MOST);
    let [high, low] = length.to_be_bytes();
    let head = [0, high, low, kind % 11, flags & 0x2d, 0, 0, 0, stream & 7];
    let mut payload = secret(length);
    let known = known(head[3]).min(payload.len());
    payload[..known].fill(1);
    [&head[..], &payload].concat()
}

/// How many bytes of a frame's payload are protocol elements, which stay readable (RFC 9113, sections
/// 6.4, 6.8 and 6.9): a RST_STREAM's code, a GOAWAY's stream and code before its debug data, a WINDOW_UPDATE's increment.
const fn known(kind: u8) -> usize {
    match kind {
        3 => 4,
        7 => 8,
        8 => usize::MAX,
        _ => 0,
    }
}

/// A length none of whose bytes is taken for a secret.
const fn unlike_secret(length: u16) -> u16 {
    length & !0x80
}

fn secret(length: u16) -> Vec<u8> {
    vec![SECRET; length.into()]
}

/// No piece is longer, in bytes: several full segments.
const MOST: u16 = 0x1fff;
