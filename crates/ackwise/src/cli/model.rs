//! `ackwise model`: a page's time by transport, from equations.

use std::time::Duration;

use ackwise_papers::{
    analytic::{Acks, Exchange, Network, Path, Start, Workload},
    model::{Document, Question},
};
use ackwise_units::Rate;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::{
    number::whole,
    outcome::{Failure, Outcome},
    output, quantity,
};

/// Compute the time of a page over several HTTP transports, without a simulation
///
/// Uses the analytic model of Heidemann, Obraczka and Touch (1997) as rebuilt here: round trips, bytes,
/// connection setup and slow start. The model has no loss, no queues, and no stalls of Nagle's algorithm.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Model {
    /// Use rate, round-trip time and segment size of this kind of path
    #[arg(long, value_parser = network(), value_name = "NAME", default_value = "fast-internet")]
    network: Network,

    /// Set the rate of the link, headers included
    #[arg(long, value_name = "RATE", value_parser = quantity::rate)]
    link_rate: Option<Rate>,

    /// Set the round-trip time
    #[arg(long, value_name = "TIME", value_parser = quantity::round_trip)]
    rtt: Option<Duration>,

    /// Set the payload of a full segment (MSS)
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes(1..=65_495_u32))]
    mss: Option<u32>,

    /// Use the file sizes of this page
    #[arg(long, value_parser = page(), value_name = "NAME", default_value = "small-cluster")]
    page: Workload,

    /// Set the sizes of the files, the page itself first, separated by commas
    #[arg(long, value_name = "SIZE", value_delimiter = ',',
          value_parser = quantity::bytes(0..=1_000_000_000_u64), conflicts_with = "page")]
    files: Vec<u64>,

    /// Set the size of a request
    #[arg(long, value_name = "SIZE", default_value = "52B", value_parser = quantity::bytes(0..=1_000_000_u64))]
    request: u64,

    /// Set the size of a response head
    #[arg(long, value_name = "SIZE", default_value = "226B", value_parser = quantity::bytes(0..=1_000_000_u64))]
    head: u64,

    /// Set the server's initial window in segments
    #[arg(long, value_name = "N", default_value = "2", value_parser = whole(1..=255_u64))]
    initial_window: u64,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Model {
    /// Whether `--json` was given.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    /// Computes.
    pub(super) fn document(self) -> Document {
        let Self {
            network, link_rate, rtt, mss, page, files, request, head, initial_window, ..
        } = self;
        let mss = mss.unwrap_or(network.mss);
        let usual = network.path(mss);
        let rtt = rtt.map_or(usual.rtt, |rtt| rtt.as_secs_f64());
        let path = match link_rate {
            Some(rate) => Path::user_level(rate.get() as f64, rtt, mss, HEADERS),
            None => Path { rtt, ..usual },
        };
        Document::of(&Question {
            files: if files.is_empty() { page.files.to_vec() } else { files },
            path,
            exchange: Exchange { request, reply: head, client: 0.0, server: 0.0 },
            start: Start {
                window: initial_window,
                acks: Acks::EverySecond { lone_wait: LONE_WAIT },
            },
        })
    }
}

/// Computes and prints.
pub(crate) fn run(arguments: Model) -> Result<Outcome, Failure> {
    let json = arguments.json;
    let document = arguments.document();
    let text = if json { document.json() } else { document.text() };
    output::print(&text, Outcome::Good)
}

fn network() -> impl TypedValueParser<Value = Network> {
    PossibleValuesParser::new(Network::ALL.map(|network| network.name))
        .map(|name| Network::named(&name).expect("only names of networks are possible"))
}

fn page() -> impl TypedValueParser<Value = Workload> {
    PossibleValuesParser::new(Workload::ALL.map(|page| page.name)).map(|name| {
        let found = Workload::ALL.into_iter().find(|page| page.name == name);
        found.expect("only names of pages are possible")
    })
}

/// Of TCP and IP, for each segment.
const HEADERS: u32 = 40;

/// In seconds: what a lone segment waits for BSD's delayed ACK, on average.
const LONE_WAIT: f64 = 0.1;

const EXAMPLES: &str = "\
Examples:
  ackwise model                          the page small-cluster at 1 Mb/s and 90 ms
  ackwise model --network modem --page large-page
  ackwise model --link-rate 20Mb/s --rtt 80ms --mss 1460B --files 30KB,12KB --initial-window 10

Rates and round-trip times of all networks but ethernet and fast-internet are typical values, our choice.";
