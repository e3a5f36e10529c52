//! The region in which pacing wins: windows, buffers and replies.

use ackwise_report::{Block, Cell, Grade, HtmlTable, Line, Plot};
use ackwise_sim::observe::Nobody;

use super::{drop_pct, page_ms, value};
use crate::{
    ReproduceError,
    figure::Figure,
    file::{File, experiment_file},
    inputs::inputs,
    runner::{self, Outcome},
    table::{Case, CaseValue, ComparisonTable, Row},
};

/// `restart_region.toml`: the windows, replies and buffers that it varies, in segments and packets.
pub(super) const WINDOWS: [u32; 5] = [7, 10, 14, 20, 30];
pub(super) const REPLIES: [u32; 3] = [20, 60, 120];
pub(super) const BUFFERS: [u32; 7] = [2, 3, 4, 6, 10, 20, 40];
/// Its bandwidth-delay product, in packets, and its round trip.
pub(super) const BANDWIDTH_DELAY: u32 = 20;
pub(super) const ROUND_TRIP_MS: f64 = 100.0;

const FILE: File = experiment_file!("restart_region.toml");
pub(super) const TABLE: &str = "restart_region";
const POLICIES: [&str; 4] = ["keep", "restart", "paced", "paced-ns-2"];

/// What `restart_region.toml` gave.
pub(super) struct Region(Vec<Outcome<Nobody>>);

/// A window, a reply and a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) window: u32,
    pub(super) reply: u32,
    pub(super) buffer: u32,
}

/// What one policy gives there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) page_ms: f64,
    pub(super) drop_pct: f64,
}

impl Point {
    /// All, in the order of the table.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let replies = WINDOWS.into_iter().flat_map(|it| REPLIES.map(|reply| (it, reply)));
        replies.flat_map(|(window, reply)| BUFFERS.map(|buffer| Self { window, reply, buffer }))
    }

    /// Whether the window has room on the path and in the buffer: else it is lost from in any case.
    pub(super) const fn fits(self) -> bool {
        self.window <= BANDWIDTH_DELAY + self.buffer
    }
}

impl Region {
    pub(super) fn run() -> Result<Self, ReproduceError> {
        runner::run(FILE, |_| Nobody).map(Self)
    }

    pub(super) fn given(&self, at: Point, policy: &str) -> Result<Given, ReproduceError> {
        let [window, reply, buffer] =
            [at.window, at.reply, at.buffer].map(|number| number.to_string());
        let case =
            [("window", &*window), ("reply", &*reply), ("buffer", &*buffer), ("policy", policy)];
        Ok(Given {
            page_ms: value(&self.0, page_ms, &case)?,
            drop_pct: value(&self.0, drop_pct, &case)?,
        })
    }

    /// What keeping the window takes where the buffer holds all of it.
    pub(super) fn without_loss(&self, at: Point) -> Result<Given, ReproduceError> {
        self.given(Point { buffer: 2 * BANDWIDTH_DELAY, ..at }, "keep")
    }

    /// A line for each place, the policies beside each other.
    pub(super) fn table(&self) -> ComparisonTable {
        let mut rows = Vec::new();
        for at in Point::all() {
            let given = POLICIES.map(|policy| self.given(at, policy).ok());
            let mut add = |measure: String, ours: Option<f64>| {
                rows.push(Row { case: case(at), measure, ours, ..Row::default() });
            };
            for (policy, given) in POLICIES.into_iter().zip(given) {
                let policy = policy.replace('-', "_");
                add(format!("{policy}_ms"), given.map(|it| it.page_ms));
                add(format!("{policy}_drop_pct"), given.map(|it| it.drop_pct));
            }
            let [keep, restart, paced, _] = given.map(|it| it.map(|it| it.page_ms));
            add("paced_saves_pct".to_owned(), saves(keep, restart, paced));
        }
        let title = "Time of a reply by window, reply (segments) and buffer (packets), after a \
                     pause longer than the RTO; paced_saves is against the faster of keep and \
                     restart";
        let (id, notes) = (TABLE.to_owned(), inputs(FILE.text));
        ComparisonTable { id, title: title.to_owned(), notes, rows }
    }
}

/// What pacing saves against the faster of the others, in percent.
fn saves(keep: Option<f64>, restart: Option<f64>, paced: Option<f64>) -> Option<f64> {
    let best = keep?.min(restart?);
    Some(100.0 * (1.0 - paced? / best))
}

fn case(at: Point) -> Case {
    let Point { window, reply, buffer } = at;
    let number = |name: &str, value: u32| (name.to_owned(), CaseValue::Number(value.into()));
    Case(vec![number("window", window), number("reply", reply), number("buffer", buffer)])
}

/// The region, drawn from its table.
pub(in crate::heidemann) fn figure(tables: &[ComparisonTable]) -> Option<Figure> {
    let table = tables.iter().find(|table| table.id == TABLE)?;
    let mut blocks = vec![Block::Text(LEAD.to_owned())];
    for window in WINDOWS {
        blocks.push(Block::Table(saved_by(table, window)));
    }
    for reply in REPLIES {
        blocks.push(Block::Plot(over_buffers(table, 14, reply)));
    }
    Some(Figure::new("Where pacing after an idle time wins", blocks))
}

/// Buffers downwards, replies to the right.
fn saved_by(table: &ComparisonTable, window: u32) -> HtmlTable {
    let caption = format!(
        "Window of {window} segments ({:.2} of the bandwidth-delay product): time that pacing saves",
        f64::from(window) / f64::from(BANDWIDTH_DELAY),
    );
    let replies = REPLIES.map(|reply| format!("reply of {reply} segments"));
    let mut drawn = HtmlTable::new(caption, std::iter::once("buffer".to_owned()).chain(replies));
    for buffer in BUFFERS {
        let cells = REPLIES.map(|reply| {
            let at = Point { window, reply, buffer };
            found(table, at, "paced_saves_pct").map_or_else(|| Cell::text(""), judged)
        });
        let head = Cell::number(format!("{buffer} packets"));
        drawn.add(std::iter::once(head).chain(cells));
    }
    drawn
}

fn judged(saves: f64) -> Cell {
    let verdict = match saves {
        _ if saves >= WINS_PCT => Grade::Good,
        _ if saves > -WINS_PCT => Grade::Fair,
        _ => Grade::Bad,
    };
    let word = match verdict {
        Grade::Good => "pacing wins",
        Grade::Fair => "as fast",
        _ => "slower",
    };
    Cell::Judged(format!("{word}: {saves:+.0} %"), verdict)
}

fn over_buffers(table: &ComparisonTable, window: u32, reply: u32) -> Plot {
    let title = format!("A reply of {reply} segments with a window of {window}");
    let mut plot = Plot::new(title, ["buffer (packets)", "time of the reply (ms)"]);
    for (hue, policy) in POLICIES.into_iter().enumerate() {
        let measure = format!("{}_ms", policy.replace('-', "_"));
        let points = BUFFERS.into_iter().filter_map(|buffer| {
            let time = found(table, Point { window, reply, buffer }, &measure)?;
            Some([f64::from(buffer), time])
        });
        plot.lines.push(Line::new(policy, points).hued(hue));
    }
    plot
}

fn found(table: &ComparisonTable, at: Point, measure: &str) -> Option<f64> {
    let case = case(at);
    table.rows.iter().find(|row| row.case == case && row.measure == measure)?.ours
}

/// Less than this is no difference; our choice.
const WINS_PCT: f64 = 2.5;

const LEAD: &str = "No source has the figures of USC TR 97-661; these are ours. Each field says what \
                    pacing (cwnd over SRTT, until the first ACK) saves against the faster of \
                    keeping the window and restarting with one segment. A window that has no room \
                    on the path (20 packets) and in its buffer is lost from with every policy that \
                    keeps it.";
