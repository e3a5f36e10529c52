//! The text protocol of memcached. Nothing but an answer in its words shows that a line is a command of it.

use super::{
    super::{
        Tunnel,
        guess::{Guess, begins, best},
        turn::{Shown, Turn, asks},
    },
    Ends, KnownProtocol, Magic, Protocol,
};

pub(super) const MEMCACHED: KnownProtocol = KnownProtocol {
    sign: "a client's command, such as `get `, and a server's answer, such as `VALUE ` or `STORED`",
    client: Magic::First(command),
    server: Magic::First(answer),
    ends: Ends::Both,
    turn,
    ..KnownProtocol::new(Protocol::Memcached, "memcached", "memcached")
};

/// memcached, "protocol.txt".
const COMMANDS: [&[u8]; 16] = [
    b"get ",
    b"gets ",
    b"gat ",
    b"gats ",
    b"set ",
    b"add ",
    b"replace ",
    b"append ",
    b"prepend ",
    b"cas ",
    b"delete ",
    b"incr ",
    b"decr ",
    b"touch ",
    b"stats\r\n",
    b"version\r\n",
];
const ANSWERS: [&[u8]; 10] = [
    b"VALUE ",
    b"END\r\n",
    b"STORED\r\n",
    b"NOT_STORED\r\n",
    b"EXISTS\r\n",
    b"NOT_FOUND\r\n",
    b"DELETED\r\n",
    b"TOUCHED\r\n",
    b"STAT pid ",
    b"VERSION ",
];

fn command(bytes: &[u8]) -> Guess {
    best(COMMANDS.map(|word| begins(bytes, word)))
}

fn answer(bytes: &[u8]) -> Guess {
    best(ANSWERS.map(|word| begins(bytes, word)))
}

/// What has no answer, or one for each thing that happens.
fn turn(bytes: &[u8]) -> Shown {
    const SILENT: &[u8] = b" noreply\r\n";
    const QUIT: &[u8] = b"quit\r\n";
    const WATCH: &[u8] = b"watch";
    let line = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes, |at| &bytes[..=at]);
    if line.ends_with(SILENT) {
        (Turn::Unanswered, [line.len() - SILENT.len()..line.len(), 0..0])
    } else if bytes == QUIT {
        (Turn::Unanswered, [0..QUIT.len(), 0..0])
    } else if bytes.starts_with(WATCH) {
        (Turn::Ends(Tunnel::Push), [0..WATCH.len(), 0..0])
    } else {
        asks(bytes)
    }
}
