//! AMQP: both ends send messages whenever they have some, on many channels.

use super::{
    super::{
        Tunnel,
        guess::{Guess, begins, best},
    },
    Judged, KnownProtocol, Magic, Protocol,
};

pub(super) const AMQP: KnownProtocol = KnownProtocol {
    sign: "the client's protocol header: `AMQP` with the version 0-9-1 or 1.0",
    judged: Judged::NotDivided(Tunnel::Push),
    client: Magic::First(header),
    ..KnownProtocol::new(Protocol::Amqp, "amqp", "AMQP")
};

/// AMQP 0-9-1, section 4.2.2; 1.0, section 2.2, and behind TLS and SASL (sections 5.2.1 and 5.3.2).
fn header(bytes: &[u8]) -> Guess {
    let versions = [[0, 0, 9, 1], [0, 1, 0, 0], [2, 1, 0, 0], [3, 1, 0, 0]];
    best(versions.map(|[a, b, c, d]| begins(bytes, &[b'A', b'M', b'Q', b'P', a, b, c, d])))
}
