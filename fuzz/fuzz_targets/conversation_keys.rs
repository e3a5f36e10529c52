//! As `conversation`, of what is inside of TLS 1.3 whose secrets are known: records hold anything in any order, come
//! in pieces, are missing, or are none.
//!
//! An input is a list: a byte that says what, a byte with a length, and content of that length.

#![no_main]

use std::sync::Arc;

use ackwise_capture::{conversation::ExchangeReader, keys::KeyLog};
use ackwise_cause::Direction::{self, ToClient, ToServer};
use ackwise_fuzz::{sealer::Sealer, told::Told};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let keys = KeyLog::default();
    keys.add_text(Sealer::KEY_LOG.as_bytes());
    // The text of a key log may be anything, too.
    keys.add_text(input);
    let mut wire = Wire {
        conversation: ExchangeReader::new().with_keys(Arc::new(keys)),
        told: Told::default(),
        streams: [0, 0],
    };
    wire.send(ToServer, Sealer::CLIENT_HELLO);
    wire.send(ToClient, Sealer::SERVER_HELLO);
    let mut sealers = [Sealer::client(), Sealer::server()];
    let mut rest = input;
    while let [what, length, tail @ ..] = rest {
        let direction = if what & 1 == 0 { ToServer } else { ToClient };
        let (bytes, tail) = tail.split_at(tail.len().min(usize::from(*length)));
        rest = tail;
        let content_type = 21 + (what >> 4) % 3;
        let mut seal = |content| sealers[direction as usize].seal(content_type, content);
        match what >> 1 & 7 {
            0 | 1 => wire.send(direction, &seal(bytes)),
            2 => {
                let record = seal(bytes);
                let (one, other) = record.split_at(record.len() / 2);
                wire.send(direction, one);
                wire.send(direction, other);
            }
            3 => wire.send(direction, &[seal(bytes), seal(bytes)].concat()),
            4 => wire.send(direction, bytes),
            5 => wire.lose(direction, seal(bytes).len()),
            6 => wire.conversation.handle_end(direction),
            _ => {
                let record = seal(bytes);
                let (one, other) = record.split_at(record.len() / 2);
                wire.send(direction, one);
                wire.lose(direction, other.len());
            }
        }
        wire.told.drain(&mut wire.conversation, wire.streams);
    }
    wire.conversation.handle_abort();
    wire.told.drain(&mut wire.conversation, wire.streams);
    wire.told.finish();
});

struct Wire {
    conversation: ExchangeReader,
    told: Told,
    streams: [u64; 2],
}

impl Wire {
    fn send(&mut self, direction: Direction, bytes: &[u8]) {
        let end = &mut self.streams[direction as usize];
        let length = u32::try_from(bytes.len()).expect("a record or two");
        self.conversation.handle_data(direction, *end, length, bytes);
        *end += u64::from(length);
        self.told.drain(&mut self.conversation, self.streams);
    }

    fn lose(&mut self, direction: Direction, length: usize) {
        let end = &mut self.streams[direction as usize];
        let to = *end + length as u64;
        self.conversation.handle_gap(direction, *end, to);
        *end = to;
    }
}
