//! The papers that are reproduced, and what came out of one. A new paper is a variant of [`Paper`], a
//! folder, and an arm in each `match` of the module above.

use serde::Serialize;

use super::{claim::Claim, table::ComparisonTable};

/// A paper, or two versions of one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Paper {
    /// Heidemann 1996 and 1997.
    Heidemann,
    /// Gürkan 1998.
    Gurkan,
    /// Faber, Touch and Yue 1997.
    Faber,
    /// Okamoto, Terai, Hasegawa and Murata 2001.
    Okamoto,
}

impl Paper {
    /// All of them, in the order of the reports.
    pub const ALL: [Self; 4] = [Self::Heidemann, Self::Gurkan, Self::Faber, Self::Okamoto];

    /// As the command line calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heidemann => "heidemann",
            Self::Gurkan => "gurkan",
            Self::Faber => "faber",
            Self::Okamoto => "okamoto",
        }
    }

    /// Whose it is.
    #[must_use]
    pub const fn authors(self) -> &'static str {
        match self {
            Self::Heidemann => "Heidemann",
            Self::Gurkan => "Gürkan",
            Self::Faber => "Faber, Touch and Yue",
            Self::Okamoto => "Okamoto, Terai, Hasegawa and Murata",
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
            Self::Okamoto => {
                "Okamoto, Terai, Hasegawa and Murata 2001, A Resource/Connection Management Scheme \
                 for HTTP Proxy Servers"
            }
        }
    }

    /// By [`name`](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|paper| paper.name() == name)
    }
}

/// What came out of one paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaperResults {
    /// Which one.
    #[serde(skip)]
    pub paper: Paper,
    /// Its tables and figures, and tables of ours.
    pub tables: Vec<ComparisonTable>,
    /// Its sentences.
    pub claims: Vec<Claim>,
}
