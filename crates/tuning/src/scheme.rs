//! The four schemes that Okamoto et al. 2001 compare (section 4).

use core::num::NonZeroU64;

use ackwise_tcp::{ByteCount, Nanos};

use crate::{
    admission::{Limit, WhenFull},
    demand::{Demand, DemandReason},
    e2atbt::{Downward, E2Atbt, Upward},
    eatbt::FIXED_BUFFER,
    idle::{Halving, IdleBuffers},
};

/// How a proxy assigns buffers and manages its connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheme {
    /// The buffers of active connections.
    pub buffers: Buffers,
    /// The buffers of idle connections.
    pub idle: IdleBuffers,
    /// What happens at the limit of connections.
    pub when_full: WhenFull,
}

/// The buffers of active connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffers {
    /// Each connection has this size.
    Fixed(ByteCount),
    /// By E2-ATBT, and divided max-min fairly.
    E2Atbt(E2Atbt),
}

impl Scheme {
    /// How often a host takes a sample of its connections' losses and use, divides the pool, and
    /// examines its resources. The paper says "at regular intervals" (section 3.2). Our choice: a
    /// second is several round trips of any of its paths, and short beside the three seconds of a
    /// halving.
    pub const INTERVAL: Nanos = Nanos::from_millis(1_000);

    /// Scheme 1: "does not use any enhanced algorithms".
    pub const OKAMOTO_1: Self = Self {
        buffers: Buffers::Fixed(FIXED_BUFFER),
        idle: IdleBuffers::KeepShare,
        when_full: WhenFull::Refuse,
    };
    /// Scheme 2: E2-ATBT.
    pub const OKAMOTO_2: Self =
        Self { buffers: Buffers::E2Atbt(E2Atbt::OKAMOTO_2001), ..Self::OKAMOTO_1 };
    /// Scheme 3: scheme 2 with connection management.
    pub const OKAMOTO_3: Self = Self { when_full: WhenFull::CloseOldestIdle, ..Self::OKAMOTO_2 };
    /// Scheme 4: scheme 3, and idle buffers shrink.
    pub const OKAMOTO_4: Self =
        Self { idle: IdleBuffers::Halve(Halving::OKAMOTO_2001), ..Self::OKAMOTO_3 };

    /// The limit of connections: N_max, and no more than the pool has buffers of a fixed size.
    ///
    /// The paper says both of scheme 1: "the original scheme can establish at most 200 TCP
    /// connections" by its buffers, and N_max = 200 for all. `None` if the pool has no buffer.
    #[must_use]
    pub fn limit(&self, pool: ByteCount, n_max: NonZeroU64) -> Option<Limit> {
        let connections = match self.buffers {
            Buffers::Fixed(size) => {
                let buffers = pool.0.checked_div(size.0).unwrap_or(u64::MAX);
                n_max.min(NonZeroU64::new(buffers)?)
            }
            Buffers::E2Atbt(_) => n_max,
        };
        Some(Limit { connections, when_full: self.when_full, idle: self.idle })
    }
}

impl Buffers {
    /// The send buffer of a connection to a client.
    #[must_use]
    pub fn downward(&self, connection: &Downward) -> Demand {
        match self {
            Self::Fixed(bytes) => Demand { bytes: *bytes, reason: DemandReason::Fixed },
            Self::E2Atbt(rule) => rule.downward(connection),
        }
    }

    /// The receive buffer of a connection to a server.
    #[must_use]
    pub fn upward(&self, connection: &Upward) -> Demand {
        match self {
            Self::Fixed(bytes) => Demand { bytes: *bytes, reason: DemandReason::Fixed },
            Self::E2Atbt(rule) => rule.upward(connection),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::num::{NonZeroU8, NonZeroU32};

    use super::*;
    use crate::{e2atbt::Source, eatbt::Sender, loss::Loss, utilisation::Use};

    const POOL: ByteCount = ByteCount(3_200 * 1_024);

    fn connections(scheme: &Scheme, pool: ByteCount, n_max: u64) -> Option<u64> {
        let limit = scheme.limit(pool, NonZeroU64::new(n_max).unwrap())?;
        assert_eq!((limit.when_full, limit.idle), (scheme.when_full, scheme.idle));
        Some(limit.connections.get())
    }

    #[test]
    fn the_schemes_differ_as_the_paper_says() {
        use Scheme as S;
        let rows = [S::OKAMOTO_1, S::OKAMOTO_2, S::OKAMOTO_3, S::OKAMOTO_4].map(|scheme| {
            let tuned = matches!(scheme.buffers, Buffers::E2Atbt(_));
            let closes = scheme.when_full == WhenFull::CloseOldestIdle;
            (tuned, closes, matches!(scheme.idle, IdleBuffers::Halve(_)))
        });
        assert_eq!(
            rows,
            [(false, false, false), (true, false, false), (true, true, false), (true, true, true)]
        );
    }

    #[test]
    fn a_fixed_size_is_the_same_for_every_connection() {
        let sender = Sender {
            loss: Loss::Unmeasured,
            round_trip: Nanos::from_millis(100),
            timeout: Nanos::from_millis(300),
            mss: NonZeroU32::new(1_460).unwrap(),
            peer_window: ByteCount(8_192),
            segments_per_ack: NonZeroU8::MIN,
        };
        let buffer = Use { assigned: ByteCount(9), peak: ByteCount(0) };
        let downward = Downward { sender, source: Source::Cache, buffer };
        let upward = Upward { sender, buffer, most: ByteCount(9_000) };
        let both =
            |scheme: Scheme| [scheme.buffers.downward(&downward), scheme.buffers.upward(&upward)];
        let fixed = Demand { bytes: ByteCount(16_384), reason: DemandReason::Fixed };
        assert_eq!(both(Scheme::OKAMOTO_1), [fixed; 2]);
        let rule = E2Atbt::OKAMOTO_2001;
        assert_eq!(both(Scheme::OKAMOTO_2), [rule.downward(&downward), rule.upward(&upward)]);
    }

    #[test]
    fn fixed_buffers_limit_the_connections_too() {
        let (fixed, tuned) = (&Scheme::OKAMOTO_1, &Scheme::OKAMOTO_4);
        assert_eq!(connections(fixed, POOL, 1_000), Some(200));
        assert_eq!(connections(fixed, POOL, 150), Some(150));
        assert_eq!(connections(fixed, ByteCount(9), 150), None);
        assert_eq!(connections(tuned, POOL, 1_000), Some(1_000));
        let nothing = Scheme { buffers: Buffers::Fixed(ByteCount(0)), ..*fixed };
        assert_eq!(connections(&nothing, POOL, 150), Some(150));
    }
}
