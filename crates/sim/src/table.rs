//! A host's table of connections: how many entries a look-up examines, and the memory they hold.
//!
//! What examining takes is the host's [`CostModel`](crate::scenario::CostModel). The table has both
//! ends' own view: an entry comes with the first segment of a connection and goes with TIME-WAIT.

mod newest;

use std::{collections::BTreeSet, time::Duration};

use ackwise_tcp::{ByteCount, Instant};

use newest::Newest;

/// A host's table of connections, as data.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TableModel {
    /// In what order entries are examined.
    pub order: TableOrder,
    /// What one connection holds; it is rounded up to whole mbufs of [`TableModel::MBUF`].
    pub record: ByteCount,
    /// What all may hold; without room for another one, a SYN is not answered, and a program cannot
    /// connect. `None` has no end.
    pub memory: Option<ByteCount>,
    /// Connections of other programs: older than all, always there.
    pub others: u32,
    /// TIME-WAIT entries that nobody's connection has left.
    pub dummies: Option<Dummies>,
}

impl TableModel {
    /// The memory unit of 4.3BSD's network code.
    pub const MBUF: ByteCount = ByteCount(128);

    /// What one entry holds.
    const fn entry(&self) -> u64 {
        self.record.0.div_ceil(Self::MBUF.0) * Self::MBUF.0
    }
}

/// In what order a look-up examines entries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TableOrder {
    /// One list, the newest first, and a pointer to the entry found last: SunOS 4.1, 4.3BSD. A SYN
    /// passes the whole list.
    Linear,
    /// The same, but TIME-WAIT at the end, where the search for others stops: BSD/OS.
    TimeWaitLast,
    /// Every look-up examines one entry (McKenney and Dove 1992).
    Hash,
}

/// TIME-WAIT entries as from a host that opens and closes connections at a steady rate. Each stays for
/// the host's TIME-WAIT, as others do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dummies {
    /// How many.
    pub entries: u32,
    /// When the first one comes, after the run began.
    pub at: Duration,
    /// From one to the next.
    pub every: Duration,
}

/// A connection's place in a table.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Entry {
    /// In the list of those in TIME-WAIT, if that is one of its own.
    last: bool,
    number: u64,
}

/// How a host counts an end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Counted {
    /// Not: it listens, or it is closed.
    Not,
    /// Among the open ones.
    Open,
    /// Among those in TIME-WAIT.
    TimeWait,
}

/// What a table went through.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TableMeasures {
    /// Look-ups, from the beginning of the run.
    pub lookups: u64,
    /// Entries that they examined.
    pub examined: u64,
    /// SYNs and connects that found no memory, from the beginning of the run.
    pub refused: u64,
    /// Bytes that entries held, the mean over the measured time.
    pub mean_memory: u64,
    /// The most at once.
    pub most_memory: u64,
}

/// A table with its state.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    model: TableModel,
    /// All entries; those in TIME-WAIT are in `last` if the order wants it.
    first: Newest,
    last: Newest,
    /// What the one-entry cache points to.
    cached: Option<Entry>,
    /// Entries of which only TIME-WAIT is left, by its end: there are as many events.
    leaving: BTreeSet<(Instant, Entry)>,
    dummies_left: u32,
    /// Bytes times nanoseconds until `accounted`, since the warm-up.
    held: u128,
    warm_since: Instant,
    accounted: Instant,
    measures: TableMeasures,
}

impl Table {
    pub(crate) fn new(model: TableModel) -> Self {
        Self {
            model,
            first: Newest::default(),
            last: Newest::default(),
            cached: None,
            leaving: BTreeSet::new(),
            dummies_left: model.dummies.map_or(0, |dummies| dummies.entries),
            held: 0,
            warm_since: Instant::EPOCH,
            accounted: Instant::EPOCH,
            measures: TableMeasures::default(),
        }
    }

    /// How many entries it takes to find `entry`, or that there is none: for a SYN.
    pub(crate) fn look_up(&mut self, entry: Option<Entry>) -> u64 {
        let examined = match self.model.order {
            TableOrder::Hash => 1,
            _ if entry.is_some() && entry == self.cached => 1,
            TableOrder::Linear | TableOrder::TimeWaitLast => self.position(entry),
        };
        self.cached = entry.or(self.cached);
        self.measures.lookups += 1;
        self.measures.examined += examined;
        examined
    }

    fn position(&self, entry: Option<Entry>) -> u64 {
        let others = u64::from(self.model.others);
        match entry {
            Some(Entry { last: false, number }) => self.first.newer(number) + 1,
            Some(Entry { last: true, number }) => {
                self.first.len() + others + self.last.newer(number) + 1
            }
            // The first one in TIME-WAIT ends the search.
            None => self.first.len() + others + u64::from(self.last.len() > 0),
        }
    }

    /// An end has become what it is `now`; returns its entry from now on.
    pub(crate) fn change(
        &mut self,
        entry: Option<Entry>,
        to: Counted,
        now: Instant,
    ) -> Option<Entry> {
        let moves = to == Counted::TimeWait && self.model.order == TableOrder::TimeWaitLast;
        match (entry, to) {
            (None, Counted::Not) => None,
            (Some(entry), Counted::Open | Counted::TimeWait) if !moves => Some(entry),
            (entry, to) => {
                self.account(now);
                if let Some(entry) = entry {
                    self.remove(entry);
                }
                if to == Counted::Not {
                    return None;
                }
                let number = if moves { self.last.insert() } else { self.first.insert() };
                self.measures.most_memory = self.measures.most_memory.max(self.memory());
                Some(Entry { last: moves, number })
            }
        }
    }

    fn remove(&mut self, entry: Entry) {
        let list = if entry.last { &mut self.last } else { &mut self.first };
        list.remove(entry.number);
        self.cached.take_if(|cached| *cached == entry);
    }

    /// Of a connection nothing but TIME-WAIT is left, until `end`.
    pub(crate) fn leave(&mut self, entry: Entry, end: Instant) {
        self.leaving.insert((end, entry));
    }

    /// The next entry that was left leaves TIME-WAIT.
    pub(crate) fn left(&mut self, now: Instant) {
        if let Some((_, entry)) = self.leaving.pop_first() {
            self.change(Some(entry), Counted::Not, now);
        }
    }

    /// The next dummy, if there is one left to come: returns when the one after it does.
    pub(crate) fn add_dummy(&mut self, end: Instant, now: Instant) -> Option<Duration> {
        let every = self.model.dummies?.every;
        self.dummies_left = self.dummies_left.checked_sub(1)?;
        if let Some(entry) = self.change(None, Counted::TimeWait, now) {
            self.leave(entry, end);
        }
        (self.dummies_left > 0).then_some(every)
    }

    /// Whether another connection fits; if not, it is counted as refused.
    pub(crate) fn admits(&mut self) -> bool {
        let fits =
            self.model.memory.is_none_or(|most| self.memory() + self.model.entry() <= most.0);
        self.measures.refused += u64::from(!fits);
        fits
    }

    fn memory(&self) -> u64 {
        (self.first.len() + self.last.len() + u64::from(self.model.others)) * self.model.entry()
    }

    /// The warm-up is over.
    pub(crate) fn warmed_up(&mut self, now: Instant) {
        (self.held, self.warm_since, self.accounted) = (0, now, now);
        self.measures.most_memory = self.memory();
    }

    fn account(&mut self, now: Instant) {
        let span = now.since(self.accounted).as_nanos();
        self.held += u128::from(self.memory()) * span;
        self.accounted = now;
    }

    pub(crate) fn measures(&self, now: Instant) -> TableMeasures {
        let mut table = self.clone();
        table.account(now);
        let span = now.since(table.warm_since).as_nanos().max(1);
        let mean_memory = u64::try_from(table.held / span).unwrap_or(u64::MAX);
        TableMeasures { mean_memory, ..self.measures }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: TableModel = TableModel {
        order: TableOrder::Linear,
        record: ByteCount(200),
        memory: Some(ByteCount(1_024)),
        others: 1,
        dummies: None,
    };

    fn three(order: TableOrder) -> (Table, [Option<Entry>; 3]) {
        let mut table = Table::new(TableModel { order, ..MODEL });
        let open = |table: &mut Table| table.change(None, Counted::Open, Instant::EPOCH);
        let entries = [open(&mut table), open(&mut table), open(&mut table)];
        (table, entries)
    }

    #[test]
    fn the_newest_is_found_first_and_the_last_found_at_once() {
        let (mut table, [oldest, middle, newest]) = three(TableOrder::Linear);
        let looks = [newest, oldest, oldest, middle, None, middle];
        assert_eq!(looks.map(|entry| table.look_up(entry)), [1, 3, 1, 2, 4, 1]);
        assert_eq!(table.measures(Instant::EPOCH).examined, 12);
    }

    #[test]
    fn time_wait_is_passed_in_one_list_and_ends_the_search_in_another() {
        for (order, expected) in [(TableOrder::Linear, [3, 4]), (TableOrder::TimeWaitLast, [1, 3])]
        {
            let (mut table, [oldest, middle, newest]) = three(order);
            for entry in [middle, newest] {
                table.change(entry, Counted::TimeWait, Instant::EPOCH);
            }
            assert_eq!([oldest, None].map(|entry| table.look_up(entry)), expected, "{order:?}");
        }
        let (mut table, [oldest, ..]) = three(TableOrder::Hash);
        assert_eq!([oldest, None].map(|entry| table.look_up(entry)), [1, 1]);
    }

    #[test]
    fn records_are_whole_mbufs_and_the_pool_has_an_end() {
        let (mut table, [oldest, ..]) = three(TableOrder::Linear);
        assert!(!table.admits(), "four times 256 bytes are all there is");
        table.change(oldest, Counted::Not, Instant::EPOCH);
        assert!(table.admits());
        let TableMeasures { refused, most_memory, .. } = table.measures(Instant::EPOCH);
        assert_eq!((refused, most_memory), (1, 1_024));
    }
}
