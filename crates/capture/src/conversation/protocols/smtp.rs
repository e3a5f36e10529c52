//! SMTP, and LMTP: the client sends commands, in groups if it may (RFC 2920), and the server's turn answers them.

use super::{
    super::guess::{Guess, begins, begins_word, best},
    Ends, KnownProtocol, Magic, Protocol,
};

pub(super) const SMTP: KnownProtocol = KnownProtocol {
    sign: "a server's `220`, and the client's `EHLO`, `HELO` or `LHLO`",
    client: Magic::First(hello),
    server: Magic::First(greeting),
    ends: Ends::Both,
    ..KnownProtocol::new(Protocol::Smtp, "smtp", "SMTP")
};

/// RFC 5321, section 4.2: a code, and a space, or a hyphen if more lines follow.
pub(super) fn greeting(bytes: &[u8]) -> Guess {
    best([b"220 ", b"220-"].map(|line| begins(bytes, line)))
}

/// RFC 5321, section 4.1.1.1; RFC 2033, section 4.1.
fn hello(bytes: &[u8]) -> Guess {
    best([b"EHLO ", b"HELO ", b"LHLO "].map(|word| begins_word(bytes, word)))
}
