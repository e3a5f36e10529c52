//! Nothing to say, and why.

use crate::{http_client::ExchangeError, verdict::Reason};

/// Why a check has nothing to say.
#[derive(Clone, Debug)]
pub(crate) struct NoVerdict {
    /// `None` if what is asked about cannot occur on this target.
    pub(crate) reason: Option<Reason>,
    /// What is in the way, or what is missing.
    pub(crate) why: String,
}

impl NoVerdict {
    pub(crate) fn unknown(reason: Reason, why: impl Into<String>) -> Self {
        Self { reason: Some(reason), why: why.into() }
    }

    pub(crate) fn not_applicable(why: impl Into<String>) -> Self {
        Self { reason: None, why: why.into() }
    }
}

impl From<ExchangeError> for NoVerdict {
    fn from(error: ExchangeError) -> Self {
        (&error).into()
    }
}

impl From<&ExchangeError> for NoVerdict {
    fn from(error: &ExchangeError) -> Self {
        Self::unknown(error.reason(), format!("could not be determined: {error}"))
    }
}
