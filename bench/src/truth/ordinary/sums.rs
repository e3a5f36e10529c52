//! How long exchanges took in all: by the clocks of clients that tell their phases, and as reported.
//!
//! A client's clock runs from connect() to the last read of a connection's first exchange, and from the request to the
//! last read of each other one. A capture at the server begins when SYN or request has arrived and ends when the last
//! byte of the response leaves: it lacks one round trip of each exchange, which is twice the emulated delay and is
//! added. What a link's rate adds to it, and what the emulator is late, is not.

use std::fmt::{self, Write as _};

use ackwise_capture::analysis::{Analysis, ExchangeResult};
use ackwise_cause::Cause;

use super::clocks::Clocks;
use super::{phases, wire};
use crate::truth::case::{Case, Recorded};
use crate::truth::reading::{Needed, Packets, Vantage, analyse};
use crate::truth::score::ms;

/// A row for each session and end.
#[derive(Debug, Default)]
pub(in crate::truth) struct Sums {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    case: String,
    programs: String,
    http: &'static str,
    /// Read with keys.
    keys: bool,
    vantage: Vantage,
    round_trip_ms: f64,
    /// As the client says, and as reported.
    exchanges: [usize; 2],
    clock_ns: u64,
    report_ns: u64,
    /// From the first packet to the last of each exchange, at the client, as far as its clock tells which.
    wire_ns: Option<u64>,
    /// Connections whose set-up is not reported as part of an exchange: they seem to have been opened in advance.
    in_advance: usize,
    /// Of the reported exchanges, how long programs waited for a processor, or packets were late.
    late_ns: u64,
    /// Reported exchanges that lack their end. The client saw all of them.
    incomplete: usize,
}

impl Sums {
    pub(in crate::truth) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Reads a session at both ends.
    pub(in crate::truth) fn add(
        &mut self,
        recorded: &Recorded,
        clocks: &Clocks,
        packets: &Needed<'_>,
    ) {
        let captures = &recorded.case.captures;
        let places = [(Vantage::Client, &captures.client), (Vantage::Server, &captures.server)];
        for (vantage, file) in places {
            if let Some(packets) = file.as_ref().and_then(|it| packets.get(it.as_str())) {
                self.rows.push(row(&recorded.case, clocks, vantage, packets));
            }
        }
    }

    /// As a table.
    pub(in crate::truth) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("a string takes everything");
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "\nSUMS: what clients over TLS say of their phases, and what is reported")?;
        writeln!(
            out,
            "  {:<14} {:<20} {:<8} {:<4} {:<7} {:>6} {:>9} {:>10} {:>10} {:>8} {:>6} {:>7} {:<6} {:>10} {:>10} {:>10}",
            "session",
            "server-client",
            "protocol",
            "keys",
            "read at",
            "RTT ms",
            "exchanges",
            "clock ms",
            "report ms",
            "apart ms",
            "%",
            "late ms",
            "within",
            "incomplete",
            "in advance",
            "packets ms"
        )?;
        for it in &self.rows {
            let exchanges = format!("{}, {}", it.exchanges[0], it.exchanges[1]);
            let wire = it.wire_ns.map_or_else(|| "-".to_owned(), |it| format!("{:.1}", ms(it)));
            writeln!(
                out,
                "  {:<14} {:<20} {:<8} {:<4} {:<7} {:>6.1} {exchanges:>9} {:>10.1} {:>10.1} {:>+8.2} {:>+6.1} \
                 {:>7.1} {:<6} {:>10} {:>10} {wire:>10}",
                it.case,
                it.programs,
                it.http,
                yes_or_no(it.keys),
                it.vantage,
                it.round_trip_ms,
                ms(it.clock_ns),
                ms(it.report_ns),
                it.apart(),
                100.0 * it.apart() / ms(it.clock_ns.max(1)),
                ms(it.late_ns),
                yes_or_no(it.is_within()),
                it.incomplete,
                it.in_advance,
            )?;
        }
        self.totals(out)
    }

    fn totals(&self, out: &mut String) -> fmt::Result {
        for vantage in [Vantage::Client, Vantage::Server] {
            let rows: Vec<&Row> = self.rows.iter().filter(|it| it.vantage == vantage).collect();
            let sum = |value: fn(&Row) -> u64| ms(rows.iter().map(|it| value(it)).sum());
            let count = |holds: fn(&Row) -> bool| rows.iter().filter(|it| holds(it)).count();
            let exchanges = |place: usize| rows.iter().map(|it| it.exchanges[place]).sum::<usize>();
            writeln!(
                out,
                "  {vantage}: {} of {} captures within 2 % or 1 ms of the clock; of the others, {} late for as \
                 long as they differ, {} within 2 % or 1 ms of their packets; {} exchanges by clocks, \
                 {} reported, {} of these incomplete; {:.1} ms by clocks, {:.1} ms reported",
                count(Row::is_within),
                rows.len(),
                count(|it| !it.is_within() && ms(it.late_ns) >= it.apart().abs()),
                count(|it| !it.is_within()
                    && it.wire_ns.is_some_and(|wire| agree(it.report_ns, wire))),
                exchanges(0),
                exchanges(1),
                rows.iter().map(|it| it.incomplete).sum::<usize>(),
                sum(|it| it.clock_ns),
                sum(|it| it.report_ns),
            )?;
        }
        Ok(())
    }
}

impl Row {
    /// In milliseconds; negative if less is reported.
    fn apart(&self) -> f64 {
        ms(self.report_ns) - ms(self.clock_ns)
    }

    fn is_within(&self) -> bool {
        agree(self.report_ns, self.clock_ns)
    }
}

const fn agree(report_ns: u64, known_ns: u64) -> bool {
    let apart = report_ns.abs_diff(known_ns);
    apart <= LEAST || apart <= known_ns / PART
}

fn row(case: &Case, clocks: &Clocks, vantage: Vantage, packets: &Packets) -> Row {
    let analysis = analyse(packets);
    let round_trip_ms = case.one_way_ms.client_to_middle + case.one_way_ms.middle_to_client;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a delay")]
    let unseen_ns = match vantage {
        Vantage::Server => (round_trip_ms.max(0.0) * 1e6).round() as u64,
        _ => 0,
    };
    let mut late_ns = 0;
    let mut report_ns = 0;
    for it in &analysis.exchanges {
        let [from, until] = [it.start, it.start + it.duration].map(|it| it.as_nanos());
        report_ns += until - from + unseen_ns;
        late_ns += clocks.disturbed(from, until);
    }
    Row {
        case: case.name.clone(),
        programs: case.family.clone(),
        http: if phases::needs_keys(case) { "HTTP/2" } else { "HTTP/1.1" },
        keys: case.captures.keys.is_some(),
        vantage,
        round_trip_ms,
        exchanges: [clocks.exchanges.len(), analysis.exchanges.len()],
        clock_ns: clocks.exchanges.iter().filter_map(|it| it.total_ns).sum(),
        report_ns,
        wire_ns: (vantage == Vantage::Client).then(|| wire::sum(packets, clocks)).flatten(),
        in_advance: in_advance(&analysis),
        late_ns,
        incomplete: analysis.exchanges.iter().filter(|it| !it.complete).count(),
    }
}

/// Such an exchange begins with its request, and what came before is in none.
fn in_advance(analysis: &Analysis) -> usize {
    let has_setup = |it: &&ExchangeResult| {
        it.shares.iter().any(|it| matches!(it.cause, Cause::Handshake | Cause::TlsHandshake))
    };
    let with = analysis.exchanges.iter().filter(has_setup).count();
    analysis.connections.iter().filter(|it| it.exchanges > 0).count().saturating_sub(with)
}

#[expect(clippy::fn_params_excessive_bools, reason = "a cell of the table")]
const fn yes_or_no(it: bool) -> &'static str {
    if it { "yes" } else { "no" }
}

/// 1 ms, or 2 %.
const LEAST: u64 = 1_000_000;
const PART: u64 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_within_2_percent_or_1_ms() {
        let is_within = |clock_us: u64, report_us: u64| {
            let row = Row {
                case: String::new(),
                programs: String::new(),
                http: "HTTP/2",
                keys: true,
                vantage: Vantage::Client,
                round_trip_ms: 1.0,
                exchanges: [1, 1],
                clock_ns: clock_us * 1_000,
                report_ns: report_us * 1_000,
                wire_ns: None,
                in_advance: 0,
                late_ns: 0,
                incomplete: 0,
            };
            row.is_within()
        };
        assert!(is_within(5_000, 6_000) && is_within(5_000, 4_000));
        assert!(!is_within(5_000, 6_100) && !is_within(5_000, 3_900));
        assert!(is_within(100_000, 98_000) && !is_within(100_000, 97_900));
    }
}
