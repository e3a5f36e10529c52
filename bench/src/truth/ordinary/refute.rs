//! Whether the programs' clocks refute what is reported about ordinary traffic.
//!
//! | what is said | refuted if |
//! | --- | --- |
//! | an end is accused for 5 ms or more of an exchange | its own clock says less than half of it, or all of the exchange took less |
//! | a remedy for an end's program | its clocks say less than 1 ms an exchange |
//! | a remedy for a loss or a held path | the path dropped and held nothing |
//! | to reuse connections | most are reused, or their setup takes less than 1 ms |
//! | to remove a cork | no program here sets one |

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use ackwise_capture::analysis::{Analysis, ExchangeResult};
use ackwise_capture::attribution::{Confidence, Share};
use ackwise_cause::{Cause, Direction, Party};
use ackwise_explain::sentence;

use super::clocks::{Clock, Clocks};
use crate::truth::case::Recorded;
use crate::truth::reading::{Needed, Vantage, analyse};
use crate::truth::score::ms;

/// What was said, and what of it is refuted.
#[derive(Debug, Default)]
pub(in crate::truth) struct Ordinary {
    sessions: u32,
    /// By where the capture was taken.
    places: BTreeMap<Vantage, Counts>,
    /// First sentences without their numbers: how often, how often refuted, and the last session.
    headlines: BTreeMap<(String, bool), (u32, String)>,
    /// Accusations that are refuted.
    refuted: Vec<String>,
}

#[derive(Debug, Default)]
struct Counts {
    exchanges: u32,
    /// Without a clock.
    unjudged: u32,
    accused: u32,
    refuted: u32,
    headlines: u32,
    refuted_headlines: u32,
    /// Exchanges that client and report both time; how many differ, and both sums.
    timed: u32,
    differ: u32,
    sums: [u64; 2],
}

impl Ordinary {
    pub(in crate::truth) const fn is_empty(&self) -> bool {
        self.sessions == 0
    }

    /// Reads a session at both ends.
    pub(in crate::truth) fn add(
        &mut self,
        recorded: &Recorded,
        clocks: &Clocks,
        packets: &Needed<'_>,
    ) {
        self.sessions += 1;
        let captures = &recorded.case.captures;
        let places = [(Vantage::Client, &captures.client), (Vantage::Server, &captures.server)];
        for (vantage, file) in places {
            let packets = file.as_ref().and_then(|it| packets.get(it.as_str()));
            let Some(packets) = packets else { continue };
            let analysis = analyse(packets);
            let said = sentence(&analysis);
            let refuted = remedy_is_refuted(&said, &analysis, clocks);
            let counts = self.places.entry(vantage).or_default();
            counts.headlines += 1;
            counts.refuted_headlines += u32::from(refuted);
            let name = format!("{} {vantage}", recorded.case.name);
            let entry = self.headlines.entry((without_numbers(&said), refuted)).or_default();
            *entry = (entry.0 + 1, name.clone());
            self.exchanges(vantage, &name, &analysis, clocks);
        }
    }

    fn exchanges(&mut self, vantage: Vantage, name: &str, analysis: &Analysis, clocks: &Clocks) {
        let counts = self.places.entry(vantage).or_default();
        for (exchange, clock) in matched(analysis, clocks) {
            counts.exchanges += 1;
            let from = exchange.start.as_nanos();
            let until = (exchange.start + exchange.duration).as_nanos();
            let Some(clock) = clock else {
                counts.unjudged += 1;
                continue;
            };
            let disturbed = clocks.disturbed(from, until);
            let is_timed = vantage == Vantage::Client && disturbed == 0;
            if let Some(total) = clock.total_ns.filter(|_| is_timed) {
                counts.timed += 1;
                counts.sums[0] += until - from;
                counts.sums[1] += total;
                let apart = total.abs_diff(until - from);
                counts.differ += u32::from(apart > LATE_TO_WAKE && apart > total / 10);
            }
            let accusations: Vec<Share> = exchange.shares.iter().filter(accuses).collect();
            let refuted: Vec<&Share> =
                accusations.iter().filter(|it| is_refuted(it, clock, disturbed)).collect();
            counts.accused += u32::from(!accusations.is_empty());
            counts.refuted += u32::from(!refuted.is_empty());
            let line = |it: &Share| line(name, clock, it);
            self.refuted.extend(refuted.into_iter().map(line));
        }
    }

    /// As a table.
    pub(in crate::truth) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("a string takes everything");
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "\nORDINARY: programs that provoke nothing, against their own clocks")?;
        writeln!(out, "{} sessions", self.sessions)?;
        writeln!(
            out,
            "  {:<8} {:>9} {:>9} {:>9} {:>9} {:>12} | {:>9} {:>9} | {:>6} {:>8} {:>12}",
            "read at",
            "exchanges",
            "unjudged",
            "accused",
            "refuted",
            "per 1,000",
            "headlines",
            "refuted",
            "timed",
            "differ",
            "sums, ms"
        )?;
        for (vantage, it) in &self.places {
            let judged = f64::from((it.exchanges - it.unjudged).max(1));
            let sums = it.sums.map(ms);
            writeln!(
                out,
                "  {vantage:<8} {:>9} {:>9} {:>9} {:>9} {:>12.2} | {:>9} {:>9} | {:>6} {:>8} {:.0}, {:.0}",
                it.exchanges,
                it.unjudged,
                it.accused,
                it.refuted,
                1e3 * f64::from(it.refuted) / judged,
                it.headlines,
                it.refuted_headlines,
                it.timed,
                it.differ,
                sums[0],
                sums[1],
            )?;
        }
        writeln!(out, "What reports begin with")?;
        let mut headlines: Vec<_> = self.headlines.iter().collect();
        headlines.sort_by_key(|it| std::cmp::Reverse((it.0.1, it.1.0)));
        for ((text, refuted), (count, last)) in headlines {
            let verdict = if *refuted { "REFUTED" } else { "" };
            writeln!(out, "  {count:>4} {verdict:<7} {} ({last})", text.replace('\n', " | "))?;
        }
        writeln!(out, "Accusations that are refuted: {}", self.refuted.len())?;
        self.refuted.iter().take(MOST_SHOWN).try_for_each(|it| writeln!(out, "  {it}"))
    }
}

/// Each exchange with its clock: those of a client's port in order, if both have as many.
fn matched<'a>(
    analysis: &'a Analysis,
    clocks: &'a Clocks,
) -> Vec<(&'a ExchangeResult, Option<&'a Clock>)> {
    let mut known: BTreeMap<u16, Vec<&Clock>> = BTreeMap::new();
    clocks.exchanges.iter().for_each(|it| known.entry(it.port).or_default().push(it));
    let port = |it: &ExchangeResult| analysis.connections[it.connection as usize].client.port();
    let mut found: BTreeMap<u16, usize> = BTreeMap::new();
    analysis.exchanges.iter().for_each(|it| *found.entry(port(it)).or_default() += 1);
    let mut places: BTreeMap<u16, usize> = BTreeMap::new();
    let pair = |it: &'a ExchangeResult| {
        let place = places.entry(port(it)).or_default();
        let clocks = known.get(&port(it)).filter(|clocks| clocks.len() == found[&port(it)]);
        let clock = clocks.and_then(|clocks| clocks.get(*place).copied());
        *place += 1;
        (it, clock)
    };
    analysis.exchanges.iter().map(pair).collect()
}

/// A named end, surely enough, for long enough.
fn accuses(share: &Share) -> bool {
    let party = share.cause.party(share.direction);
    matches!(party, Some(Party::Client | Party::Server))
        && share.confidence >= Confidence::Medium
        && share.span.as_nanos() >= LEAST_ACCUSED
}

/// A machine that paused may have made a program late by as much.
fn is_refuted(share: &Share, clock: &Clock, disturbed: u64) -> bool {
    let span = u64::try_from(share.span.as_nanos()).unwrap_or(u64::MAX);
    clears((share.cause, share.direction), span.saturating_sub(disturbed), clock)
}

/// Whether the clock clears who is accused.
fn clears((cause, direction): (Cause, Direction), span: u64, clock: &Clock) -> bool {
    let is_less = |known: Option<u64>, than: u64| known.is_some_and(|it| it + RESOLUTION < than);
    // The program's own time, where that is what is accused; a client here writes a request at once.
    let own = match (cause, direction) {
        (Cause::ServerThink, _) | (Cause::ApplicationLimited, Direction::ToClient) => {
            clock.server_ns
        }
        (Cause::ApplicationLimited, Direction::ToServer) => Some(clock.client_ns.unwrap_or(0)),
        _ => None,
    };
    is_less(own, span / 2) || is_less(clock.total_ns, span)
}

/// The remedy in a report's first sentences, against what all exchanges took.
fn remedy_is_refuted(said: &str, analysis: &Analysis, clocks: &Clocks) -> bool {
    let said = said.to_lowercase();
    let is_small = |value: fn(&Clock) -> Option<u64>| {
        let known: Vec<u64> = clocks.exchanges.iter().filter_map(value).collect();
        let count = u64::try_from(known.len()).unwrap_or(u64::MAX);
        count > 0 && known.iter().sum::<u64>() < SMALL * count
    };
    let (connections, exchanges) = (analysis.connections.len(), analysis.exchanges.len());
    let setup: u128 = analysis
        .exchanges
        .iter()
        .flat_map(|it| it.shares.iter())
        .filter(|it| matches!(it.cause, Cause::Handshake | Cause::TlsHandshake))
        .map(|it| it.span.as_nanos())
        .sum();
    let small = u128::from(SMALL) * clocks.exchanges.len() as u128;
    let path = clocks.dropped == 0;
    [
        ("profile the server", is_small(|it| it.server_ns)),
        ("profile the client", is_small(|it| it.client_ns)),
        ("server paused", is_small(|it| it.server_ns)),
        ("client paused", is_small(|it| it.client_ns)),
        ("cause of the loss", path),
        ("fq_codel", path),
        ("reuse connections", 2 * connections < exchanges || setup < small),
        ("tcp_cork", true),
    ]
    .iter()
    .any(|(words, refuted)| *refuted && said.contains(words))
}

/// So that reports of different sessions are the same: addresses and numbers are left out.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        match word.bytes().any(|it| it.is_ascii_digit()) {
            true => out.push_str(if word.ends_with('\n') { "#\n" } else { "# " }),
            false => out.push_str(word),
        }
    }
    out
}

fn line(name: &str, clock: &Clock, share: &Share) -> String {
    let time =
        |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), |it| format!("{:.3}", ms(it)));
    let [total, client, server] = [clock.total_ns, clock.client_ns, clock.server_ns].map(time);
    format!(
        "{name} port {} exchange {}: {} {} {:.3} ms ({}); total {total}, client {client}, server {server} ms",
        clock.port,
        clock.number + 1,
        share.cause.name(),
        share.direction.name(),
        share.span.as_secs_f64() * 1e3,
        share.confidence.name(),
    )
}

/// In nanoseconds. An accusation of less matters to nobody.
const LEAST_ACCUSED: u128 = 5_000_000;
/// What a program's clock may lose: nginx and HAProxy read theirs once for each round of events, which may have some
/// ms of work for other connections, and a program that is to run waits for its turn. Our choice.
const RESOLUTION: u64 = 5_000_000;
/// Less than this in an exchange is no reason to change a program. Our choice.
const SMALL: u64 = 1_000_000;
/// Between the last packet and the program's clock. Our choice, for a busy machine.
const LATE_TO_WAKE: u64 = 2_000_000;
/// As many as a screen shows. Our choice.
const MOST_SHOWN: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_addresses_do_not_tell_reports_apart() {
        let text = "10.0.0.2:80 paused: 7 of 9 exchanges, 3 ms (high).\nFix: none.";
        assert_eq!(without_numbers(text), "# paused: # of # exchanges, # ms (high).\nFix: none.");
    }

    #[test]
    fn an_end_is_cleared_by_its_own_clock_or_by_the_whole() {
        let clock = |total: u64, server: u64| Clock {
            port: 1,
            number: 0,
            from_ns: None,
            total_ns: Some(total * 1_000_000),
            client_ns: None,
            server_ns: Some(server * 1_000_000),
        };
        let clears =
            |cause, direction, clock: &Clock| clears((cause, direction), 20_000_000, clock);
        let (ours, theirs) = (Direction::ToServer, Direction::ToClient);
        assert!(clears(Cause::ServerThink, theirs, &clock(30, 1)));
        assert!(!clears(Cause::ServerThink, theirs, &clock(30, 12)));
        // A socket's wait is not the program's, but no part is longer than the whole.
        assert!(!clears(Cause::NagleRtt, theirs, &clock(30, 1)));
        assert!(clears(Cause::NagleRtt, theirs, &clock(10, 1)));
        assert!(clears(Cause::ApplicationLimited, ours, &clock(30, 1)));
    }
}
