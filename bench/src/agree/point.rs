//! A random path and load.

use std::fmt;

use crate::dice::Dice;

/// The input of both simulators.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// Rate of the bottleneck in kb/s.
    pub(super) rate: u32,
    /// One-way delay of the bottleneck in ms.
    pub(super) delay: u32,
    /// Queue of the bottleneck in packets, including the one being sent.
    pub(super) queue: u32,
    pub(super) plan: Plan,
    /// Number of web clients.
    pub(super) web: u32,
    /// Number of FTP clients.
    pub(super) ftp: u32,
    /// Initial window in segments.
    pub(super) initial_window: u32,
    /// Maximum window in segments.
    pub(super) window: u32,
    /// Share of the packets towards the clients that is lost before the queue.
    pub(super) loss: f64,
}

/// How the files of a page are transferred.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Plan {
    /// Pages of one file, each on a new connection.
    Single,
    /// Four files, one after the other, on a new connection for each page.
    Persistent,
    /// Four files, the inlines requested at once, on a new connection for each page.
    Pipelined,
    /// Four files on up to three connections, which are kept between pages.
    Parallel,
}

impl Plan {
    pub(super) const ALL: [Self; 4] =
        [Self::Single, Self::Persistent, Self::Pipelined, Self::Parallel];

    /// Its name in the script for ns-2.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Persistent => "persistent",
            Self::Pipelined => "pipelined",
            Self::Parallel => "parallel",
        }
    }

    /// Number of files besides the primary, as in the thesis that used ns-2 (Gürkan 1998, section
    /// 4.1).
    pub(super) const fn inlines(self) -> usize {
        match self {
            Self::Single => 0,
            Self::Persistent | Self::Pipelined | Self::Parallel => 3,
        }
    }
}

/// The ranges of [`Point::draw`] (our choice): from half to three times the thesis' values.
pub(super) const RANGES: &str = "\
points: rate 750 to 4000 kb/s, delay 10 to 150 ms, queue 10 to 60 packets, 1 to 32 web and 0 to 3 FTP
clients, initial window 1 to 4 and largest window 8 to 32 segments, one of 4 plans; every third has a
loss of 0.1 to 3 %. Rate and loss are log-uniform, the others uniform.";

impl Point {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        let rate = dice.scaled(750.0, 4_000.0) as u32;
        Self {
            rate,
            delay: dice.between(10, 150),
            queue: dice.between(10, 60),
            plan: Plan::ALL[dice.between(0, 3) as usize],
            web: dice.between(1, 32),
            ftp: dice.between(0, 3),
            initial_window: dice.between(1, 4),
            window: dice.between(8, 32),
            loss: if dice.between(1, 3) == 1 { dice.scaled(0.001, 0.03) } else { 0.0 },
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, delay, queue, plan, web, ftp, initial_window, window, loss } = self;
        let (plan, loss) = (plan.name(), 100.0 * loss);
        write!(
            f,
            "{rate:>5} {delay:>4} {queue:>3} {plan:<10} {web:>3} {ftp:>3} {initial_window:>2} \
             {window:>3} {loss:>5.2}"
        )
    }
}

/// Headings of a point's columns.
pub(super) const HEADINGS: &str = " kb/s   ms   q plan       web ftp iw max loss%";
