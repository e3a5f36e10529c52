//! Failures in words: grouped by kind and server, so that a port scan is one line.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_capture::{analysis::Analysis, attribution::Confidence, decode::IcmpReason};
use ackwise_cause::{FailureKind as Kind, Party};
use ackwise_http::http2::frame;
use ackwise_report::{Cell, HtmlTable};
use ackwise_text::words::{counted, grouped, rounded, span};

use super::{Failure, OnTheWay, grpc};
use crate::shown::towards;

/// Failures of one kind at one server: at one host, if it never came to a connection.
struct Group<'a> {
    kind: Kind,
    host: IpAddr,
    /// `None` if there are several.
    port: Option<u16>,
    failures: Vec<&'a Failure>,
}

/// The kind, the server, and whether neither end has sent the RST.
pub(in super::super) type Key = (Kind, IpAddr, Option<u16>, bool);

impl Failure {
    /// What it has in common with others that are reported together.
    pub(in super::super) fn key(&self) -> Key {
        // A connection that came about is of one port, with or without an exchange.
        let is_open = self.exchange.is_some() || self.kind == Kind::TooManyPings;
        let port = is_open.then(|| self.server.port());
        (self.kind, self.server.ip(), port, self.on_the_way.is_some())
    }
}

impl<'a> Group<'a> {
    fn of(((kind, host, port, _), failures): (Key, Vec<&'a Failure>)) -> Self {
        let first = failures[0].server.port();
        let is_one = failures.iter().all(|it| it.server.port() == first);
        Self { kind, host, port: port.or_else(|| is_one.then_some(first)), failures }
    }
}

impl Group<'_> {
    /// The largest first.
    fn all(failures: &[Failure]) -> Vec<Group<'_>> {
        let mut by: BTreeMap<Key, Vec<&Failure>> = BTreeMap::new();
        for it in failures {
            by.entry(it.key()).or_default().push(it);
        }
        let mut groups: Vec<_> = by.into_iter().map(Group::of).collect();
        groups.sort_by_key(|it| std::cmp::Reverse(it.failures.len()));
        groups
    }

    fn server(&self) -> String {
        match self.port {
            Some(port) => SocketAddr::new(self.host, port).to_string(),
            None => self.host.to_string(),
        }
    }

    /// What shows why, of those that have it.
    fn evidence(&self, analysis: &Analysis) -> Vec<String> {
        let all = || self.failures.iter();
        let alert = all().find_map(|it| it.alert).map(|it| {
            let name = it.name();
            if it.refuses_client {
                let name = name.map_or(String::new(), |it| format!(": {it}"));
                return format!(
                    "The server refused the client's certificate, or required one{name}"
                );
            }
            let name = name.unwrap_or("that the capture does not show (encrypted)");
            format!("The {} sent the alert {name}", it.by.name())
        });
        let hole = all().find_map(|it| it.black_hole).map(|it| {
            let times = it.sends.map_or(String::new(), |it| format!(", sent {it} times"));
            let passes = it.passes.map_or(String::new(), |it| format!("; one of {it} did"));
            let way = towards(it.direction);
            format!("No segment of {} bytes got through {way}{times}{passes}", it.size)
        });
        let icmp = all().find_map(|it| it.icmp).map(|it| match it.reason {
            IcmpReason::TooBig { mtu } => {
                format!("ICMP packet {} asked for packets of at most {mtu} bytes", it.number)
            }
            IcmpReason::Unreachable { code } => {
                format!("ICMP packet {} reports unreachable, code {code}", it.number)
            }
            _ => format!("ICMP packet {} reports it", it.number),
        });
        let code = all().find_map(|it| it.http2_code).map(|code| {
            let name = frame::error_name(code).unwrap_or("unknown in HTTP/2");
            format!("HTTP/2's error code is {code} ({name})")
        });
        let on_the_way = all().find_map(|it| it.on_the_way).map(|it| {
            let OnTheWay { rst, end } = it;
            format!(
                "The RST has hop limit {rst}, other packets from its source have {end}: a host on the path sent it"
            )
        });
        let recovered = all().filter(|it| it.recovered_by.is_some()).count() as u64;
        let recovered = (recovered > 0).then(|| {
            format!("The client tried again, and was answered: {} of them", grouped(recovered))
        });
        let passed_on = self.passed_on(analysis);
        let all = [self.idle(), alert, code, hole, icmp, on_the_way, passed_on, recovered];
        let of_grpc = grpc::evidence(&self.failures);
        of_grpc.into_iter().chain(all.into_iter().flatten()).collect()
    }

    fn confidence(&self) -> Confidence {
        // Nine tenths, as of causes.
        let mut all: Vec<_> = self.failures.iter().map(|it| it.confidence).collect();
        all.sort_unstable();
        all.get(all.len() / 10).copied().unwrap_or(Confidence::Low)
    }

    fn rival(&self) -> Option<&'static str> {
        self.failures
            .iter()
            .find_map(|it| it.rival)
            .filter(|_| self.confidence() < Confidence::High)
    }

    fn party(&self) -> Option<Party> {
        self.failures.first().and_then(|it| it.party)
    }

    fn span(&self) -> Duration {
        self.failures.iter().map(|it| it.span).sum()
    }

    /// What proxies answered their clients, if most got the same.
    fn passed_on(&self, analysis: &Analysis) -> Option<String> {
        let status =
            |it: &&Failure| analysis.exchanges[it.made_for?].status.filter(|it| *it >= 500);
        let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
        for status in self.failures.iter().filter_map(status) {
            *counts.entry(status).or_default() += 1;
        }
        let (status, count) = counts.into_iter().max_by_key(|it| it.1)?;
        Some(format!(
            "A proxy made the request and answered its client {status}: {} of them",
            grouped(count)
        ))
    }

    /// The times that the server and the client leave a connection idle.
    fn idle(&self) -> Option<String> {
        let longest = |end: usize| self.failures.iter().filter_map(|it| it.idle[end]).max();
        let client = rounded(longest(1)?);
        Some(match longest(0) {
            Some(server) => format!(
                "The server closed after {} without a request, the client sent one after {client}",
                rounded(server),
            ),
            None => format!("The connections had been idle for up to {client}"),
        })
    }

    fn sureness(&self) -> String {
        let rival = self.rival().map_or(String::new(), |rival| format!(", rival {rival}"));
        format!("{}{rival}", self.confidence().name())
    }
}

/// What failed most, in a few lines; `None` if nothing did.
pub(in super::super) fn sentence(analysis: &Analysis, failures: &[Failure]) -> Option<String> {
    let groups = Group::all(failures);
    let first = groups.first()?;
    let count = first.failures.len() as u64;
    let of = match first.failures.iter().all(|it| it.exchange.is_some()) {
        // Of those that are not listed, it is not known.
        true => {
            let all = analysis.exchanges.len() as u64 + analysis.folded.exchanges;
            format!(" of {}", counted(all, "exchange"))
        }
        false => String::new(),
    };
    let admits = first.rival().map_or(String::new(), |it| format!("; the packets also admit {it}"));
    let mut out = format!(
        "Failed: {} {}: {}{of} ({}, {} confidence{admits}).",
        first.server(),
        first.kind.happened(),
        if of.is_empty() { counted(count, "time") } else { grouped(count) },
        first.kind.name(),
        first.confidence().name(),
    );
    let others = failures.len() - first.failures.len();
    if others > 0 {
        let _ = write!(out, " {} of other kinds or servers.", counted(others as u64, "failure"));
    }
    for it in first.evidence(analysis) {
        let _ = write!(out, " {it}.");
    }
    let label = if first.confidence() == Confidence::High { "Fix" } else { "If so" };
    let remedy = match first.failures[0].on_the_way {
        Some(_) => "look for a firewall, NAT or balancer between the ends that resets connections",
        None => first.kind.remedy(),
    };
    let _ = write!(out, "\n{label}: {remedy}.");
    Some(out)
}

/// Groups shown: those with the most failures (our choice).
const MOST_GROUPS: usize = 10;

/// The table of failures, as lines of cells; empty if nothing failed.
pub(in super::super) fn section(failures: &[Failure]) -> String {
    let groups = Group::all(failures);
    if groups.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\nFailures: {}\n  {:>5}  {:>10}  {:19} {:22} {:7} confidence\n",
        grouped(failures.len() as u64),
        "count",
        "time",
        "kind",
        "server",
        "due to",
    );
    for group in groups.iter().take(MOST_GROUPS) {
        let _ = writeln!(
            out,
            "  {:>5}  {:>10}  {:19} {:22} {:7} {}",
            grouped(group.failures.len() as u64),
            span(group.span()),
            group.kind.name(),
            group.server(),
            group.party().map_or("-", Party::name),
            group.sureness(),
        );
        let _ = writeln!(out, "         {}", example(group));
    }
    if groups.len() > MOST_GROUPS {
        let _ = writeln!(out, "  and {} more kinds and servers", groups.len() - MOST_GROUPS);
    }
    out
}

/// The same as a table of a page; `None` if nothing failed.
pub(in super::super) fn table(failures: &[Failure]) -> Option<HtmlTable> {
    let groups = Group::all(failures);
    let caption = match groups.len().saturating_sub(MOST_GROUPS) {
        0 => "Failures by kind and server".to_owned(),
        more => format!("Failures by kind and server; {more} more are not shown"),
    };
    let columns = ["kind", "server", "count", "time", "due to", "confidence", "longest"];
    let mut table = HtmlTable::new(caption, columns);
    for group in groups.iter().take(MOST_GROUPS) {
        table.add([
            Cell::text(group.kind.name()),
            Cell::text(group.server()),
            Cell::number(grouped(group.failures.len() as u64)),
            Cell::number(span(group.span())),
            Cell::text(group.party().map_or("-", Party::name)),
            Cell::text(group.sureness()),
            Cell::text(example(group)),
        ]);
    }
    (!groups.is_empty()).then_some(table)
}

/// The longest of a group.
fn example(group: &Group<'_>) -> String {
    let Some(it) = group.failures.iter().max_by_key(|it| (it.span, std::cmp::Reverse(it.at)))
    else {
        return String::new();
    };
    let what = match (it.exchange, it.packet) {
        (Some(exchange), Some(packet)) => {
            format!("exchange {exchange}, request in packet {packet}")
        }
        _ => format!("connection {}", it.connection),
    };
    let most = it.at_most.map_or(String::new(), |most| format!(", at most {}", rounded(most)));
    format!("longest: {what}, {}{most}", rounded(it.span))
}
