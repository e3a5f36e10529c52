//! `ackwise explain --interface NAME`: a live interface instead of a file.

use std::time::Duration;

use ackwise_capture::filter::Filter;
use ackwise_explain::{Explained, Reading};
use clap::Args;

use crate::cli::{duration, outcome::Failure};

#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Capture on this interface (`any` for all) instead of reading files
    ///
    /// Captures until Ctrl-C, until --duration is over, or until it has 50 million packets. Needs Linux
    /// and CAP_NET_RAW; CAP_NET_ADMIN allows a larger buffer. Promiscuous mode is not supported.
    #[arg(long, value_name = "NAME")]
    pub(super) interface: Option<String>,

    /// Stop the capture after TIME: seconds, or a number with ms, s or m, such as 30 or 5m [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,
}

impl Arguments {
    /// An option that only a live capture has, if one was given.
    pub(super) fn option(&self) -> Option<&'static str> {
        self.duration.map(|_| "--duration")
    }

    /// Captures until the time is over or the user has seen enough.
    #[cfg(target_os = "linux")]
    pub(super) fn read(
        &self,
        interface: &str,
        filter: Option<&Filter>,
        reading: Reading,
    ) -> Result<Explained, Failure> {
        use std::time::Instant;

        use ackwise_explain::Live;

        let usage = |error: &dyn std::error::Error| Failure::Usage(error.to_string());
        // The kernel's filter is the same language.
        let filter = filter.map(|it| it.to_string().parse()).transpose();
        let filter = filter.map_err(|error| Failure::Usage(format!("--filter: {error}")))?;
        let name = Some(interface).filter(|&name| name != ANY);
        let duration = self.duration.unwrap_or(Live::LONGEST);
        let live = Live::open(name, filter.as_ref(), duration).map_err(|error| usage(&error))?;
        let begun = Instant::now();
        let mut explained = super::read(live, reading, |packets| {
            let (past, all) = (begun.elapsed().as_secs(), duration.as_secs_f64());
            format!("{packets} packets in {past} of {all} s; Ctrl-C prints the report")
        })?;
        if explained.drops.packets() > 0 {
            explained.warnings.push(MISSED.to_owned());
        }
        Ok(explained)
    }

    /// There is no way to see packets that is the same everywhere.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn read(
        &self,
        _: &str,
        _: Option<&Filter>,
        _: Reading,
    ) -> Result<Explained, Failure> {
        Err(Failure::Usage(
            "cannot capture on an interface: --interface needs Linux (expected a file, or \
             `tcpdump -w - | ackwise explain -`)"
                .to_owned(),
        ))
    }
}

/// The name of all interfaces, as tcpdump has it.
#[cfg(target_os = "linux")]
const ANY: &str = "any";

#[cfg(target_os = "linux")]
const MISSED: &str = "the kernel dropped packets because the capture buffer was full, so some causes are \
     unknown: narrow --filter, or grant CAP_NET_ADMIN for a larger buffer";
