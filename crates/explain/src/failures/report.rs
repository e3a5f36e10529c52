//! Failures in words: grouped by kind and server, so that a port scan is one line.

use std::{collections::BTreeMap, fmt::Write as _, net::SocketAddr, time::Duration};

use ackwise_capture::{analysis::Analysis, attribution::Confidence};
use ackwise_cause::Party;
use ackwise_report::words::{counted, grouped, rounded, span};

use super::{Failure, Kind};

/// Failures of one kind at one server.
struct Group<'a> {
    kind: Kind,
    server: SocketAddr,
    failures: Vec<&'a Failure>,
}

impl Group<'_> {
    /// The largest first.
    fn all(failures: &[Failure]) -> Vec<Group<'_>> {
        let mut by: BTreeMap<(Kind, SocketAddr), Vec<&Failure>> = BTreeMap::new();
        for it in failures {
            by.entry((it.kind, it.server)).or_default().push(it);
        }
        let group = |((kind, server), failures)| Group { kind, server, failures };
        let mut groups: Vec<_> = by.into_iter().map(group).collect();
        groups.sort_by_key(|it| std::cmp::Reverse(it.failures.len()));
        groups
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

    /// The times that the server and the client leave a connection idle.
    fn idle(&self) -> Option<String> {
        let longest = |end: usize| self.failures.iter().filter_map(|it| it.idle[end]).max();
        let (server, client) = (longest(0)?, longest(1)?);
        Some(format!(
            "The server closed after {} without a request, the client sent one after {}",
            rounded(server),
            rounded(client),
        ))
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
    let of = match first.failures[0].exchange {
        // Of those that are not listed, it is not known.
        Some(_) => {
            let all = analysis.exchanges.len() as u64 + analysis.folded.exchanges;
            format!(" of {}", counted(all, "exchange"))
        }
        None => String::new(),
    };
    let admits = first.rival().map_or(String::new(), |it| format!("; the packets also admit {it}"));
    let mut out = format!(
        "Failed: {} {}: {}{of} ({}, {} confidence{admits}).",
        first.server,
        first.kind.happened(),
        if of.is_empty() { counted(count, "time") } else { grouped(count) },
        first.kind.name(),
        first.confidence().name(),
    );
    let others = failures.len() - first.failures.len();
    if others > 0 {
        let _ = write!(out, " {} of other kinds or servers.", counted(others as u64, "failure"));
    }
    if let Some(idle) = first.idle() {
        let _ = write!(out, " {idle}.");
    }
    let label = if first.confidence() == Confidence::High { "Fix" } else { "If so" };
    let _ = write!(out, "\n{label}: {}.", first.kind.remedy());
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
        "\nFailures: {}\n  {:>5}  {:>10}  {:18} {:22} {:7} confidence\n",
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
            "  {:>5}  {:>10}  {:18} {:22} {:7} {}",
            grouped(group.failures.len() as u64),
            span(group.span()),
            group.kind.name(),
            group.server,
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
