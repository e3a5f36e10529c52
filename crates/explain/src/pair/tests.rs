//! Captures at both ends of a path that holds or loses packets.

use std::{collections::VecDeque, convert::Infallible, net::SocketAddr, time::Duration};

use ackwise_capture::{
    analysis::ExchangeResult,
    frame,
    read::{Drops, Frame, LinkType},
};
use ackwise_cause::Cause;
use ackwise_tcp::{Flags, Instant, Options, Segment, SeqNumber, Timestamps};

use super::End;
use crate::reading::{Explained, Frames, Reading};

const REQUEST: &[u8] = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345";

/// One way over the path, if nothing holds a packet.
const WAY: u64 = 20_000;
/// The client's retransmission timer: Linux has it at the round trip and 200 ms.
const TIMER: u64 = 249_000;

/// What happens to an exchange, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    request_held: u64,
    response_held: u64,
    think: u64,
    request_lost: bool,
    response_lost: bool,
}

/// The server's clock.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    ahead: i64,
    /// Parts per million.
    fast: u64,
}

impl Clock {
    const fn says(self, micros: u64) -> u64 {
        let fast = micros * self.fast / 1_000_000;
        (10_000_000 + micros + fast).saturating_add_signed(self.ahead)
    }
}

/// The packets that passed one end.
#[derive(Debug, Default)]
struct Tap {
    packets: Vec<(u64, Vec<u8>)>,
    order: VecDeque<usize>,
    number: u64,
}

impl Frames for Tap {
    type Error = Infallible;

    fn next(&mut self) -> Result<Option<Frame<'_>>, Infallible> {
        if self.number == 0 {
            let mut order: Vec<usize> = (0..self.packets.len()).collect();
            order.sort_by_key(|&it| self.packets[it].0);
            self.order = order.into();
        }
        self.number += 1;
        Ok(self.order.pop_front().map(|place| {
            let (micros, bytes) = &self.packets[place];
            Frame {
                number: self.number,
                at: Instant::EPOCH + Duration::from_micros(*micros),
                interface: 0,
                link_type: LinkType::RAW,
                original_len: u32::try_from(bytes.len()).unwrap(),
                bytes,
                direction: None,
                lost_before: 0,
            }
        }))
    }

    fn drops(&self) -> Drops {
        Drops::default()
    }
}

/// Both ends of a connection.
#[derive(Debug, Default)]
struct Wire {
    client: Tap,
    server: Tap,
    clock: Clock,
    /// The latest timestamp that each end has heard.
    heard: [u32; 2],
}

impl Wire {
    /// A packet leaves, and arrives unless it is lost.
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn send(
        &mut self,
        from_client: bool,
        left: u64,
        arrived: Option<u64>,
        [seq, ack]: [usize; 2],
        payload: &[u8],
        flags: Flags,
    ) {
        let client: SocketAddr = "10.0.0.1:5000".parse().unwrap();
        let server: SocketAddr = "10.0.0.2:80".parse().unwrap();
        let ends = if from_client { [client, server] } else { [server, client] };
        let value = u32::try_from(left / 1_000).unwrap() + 1;
        let echo = self.heard[usize::from(from_client)];
        let number = |position: usize| SeqNumber(1_000 + u32::try_from(position).unwrap());
        let segment = Segment {
            seq: number(seq),
            ack: (ack > 0).then(|| number(ack)),
            flags,
            window: 60_000,
            options: Options { timestamps: Some(Timestamps { value, echo }), ..Options::NONE },
            len: u32::try_from(payload.len()).unwrap(),
            ..Segment::default()
        };
        let mut segment = segment;
        segment.flags.psh = !payload.is_empty();
        segment.options.mss = flags.syn.then_some(1_460);
        segment.options.sack_permitted = flags.syn;
        let mut bytes = Vec::new();
        frame::write(&mut bytes, ends[0], ends[1], &segment, payload).unwrap();
        let (at_client, at_server) = match from_client {
            true => (Some(left), arrived),
            false => (arrived, Some(left)),
        };
        self.client.packets.extend(at_client.map(|at| (10_000_000 + at, bytes.clone())));
        self.server.packets.extend(at_server.map(|at| (self.clock.says(at), bytes)));
        if arrived.is_some() {
            self.heard[usize::from(!from_client)] = value;
        }
    }

    fn client(&mut self, left: u64, arrived: Option<u64>, places: [usize; 2], payload: &[u8]) {
        self.send(true, left, arrived, places, payload, Flags::NONE);
    }

    fn server(&mut self, left: u64, arrived: Option<u64>, places: [usize; 2], payload: &[u8]) {
        self.send(false, left, arrived, places, payload, Flags::NONE);
    }

    fn set_up(&mut self) {
        let syn = Flags { syn: true, ..Flags::NONE };
        self.send(true, 0, Some(WAY), [0, 0], b"", syn);
        self.send(false, WAY + 10, Some(2 * WAY + 10), [0, 1], b"", syn);
        self.client(2 * WAY + 30, Some(3 * WAY + 30), [1, 1], b"");
    }

    /// Exchange `number`, of which the request leaves at `left`. When the response has arrived.
    fn exchange(&mut self, number: usize, left: u64, fate: Fate) -> u64 {
        let Fate { request_held, response_held, think, request_lost, response_lost } = fate;
        let [asked, answered] = [REQUEST.len(), HEAD.len()].map(|it| 1 + it * number);
        let done = asked + REQUEST.len();
        let first = (!request_lost).then_some(left + WAY + request_held);
        self.client(left, first, [asked, answered], REQUEST);
        let arrived = first.unwrap_or(left + TIMER + WAY);
        let ready = arrived + think;
        let sent = if response_lost { ready + TIMER } else { ready };
        let back = sent + WAY + response_held;
        // A delayed acknowledgement.
        let acknowledged = think > 40_000;
        if acknowledged {
            let at = arrived + 40_000;
            self.server(at, Some(at + WAY), [answered, done], b"");
        }
        self.server(ready, (!response_lost).then_some(back), [answered, done], HEAD);
        if response_lost {
            self.server(sent, Some(back), [answered, done], HEAD);
        }
        let heard = if acknowledged { arrived + 40_000 + WAY } else { back };
        let again = left + TIMER;
        if heard > again {
            // Nothing overtakes what the path holds.
            let copy = (again + WAY).max(arrived + 10);
            self.client(again, Some(copy), [asked, answered], REQUEST);
            if !request_lost {
                let at = copy + 10;
                self.server(at, Some(at + WAY), [answered + HEAD.len(), done], b"");
            }
        }
        back
    }

    /// What both captures say together.
    fn explained(self) -> Explained {
        let read = |mut tap: Tap| {
            let (end, reading) = (End::default(), Reading::with_series());
            tap.packets.sort_by_key(|it| it.0);
            reading.read(&mut end.record(tap));
            (end, reading.end().unwrap())
        };
        let ((ours, client), (theirs, server)) = (read(self.client), read(self.server));
        End::join((&ours, client), (&theirs, server)).unwrap()
    }
}

/// Three exchanges that nothing disturbs, one with this fate, and three more, 10 ms of think each.
fn joined(fate: Fate, clock: Clock) -> Explained {
    let mut wire = Wire { clock, ..Wire::default() };
    wire.set_up();
    let mut at = 2 * WAY + 200;
    for number in 0..7 {
        let fate = if number == 3 { fate } else { Fate { think: 10_000, ..Fate::default() } };
        at = wire.exchange(number, at, fate) + 200;
    }
    wire.explained()
}

fn millis(exchange: &ExchangeResult, causes: &[Cause]) -> u64 {
    let owed: Duration = causes.iter().map(|&it| exchange.owed_to(it)).sum();
    u64::try_from(owed.as_micros()).unwrap().div_ceil(1_000)
}

const LATE: &[Cause] = &[Cause::PathStall, Cause::Queueing];
const LOST: &[Cause] = &[Cause::RetransmissionTimeout, Cause::LossRecovery];

#[test]
fn what_the_path_held_is_the_paths_whatever_one_capture_takes_it_for() {
    let none = Fate { think: 30_000, ..Fate::default() };
    let clocks = [
        Clock::default(),
        Clock { ahead: 7_000_000, fast: 0 },
        Clock { ahead: -3_000_000, fast: 80 },
    ];
    for (fate, [late, lost, think]) in [
        (none, [0, 0, 30]),
        (Fate { request_held: 120_000, ..none }, [120, 0, 30]),
        (Fate { request_held: 45_000, ..none }, [45, 0, 30]),
        (Fate { response_held: 120_000, ..none }, [120, 0, 30]),
        (Fate { response_held: 45_000, think: 0, ..none }, [45, 0, 0]),
        // The request is sent twice, and neither copy is lost.
        (Fate { request_held: 120_000, response_held: 140_000, ..none }, [260, 0, 30]),
        (Fate { request_held: 300_000, ..none }, [300, 0, 30]),
        (
            Fate { request_held: 120_000, response_held: 120_000, think: 90_000, ..none },
            [240, 0, 90],
        ),
        // The server alone: the acknowledgement says that the request is there.
        (Fate { think: 300_000, ..none }, [0, 0, 300]),
        // The first copy is not at the other end.
        (Fate { request_lost: true, ..none }, [0, 249, 30]),
        (Fate { response_lost: true, ..none }, [0, 249, 30]),
        (Fate { request_lost: true, response_held: 120_000, ..none }, [120, 249, 30]),
    ] {
        for clock in clocks {
            let explained = joined(fate, clock);
            let [.., found, _, _, _] = &explained.analysis.exchanges[..] else {
                panic!("{fate:?}")
            };
            let said = [LATE, LOST, &[Cause::ServerThink]].map(|it| millis(found, it));
            let near = |(said, truth): (u64, u64)| said.abs_diff(truth) <= 2;
            let right = [late, lost, think];
            assert!(
                said.into_iter().zip(right).all(near),
                "{fate:?} {clock:?}: {said:?}, {:?}",
                found.shares
            );
            let counts = explained.joined.unwrap().counts;
            assert_eq!((counts.exchanges, counts.alone), (7, 0), "{fate:?}");
        }
    }
}
