//! What all parts of a capture have shown, put together.
//!
//! A busy server's capture has a hundred thousand results, which are large: threads share that work, too. Each result
//! is moved from its part to where it stays, and the part's memory is given back meanwhile.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, binary_heap::PeekMut},
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
    thread,
};

use ackwise_cause::GrpcStatus;

use super::{
    ConnectionResult, ExchangeResult, Results, TunnelResult, Unfollowed,
    busy_path::{BusyPath, LeastRoundTrips},
    shared_link,
};
use crate::{folded::Folded, limits::Reached};

/// What a whole capture has shown.
#[derive(Debug)]
pub(crate) struct Sorted {
    /// In the order in which they were first seen.
    pub connections: Vec<ConnectionResult>,
    /// In the order in which they began.
    pub exchanges: Vec<ExchangeResult>,
    pub folded: Folded,
    pub reached: Reached,
    pub unfollowed: Unfollowed,
}

/// What a part has shown.
#[derive(Debug)]
struct Part {
    results: Results,
    /// The numbers in the whole capture of its connections, by their numbers here.
    numbers: Vec<u32>,
    /// Where they are.
    places: Vec<u32>,
    least: LeastRoundTrips,
}

impl Sorted {
    /// Each part has numbered its connections from 0; beside it is which segment of the capture began
    /// each of them.
    pub(crate) fn of(parts: Vec<(Results, Vec<u64>)>, threads: NonZeroUsize) -> Self {
        let numbers = numbers(&parts);
        let mut parts: Vec<Part> = parts
            .into_iter()
            .zip(numbers)
            .map(|((it, _), numbers)| Part::new(it, numbers))
            .collect();
        share(&mut parts, threads, Part::sort_connections);
        let mut least = LeastRoundTrips::default();
        parts.iter().for_each(|it| least.join(&it.least));
        share(&mut parts, threads, |it| it.judge_and_sort_exchanges(&least));
        let (mut folded, mut reached) = (Folded::default(), Reached::default());
        let mut unfollowed = Unfollowed::default();
        for Part { results, .. } in &parts {
            folded.add(&results.folded);
            reached.add(&results.reached);
            unfollowed.add(results.unfollowed);
        }
        let take = |it: Part| (it.results.connections, it.results.exchanges);
        let (connections, exchanges) = parts.into_iter().map(take).unzip();
        let (connections, exchanges) = thread::scope(|scope| {
            let exchanges = || merged(exchanges, ExchangeResult::place);
            let exchanges = match threads.get() {
                1 => Err(exchanges),
                _ => Ok(scope.spawn(exchanges)),
            };
            let connections = merged(connections, |it| it.id);
            let exchanges = match exchanges {
                Ok(thread) => thread.join().unwrap_or_else(|what| std::panic::resume_unwind(what)),
                Err(exchanges) => exchanges(),
            };
            (connections, exchanges)
        });
        let mut exchanges: Vec<ExchangeResult> = exchanges;
        shared_link::doubt(&mut exchanges, &connections);
        Self { connections, exchanges, folded, reached, unfollowed }
    }
}

impl Part {
    fn new(results: Results, numbers: Vec<u32>) -> Self {
        Self { results, numbers, places: Vec::new(), least: LeastRoundTrips::default() }
    }

    /// Gives the connections their numbers. The last one comes first.
    fn sort_connections(&mut self) {
        self.results.fold_gone();
        let connections = &mut self.results.connections;
        connections.sort_by_cached_key(|it| Reverse(self.numbers[it.id as usize]));
        self.places = vec![0; self.numbers.len()];
        for (place, it) in (0..).zip(connections.iter_mut()) {
            self.places[it.id as usize] = place;
            it.id = self.numbers[it.id as usize];
        }
        self.least = LeastRoundTrips::of(connections);
    }

    /// Says of the exchanges what only all connections show. The last one comes first.
    fn judge_and_sort_exchanges(&mut self, least: &LeastRoundTrips) {
        let Results { connections, exchanges, .. } = &mut self.results;
        let statuses = stream_statuses(connections);
        for exchange in &mut *exchanges {
            // All that are left are of connections that are listed.
            let connection = &connections[self.places[exchange.connection as usize] as usize];
            exchange.connection = connection.id;
            exchange.limit(&connection.quality);
            let BusyPath { is_doubtful, distance } = least.judge(connection);
            if is_doubtful || exchange.took_path_for_longer(connection) {
                exchange.doubt_path(connection.vantage);
            }
            if connection.distance_in_doubt {
                exchange.doubt_distance();
            }
            if let Some(distance) = distance {
                distance.correct(exchange);
            }
            if !statuses.is_empty() && exchange.is_grpc {
                let opener = (exchange.connection, exchange.stream, exchange.packet);
                exchange.grpc_status =
                    exchange.grpc_status.or_else(|| statuses.get(&opener).copied());
            }
        }
        sort_by_place(exchanges);
        exchanges.reverse();
    }
}

/// How streams of gRPC ended, by the connection, the stream and the first packet of the exchange that opened each: that was
/// over before.
fn stream_statuses(connections: &[ConnectionResult]) -> BTreeMap<(u32, u32, u64), GrpcStatus> {
    let of = |connection: &ConnectionResult| {
        let id = connection.id;
        let status = |it: &TunnelResult| Some(((id, it.stream, it.packet), it.grpc_status?));
        connection.tunnels.iter().filter_map(status).collect::<Vec<_>>()
    };
    connections.iter().filter(|it| !it.tunnels.is_empty()).flat_map(of).collect()
}

/// Does something with each of `items`, on as many threads.
fn share<T: Send>(items: &mut [T], threads: NonZeroUsize, act: impl Fn(&mut T) + Sync) {
    let items = Mutex::new(items.iter_mut());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(item) = next() {
            act(item);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(work);
        }
        work();
    });
}

/// By [place](ExchangeResult::place). Each is moved only once or twice: they are large.
fn sort_by_place(exchanges: &mut [ExchangeResult]) {
    exchanges.sort_by_cached_key(|it| it.start);
    for together in exchanges.chunk_by_mut(|one, other| one.start == other.start) {
        together.sort_by_key(ExchangeResult::place);
    }
}

/// All of `parts`, each of which begins with its last one.
fn merged<T, K: Ord>(mut parts: Vec<Vec<T>>, key: impl Fn(&T) -> K) -> Vec<T> {
    /// Results after which a part gives memory back. Our choice.
    const SHRINKS: usize = 1 << 8;
    let next =
        |parts: &[Vec<T>], part: usize| parts[part].last().map(|it| Reverse((key(it), part)));
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    let mut heap: BinaryHeap<_> = (0..parts.len()).filter_map(|part| next(&parts, part)).collect();
    while let Some(mut first) = heap.peek_mut() {
        let Reverse((_, part)) = *first;
        all.extend(parts[part].pop());
        if parts[part].len().is_multiple_of(SHRINKS) {
            parts[part].shrink_to_fit();
        }
        match next(&parts, part) {
            Some(next) => *first = next,
            None => drop(PeekMut::pop(first)),
        }
    }
    all
}

/// The numbers in the whole capture of the connections of each part, by their numbers there: how many are listed that
/// began earlier.
fn numbers(parts: &[(Results, Vec<u64>)]) -> Vec<Vec<u32>> {
    let mut numbers: Vec<Vec<u32>> = parts.iter().map(|(_, begun)| vec![0; begun.len()]).collect();
    for ((part, _), numbers) in parts.iter().zip(&mut numbers) {
        part.connections.iter().for_each(|it| numbers[it.id as usize] = 1);
    }
    let mut all: Vec<(u64, u32, u32)> = Vec::with_capacity(numbers.iter().map(Vec::len).sum());
    for (part, (_, begun)) in (0..).zip(parts) {
        all.extend((0..).zip(begun).map(|(local, begun)| (*begun, part, local)));
    }
    // Those of a part are mostly in order already, which a merge sort makes use of.
    all.sort();
    let mut earlier = 0;
    for (_, part, local) in all {
        let number = &mut numbers[part as usize][local as usize];
        earlier += std::mem::replace(number, earlier);
    }
    numbers
}
