//! Keeps to the limits of memory, between batches: then all shards are known, and the result is the same
//! for any number of threads.

use std::{sync::MutexGuard, time::Duration};

use super::shard::{Load, Shard};
use crate::{
    attribution::KnownPaces,
    limits::{EXCHANGE_BYTES, HALF_OPEN, LISTED_CONNECTIONS, LIVE_BYTES, QUIET_CONNECTIONS},
    results::Room,
};

/// Lets go of the oldest and of the least interesting beyond each limit.
pub(super) fn relieve(shards: &mut [MutexGuard<'_, Shard>], known: &mut KnownPaces) {
    let mut load = load(shards);
    while load.half_open > HALF_OPEN
        && let Some(shard) = first_in_line(shards, Shard::oldest_half_open)
    {
        load.half_open -= shard.load().half_open;
        shard.fold_half_open();
        load.half_open += shard.load().half_open;
    }
    // A connection that is used may be looked at once for each time it is used, and once more.
    while load.live_bytes > LIVE_BYTES
        && let Some(shard) = first_in_line(shards, Shard::idle_longest)
    {
        load.live_bytes -= shard.load().live_bytes;
        shard.let_go(known);
        load.live_bytes += shard.load().live_bytes;
    }
    relieve_results(shards);
}

/// The same for what is over.
pub(super) fn relieve_results(shards: &mut [MutexGuard<'_, Shard>]) {
    let load = load(shards);
    if load.gone > MOST_GONE {
        shards.iter_mut().for_each(|it| it.fold_gone());
    }
    if load.exchange_bytes > EXCHANGE_BYTES {
        fold_half(shards);
    }
    shards.iter_mut().for_each(|it| it.free_numbers());
    share_room(shards);
}

fn load(shards: &[MutexGuard<'_, Shard>]) -> Load {
    shards.iter().map(|it| it.load()).fold(Load::default(), Load::plus)
}

impl Load {
    const fn plus(self, other: Self) -> Self {
        Self {
            half_open: self.half_open + other.half_open,
            live_bytes: self.live_bytes + other.live_bytes,
            exchange_bytes: self.exchange_bytes + other.exchange_bytes,
            gone: self.gone + other.gone,
        }
    }
}

/// The shard with the first of something.
fn first_in_line<'a, 'b>(
    shards: &'a mut [MutexGuard<'b, Shard>],
    of: impl Fn(&Shard) -> Option<u64>,
) -> Option<&'a mut MutexGuard<'b, Shard>> {
    let found = shards.iter_mut().filter_map(|it| Some((of(it)?, it)));
    found.min_by_key(|(first, _)| *first).map(|(_, shard)| shard)
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
fn share_room(shards: &mut [MutexGuard<'_, Shard>]) {
    let listed = shards.iter_mut().map(|it| it.results().listed());
    let [quiet, with_exchanges] = listed.fold([0; 2], |[a, b], [c, d]| [a + c, b + d]);
    let room = Room {
        quiet: QUIET_CONNECTIONS.saturating_sub(quiet),
        listed: LISTED_CONNECTIONS.saturating_sub(with_exchanges),
    };
    for shard in shards {
        shard.results().room = room;
    }
}

/// The most connections that are not listed whose exchanges still are. Our choice.
const MOST_GONE: usize = 1 << 14;
