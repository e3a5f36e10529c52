//! A check of a client: how its command is run, and what judges it.

use super::judged::Judged;
use crate::client::{ListenError, observed::Observed, runs::Runs};

/// How a client is checked.
pub(crate) struct ClientCheck {
    /// Runs the command, as often as it takes.
    pub(crate) run: fn(&mut Runs<'_>) -> Result<Judged, ListenError>,
    /// Judges clients that nobody here has started, if they can be judged.
    pub(crate) judge_any: Option<fn(&Observed) -> Judged>,
}
