//! A capture may hold anything in any order: a conversation does not panic, and tells of each
//! exchange once and in order.
//!
//! An input is a list of what the capture shows: a byte that says what, a byte that says how
//! much, and so many bytes of a stream.

#![no_main]

use ackwise_capture::conversation::ExchangeReader;
use ackwise_cause::Direction;
use ackwise_fuzz::told::Told;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut conversation = ExchangeReader::new();
    let mut told = Told::default();
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
        told.drain(&mut conversation, streams);
    }
    conversation.handle_abort();
    told.drain(&mut conversation, streams);
    told.finish();
});

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
