//! CLIENT_CLOSE: a request without a reply, by which a client ends a series of requests and says that it
//! closes the connection itself, so that TIME-WAIT is at its end (Faber, Touch, Yue 1997).
//!
//! The draft gives no format. Ours is a request line with the asterisk, `Host` and nothing else:
//!
//! ```
//! let request = ackwise_http::client_close::encode("localhost")?;
//! assert_eq!(request, b"CLIENT_CLOSE * HTTP/1.1\r\nHost: localhost\r\n\r\n");
//! # Ok::<(), ackwise_http::EncodeError>(())
//! ```
//!
//! The client sends it when [`ClientSide::may_close`] says so, and closes at once. A server that knows
//! it ([`RequestParser::with_client_close`](crate::RequestParser::with_client_close)) closes without a
//! reply. To any other it is a method that it does not implement, which it answers by a 501 that
//! nobody reads.
//!
//! It is for the next hop alone, as the connection is: see [`Request::is_client_close`].
//!
//! Not here: sockets, and how long a client drains what a server answers all the same (`serve`).

use alloc::vec::Vec;

use crate::{
    CloseReason, EncodeError, Method, Persistence, Request, RequestBuilder, request::ASTERISK,
};

/// The request, for the server at `host` (with the port, if it is not the default).
///
/// # Errors
///
/// If `host` cannot stand in a head.
pub fn encode(host: &str) -> Result<Vec<u8>, EncodeError> {
    RequestBuilder::new(Method::ClientClose, host, ASTERISK).encode()
}

/// What a client knows about one of its connections.
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
    /// Requests that were sent, pipelined ones included; the last one perhaps not to its end.
    pub sent: u64,
    /// Those whose final response has arrived to its last byte.
    pub answered: u64,
    /// The last request has not left completely.
    pub sending: bool,
    /// What the last response said of the connection.
    pub last: Option<Persistence>,
    /// The server has closed its half.
    pub server_closed: bool,
}

impl ClientSide {
    /// Nothing has happened yet.
    pub const NEW: Self =
        Self { sent: 0, answered: 0, sending: false, last: None, server_closed: false };

    /// Whether a CLIENT_CLOSE may be sent now, and the connection closed.
    ///
    /// The draft: clients send it "to the server after the end of the last response".
    ///
    /// # Errors
    ///
    /// Why not. Each of them is a matter of waiting, or of a connection that ends in another way.
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
    /// It "terminates a series of requests": there was none. A plain close says as much.
    NoResponseYet,
    /// The bytes would become a part of the request that is being sent.
    WithinRequest,
    /// So many requests wait for their responses, or for the rest of it.
    ResponsesOutstanding(u64),
    /// The server closes after its last response; after one that only the close ends, that is how the
    /// client has learnt of its end.
    ServerWillClose(CloseReason),
    /// The server has closed, so TIME-WAIT is its own already.
    ServerClosed,
}

impl Request {
    /// Whether the client that is connected here closes this connection: then the server closes its end,
    /// too, without a reply, and has no error to count.
    ///
    /// A CLIENT_CLOSE that has come through a proxy is none: it was meant for the proxy, whose connection
    /// to us serves strangers, too. RFC 9110, section 7.6.3: "A proxy MUST send an appropriate Via header
    /// field […] in each message that it forwards". The answer to it is a 501, and the connection stays.
    #[must_use]
    pub fn is_client_close(&self) -> bool {
        self.method == Method::ClientClose && self.fields.first("Via").is_none()
    }
}

impl Method {
    /// Whether the method is about the connection it comes on: a proxy does what it says, or refuses it,
    /// and never passes it on.
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
            (sending(state(2, 2, persists)),                 Err(WithinRequest)), // An early answer.
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
