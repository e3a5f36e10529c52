//! What streams carried, by the path of the exchanges that opened them.

use std::time::Duration;

use ackwise_capture::analysis::{ExchangeResult, TunnelResult};
use ackwise_cause::Direction;
use ackwise_text::words::{counted, rounded};
use ackwise_units::statistics::percentile;

use super::tunnels::TunnelIndex;

/// The streams of one path whose messages were read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathStreams {
    pub streams: u64,
    /// To the client.
    pub messages: u64,
    /// From the start of an exchange to the end of the first of them: median, and 95th percentile.
    pub first_after: Option<[Duration; 2]>,
    /// From the end of one to that of the next: the median of the streams' medians, and the longest of their 99th
    /// percentiles.
    pub apart: Option<[Duration; 2]>,
}

impl PathStreams {
    /// Of the streams that these opened; `None` if they opened none.
    pub(super) fn of(exchanges: &[&ExchangeResult], tunnels: &TunnelIndex<'_>) -> Option<Self> {
        let opened: Vec<&TunnelResult> =
            exchanges.iter().filter_map(|it| tunnels.of_opener(it)).collect();
        let counts: Vec<_> = opened
            .iter()
            .filter_map(|it| Some(&it.messages.as_ref()?[Direction::ToClient as usize]))
            .collect();
        let first_after = opened.iter().filter_map(|it| it.first_message_after).collect();
        let medians = counts.iter().filter_map(|it| Some(it.gaps?.median)).collect();
        let longest = counts.iter().filter_map(|it| Some(it.gaps?.p99)).max();
        (!counts.is_empty()).then(|| Self {
            streams: counts.len() as u64,
            messages: counts.iter().map(|it| it.messages).sum(),
            first_after: percentiles(first_after),
            apart: percentiles(medians).zip(longest).map(|([median, _], p99)| [median, p99]),
        })
    }

    /// `, 3 streams with 45 messages to the client`, and when they came.
    pub(super) fn listed(&self) -> String {
        let Self { streams, messages, first_after, apart } = self;
        let mut out = format!(
            ", {} with {} to the client",
            counted(*streams, "stream"),
            counted(*messages, "message")
        );
        if let Some(times) = first_after {
            let [median, p95] = times.map(rounded);
            out += &format!(", first after {median} (p95 {p95})");
        }
        if let Some(times) = apart {
            let [median, p99] = times.map(rounded);
            out += &format!(", {median} apart (p99 {p99})");
        }
        out
    }
}

fn percentiles(mut times: Vec<Duration>) -> Option<[Duration; 2]> {
    times.sort_unstable();
    Some([percentile(&times, 50)?, percentile(&times, 95)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_messages_came_is_listed() {
        let millis = |times: [u64; 2]| Some(times.map(Duration::from_millis));
        let one =
            PathStreams { streams: 1, messages: 1, first_after: millis([90, 90]), apart: None };
        for (streams, expected) in [
            (
                one.clone(),
                ", 1 stream with 1 message to the client, first after 90.0 ms (p95 90.0 ms)",
            ),
            (
                PathStreams { streams: 3, messages: 4_500, apart: millis([20, 41]), ..one },
                ", 3 streams with 4,500 messages to the client, first after 90.0 ms (p95 90.0 ms), 20.0 ms apart (p99 41.0 ms)",
            ),
        ] {
            assert_eq!(streams.listed(), expected);
        }
    }
}
