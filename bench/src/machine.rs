//! Measures the load of other processes on the machine, from `/proc/stat`.

use std::time::{Duration, Instant};
use std::{fs, thread};

use xtask::process;

/// Load above which a measurement is unreliable (our choice).
pub(crate) const BUSY: f64 = 0.1;

/// Start of a measurement of processor use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    at: Instant,
    ticks: Ticks,
    ours: Duration,
}

impl Load {
    /// `None` without `/proc/stat`.
    pub(crate) fn start() -> Option<Self> {
        let ticks = Ticks::now()?;
        Some(Self { at: Instant::now(), ticks, ours: process::children_cpu_time().ok()? })
    }

    /// The share of all processors used by others while this process is idle for a moment.
    pub(crate) fn watch_briefly() -> Option<f64> {
        let load = Self::start()?;
        thread::sleep(BRIEFLY);
        load.used_by_others(load.ours)
    }

    /// The share of all processors used by others since the start; `ours` is the processor time of
    /// the children so far. The counters' ticks limit the precision to about a hundredth of a
    /// second.
    pub(crate) fn used_by_others(self, ours: Duration) -> Option<f64> {
        let all = Ticks::now()?.since(self.ticks)?;
        let processors =
            f64::from(u32::try_from(thread::available_parallelism().ok()?.get()).ok()?);
        let capacity = self.at.elapsed().as_secs_f64() * processors;
        let ours = ours.saturating_sub(self.ours).as_secs_f64() / capacity;
        Some((all.busy_share() - ours).max(0.0))
    }
}

/// Ticks of all processors since boot.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Ticks {
    busy: u64,
    idle: u64,
}

impl Ticks {
    fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// proc(5): `cpu user nice system idle iowait irq softirq steal …`. `iowait` counts as idle;
    /// the fields after `steal` are included in `user`.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<u64> =
            line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let [user, nice, system, idle, iowait, irq, softirq, steal] = fields.try_into().ok()?;
        Some(Self { busy: user + nice + system + irq + softirq + steal, idle: idle + iowait })
    }

    /// `None` if a counter decreased, which the kernel permits for `iowait`.
    fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            busy: self.busy.checked_sub(earlier.busy)?,
            idle: self.idle.checked_sub(earlier.idle)?,
        })
    }

    fn busy_share(self) -> f64 {
        let ticks = |count: u64| u32::try_from(count).map_or(f64::INFINITY, f64::from);
        match self.busy + self.idle {
            0 => 0.0,
            all => ticks(self.busy) / ticks(all),
        }
    }
}

const BRIEFLY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_proc_stat_is_all_processors() {
        let stat = "cpu  100 20 30 800 40 5 5 0 7 0\ncpu0 50 10 15 400 20 2 3 0 3 0\n";
        let ticks = Ticks::parse(stat).unwrap();
        assert_eq!(ticks, Ticks { busy: 160, idle: 840 });
        assert!((ticks.busy_share() - 0.16).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_proc_stat_gives_no_figure() {
        for text in ["", "cpu ", "cpu  1 2 3", "cpu  a b c d e f g h", "intr 1 2 3 4 5 6 7 8"] {
            assert_eq!(Ticks::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn our_own_children_do_not_count_as_others() {
        let Some(load) = Load::start() else { return };
        let everything = load.used_by_others(load.ours).unwrap();
        let nothing = load.used_by_others(load.ours + Duration::from_secs(3600)).unwrap();
        assert!(everything >= nothing);
        assert_eq!(nothing, 0.0);
    }
}
