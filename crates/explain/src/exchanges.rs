//! Single exchanges in text reports: the slowest, or those of one connection.

use std::{borrow::Cow, fmt::Write as _};

use ackwise_capture::{analysis::ExchangeResult, attribution::Share};
use ackwise_cause::Party;
use ackwise_text::{
    escape,
    words::{grouped, millis},
};

use super::{
    grpc,
    reading::Explained,
    shown::{ReportOptions, doubt, is_visible, named, towards},
    tunnels::TunnelIndex,
};

/// Exchanges with their numbers, which count from 0 in the order in which they began: the slowest, or
/// all of the connection that was asked for.
pub(super) fn chosen<'a>(
    explained: &'a Explained,
    options: &ReportOptions,
) -> Vec<(usize, &'a ExchangeResult)> {
    let numbered = explained.analysis.exchanges.iter().enumerate();
    match options.connection {
        Some(connection) => numbered.filter(|(_, it)| it.connection == connection).collect(),
        None => {
            let slowest =
                |&(number, it): &(usize, &ExchangeResult)| (std::cmp::Reverse(it.duration), number);
            let mut exchanges: Vec<_> = numbered.collect();
            if options.worst < exchanges.len() {
                exchanges.select_nth_unstable_by_key(options.worst, slowest);
                exchanges.truncate(options.worst);
            }
            exchanges.sort_unstable_by_key(slowest);
            exchanges
        }
    }
}

pub(super) fn section(explained: &Explained, options: &ReportOptions) -> String {
    let exchanges = chosen(explained, options);
    if exchanges.is_empty() {
        return String::new();
    }
    let mut out = match options.connection {
        Some(connection) => format!("\nConnection {connection}\n"),
        None => "\nSlowest exchanges\n".to_owned(),
    };
    let _ = writeln!(out, "  ({PACKETS})");
    let tunnels = TunnelIndex::of(&explained.analysis);
    for (number, exchange) in exchanges {
        out += &one(explained, options, number, exchange);
        if let Some(tunnel) = tunnels.opened_by(exchange) {
            let _ = writeln!(out, "    {tunnel}");
        }
    }
    out
}

/// What the numbers of packets behind a cause are. The ACK need not be behind the data before.
const PACKETS: &str =
    "packets: the data before and after the longest wait, and the latest ACK before it ended";

fn one(
    explained: &Explained,
    options: &ReportOptions,
    number: usize,
    exchange: &ExchangeResult,
) -> String {
    let connection = &explained.analysis.connections[exchange.connection as usize];
    let mut out = format!(
        "  {number}: {} in {}, at {}\n    connection {} ({} > {}), {}\n",
        name(exchange),
        millis(exchange.duration),
        options.time.print(exchange.start, explained.analysis.first),
        connection.id,
        connection.client,
        connection.server,
        packets(exchange),
    );
    for share in exchange.shares.iter().filter(|it| is_visible(it.span)) {
        let _ = writeln!(
            out,
            "    {:>12}  {:23} {:9}  {:7} {}{}",
            millis(share.span),
            named(&share),
            towards(share.direction),
            share.cause.party(share.direction).map_or("-", Party::name),
            witnesses(&share),
            doubt(&share),
        );
    }
    out
}

/// What the client asked for, in its own words.
pub(super) fn request(exchange: &ExchangeResult) -> Cow<'_, str> {
    escape::name(exchange.request.as_deref().unwrap_or("exchange"))
}

/// `GET /path 200`, or `POST /path 200, grpc-status 0 OK`, and whether that is all.
fn name(exchange: &ExchangeResult) -> String {
    let mut name = request(exchange).into_owned();
    name += &grpc::statuses(exchange);
    if !exchange.complete {
        name += " (incomplete response)";
    }
    name
}

/// `request in packet 12, response in packets 15 to 40`.
pub(super) fn packets(exchange: &ExchangeResult) -> String {
    let response = match exchange.response_packets() {
        [None, _] => return format!("request in packet {}", exchange.packet),
        [Some(from), None] => format!("from packet {from} on"),
        [Some(from), Some(to)] if to <= from => format!("in packet {from}"),
        [Some(from), Some(to)] => format!("in packets {from} to {to}"),
    };
    format!("request in packet {}, response {response}", exchange.packet)
}

/// The packets that show a cause, in ascending order.
pub(super) fn in_order(share: &Share) -> Vec<u64> {
    let mut packets: Vec<u64> = share.evidence.packets().collect();
    packets.sort_unstable();
    packets.dedup();
    packets
}

/// `packets 12, 13`, or `3 times, longest in packets 12, 13`.
fn witnesses(share: &Share) -> String {
    let packets: Vec<String> = in_order(share).iter().map(u64::to_string).collect();
    let packets = match packets.len() {
        0 => return String::new(),
        1 => format!("packet {}", packets[0]),
        _ => format!("packets {}", packets.join(", ")),
    };
    match share.times {
        0 | 1 => packets,
        times => format!("{} times, longest in {packets}", grouped(times.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reading;

    #[test]
    fn a_capture_without_exchanges_has_no_section() {
        let explained = Reading::new().end().expect("nobody else ends it");
        assert_eq!(section(&explained, &ReportOptions::default()), "");
    }
}
