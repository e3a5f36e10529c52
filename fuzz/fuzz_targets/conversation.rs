//! A capture may hold anything in any order: a conversation does not panic, and tells of each
//! exchange once and in order.
//!
//! An input is a list of what the capture shows: a byte that says what, a byte that says how
//! much, and so many bytes of a stream.

#![no_main]

use std::collections::BTreeMap;

use ackwise_capture::conversation::{Event, ExchangeId, ExchangeReader};
use ackwise_cause::Direction;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut conversation = ExchangeReader::new();
    let mut told = BTreeMap::new();
    let mut streams = [0, 0];
    let mut rest = input;
    while let [what, length, tail @ ..] = rest {
        let direction = if what & 1 == 0 { Direction::ToServer } else { Direction::ToClient };
        let end = &mut streams[direction as usize];
        let (bytes, tail) = tail.split_at(tail.len().min(usize::from(*length)));
        rest = tail;
        match what >> 1 & 7 {
            0..=3 => take(&mut conversation, direction, end, bytes, 0),
            4 => take(&mut conversation, direction, end, bytes, u32::from(*what) << 6),
            5 => {
                let to = *end + u64::from(*length);
                conversation.handle_gap(direction, *end, to);
                *end = to;
            }
            6 => conversation.handle_end(direction),
            _ => conversation.handle_abort(),
        }
        drain(&mut conversation, &mut told, streams);
    }
    conversation.handle_abort();
    drain(&mut conversation, &mut told, streams);
    for (exchange, phase) in told {
        assert_eq!(phase, Phase::Over, "{exchange:?} has no end");
    }
});

/// How far an exchange is told.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Phase {
    Asking,
    Answering,
    Over,
}

fn take(
    conversation: &mut ExchangeReader,
    direction: Direction,
    end: &mut u64,
    bytes: &[u8],
    hidden: u32,
) {
    let length = u32::try_from(bytes.len()).expect("at most 255 bytes") + hidden;
    conversation.handle_data(direction, *end, length, bytes);
    *end += u64::from(length);
}

fn drain(
    conversation: &mut ExchangeReader,
    told: &mut BTreeMap<ExchangeId, Phase>,
    [asked, answered]: [u64; 2],
) {
    while let Some(event) = conversation.poll_event() {
        let (exchange, from, to) = match event {
            Event::RequestBegins { exchange, position, .. } => {
                assert!(position < asked, "{event:?} of {asked}");
                assert_eq!(exchange.0 as usize, told.len());
                told.insert(exchange, Phase::Asking);
                continue;
            }
            Event::RequestEnds { exchange, position, .. } => {
                assert!(position <= asked, "{event:?} of {asked}");
                let phase = told[&exchange];
                (exchange, &[Phase::Asking, Phase::Answering][..], phase)
            }
            Event::ResponseBegins { exchange, position, .. } => {
                assert!(position < answered, "{event:?} of {answered}");
                (exchange, &[Phase::Asking][..], Phase::Answering)
            }
            Event::ResponseEnds { exchange, position, .. } => {
                assert!(position <= answered, "{event:?} of {answered}");
                (exchange, &[Phase::Answering][..], Phase::Over)
            }
            Event::Abandoned { exchange, .. } | Event::Lost { exchange } => {
                (exchange, &[Phase::Asking, Phase::Answering][..], Phase::Over)
            }
            _ => continue,
        };
        let phase = told.insert(exchange, to).expect("it has begun");
        assert!(from.contains(&phase), "{event:?} while {phase:?}");
    }
}
