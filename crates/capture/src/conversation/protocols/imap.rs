//! IMAP: a client that has said IDLE hears of new mail, and commands have tags, so that answers come in any order.

use super::{
    super::{
        Tunnel,
        guess::{Guess, begins},
    },
    Judged, KnownProtocol, Magic, Protocol,
};

pub(super) const IMAP: KnownProtocol = KnownProtocol {
    sign: "a server's greeting with its capabilities: `* OK [CAPABILITY IMAP4rev`",
    judged: Judged::NotDivided(Tunnel::Push),
    server: Magic::First(greeting),
    ..KnownProtocol::new(Protocol::Imap, "imap", "IMAP")
};

/// RFC 9051, section 7.1.
fn greeting(bytes: &[u8]) -> Guess {
    begins(bytes, b"* OK [CAPABILITY IMAP4rev")
}
