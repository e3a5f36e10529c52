//! HPACK as another implementation reads it (loona-hpack): of the fields that a conversation keeps, ours may be
//! unknown, and never another.
//!
//! An input is a list of field blocks: a byte that says which way, a byte that says how long, and the block.

#![no_main]

use ackwise_capture::conversation::{Event, ExchangeReader};
use ackwise_cause::Direction;
use ackwise_fuzz::fields::{Fields, Oracle};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut wire = Wire::default();
    let mut oracles = [Oracle::default(), Oracle::default()];
    wire.send(Direction::ToServer, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let mut rest = input;
    while let [what, length, tail @ ..] = rest {
        let (block, tail) = tail.split_at(tail.len().min(usize::from(*length)));
        rest = tail;
        let direction = if what & 1 == 0 { Direction::ToServer } else { Direction::ToClient };
        // What the other side refuses is no HPACK: nothing after it counts.
        let Some(expected) = oracles[direction as usize].read(block) else { return };
        wire.stream += 2;
        if direction == Direction::ToClient {
            // A request that changes no table.
            wire.headers(Direction::ToServer, &[0x82]);
            while wire.conversation.poll_event().is_some() {}
        }
        wire.headers(direction, block);
        while let Some(event) = wire.conversation.poll_event() {
            check(&event, &expected);
        }
    }
});

fn check(event: &Event, expected: &Fields) {
    match event {
        Event::RequestHead { head, .. } => {
            expected.check_method(head.method.as_deref());
            expected.check_path(head.path.as_deref());
            expected.check_timeout(head.grpc.and_then(|it| it.timeout));
        }
        Event::ResponseHead { head, .. } => expected.check_status(head.status),
        Event::Interim { status, .. } => expected.check_status(Some(*status)),
        Event::GrpcStatus { status, .. } => expected.check_grpc_status(status.0),
        _ => {}
    }
}

#[derive(Default)]
struct Wire {
    conversation: ExchangeReader,
    /// How much each side has sent.
    sent: [u64; 2],
    stream: u32,
}

impl Wire {
    /// HEADERS with END_STREAM and END_HEADERS (RFC 9113, section 6.2).
    fn headers(&mut self, direction: Direction, block: &[u8]) {
        let length = u8::try_from(block.len()).expect("at most 255 bytes");
        let stream = (self.stream - 1).to_be_bytes();
        let frame = [&[0, 0, length, 1, 5][..], &stream, block].concat();
        self.send(direction, &frame);
    }

    fn send(&mut self, direction: Direction, bytes: &[u8]) {
        let at = &mut self.sent[direction as usize];
        let length = u32::try_from(bytes.len()).expect("a frame is small");
        self.conversation.handle_data(direction, *at, length, bytes);
        *at += u64::from(length);
    }
}
