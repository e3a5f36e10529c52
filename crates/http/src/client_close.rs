//! CLIENT_CLOSE: a request without a response. With it a client ends a series of requests and
//! closes the connection first, so that the client holds TIME-WAIT (Faber, Touch, Yue 1997).
//!
//! The draft gives no format. Our choice is a request line with the asterisk form, and `Host`:
//!
//! ```
//! let request = ackwise_http::client_close::encode("localhost")?;
//! assert_eq!(request, b"CLIENT_CLOSE * HTTP/1.1\r\nHost: localhost\r\n\r\n");
//! # Ok::<(), ackwise_http::EncodeError>(())
//! ```
//!
//! The client sends it when [`ClientSide::may_close`] allows it, and closes immediately. A server
//! that supports it ([`RequestParser::with_client_close`](crate::RequestParser::with_client_close))
//! closes without a response. Any other server answers 501, which is not read.
//!
//! It is hop-by-hop, as the connection is: see [`Request::is_client_close`].
//!
//! Not here: sockets, and how long a client drains a response that arrives anyway (`serve`).

use alloc::vec::Vec;

use crate::{
    CloseReason, EncodeError, Method, Persistence, Request, RequestBuilder, request::ASTERISK,
};

/// Encodes the request for the server at `host` (with the port, if it is not the default).
///
/// # Errors
///
/// If `host` contains bytes that are not allowed in a head.
pub fn encode(host: &str) -> Result<Vec<u8>, EncodeError> {
    RequestBuilder::new(Method::ClientClose, host, ASTERISK).encode()
}

/// A client's view of one of its connections.
///
/// ```
/// use ackwise_http::{Persistence, client_close::{ClientSide, MayNotClose}};
///
/// let mut side = ClientSide { sent: 2, answered: 1, last: Some(Persistence::Persists), ..ClientSide::NEW };
/// assert_eq!(side.may_close(), Err(MayNotClose::ResponsesOutstanding(1)));
/// side.answered += 1;
/// assert_eq!(side.may_close(), Ok(()));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClientSide {
    /// Requests sent, pipelined ones included. The last may be incomplete.
    pub sent: u64,
    /// Requests whose final response is complete.
    pub answered: u64,
    /// Whether the last request is incomplete.
    pub sending: bool,
    /// Persistence as of the last response.
    pub last: Option<Persistence>,
    /// Whether the server has closed its half.
    pub server_closed: bool,
}

impl ClientSide {
    /// A connection without requests.
    pub const NEW: Self =
        Self { sent: 0, answered: 0, sending: false, last: None, server_closed: false };

    /// Whether a CLIENT_CLOSE may be sent, and the connection closed, now.
    ///
    /// The draft: clients send it "to the server after the end of the last response".
    ///
    /// # Errors
    ///
    /// If it may not. In each case the client waits, or the connection ends in another way.
    pub const fn may_close(&self) -> Result<(), MayNotClose> {
        if self.server_closed {
            return Err(MayNotClose::ServerClosed);
        }
        if self.sending {
            return Err(MayNotClose::WithinRequest);
        }
        let outstanding = self.sent.saturating_sub(self.answered);
        if outstanding > 0 {
            return Err(MayNotClose::ResponsesOutstanding(outstanding));
        }
        match self.last {
            None => Err(MayNotClose::NoResponseYet),
            Some(Persistence::Closes(reason)) => Err(MayNotClose::ServerWillClose(reason)),
            Some(Persistence::Persists) => Ok(()),
        }
    }
}

/// Why a CLIENT_CLOSE may not be sent (yet).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum MayNotClose {
    /// There was no response: it "terminates a series of requests", and a plain close does the same
    /// here.
    NoResponseYet,
    /// Its bytes would become part of the request that is being sent.
    WithinRequest,
    /// This many responses are outstanding or incomplete.
    ResponsesOutstanding(u64),
    /// The server closes after its last response, or has delimited that response by closing.
    ServerWillClose(CloseReason),
    /// The server has closed, so it already holds TIME-WAIT.
    ServerClosed,
}

impl Request {
    /// Whether the directly connected client closes this connection. The server then closes its end
    /// without a response, and counts no error.
    ///
    /// `false` for a CLIENT_CLOSE forwarded by a proxy: it was meant for the proxy, whose
    /// connection to the server is shared with other clients. RFC 9110, section 7.6.3: "A proxy
    /// MUST send an appropriate Via header field […] in each message that it forwards". The
    /// response is a 501, and the connection stays open.
    #[must_use]
    pub fn is_client_close(&self) -> bool {
        self.method == Method::ClientClose && self.fields.first("Via").is_none()
    }
}

impl Method {
    /// Whether the method applies to the connection it arrives on: a proxy acts on it or rejects
    /// it, and never forwards it.
    #[must_use]
    pub const fn is_hop_by_hop(self) -> bool {
        matches!(self, Self::ClientClose)
    }
}

#[cfg(test)]
mod tests {
    use super::{MayNotClose::*, *};
    use crate::{CloseReason::*, Persistence::*};

    #[test]
    fn it_may_be_sent_when_every_response_has_ended_and_the_connection_persists() {
        let state = |sent, answered, last| ClientSide { sent, answered, last, ..ClientSide::NEW };
        let sending = |side| ClientSide { sending: true, ..side };
        let closed = |side| ClientSide { server_closed: true, ..side };
        let persists = Some(Persists);
        #[rustfmt::skip]
        let table = [
            (state(1, 1, persists),                          Ok(())),
            (state(9, 9, persists),                          Ok(())),
            (ClientSide::NEW,                                Err(NoResponseYet)),
            (state(1, 0, None),                              Err(ResponsesOutstanding(1))),
            (state(2, 1, persists),                          Err(ResponsesOutstanding(1))),
            (state(5, 2, persists),                          Err(ResponsesOutstanding(3))),
            (sending(state(1, 0, None)),                     Err(WithinRequest)),
            (sending(state(2, 2, persists)),                 Err(WithinRequest)), // Early response.
            (state(1, 1, Some(Closes(UntilClose))),          Err(ServerWillClose(UntilClose))),
            (state(1, 1, Some(Closes(CloseOption))),         Err(ServerWillClose(CloseOption))),
            (state(1, 1, Some(Closes(Http10Only))),          Err(ServerWillClose(Http10Only))),
            (state(1, 1, Some(Closes(FaultyFraming))),       Err(ServerWillClose(FaultyFraming))),
            (state(2, 1, Some(Closes(CloseOption))),         Err(ResponsesOutstanding(1))),
            (closed(state(1, 1, persists)),                  Err(ServerClosed)),
            (closed(state(2, 1, persists)),                  Err(ServerClosed)),
        ];
        for (side, expected) in table {
            assert_eq!(side.may_close(), expected, "{side:?}");
        }
    }

    #[test]
    fn it_is_the_only_method_that_stays_on_its_hop() {
        assert!(Method::ClientClose.is_hop_by_hop());
        assert!(Method::ALL.iter().all(|method| !method.is_hop_by_hop()));
    }
}
