//! A connection that is used again as long as the server allows, and replaced when it does not.

use super::{Client, Exchange, ExchangeError, HttpConnection, Request};
use crate::stack::{Acknowledge, Receiver};

/// Exchanges one after the other, on one connection if possible.
pub struct ReusedConnection {
    receiver: Receiver,
    current: Option<HttpConnection>,
}

impl ReusedConnection {
    /// A line whose connections are opened as `receiver` says.
    #[must_use]
    pub fn new(receiver: Receiver) -> Self {
        Self { receiver, current: None }
    }

    /// The connection in use.
    #[must_use]
    pub fn current(&self) -> Option<&HttpConnection> {
        self.current.as_ref()
    }

    /// Closes the connection in use.
    pub fn close(&mut self) {
        self.current = None;
    }

    /// Asks, and acknowledges the answer as `acknowledge` says.
    ///
    /// # Errors
    ///
    /// If there is no answer; also not on a new connection, where a used one was closed instead of
    /// answering (RFC 9112, section 9.3.1, tells clients to retry then).
    pub fn request(
        &mut self,
        request: &Request,
        acknowledge: Acknowledge,
        client: &mut Client,
    ) -> Result<Exchange, ExchangeError> {
        // One that is over is closed before the next opens: its server may linger until then, and serve nobody else.
        let used = self.current.take();
        if let Some(mut connection) = used.filter(HttpConnection::accepts_requests) {
            connection.set_acknowledge(acknowledge);
            match connection.request(request, &mut client.budget) {
                Err(
                    ExchangeError::ClosedUnanswered(_)
                    | ExchangeError::Unprocessed
                    | ExchangeError::Transport(_),
                ) => {}
                answer => {
                    self.current = Some(connection);
                    return answer;
                }
            }
        }
        let mut connection = client.open(Receiver { acknowledge, ..self.receiver })?;
        let answer = connection.request(request, &mut client.budget);
        self.current = Some(connection);
        answer
    }
}
