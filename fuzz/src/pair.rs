//! Two endpoints over a link that loses, duplicates and reorders as it is told.

use core::time::Duration;
use std::collections::VecDeque;

use ackwise_tcp::{Instant, Transmit};

use crate::{
    checked::Checked,
    operation::{End, Operation, Run},
    single::report_path_mtu,
};

/// Runs the operations, then lets the link work well until nothing more happens: unless one end gave
/// up, everything written has arrived.
///
/// # Panics
///
/// If an invariant is broken.
pub fn run(run: &Run) {
    let mut world = World::new(run);
    for operation in run.operations.iter().take(Run::LIMIT) {
        world.apply(operation);
        world.settle();
    }
    world.finish();
}

struct World {
    now: Instant,
    ends: [Checked; 2],
    /// On their way to the end of the same index.
    links: [VecDeque<Transmit>; 2],
    aborted: bool,
}

impl World {
    fn new(run: &Run) -> Self {
        let now = Instant::EPOCH;
        let second = if run.active {
            Checked::listen(run.peer.config(), run.peer.iss())
        } else {
            Checked::connect(run.peer.config(), run.peer.iss(), now)
        };
        // Both active if the peer is too: a simultaneous open.
        let first = Checked::connect(run.setup.config(), run.setup.iss(), now);
        let mut world =
            Self { now, ends: [first, second], links: Default::default(), aborted: false };
        world.settle();
        world
    }

    fn apply(&mut self, operation: &Operation) {
        let now = self.now;
        match *operation {
            Operation::Segment(_) => {}
            Operation::Write(end, bytes) => {
                self.end(end).endpoint.write(bytes.into());
            }
            Operation::Read(end, bytes) => {
                self.end(end).endpoint.read(bytes.into());
            }
            Operation::Close(end) => self.end(end).endpoint.close(),
            Operation::Abort(end) => {
                self.aborted = true;
                self.end(end).endpoint.abort();
            }
            Operation::Hold(end, hold) => self.end(end).endpoint.set_hold(hold.policy()),
            Operation::Ack(end, ack) => self.end(end).endpoint.set_ack(ack.policy()),
            Operation::PathMtu(end, mtu, back) => {
                report_path_mtu(&mut self.end(end).endpoint, mtu, back);
            }
            Operation::AcknowledgeNow(end) => self.end(end).endpoint.acknowledge_now(),
            Operation::ReceiveBuffer(end, bytes) => self.end(end).set_receive_buffer(bytes),
            Operation::Pass(tenths) => {
                self.advance(now + Duration::from_micros(100 * u64::from(tenths)));
            }
            Operation::NextTimer => {
                if let Some(due) = self.next_timer() {
                    self.advance(due);
                }
            }
            Operation::Deliver(end) => self.deliver(end, 0),
            Operation::Overtake(end) => self.deliver(end, 1),
            Operation::Duplicate(end) => {
                if let Some(segment) = self.links[index(end)].front().copied() {
                    self.arrive(end, &segment);
                }
            }
            Operation::Lose(end) => drop(self.links[index(end)].pop_front()),
        }
    }

    fn deliver(&mut self, end: End, position: usize) {
        if let Some(segment) = self.links[index(end)].remove(position) {
            self.arrive(end, &segment);
        }
    }

    /// What is placed must come from where it is placed to: offsets are those of the sender.
    fn arrive(&mut self, end: End, transmit: &Transmit) {
        let now = self.now;
        let received = self.end(end).endpoint.handle_segment(&transmit.segment, now);
        let placement = received.placement();
        if let Some(placement) = placement {
            let came_from = transmit.offset + u64::from(placement.skip);
            assert_eq!(placement.offset, came_from, "{placement:?} of {transmit:?}");
            assert!(placement.skip + placement.len <= transmit.segment.len, "{placement:?}");
        }
    }

    fn settle(&mut self) {
        let [first, second] = &mut self.ends;
        let [to_first, to_second] = &mut self.links;
        first.settle(|transmit| to_second.push_back(transmit), self.now);
        second.settle(|transmit| to_first.push_back(transmit), self.now);
        // A link holds a bounded number; what exceeds it is lost.
        self.links.iter_mut().for_each(|link| link.truncate(LINK));
    }

    fn advance(&mut self, until: Instant) {
        self.now = until;
        for end in &mut self.ends {
            end.endpoint.handle_timeout(until);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let deadlines = self.ends.iter().filter_map(|end| end.endpoint.poll_timeout());
        deadlines.map(|deadline| deadline.at).min()
    }

    fn finish(&mut self) {
        for _ in 0..ROUNDS {
            for end in [End::First, End::Second] {
                // What is on its way now takes 10 ms, and is read at once.
                for _ in 0..self.links[index(end)].len() {
                    self.deliver(end, 0);
                    self.end(end).endpoint.read(u32::MAX);
                    self.settle();
                }
                self.end(end).endpoint.read(u32::MAX);
            }
            self.settle();
            if self.links.iter().any(|link| !link.is_empty()) {
                self.advance(self.now + Duration::from_millis(10));
            } else if let Some(due) = self.next_timer() {
                self.advance(due);
            } else {
                self.check_delivery();
                return;
            }
            self.settle();
        }
        panic!("no end after {ROUNDS} rounds at {:?}: {:?}", self.now, self.ends[0].endpoint);
    }

    /// A connection that came about and was not given up has delivered everything.
    fn check_delivery(&self) {
        if self.aborted || self.ends.iter().any(|end| end.failed) {
            return;
        }
        let [first, second] = [&self.ends[0].endpoint, &self.ends[1].endpoint];
        assert_eq!(first.written(), second.received(), "{first:?}\n{second:?}");
        assert_eq!(second.written(), first.received(), "{first:?}\n{second:?}");
    }

    fn end(&mut self, end: End) -> &mut Checked {
        &mut self.ends[index(end)]
    }
}

fn index(end: End) -> usize {
    match end {
        End::First => 0,
        End::Second => 1,
    }
}

/// Segments on their way in one direction.
const LINK: usize = 200;
/// More than any run needs to end.
const ROUNDS: u32 = 20_000;
