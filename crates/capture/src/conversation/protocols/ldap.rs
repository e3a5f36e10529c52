//! LDAP, version 3: each message is answered, unless it is a search that goes on for ever.

use super::{
    super::{
        Tunnel,
        guess::{Guess, begins, best},
        turn::{Shown, Turn, asks},
    },
    KnownProtocol, Magic, Protocol,
};

pub(super) const LDAP: KnownProtocol = KnownProtocol {
    sign: "a client's bind with version 3, or its StartTLS",
    client: Magic::First(first_message),
    turn,
    ..KnownProtocol::new(Protocol::Ldap, "ldap", "LDAP")
};

/// RFC 4511, sections 4.1.1, 4.2 and 4.14: a sequence, a message's number, and a bind whose first field is the version, or
/// an extended request whose first field is the name of StartTLS.
fn first_message(bytes: &[u8]) -> Guess {
    let after = |bytes, tag| field(bytes, tag);
    let operation = after(bytes, 0x30).and_then(|message| match message {
        [2, 1, _, rest @ ..] => Ok(rest),
        _ => Err(shorter(message, &[2, 1])),
    });
    let operation = match operation {
        Ok(operation) => operation,
        Err(guess) => return guess,
    };
    let bind = after(operation, 0x60).map_or_else(|it| it, |it| begins(it, &[2, 1, 3]));
    let start_tls =
        after(operation, 0x77).map_or_else(|it| it, |it| begins(it, b"\x80\x161.3.6.1"));
    best([bind, start_tls])
}

/// What these bytes are if there may be more of them.
fn shorter(bytes: &[u8], beginning: &[u8]) -> Guess {
    if bytes.starts_with(beginning) { Guess::Maybe } else { begins(bytes, beginning) }
}

/// What is in a field of this type (X.690, section 8.1.3): its length is in the first byte, or in up to four behind it.
fn field(bytes: &[u8], tag: u8) -> Result<&[u8], Guess> {
    match bytes {
        [it, ..] if *it != tag => Err(Guess::No),
        [_, 0..=0x7f, rest @ ..] => Ok(rest),
        [_, 0x81, _, rest @ ..]
        | [_, 0x82, _, _, rest @ ..]
        // Windows writes four bytes always.
        | [_, 0x84, 0, _, _, _, rest @ ..] => Ok(rest),
        [] | [_] | [_, 0x81 | 0x82 | 0x84] | [_, 0x82, _] => Err(Guess::Maybe),
        [_, 0x84, 0, rest @ ..] if rest.len() < 3 => Err(Guess::Maybe),
        _ => Err(Guess::No),
    }
}

/// Unbind and abandon have no answer (RFC 4511, sections 4.3 and 4.11). A search that asks for changes never ends: content
/// synchronization (RFC 4533), persistent search, and Active Directory's notifications.
fn turn(bytes: &[u8]) -> Shown {
    const FOR_EVER: [&[u8]; 3] =
        [b"1.3.6.1.4.1.4203.1.9.1.1", b"2.16.840.1.113730.3.4.3", b"1.2.840.113556.1.4.528"];
    let place = |name: &&[u8]| bytes.windows(name.len()).position(|it| it == *name);
    let place = FOR_EVER.iter().find_map(|name| Some((place(name)?, name.len())));
    match (field(bytes, 0x30), place) {
        (Ok([2, 1, _, 0x42 | 0x50, ..] | [2, 2, _, _, 0x42 | 0x50, ..]), _) => {
            (Turn::Unanswered, [0..bytes.len().min(UNBIND), 0..0])
        }
        (_, Some((at, len))) => (Turn::Ends(Tunnel::Push), [at..at + len, 0..0]),
        _ => asks(bytes),
    }
}

/// The longest beginning of a message, up to the type of its operation.
const UNBIND: usize = 11;
