//! E2-ATBT: E-ATBT for a proxy, which sends downward (to clients) and receives upward (from
//! servers). Okamoto et al. 2001, section 3.1.
//!
//! A downward connection whose document comes over a slower upward connection cannot fill its send
//! buffer. Two policies take this into account, A and B. An upward connection needs a receive
//! buffer as large as the sender's congestion window. All demands, of both directions, then go into
//! one [`Division`](crate::Division) of the pool.

use ackwise_tcp::ByteCount;

use crate::{
    demand::{Demand, DemandReason},
    eatbt::{Eatbt, Sender},
    loss::Loss,
    pftk::Throughput,
    utilisation::{Use, UseRule},
};

/// The rule and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct E2Atbt {
    /// The size from measured losses and round trips.
    pub eatbt: Eatbt,
    /// How the relation of the two directions is known.
    pub downward: DownwardPolicy,
    /// How the window of the server is known.
    pub upward: UpwardPolicy,
    /// How utilisation becomes a size.
    pub use_rule: UseRule,
}

/// How a downward connection's send buffer takes its upward connection into account.
///
/// "In the higher abstract model, the above two algorithms have a same effect" (section 3.1). They
/// differ in time: A shrinks a buffer after it was unused for an interval, and by half at most; B
/// knows before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DownwardPolicy {
    /// Policy A: buffers that are not fully used shrink. The kernel can do this alone.
    Utilisation,
    /// Policy B: the proxy states which upward connection a document comes from (in the paper, in
    /// the header of a packet).
    RelationKnown,
}

/// How a receive buffer follows the congestion window of its sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UpwardPolicy {
    /// By what arrives in a round trip.
    Utilisation,
    /// "\[W\]e suppose that the proxy server can obtain complete information about required sizes"
    /// (section 3.1): the server's own measurements. A simulator has them, a real proxy does not.
    CompleteInformation,
}

/// Where a downward connection's document comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// A cache hit: nothing limits the supply.
    Cache,
    /// A cache miss: the proxy relays it from a server that sends at this rate. A rate that is not
    /// known yet (`None`) limits nothing.
    Upward(Option<Supply>),
}

/// The rate of an upward connection, and the size of its segments, which may differ from the
/// downward connection's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supply {
    throughput: Throughput,
    mss: u32,
}

/// A connection to a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Downward {
    /// What the proxy's TCP has measured.
    pub sender: Sender,
    /// For policy B.
    pub source: Source,
    /// For policy A.
    pub buffer: Use,
}

/// A connection to a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Upward {
    /// What the server's TCP has measured, for complete information. Its peer window is the
    /// proxy's receive buffer, which is what this rule sizes; so pass [`most`](Self::most) there.
    pub sender: Sender,
    /// For utilisation.
    pub buffer: Use,
    /// The largest receive buffer (our parameter; in the paper, the pool is the only limit).
    pub most: ByteCount,
}

impl E2Atbt {
    /// What the paper simulates: complete information for receive buffers. It does not say which
    /// policy its simulation uses for send buffers; B is our choice, because a simulator knows the
    /// relation.
    pub const OKAMOTO_2001: Self = Self {
        eatbt: Eatbt::OKAMOTO_2001,
        downward: DownwardPolicy::RelationKnown,
        upward: UpwardPolicy::CompleteInformation,
        use_rule: UseRule::DEFAULT,
    };

    /// The send buffer of a connection to a client.
    #[must_use]
    pub fn downward(&self, connection: &Downward) -> Demand {
        let Downward { sender, source, buffer } = connection;
        match self.downward {
            // Before anything is sent, an empty buffer shows nothing.
            DownwardPolicy::Utilisation if sender.loss == Loss::Unmeasured => {
                self.eatbt.demand(sender)
            }
            DownwardPolicy::Utilisation => self.use_rule.demand(*buffer, self.eatbt.demand(sender)),
            DownwardPolicy::RelationKnown => {
                let demand = self.eatbt.demand(sender);
                let supplied = source.demand(sender);
                supplied.filter(|supplied| supplied.bytes < demand.bytes).unwrap_or(demand)
            }
        }
    }

    /// The receive buffer of a connection to a server.
    #[must_use]
    pub fn upward(&self, connection: &Upward) -> Demand {
        let Upward { sender, buffer, most } = *connection;
        match self.upward {
            UpwardPolicy::Utilisation => {
                let wanted = Demand { bytes: most, reason: DemandReason::Most };
                self.use_rule.demand(buffer, wanted)
            }
            UpwardPolicy::CompleteInformation => {
                let demand = self.eatbt.demand(&sender);
                if demand.bytes > most {
                    Demand { bytes: most, reason: DemandReason::Most }
                } else {
                    demand
                }
            }
        }
    }

    /// What the server behind an upward connection supplies, for [`Source::Upward`].
    #[must_use]
    pub fn supply(&self, upward: &Sender) -> Option<Supply> {
        let throughput = self.eatbt.throughput(upward)?;
        Some(Supply { throughput, mss: upward.mss.get() })
    }
}

impl Source {
    /// The buffer that holds what arrives in a round trip of the sender; `None` if that is not
    /// known.
    fn demand(&self, sender: &Sender) -> Option<Demand> {
        let supply = match self {
            Self::Cache | Self::Upward(None) => return None,
            Self::Upward(Some(supply)) => supply,
        };
        if sender.loss == Loss::Unmeasured {
            return None; // The round trip may not be measured either.
        }
        let segments = f64::from(supply.mss) / f64::from(sender.mss.get());
        let window = supply.throughput.window(sender.round_trip) * segments;
        Some(sender.demand_for(window, DemandReason::SlowUpward { window }))
    }
}

#[cfg(test)]
mod tests {
    use core::num::{NonZeroU8, NonZeroU32};

    use ackwise_tcp::Nanos;

    use super::*;
    use crate::loss::LossRate;

    const MSS: u32 = 1_000;

    fn sender(rate: f64, millis: u64) -> Sender {
        Sender {
            loss: Loss::Measured(LossRate::new(rate).unwrap()),
            round_trip: Nanos::from_millis(millis),
            timeout: Nanos::from_millis(3 * millis),
            mss: NonZeroU32::new(MSS).unwrap(),
            peer_window: ByteCount(1_000_000),
            segments_per_ack: NonZeroU8::new(2).unwrap(),
        }
    }

    fn to_client(rate: f64, source: Source) -> Downward {
        let buffer = Use { assigned: ByteCount(40_000), peak: ByteCount(10_000) };
        Downward { sender: sender(rate, 50), source, buffer }
    }

    fn rule(downward: DownwardPolicy, upward: UpwardPolicy) -> E2Atbt {
        E2Atbt { downward, upward, ..E2Atbt::OKAMOTO_2001 }
    }

    /// From a server with these losses, 100 ms away.
    fn miss(rate: f64) -> Source {
        Source::Upward(E2Atbt::OKAMOTO_2001.supply(&sender(rate, 100)))
    }

    #[test]
    fn a_hit_gets_what_the_client_can_take() {
        let rule = E2Atbt::OKAMOTO_2001;
        let client = to_client(0.001, Source::Cache);
        assert_eq!(rule.downward(&client), rule.eatbt.demand(&client.sender));
        let unknown = Downward { source: Source::Upward(None), ..client };
        assert_eq!(rule.downward(&unknown), rule.downward(&client), "nothing known yet");
    }

    #[test]
    fn a_miss_gets_what_the_slower_of_the_two_can_use() {
        let rule = E2Atbt::OKAMOTO_2001;
        // 27 segments in 50 ms downward, 8 in 100 ms upward: 4 in 50 ms.
        let slow = rule.downward(&to_client(0.001, miss(0.01)));
        assert_eq!(slow.bytes, ByteCount(4 * u64::from(MSS)));
        assert!(matches!(slow.reason, DemandReason::SlowUpward { .. }), "{slow}");
        // A faster server changes nothing.
        let fast = to_client(0.01, miss(0.0001));
        assert_eq!(rule.downward(&fast), rule.eatbt.demand(&fast.sender));
    }

    #[test]
    fn a_server_without_a_loss_so_far_does_not_slow_its_client() {
        let at_most = LossRate::new(0.125).unwrap();
        let young = Sender { loss: Loss::NoneAmong { segments: 7, at_most }, ..sender(0.0, 100) };
        assert_eq!(E2Atbt::OKAMOTO_2001.supply(&young), None);
    }

    #[test]
    fn a_slow_server_limits_its_client_also_before_the_client_lost_anything() {
        let at_most = LossRate::new(0.125).unwrap();
        let mut client = to_client(0.0, miss(0.01));
        client.sender.loss = Loss::NoneAmong { segments: 7, at_most };
        let rule = E2Atbt::OKAMOTO_2001;
        assert_eq!(rule.downward(&client).bytes, ByteCount(4 * u64::from(MSS)));
        let hit = Downward { source: Source::Cache, ..client };
        assert_eq!(rule.downward(&hit).reason, DemandReason::NoLossYet { segments: 7 });
        client.sender.loss = Loss::Unmeasured;
        assert_eq!(rule.downward(&client).reason, DemandReason::NothingSent);
    }

    #[test]
    fn segments_of_two_sizes_are_compared_by_their_bytes() {
        let rule = E2Atbt::OKAMOTO_2001;
        let half = Sender { mss: NonZeroU32::new(MSS / 2).unwrap(), ..sender(0.01, 100) };
        let client = to_client(0.001, Source::Upward(rule.supply(&half)));
        // Half of the 4,000 B that segments of 1,000 B would bring.
        assert_eq!(rule.downward(&client).bytes, ByteCount(2 * u64::from(MSS)));
    }

    #[test]
    fn policy_a_looks_at_the_buffer_and_not_at_the_source() {
        let rule = rule(DownwardPolicy::Utilisation, UpwardPolicy::CompleteInformation);
        for source in [Source::Cache, miss(0.5)] {
            let client = to_client(0.0001, source);
            let unused = DemandReason::Unused { peak: ByteCount(10_000) };
            assert_eq!(rule.downward(&client).reason, unused);
            assert_eq!(rule.downward(&client).bytes, ByteCount(20_000));
        }
        // A buffer into which nothing was written yet keeps its size.
        let mut new = to_client(0.0001, Source::Cache);
        new.sender.loss = Loss::Unmeasured;
        new.buffer = Use { assigned: ByteCount(16_384), peak: ByteCount(0) };
        assert_eq!(rule.downward(&new).reason, DemandReason::NothingSent);
        // Not more than by losses and round trip, however much is used.
        let buffer = Use { assigned: ByteCount(40_000), peak: ByteCount(40_000) };
        let client = Downward { buffer, ..to_client(0.01, Source::Cache) };
        assert_eq!(rule.downward(&client), rule.eatbt.demand(&client.sender));
    }

    #[test]
    fn both_policies_come_to_about_the_same_size_after_some_intervals() {
        let a = rule(DownwardPolicy::Utilisation, UpwardPolicy::CompleteInformation);
        let mut client = to_client(0.001, miss(0.01));
        let by_b = E2Atbt::OKAMOTO_2001.downward(&client).bytes;
        client.buffer.assigned = a.eatbt.demand(&client.sender).bytes;
        // The supply fills as much as B would assign.
        for _ in 0..10 {
            client.buffer.peak = by_b.min(client.buffer.assigned);
            client.buffer.assigned = a.downward(&client).bytes;
        }
        let by_a = client.buffer.assigned;
        assert!(by_a >= by_b && by_a.0 <= 2 * by_b.0, "A {by_a:?}, B {by_b:?}");
    }

    #[test]
    fn a_receive_buffer_follows_the_server_or_what_arrives() {
        let most = ByteCount(64_000);
        let buffer = Use { assigned: ByteCount(16_000), peak: ByteCount(16_000) };
        let upward = |rate, most| Upward { sender: sender(rate, 100), buffer, most };
        let complete = E2Atbt::OKAMOTO_2001;
        assert_eq!(complete.upward(&upward(0.01, most)), complete.eatbt.demand(&sender(0.01, 100)));
        let limited = Demand { bytes: most, reason: DemandReason::Most };
        assert_eq!(complete.upward(&upward(0.0001, most)), limited);
        let by_use = rule(DownwardPolicy::Utilisation, UpwardPolicy::Utilisation);
        let full = DemandReason::Full { assigned: ByteCount(16_000) };
        for rate in [0.01, 0.0001] {
            let demand = by_use.upward(&upward(rate, most));
            assert_eq!(demand, Demand { bytes: ByteCount(32_000), reason: full });
        }
        let small = ByteCount(20_000);
        assert_eq!(by_use.upward(&upward(0.01, small)), Demand { bytes: small, ..limited });
    }
}
