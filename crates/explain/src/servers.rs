//! What the connections show about each server: which end closes, which connections are idle.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use ackwise_capture::{
    analysis::{Analysis, ConnectionResult},
    attribution::Vantage,
};
use ackwise_cause::{Direction, Party};
use ackwise_tcp::Instant;
use schemars::JsonSchema;
use serde::Serialize;

use super::pacing::PacedConnections;

/// All connections to a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Server {
    /// Its address.
    pub address: SocketAddr,
    /// How many there are.
    pub connections: u64,
    /// Exchanges on them.
    pub exchanges: u64,
    /// Connections by the end that sent the first FIN or RST.
    pub closed_first: Ends,
    /// Connections by the end that held TIME-WAIT.
    pub time_wait: Ends,
    /// Connections ended by an RST.
    pub reset: u64,
    /// Persistent connections that became idle.
    pub idle: Idle,
    /// The largest initial window that was seen, in segments.
    pub initial_window: Option<u32>,
    /// The longest delayed acknowledgement of a client.
    pub delayed_ack: Option<Duration>,
    /// How it sends on its connections.
    pub(super) paced: PacedConnections,
    /// Where the first connection was captured.
    pub vantage: Vantage,
}

/// Number of connections by end.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Ends {
    /// The client.
    pub client: u64,
    /// The server.
    pub server: u64,
}

/// Persistent connections after their last exchange.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Idle {
    /// Open when the capture ended.
    pub open: u64,
    /// The longest idle time of these.
    pub open_for: Duration,
    /// Closed or broken off while the capture ran.
    pub closed: u64,
    /// The longest idle time of these: the keep-alive timeout of the end that closed first.
    pub closed_after: Duration,
}

impl Idle {
    /// A connection is idle after this time without an exchange (our choice: consecutive requests
    /// follow each other sooner).
    pub const LEAST: Duration = Duration::from_secs(1);

    fn add(&mut self, connection: &ConnectionResult, since: Instant, end: Instant) {
        let closed = connection.closed_first.is_some();
        let until = if closed { connection.last_seen } else { end };
        let span = until.saturating_since(since);
        if span < Self::LEAST {
            return;
        }
        let (count, longest) = match closed {
            true => (&mut self.closed, &mut self.closed_after),
            false => (&mut self.open, &mut self.open_for),
        };
        *count += 1;
        *longest = span.max(*longest);
    }
}

impl Ends {
    fn add(&mut self, party: Option<Party>) {
        match party {
            Some(Party::Client) => self.client += 1,
            Some(Party::Server) => self.server += 1,
            Some(Party::Path) | None => {}
        }
    }
}

impl Server {
    /// Every server in a capture, that with the most connections first.
    ///
    /// ```
    /// use ackwise_explain::{Reading, Server};
    ///
    /// let explained = Reading::new().end().expect("nobody else ends it");
    /// assert!(Server::all(&explained.analysis).is_empty());
    /// ```
    #[must_use]
    pub fn all(analysis: &Analysis) -> Vec<Self> {
        let idle_since = idle_since(analysis);
        let mut servers = BTreeMap::new();
        for (connection, since) in analysis.connections.iter().zip(idle_since) {
            let server = servers
                .entry(connection.server)
                .or_insert_with(|| Self::new(connection.server, connection.vantage));
            server.add(connection);
            if let Some(since) = since.filter(|_| !connection.abandoned) {
                server.idle.add(connection, since, analysis.last);
            }
        }
        let mut servers: Vec<Self> = servers.into_values().collect();
        servers.sort_by_key(|it| std::cmp::Reverse(it.connections));
        servers
    }

    fn new(address: SocketAddr, vantage: Vantage) -> Self {
        Self {
            address,
            connections: 0,
            exchanges: 0,
            closed_first: Ends::default(),
            time_wait: Ends::default(),
            reset: 0,
            idle: Idle::default(),
            initial_window: None,
            delayed_ack: None,
            paced: PacedConnections::default(),
            vantage,
        }
    }

    fn add(&mut self, connection: &ConnectionResult) {
        self.connections += 1;
        self.exchanges += u64::from(connection.exchanges);
        self.closed_first.add(connection.closed_first);
        self.time_wait.add(connection.time_wait);
        self.reset += u64::from(connection.reset);
        self.initial_window = self.initial_window.max(connection.initial_window);
        self.delayed_ack = self.delayed_ack.max(connection.delayed_ack);
        if let Some(pacing) = &connection.pacing[Direction::ToClient as usize] {
            self.paced.add(pacing);
        }
    }
}

/// When the last exchange of each connection was over; `None` if there was none, or it was not.
fn idle_since(analysis: &Analysis) -> Vec<Option<Instant>> {
    let mut ends = vec![None; analysis.connections.len()];
    let mut answered = vec![true; ends.len()];
    for exchange in &analysis.exchanges {
        let place = exchange.connection as usize;
        ends[place] = ends[place].max(Some(exchange.start + exchange.duration));
        answered[place] &= exchange.complete;
    }
    for (connection, (end, answered)) in
        analysis.connections.iter().zip(ends.iter_mut().zip(&mut answered))
    {
        for tunnel in &connection.tunnels {
            *end = (*end).max(Some(tunnel.until));
            // The whole connection is a tunnel: it is in use whether or not something is sent.
            *answered &= tunnel.stream != 0 || tunnel.kind.is_passing();
        }
    }
    ends.into_iter().zip(answered).map(|(end, answered)| end.filter(|_| answered)).collect()
}
