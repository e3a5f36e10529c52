//! What a capture away from the client leaves out: the last bytes of responses on their way.
//!
//! An exchange ends where its last byte was captured. At the server, that is when it leaves, so a response that
//! fits into the buffers before a slow link seems to take no time.

use std::time::Duration;

use ackwise_capture::{analysis::Analysis, attribution::Vantage};
use ackwise_cause::Party;
use ackwise_text::words::rounded;

/// Responses whose last bytes had not arrived when they were captured.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Unarrived {
    /// From the last byte of each response to its acknowledgement.
    pub until_acknowledged: Duration,
    /// The durations of these exchanges.
    timed: Duration,
    /// Some were captured between client and server.
    between: bool,
}

impl Unarrived {
    /// Adds them up; `None` if there are none.
    pub(super) fn of(analysis: &Analysis) -> Option<Self> {
        let mut sum = Self::default();
        for exchange in &analysis.exchanges {
            let between = match analysis.connections[exchange.connection as usize].vantage {
                Vantage::At(Party::Server) => false,
                Vantage::At(Party::Path) | Vantage::Between => true,
                _ => continue,
            };
            let Some(after) = exchange.acknowledged_after() else { continue };
            sum.until_acknowledged += after;
            sum.timed += exchange.duration;
            sum.between |= between;
        }
        (sum != Self::default()).then_some(sum)
    }

    /// What a report says of them, if they matter.
    pub(super) fn sentence(analysis: &Analysis) -> Option<String> {
        /// Up to this part of the time of the exchanges may be missing without a word: it may be the delay of the
        /// client's ACKs. Our choice.
        const SMALL: u32 = 4;
        let Self { until_acknowledged, timed, between } = Self::of(analysis)?;
        let captured = match between {
            true => "Captured away from the client",
            false => "Captured at the server",
        };
        (until_acknowledged * SMALL >= timed).then(|| {
            format!(
                "{captured}: the time until the last bytes of each response arrived at the client is \
                 not included ({} in total until they were acknowledged; the exchanges take {}).",
                rounded(until_acknowledged),
                rounded(timed),
            )
        })
    }
}
