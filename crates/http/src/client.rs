//! The client's end of a connection: what has been asked, and what each response belongs to. Pure.
//!
//! ```
//! use ackwise_http::{Method, client::{ClientConnection, ClientEvent}};
//!
//! let mut connection = ClientConnection::new();
//! connection.ask(Method::Get, "first");
//! connection.ask(Method::Get, "second");
//! let mut bytes = &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"[..];
//! let mut ended = Vec::new();
//! while let Some(event) = connection.advance(&mut bytes)? {
//!     if let ClientEvent::End(request, response) = event {
//!         ended.push((request, response.content));
//!     }
//! }
//! assert_eq!(ended, [("first", 2)]);
//! assert_eq!(connection.outstanding(), 1);
//! # Ok::<(), ackwise_http::client::ClientError>(())
//! ```
//!
//! Not here: the bytes of requests ([`RequestBuilder`](crate::RequestBuilder)), when they are written, and which close
//! follows the last response.

use alloc::collections::VecDeque;

use crate::{
    Method, Persistence, Response, ResponseError, ResponseEvent, ResponseHead, ResponseParser,
    client_close::ClientSide,
};

/// One connection, of whose requests the caller keeps a `T` each.
///
/// The caller bounds the number of outstanding requests.
#[derive(Clone, Debug)]
pub struct ClientConnection<T> {
    parser: ResponseParser,
    outstanding: VecDeque<T>,
    side: ClientSide,
}

/// What the next bytes are.
#[derive(Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ClientEvent<'a, T> {
    /// A 1xx response.
    Interim(ResponseHead),
    /// The head of the response to this request.
    Head(&'a mut T, &'a ResponseHead),
    /// Some of its content.
    Content(&'a mut T, &'a [u8]),
    /// Its end.
    End(T, Response),
}

/// Why what was received is no response to what was asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ClientError {
    /// Bytes for which there is no request.
    #[error("bytes that no request asked for")]
    Unasked,
    /// The server closed before a response began.
    #[error("closed without a response")]
    Unanswered,
    /// It is malformed, or the server closed within it.
    #[error(transparent)]
    Response(#[from] ResponseError),
}

impl<T> ClientConnection<T> {
    /// A connection without requests.
    #[must_use]
    pub fn new() -> Self {
        let (parser, outstanding) = (ResponseParser::new(), VecDeque::new());
        Self { parser, outstanding, side: ClientSide::NEW }
    }

    /// Registers a request: its response is expected after those of the requests before.
    pub fn ask(&mut self, method: Method, request: T) {
        self.side.sent += 1;
        self.parser.expect(method);
        self.outstanding.push_back(request);
    }

    /// Number of requests without a complete response.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Counts, and whether the server closes after its last response.
    #[must_use]
    pub const fn side(&self) -> &ClientSide {
        &self.side
    }

    /// Bytes of responses read, and how far the parser is within one.
    #[must_use]
    pub const fn parser(&self) -> &ResponseParser {
        &self.parser
    }

    /// Consumes received bytes up to the next event; `None` means that all are consumed.
    ///
    /// # Errors
    ///
    /// If they are no response to what was asked.
    pub fn advance<'a, 'i: 'a>(
        &'a mut self,
        bytes: &mut &'i [u8],
    ) -> Result<Option<ClientEvent<'a, T>>, ClientError> {
        if self.outstanding.is_empty() {
            return if bytes.is_empty() { Ok(None) } else { Err(ClientError::Unasked) };
        }
        Ok(Some(match self.parser.advance(bytes)? {
            None => return Ok(None),
            Some(ResponseEvent::Interim(head)) => ClientEvent::Interim(head),
            Some(ResponseEvent::Head(head)) => ClientEvent::Head(&mut self.outstanding[0], head),
            Some(ResponseEvent::Content(content)) => {
                ClientEvent::Content(&mut self.outstanding[0], content)
            }
            Some(ResponseEvent::End(response)) => ClientEvent::End(
                answered(&mut self.outstanding, &mut self.side, response.head.persistence),
                response,
            ),
        }))
    }

    /// Takes a response of `bytes` bytes that the caller has recognised, because the same bytes were parsed before.
    ///
    /// # Panics
    ///
    /// If a response has begun, or no request is outstanding.
    pub fn recognised(&mut self, bytes: u64, persistence: Persistence) -> T {
        self.parser.skip_response(bytes);
        answered(&mut self.outstanding, &mut self.side, persistence)
    }

    /// Handles the server's close of its half, which may end a response.
    ///
    /// # Errors
    ///
    /// If it leaves a request without a complete response.
    pub fn handle_close(&mut self) -> Result<Option<(T, Response)>, ClientError> {
        self.side.server_closed = true;
        if self.outstanding.is_empty() {
            return Ok(None);
        }
        let response = self.parser.handle_close()?.ok_or(ClientError::Unanswered)?;
        let persistence = response.head.persistence;
        Ok(Some((answered(&mut self.outstanding, &mut self.side, persistence), response)))
    }
}

impl<T> Default for ClientConnection<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Counts a complete response, and returns its request.
fn answered<T>(
    outstanding: &mut VecDeque<T>,
    side: &mut ClientSide,
    persistence: Persistence,
) -> T {
    side.answered += 1;
    side.last = Some(persistence);
    outstanding.pop_front().expect("a response is read only for a request")
}
