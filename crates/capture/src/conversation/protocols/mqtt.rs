//! MQTT: both ends publish whenever something happens, and mostly nobody answers.

use super::{
    super::{
        Tunnel,
        guess::{Guess, begins, best},
    },
    Judged, KnownProtocol, Magic, Protocol,
};

pub(super) const MQTT: KnownProtocol = KnownProtocol {
    sign: "CONNECT with the protocol's name and version",
    judged: Judged::NotDivided(Tunnel::Push),
    client: Magic::First(connect),
    ..KnownProtocol::new(Protocol::Mqtt, "mqtt", "MQTT")
};

/// MQTT 5.0 and 3.1.1, sections 2.1 and 3.1: type, length of up to four bytes, name, version.
fn connect(bytes: &[u8]) -> Guess {
    const MORE: u8 = 0x80;
    let Some((&kind, rest)) = bytes.split_first() else { return Guess::Maybe };
    let longer = rest.iter().take_while(|byte| *byte & MORE != 0).count();
    if kind != 0x10 || longer > 3 {
        return Guess::No;
    }
    let Some(variable) = rest.get(longer + 1..) else { return Guess::Maybe };
    // Name, version, flags, keep-alive and the client's identifier have 12 bytes at least.
    if longer == 0 && rest[0] < 12 {
        return Guess::No;
    }
    let names: [&[u8]; 3] = [b"\0\x04MQTT\x04", b"\0\x04MQTT\x05", b"\0\x06MQIsdp\x03"];
    best(names.map(|name| begins(variable, name)))
}
