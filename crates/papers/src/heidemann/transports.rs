//! The analytic model alone: its pages over its networks, by every transport it knows.

use crate::{
    analytic::{
        Acks, Compared, Confidence, Exchange, Network, Start, Transport, Workload, compare,
        page_time,
    },
    table::{Case, CaseValue, ComparisonTable, Row},
};

/// Nothing is run for it.
pub(super) fn table() -> ComparisonTable {
    let cases = Network::ALL
        .into_iter()
        .flat_map(|network| Workload::ALL.into_iter().map(move |workload| (network, workload)));
    let usual = Network::ALL.iter().filter(|network| network.confidence == Confidence::Usual);
    let usual = usual.map(|network| network.name).collect::<Vec<_>>().join(", ");
    ComparisonTable {
        id: "heidemann1997_transports".to_owned(),
        title: "The analytic model: a page by every transport, in milliseconds".to_owned(),
        notes: vec![
            format!(
                "[ours] No available source prints the parameters of {usual}: they are \
                     typical values."
            ),
            "[ours] Only the small cluster of the pages is printed; requests have 52 bytes, \
             response heads 226, both ends take no time, BSD's servers begin with two segments, \
             and every second segment is acknowledged."
                .to_owned(),
            "T/TCP cached needs no handshake. UDP needs neither handshake nor slow start, and is \
             the lower bound for transports that request one file at a time."
                .to_owned(),
        ],
        rows: cases.flat_map(|(network, workload)| rows(network, workload)).collect(),
    }
}

fn rows(network: Network, workload: Workload) -> impl Iterator<Item = Row> {
    let word = |name: &str, value: &str| (name.to_owned(), CaseValue::Word(value.to_owned()));
    let case = Case(vec![word("network", network.name), word("page", workload.name)]);
    let page = workload.exchanges(EXCHANGE);
    let times = compare(&page, network.path(network.mss), START);
    times.into_iter().map(move |(Compared { measure, .. }, time)| Row {
        case: case.clone(),
        measure: measure.to_owned(),
        model: Some(time * 1e3),
        ..Row::default()
    })
}

/// What of simple HTTP's time T/TCP saves a page when the server is known, in percent: the set-up of each
/// connection and nothing else.
pub(super) fn saved_by_setup_pct(network: Network, workload: Workload) -> f64 {
    let page = workload.exchanges(EXCHANGE);
    let time = |transport| page_time(transport, &page, network.path(network.mss), START);
    (1.0 - time(Transport::TransactionCached) / time(Transport::SimpleHttp)) * 100.0
}

const EXCHANGE: Exchange = Exchange { request: 52, reply: 226, client: 0.0, server: 0.0 };

const START: Start = Start { window: 2, acks: Acks::EverySecond { lone_wait: 0.1 } };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analytic::COMPARED;

    #[test]
    fn no_transport_beats_the_bound() {
        for line in table().rows.chunks(COMPARED.len()) {
            let bound = line.last().and_then(|row| row.model).unwrap();
            // Requests that are pipelined, or in parallel, need fewer round trips.
            let sequential = line
                .iter()
                .filter(|row| !["pipelined_ms", "parallel_4_ms"].contains(&row.measure.as_str()));
            for row in sequential {
                assert!(row.model.unwrap() >= bound - 1e-9, "{row:?}");
            }
        }
    }
}
