//! Keeps to the limits of memory, between batches: then all shards are known, and the result is the same
//! for any number of threads.

use std::{sync::MutexGuard, time::Duration};

use super::shard::{Load, Shard};
use crate::{
    attribution::KnownPaces,
    limits::{
        EXCHANGE_BYTES, Extent, LISTED_CONNECTIONS, LIVE_BYTES, ONE_PACKET, QUIET_CONNECTIONS,
    },
    results::Room,
};

/// Lets go of the oldest and of the least interesting beyond each limit.
pub(super) fn relieve(
    shards: &mut [MutexGuard<'_, Shard>],
    extent: Extent,
    known: &mut KnownPaces,
) {
    let load = load(shards);
    let mut beyond = load.one_packet.saturating_sub(extent.of(ONE_PACKET));
    in_line(shards, Shard::oldest_one_packet, |shard| {
        if beyond > 0 {
            let before = shard.load().one_packet;
            shard.fold_one_packet();
            beyond -= before - shard.load().one_packet;
        }
        beyond > 0
    });
    // A connection that is used may be looked at once for each time it is used, and once more.
    let mut beyond = load.live_bytes.saturating_sub(extent.of(LIVE_BYTES));
    in_line(shards, Shard::idle_longest, |shard| {
        if beyond > 0 {
            let before = shard.load().live_bytes;
            shard.let_go(known);
            beyond = beyond.saturating_sub(before - shard.load().live_bytes);
        }
        beyond > 0
    });
    relieve_results(shards, extent);
}

/// The same for what is over.
pub(super) fn relieve_results(shards: &mut [MutexGuard<'_, Shard>], extent: Extent) {
    let load = load(shards);
    if load.gone > MOST_GONE {
        shards.iter_mut().for_each(|it| it.fold_gone());
    }
    if load.exchange_bytes > extent.of(EXCHANGE_BYTES) {
        fold_half(shards);
    }
    shards.iter_mut().for_each(|it| it.free_numbers());
    share_room(shards, extent);
}

fn load(shards: &[MutexGuard<'_, Shard>]) -> Load {
    shards.iter().map(|it| it.load()).fold(Load::default(), Load::plus)
}

impl Load {
    const fn plus(self, other: Self) -> Self {
        Self {
            one_packet: self.one_packet + other.one_packet,
            live_bytes: self.live_bytes + other.live_bytes,
            exchange_bytes: self.exchange_bytes + other.exchange_bytes,
            gone: self.gone + other.gone,
        }
    }
}

/// Goes to the shard with the first of something, again and again until `act` has enough.
fn in_line(
    shards: &mut [MutexGuard<'_, Shard>],
    first: impl Fn(&Shard) -> Option<u64>,
    mut act: impl FnMut(&mut Shard) -> bool,
) {
    let of = |shard: &Shard| first(shard).unwrap_or(u64::MAX);
    let mut firsts: Vec<u64> = shards.iter().map(|it| of(it)).collect();
    loop {
        let least = firsts.iter().enumerate().min_by_key(|(_, first)| **first);
        let Some((number, _)) = least.filter(|(_, first)| **first < u64::MAX) else { return };
        if !act(&mut shards[number]) {
            return;
        }
        firsts[number] = of(&shards[number]);
    }
}

/// Keeps the slower half of all exchanges: whatever comes, no exchange is dropped that is among that
/// many of the slowest.
fn fold_half(shards: &mut [MutexGuard<'_, Shard>]) {
    shards.iter_mut().for_each(|it| it.fold_gone());
    let mut durations: Vec<Duration> =
        shards.iter_mut().flat_map(|it| it.results().durations().collect::<Vec<_>>()).collect();
    if durations.is_empty() {
        return;
    }
    let half = durations.len() / 2;
    let (_, &mut least, slower) = durations.select_nth_unstable(half);
    let mut equal = 1 + slower.iter().filter(|it| **it == least).count();
    for shard in shards {
        shard.results().fold_exchanges(least, &mut equal);
    }
}

/// Says how many connections more each shard may list before the next time.
fn share_room(shards: &mut [MutexGuard<'_, Shard>], extent: Extent) {
    let listed = shards.iter_mut().map(|it| it.results().listed());
    let [quiet, with_exchanges] = listed.fold([0; 2], |[a, b], [c, d]| [a + c, b + d]);
    let room = Room {
        quiet: extent.of(QUIET_CONNECTIONS).saturating_sub(quiet),
        listed: extent.of(LISTED_CONNECTIONS).saturating_sub(with_exchanges),
    };
    for shard in shards {
        shard.results().room = room;
    }
}

/// The most connections that are not listed whose exchanges still are. Our choice.
const MOST_GONE: usize = 1 << 14;
