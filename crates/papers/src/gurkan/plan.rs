//! How the files of a page travel, and how many clients there are.

/// A plan of `gurkan_tables.toml`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Plan {
    Serial,
    Parallel,
    /// One request at a time on one connection: the thesis calls it "true pipelined".
    Pipelined,
    SegmentFilled,
    /// Ours: all inlines asked for at once.
    TruePipelined,
    /// Ours: as that, and the responses share segments because the servers' TCP waits.
    SharedByNagle,
    /// Ours: as that, and the responses share segments because the servers gather them.
    SharedByWriter,
    /// Ours: one request and one response for a page.
    GetWeb,
    /// Ours: serial, but the user thinks only before a page.
    SerialThinkOnce,
}

impl Plan {
    /// Those of the tables, in their order.
    pub(super) const PRINTED: [Self; 4] =
        [Self::Serial, Self::Parallel, Self::Pipelined, Self::SegmentFilled];

    pub(super) const ALL: [Self; 9] = [
        Self::Serial,
        Self::Parallel,
        Self::Pipelined,
        Self::SegmentFilled,
        Self::TruePipelined,
        Self::SharedByNagle,
        Self::SharedByWriter,
        Self::GetWeb,
        Self::SerialThinkOnce,
    ];

    /// As the experiment file and the columns of Tables 4.9 and 4.10 call it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Parallel => "parallel",
            Self::Pipelined => "pipelined",
            Self::SegmentFilled => "segment_filled",
            Self::TruePipelined => "true_pipelined",
            Self::SharedByNagle => "shared_by_nagle",
            Self::SharedByWriter => "shared_by_writer",
            Self::GetWeb => "get_web",
            Self::SerialThinkOnce => "serial_think_once",
        }
    }

    /// As the thesis calls it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Serial => "serial HTTP/1.0",
            Self::Parallel => "parallel HTTP/1.0",
            Self::Pipelined => "pipelined HTTP/1.1",
            Self::SegmentFilled => "segment filled HTTP/1.1",
            _ => self.name(),
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plan| plan.name() == name)
    }
}

/// How many clients there are.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Load {
    pub(super) web: u32,
    pub(super) ftp: u32,
}

impl Load {
    /// All of Tables 4.2 to 4.8.
    pub(super) fn all() -> impl Iterator<Item = Self> + Clone {
        [8, 16, 32, 64].into_iter().flat_map(|web| (0..=4).map(move |ftp| Self { web, ftp }))
    }

    /// The rows that a median is over: those of Tables 4.9 and 4.10.
    pub(super) fn judged() -> impl Iterator<Item = Self> + Clone {
        Self::all().filter(|load| load.is_judged())
    }

    pub(super) const fn is_judged(self) -> bool {
        self.web < 64 && self.ftp < 4
    }

    /// A light, a middling and a heavy load, for tables that would else be long.
    pub(super) const EXAMPLES: [Self; 3] =
        [Self { web: 8, ftp: 0 }, Self { web: 16, ftp: 2 }, Self { web: 32, ftp: 3 }];

    pub(super) fn is_example(self) -> bool {
        Self::EXAMPLES.contains(&self)
    }
}
