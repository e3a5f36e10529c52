//! The connection that is left idle while the probes work.

use std::time::Instant;

use ackwise_http::ConnectionOption;

use super::Options;
use crate::{
    http_client::{Client, Exchange, ExchangeError, HttpConnection},
    probe::{Facts, Idle},
    stack::Receiver,
};

/// A connection on which nothing is asked any more.
pub(super) struct IdleWatch {
    connection: HttpConnection,
    since: Instant,
}

impl IdleWatch {
    pub(super) fn new(connection: HttpConnection) -> Self {
        let since = connection.now();
        Self { connection, since }
    }

    /// Takes note if the server has closed it by now.
    pub(super) fn poll_close(&mut self) {
        let now = self.connection.now();
        self.connection.observe_until(now);
    }

    /// Waits for the server to close it: until the server's own announcement makes that needless, or
    /// until [`Options::max_wait`], or as long as the budget allows if a reserve is kept.
    pub(super) fn wait_for_close(
        &mut self,
        client: &mut Client,
        facts: &Facts,
        options: &Options,
    ) -> Idle {
        let mut announced = announces(&facts.first);
        if !facts.first.persists() {
            // By default it was closed; one that persists on request starts to be idle only now.
            match reopen(client, facts) {
                Ok((connection, first)) => {
                    announced = announces(&first);
                    *self = Self::new(connection);
                }
                Err(_) => return self.outcome(),
            }
        }
        if !announced || options.thorough {
            let reserve = client.budget.time_left(client.now()) / RESERVE;
            let latest = client.now() + client.budget.time_left(client.now()) - reserve;
            self.connection.observe_until((self.since + options.max_wait).min(latest));
        }
        self.poll_close();
        self.outcome()
    }

    fn outcome(&self) -> Idle {
        let closed = self.connection.closed();
        let end = closed.map_or_else(|| self.connection.now(), |closed| closed.at);
        let lasted = end.saturating_duration_since(self.since);
        Idle { lasted, closed_by_server: closed.is_some() }
    }
}

fn announces(exchange: &Exchange) -> bool {
    exchange.head.keep_alive.is_some_and(|said| said.timeout.is_some())
}

fn reopen(client: &mut Client, facts: &Facts) -> Result<(HttpConnection, Exchange), ExchangeError> {
    let request = client.ask_for(&facts.page, Some(ConnectionOption::KeepAlive))?;
    let mut connection = client.open(Receiver::ETHERNET)?;
    let exchange = connection.request(&request, &mut client.budget)?;
    if exchange.persists() {
        Ok((connection, exchange))
    } else {
        Err(ExchangeError::ClosedUnanswered(None))
    }
}

/// A quarter of the remaining time is kept for what comes after the wait (our choice).
const RESERVE: u32 = 4;
