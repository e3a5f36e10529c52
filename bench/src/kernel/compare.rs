//! The runs of one path in both worlds, and how they differ.

use super::flow::{Flow, Outcome};
use super::path::{Class, Path};
use ackwise_units::statistics::Spread;

/// A world.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Side {
    Kernel,
    Simulated,
}

/// The same transfers with the same losses in both worlds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) kernel: Outcome,
    pub(super) simulated: Outcome,
}

/// All runs of one path.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) path: Path,
    pub(super) pairs: Vec<Pair>,
    /// Both worlds' packets in the run whose ratio is the median.
    pub(super) typical: [Flow; 2],
    /// Runs that were disturbed and repeated.
    pub(super) repeated: u32,
    /// Why the figures of the kernel may be wrong: too many runs were disturbed.
    pub(super) doubt: Option<String>,
}

impl Pair {
    pub(super) const fn side(&self, side: Side) -> &Outcome {
        match side {
            Side::Kernel => &self.kernel,
            Side::Simulated => &self.simulated,
        }
    }

    /// The simulator's time over the kernel's.
    pub(super) fn ratio(&self) -> f64 {
        self.simulated.time / self.kernel.time
    }
}

impl Comparison {
    /// Median over the runs.
    pub(super) fn median(&self, side: Side, part: fn(&Outcome) -> f64) -> f64 {
        Spread::of(self.pairs.iter().map(|pair| part(pair.side(side)))).median
    }

    /// The simulator's median time over the kernel's.
    pub(super) fn ratio(&self) -> f64 {
        let time = |side| self.median(side, |it| it.time);
        time(Side::Simulated) / time(Side::Kernel)
    }

    /// The relative difference of the times, in percent.
    pub(super) fn off(&self) -> f64 {
        100.0 * (self.ratio() - 1.0).abs()
    }

    /// Dropped packets in percent of those sent, over all runs.
    pub(super) fn drops(&self, side: Side) -> f64 {
        let sum = |part: fn(&Outcome) -> u64| -> u64 {
            self.pairs.iter().map(|pair| part(pair.side(side))).sum()
        };
        #[expect(clippy::cast_precision_loss, reason = "counts of packets")]
        let [dropped, sent] = [sum(|it| it.dropped), sum(|it| it.sent)].map(|count| count as f64);
        100.0 * dropped / sent
    }

    /// The simulator's excess of drops, in percentage points.
    pub(super) fn more_drops(&self) -> f64 {
        self.drops(Side::Simulated) - self.drops(Side::Kernel)
    }

    /// The least and the most that the kernel's own runs have: no preset can be nearer to all of them.
    pub(super) fn kernel_range(&self, part: fn(&Outcome) -> f64) -> [f64; 2] {
        let runs = || self.pairs.iter().map(|pair| part(&pair.kernel));
        [runs().fold(f64::INFINITY, f64::min), runs().fold(f64::NEG_INFINITY, f64::max)]
    }

    /// Segments back to back after an idle time; 0 without one.
    pub(super) fn burst(&self, side: Side) -> f64 {
        self.median(side, |it| it.burst.into())
    }

    /// The simulator's excess of that.
    pub(super) fn more_burst(&self) -> f64 {
        self.burst(Side::Simulated) - self.burst(Side::Kernel)
    }
}

/// Something that was aimed at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) what: String,
    pub(super) unit: &'static str,
    pub(super) limit: f64,
    pub(super) measured: f64,
}

impl Target {
    pub(super) fn is_reached(&self) -> bool {
        self.measured <= self.limit
    }
}

/// The targets for drops, in percentage points, and for bursts, in segments.
pub(super) const DROPS: f64 = 1.0;
pub(super) const BURST: f64 = 1.0;

/// Those whose figures hold.
pub(super) fn certain(all: &[Comparison]) -> impl Iterator<Item = &Comparison> {
    all.iter().filter(|it| it.doubt.is_none())
}

/// What is aimed at, for the classes that there are. Doubtful comparisons do not count.
pub(super) fn targets(all: &[Comparison]) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut add = |what: String, unit, limit, measured: f64| {
        if !measured.is_nan() {
            targets.push(Target { what, unit, limit, measured });
        }
    };
    for class in Class::ALL {
        let of_class = || certain(all).filter(|it| it.path.class() == class);
        let median = Spread::of(of_class().map(Comparison::off)).median;
        let worst = of_class().map(Comparison::off).fold(f64::NAN, f64::max);
        let (most_median, most) = match class {
            Class::NoLoss => (5.0, Some(15.0)),
            Class::Loss => (5.0, Some(20.0)),
            Class::Bbr => (10.0, None),
        };
        let name = class.name();
        add(format!("time, {name}, median"), "%", most_median, median);
        if let Some(most) = most {
            add(format!("time, {name}, worst"), "%", most, worst);
        }
    }
    let worst = |part: fn(&Comparison) -> f64| {
        certain(all).map(|it| part(it).abs()).fold(f64::NAN, f64::max)
    };
    add("drops, worst".to_owned(), "points", DROPS, worst(Comparison::more_drops));
    add("burst after idle, worst".to_owned(), "segments", BURST, worst(Comparison::more_burst));
    targets
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::kernel) fn outcome(time: f64, dropped: u64, burst: u32) -> Outcome {
        Outcome { time, sent: 100, dropped, again: dropped, burst, window: 10.0 }
    }

    pub(in crate::kernel) fn comparison(number: u64, simulated: f64) -> Comparison {
        let pair = |time| Pair {
            kernel: outcome(1.0, 1, 10),
            simulated: outcome(simulated * time, 3, 12),
        };
        Comparison {
            path: Path::draw(1, number),
            pairs: vec![pair(1.0), pair(9.0), pair(0.5)],
            typical: [Flow::default(), Flow::default()],
            repeated: 1,
            doubt: None,
        }
    }

    #[test]
    fn medians_are_compared_and_drops_are_pooled() {
        let it = comparison(0, 1.2);
        assert!((it.ratio() - 1.2).abs() < 1e-9 && (it.off() - 20.0).abs() < 1e-9);
        assert!((it.more_drops() - 2.0).abs() < 1e-9);
        assert!((it.more_burst() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_target_is_the_class_s_own_and_leaves_doubt_out() {
        let mut all = vec![comparison(0, 1.1), comparison(2, 0.9), comparison(4, 1.0)];
        assert_eq!(Class::NoLoss, all[2].path.class());
        all[1].doubt = Some("a processor paused".to_owned());
        let targets = targets(&all);
        let find = |what: &str| targets.iter().find(|it| it.what == what).unwrap();
        assert!((find("time, no loss, median").measured - 5.0).abs() < 1e-9);
        assert!((find("time, no loss, worst").measured - 10.0).abs() < 1e-9);
        assert!(!find("drops, worst").is_reached() && find("time, no loss, worst").is_reached());
        assert!(targets.iter().all(|it| !it.what.contains("BBR")), "no such path: {targets:?}");
    }
}
