//! TLS, whatever is inside: [`tls`](super::super::tls).

use super::{
    super::guess::{self, Guess},
    Judged, KnownProtocol, Magic, Protocol,
};

pub(super) const TLS: KnownProtocol = KnownProtocol {
    sign: "a record of a handshake; in a capture that begins later, a record; also behind a request for encryption \
           (PostgreSQL, MySQL, SMTP, LDAP)",
    judged: Judged::Exchanges,
    client: Magic::Either(handshake, record),
    server: Magic::Any(record),
    ..KnownProtocol::new(Protocol::Tls, "tls", "TLS")
};

fn handshake(bytes: &[u8]) -> Guess {
    guess::tls_record(bytes, 22..=22)
}

fn record(bytes: &[u8]) -> Guess {
    guess::tls_record(bytes, 20..=23)
}
