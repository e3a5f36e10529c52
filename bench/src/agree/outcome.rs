//! Measurements of a simulator, and the differences between two.

use super::point::Point;

/// Results of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Completed pages of the web clients.
    pub(super) pages: f64,
    /// Total time of these pages in seconds.
    pub(super) waited: f64,
    /// Packets towards the clients that reached the bottleneck.
    pub(super) offered: f64,
    /// Packets that were lost or dropped at the full queue.
    pub(super) dropped: f64,
}

/// All runs of a point by Ackwise and ns-2.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) point: Point,
    pub(super) runs: Vec<[Outcome; 2]>,
}

/// Ackwise or ns-2.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Side {
    Ours,
    Ns2,
}

impl Comparison {
    /// Mean page time in seconds, over all pages of all runs.
    pub(super) fn page_time(&self, side: Side) -> f64 {
        self.sum(side, |run| run.waited) / self.sum(side, |run| run.pages)
    }

    /// Dropped packets in percent of those offered, over all runs.
    pub(super) fn drops(&self, side: Side) -> f64 {
        100.0 * self.sum(side, |run| run.dropped) / self.sum(side, |run| run.offered)
    }

    /// Excess of Ackwise's page time in percent of ns-2's.
    pub(super) fn longer(&self) -> f64 {
        100.0 * (self.page_time(Side::Ours) / self.page_time(Side::Ns2) - 1.0)
    }

    /// Standard error of the differences between runs, in percent.
    pub(super) fn error(&self) -> f64 {
        let mean = |run: Outcome| run.waited / run.pages;
        let differences = self.runs.iter().map(|[ours, ns2]| mean(*ours) - mean(*ns2));
        let differences: Vec<f64> = differences.collect();
        #[expect(clippy::cast_precision_loss, reason = "there are tens")]
        let count = differences.len() as f64;
        let middle = differences.iter().sum::<f64>() / count;
        let squares: f64 = differences.iter().map(|it| (it - middle).powi(2)).sum();
        100.0 * (squares / (count - 1.0) / count).sqrt() / self.page_time(Side::Ns2)
    }

    /// Excess of Ackwise's drops, in percentage points.
    pub(super) fn more_drops(&self) -> f64 {
        self.drops(Side::Ours) - self.drops(Side::Ns2)
    }

    fn sum(&self, side: Side, part: fn(&Outcome) -> f64) -> f64 {
        self.runs.iter().map(|pair| part(&pair[side as usize])).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn runs_are_weighted_by_their_pages_and_packets() {
        let run = |pages, waited, dropped| Outcome { pages, waited, offered: 100.0, dropped };
        let runs = vec![
            [run(10.0, 10.0, 2.0), run(10.0, 8.0, 1.0)],
            [run(30.0, 34.0, 4.0), run(30.0, 32.0, 1.0)],
        ];
        let comparison = Comparison { point: Point::draw(&mut Dice::new(1)), runs };
        assert!((comparison.page_time(Side::Ours) - 1.1).abs() < 1e-9);
        assert!((comparison.longer() - 10.0).abs() < 1e-9);
        assert!((comparison.more_drops() - 2.0).abs() < 1e-9);
        // Differences of 0.2 and 0.0667 s: their standard error is 0.0667 s.
        assert!((comparison.error() - 100.0 / 15.0).abs() < 1e-9);
    }
}
