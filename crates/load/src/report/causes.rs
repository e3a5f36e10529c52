//! What the requests of a run waited for, as somebody who saw its packets attributes it.

use std::time::Duration;

/// Time of the captured exchanges by cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Causes {
    /// Captured exchanges.
    pub exchanges: usize,
    /// Captured packets.
    pub packets: u64,
    /// Packets that the capture missed.
    pub dropped: u64,
    /// Duration of the exchanges together.
    pub time: Duration,
    /// Largest first.
    pub list: Vec<CauseTime>,
}

/// Time of one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseTime {
    /// Its name.
    pub cause: &'static str,
    /// The end that can change it, if one can.
    pub party: Option<&'static str>,
    /// Sum over all exchanges.
    pub time: Duration,
    /// Number of exchanges with this cause.
    pub exchanges: usize,
    /// How sure it is.
    pub confidence: &'static str,
    /// What removes it.
    pub remedy: Option<String>,
}

impl Causes {
    /// The share of `cause` in the time of all exchanges.
    #[must_use]
    pub fn share(&self, cause: &CauseTime) -> f64 {
        match self.time.is_zero() {
            true => 0.0,
            false => cause.time.as_secs_f64() / self.time.as_secs_f64(),
        }
    }
}
