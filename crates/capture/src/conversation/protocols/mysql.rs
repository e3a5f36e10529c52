//! The protocol of MySQL and MariaDB: the server greets, and then answers one command after the other.

use super::{
    super::{
        Tunnel,
        guess::{Guess, fits},
        turn::{Shown, Turn, asks},
    },
    Ends, KnownProtocol, Magic, Protocol,
};

pub(super) const MYSQL: KnownProtocol = KnownProtocol {
    sign: "a server's greeting with protocol 10 and its version, and the client's login or request for encryption",
    client: Magic::First(login),
    server: Magic::First(greeting),
    ends: Ends::Both,
    turn,
    ..KnownProtocol::new(Protocol::MySql, "mysql", "MySQL")
};

/// MySQL, "Protocol::HandshakeV10": a packet's length of three bytes and its number, 0; the protocol's version, 10; that
/// of the server, which begins with two numbers.
fn greeting(bytes: &[u8]) -> Guess {
    let header = fits(bytes, 7, |at, byte| match at {
        1 => byte <= 1,
        2 | 3 => byte == 0,
        4 => byte == 10,
        5 => byte.is_ascii_digit(),
        6 => byte.is_ascii_digit() || byte == b'.',
        _ => true,
    });
    let Some(version) = bytes.get(6..).filter(|_| header == Guess::Yes) else { return header };
    let dot = usize::from(version[0] != b'.');
    fits(&version[dot..], 2, |at, byte| if at == 0 { byte == b'.' } else { byte.is_ascii_digit() })
}

/// "Protocol::HandshakeResponse41" and "Protocol::SSLRequest": packet 1; flags, of which `CLIENT_PROTOCOL_41` is set; then,
/// behind a length and a character set, zeros.
fn login(bytes: &[u8]) -> Guess {
    const PROTOCOL_41: u8 = 0x02;
    const SHORTEST: u8 = 32;
    fits(bytes, 25, |at, byte| match at {
        0 => byte >= SHORTEST || bytes.get(1) != Some(&0),
        2 => byte == 0,
        3 => byte == 1,
        5 => byte & PROTOCOL_41 != 0,
        13..=24 => byte == 0,
        _ => true,
    })
}

/// By the number of a command, which is the first packet of a turn. A request for encryption, of 32 bytes in packet 1, is
/// answered by nothing: the client goes on with TLS.
fn turn(bytes: &[u8]) -> Shown {
    const QUIT: u8 = 0x01;
    const BINLOG_DUMP: u8 = 0x12;
    const STMT_SEND_LONG_DATA: u8 = 0x18;
    const STMT_CLOSE: u8 = 0x19;
    const BINLOG_DUMP_GTID: u8 = 0x1e;
    match bytes {
        [_, _, _, 0, QUIT | STMT_SEND_LONG_DATA | STMT_CLOSE, ..] if is_one(bytes) => {
            (Turn::Unanswered, [0..5, 0..0])
        }
        [32, 0, 0, 1, ..] => (Turn::Unanswered, [0..5, 0..0]),
        [_, _, _, 0, BINLOG_DUMP | BINLOG_DUMP_GTID, ..] => {
            (Turn::Ends(Tunnel::Push), [0..5, 0..0])
        }
        _ => asks(bytes),
    }
}

/// Whether there is nothing behind the first packet, as far as it was captured.
fn is_one(bytes: &[u8]) -> bool {
    let &[a, b, c, ..] = bytes else { return false };
    bytes.len() as u64 <= 4 + u64::from(u32::from_le_bytes([a, b, c, 0]))
}
