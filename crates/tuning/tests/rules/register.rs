//! The register beside a naive model, under random acts: it is always in the order of idleness, and
//! never closes a busy connection.

use std::num::NonZeroU64;

use ackwise_tcp::{ByteCount, Instant};
use ackwise_tuning::{
    Admission, Halving, Idle, IdleBuffers, Limit, Load, Outcome, Reclaim, Register, Threshold,
    Thresholds, Usage, WhenFull,
};
use proptest::{collection::vec, prelude::*};

/// Connections that the acts name: few, so that acts meet.
const CONNECTIONS: u8 = 12;

#[derive(Clone, Debug)]
enum Act {
    /// Opens, and is busy.
    Open(u8),
    /// Becomes idle now, or is found to be idle since earlier.
    Idle {
        key: u8,
        ago: u64,
        held: u64,
    },
    Busy(u8),
    /// By its peer or its timeout.
    Closed(u8),
    PopOldest,
    /// A new connection arrives.
    Admit,
    /// Memory, connections and descriptors are examined.
    Relieve {
        memory: u64,
        at_most: usize,
    },
    /// Nothing happens for a while.
    Wait(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let key = 0..CONNECTIONS;
    let act = prop_oneof![
        3 => key.clone().prop_map(Act::Open),
        6 => (key.clone(), prop_oneof![3 => Just(0_u64), 1 => 0_u64..20], 0_u64..4_000)
            .prop_map(|(key, ago, held)| Act::Idle { key, ago, held }),
        3 => key.clone().prop_map(Act::Busy),
        1 => key.prop_map(Act::Closed),
        1 => Just(Act::PopOldest),
        2 => Just(Act::Admit),
        2 => (0_u64..30_000, 0_usize..6).prop_map(|(memory, at_most)| Act::Relieve { memory, at_most }),
        2 => (0_u64..9).prop_map(Act::Wait),
    ];
    vec(act, 0..200)
}

/// Lists that are searched and sorted anew for every question.
#[derive(Clone, Debug, Default)]
struct Model {
    open: Vec<u8>,
    /// In the order of insertion.
    idle: Vec<Idle<u8>>,
}

impl Model {
    fn is_open(&self, key: u8) -> bool {
        self.open.contains(&key)
    }

    fn is_idle(&self, key: u8) -> bool {
        self.idle.iter().any(|idle| idle.key == key)
    }

    fn become_idle(&mut self, idle: Idle<u8>) {
        self.become_busy(idle.key);
        self.idle.push(idle);
    }

    fn become_busy(&mut self, key: u8) -> Option<Idle<u8>> {
        let known = self.idle.iter().position(|idle| idle.key == key)?;
        Some(self.idle.remove(known))
    }

    fn close(&mut self, key: u8) {
        self.open.retain(|open| *open != key);
        self.become_busy(key);
    }

    /// Equal times in the order of insertion: the sort is stable.
    fn in_order(&self) -> Vec<Idle<u8>> {
        let mut idle = self.idle.clone();
        idle.sort_by_key(|idle| idle.since);
        idle
    }
}

/// Both, driven by the same acts.
struct Pair {
    model: Model,
    register: Register<u8>,
    now: u64,
}

impl Pair {
    fn act(&mut self, act: &Act) -> Result<(), TestCaseError> {
        match *act {
            Act::Open(key) if !self.model.is_open(key) => self.model.open.push(key),
            Act::Idle { key, ago, held } if self.model.is_open(key) => {
                let since = Instant::from_nanos(self.now.saturating_sub(ago));
                let idle = Idle { key, since, held: ByteCount(held) };
                self.model.become_idle(idle);
                self.register.insert(idle);
            }
            Act::Busy(key) => {
                prop_assert_eq!(self.register.remove(&key), self.model.become_busy(key));
            }
            Act::Closed(key) => {
                self.model.close(key);
                self.register.remove(&key);
            }
            Act::PopOldest => {
                let oldest = self.register.pop_oldest();
                prop_assert_eq!(oldest, self.model.in_order().first().copied());
                oldest.iter().for_each(|idle| self.model.close(idle.key));
            }
            Act::Admit => self.admit()?,
            Act::Relieve { memory, at_most } => self.relieve(memory, at_most)?,
            Act::Wait(span) => self.now += span,
            Act::Open(_) | Act::Idle { .. } => {}
        }
        let order: Vec<_> = self.register.iter().copied().collect();
        prop_assert_eq!(&order, &self.model.in_order());
        prop_assert_eq!(self.register.len(), order.len());
        prop_assert_eq!(self.register.is_empty(), order.is_empty());
        prop_assert_eq!(self.register.oldest(), order.first());
        for key in 0..CONNECTIONS {
            prop_assert_eq!(self.register.contains(&key), self.model.is_idle(key));
        }
        Ok(())
    }

    fn admit(&mut self) -> Result<(), TestCaseError> {
        let limit = Limit {
            connections: NonZeroU64::new(6).unwrap(),
            when_full: WhenFull::CloseOldestIdle,
            idle: halving(),
        };
        let open = self.model.open.len() as u64;
        let oldest = self.model.in_order().first().map(|idle| idle.key);
        match limit.admit(&mut self.register, open, None, Instant::from_nanos(self.now)) {
            Admission::Admit => prop_assert!(open < 6),
            Admission::AdmitInsteadOf(closing) => {
                prop_assert!(open >= 6);
                self.close(closing.key, oldest)?;
            }
            Admission::Refuse(refusal) => {
                prop_assert!(open >= 6 && oldest.is_none(), "{}", refusal);
            }
        }
        Ok(())
    }

    fn relieve(&mut self, memory: u64, at_most: usize) -> Result<(), TestCaseError> {
        let usage = |used, total| Some(Usage { used, total: NonZeroU64::new(total).unwrap() });
        let open = self.model.open.len() as u64;
        let load = Load {
            connections: usage(open, 8),
            descriptors: usage(open + 3, 14),
            memory: usage(memory, 24_000),
            cpu: None,
        };
        let thresholds = Thresholds::all(Threshold::DEFAULT);
        let rule = Reclaim { thresholds, idle: halving(), at_most };
        let short: Vec<_> = thresholds.shortages(&load).collect();
        let relief = rule.relieve(&mut self.register, &load, Instant::from_nanos(self.now));
        prop_assert!(relief.closings.len() <= at_most);
        let mut freed = 0;
        for closing in &relief.closings {
            let oldest = self.model.in_order().first().map(|idle| idle.key);
            self.close(closing.key, oldest)?;
            freed += closing.frees.0;
        }
        // What remains of each shortage, had only these been closed.
        let closed = relief.closings.len() as u64;
        let left = |but: u64, freed| {
            short.iter().any(|it| {
                let freed = if matches!(it.resource, ackwise_tuning::Resource::Memory) {
                    freed
                } else {
                    but
                };
                it.excess() > freed
            })
        };
        match relief.outcome {
            Outcome::Relieved => prop_assert!(!left(closed, freed)),
            Outcome::NoneIdle(_) => {
                prop_assert!(left(closed, freed) && self.register.is_empty());
            }
            Outcome::AtMost(_) => {
                prop_assert!(left(closed, freed) && relief.closings.len() == at_most);
            }
        }
        // Not one more than needed: without the last, something was still short.
        if let Some(last) = relief.closings.last() {
            prop_assert!(left(closed - 1, freed - last.frees.0));
        }
        Ok(())
    }

    /// What is closed is idle in the model, and the oldest there.
    fn close(&mut self, key: u8, oldest: Option<u8>) -> Result<(), TestCaseError> {
        prop_assert!(self.model.is_idle(key), "{} is busy", key);
        prop_assert_eq!(Some(key), oldest);
        self.model.close(key);
        Ok(())
    }
}

fn halving() -> IdleBuffers {
    let period = ackwise_tcp::Nanos::new(7);
    IdleBuffers::Halve(Halving::new(period, ByteCount(100)).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_register_agrees_with_a_naive_model_after_any_acts(acts in acts()) {
        let mut pair =
            Pair { model: Model::default(), register: Register::new(), now: 50 };
        for act in &acts {
            pair.act(act)?;
        }
    }
}
