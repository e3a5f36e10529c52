//! The analytic model by itself: how long a page takes over a path, by every transport that it knows.
//!
//! [`analytic`](crate::analytic) has the equations and says what they leave out.

use std::fmt::Write;

use ackwise_text::format::{self, Format};
use schemars::JsonSchema;
use serde::Serialize;

use crate::analytic::{Exchange, Path, Start, Transport, compare, page_time};

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Bytes of the page's files, the page itself first.
    pub files: Vec<u64>,
    /// What is between the ends.
    pub path: Path,
    /// A request and the head of a reply, and what both ends take for them.
    pub exchange: Exchange,
    /// How a connection begins to send.
    pub start: Start,
}

/// What the model says.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Model")]
pub struct Document {
    /// The version of the program.
    ackwise: &'static str,
    /// Bytes of the page's files.
    files: Vec<u64>,
    /// Round-trip time, in milliseconds.
    rtt_ms: f64,
    /// What the path carries of data, in kilobits a second.
    data_kbps: f64,
    /// Data bytes of a full segment.
    mss_bytes: u32,
    /// By transport.
    transports: Vec<Answer>,
}

/// How long a page takes.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Answer {
    /// Over what.
    pub transport: &'static str,
    /// From the first SYN, or request, to the last byte, in milliseconds.
    pub page_ms: f64,
    /// The same as a share of simple HTTP's.
    pub of_simple_http: f64,
}

impl format::Document for Document {
    const FORMAT: Format = Format::first("ackwise-model");
    const ABOUT: &'static str =
        "What `ackwise model --json` prints: the time of a page by transport, from equations.";
}

impl Document {
    /// What the model says of a page.
    #[must_use]
    pub fn of(question: &Question) -> Self {
        let Question { files, path, exchange, start } = question;
        let page: Vec<_> = files
            .iter()
            .map(|file| Exchange { reply: exchange.reply + file, ..*exchange })
            .collect();
        let simple = page_time(Transport::SimpleHttp, &page, *path, *start);
        let transports = compare(&page, *path, *start).map(|(compared, time)| Answer {
            transport: compared.name,
            page_ms: time * 1e3,
            of_simple_http: time / simple,
        });
        Self {
            ackwise: env!("CARGO_PKG_VERSION"),
            files: files.clone(),
            rtt_ms: path.rtt * 1e3,
            data_kbps: path.bandwidth * 8.0 / 1e3,
            mss_bytes: path.mss,
            transports: transports.into(),
        }
    }

    /// By transport.
    #[must_use]
    pub fn transports(&self) -> &[Answer] {
        &self.transports
    }

    /// For a terminal, with a line feed at its end.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { ackwise: _, files, rtt_ms, data_kbps, mss_bytes, transports } = self;
        let sizes: Vec<_> = files.iter().map(u64::to_string).collect();
        let mut text = format!(
            "Files of {} bytes; {data_kbps:.1} kb/s of data, {rtt_ms:.1} ms, {mss_bytes} bytes a \
             segment\n\n{:<30} {:>12} {:>16}\n",
            sizes.join(", "),
            "transport",
            "page_ms",
            "of_simple_http"
        );
        for Answer { transport, page_ms, of_simple_http } in transports {
            writeln!(text, "{transport:<30} {page_ms:>12.1} {of_simple_http:>16.3}")
                .expect("a string takes every write");
        }
        text
    }

    /// One JSON object, with a line feed at its end.
    #[must_use]
    pub fn json(&self) -> String {
        format::to_json(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analytic::{Acks, Network, Workload};

    fn asked() -> Question {
        let network = Network::named("fast-internet").unwrap();
        Question {
            files: Workload::SMALL_CLUSTER.files.to_vec(),
            path: network.path(network.mss),
            exchange: Exchange { request: 52, reply: 226, client: 0.0, server: 0.0 },
            start: Start { window: 2, acks: Acks::EverySecond { lone_wait: 0.1 } },
        }
    }

    #[test]
    fn the_small_cluster_over_the_internet_is_as_in_the_findings() {
        let document = Document::of(&asked());
        let times = document.transports().iter().map(|it| format!("{:.1}", it.page_ms));
        let expected = ["1174.1", "885.0", "727.2", "384.1", "691.8", "992.8", "902.1", "384.1"];
        assert_eq!(times.collect::<Vec<_>>(), expected);
        assert!(document.text().starts_with("Files of 6651, 3883, 1866 bytes; 927.5 kb/s of data"));
    }

    #[test]
    fn a_minimal_page_costs_a_set_up_and_a_round_trip() {
        let path = Path { rtt: 0.1, bandwidth: 1e9, mss: 1_460 };
        let exchange = Exchange { request: 0, reply: 0, client: 0.0, server: 0.0 };
        let document = Document::of(&Question { files: vec![1], path, exchange, ..asked() });
        let time = |name: &str| {
            let found = document.transports().iter().find(|it| it.transport == name);
            found.unwrap().page_ms.round()
        };
        assert_eq!([time("simple HTTP"), time("T/TCP, known server")], [200.0, 100.0]);
    }
}
