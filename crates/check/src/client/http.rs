//! HTTP on one connection, at the server's end: bytes in, requests out, and responses as bytes. It knows no time.

mod one;
mod two;

use ackwise_http::{ConnectionOption, http2::CLIENT_PREFACE};

pub(super) use self::two::Credit;
use self::{one::Http1, two::Http2};
use super::observed::Request;
use crate::http_client::Protocol;

/// The version that the client speaks.
pub(super) enum Http {
    /// What has arrived is too little to tell.
    Unknown,
    One(Http1),
    Two(Box<Http2>),
}

/// News of one request.
pub(super) struct Arrival {
    /// Which: its stream in HTTP/2, and its number in HTTP/1.
    pub(super) stream: u32,
    /// The request, if its head is what has arrived.
    pub(super) head: Option<Request>,
    /// Bytes of its content so far; chunks count with their sizes.
    pub(super) content: u64,
    /// Whether it is complete.
    pub(super) is_whole: bool,
}

/// What the server answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Response {
    /// 100 (Continue).
    Continue,
    /// 200, with three bytes of content.
    Small,
    /// 200, with [`LARGE`] bytes.
    Large,
    /// 200, without content: to HEAD.
    Empty,
    /// 413.
    Refusal,
}

impl Http {
    /// `None` until it shows.
    pub(super) const fn protocol(&self) -> Option<Protocol> {
        match self {
            Self::Unknown => None,
            Self::One(_) => Some(Protocol::Http1),
            Self::Two(_) => Some(Protocol::Http2),
        }
    }

    /// Takes bytes off the front of `input`, up to the next news. What it leaves if there are none is to be given again,
    /// with more.
    ///
    /// # Errors
    ///
    /// If it is not HTTP.
    pub(super) fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Arrival>, String> {
        if let Self::Unknown = self {
            // No method of HTTP/1 begins as HTTP/2's preface does (RFC 9113, section 3.4).
            let shown = input.len().min(TELLS);
            let is_http2 = input[..shown] == CLIENT_PREFACE[..shown];
            if is_http2 && shown < TELLS {
                return Ok(None);
            }
            *self = match is_http2 {
                true => Self::Two(Box::new(Http2::new())),
                false => Self::One(Http1::new()),
            };
        }
        match self {
            Self::Unknown => Ok(None),
            Self::One(http) => http.advance(input),
            Self::Two(http) => http.advance(input),
        }
    }

    /// The bytes of a response, with `option` in HTTP/1.
    pub(super) fn respond(
        &mut self,
        stream: u32,
        response: Response,
        option: ConnectionOption,
    ) -> Vec<u8> {
        match self {
            Self::Unknown => Vec::new(),
            Self::One(_) => one::response(response, option),
            Self::Two(http) => {
                http.respond(stream, response);
                http.take_due()
            }
        }
    }

    /// What is to be sent without being asked for.
    pub(super) fn take_due(&mut self) -> Vec<u8> {
        match self {
            Self::Unknown | Self::One(_) => Vec::new(),
            Self::Two(http) => http.take_due(),
        }
    }

    /// Says that no request from `stream` on is processed. `None` in HTTP/1, where only a close can say it.
    pub(super) fn go_away(&mut self, stream: u32) -> Option<Vec<u8>> {
        match self {
            Self::Unknown | Self::One(_) => None,
            Self::Two(http) => {
                http.go_away(stream);
                Some(http.take_due())
            }
        }
    }

    /// What HTTP/2's windows let the server send, on a stream and in all.
    pub(super) fn credit(&self, stream: u32) -> Option<Credit> {
        match self {
            Self::Unknown | Self::One(_) => None,
            Self::Two(http) => http.credit(stream),
        }
    }
}

/// The content of a response: text, and JSON, of any size.
fn content(response: Response) -> Vec<u8> {
    match response {
        Response::Continue | Response::Empty => Vec::new(),
        Response::Small => b"{}\n".to_vec(),
        Response::Large => {
            let mut content = vec![b' '; LARGE];
            content[0] = b'{';
            content[LARGE - 2..].copy_from_slice(b"}\n");
            content
        }
        Response::Refusal => b"big\n".to_vec(),
    }
}

/// Content for which a receive window opens as far as it does on a long path. Our choice: ten times the bandwidth-delay
/// product that `window-updates` asks for.
pub(super) const LARGE: usize = 2_000_000;

/// Bytes that tell HTTP/2's preface from a request line: no method begins with `PRI`.
const TELLS: usize = 3;
