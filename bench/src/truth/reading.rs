//! What the analyser says of a case: at the client, at the server, between them, and by `--pair`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs};

use ackwise_capture::{
    analysis::{Analyser, Analysis},
    attribution::{Rule, Share, Shares},
    decode::decode,
    keys::KeyLog,
    read::{Drops, Frame, LinkType, Source},
    series::Stretch,
};
use ackwise_explain::{End, Explained, Frames, Reading};
use ackwise_tcp::Instant;
use anyhow::Context;

use super::case::{Captures, Connection, OneWay, Peer};
use super::compare::Claim;

/// Where a case is read.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Vantage {
    Client,
    Server,
    Middle,
    Pair,
}

impl Vantage {
    pub(super) const ALL: [Self; 4] = [Self::Client, Self::Server, Self::Middle, Self::Pair];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Middle => "middle",
            Self::Pair => "pair",
        }
    }

    /// The files it needs.
    fn files(self, captures: &Captures) -> Option<Vec<&String>> {
        match self {
            Self::Client => [&captures.client].into_iter().map(Option::as_ref).collect(),
            Self::Server => [&captures.server].into_iter().map(Option::as_ref).collect(),
            Self::Middle => [&captures.middle].into_iter().map(Option::as_ref).collect(),
            Self::Pair => {
                [&captures.client, &captures.server].into_iter().map(Option::as_ref).collect()
            }
        }
    }

    /// Propagation from an end to where its packets are captured, in nanoseconds.
    fn delay(self, from: Peer, one_way: &OneWay) -> u64 {
        let OneWay { client_to_middle, middle_to_server, server_to_middle, middle_to_client } =
            *one_way;
        let ms = match (self, from) {
            (Self::Client, Peer::Client) | (Self::Server, Peer::Server) | (Self::Pair, _) => 0.0,
            (Self::Server, Peer::Client) => client_to_middle + middle_to_server,
            (Self::Client, Peer::Server) => server_to_middle + middle_to_client,
            (Self::Middle, Peer::Client) => client_to_middle,
            (Self::Middle, Peer::Server) => server_to_middle,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a delay")]
        let nanos = (ms.max(0.0) * 1e6).round() as u64;
        nanos
    }

    /// Whether it sees when `place` sends.
    pub(super) const fn is_at(self, place: Peer) -> bool {
        matches!(
            (self, place),
            (Self::Pair, _) | (Self::Client, Peer::Client) | (Self::Server, Peer::Server)
        )
    }
}

impl fmt::Display for Vantage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The packets of a capture file.
#[derive(Clone, Debug, Default)]
pub(super) struct Packets {
    pub(super) packets: Vec<Packet>,
    /// Secrets of its TLS connections, if they are to be used.
    keys: Option<Arc<KeyLog>>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) at: Instant,
    pub(super) link_type: LinkType,
    pub(super) original_len: u32,
    pub(super) bytes: Vec<u8>,
}

impl Packets {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If the file is not a capture, or breaks off.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let mut source = Source::open([path]);
        let mut packets = Vec::new();
        while let Some(frame) = source.next().context("cannot read the capture")? {
            packets.push(Packet {
                at: frame.at,
                link_type: frame.link_type,
                original_len: frame.original_len,
                bytes: frame.bytes.to_vec(),
            });
        }
        Ok(Self { packets, keys: None })
    }

    /// Others of the same capture.
    pub(super) fn with(&self, packets: Vec<Packet>) -> Self {
        Self { packets, keys: self.keys.clone() }
    }

    fn frames(&self) -> Replay<'_> {
        Replay { rest: self.packets.iter(), number: 0 }
    }
}

impl Packet {
    /// As the packet with this number of a capture.
    pub(super) fn frame(&self, number: u64) -> Frame<'_> {
        Frame {
            number,
            at: self.at,
            interface: 0,
            link_type: self.link_type,
            original_len: self.original_len,
            bytes: &self.bytes,
            direction: None,
            lost_before: 0,
        }
    }
}

/// Packets in memory, as a capture that is being read.
struct Replay<'a> {
    rest: std::slice::Iter<'a, Packet>,
    number: u64,
}

impl Frames for Replay<'_> {
    type Error = Infallible;

    fn next(&mut self) -> Result<Option<Frame<'_>>, Infallible> {
        self.number += 1;
        Ok(self.rest.next().map(|it| it.frame(self.number)))
    }

    fn drops(&self) -> Drops {
        Drops::default()
    }

    fn may_wait(&self) -> bool {
        false
    }
}

/// What was said of a case at one place.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) exchanges: Vec<Exchange>,
    /// What the client sends is captured so many nanoseconds later.
    pub(super) from_client: u64,
    /// What is captured reaches the client so many nanoseconds later.
    pub(super) to_client: u64,
    /// By connection: when packets with data, SYN or FIN left their senders, in order.
    pub(super) departures: BTreeMap<Connection, Vec<u64>>,
}

/// What was said of an exchange.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) connection: Connection,
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
    /// Since then it is the oldest of its connection that is not complete.
    pub(super) oldest_from_ns: u64,
    /// `GET /path`, as far as known.
    pub(super) request: String,
    /// What it waited for: in order, without overlap.
    pub(super) claims: Vec<Claim>,
    /// What a report prints of it: amounts by cause, end to end.
    pub(super) printed: Vec<Claim>,
}

/// The captures of a case that one reading needs.
pub(super) type Needed<'a> = BTreeMap<&'a str, Packets>;

/// Reads a case at one place, perhaps without a rule; `None` if it has no capture there.
///
/// # Errors
///
/// If `--pair` cannot join the captures.
pub(super) fn read(
    vantage: Vantage,
    captures: &Captures,
    one_way: &OneWay,
    packets: &Needed<'_>,
    without: Option<Rule>,
) -> anyhow::Result<Option<Said>> {
    let files = vantage.files(captures).unwrap_or_default();
    let files: Option<Vec<&Packets>> = files.iter().map(|it| packets.get(it.as_str())).collect();
    let analysis = match &files.unwrap_or_default()[..] {
        [] => return Ok(None),
        [one] => explain(one, &End::default(), without).analysis,
        [client, server, ..] => {
            let ends = [End::default(), End::default()];
            let ours = explain(client, &ends[0], without);
            let theirs = explain(server, &ends[1], without);
            End::join((&ends[0], ours), (&ends[1], theirs))?.analysis
        }
    };
    let mut departures: BTreeMap<Connection, Vec<u64>> = BTreeMap::new();
    let files = vantage.files(captures).unwrap_or_default();
    for (place, file) in [Peer::Client, Peer::Server].into_iter().zip(files.iter().cycle()) {
        let delay = vantage.delay(place, one_way);
        collect(&packets[file.as_str()], &analysis, place, delay, &mut departures);
    }
    departures.values_mut().for_each(|it| it.sort_unstable());
    let from_client = vantage.delay(Peer::Client, one_way);
    let whole = Vantage::Client.delay(Peer::Server, one_way);
    let to_client = match vantage {
        Vantage::Pair => 0,
        _ => whole.saturating_sub(vantage.delay(Peer::Server, one_way)),
    };
    let exchanges = exchanges(analysis);
    Ok(Some(Said { exchanges, from_client, to_client, departures }))
}

/// Every file name of a case's captures, with its packets.
///
/// # Errors
///
/// If a file cannot be read.
pub(super) fn load<'a>(folder: &Path, captures: &'a Captures) -> anyhow::Result<Needed<'a>> {
    let Captures { client, server, middle, keys } = captures;
    let keys = keys.as_ref().map(|file| {
        let log = KeyLog::default();
        fs::read(folder.join(file))
            .map(|text| log.add_text(&text))
            .with_context(|| file.clone())?;
        anyhow::Ok(Arc::new(log))
    });
    let keys = keys.transpose()?;
    [client, server, middle]
        .into_iter()
        .flatten()
        .map(|file| {
            let path = folder.join(file);
            let packets = Packets::read(&path).with_context(|| path.display().to_string())?;
            Ok((file.as_str(), Packets { keys: keys.clone(), ..packets }))
        })
        .collect()
}

/// What one capture says.
pub(super) fn analyse(packets: &Packets) -> Analysis {
    explain(packets, &End::default(), None).analysis
}

fn explain(packets: &Packets, end: &End, without: Option<Rule>) -> Explained {
    let analyser = Analyser::default().with_all_stretches();
    let analyser = match &packets.keys {
        Some(keys) => analyser.with_keys(keys),
        None => analyser,
    };
    let reading = Reading::by(match without {
        Some(rule) => analyser.without(rule),
        None => analyser,
    });
    reading.read(&mut end.record(packets.frames()));
    reading.end().expect("nobody else ends it")
}

/// When packets with data, SYN or FIN left `place`; they are captured `delay` later.
fn collect(
    packets: &Packets,
    analysis: &Analysis,
    place: Peer,
    delay: u64,
    departures: &mut BTreeMap<Connection, Vec<u64>>,
) {
    let known: BTreeMap<_, _> = analysis
        .connections
        .iter()
        .map(|it| Connection { client: it.client, server: it.server })
        .flat_map(|it| [((it.client, it.server), it), ((it.server, it.client), it)])
        .collect();
    for (number, packet) in (1..).zip(&packets.packets) {
        let Ok(seen) = decode(&packet.frame(number)) else { continue };
        let Some(&connection) = known.get(&(seen.source, seen.destination)) else { continue };
        let sender = match place {
            Peer::Client => connection.client,
            Peer::Server => connection.server,
        };
        if sender == seen.source && seen.segment.sequence_length() > 0 {
            let left = seen.at.as_nanos().saturating_sub(delay);
            departures.entry(connection).or_default().push(left);
        }
    }
}

fn exchanges(analysis: Analysis) -> Vec<Exchange> {
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    let connections = analysis.connections;
    let exchange = |it: ackwise_capture::analysis::ExchangeResult| {
        let from_ns = it.start.as_nanos();
        let until_ns = (it.start + it.duration).as_nanos();
        let end = ends.entry(it.connection).or_default();
        let oldest_from_ns = (*end).max(from_ns);
        *end = (*end).max(until_ns);
        let connection = &connections[it.connection as usize];
        Exchange {
            connection: Connection { client: connection.client, server: connection.server },
            from_ns,
            until_ns,
            oldest_from_ns,
            claims: claims(&it.stretches),
            printed: printed(from_ns, &it.shares),
            request: it.request.map(String::from).unwrap_or_default(),
        }
    };
    analysis.exchanges.into_iter().map(exchange).collect()
}

/// Shares have no times of their own.
fn printed(from_ns: u64, shares: &Shares) -> Vec<Claim> {
    let mut cursor = from_ns;
    let claim = |it: Share| {
        let (from, span) = (cursor, u64::try_from(it.span.as_nanos()).unwrap_or(u64::MAX));
        cursor = cursor.saturating_add(span);
        let (cause, direction, confidence) = (it.cause, it.direction, it.confidence);
        Claim { from, until: cursor, cause, direction, confidence, by: (it.rule, it.doubt) }
    };
    shares.iter().map(claim).filter(|it| it.from < it.until).collect()
}

/// A stretch that begins before another ends begins when that one ends.
fn claims(stretches: &[Stretch]) -> Vec<Claim> {
    let mut cursor = 0;
    let mut claims = Vec::new();
    for it in stretches {
        let (from, until) = (it.from.as_nanos().max(cursor), it.until.as_nanos());
        if from < until {
            let (cause, direction, confidence) = (it.cause, it.direction, it.confidence);
            claims.push(Claim {
                from,
                until,
                cause,
                direction,
                confidence,
                by: (it.rule, it.doubt),
            });
            cursor = until;
        }
    }
    claims
}
