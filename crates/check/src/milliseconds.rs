//! Milliseconds as reports have them.

use std::time::Duration;

/// Milliseconds, to the microsecond.
pub(crate) fn rounded(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

/// Milliseconds of `span`, to the microsecond.
pub(crate) fn ms(span: Duration) -> f64 {
    rounded(span.as_secs_f64() * 1e3)
}
