//! `--explain`: the run's packets, captured and explained while it lasts.

use ackwise_load::report::Causes;
use ackwise_net::Target;

use crate::cli::outcome::Failure;

/// A capture of the connections to a server's port.
#[cfg(target_os = "linux")]
pub(super) struct Capture {
    reading: ackwise_explain::Reading,
}

#[cfg(target_os = "linux")]
impl Capture {
    /// Begins on all interfaces. Needs root or CAP_NET_RAW.
    pub(super) fn begin(target: &Target) -> Result<Self, Failure> {
        use ackwise_explain::{Live, Reading};

        let refuse = |why: String| Failure::Usage(format!("--explain: {why}"));
        let filter = format!("tcp port {}", target.port()).parse();
        let filter = filter.map_err(|error| refuse(format!("{error}")))?;
        let live = Live::open(None, Some(&filter), Live::LONGEST);
        let mut live = live.map_err(|error| refuse(error.to_string()))?;
        let reading = Reading::new();
        let reader = reading.clone();
        std::thread::spawn(move || {
            crate::cli::privileges::give_up();
            reader.read(&mut live);
        });
        Ok(Self { reading })
    }

    /// Waits until no more packets come, and says what they waited for.
    pub(super) fn end(self) -> Causes {
        use std::{
            thread,
            time::{Duration, Instant},
        };

        use ackwise_explain::{Totals, TotalsScope};
        use ackwise_load::report::CauseTime;

        let end = Instant::now() + SETTLE_LIMIT;
        let mut before = None;
        while before != Some(self.reading.packets()) && Instant::now() < end {
            before = Some(self.reading.packets());
            thread::sleep(Duration::from_millis(100));
        }
        let explained = self.reading.end().expect("nobody else ends it");
        let totals = Totals::of(&explained.analysis, TotalsScope::All);
        let list = totals.causes.iter().map(|total| CauseTime {
            cause: total.cause.name(),
            party: total.party().map(ackwise_cause::Party::name),
            time: total.span,
            exchanges: total.exchanges,
            confidence: total.confidence.name(),
            remedy: total.cause.remedy(total.direction).map(|remedy| remedy.text.to_owned()),
        });
        return Causes {
            exchanges: totals.exchanges,
            packets: explained.packets,
            dropped: explained.drops.packets(),
            time: totals.span,
            list: list.collect(),
        };

        /// A capture of a busy run is behind it by less (our choice).
        const SETTLE_LIMIT: Duration = Duration::from_secs(5);
    }
}

/// Never constructed.
#[cfg(not(target_os = "linux"))]
pub(super) enum Capture {}

#[cfg(not(target_os = "linux"))]
impl Capture {
    pub(super) fn begin(_: &Target) -> Result<Self, Failure> {
        Err(Failure::Usage("--explain: it needs Linux".to_owned()))
    }

    pub(super) fn end(self) -> Causes {
        match self {}
    }
}
