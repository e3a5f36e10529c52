//! What a proxy and its clients did.

use std::time::Duration;

/// What a proxy and its clients did, beside what its application measures. It counts from the end of
/// the warm-up on, except where a field says otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProxyMeasures {
    /// Stream bytes of documents that arrived at clients, unfinished ones included.
    pub bytes_to_clients: u64,
    /// Stream bytes of documents that the proxy took from servers, unfinished ones included.
    pub bytes_from_servers: u64,
    /// Documents, in the order in which they were complete.
    pub responses: Vec<Response>,
    /// Requests that clients began.
    pub requests: u64,
    /// Requests that failed because the proxy rejected them.
    pub rejected: u64,
    /// Documents that clients still waited for at the end of the run.
    pub unfinished: Vec<Unfinished>,
    /// SYNs of clients that found no place: each one that was dropped, rejected or queued.
    pub refused: u64,
    /// Misses that found no place for a connection to the server.
    pub misses_refused: u64,
    /// Misses that still waited for a place at the end of the run.
    pub misses_waiting: u64,
    /// Idle connections that were closed for new ones.
    pub closed_for_new: u64,
    /// Those of them that had been idle for less than the first halving takes; 0 if nothing is halved.
    pub closed_before_halving: u64,
    /// Idle connections that were closed by their timeout.
    pub closed_by_timeout: u64,
    /// Times that a connection became idle.
    pub idle_spells: u64,
    /// Idle times that lasted at least as long as the first halving takes; 0 if nothing is halved.
    pub halved_spells: u64,
    /// Moments at which connections were counted: once in each interval.
    pub samples: u64,
    /// Open connections, summed over these moments: to clients, and to servers.
    pub open: [u64; 2],
    /// Idle connections, likewise.
    pub idle: [u64; 2],
    /// Moments at which the limit of connections was reached.
    pub full_samples: u64,
    /// Open and idle connections that count towards the limit, summed over those moments.
    pub full_open: u64,
    /// See [`full_open`](Self::full_open).
    pub full_idle: u64,
    /// Moments of those at which most of these connections were idle: more than half.
    pub full_mostly_idle: u64,
    /// The most connections at once, in the whole run: to clients and to servers.
    pub most_open: u64,
    /// The most buffer memory that was assigned at once, in the whole run.
    pub most_assigned: u64,
    /// Divisions of the pool, in the whole run.
    pub divisions: u64,
    /// Those of them in which the pool did not suffice.
    pub short_divisions: u64,
}

/// A document that a client has received.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Response {
    /// Its client's place in the proxy's list.
    pub client: u32,
    /// Its size.
    pub bytes: u64,
    /// From the moment the client wanted it until its last byte arrived, waiting for a connection and
    /// all attempts included (Okamoto et al. 2001, section 4.2).
    pub time: Duration,
    /// The proxy had it.
    pub hit: bool,
}

/// A document that a client still waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unfinished {
    /// Its size.
    pub bytes: u64,
    /// For how long it has waited.
    pub waited: Duration,
}
