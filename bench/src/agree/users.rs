//! What each user fetches and when, generated once for both simulators.

use super::point::Point;
use crate::dice::Dice;

/// The users of one run.
#[derive(Clone, Debug)]
pub(super) struct Users {
    /// Web clients first, then FTP clients.
    pub(super) all: Vec<User>,
    /// Lost packets towards the clients, counted from 0.
    pub(super) lost: Vec<u32>,
}

/// One user. Lists repeat when they are used up.
#[derive(Clone, Debug)]
pub(super) struct User {
    /// Start time in microseconds.
    pub(super) start: u32,
    /// Bytes of each page's files, the primary first.
    pub(super) pages: Vec<Vec<u32>>,
    /// Think time before each page in microseconds.
    pub(super) think: Vec<u32>,
}

impl Users {
    /// Sizes and times are those of Gürkan 1998, section 4.1, as used in the experiments: Pareto
    /// from 1,000 bytes with shapes 0.91 for primaries and 1.24 for inlines, at most 15,000 bytes;
    /// 1 to 2 s of think time. FTP clients fetch one megabyte after the other.
    pub(super) fn draw(point: &Point, dice: &mut Dice) -> Self {
        let web = (0..point.web).map(|_| web_user(point, dice));
        let web: Vec<_> = web.collect();
        let ftp = (0..point.ftp).map(|_| User {
            start: dice.between(0, SECOND),
            pages: vec![vec![1_000_000]],
            think: vec![0],
        });
        let ftp: Vec<_> = ftp.collect();
        let lost = (0..most_packets(point)).filter(|_| dice.unit() < point.loss).collect();
        Self { all: web.into_iter().chain(ftp).collect(), lost }
    }
}

fn web_user(point: &Point, dice: &mut Dice) -> User {
    let start = dice.between(0, SECOND);
    let mut page = || {
        let primary = pareto(dice, 0.91);
        let inlines = (0..point.plan.inlines()).map(|_| pareto(dice, 1.24));
        std::iter::once(primary).chain(inlines.collect::<Vec<_>>()).collect()
    };
    let pages = (0..PAGES).map(|_| page()).collect();
    let think = (0..PAGES).map(|_| dice.between(SECOND, 2 * SECOND)).collect();
    User { start, pages, think }
}

fn pareto(dice: &mut Dice, shape: f64) -> u32 {
    let size = 1_000.0 * (1.0 - dice.unit()).powf(-1.0 / shape);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 15,000")]
    let size = size.min(15_000.0) as u32;
    size
}

/// An upper bound on the packets offered to the bottleneck in a run: four times its capacity in
/// packets of 500 bytes.
fn most_packets(point: &Point) -> u32 {
    if point.loss > 0.0 { point.rate * SECONDS } else { 0 }
}

/// Duration of a run in virtual seconds (our choice).
pub(super) const SECONDS: u32 = 60;

/// Think times are at least a second, so the list is not repeated.
const PAGES: u32 = SECONDS;

const SECOND: u32 = 1_000_000;
