//! Runs in virtual time, over a transport with a scripted server.

use std::{collections::BTreeMap, io, time::Duration};

use ackwise_http::{Method, workload::Span};
use ackwise_link::Seed;
use ackwise_net::{AfterWrite, ConnectError, ConnectionError, Heard, Read, Slot, Transport};

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
    /// Answers each request after a millisecond, and keeps the connection for this many; but while it
    /// stalls, from the first time to the second, nothing is answered.
    Keeps(u32, Duration, Duration),
    /// Closes immediately.
    Closes,
    /// Answers this many requests at once without a word about its close, and then closes: the client sees that
    /// before it asks again, or only after that.
    ClosesAfter(u32, Seen),
    /// Answers with a 404, and closes.
    HasNoPage,
    Resets,
    Refuses,
    Hangs,
    /// No local port was available.
    HasNoPort,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    Before,
    Crossed,
    /// It is acknowledged, too.
    Heard,
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
    answered: u32,
}

impl Open {
    /// When the outstanding request is answered.
    fn answers_at(&self) -> Option<Duration> {
        match self.does {
            Does::Answers(after) => self.asked.map(|asked| asked + after),
            Does::Keeps(_, from, to) => self.asked.map(|asked| served(asked, from, to)),
            _ => None,
        }
    }
}

/// When a server that stalls answers a request.
fn served(asked: Duration, from: Duration, to: Duration) -> Duration {
    let at = asked + ms(1);
    if (from..to).contains(&at) { to } else { at }
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
        let taken = self.open.insert(slot, Open { does, asked: None, read: false, answered: 0 });
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
        const KEPT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        let open = self.open.get_mut(&slot).expect("it is open");
        let is_due = open.answers_at().is_some_and(|at| self.now >= at);
        match open.does {
            Does::Keeps(requests, _, _) if is_due => {
                (open.asked, open.answered) = (None, open.answered + 1);
                let last = open.answered == requests;
                if last {
                    open.does = Does::Closes;
                }
                let response = if last { RESPONSE } else { KEPT };
                buffer[..response.len()].copy_from_slice(response);
                Ok(Read::ByteCount(response.len()))
            }
            Does::Answers(_) if is_due => {
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
            Does::ClosesAfter(requests, _) if open.answered == requests => Ok(Read::End),
            Does::ClosesAfter(..) if open.asked.take().is_some() => {
                open.answered += 1;
                buffer[..KEPT.len()].copy_from_slice(KEPT);
                Ok(Read::ByteCount(KEPT.len()))
            }
            _ => Ok(Read::Nothing),
        }
    }

    fn may_have_ended(&mut self, slot: Slot, _now: Duration) -> bool {
        matches!(self.open[&slot].does, Does::ClosesAfter(_, Seen::Before))
    }

    fn heard(&mut self, slot: Slot) -> Option<Heard> {
        Some(match self.open.get(&slot)?.does {
            Does::ClosesAfter(_, Seen::Crossed) => Heard::Part,
            _ => Heard::All,
        })
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
        let next = self.open.values().filter_map(Open::answers_at).min().unwrap_or(until);
        self.now = self.now.max(next.min(until));
        let due = |open: &Open| open.answers_at().is_some_and(|at| at <= self.now);
        ready.extend(self.open.iter().filter(|(_, open)| due(open)).map(|(slot, _)| *slot));
        Ok(())
    }
}

fn load(schedule: Schedule) -> Load {
    Load::new(Plan::new("h", "/", Close::Server).unwrap(), schedule, ms(1000))
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
    let schedule = Schedule::new(Pace::Closed, 4).requests(40);
    let (loaded, _) = run_all(schedule, |_| Does::Answers(ms(5)));
    assert_eq!((loaded.tally.answered(), loaded.tally.failed()), (40, 0));
    assert_eq!((loaded.elapsed, loaded.ended), (ms(50), EndReason::AsPlanned));
    close_to(loaded.tally.latency().unwrap().max, ms(5));
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let schedule = Schedule::new(Pace::Open(Arrivals::constant(1000.0)), 100).duration(ms(500));
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
    let (closed, _) = run_all(Schedule::new(Pace::Closed, 1).requests(1000), hiccup);
    let (open, _) =
        run_all(Schedule::new(Pace::Open(Arrivals::constant(100.0)), 1).requests(1000), hiccup);
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
    let schedule = Schedule::new(Pace::Closed, 3).requests(30);
    let (loaded, fake) = run_all(schedule, |number| match number % 10 {
        3 => Does::Resets,
        5 => Does::Refuses,
        7 => Does::Hangs,
        _ => Does::Answers(ms(1)),
    });
    assert_eq!(kinds(&loaded), [("abandoned", 3), ("connect-refused", 3), ("reset", 3)]);
    assert_eq!((loaded.tally.answered(), loaded.tally.connections()), (21, 30));
    assert_eq!(fake.aborted, 6);
}

fn kinds(loaded: &LoadResult) -> Vec<(&'static str, u64)> {
    loaded.tally.failures().map(|(fault, count, _)| (fault.kind, count)).collect()
}

/// Twenty requests of one user to a server that closes after every fifth.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn closing(seen: Seen, method: Method, repeats_crossed: bool) -> (LoadResult, Fake) {
    let behaves: Behaves = match seen {
        Seen::Before => |_| Does::ClosesAfter(5, Seen::Before),
        Seen::Crossed => |_| Does::ClosesAfter(5, Seen::Crossed),
        Seen::Heard => |_| Does::ClosesAfter(5, Seen::Heard),
    };
    let schedule = Schedule::new(Pace::Closed, 1).requests(20).per_connection(u64::MAX);
    let plan = Plan::of(&[Ask { method, ..Ask::get("h", "/") }], "h", Close::Client).unwrap();
    let load = Load { plan, repeats_crossed, ..load(schedule) };
    let mut fake = Fake::new(behaves);
    let loaded = run(&mut fake, load, |_, _| NextCall::Never).unwrap();
    assert!(fake.open.is_empty(), "every connection has come to an end");
    (loaded, fake)
}

#[test]
fn a_close_that_is_seen_in_time_is_not_ignored() {
    let (loaded, fake) = closing(Seen::Before, Method::Get, false);
    assert_eq!((loaded.tally.answered(), kinds(&loaded)), (20, vec![]));
    assert_eq!((fake.connected, loaded.tally.cut_short()), (4, 3));
}

#[test]
fn a_crossed_close_is_no_error_and_is_repeated_only_if_asked() {
    let (loaded, _) = closing(Seen::Crossed, Method::Get, false);
    assert_eq!((loaded.tally.requests(), loaded.tally.answered()), (20, 17));
    assert_eq!((loaded.tally.failed(), loaded.tally.repeated()), (0, 0));
    assert_eq!(kinds(&loaded), [("close-race", 3)]);
    let (loaded, fake) = closing(Seen::Crossed, Method::Get, true);
    assert_eq!((loaded.tally.requests(), loaded.tally.answered()), (20, 20));
    assert_eq!((loaded.tally.crossed_closes(), loaded.tally.repeated()), (3, 3));
    assert_eq!((fake.connected, fake.aborted), (4, 0));
}

/// RFC 9110, section 9.2.2: POST is not idempotent.
#[test]
fn a_post_is_never_repeated() {
    let (loaded, _) = closing(Seen::Crossed, Method::Post, true);
    assert_eq!((loaded.tally.crossed_closes(), loaded.tally.repeated()), (3, 0));
}

#[test]
fn a_request_that_the_server_had_is_no_crossed_close() {
    let (loaded, _) = closing(Seen::Heard, Method::Get, true);
    assert_eq!((loaded.tally.failed(), loaded.tally.crossed_closes()), (3, 0));
    let (fault, ..) = loaded.tally.failures().next().unwrap();
    let expected = ("closed-unanswered", "closed-unanswered", Some("close-race"));
    assert_eq!((fault.kind, fault.outcome, fault.rival), expected);
}

#[test]
fn a_run_in_which_nothing_is_answered_is_given_up() {
    let schedule = Schedule::new(Pace::Closed, 8).requests(1_000_000);
    let (loaded, _) = run_all(schedule, |_| Does::Refuses);
    assert_eq!((loaded.ended, loaded.tally.failed()), (EndReason::NothingAnswered, 100));
}

#[test]
fn a_run_of_which_nothing_is_heard_is_given_up_after_some_time_outs() {
    let schedule = Schedule::new(Pace::Closed, 1).requests(1_000_000);
    let (loaded, _) = run_all(schedule, |_| Does::Hangs);
    assert_eq!((loaded.ended, loaded.tally.failed()), (EndReason::NothingAnswered, 3));
}

#[test]
fn a_server_that_says_no_is_heard() {
    let schedule = Schedule::new(Pace::Closed, 1).requests(300);
    let (loaded, fake) = run_all(schedule, |_| Does::HasNoPage);
    assert_eq!((loaded.ended, loaded.tally.failed()), (EndReason::AsPlanned, 300));
    assert_eq!(fake.aborted, 0);
}

#[test]
fn a_server_that_has_closed_first_is_not_reset() {
    let schedule = Schedule::new(Pace::Closed, 1).requests(10);
    let (loaded, fake) = run_all(schedule, |_| Does::Closes);
    assert_eq!((loaded.tally.failed(), fake.aborted), (10, 0));
}

#[test]
fn without_a_port_what_is_open_goes_on_to_its_end() {
    let schedule = Schedule::new(Pace::Closed, 8).requests(1000);
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

/// By the method of wrk2: each connection has its own schedule and sends one request after the other,
/// and a latency counts from the time at which the request was due.
fn wrk2(rate: f64, connections: u32, requests: u32, from: Duration, to: Duration) -> Vec<Duration> {
    let mut latencies = Vec::new();
    for connection in 0..connections {
        let mut free = Duration::ZERO;
        for number in (connection..requests).step_by(connections as usize) {
            let due = Duration::from_secs_f64(f64::from(number) / rate);
            free = served(due.max(free), from, to);
            latencies.push(free - due);
        }
    }
    latencies.sort_unstable();
    latencies
}

/// The wait for a stalled server counts for every request that was due, not only for those that were
/// outstanding: within 10 % of wrk2's method.
#[test]
fn kept_connections_at_a_rate_have_the_percentiles_of_wrk2_s_method() {
    // The fake's clock starts at 7 ms.
    let stalls: Behaves = |_| Does::Keeps(u32::MAX, ms(1007), ms(1507));
    let pace = Pace::Open(Arrivals::constant(1000.0));
    let schedule = Schedule::new(pace, 16).requests(10_000).per_connection(u64::MAX);
    let (loaded, fake) = run_all(schedule, stalls);
    assert_eq!((loaded.tally.answered(), fake.connected), (10_000, 16));
    let expected = wrk2(1000.0, 16, 10_000, ms(1000), ms(1500));
    for per_mille in [500_usize, 900, 950, 960, 980, 990, 999, 1000] {
        let share = per_mille as f64 / 1e3;
        let found = loaded.tally.latencies().value_at_quantile(share) as f64 / 1e6;
        let rank = expected.len() * per_mille / 1000 - 1;
        let expected = expected[rank].as_secs_f64();
        assert!((found / expected - 1.0).abs() < 0.1, "{share}: {found} s, expected {expected} s");
    }
    assert_eq!(loaded.tally.own_lateness(), ms(0), "the connections were missing, not the time");
    assert!(loaded.tally.latest_start() > ms(400));
}

#[test]
fn a_duration_ends_kept_connections_too() {
    for pace in [Pace::Closed, Pace::Open(Arrivals::constant(500.0))] {
        let schedule = Schedule::new(pace, 4).per_connection(u64::MAX).duration(ms(400));
        let (loaded, fake) = run_all(schedule, |_| Does::Keeps(u32::MAX, ms(0), ms(0)));
        assert!(loaded.elapsed <= ms(402), "{:?}", loaded.elapsed);
        let expected = if pace == Pace::Closed { 1600 } else { 200 };
        assert_eq!((loaded.tally.answered(), loaded.tally.failed()), (expected, 0));
        assert_eq!(loaded.tally.dismissed(), fake.connected);
        assert_eq!((loaded.tally.unfinished(), fake.aborted), (0, 0));
    }
}

#[test]
fn requests_beyond_the_server_s_limit_are_made_on_new_connections() {
    for pace in [Pace::Closed, Pace::Open(Arrivals::constant(500.0))] {
        let schedule = Schedule::new(pace, 2).requests(200).per_connection(100);
        let (loaded, fake) = run_all(schedule, |_| Does::Keeps(30, ms(0), ms(0)));
        assert_eq!((loaded.tally.answered(), loaded.tally.failed()), (200, 0), "{pace:?}");
        assert!((7..=9).contains(&fake.connected), "{pace:?}: {}", fake.connected);
        assert!(loaded.tally.cut_short() >= 6, "{pace:?}");
    }
}

#[test]
fn a_request_that_times_out_is_in_the_percentiles() {
    let schedule = Schedule::new(Pace::Closed, 1).requests(10);
    let (loaded, _) = run_all(schedule, |number| match number {
        5 => Does::Hangs,
        _ => Does::Answers(ms(1)),
    });
    assert_eq!((loaded.tally.answered(), loaded.tally.failed()), (9, 1));
    let latency = loaded.tally.latency().unwrap();
    assert!(latency.max >= ms(1000) && latency.p999 >= ms(999), "{latency:?}");
    close_to(latency.p90, ms(1));
}

#[test]
fn statuses_are_counted_and_a_warm_up_is_not() {
    let schedule = Schedule::new(Pace::Closed, 1).requests(10);
    let mut fake = Fake::new(|number| match number % 5 {
        0 => Does::HasNoPage,
        _ => Does::Answers(ms(10)),
    });
    let load = Load { warm_up: ms(40), ..load(schedule) };
    let loaded = run(&mut fake, load, |_, _| NextCall::Never).unwrap();
    // The first 404 and four of 10 ms are due until 40 ms; the second 404 is due at 40 ms.
    let counted: Vec<_> = loaded.tally.statuses().iter().map(|it| (*it.0, *it.1)).collect();
    assert_eq!(counted, [(200, 4), (404, 1)]);
    assert_eq!(loaded.tally.warm_up(), WarmUp { requests: 5, failed: 1 });
    assert_eq!(loaded.elapsed, ms(40));
}

#[test]
fn a_server_that_falls_silent_does_not_hold_up_the_run() {
    let schedule = Schedule::new(Pace::Closed, 2).requests(1_000_000).per_connection(1000);
    let (loaded, _) = run_all(schedule, |number| match number {
        0 => Does::Keeps(10, ms(0), ms(0)),
        _ => Does::Hangs,
    });
    assert_eq!((loaded.ended, loaded.tally.answered()), (EndReason::NothingAnswered, 10));
    assert!(loaded.elapsed < ms(5000), "{:?}", loaded.elapsed);
}

#[test]
fn a_run_that_is_stopped_closes_its_idle_connections_without_a_reset() {
    let pace = Pace::Open(Arrivals::constant(10.0));
    let schedule = Schedule::new(pace, 4).per_connection(u64::MAX);
    let mut fake = Fake::new(|_| Does::Keeps(u32::MAX, ms(0), ms(0)));
    let watch = |fake: &mut Fake, _: &Tally| match fake.now() < ms(250) {
        true => NextCall::After(ms(1)),
        false => NextCall::Stop,
    };
    let loaded = run(&mut fake, load(schedule), watch).unwrap();
    assert_eq!((loaded.ended, loaded.tally.answered()), (EndReason::Stopped, 3));
    assert_eq!((loaded.tally.dismissed(), loaded.tally.unfinished(), fake.aborted), (1, 0, 0));
}

#[test]
fn users_think_between_documents_on_kept_connections_and_on_new_ones() {
    let think = |scope| Some(Think { span: Span::Fixed(ms(100)), scope, seed: Seed(1) });
    let files = [false, true].map(|ends_document| Ask { ends_document, ..Ask::get("h", "/") });
    let run_with = |per_connection, scope, behaves: Behaves| {
        let schedule = Schedule::new(Pace::Closed, 1).requests(4).per_connection(per_connection);
        let plan = Plan::of(&files, "h", Close::Server).unwrap();
        let load = Load { plan, think: think(scope), ..load(schedule) };
        let mut fake = Fake::new(behaves);
        let loaded = run(&mut fake, load, |_, _| NextCall::Never).unwrap();
        close_to(loaded.tally.latency().unwrap().max, ms(1));
        (loaded.elapsed, fake.connected, loaded.tally.answered())
    };
    let keeps: Behaves = |_| Does::Keeps(4, ms(0), ms(0));
    let answers: Behaves = |_| Does::Answers(ms(1));
    // Four files in two documents, a millisecond each.
    assert_eq!(run_with(4, ThinkScope::Document, keeps), (ms(104), 1, 4));
    assert_eq!(run_with(1, ThinkScope::Document, answers), (ms(104), 4, 4));
    assert_eq!(run_with(4, ThinkScope::File, keeps), (ms(304), 1, 4));
    // A server that keeps a connection for one request announces that; its user thinks all the same.
    let once: Behaves = |_| Does::Keeps(1, ms(0), ms(0));
    assert_eq!(run_with(4, ThinkScope::File, once), (ms(304), 4, 4));
}

#[test]
fn users_who_think_beyond_the_end_are_not_waited_for() {
    let think = Think { span: Span::Fixed(ms(700)), scope: ThinkScope::File, seed: Seed(1) };
    let schedule = Schedule::new(Pace::Closed, 3).duration(ms(1000)).per_connection(u64::MAX);
    let mut fake = Fake::new(|_| Does::Keeps(u32::MAX, ms(0), ms(0)));
    let load = Load { think: Some(think), ..load(schedule) };
    let loaded = run(&mut fake, load, |_, _| NextCall::Never).unwrap();
    assert_eq!((loaded.tally.answered(), loaded.tally.dismissed()), (6, 3));
    assert_eq!((loaded.elapsed, fake.connected), (ms(702), 3));
}
