//! RESP, of Redis and its relatives: [`resp`](super::super::resp).

use super::{super::guess, Judged, KnownProtocol, Magic, Protocol};

pub(super) const RESP: KnownProtocol = KnownProtocol {
    sign: "a client's command, an array of strings",
    judged: Judged::Exchanges,
    client: Magic::Any(guess::resp_command),
    ..KnownProtocol::new(Protocol::Resp, "resp", "Redis")
};
