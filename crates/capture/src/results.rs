//! What a capture has shown of its connections and exchanges so far.

use std::{
    cmp::Ordering,
    net::SocketAddr,
    num::{NonZeroU32, NonZeroU64},
    sync::Arc,
    time::Duration,
};

use ackwise_cause::{Cause, ConnectOutcome, GrpcStatus, Party};
use ackwise_tcp::Instant;

use crate::{
    attribution::{Alike, Confidence, Pacing, Rule, Share, Shares, Stretch, Vantage, Verdict},
    closing::{Closing, TimeWaitRule},
    conversation::{Alert, Goaway, NotOpened, Protocol, Tunnel},
    decode::{IcmpError, Seen},
    folded::Folded,
    held_requests::HeldRequests,
    hop_limits::HopLimits,
    keys::{KeyLog, KeyLogLines, NoSecrets, Random},
    limits::{KEPT_TEXT, LISTED_CONNECTIONS, Limit, QUIET_CONNECTIONS, Reached},
    measures::ConnectionMeasures,
    message_counts::MessageCounts,
    outcome::{BlackHole, Ending},
    quality::Quality,
    read::HostDirection,
    series::{Budget, Series},
    work::Reserve,
};

mod busy_path;
pub(crate) mod shared_link;
mod sorted;

pub(crate) use sorted::Sorted;

/// A connection, as far as it was seen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectionResult {
    /// Counted from 0.
    pub id: u32,
    /// Who opened it, or seems to have.
    pub client: SocketAddr,
    /// The other end.
    pub server: SocketAddr,
    /// What they spoke; `None` if nothing was said.
    pub protocol: Option<Protocol>,
    /// What took it or its streams over, in the order in which that began.
    pub tunnels: Box<[TunnelResult]>,
    /// Exchanges on it.
    pub exchanges: u32,
    /// Who sent the first FIN or RST.
    pub closed_first: Option<Party>,
    /// It was broken off by an RST.
    pub reset: bool,
    /// When the server's FIN was seen.
    pub server_closed: Option<Instant>,
    /// When the client's FIN or RST was seen.
    pub client_closed: Option<Instant>,
    /// It did not want the last response.
    pub(crate) leaves_unread: bool,
    /// How the attempt to connect ended, if it brought no connection, or no TLS session.
    pub connect: Option<ConnectOutcome>,
    /// The alert that ended TLS's handshake.
    pub alert: Option<Alert>,
    /// The server of TLS asked for another ClientHello, with another key share.
    pub hello_retried: bool,
    /// The protocol that asked for TLS, and goes on in it.
    pub encrypted: Option<Protocol>,
    /// Whether what TLS has sealed was read, or why not; `None` without TLS, or
    /// [without secrets](crate::analysis::Analyser::with_keys).
    pub opened: Option<Result<(), NotOpened>>,
    /// What names the secrets of TLS, if there are secrets of any connection, and its ClientHello was read.
    pub(crate) client_random: Option<Box<Random>>,
    /// When the client sent its first data for the second time, if the server did not take it three times.
    pub opening_ignored: Option<Instant>,
    /// The server sent its SYN-ACK again.
    pub answered_again: bool,
    /// What ICMP said of the client's or the server's packets, at first.
    pub icmp: Option<Box<IcmpError>>,
    /// At its end, full segments did not get through one way.
    pub black_hole: Option<Box<BlackHole>>,
    /// That the server would answer no more: its first GOAWAY, or the last with an error (HTTP/2).
    pub goaway: Option<Box<SeenGoaway>>,
    /// Requests that Nagle's algorithm held before their first byte.
    pub held_requests: Option<Box<HeldRequests>>,
    /// Who held TIME-WAIT after it: who closed first, or the other end if that took it over by an RST
    /// after both had closed, or if both had agreed on it. `None` if it was broken off or did not end.
    pub time_wait: Option<Party>,
    /// By which rule it did.
    pub time_wait_rule: Option<TimeWaitRule>,
    /// What both ends said about it.
    pub closing: Closing,
    /// Segments that the server sent before any was acknowledged, if the window kept it from more.
    pub initial_window: Option<u32>,
    /// By how much the client delayed acknowledgements for which the server had to wait.
    pub delayed_ack: Option<Duration>,
    /// Where the capture was taken.
    pub vantage: Vantage,
    /// The least round-trip time that was seen.
    pub round_trip: Duration,
    /// How many round trips took as little. If none did, the path may never have been idle, and what it adds to the
    /// least round trip is not known.
    pub(crate) round_trips_alike: Alike,
    /// The capture begins in the middle of it, and nothing showed how much of the least round trip to the server is
    /// a program's time.
    pub distance_in_doubt: bool,
    /// How its ends spread their segments, by direction, as far as that shows pacing.
    pub pacing: [Option<Box<Pacing>>; 2],
    pub(crate) measures: Option<Box<ConnectionMeasures>>,
    /// Segments sent again, by direction: to the server, to the client.
    pub repeated: [u32; 2],
    /// How much of it the capture has.
    pub quality: Quality,
    /// Bytes, by direction.
    pub bytes: [u64; 2],
    /// The end that is the capturing host.
    pub here: Option<Here>,
    /// The hop limits of the client's packets, and of the server's.
    pub hop_limits: [HopLimits; 2],
    /// When its first segment was seen.
    pub first_seen: Instant,
    /// When its last one was.
    pub last_seen: Instant,
    /// A live capture stopped following it before its end.
    pub abandoned: bool,
    /// Its segments over time, if asked for.
    pub series: Option<Arc<Series>>,
}

impl ConnectionResult {
    /// Round trips, windows and reordering, if they were
    /// [measured](crate::analysis::Analyser::with_measures).
    #[must_use]
    pub fn measures(&self) -> ConnectionMeasures {
        self.measures.as_deref().copied().unwrap_or_default()
    }

    /// Its secrets in `keys`, with which TLS was [read](crate::analysis::Analyser::with_keys).
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn secrets(&self, keys: &KeyLog) -> Result<KeyLogLines, NoSecrets> {
        if self.opened.is_none() {
            return Err(NoSecrets::NoTls);
        }
        let random = self.client_random.as_deref().ok_or(NoSecrets::NoClientHello)?;
        keys.lines(random).ok_or(NoSecrets::NotLogged)
    }
}

/// A server's GOAWAY.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SeenGoaway {
    /// What it says.
    pub says: Goaway,
    /// When it was seen.
    pub at: Instant,
}

impl SeenGoaway {
    /// Before an orderly end there may be two, and the first counts (RFC 9113, section 6.8); an error counts more.
    pub(crate) fn note(first: &mut Option<Box<Self>>, says: Goaway, at: Instant) {
        /// RFC 9113, section 7.
        const NO_ERROR: Option<u32> = Some(0);
        if first.is_none() || says.code != NO_ERROR {
            *first = Some(Box::new(Self { says, at }));
        }
    }
}

/// The end of a connection that is the capturing host, as the link layer of its first packet says: Linux's cooked
/// captures do, and pcapng may.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Here {
    /// The interface of the capture that it was seen at; all of a host's, in one of `any`.
    pub interface: u32,
    /// Which end.
    pub end: Party,
}

impl Here {
    pub(crate) fn of(first: &Seen<'_>, client: SocketAddr) -> Option<Self> {
        let own = match first.station?.direction {
            HostDirection::Sent => first.source,
            HostDirection::Received => first.destination,
            HostDirection::Passing => return None,
        };
        let end = if own == client { Party::Client } else { Party::Server };
        Some(Self { interface: first.interface, end })
    }
}

/// A connection or an HTTP/2 stream from the response on that made it a tunnel. What is sent then
/// answers no request that can be read, so no time of it is attributed to anybody.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TunnelResult {
    /// What it carries.
    pub kind: Tunnel,
    /// The HTTP/2 stream, or 0 for all of the connection.
    pub stream: u32,
    /// The [`ExchangeResult::packet`] of the exchange that opened it.
    pub packet: u64,
    /// When the response had been seen that opened it.
    pub from: Instant,
    /// When it ended; when the connection was last seen if that was not seen.
    pub until: Instant,
    /// Its messages to the server, and to the client, if they can be read.
    pub messages: Option<Box<[MessageCounts; 2]>>,
    /// From the start of the exchange that opened it to the end of the first message to the client.
    pub first_message_after: Option<Duration>,
    /// How a stream of gRPC ended.
    pub grpc_status: Option<GrpcStatus>,
}

/// An exchange, as far as it was seen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExchangeResult {
    /// The [`ConnectionResult::id`].
    pub connection: u32,
    /// Of its request, or of the connection's SYN if it is the first and the set-up is part of it.
    pub start: Instant,
    /// From the start to the last byte of the response.
    pub duration: Duration,
    /// `GET /path`, as far as known; of a protocol without paths the command.
    pub request: Option<Box<str>>,
    /// A digest of what names the request on all hops: `X-Request-Id`, or the trace of `traceparent` (HTTP/1).
    pub trace: Option<NonZeroU64>,
    /// The response's.
    pub status: Option<u16>,
    /// It is a call of gRPC, as far as the fields are known.
    pub is_grpc: bool,
    /// How the call ended.
    pub grpc_status: Option<GrpcStatus>,
    /// Bytes of the request and of the response.
    pub bytes: [u64; 2],
    /// The HTTP/2 stream, or 0.
    pub stream: u32,
    /// The packet in which the request begins.
    pub packet: u64,
    /// How many packets later the response begins and ends, as far as that was seen.
    pub(crate) answered_after: [Option<NonZeroU32>; 2],
    /// Nanoseconds after its start that the first byte of the response was seen.
    pub(crate) first_byte_after: Option<NonZeroU64>,
    /// Nanoseconds after its end that the last byte of the response was acknowledged, if it was captured on
    /// its way to the client.
    pub(crate) acknowledged_after: Option<NonZeroU64>,
    /// The least round trip that the connection had shown when the response began, or by its end if that is longer.
    pub(crate) round_trip: Duration,
    /// The response was complete.
    pub complete: bool,
    /// How it ended; `None` if the capture lacks too much to tell, or the protocol does not show it.
    pub ending: Option<Ending>,
    /// The protocol's framing gives its ends, not the turns of data.
    pub exact: bool,
    /// Where the time went; adds up to the duration.
    pub shares: Shares,
    /// Which time went where, if asked for: in order, without the shortest if there are too many.
    pub stretches: Box<[Stretch]>,
}

impl ExchangeResult {
    /// The packets in which the response begins and ends, as far as they were seen.
    #[must_use]
    pub fn response_packets(&self) -> [Option<u64>; 2] {
        self.answered_after.map(|after| Some(self.packet + u64::from(after?.get())))
    }

    /// From the start to the first byte of the response, where it was captured.
    #[must_use]
    pub fn first_byte_after(&self) -> Option<Duration> {
        self.first_byte_after.map(|nanos| Duration::from_nanos(nanos.get()))
    }

    /// From the last byte of the response to its acknowledgement, of a response that was captured on its way to
    /// the client and was the only one on its way then: it arrived within this time, which is not part of
    /// the duration.
    #[must_use]
    pub fn acknowledged_after(&self) -> Option<Duration> {
        self.acknowledged_after.map(|nanos| Duration::from_nanos(nanos.get()))
    }

    /// What it owes to a cause, whatever the direction.
    #[must_use]
    pub fn owed_to(&self, cause: Cause) -> Duration {
        self.shares.iter().filter(|it| it.cause == cause).map(|it| it.span).sum()
    }

    /// In which order they are listed: by when they began, and then by connection and packet.
    const fn place(&self) -> (Instant, u32, u64, u32) {
        (self.start, self.connection, self.packet, self.stream)
    }

    /// Bytes that it takes in memory, about.
    fn held(&self) -> usize {
        /// What an allocation takes beside its bytes, twice.
        const BESIDE: usize = 32;
        let text = self.request.as_ref().map_or(0, |it| it.len());
        size_of::<Self>() + BESIDE + text + self.shares.held() + size_of_val(&*self.stretches)
    }

    /// The path was taken for longer than what the connection showed later: the first round trips that it had
    /// were slow.
    fn took_path_for_longer(&self, connection: &ConnectionResult) -> bool {
        let least = connection.round_trip;
        // Less varies without a queue. Our choice.
        self.round_trip > least + least / 8 + Duration::from_millis(1)
    }

    /// The path may have been busy all the time.
    fn doubt_path(&mut self, vantage: Vantage) {
        // At its server, a response is seen to leave.
        let at_server = vantage.is_at_server();
        let is_doubtful = |cause: Cause| match cause {
            Cause::Propagation | Cause::Handshake | Cause::TlsHandshake => true,
            Cause::ServerThink | Cause::Transmission => !at_server,
            _ => false,
        };
        self.doubt(is_doubtful, Rule::WayUnsure, Cause::Queueing);
    }

    /// What was taken for distance may be the server's own time.
    fn doubt_distance(&mut self) {
        self.doubt(|cause| cause == Cause::Propagation, Rule::WayUnsure, Cause::ServerThink);
    }

    fn doubt(&mut self, is_doubtful: impl Fn(Cause) -> bool, doubt: Rule, rival: Cause) {
        self.revise(|verdict| match is_doubtful(verdict.cause) {
            true => {
                let rival = verdict.rival.unwrap_or(rival);
                verdict.doubted(doubt, rival)
            }
            false => verdict,
        });
    }

    /// Limits its causes to what the capture supports.
    fn limit(&mut self, quality: &Quality) {
        if quality.confidence() == Some(Confidence::High) {
            return;
        }
        self.revise(|verdict| match quality.supports(verdict.cause, verdict.direction) {
            Some(limit) if limit < verdict.confidence => {
                let doubt = verdict.doubt.or(Some(Rule::CaptureLacks));
                Verdict { confidence: limit, doubt, ..verdict }
            }
            Some(_) => verdict,
            None => {
                let (rule, cause) = (Rule::CaptureGap, Cause::Unknown);
                let Verdict { direction, evidence, .. } = verdict;
                Verdict::new(rule, cause, direction, evidence, Confidence::Low)
            }
        });
    }

    /// Changes what is reported about its time, and of each stretch of it.
    fn revise(&mut self, change: impl Fn(Verdict) -> Verdict) {
        let mut revised: Vec<Share> = Vec::new();
        for share in &self.shares {
            let share = share.with(change(share.verdict()));
            let is_same =
                |it: &&mut Share| (it.cause, it.direction) == (share.cause, share.direction);
            match revised.iter_mut().find(is_same) {
                Some(sum) => sum.add(&share),
                None => revised.push(share),
            }
        }
        self.shares = revised.into_iter().collect();
        for stretch in &mut self.stretches {
            *stretch = stretch.with(change(stretch.verdict()));
        }
    }
}

/// What is known so far.
#[derive(Debug, Default)]
pub(crate) struct Results {
    connections: Vec<ConnectionResult>,
    exchanges: Vec<ExchangeResult>,
    /// Bytes that `exchanges` take, about.
    held: usize,
    /// What is not listed.
    folded: Folded,
    pub(crate) reached: Reached,
    pub(crate) unfollowed: Unfollowed,
    /// How many connections more may be listed.
    pub(crate) room: Room,
    /// How many are, without and with exchanges.
    listed: [usize; 2],
    /// Connections that are not listed, by their numbers here, which some of `exchanges` may have.
    gone: Vec<u32>,
    /// The same without exchanges.
    unused: Vec<u32>,
    /// What may still be kept for a report; `None` if nobody wants one.
    pub(crate) budget: Option<Budget>,
    /// Work that connections may draw.
    pub(crate) reserve: Reserve,
    /// Somebody asks for [`ConnectionResult::measures`].
    pub(crate) keeps_measures: bool,
    /// A rule that is switched off.
    pub(crate) without: Option<Rule>,
    /// Secrets of TLS connections.
    pub(crate) keys: Option<Arc<KeyLog>>,
}

/// What a live capture stopped following, because it would have taken too much time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Unfollowed {
    /// Connections that were open then.
    pub connections: u64,
    /// Their exchanges that were open then: nothing else counts them.
    pub exchanges: u64,
}

impl Unfollowed {
    /// Adds a connection that has this number of open exchanges.
    pub(crate) fn count(&mut self, exchanges: u32) {
        self.add(Self { connections: 1, exchanges: exchanges.into() });
    }

    const fn add(&mut self, Self { connections, exchanges }: Self) {
        self.connections += connections;
        self.exchanges += exchanges;
    }
}

/// How many connections may be listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Without an exchange.
    pub quiet: usize,
    /// With exchanges.
    pub listed: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { quiet: QUIET_CONNECTIONS, listed: LISTED_CONNECTIONS }
    }
}

impl Results {
    /// Keeps what a report draws, too, from now on.
    pub(crate) fn keep_series(&mut self, budget: Budget) {
        self.budget = Some(budget);
        // Nothing is judged beside it.
        self.reserve = Reserve::of_all();
    }

    /// Remembers it, unless there are too many; where, for as long as connections are not sorted.
    pub(crate) fn add_connection(&mut self, connection: ConnectionResult) -> Option<usize> {
        let (room, limit) = match connection.exchanges {
            0 => (&mut self.room.quiet, Limit::QuietConnections),
            _ => (&mut self.room.listed, Limit::ListedConnections),
        };
        let Some(left) = room.checked_sub(1) else {
            self.reached.count(limit, 1);
            self.folded.connections += 1;
            let numbers = if connection.exchanges == 0 { &mut self.unused } else { &mut self.gone };
            numbers.push(connection.id);
            return None;
        };
        *room = left;
        self.listed[usize::from(connection.exchanges > 0)] += 1;
        self.connections.push(connection);
        Some(self.connections.len() - 1)
    }

    /// Counts a connection that is not even looked at.
    pub(crate) fn fold_one_packet(&mut self) {
        self.reached.count(Limit::OnePacketConnections, 1);
        self.folded.connections += 1;
    }

    /// Counts a connection that was not followed to its end and has no exchange to be listed.
    pub(crate) const fn fold_unfollowed(&mut self) {
        self.folded.connections += 1;
    }

    /// The other end holds TIME-WAIT.
    pub(crate) fn swap_time_wait(&mut self, connection: usize) {
        let connection = &mut self.connections[connection];
        connection.time_wait_rule = connection.time_wait.map(|_| TimeWaitRule::Swap);
        connection.time_wait = connection.time_wait.map(|it| match it {
            Party::Client => Party::Server,
            Party::Server | Party::Path => Party::Client,
        });
    }

    pub(crate) fn add_exchange(&mut self, mut exchange: ExchangeResult) {
        if let Some(budget) = &mut self.budget {
            exchange.stretches = budget.admit(exchange.stretches);
        }
        let text = exchange.request.as_ref().map_or(0, |it| it.len());
        self.reached.count(Limit::RequestText, u64::from(text >= KEPT_TEXT));
        self.held += exchange.held();
        self.exchanges.push(exchange);
    }

    #[cfg(test)]
    pub(crate) fn exchanges(&self) -> &[ExchangeResult] {
        &self.exchanges
    }

    /// Bytes that the exchanges take, about.
    pub(crate) const fn held(&self) -> usize {
        self.held
    }

    /// How many connections are listed, without and with exchanges.
    pub(crate) const fn listed(&self) -> [usize; 2] {
        self.listed
    }

    /// How long the exchanges took.
    pub(crate) fn durations(&self) -> impl Iterator<Item = Duration> {
        self.exchanges.iter().map(|it| it.duration)
    }

    /// Lists no exchange shorter than `least`, and of those that took as long at most `equal`, which
    /// are taken off.
    pub(crate) fn fold_exchanges(&mut self, least: Duration, equal: &mut usize) {
        let before = self.exchanges.len();
        self.fold_unless(|it| match it.duration.cmp(&least) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => equal.checked_sub(1).map(|left| *equal = left).is_some(),
        });
        let times = before - self.exchanges.len();
        self.reached.count(Limit::ListedExchanges, times as u64);
    }

    /// Connections that are not listed have no exchanges in the list; their numbers can be used again.
    pub(crate) fn fold_gone(&mut self) -> Vec<u32> {
        let mut gone = std::mem::take(&mut self.gone);
        if !gone.is_empty() {
            gone.sort_unstable();
            self.fold_unless(|it| gone.binary_search(&it.connection).is_err());
        }
        gone
    }

    /// Numbers of connections that are not listed and have no exchanges.
    pub(crate) fn take_unused(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.unused)
    }

    /// How many connections are not listed whose exchanges may be.
    pub(crate) const fn gone(&self) -> usize {
        self.gone.len()
    }

    fn fold_unless(&mut self, mut keeps: impl FnMut(&ExchangeResult) -> bool) {
        let Self { exchanges, held, folded, .. } = self;
        exchanges.retain(|it| {
            let stays = keeps(it);
            if !stays {
                *held -= it.held();
                folded.add_exchange(it.duration, &it.shares);
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Station;

    #[test]
    fn the_first_goaway_counts_until_one_tells_of_an_error() {
        let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
        for (codes, counts) in [
            (&[Some(0)][..], 0),
            (&[Some(0), Some(0)], 0),
            (&[Some(0), Some(11)], 1),
            (&[Some(11), Some(0)], 0),
            // Its code was cut off: it may be an error.
            (&[Some(0), None, Some(0)], 1),
        ] {
            let mut first = None;
            for (second, &code) in (0..).zip(codes) {
                SeenGoaway::note(
                    &mut first,
                    Goaway { code, says_too_many_pings: false },
                    at(second),
                );
            }
            assert_eq!(first.unwrap().at, at(counts), "{codes:?}");
        }
    }

    #[test]
    fn the_capturing_host_is_the_end_that_sent_or_received_the_first_packet() {
        use HostDirection::{Passing, Received, Sent};
        let [client, server] = ["10.0.0.1:5000", "10.0.0.2:80"].map(|it| it.parse().unwrap());
        // Its first packet may be the server's.
        for (source, destination, direction, end) in [
            (client, server, Some(Sent), Some(Party::Client)),
            (client, server, Some(Received), Some(Party::Server)),
            (server, client, Some(Sent), Some(Party::Server)),
            (server, client, Some(Received), Some(Party::Client)),
            (client, server, Some(Passing), None),
            (client, server, None, None),
        ] {
            let first = Seen {
                number: 1,
                at: Instant::EPOCH,
                interface: 3,
                source,
                destination,
                segment: ackwise_tcp::Segment::default(),
                payload: &[],
                hop_limit: 64,
                identification: 0,
                fragment: false,
                options_cut: false,
                station: direction.map(|direction| Station { direction, ifindex: None }),
            };
            let here = end.map(|end| Here { interface: 3, end });
            assert_eq!(Here::of(&first, client), here, "{source} {direction:?}");
        }
    }
}
