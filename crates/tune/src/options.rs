//! What to do, and where.

use std::{path::PathBuf, time::Duration};

use ackwise_linux::{foreign::SocketOption, host_changes::RUN_DIRECTORY};
use ackwise_tuning::{Patience, Percent};
use ipnet::IpNet;

use crate::{Pacing, Target};

/// What a run does.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which server.
    pub target: Target,
    /// The server's network namespace.
    pub namespace: NetworkNamespace,
    /// Whose listening sockets to tune; `None`: those of the only user who has any.
    pub user: Option<u32>,
    /// Whether to set `TCP_NODELAY`.
    pub no_delay: bool,
    /// The bytes to set as `TCP_NOTSENT_LOWAT`; `None` leaves it.
    pub unsent: Option<u32>,
    /// Most memory for all send and receive buffers in use, in bytes as the kernel counts them; `None` leaves the
    /// buffers to the kernel.
    pub buffer_memory: Option<u64>,
    /// Whether to restart by rate after an idle period, and how; needs the feature `ebpf`.
    pub pacing: Pacing,
    /// When to close idle connections; `None`: never.
    pub closing: Option<Closing>,
    /// Whether to do it. Otherwise the run reports what it would do, and ends.
    pub apply: bool,
    /// How long a dry run watches the connections.
    pub watch: Duration,
    /// The directory of the journals.
    pub directory: PathBuf,
    /// Starts the process that undoes the run if it is killed: this program, with these arguments and the
    /// path of the journal. `None`: only [`undo`](fn@crate::undo) does.
    pub keeper: Option<(PathBuf, Vec<String>)>,
}

/// In which network namespace the server is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NetworkNamespace {
    /// In this program's.
    Here,
    /// In that of a process.
    Process(u32),
    /// In that of a file, such as `/run/netns/NAME`.
    File(PathBuf),
}

/// When idle connections close.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Closing {
    /// Connections that each server can have, which is the listening sockets of one address and of one process. Idle ones
    /// close for new ones, and for places that stay free. `None`: only descriptors count.
    pub max_connections: Option<u32>,
    /// How much of the places, and of the descriptors of each process, stays free for those that come next.
    pub keep_free: KeepFree,
    /// At most this many in a second.
    pub per_second: u32,
    /// How long a connection has to be quiet.
    pub patience: Patience,
    /// Clients, and servers behind this one, whose connections are never closed.
    pub exclude: Vec<IpNet>,
}

/// How much of a limit stays free.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeepFree {
    /// This number of them.
    Number(u32),
    /// This part of the limit.
    Part(Percent),
}

impl KeepFree {
    /// As many as stay free of `limit`: at most half of it (our choice), so that connections can be kept at all.
    ///
    /// ```
    /// use ackwise_tune::KeepFree;
    ///
    /// assert_eq!(KeepFree::DEFAULT.of(200), 20);
    /// assert_eq!(KeepFree::Number(300).of(200), 100);
    /// ```
    #[must_use]
    pub fn of(self, limit: u64) -> u64 {
        let wanted = match self {
            Self::Number(number) => number.into(),
            Self::Part(part) => part.of(limit),
        };
        wanted.min(limit / 2)
    }

    /// A tenth, as the threshold of `ackwise-tuning`. Our choice: Okamoto et al. 2001, section 3.2, name no figure.
    pub const DEFAULT: Self = Self::Part(Percent::new(10).expect("at most 100"));
}

impl Closing {
    /// Default of [`per_second`](Self::per_second). Our choice: more than 500 clients with one second
    /// between requests open at a limit of 200, and few enough to look at.
    pub const PER_SECOND: u32 = 1_000;
}

impl Options {
    /// Looks and reports, and does nothing yet.
    #[must_use]
    pub fn dry_run(target: Target, namespace: NetworkNamespace) -> Self {
        Self {
            target,
            namespace,
            user: None,
            no_delay: false,
            unsent: None,
            buffer_memory: None,
            pacing: Pacing::Off,
            closing: None,
            apply: false,
            watch: Self::WATCH,
            directory: RUN_DIRECTORY.into(),
            keeper: None,
        }
    }

    /// Default of [`watch`](Self::watch). Our choice: fifty delayed ACKs.
    pub const WATCH: Duration = Duration::from_secs(2);

    /// The options to set, with their values.
    pub(crate) fn wanted(&self) -> Vec<(SocketOption, u32)> {
        let no_delay = self.no_delay.then_some((SocketOption::NoDelay, 1));
        let unsent = self.unsent.map(|bytes| (SocketOption::NotSentLowat, bytes));
        no_delay.into_iter().chain(unsent).collect()
    }
}
