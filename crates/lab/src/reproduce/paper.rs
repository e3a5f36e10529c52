//! The papers that are reproduced. A new one is a folder here and a variant of [`Paper`].

use super::{Effort, ReproduceError, faber, gurkan, heidemann, report::PaperResults};

/// A paper, or two versions of one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Paper {
    /// Heidemann 1996 and 1997.
    Heidemann,
    /// Gürkan 1998.
    Gurkan,
    /// Faber, Touch and Yue 1997.
    Faber,
}

impl Paper {
    /// All of them, in the order of the reports.
    pub const ALL: [Self; 3] = [Self::Heidemann, Self::Gurkan, Self::Faber];

    /// As the command line calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heidemann => "heidemann",
            Self::Gurkan => "gurkan",
            Self::Faber => "faber",
        }
    }

    /// Whose it is.
    #[must_use]
    pub const fn authors(self) -> &'static str {
        match self {
            Self::Heidemann => "Heidemann",
            Self::Gurkan => "Gürkan",
            Self::Faber => "Faber, Touch and Yue",
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
            Self::Gurkan => {
                "Gürkan 1998, A Simulation Study on HTTP Performance Analysis in Terms of Its \
                 Interaction with TCP"
            }
            Self::Faber => {
                "Faber, Touch and Yue 1997, Avoiding the TCP TIME_WAIT state at Busy Servers"
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
    pub fn reproduce(
        self,
        effort: Effort,
        progress: &mut dyn FnMut(&str),
    ) -> Result<PaperResults, ReproduceError> {
        match self {
            Self::Heidemann => heidemann::reproduce(progress),
            Self::Gurkan => gurkan::reproduce(effort, progress),
            Self::Faber => faber::reproduce(effort, progress),
        }
    }
}
