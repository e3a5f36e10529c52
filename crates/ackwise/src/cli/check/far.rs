//! The options that put an emulated path between our TCP and the server.

use std::time::Duration;

use ackwise_check::{Distance, Probability, Rate};

use clap::Args;

use crate::cli::quantity;

#[derive(Args, Debug)]
pub(super) struct Far {
    /// Emulate a path with this round-trip time between client and server (ackwise stack only)
    ///
    /// Shows the effect of distance on initial window, restart after idle, send buffer and page times. Verdicts on stalls
    /// do not depend on distance. Time limits grow with the round-trip time.
    #[arg(help_heading = HEADING)]
    #[arg(long, value_name = "TIME", requires = "url", value_parser = quantity::round_trip)]
    rtt: Option<Duration>,

    /// Emulate this rate in each direction, such as 20Mb/s
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "RATE", requires = "rtt", alias = "rate", value_parser = quantity::rate)]
    link_rate: Option<Rate>,

    /// Emulate random loss of this share of packets in each direction, such as 0.1%, while page times are measured
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "PERCENT", requires = "rtt", value_parser = quantity::loss)]
    loss: Option<Probability>,

    /// Emulate queues of SIZE [default: one bandwidth-delay product]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "SIZE", requires = "link_rate", value_parser = quantity::bytes(1..=1_000_000_000_u64))]
    queue: Option<u64>,
}

impl Far {
    pub(super) fn distance(&self) -> Option<Distance> {
        let Self { rtt, link_rate: rate, loss, queue } = *self;
        rtt.map(|rtt| Distance { rtt, rate, queue, loss })
    }
}

/// Over these options in `--help`.
const HEADING: &str = "Distance";
