//! How the window comes down to ssthresh when duplicate ACKs have announced a loss.

/// How the window comes down to ssthresh when duplicate ACKs have announced a loss.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ReductionPolicy {
    /// At once: RFC 5681, section 3.2. Nothing leaves until half of the flight has arrived, then one
    /// segment for each that arrives.
    AtOnce,
    /// In proportion to what arrives: PRR, RFC 9937, as in Linux (`tcp_cwnd_reduction`). For a
    /// repair by the scoreboard; without SACK the window is inflated and deflated (RFC 6582).
    Proportional,
}

/// What proportional rate reduction counts, in bytes, from the beginning of the recovery.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reducing {
    /// RecoverFS: cwnd before (Linux: `prior_cwnd`; RFC 9937 has the flight).
    pub before: u32,
    /// ssthresh: cwnd afterwards.
    pub threshold: u32,
    /// prr_delivered: arrived, this ACK included.
    pub delivered: u64,
    /// prr_out: sent.
    pub out: u64,
    /// DeliveredData of this ACK.
    pub newly_delivered: u32,
    /// The ACK advances SND.UNA and tells of no further loss: SafeACK of RFC 9937.
    pub safe: bool,
    /// What is on its way.
    pub pipe: u64,
    /// The size of a full segment.
    pub mss: u32,
}

impl Reducing {
    /// SndCnt: bytes that may leave now.
    ///
    /// While more is on its way than ssthresh, in proportion: RFC 9937, section 6, "CEIL(prr_delivered *
    /// ssthresh / RecoverFS) - prr_out", in whole segments as Linux counts. Afterwards as much as was
    /// delivered ("conservative", CRB), and a segment more for a safe ACK ("slow start", SSRB), up to
    /// ssthresh. The first segment leaves in any case (RFC 9937, section 6).
    #[must_use]
    pub fn may_leave(&self) -> u64 {
        let mss = u64::from(self.mss.max(1));
        let room = u64::from(self.threshold).checked_sub(self.pipe);
        let quota = match room {
            None => {
                let delivered = u128::from(self.delivered) * u128::from(self.threshold);
                let share = delivered.div_ceil(u128::from(self.before.max(1)));
                let share = u64::try_from(share).unwrap_or(u64::MAX);
                share.div_ceil(mss).saturating_mul(mss).saturating_sub(self.out)
            }
            Some(room) => {
                let owed = self.delivered.saturating_sub(self.out).max(self.newly_delivered.into());
                let owed = if self.safe { owed.saturating_add(mss) } else { owed };
                owed.min(room)
            }
        };
        if self.out == 0 { quota.max(mss) } else { quota }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    const MSS: u32 = 1_000;

    /// In segments.
    fn reducing(delivered: u64, out: u64, pipe: u64) -> Reducing {
        Reducing {
            before: 20 * MSS,
            threshold: 14 * MSS,
            delivered: delivered * u64::from(MSS),
            out: out * u64::from(MSS),
            newly_delivered: MSS,
            safe: false,
            pipe: pipe * u64::from(MSS),
            mss: MSS,
        }
    }

    #[test]
    fn while_more_than_ssthresh_is_on_its_way_seven_leave_for_ten_that_arrive() {
        // RFC 9937 has such a table for a half.
        let mut out = 0;
        let left: Vec<u64> = (1..=10)
            .map(|delivered| {
                let may_leave = reducing(delivered, out, 19).may_leave() / 1_000;
                out += may_leave;
                may_leave
            })
            .collect();
        assert_eq!(left, [1, 1, 1, 0, 1, 1, 0, 1, 1, 0]);
    }

    #[test]
    fn below_ssthresh_as_much_leaves_as_arrives_and_a_segment_more_if_no_loss_shows() {
        for (delivered, out, pipe, safe, may_leave) in [
            (10, 7, 5, false, 3), // what was held back may leave now
            (10, 10, 5, false, 1),
            (10, 10, 5, true, 2),
            (10, 10, 13, true, 1), // up to ssthresh
            (10, 10, 14, true, 0),
            (0, 0, 14, false, 1), // the first retransmission in any case
        ] {
            let facts = Reducing { safe, ..reducing(delivered, out, pipe) };
            assert_eq!(facts.may_leave(), may_leave * 1_000, "{facts:?}");
        }
    }

    #[test]
    fn nothing_overflows() {
        let (most, huge) = (u32::MAX, u64::MAX);
        let facts = Reducing {
            before: 0,
            threshold: most,
            delivered: huge,
            out: 0,
            newly_delivered: most,
            safe: true,
            pipe: huge,
            mss: 0,
        };
        assert_eq!(facts.may_leave(), huge);
        assert_eq!(Reducing { pipe: 0, ..facts }.may_leave(), u64::from(most));
    }
}
