//! What connections between the same two hosts tell each other of the rate of their path: a short one shows none.
//!
//! No single packet of one connection should change the verdicts on others, for the capture may lack it. So they
//! share what three have shown, in coarse steps. One alone counts only for a slow line, on which a short connection's
//! time would get a wrong name; and a connection does not believe what its own acknowledgements refute.

use std::net::IpAddr;

use hashbrown::HashMap;

use super::{Nanos, path::Pace};

/// The paces between two hosts: by the direction of the data, before the vantage point and behind it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paces(pub [[Pace; 2]; 2]);

impl Paces {
    /// What was seen later counts, where something was.
    fn update(&mut self, seen: &Self) {
        for (known, seen) in self.0.iter_mut().flatten().zip(seen.0.iter().flatten()) {
            *known = seen.or(*known);
        }
    }
}

/// The paces that were seen so far, by client and server.
#[derive(Debug, Default)]
pub(crate) struct KnownPaces {
    // Looked up, never walked: the order of a hash table shows nowhere.
    by_hosts: HashMap<[IpAddr; 2], Witnesses>,
}

impl KnownPaces {
    /// The most pairs of hosts that are remembered. Our choice.
    const MAX_PAIRS: usize = 1 << 14;

    /// Adds what a connection between these hosts has shown; what is known then: that, and where it has shown
    /// nothing, what earlier ones have.
    pub(crate) fn add(&mut self, hosts: [IpAddr; 2], seen: &Paces) -> Paces {
        if self.by_hosts.len() >= Self::MAX_PAIRS && !self.by_hosts.contains_key(&hosts) {
            self.by_hosts.clear();
        }
        let witnesses = self.by_hosts.entry(hosts).or_default();
        let mut known = witnesses.told();
        known.update(seen);
        witnesses.add(seen);
        known
    }
}

/// What the last connections between two hosts have shown.
#[derive(Clone, Copy, Debug, Default)]
struct Witnesses {
    /// As in [`Paces`], of each the latest first.
    paces: [[[Pace; Self::MOST]; 2]; 2],
}

impl Witnesses {
    /// The most that are remembered. Our choice.
    const MOST: usize = 5;
    /// Three are believed of any line. Our choice.
    const ENOUGH: usize = 3;
    /// A line is slow if a full segment (1,500 bytes on Ethernet) takes as long as Linux delays an acknowledgement
    /// (`TCP_DELACK_MIN`): 300 kb/s. Our choice.
    const SLOW: Nanos = Nanos::from_millis(40);
    const SEGMENT: u64 = 1_500;

    fn add(&mut self, seen: &Paces) {
        for (known, seen) in self.paces.iter_mut().flatten().zip(seen.0.iter().flatten()) {
            if seen.is_known() {
                known.rotate_right(1);
                known[0] = *seen;
            }
        }
    }

    fn told(&self) -> Paces {
        Paces(self.paces.each_ref().map(|way| way.each_ref().map(Self::told_of)))
    }

    fn told_of(paces: &[Pace; Self::MOST]) -> Pace {
        // Mostly none has shown any.
        if !paces[0].is_known() {
            return Pace::default();
        }
        let seen = || paces.iter().copied().filter(|it| it.is_known());
        let any_sure = seen().any(|it| !it.is_doubtful());
        // While threads wait for it: without memory of its own.
        let (mut known, mut count) = ([Pace::default(); Self::MOST], 0);
        for pace in seen().filter(|it| !any_sure || !it.is_doubtful()) {
            known[count] = pace;
            count += 1;
        }
        let told = Self::median(&mut known[..count]);
        let is_slow = told.time(Self::SEGMENT) >= Self::SLOW;
        if count >= Self::ENOUGH || is_slow { told.rounded() } else { Pace::default() }
    }

    fn median(paces: &mut [Pace]) -> Pace {
        paces.sort_by_key(|it| it.time(Self::SEGMENT));
        paces.get(paces.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pace after these samples, in microseconds for 960 bytes of data and their headers.
    fn pace(samples: &[u64]) -> Pace {
        let mut pace = Pace::default();
        samples.iter().for_each(|&span| pace.sample(960, Nanos::from_micros(span)));
        pace
    }

    /// The microseconds of 1,000 bytes that connections get to know which have shown these, one after the other.
    fn told(shown: &[&[u64]]) -> Vec<u64> {
        let hosts = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let mut known = KnownPaces::default();
        let mut add = |samples: &&[u64]| {
            let seen = Paces([[Pace::default(), pace(samples)], [Pace::default(); 2]]);
            let Paces([[_, behind], _]) = known.add(hosts, &seen);
            behind.time(1_000).get() / 1_000
        };
        shown.iter().map(&mut add).collect()
    }

    #[test]
    fn one_alone_is_believed_of_a_slow_line_only_and_in_coarse_steps() {
        let none: &[u64] = &[];
        // 1,500 bytes take 40 ms where 1,000 take 26.67.
        assert_eq!(told(&[&[26_600], none]), [26_600, 0]);
        assert_eq!(told(&[&[26_700], none]), [26_700, 27_262], "its own is not rounded");
    }

    #[test]
    fn of_three_to_five_the_median_counts() {
        let none: &[u64] = &[];
        let shown = [&[320][..], &[90], none, &[321], none, &[9_000], none];
        // Two are too few, and no single one changes what three have shown.
        assert_eq!(told(&shown), [320, 90, 0, 321, 327, 9_000, 327]);
        let forgotten = [&[90_000][..], &[300], &[300], &[300], &[300], &[9_000], &[9_000], none];
        assert_eq!(told(&forgotten).last(), Some(&294), "the last five");
    }

    #[test]
    fn hosts_are_remembered_while_others_come() {
        let mut known = KnownPaces::default();
        let slow = Paces([[Pace::default(), pace(&[26_700])], [Pace::default(); 2]]);
        let hosts = |last| [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, last])];
        known.add(hosts(2), &slow);
        known.add(hosts(3), &slow);
        let Paces(told) = known.add(hosts(2), &Paces::default());
        assert_eq!(told[0][1].time(1_000).get() / 1_000, 27_262);
    }

    #[test]
    fn hosts_are_told_nothing_of_others_and_are_forgotten_if_they_are_too_many() {
        let mut known = KnownPaces::default();
        let slow = Paces([[pace(&[90_000]), Pace::default()], [Pace::default(); 2]]);
        let hosts = |number: u32| [IpAddr::from(number.to_be_bytes()), IpAddr::from([10, 0, 0, 1])];
        let most = u32::try_from(KnownPaces::MAX_PAIRS).unwrap();
        for number in 0..most {
            let Paces(told) = known.add(hosts(number), &slow);
            assert_eq!(told[1][0].time(1_000), Nanos::ZERO);
        }
        known.add(hosts(0), &slow);
        assert_eq!(known.by_hosts.len(), KnownPaces::MAX_PAIRS, "one that is known");
        known.add(hosts(most), &slow);
        assert_eq!(known.by_hosts.len(), 1);
    }

    #[test]
    fn what_a_timer_may_have_shown_counts_only_where_nothing_better_has() {
        let doubtful = |micros| {
            let mut pace = Pace::default();
            pace.sample_at_most(960, Nanos::from_micros(micros));
            pace
        };
        let told = |shown: &[Pace]| {
            let mut witnesses = Witnesses::default();
            let seen = |pace| Paces([[Pace::default(), pace], [Pace::default(); 2]]);
            shown.iter().for_each(|&pace| witnesses.add(&seen(pace)));
            let Paces([[_, behind], _]) = witnesses.told();
            behind.time(1_000).get() / 1_000
        };
        let (slow, sure) = (doubtful(90_000), pace(&[30_000]));
        let alone = told(&[slow]);
        assert!((85_000..95_000).contains(&alone), "{alone}");
        let beside = told(&[slow, slow, sure]);
        assert!((28_000..32_000).contains(&beside), "{beside}");
        // Three are enough of any line, and two are not.
        let fast = pace(&[320]);
        assert_eq!([told(&[fast, fast]) > 0, told(&[fast, fast, fast]) > 0], [false, true]);
    }
}
