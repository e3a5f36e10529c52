//! What pages cost at one server: the median and how far it can be trusted.

use std::time::Duration;

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
    pub(crate) fn of(server: BuiltIn, documents: &[u32], mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let [low, median_ms, high] = [1, 2, 3].map(|quarter| quartile_ms(&times, quarter));
        let spread = high - low;
        let doubt = (spread > 1.0 && spread > median_ms / 2.0).then(|| {
            format!(
                "the interquartile range is {spread:.1} ms at a median of {median_ms:.1} ms; repeat \
                 on an idle machine"
            )
        });
        let documents = documents.to_vec();
        let quartiles_ms = [low, high];
        Self { server, documents, pages: times.len(), median_ms, quartiles_ms, doubt }
    }
}

/// The `quarter`-th quartile of `sorted`, between its neighbours where it falls between two.
fn quartile_ms(sorted: &[Duration], quarter: usize) -> f64 {
    let at = |index: usize| sorted.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e3);
    let quarters = sorted.len().saturating_sub(1) * quarter;
    let (below, rest) = (quarters / 4, quarters % 4);
    let above = if rest == 0 { below } else { below + 1 };
    at(below) + (at(above) - at(below)) * [0.0, 0.25, 0.5, 0.75][rest]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_fall_between_their_neighbours() {
        let times: Vec<_> = [10, 20, 30, 40, 50, 60].map(Duration::from_millis).into();
        let quartiles = [1, 2, 3].map(|quarter| quartile_ms(&times, quarter).round());
        assert_eq!(quartiles, [23.0, 35.0, 48.0]);
        assert_eq!(quartile_ms(&[], 2), 0.0);
        assert_eq!(quartile_ms(&times[..1], 3), 10.0);
    }

    #[test]
    fn a_wide_spread_is_doubted_aloud() {
        let times = |millis: [u64; 4]| millis.map(Duration::from_millis).to_vec();
        let of = |millis| PageTimes::of(BuiltIn::Fixed, &[500], times(millis)).doubt;
        assert_eq!(of([130, 131, 132, 133]), None);
        assert!(of([1, 1, 9, 40]).is_some());
    }
}
