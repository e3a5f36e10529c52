//! FTP: a reply tells how a transfer on another connection went, so nobody is to blame here for how long that took.

use super::{
    super::{
        Tunnel,
        guess::{Guess, begins_word, best},
    },
    Ends, Judged, KnownProtocol, Magic, Protocol,
    smtp::greeting,
};

pub(super) const FTP: KnownProtocol = KnownProtocol {
    sign: "a server's `220`, and the client's `USER` or `AUTH`",
    judged: Judged::NotDivided(Tunnel::Push),
    client: Magic::First(login),
    server: Magic::First(greeting),
    ends: Ends::Both,
    ..KnownProtocol::new(Protocol::Ftp, "ftp", "FTP")
};

/// RFC 959, section 4.1.1; RFC 4217, section 4.
fn login(bytes: &[u8]) -> Guess {
    best([b"USER ".as_slice(), b"AUTH TLS\r\n"].map(|word| begins_word(bytes, word)))
}
