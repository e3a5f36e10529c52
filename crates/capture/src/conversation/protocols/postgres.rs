//! PostgreSQL: [`postgres`](super::super::postgres).

use super::{super::guess, Judged, KnownProtocol, Magic, Protocol};

pub(super) const POSTGRES: KnownProtocol = KnownProtocol {
    sign: "the startup message, or a request for encryption; in a capture that begins later, a segment of whole messages \
           that ends with `Query` or `Sync`",
    judged: Judged::Exchanges,
    client: Magic::First(guess::postgres_startup),
    ..KnownProtocol::new(Protocol::Postgres, "postgresql", "PostgreSQL")
};
