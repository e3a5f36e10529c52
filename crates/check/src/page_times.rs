//! What pages cost at one server: the median and how far it can be trusted.

use std::time::Duration;

use ackwise_units::statistics::Spread;
use schemars::JsonSchema;
use serde::Serialize;

use crate::card::BuiltIn;

/// What pages of one set of documents cost at one server.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct PageTimes {
    /// Which server served them.
    pub server: BuiltIn,
    /// The sizes of the documents, in bytes, in the order of the requests.
    pub documents: Vec<u32>,
    /// How many pages were timed, after one to warm up.
    pub pages: usize,
    /// The median time of a page, in milliseconds.
    pub median_ms: f64,
    /// The lower and the upper quartile, in milliseconds.
    pub quartiles_ms: [f64; 2],
    /// Why these figures are not to be trusted, if there is a reason.
    pub doubt: Option<String>,
}

impl PageTimes {
    pub(crate) fn of(server: BuiltIn, documents: &[u32], times: &[Duration]) -> Self {
        let Spread { lower, median: median_ms, upper } =
            Spread::of(times.iter().map(|time| time.as_secs_f64() * 1e3));
        let spread = upper - lower;
        let doubt = (spread > 1.0 && spread > median_ms / 2.0).then(|| {
            format!(
                "the interquartile range is {spread:.1} ms at a median of {median_ms:.1} ms; repeat \
                 on an idle machine"
            )
        });
        let documents = documents.to_vec();
        let quartiles_ms = [lower, upper];
        Self { server, documents, pages: times.len(), median_ms, quartiles_ms, doubt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_spread_is_doubted_aloud() {
        let times = |millis: [u64; 4]| millis.map(Duration::from_millis).to_vec();
        let of = |millis| PageTimes::of(BuiltIn::Fixed, &[500], &times(millis)).doubt;
        assert_eq!(of([130, 131, 132, 133]), None);
        assert!(of([1, 1, 9, 40]).is_some());
    }
}
