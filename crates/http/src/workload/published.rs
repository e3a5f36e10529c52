//! The papers' workloads. A value without a source is marked "our choice".

use alloc::borrow::Cow;
use core::time::Duration;

use ackwise_link::Probability;
use ackwise_tcp::ByteCount;

use super::{Count, Pages, Size, Span, Truncation, Weighted};

/// All of them by name.
impl Pages {
    /// The published workload called `name`; the thesis' with the shapes of its text and no small
    /// files.
    #[must_use]
    pub fn published(name: &str) -> Option<Self> {
        let found = Self::by_name().into_iter().find(|(known, _)| *known == name);
        found.map(|(_, pages)| pages)
    }

    /// The names of the published workloads.
    pub fn published_names() -> impl Iterator<Item = &'static str> {
        Self::by_name().into_iter().map(|(name, _)| name)
    }

    fn by_name() -> [(&'static str, Self); 7] {
        [
            ("heidemann", Self::HEIDEMANN),
            ("mah", Self::MAH),
            (
                "gurkan",
                Self::gurkan(1.24, Probability::per_million(0).expect("zero is at most a million")),
            ),
            ("surge", Self::SURGE),
            ("surge-requested", Self::SURGE_REQUESTED),
            ("webstone-2", Self::WEBSTONE_2),
            ("specweb96", Self::specweb96()),
        ]
    }
}

/// Heidemann 1996 and 1997.
impl Pages {
    /// The benchmark's page (Heidemann 1997, section 2.1): documents of 6651, 3883 and 1866 bytes.
    pub const HEIDEMANN: Self =
        Self::Fixed { primary: 6_651, inlines: Cow::Borrowed(&[3_883, 1_866]) };
}

/// Gürkan 1998, section 3.1.
impl Pages {
    /// The thesis' pages: three inlines; sizes are Pareto from 1,000 bytes ("1 kbytes"), the
    /// primary with shape 0.91, the inlines with `inline_shape`, which is 1.24 in the text.
    ///
    /// Not in the text: the cap of 15,000 bytes, which Table 4.5 shows exactly; and `small_files`,
    /// the share of files of 500 bytes, which occur in Tables 4.1 and 4.3 only. The serial tables
    /// match with 0.91 for inlines too and 12 % small files, the parallel ones with 5 %, the
    /// pipelined and segment-filled ones with none (our choice, fitted: reference, section 11).
    #[must_use]
    pub fn gurkan(inline_shape: f64, small_files: Probability) -> Self {
        let size = |shape| {
            let pareto = Size::Pareto {
                least: ByteCount(1_000),
                shape,
                most: ByteCount(15_000),
                truncation: Truncation::Clip,
            };
            match small_files.as_per_million() {
                0 => pareto, // no number is drawn to choose
                _ => pareto.with_atom(ByteCount(500), small_files),
            }
        };
        Self::Drawn { primary: size(0.91), inline: size(inline_shape), inlines: Count::Fixed(3) }
    }
}

/// Mah 1997.
impl Pages {
    /// Responses as quoted by the thesis: Pareto from 1,000 bytes, shapes in the middle of 0.85 to
    /// 0.97 for primary files and of 1.12 to 1.39 for inlines. "Fewer than four files for 80 % of
    /// documents" becomes a Pareto number of files from 1 on (our choice).
    pub const MAH: Self = Self::Drawn {
        primary: mah(0.91),
        inline: mah(1.255),
        inlines: Count::Pareto { least: 1, shape: 1.161, most: 100, off: 1 },
    };
}

const fn mah(shape: f64) -> Size {
    let truncation = Truncation::Clip;
    Size::Pareto { least: ByteCount(1_000), shape, most: TAIL_CAP, truncation }
}

/// SURGE: Barford and Crovella 1998, table 1.
impl Pages {
    /// Files of the modelled server, uniformly chosen.
    pub const SURGE: Self = Self::Drawn {
        primary: Size::SURGE_FILES,
        inline: Size::SURGE_FILES,
        inlines: Count::SURGE_EMBEDDED,
    };

    /// Files weighted by requests: popular ones are small.
    pub const SURGE_REQUESTED: Self = Self::Drawn {
        primary: Size::SURGE_REQUESTED,
        inline: Size::SURGE_REQUESTED,
        inlines: Count::SURGE_EMBEDDED,
    };
}

/// SURGE: Barford and Crovella 1998, table 1.
impl Size {
    /// Sizes of the server's files: 93 % log-normal below 133,000 bytes, the others Pareto above.
    pub const SURGE_FILES: Self = Self::Mixture(Cow::Borrowed(&[
        Weighted {
            weight: 93,
            size: Self::LogNormal {
                mu: 9.357,
                sigma: 1.318,
                most: ByteCount(133_000),
                truncation: Truncation::Conditional,
            },
        },
        Weighted {
            weight: 7,
            size: Self::Pareto {
                least: ByteCount(133_000),
                shape: 1.1,
                most: TAIL_CAP,
                truncation: Truncation::Clip,
            },
        },
    ]));

    /// Sizes of requested files, weighted by popularity.
    pub const SURGE_REQUESTED: Self = Self::Pareto {
        least: ByteCount(1_000),
        shape: 1.0,
        most: TAIL_CAP,
        truncation: Truncation::Clip,
    };
}

/// SURGE: Barford and Crovella 1998, table 1.
impl Count {
    /// Embedded references of a page; at most 100 (our choice).
    pub const SURGE_EMBEDDED: Self = Self::Pareto { least: 1, shape: 2.43, most: 100, off: 0 };
}

/// Those of users, by the workload that they belong to.
impl Span {
    /// The published think times called `name`.
    #[must_use]
    pub fn published(name: &str) -> Option<Self> {
        let found = Self::BY_NAME.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, span)| span)
    }

    /// The names of the published think times.
    pub fn published_names() -> impl Iterator<Item = &'static str> {
        Self::BY_NAME.into_iter().map(|(name, _)| name)
    }

    const BY_NAME: [(&'static str, Self); 2] =
        [("gurkan", Self::GURKAN), ("surge", Self::SURGE_INACTIVE_OFF)];

    /// Gürkan 1998: uniform between 1 and 2 seconds. Section 4.1 prints milliseconds, Tables 4.1, 4.3, 4.5 and
    /// 4.7 show seconds.
    pub const GURKAN: Self =
        Self::Uniform { from: Duration::from_secs(1), to: Duration::from_secs(2) };
}

/// SURGE: Barford and Crovella 1998, table 1.
impl Span {
    /// Active OFF: the browser's processing time between the files of a page.
    pub const SURGE_ACTIVE_OFF: Self =
        Self::Weibull { scale: Duration::from_millis(1_460), shape: 0.382 };

    /// Inactive OFF: the user's think time; at most an hour (our choice).
    pub const SURGE_INACTIVE_OFF: Self = Self::Pareto {
        least: Duration::from_secs(1),
        shape: 1.5,
        most: Duration::from_secs(3_600),
        truncation: Truncation::Clip,
    };
}

/// WebSTONE and SPECweb96.
impl Pages {
    /// WebSTONE 2, its standard list of files; each is a page.
    pub const WEBSTONE_2: Self = Self::Drawn {
        primary: Size::Mixture(Cow::Borrowed(&[
            file(350, 500),
            file(500, 5_000),
            file(140, 50_000),
            file(9, 500_000),
            file(1, 5_000_000),
        ])),
        inline: Size::Fixed(ByteCount(0)),
        inlines: Count::Fixed(0),
    };

    /// SPECweb96: four classes of nine files; each file is a page. Within a class the frequencies
    /// are "Poisson-like": those of a Poisson distribution with mean 5 (our choice).
    #[must_use]
    pub fn specweb96() -> Self {
        // 100 * 5^n / n!, for the file of n times the class's minimum size.
        const WITHIN_CLASS: [u32; 9] = [500, 1_250, 2_083, 2_604, 2_604, 2_170, 1_550, 969, 538];
        let class = |weight, least: u64| {
            let files = (1..).zip(WITHIN_CLASS).map(|(n, weight)| file(weight, n * least));
            Weighted { weight, size: Size::Mixture(files.collect()) }
        };
        let classes = [class(35, 100), class(50, 1_000), class(14, 10_000), class(1, 100_000)];
        Self::Drawn {
            primary: Size::Mixture(classes.into_iter().collect()),
            inline: Size::Fixed(ByteCount(0)),
            inlines: Count::Fixed(0),
        }
    }
}

const fn file(weight: u32, bytes: u64) -> Weighted {
    Weighted { weight, size: Size::Fixed(ByteCount(bytes)) }
}

/// Cap of heavy tails (our choice): without it, one file may outlast the run.
const TAIL_CAP: ByteCount = ByteCount(10_000_000);
