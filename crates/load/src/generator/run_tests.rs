//! Runs in virtual time, over a transport with a scripted server.

use std::{collections::BTreeMap, io, time::Duration};

use super::{super::*, *};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The server's behaviour on the connection with this number, from 0.
type Behaves = fn(u64) -> Does;

#[derive(Clone, Copy, Debug)]
enum Does {
    /// Answers after this time, and closes.
    Answers(Duration),
    /// Closes immediately.
    Closes,
    /// Answers with a 404, and closes.
    HasNoPage,
    Resets,
    Refuses,
    Hangs,
    /// No local port was available.
    HasNoPort,
}

struct Fake {
    now: Duration,
    behaves: Behaves,
    connected: u64,
    open: BTreeMap<Slot, Open>,
    aborted: u64,
}

struct Open {
    does: Does,
    asked: Option<Duration>,
    read: bool,
}

impl Fake {
    fn new(behaves: Behaves) -> Self {
        Self { now: ms(7), behaves, connected: 0, open: BTreeMap::new(), aborted: 0 }
    }
}

impl Transport for Fake {
    fn now(&self) -> Duration {
        self.now
    }

    fn connect(&mut self, slot: Slot) -> Result<(), ConnectError> {
        let does = (self.behaves)(self.connected);
        self.connected += 1;
        match does {
            Does::HasNoPort => return Err(ConnectError::NoPort),
            Does::Refuses => return Err(ConnectError::Failed(ConnectionError::Refused)),
            _ => {}
        }
        let taken = self.open.insert(slot, Open { does, asked: None, read: false });
        assert!(taken.is_none(), "{slot:?} is in use");
        Ok(())
    }

    fn write(
        &mut self,
        slot: Slot,
        bytes: &[u8],
        _follows: AfterWrite,
    ) -> Result<usize, ConnectionError> {
        let open = self.open.get_mut(&slot).expect("it is open");
        open.asked.get_or_insert(self.now);
        Ok(bytes.len())
    }

    fn read(&mut self, slot: Slot, buffer: &mut [u8]) -> Result<Read, ConnectionError> {
        const RESPONSE: &[u8] =
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let open = self.open.get_mut(&slot).expect("it is open");
        match open.does {
            Does::Answers(after) if open.asked.is_some_and(|asked| self.now >= asked + after) => {
                if std::mem::replace(&mut open.read, true) {
                    return Ok(Read::End);
                }
                buffer[..RESPONSE.len()].copy_from_slice(RESPONSE);
                Ok(Read::ByteCount(RESPONSE.len()))
            }
            Does::Closes => Ok(Read::End),
            Does::HasNoPage if open.read => Ok(Read::End),
            Does::HasNoPage => {
                const NOT_FOUND: &[u8] = b"HTTP/1.1 404 \r\nConnection: close\r\n\r\n";
                open.read = true;
                buffer[..NOT_FOUND.len()].copy_from_slice(NOT_FOUND);
                Ok(Read::ByteCount(NOT_FOUND.len()))
            }
            Does::Resets => Err(ConnectionError::Reset),
            _ => Ok(Read::Nothing),
        }
    }

    fn half_close(&mut self, _slot: Slot) {}

    fn close(&mut self, slot: Slot) {
        self.open.remove(&slot);
    }

    fn abort(&mut self, slot: Slot) {
        self.open.remove(&slot);
        self.aborted += 1;
    }

    /// Advances time to the next event, but not beyond `until`.
    fn poll(&mut self, until: Duration, ready: &mut Vec<Slot>) -> io::Result<()> {
        let answered = |open: &Open| match open.does {
            Does::Answers(after) => open.asked.map(|asked| asked + after),
            _ => None,
        };
        let next = self.open.values().filter_map(answered).min().unwrap_or(until);
        self.now = self.now.max(next.min(until));
        let due = |open: &Open| answered(open).is_some_and(|at| at <= self.now);
        ready.extend(self.open.iter().filter(|(_, open)| due(open)).map(|(slot, _)| *slot));
        Ok(())
    }
}

fn load(schedule: Schedule) -> Load {
    Load { plan: Plan::new("h", "/", Close::Server).unwrap(), schedule, timeout: ms(1000) }
}

fn run_all(schedule: Schedule, behaves: Behaves) -> (LoadResult, Fake) {
    let mut fake = Fake::new(behaves);
    let loaded = run(&mut fake, load(schedule), |_, _| NextCall::Never).unwrap();
    assert!(fake.open.is_empty(), "every connection has come to an end");
    (loaded, fake)
}

fn close_to(found: Duration, expected: Duration) {
    // The histogram keeps three digits.
    assert!(found.abs_diff(expected) <= expected / 500, "{found:?}, expected {expected:?}");
}

#[test]
fn a_closed_loop_is_as_fast_as_the_server() {
    let schedule = Schedule::new(Pace::Closed, 4).connections(40);
    let (loaded, _) = run_all(schedule, |_| Does::Answers(ms(5)));
    assert_eq!((loaded.tally.answered(), loaded.tally.failed()), (40, 0));
    assert_eq!((loaded.elapsed, loaded.ended), (ms(50), EndReason::AsPlanned));
    close_to(loaded.tally.latency().unwrap().max, ms(5));
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let schedule = Schedule::new(Pace::Open(1000.0), 100).duration(ms(500));
    let (loaded, _) = run_all(schedule, |_| Does::Answers(ms(5)));
    assert_eq!(loaded.tally.answered(), 500);
    assert_eq!(loaded.elapsed, ms(499 + 5));
    assert_eq!(loaded.tally.latest_start(), ms(0));
    close_to(loaded.tally.latency().unwrap().p999, ms(5));
}

/// The server hangs for a second. A closed loop with one slot sends one request in that time, and
/// reports one slow response in a thousand; an open loop would have sent a hundred, and reports how
/// long those had to wait.
#[test]
fn what_could_not_be_asked_while_a_server_hung_is_counted() {
    let hiccup: Behaves = |number| Does::Answers(if number == 100 { ms(999) } else { ms(1) });
    let (closed, _) = run_all(Schedule::new(Pace::Closed, 1).connections(1000), hiccup);
    let (open, _) = run_all(Schedule::new(Pace::Open(100.0), 1).connections(1000), hiccup);
    let (closed, late) = (closed.tally.latency().unwrap(), open.tally.latest_start());
    let open = open.tally.latency().unwrap();
    close_to(closed.p99, ms(1));
    close_to(closed.max, ms(999));
    // Due every 10 ms, answered 1 ms apart after the hang: 111 of them took 999 ms, 990 ms, … 9 ms.
    close_to(open.p90, ms(99));
    assert!(open.p99 > ms(890), "{open:?}");
    assert_eq!(late, ms(989));
}

#[test]
fn a_failure_is_counted_by_its_reason_and_does_not_end_the_run() {
    let schedule = Schedule::new(Pace::Closed, 3).connections(30);
    let (loaded, fake) = run_all(schedule, |number| match number % 10 {
        3 => Does::Resets,
        5 => Does::Refuses,
        7 => Does::Hangs,
        _ => Does::Answers(ms(1)),
    });
    let failures: Vec<_> = loaded.tally.failures().map(|(name, count, _)| (name, count)).collect();
    assert_eq!(failures, [("refused", 3), ("reset", 3), ("timed-out", 3)]);
    assert_eq!((loaded.tally.answered(), loaded.tally.connections()), (21, 30));
    assert_eq!(fake.aborted, 6);
}

#[test]
fn a_run_in_which_nothing_is_answered_is_given_up() {
    let schedule = Schedule::new(Pace::Closed, 8).connections(1_000_000);
    let (loaded, _) = run_all(schedule, |_| Does::Refuses);
    assert_eq!((loaded.ended, loaded.tally.failed()), (EndReason::NothingAnswered, 100));
}

#[test]
fn a_run_of_which_nothing_is_heard_is_given_up_after_some_time_outs() {
    let schedule = Schedule::new(Pace::Closed, 1).connections(1_000_000);
    let (loaded, _) = run_all(schedule, |_| Does::Hangs);
    assert_eq!((loaded.ended, loaded.tally.failed()), (EndReason::NothingAnswered, 3));
}

#[test]
fn a_server_that_says_no_is_heard() {
    let schedule = Schedule::new(Pace::Closed, 1).connections(300);
    let (loaded, fake) = run_all(schedule, |_| Does::HasNoPage);
    assert_eq!((loaded.ended, loaded.tally.failed()), (EndReason::AsPlanned, 300));
    assert_eq!(fake.aborted, 0);
}

#[test]
fn a_server_that_has_closed_first_is_not_reset() {
    let schedule = Schedule::new(Pace::Closed, 1).connections(10);
    let (loaded, fake) = run_all(schedule, |_| Does::Closes);
    assert_eq!((loaded.tally.failed(), fake.aborted), (10, 0));
}

#[test]
fn without_a_port_what_is_open_goes_on_to_its_end() {
    let schedule = Schedule::new(Pace::Closed, 8).connections(1000);
    let (loaded, fake) = run_all(schedule, |number| match number {
        0..20 => Does::Answers(ms(5)),
        _ => Does::HasNoPort,
    });
    assert_eq!((loaded.ended, loaded.tally.answered()), (EndReason::NoPort, 20));
    assert_eq!((loaded.tally.connections(), fake.aborted), (20, 0));
}

#[test]
fn whoever_watches_may_stop_it() {
    let mut fake = Fake::new(|number| Does::Answers(ms(if number == 0 { 500 } else { 5 })));
    let schedule = Schedule::new(Pace::Closed, 2);
    let loaded = run(&mut fake, load(schedule), |fake, tally| match tally.answered() {
        0..10 => NextCall::After(ms(1)),
        _ => {
            assert!(fake.now() < ms(100));
            NextCall::Stop
        }
    })
    .unwrap();
    assert_eq!((loaded.ended, loaded.tally.unfinished()), (EndReason::Stopped, 1));
    assert!(fake.open.is_empty());
}
