//! The messages of each connection, encoded once.

use std::num::NonZeroU32;

use ackwise_http::{ConnectionOption, EncodeError, Method, RequestBuilder, client_close};

/// Which end closes a connection first, and how.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Close {
    /// The server: the last request has `Connection: close`.
    Server,
    /// The client, after the last response, without an announcement.
    Client,
    /// The client, after a CLIENT_CLOSE ([`ackwise_http::client_close`]).
    ClientClose(Drain),
}

/// How a client handles a possible response to its CLIENT_CLOSE.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Drain {
    /// Closes its half and reads to the end: the client holds TIME-WAIT with any server.
    HalfClose,
    /// Closes without reading: a response triggers an RST, after which neither end may hold
    /// TIME-WAIT.
    Plain,
}

/// The messages of a connection, the same for all connections.
///
/// ```
/// use std::num::NonZeroU32;
/// use ackwise_load::generator::{Close, Plan};
///
/// let ten = NonZeroU32::new(10).expect("not zero");
/// let plan = Plan::new("localhost:8080", "/page?a=b", Close::Server)?.requests(ten);
/// assert_eq!(plan.close(), Close::Server);
/// # Ok::<(), ackwise_http::EncodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    requests: NonZeroU32,
    close: Close,
    kept: Vec<u8>,
    last: Vec<u8>,
    client_close: Vec<u8>,
}

/// One of a plan's messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Message {
    /// A request followed by another one, or by the client's close.
    Request,
    /// A request followed by the server's close.
    LastRequest,
    ClientClose,
}

impl Plan {
    /// One request per connection: GET `target` from `host` (with its port, if it is not the
    /// default).
    ///
    /// # Errors
    ///
    /// If `host` or `target` is not allowed in a head.
    pub fn new(host: &str, target: &str, close: Close) -> Result<Self, EncodeError> {
        let request = || RequestBuilder::new(Method::Get, host, target);
        Ok(Self {
            requests: NonZeroU32::MIN,
            close,
            kept: request().encode()?,
            last: request().connection(ConnectionOption::Close).encode()?,
            client_close: client_close::encode(host)?,
        })
    }

    /// Sets the number of requests on each connection, one after the other.
    #[must_use]
    pub const fn requests(mut self, requests: NonZeroU32) -> Self {
        self.requests = requests;
        self
    }

    /// Which end closes first.
    #[must_use]
    pub const fn close(&self) -> Close {
        self.close
    }

    /// The request with number `index`, from 0; `None` after the last.
    pub(super) fn message(&self, index: u64) -> Option<Message> {
        let last = u64::from(self.requests.get() - 1);
        match self.close {
            _ if index > last => None,
            Close::Server if index == last => Some(Message::LastRequest),
            _ => Some(Message::Request),
        }
    }

    pub(super) fn bytes(&self, message: Message) -> &[u8] {
        match message {
            Message::Request => &self.kept,
            Message::LastRequest => &self.last,
            Message::ClientClose => &self.client_close,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_is_to_close_is_told_so_and_only_at_last() {
        for (close, last) in [
            (Close::Server, Message::LastRequest),
            (Close::Client, Message::Request),
            (Close::ClientClose(Drain::Plain), Message::Request),
        ] {
            let two = NonZeroU32::new(2).unwrap();
            let plan = Plan::new("h", "/", close).unwrap().requests(two);
            let messages = [0, 1, 2].map(|index| plan.message(index));
            assert_eq!(messages, [Some(Message::Request), Some(last), None], "{close:?}");
        }
    }
}
