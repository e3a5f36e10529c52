//! `ackwise explain --interface NAME`: a live interface instead of a file.

use std::time::Duration;
#[cfg(target_os = "linux")]
use std::time::Instant;

use ackwise_capture::filter::Filter;
#[cfg(target_os = "linux")]
use ackwise_explain::{Budget, Live};
use ackwise_explain::{Explained, Reading};
use clap::Args;

#[cfg(target_os = "linux")]
use crate::cli::privileges;
use crate::cli::{outcome::Failure, quantity};

#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Capture on this interface (`any` for all) instead of reading files
    ///
    /// Captures until Ctrl-C, until --duration has passed, or until it has 50 million packets. Needs Linux
    /// and root or CAP_NET_RAW, and drops these privileges once the interface is open. Promiscuous mode is
    /// not supported.
    #[arg(long, value_name = "NAME")]
    pub(super) interface: Option<String>,

    /// Stop the capture after TIME, such as 30s or 5m [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = quantity::time)]
    duration: Option<Duration>,

    /// Use at most SHARE of one processor on average [default: 5%]
    ///
    /// Under more load, follows only one connection in 2, 4, and so on, chosen by addresses and ports. The report says
    /// which part of the connections was followed, and for how long. Bursts can exceed SHARE by up to one second of
    /// processor time. 100% uses a whole processor.
    #[arg(long, value_name = "SHARE", value_parser = quantity::percent(1..=MOST_PERCENT))]
    cpu: Option<u32>,
}

impl Arguments {
    /// An option that only a live capture has, if one was given.
    pub(super) fn option(&self) -> Option<&'static str> {
        self.duration.map(|_| "--duration").or_else(|| self.cpu.map(|_| "--cpu"))
    }

    /// Begins the capture, if an interface was given. Gives up the capabilities for it: threads that are
    /// started later have none.
    #[cfg(target_os = "linux")]
    pub(super) fn open(&self, filter: Option<&Filter>) -> Result<Option<Capture>, Failure> {
        let Some(interface) = &self.interface else { return Ok(None) };
        // The kernel's filter is the same language.
        let filter = filter.map(|it| it.to_string().parse()).transpose();
        let filter = filter.map_err(|error| Failure::Usage(format!("--filter: {error}")))?;
        let name = Some(interface.as_str()).filter(|&name| name != ANY);
        let duration = self.duration.unwrap_or(Live::LONGEST);
        let live = Live::open(name, filter.as_ref(), duration);
        let live = live.map_err(|error| Failure::Usage(error.to_string()))?;
        let live = live.with_budget(self.cpu.map_or_else(Budget::default, Budget::percent));
        privileges::give_up();
        Ok(Some(Capture { live, duration }))
    }

    /// There is no way to see packets that is the same everywhere.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn open(&self, _: Option<&Filter>) -> Result<Option<Capture>, Failure> {
        match self.interface {
            None => Ok(None),
            Some(_) => Err(Failure::Usage(
                "cannot capture on an interface: --interface needs Linux (expected a file, or \
                 `tcpdump -w - | ackwise explain -`)"
                    .to_owned(),
            )),
        }
    }
}

/// A capture that has begun.
#[cfg(target_os = "linux")]
pub(super) struct Capture {
    live: Live,
    duration: Duration,
}

#[cfg(target_os = "linux")]
impl Capture {
    /// Captures until the time is over or the user has seen enough.
    pub(super) fn read(self, reading: Reading) -> Result<Explained, Failure> {
        let Self { live, duration } = self;
        let begun = Instant::now();
        let mut explained = super::read(
            || live,
            reading,
            |packets| {
                let (past, all) = (begun.elapsed().as_secs(), duration.as_secs_f64());
                format!("{packets} packets in {past} of {all} s; Ctrl-C prints the report")
            },
        )?;
        if explained.drops.packets() > 0 {
            explained.warnings.push(MISSED.to_owned());
        }
        Ok(explained)
    }
}

/// Never constructed.
#[cfg(not(target_os = "linux"))]
pub(super) enum Capture {}

#[cfg(not(target_os = "linux"))]
impl Capture {
    pub(super) fn read(self, _: Reading) -> Result<Explained, Failure> {
        match self {}
    }
}

/// Packets are read by one thread, and a report may be made by some more.
const MOST_PERCENT: u32 = 1_000;

/// The name of all interfaces, as tcpdump has it.
#[cfg(target_os = "linux")]
const ANY: &str = "any";

#[cfg(target_os = "linux")]
const MISSED: &str = "the kernel dropped packets because the capture buffer was full, so some causes are \
     unknown: narrow --filter, or run as root for a larger buffer";
