//! The options that load whole pages by a plan.

use std::num::{NonZeroU16, NonZeroU32};

use ackwise_http::{Method, page::Transfer};
use ackwise_link::Seed;
use ackwise_load::{
    LoadOptions,
    pages::{Cache, KeptConnections, PAGES_LIMIT, PlanOptions},
};
use ackwise_units::Probability;
use clap::Args;

use crate::cli::{number::whole, outcome::Failure, quantity};

#[derive(Args, Debug)]
pub(super) struct Planned {
    /// Load whole pages by PLAN and report page times
    ///
    /// A page is URL with the files that its HTML embeds, or with the files of --urls, or a page of --workload. PLAN is serial,
    /// parallel:N, persistent, pipelined, segment-filled, segment-filled:SIZE (default 1460B) or get-web, as in experiment
    /// files. --timeout is the limit for a page.
    #[arg(help_heading = HEADING)]
    #[arg(long, value_name = "PLAN", value_parser = plan)]
    #[arg(conflicts_with_all = ["against", "explain", "hgrm", "rate", "requests", "connections", "ramp", "warmup"])]
    #[arg(conflicts_with_all = ["requests_per_connection", "expect_content", "drain"])]
    plan: Option<Transfer>,

    /// Load N pages in total [default: 10, or until --duration has passed]
    #[arg(help_heading = HEADING)]
    #[arg(long, value_name = "N", requires = "plan", value_parser = whole(1..=PAGES_LIMIT as u64))]
    pages: Option<u64>,

    /// Assume that each user has SHARE of a page's embedded files, chosen at random, in the cache, such as 50%
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "SHARE", requires = "plan", value_parser = quantity::share)]
    cached: Option<Probability>,

    /// Keep connections open for the user's next page
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, requires = "plan")]
    keep_connections: bool,
}

impl Planned {
    /// Whether a plan was given.
    pub(super) const fn is_given(&self) -> bool {
        self.plan.is_some()
    }

    /// How pages are loaded, if they are.
    pub(super) fn options(
        &self,
        options: &LoadOptions,
        seed: Seed,
    ) -> Result<Option<PlanOptions>, Failure> {
        let Some(transfer) = self.plan else { return Ok(None) };
        if options.method != Method::Get || options.content.is_some() {
            let why = "cannot use --plan with another method or content (expected GET)";
            return Err(Failure::Usage(why.to_owned()));
        }
        let pages = self.pages.or_else(|| options.duration.is_none().then_some(PAGES));
        Ok(Some(PlanOptions {
            transfer,
            pages,
            connections: match self.keep_connections {
                true => KeptConnections::Kept,
                false => KeptConnections::PerPage,
            },
            cache: Cache {
                per_million: self.cached.map_or(0, Probability::as_per_million),
                seed,
                ..Cache::default()
            },
        }))
    }
}

/// A plan by its name in experiment files, with its number after a colon.
fn plan(text: &str) -> Result<Transfer, String> {
    let (name, number) = text.split_once(':').map_or((text, None), |(name, it)| (name, Some(it)));
    match (name, number) {
        ("serial", None) => Ok(Transfer::Serial),
        ("persistent", None) => Ok(Transfer::Persistent),
        ("pipelined", None) => Ok(Transfer::Pipelined),
        ("get-web" | "getweb", None) => Ok(Transfer::GetWeb),
        ("segment-filled", None) => Ok(Transfer::SegmentFilled { segment: SEGMENT }),
        ("segment-filled", Some(bytes)) => {
            let bytes = quantity::bytes(1..=u32::MAX)(bytes)?;
            let segment = NonZeroU32::new(bytes).unwrap_or(SEGMENT);
            Ok(Transfer::SegmentFilled { segment })
        }
        ("parallel", Some(number)) => {
            let connections = whole(NonZeroU16::MIN..=LARGEST)(number)?;
            Ok(Transfer::Parallel { connections })
        }
        _ => Err(
            "expected serial, parallel:N, persistent, pipelined, segment-filled[:SIZE] or get-web"
                .to_owned(),
        ),
    }
}

const HEADING: &str = "Whole pages";
/// Pages without another limit (our choice: a median, in seconds).
const PAGES: u64 = 10;
/// MSS of Ethernet without TCP options, as in the thesis.
const SEGMENT: NonZeroU32 = NonZeroU32::new(1460).unwrap();
/// Connections of one page at once (our choice: browsers open six).
const LARGEST: NonZeroU16 = NonZeroU16::new(1000).unwrap();
