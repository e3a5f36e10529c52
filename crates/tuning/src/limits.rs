//! When a resource is short: thresholds of utilisation.
//!
//! Okamoto et al. 2001, section 3.2: "if one of utilization level of those resources, calculated by
//! the kernel system at regular intervals, reaches the threshold, the proxy server starts closing
//! the persistent TCP connections". The resources there are mbuf, file descriptor and control
//! blocks; the processor is future work (section 5). The paper gives neither the thresholds nor the
//! utilisation at which closing stops.

use core::{fmt, num::NonZeroU64};

use crate::ratio::Percent;

/// What a host can run out of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Resource {
    /// Control blocks: connections of any state.
    Connections,
    /// File descriptors of the process.
    Descriptors,
    /// Bytes of socket buffers (mbuf in the paper).
    Memory,
    /// Time of the processors, in any unit, over the last interval. Not in the paper, except as
    /// future work.
    Cpu,
}

/// How much of a resource is in use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Usage {
    /// In use now.
    pub used: u64,
    /// The capacity.
    pub total: NonZeroU64,
}

/// The use of every resource; `None` for one that is unlimited or not known.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Load {
    /// See [`Resource::Connections`].
    pub connections: Option<Usage>,
    /// See [`Resource::Descriptors`].
    pub descriptors: Option<Usage>,
    /// See [`Resource::Memory`].
    pub memory: Option<Usage>,
    /// See [`Resource::Cpu`].
    pub cpu: Option<Usage>,
}

/// Utilisation at which a shortage begins, and to which it is relieved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Threshold {
    start: Percent,
    stop: Percent,
}

/// The threshold of each resource.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Thresholds {
    /// See [`Resource::Connections`].
    pub connections: Threshold,
    /// See [`Resource::Descriptors`].
    pub descriptors: Threshold,
    /// See [`Resource::Memory`].
    pub memory: Threshold,
    /// See [`Resource::Cpu`].
    pub cpu: Threshold,
}

/// A resource that is short.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shortage {
    /// Which one.
    pub resource: Resource,
    /// How much of it is in use.
    pub usage: Usage,
    /// The threshold that was reached.
    pub threshold: Threshold,
}

impl Threshold {
    /// From 90 % down to 80 % (our choice; with an interval of one second, 10 % leaves room for the
    /// arrivals of a second).
    pub const DEFAULT: Self = Self {
        start: Percent::new(90).expect("at most 100"),
        stop: Percent::new(80).expect("at most 100"),
    };

    /// `None` if relief would stop above the start.
    #[must_use]
    pub fn new(start: Percent, stop: Percent) -> Option<Self> {
        (stop <= start).then_some(Self { start, stop })
    }
}

impl Thresholds {
    /// The same for all.
    #[must_use]
    pub const fn all(threshold: Threshold) -> Self {
        Self { connections: threshold, descriptors: threshold, memory: threshold, cpu: threshold }
    }

    /// The resources that have reached their threshold.
    pub fn shortages(&self, load: &Load) -> impl Iterator<Item = Shortage> + use<> {
        let Load { connections, descriptors, memory, cpu } = *load;
        [
            (Resource::Connections, connections, self.connections),
            (Resource::Descriptors, descriptors, self.descriptors),
            (Resource::Memory, memory, self.memory),
            (Resource::Cpu, cpu, self.cpu),
        ]
        .into_iter()
        .filter_map(|(resource, usage, threshold)| {
            Some(Shortage { resource, usage: usage?, threshold })
        })
        .filter(Shortage::has_begun)
    }
}

impl Shortage {
    /// What has to be freed until it is relieved.
    #[must_use]
    pub const fn excess(&self) -> u64 {
        self.usage.used.saturating_sub(self.threshold.stop.of(self.usage.total.get()))
    }

    fn has_begun(&self) -> bool {
        self.threshold.start.is_reached(self.usage.used, self.usage.total.get())
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "connections",
            Self::Descriptors => "file descriptors",
            Self::Memory => "bytes of buffer memory",
            Self::Cpu => "processor time",
        })
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Usage { used, total } = self.usage;
        let start = self.threshold.start.of(100);
        match self.resource {
            Resource::Cpu => {
                let percent = u128::from(used) * 100 / u128::from(total.get());
                write!(f, "{percent} % of the processor time in use (threshold {start} %)")
            }
            resource => {
                write!(f, "{used} of {total} {resource} in use (threshold {start} %)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{string::ToString, vec::Vec};

    use super::*;

    fn usage(used: u64, total: u64) -> Option<Usage> {
        Some(Usage { used, total: NonZeroU64::new(total).unwrap() })
    }

    fn shortages(load: Load) -> Vec<(Resource, u64)> {
        let found = Thresholds::all(Threshold::DEFAULT).shortages(&load);
        found.map(|shortage| (shortage.resource, shortage.excess())).collect()
    }

    #[test]
    fn a_shortage_begins_where_the_threshold_is_reached() {
        let connections = |used| Load { connections: usage(used, 200), ..Load::default() };
        assert_eq!(shortages(connections(179)), []);
        assert_eq!(shortages(connections(180)), [(Resource::Connections, 20)]);
        assert_eq!(shortages(connections(250)), [(Resource::Connections, 90)]);
        assert_eq!(shortages(Load::default()), []);
    }

    #[test]
    fn each_resource_has_its_own_threshold() {
        let load = Load {
            connections: usage(50, 100),
            descriptors: usage(60, 100),
            memory: usage(70, 100),
            cpu: usage(80, 100),
        };
        let at = |start| {
            let start = Percent::new(start).unwrap();
            Threshold::new(start, start).unwrap()
        };
        let all = Thresholds::all(at(100));
        for (thresholds, resource) in [
            (Thresholds { connections: at(50), ..all }, Resource::Connections),
            (Thresholds { descriptors: at(60), ..all }, Resource::Descriptors),
            (Thresholds { memory: at(70), ..all }, Resource::Memory),
            (Thresholds { cpu: at(80), ..all }, Resource::Cpu),
        ] {
            let found: Vec<_> = thresholds.shortages(&load).map(|it| it.resource).collect();
            assert_eq!(found, [resource]);
        }
    }

    #[test]
    fn relief_does_not_stop_above_the_start() {
        let [high, low] = [90, 80].map(|it| Percent::new(it).unwrap());
        assert_eq!(Threshold::new(high, low), Some(Threshold::DEFAULT));
        assert_eq!(Threshold::new(low, high), None);
    }

    #[test]
    fn a_shortage_is_a_sentence() {
        let load = Load {
            connections: usage(190, 200),
            descriptors: usage(1_000, 1_024),
            memory: usage(99, 100),
            cpu: usage(1_960, 2_000),
        };
        let text: Vec<_> =
            Thresholds::all(Threshold::DEFAULT).shortages(&load).map(|it| it.to_string()).collect();
        assert_eq!(
            text,
            [
                "190 of 200 connections in use (threshold 90 %)",
                "1000 of 1024 file descriptors in use (threshold 90 %)",
                "99 of 100 bytes of buffer memory in use (threshold 90 %)",
                "98 % of the processor time in use (threshold 90 %)",
            ]
        );
    }
}
