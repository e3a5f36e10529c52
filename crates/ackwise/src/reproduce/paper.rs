//! The papers that are reproduced. A new one is a folder here and a variant of [`Paper`].

use super::{ReproduceError, heidemann, report::PaperResults};

/// A paper, or two versions of one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Paper {
    /// Heidemann 1996 and 1997.
    Heidemann,
}

impl Paper {
    /// All of them, in the order of the reports.
    pub const ALL: [Self; 1] = [Self::Heidemann];

    /// As the command line calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heidemann => "heidemann",
        }
    }

    /// As the reports call it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Heidemann => {
                "Heidemann 1996 and 1997, Performance Interactions Between P-HTTP and TCP \
                 Implementations"
            }
        }
    }

    /// By [`name`](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|paper| paper.name() == name)
    }

    /// Runs its experiments and compares. `progress` hears of each before it begins.
    ///
    /// # Errors
    ///
    /// An experiment file or a run that fails.
    pub fn reproduce(self, progress: &mut dyn FnMut(&str)) -> Result<PaperResults, ReproduceError> {
        match self {
            Self::Heidemann => heidemann::reproduce(progress),
        }
    }
}
