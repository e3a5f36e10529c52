//! The wire protocol of MongoDB: one request after the other, except where the server sends without being asked.

use std::ops::Range;

use super::{
    super::{
        Tunnel,
        guess::{Guess, best, fits},
        turn::{Shown, Turn, asks},
    },
    KnownProtocol, Magic, Protocol,
};

pub(super) const MONGODB: KnownProtocol = KnownProtocol {
    sign: "a client's message header: `OP_MSG`, or `OP_QUERY` to `admin`, with a length that fits",
    client: Magic::First(message),
    turn,
    ..KnownProtocol::new(Protocol::MongoDb, "mongodb", "MongoDB")
};

/// MongoDB, "Wire Protocol": length, request, response to (none), operation, flags; numbers are little-endian. The
/// longest message has 48,000,000 bytes, and known flags are 0, 1 and 16.
fn message(bytes: &[u8]) -> Guess {
    let op_msg = fits(bytes, 25, |at, byte| match at {
        0 => true,
        1..=3 => length_fits(bytes, 26),
        8..=11 => byte == 0,
        12..=15 => byte == OP_MSG[at - 12],
        16 => byte & !3 == 0,
        17 | 19 => byte == 0,
        18 => byte & !1 == 0,
        20 => byte == 0,
        24 => byte == 0,
        _ => true,
    });
    let op_query = fits(bytes, 25, |at, byte| match at {
        1..=3 => length_fits(bytes, 40),
        8..=11 => byte == 0,
        12..=15 => byte == OP_QUERY[at - 12],
        17..=19 => byte == 0,
        20..=24 => byte == b"admin"[at - 20],
        _ => true,
    });
    best([op_msg, op_query])
}

fn length_fits(bytes: &[u8], least: u32) -> bool {
    const MOST: u32 = 48_000_000;
    let &[a, b, c, d, ..] = bytes else { return true };
    (least..=MOST).contains(&u32::from_le_bytes([a, b, c, d]))
}

/// Of a message that is compressed, nobody can say whether it is answered at once. A cursor may wait for data, and a hello
/// for a change; flags say that more requests come, or more answers.
fn turn(bytes: &[u8]) -> Shown {
    const MORE_TO_COME: u8 = 2;
    const EXHAUST_ALLOWED: u8 = 1;
    const HEADER: Range<usize> = 12..20;
    const GET_MORE: Range<usize> = 26..34;
    const LONG_HELLO: &[u8] = b"maxAwaitTimeMS\0";
    let Some(&[a, b, c, d, low, _, high, _]) = bytes.get(HEADER) else { return asks(bytes) };
    let long_hello = || bytes.windows(LONG_HELLO.len()).position(|it| it == LONG_HELLO);
    match [a, b, c, d] {
        OP_COMPRESSED => (Turn::Ends(Tunnel::Push), [HEADER, 0..0]),
        OP_MSG if low & MORE_TO_COME != 0 => (Turn::Unanswered, [HEADER, 0..0]),
        OP_MSG if high & EXHAUST_ALLOWED != 0 => (Turn::Ends(Tunnel::Push), [HEADER, 0..0]),
        OP_MSG if bytes.get(GET_MORE) == Some(b"getMore\0") => {
            (Turn::Waits(Tunnel::Blocking), [HEADER, GET_MORE])
        }
        OP_MSG => match long_hello() {
            Some(at) => (Turn::Waits(Tunnel::Blocking), [HEADER, at..at + LONG_HELLO.len()]),
            None => asks(bytes),
        },
        _ => asks(bytes),
    }
}

const OP_MSG: [u8; 4] = 2013_u32.to_le_bytes();
const OP_QUERY: [u8; 4] = 2004_u32.to_le_bytes();
const OP_COMPRESSED: [u8; 4] = 2012_u32.to_le_bytes();
