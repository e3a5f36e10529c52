//! Which idle connections close when a resource is short: the oldest first, as many as needed.
//!
//! This is section 3.2 of Okamoto et al. 2001, which examines thresholds at regular intervals. The
//! simulation of section 4 closes connections when new ones arrive: [`Limit`](crate::Limit).

use alloc::vec::Vec;
use core::{fmt, hash::Hash, time::Duration};

use ackwise_tcp::{ByteCount, Instant, Nanos};

use crate::{
    idle::IdleBuffers,
    limits::{Load, Resource, Shortage, Thresholds, Usage},
    register::{Idle, Register},
};

/// The rule and its parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reclaim {
    /// When a resource is short.
    pub thresholds: Thresholds,
    /// How much memory an idle connection still holds, which closing it frees.
    pub idle: IdleBuffers,
    /// The largest number of connections to close at one time.
    pub at_most: usize,
}

/// What to do about the shortages of one interval.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Relief<K> {
    /// The connections to close, in this order. They have been removed from the register.
    pub closings: Vec<Closing<K>>,
    /// Whether that is enough.
    pub outcome: Outcome,
    /// The processor is short: pass this to [`Limit::admit`](crate::Limit::admit), which refuses
    /// new connections. Nothing is closed for it, because an idle connection uses no processor
    /// time, and its client's next request would cost a handshake. Our choice: the paper does not
    /// say what a proxy should do when the processor is short.
    pub cpu: Option<Shortage>,
}

/// Whether closing was enough.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// Nothing is short, or no longer.
    Relieved,
    /// No idle connection is left, and this is still short.
    NoneIdle(Shortage),
    /// [`Reclaim::at_most`] is reached, and this is still short.
    AtMost(Shortage),
}

/// A connection to close.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Closing<K> {
    /// Which one.
    pub key: K,
    /// How long it has been idle.
    pub idle_for: Nanos,
    /// The buffer memory that it frees.
    pub frees: ByteCount,
    /// Why it closes.
    pub reason: CloseReason,
}

/// Why an idle connection closes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CloseReason {
    /// A resource is short.
    Short(Shortage),
    /// A new connection arrived at the limit.
    Replaced {
        /// The limit.
        limit: u64,
    },
}

impl Reclaim {
    /// Default of [`at_most`](Self::at_most). Our choice: to close another program's connection
    /// takes about 30 us, so these take 30 ms of an interval of one second.
    pub const AT_MOST: usize = 1_000;

    /// Removes from the register what has to be closed under this load.
    ///
    /// All resources that have reached their threshold are brought down to where their relief
    /// stops. A closing counts for each of them.
    pub fn relieve<K: Copy + Eq + Hash>(
        &self,
        register: &mut Register<K>,
        load: &Load,
        now: Instant,
    ) -> Relief<K> {
        let (mut short, mut cpu) = (Vec::new(), None);
        for shortage in self.thresholds.shortages(load) {
            match shortage.resource {
                Resource::Cpu => cpu = Some(shortage),
                Resource::Connections | Resource::Descriptors | Resource::Memory => {
                    short.push(shortage);
                }
            }
        }
        let mut closings = Vec::new();
        let outcome = loop {
            let Some(worst) = short.iter().copied().find(|shortage| shortage.excess() > 0) else {
                break Outcome::Relieved;
            };
            if closings.len() >= self.at_most {
                break Outcome::AtMost(worst);
            }
            let Some(idle) = register.pop_oldest() else {
                break Outcome::NoneIdle(worst);
            };
            let closing = Closing::of(idle, self.idle, CloseReason::Short(worst), now);
            short.iter_mut().for_each(|shortage| shortage.ease(closing.frees));
            closings.push(closing);
        };
        Relief { closings, outcome, cpu }
    }
}

impl<K> Closing<K> {
    pub(crate) fn of(idle: Idle<K>, rule: IdleBuffers, reason: CloseReason, now: Instant) -> Self {
        let Idle { key, since, held } = idle;
        let frees = rule.size(held, since, now);
        Self { key, idle_for: Nanos::between(since, now), frees, reason }
    }
}

impl Shortage {
    /// Takes off what closing a connection with this buffer frees.
    fn ease(&mut self, buffer: ByteCount) {
        let freed = match self.resource {
            Resource::Connections | Resource::Descriptors => 1,
            Resource::Memory => buffer.0,
            Resource::Cpu => 0,
        };
        let Usage { used, total } = self.usage;
        self.usage = Usage { used: used.saturating_sub(freed), total };
    }
}

impl<K: fmt::Display> fmt::Display for Closing<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, idle_for, frees, reason } = self;
        let idle_for = Duration::from(*idle_for);
        write!(f, "close {key}, idle for {idle_for:.1?}, frees {} B: {reason}", frees.0)
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(shortage) => shortage.fmt(f),
            Self::Replaced { limit } => {
                write!(f, "a new connection needs its place (limit {limit})")
            }
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relieved => f.write_str("nothing is short"),
            Self::NoneIdle(shortage) => write!(f, "no connection is idle, and {shortage}"),
            Self::AtMost(shortage) => write!(f, "no more closings now, although {shortage}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU64;
    use std::string::ToString;

    use super::*;
    use crate::{idle::Halving, limits::Threshold};

    const RULE: Reclaim = Reclaim {
        thresholds: Thresholds::all(Threshold::DEFAULT),
        idle: IdleBuffers::KeepShare,
        at_most: Reclaim::AT_MOST,
    };

    fn usage(used: u64, total: u64) -> Option<Usage> {
        Some(Usage { used, total: NonZeroU64::new(total).unwrap() })
    }

    fn at(seconds: u64) -> Instant {
        Instant::EPOCH + Duration::from_secs(seconds)
    }

    /// Connection n became idle after n seconds, with 1,000 B.
    fn register(count: u32) -> Register<u32> {
        let mut register = Register::new();
        for key in 0..count {
            let since = at(key.into());
            register.insert(Idle { key, since, held: ByteCount(1_000) });
        }
        register
    }

    fn keys(relief: &Relief<u32>) -> Vec<u32> {
        relief.closings.iter().map(|closing| closing.key).collect()
    }

    #[test]
    fn nothing_is_closed_below_the_threshold() {
        let load = Load { connections: usage(17, 20), ..Load::default() };
        let mut register = register(5);
        let relief = RULE.relieve(&mut register, &load, at(9));
        assert_eq!((relief.closings, relief.outcome), ([].into(), Outcome::Relieved));
        assert_eq!(register.len(), 5);
    }

    #[test]
    fn as_many_close_as_are_needed_oldest_first() {
        for load in [
            Load { connections: usage(18, 20), ..Load::default() },
            Load { descriptors: usage(18, 20), ..Load::default() },
            Load { memory: usage(18_000, 20_000), ..Load::default() },
            // The one that needs more closings decides.
            Load {
                connections: usage(18, 20),
                memory: usage(901_000, 1_000_000 + 124_999),
                ..Load::default()
            },
        ] {
            let mut register = register(5);
            let relief = RULE.relieve(&mut register, &load, at(9));
            assert_eq!((keys(&relief), relief.outcome), ([0, 1].into(), Outcome::Relieved));
            assert_eq!((register.len(), register.oldest().unwrap().key), (3, 2));
        }
    }

    #[test]
    fn the_resource_that_needs_most_closings_decides() {
        let load =
            Load { connections: usage(18, 20), memory: usage(18_500, 20_000), ..Load::default() };
        let relief = RULE.relieve(&mut register(5), &load, at(9));
        assert_eq!((keys(&relief), relief.outcome), ([0, 1, 2].into(), Outcome::Relieved));
        let reasons: Vec<_> = relief
            .closings
            .iter()
            .map(|closing| match closing.reason {
                CloseReason::Short(shortage) => (shortage.resource, shortage.usage.used),
                CloseReason::Replaced { .. } => panic!("{closing}"),
            })
            .collect();
        assert_eq!(
            reasons,
            [(Resource::Connections, 18), (Resource::Connections, 17), (Resource::Memory, 16_500)]
        );
    }

    #[test]
    fn a_halved_buffer_frees_only_what_is_left_of_it() {
        let halving = Halving::new(Nanos::from_millis(3_000), ByteCount(1)).unwrap();
        let rule = Reclaim { idle: IdleBuffers::Halve(halving), ..RULE };
        let load = Load { memory: usage(18_000, 20_000), ..Load::default() };
        // Halved three times, three, two, two, two: 125 and 125 and 250 times three.
        let relief = rule.relieve(&mut register(5), &load, at(10));
        let freed: Vec<_> = relief.closings.iter().map(|closing| closing.frees.0).collect();
        assert_eq!(freed, [125, 125, 250, 250, 250]);
        let Outcome::NoneIdle(shortage) = relief.outcome else { panic!("{}", relief.outcome) };
        assert_eq!(shortage.usage.used, 17_000);
    }

    #[test]
    fn closing_ends_at_its_limit_or_when_no_connection_is_idle() {
        let load = Load { connections: usage(20, 20), ..Load::default() };
        let left = |used| Shortage {
            resource: Resource::Connections,
            usage: usage(used, 20).unwrap(),
            threshold: Threshold::DEFAULT,
        };
        let relief = RULE.relieve(&mut register(3), &load, at(9));
        assert_eq!((keys(&relief).len(), relief.outcome), (3, Outcome::NoneIdle(left(17))));
        let slow = Reclaim { at_most: 2, ..RULE };
        let relief = slow.relieve(&mut register(5), &load, at(9));
        assert_eq!((keys(&relief).len(), relief.outcome), (2, Outcome::AtMost(left(18))));
        assert_eq!(
            relief.outcome.to_string(),
            "no more closings now, although 18 of 20 connections in use (threshold 90 %)"
        );
        assert_eq!(
            Outcome::NoneIdle(left(17)).to_string(),
            "no connection is idle, and 17 of 20 connections in use (threshold 90 %)"
        );
        assert_eq!(Outcome::Relieved.to_string(), "nothing is short");
    }

    #[test]
    fn a_busy_processor_closes_nothing() {
        let load = Load { cpu: usage(100, 100), ..Load::default() };
        let mut register = register(5);
        let relief = RULE.relieve(&mut register, &load, at(9));
        assert_eq!((register.len(), relief.outcome), (5, Outcome::Relieved));
        assert_eq!(relief.cpu.map(|shortage| shortage.resource), Some(Resource::Cpu));
    }

    #[test]
    fn a_closing_is_a_sentence() {
        let load = Load { connections: usage(18, 20), ..Load::default() };
        let relief = RULE.relieve(&mut register(5), &load, at(9));
        assert_eq!(
            relief.closings[0].to_string(),
            "close 0, idle for 9.0s, frees 1000 B: 18 of 20 connections in use (threshold 90 %)"
        );
        let reason = CloseReason::Replaced { limit: 200 };
        assert_eq!(
            Closing { reason, ..relief.closings[1] }.to_string(),
            "close 1, idle for 8.0s, frees 1000 B: a new connection needs its place (limit 200)"
        );
    }
}
