//! Whether a new connection gets a place.
//!
//! Okamoto et al. 2001, section 4: at most N_max connections. Schemes 1 and 2 reject a new one
//! beyond that; schemes 3 and 4 "forcibly terminate some of persistent TCP connections that are
//! unused [...] and establish the new TCP connections". Here, one closes for each new one (our
//! reading of "some"). The caller decides what happens to a refused connection: by sections 2.1 and
//! 4.2 it waits, by section 4 it is rejected. The caller also decides what counts as open:
//! connections in both directions (section 4), or those to clients only (4.1).

use core::{fmt, hash::Hash, num::NonZeroU64};

use ackwise_tcp::Instant;

use crate::{
    idle::IdleBuffers,
    limits::Shortage,
    register::Register,
    relief::{CloseReason, Closing},
};

/// The rule and its parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limit {
    /// N_max.
    pub connections: NonZeroU64,
    /// What happens beyond it.
    pub when_full: WhenFull,
    /// How much memory an idle connection still holds, which closing it frees.
    pub idle: IdleBuffers,
}

/// What happens to a new connection at the limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WhenFull {
    /// It is refused: schemes 1 and 2.
    Refuse,
    /// The connection that has been idle longest closes: schemes 3 and 4.
    CloseOldestIdle,
}

/// The decision on a new connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Admission<K> {
    /// The limit is not reached.
    Admit,
    /// An idle connection closes. Its entry has been removed from the register.
    AdmitInsteadOf(Closing<K>),
    /// The connection is not accepted.
    Refuse(Refusal),
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// The limit is reached, and [`WhenFull::Refuse`] applies.
    Full {
        /// Open connections.
        open: u64,
        /// The limit.
        limit: u64,
    },
    /// The limit is reached, and no connection is idle.
    AllBusy {
        /// Open connections.
        open: u64,
        /// The limit.
        limit: u64,
    },
    /// The processor is short.
    Cpu(Shortage),
}

impl Limit {
    /// Decides on one new connection beside `open` ones. O(1).
    ///
    /// `cpu` is [`Relief::cpu`](crate::Relief::cpu). If more connections are open than the limit
    /// allows, each new one still replaces an idle one, so that their number does not grow.
    pub fn admit<K: Copy + Eq + Hash>(
        &self,
        register: &mut Register<K>,
        open: u64,
        cpu: Option<Shortage>,
        now: Instant,
    ) -> Admission<K> {
        if let Some(shortage) = cpu {
            return Admission::Refuse(Refusal::Cpu(shortage));
        }
        let limit = self.connections.get();
        if open < limit {
            return Admission::Admit;
        }
        match self.when_full {
            WhenFull::Refuse => Admission::Refuse(Refusal::Full { open, limit }),
            WhenFull::CloseOldestIdle => match register.pop_oldest() {
                None => Admission::Refuse(Refusal::AllBusy { open, limit }),
                Some(idle) => {
                    let reason = CloseReason::Replaced { limit };
                    Admission::AdmitInsteadOf(Closing::of(idle, self.idle, reason, now))
                }
            },
        }
    }
}

impl<K: fmt::Display> fmt::Display for Admission<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admit => f.write_str("admit"),
            Self::AdmitInsteadOf(closing) => write!(f, "admit; {closing}"),
            Self::Refuse(refusal) => write!(f, "refuse: {refusal}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { open, limit } => write!(f, "{open} connections are open (limit {limit})"),
            Self::AllBusy { open, limit } => {
                write!(f, "{open} connections are open (limit {limit}), and none is idle")
            }
            Self::Cpu(shortage) => shortage.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use ackwise_tcp::{ByteCount, Nanos};

    use super::*;
    use crate::{
        idle::Halving,
        limits::{Resource, Threshold, Usage},
        register::Idle,
    };

    const NOW: Instant = Instant::from_nanos(4_000_000_000);

    fn limit(when_full: WhenFull) -> Limit {
        let idle = IdleBuffers::Halve(Halving::OKAMOTO_2001);
        Limit { connections: NonZeroU64::new(200).unwrap(), when_full, idle }
    }

    fn register() -> Register<char> {
        let mut register = Register::new();
        for (key, since) in [('a', Instant::EPOCH), ('b', NOW)] {
            register.insert(Idle { key, since, held: ByteCount(16_384) });
        }
        register
    }

    #[test]
    fn there_is_a_place_below_the_limit() {
        for when_full in [WhenFull::Refuse, WhenFull::CloseOldestIdle] {
            let mut register = register();
            let admission = limit(when_full).admit(&mut register, 199, None, NOW);
            assert_eq!((admission, register.len()), (Admission::Admit, 2));
        }
    }

    #[test]
    fn schemes_1_and_2_refuse_at_the_limit_even_if_connections_are_idle() {
        let mut register = register();
        let admission = limit(WhenFull::Refuse).admit(&mut register, 200, None, NOW);
        assert_eq!(admission, Admission::Refuse(Refusal::Full { open: 200, limit: 200 }));
        assert_eq!(register.len(), 2);
    }

    #[test]
    fn schemes_3_and_4_close_the_oldest_and_refuse_only_if_all_are_busy() {
        let rule = limit(WhenFull::CloseOldestIdle);
        let mut register = register();
        let closing = |key, seconds: u64, frees| {
            Admission::AdmitInsteadOf(Closing {
                key,
                idle_for: Nanos::from_millis(1_000 * seconds),
                frees: ByteCount(frees),
                reason: CloseReason::Replaced { limit: 200 },
            })
        };
        assert_eq!(rule.admit(&mut register, 200, None, NOW), closing('a', 4, 8_192));
        assert_eq!(rule.admit(&mut register, 230, None, NOW), closing('b', 0, 16_384));
        let refused = Admission::Refuse(Refusal::AllBusy { open: 200, limit: 200 });
        assert_eq!(rule.admit(&mut register, 200, None, NOW), refused);
    }

    fn busy_processor() -> Shortage {
        Shortage {
            resource: Resource::Cpu,
            usage: Usage { used: 95, total: NonZeroU64::new(100).unwrap() },
            threshold: Threshold::DEFAULT,
        }
    }

    #[test]
    fn a_busy_processor_takes_no_new_connections() {
        let (rule, mut register) = (limit(WhenFull::CloseOldestIdle), register());
        let admission = rule.admit(&mut register, 0, Some(busy_processor()), NOW);
        assert_eq!(admission, Admission::Refuse(Refusal::Cpu(busy_processor())));
        assert_eq!(register.len(), 2);
    }

    #[test]
    fn a_decision_is_a_sentence() {
        let refuse = |refusal| Admission::<char>::Refuse(refusal).to_string();
        assert_eq!(
            refuse(Refusal::Full { open: 201, limit: 200 }),
            "refuse: 201 connections are open (limit 200)"
        );
        assert_eq!(
            refuse(Refusal::AllBusy { open: 200, limit: 200 }),
            "refuse: 200 connections are open (limit 200), and none is idle"
        );
        assert_eq!(
            refuse(Refusal::Cpu(busy_processor())),
            "refuse: 95 % of the processor time in use (threshold 90 %)"
        );
        assert_eq!(Admission::<char>::Admit.to_string(), "admit");
        let admission =
            limit(WhenFull::CloseOldestIdle).admit(&mut register(), 200, None, NOW).to_string();
        assert!(admission.starts_with("admit; close a, idle for 4.0s, "), "{admission}");
    }
}
