//! The table, and whether the targets are reached.

use std::time::Duration;

use super::exchange::Ran;
use super::{Case, Path, Restart};
use crate::verdict;
use ackwise_units::statistics::Spread;

/// The runs of one case.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) case: Case,
    times: Vec<Duration>,
    drops: Vec<usize>,
    disturbed: usize,
    runs: usize,
}

impl Cell {
    pub(super) const fn new(case: Case) -> Self {
        Self { case, times: Vec::new(), drops: Vec::new(), disturbed: 0, runs: 0 }
    }

    pub(super) fn add(&mut self, ran: Ran) {
        self.times.extend(ran.times);
        self.drops.extend(ran.drops);
        self.disturbed += usize::from(!ran.disturbed.is_empty());
        self.runs += 1;
    }

    fn times(&self) -> Spread {
        Spread::of(self.times.iter().map(|time| time.as_secs_f64() * 1e3))
    }

    #[expect(clippy::cast_precision_loss, reason = "few packets")]
    fn drops(&self) -> Spread {
        Spread::of(self.drops.iter().map(|drops| *drops as f64))
    }
}

/// Prints all rows, and the ratio of each to the kernel's restart.
pub(super) fn print(cells: &[Cell]) {
    println!(
        "\n| path | congestion control | restart | ms, median [quartiles] | of the kernel's | drops per \
         response, median [quartiles] | total | disturbed runs |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for cell in cells {
        let Case { path, control, restart } = cell.case;
        let (path, restart) = (words(path), restart_words(restart));
        let drops: usize = cell.drops.iter().sum();
        println!(
            "| {path} | {control} | {restart} | {} | {:.2} | {} | {drops} | {} of {} |",
            cell.times(),
            ratio(cells, cell),
            cell.drops(),
            cell.disturbed,
            cell.runs
        );
    }
    println!();
    for cell in cells.iter().filter(|cell| cell.case.restart == Restart::Paced) {
        let (limit, ratio) = (limit(cell.case.path), ratio(cells, cell));
        let Case { path, control, .. } = cell.case;
        let path = words(path);
        println!("{path}, {control}: {ratio:.2} of {limit}: {}", verdict(ratio <= limit));
        if cell.case.path == Path::Same {
            let sum = |cell: &Cell| cell.drops.iter().sum::<usize>();
            let (ours, kernel) = (sum(cell), sum(kernel(cells, cell)));
            println!("{path}, {control}: {ours} drops of {kernel}: {}", verdict(ours <= kernel));
        }
    }
}

/// The row of the kernel's restart on the same path.
fn kernel<'a>(cells: &'a [Cell], cell: &'a Cell) -> &'a Cell {
    let is_it = |it: &&Cell| {
        let (it, case) = (it.case, cell.case);
        (it.path, it.control, it.restart) == (case.path, case.control, Restart::Kernel)
    };
    cells.iter().find(is_it).unwrap_or(cell)
}

fn ratio(cells: &[Cell], cell: &Cell) -> f64 {
    cell.times().median / kernel(cells, cell).times().median
}

const fn words(path: Path) -> &'static str {
    match path {
        Path::Same => "20 Mb/s",
        Path::Halved => "10 Mb/s since the idle period",
    }
}

const fn restart_words(restart: Restart) -> &'static str {
    match restart {
        Restart::Kernel => "the kernel's",
        Restart::None => "none (sysctl 0)",
        Restart::Paced => "`tune --pace`",
        Restart::Program => "`serve --pace` (sysctl 0)",
    }
}

/// Highest median, relative to the kernel's restart.
const fn limit(path: Path) -> f64 {
    match path {
        Path::Same => 0.6,
        Path::Halved => 1.1,
    }
}
