//! SSH: what is typed and what is printed, or a transfer; nobody can tell, and keystrokes are nobody's wait.

use super::{
    super::{
        Tunnel,
        guess::{Guess, begins, best},
    },
    Judged, KnownProtocol, Magic, Protocol,
};

pub(super) const SSH: KnownProtocol = KnownProtocol {
    sign: "the client's identification, `SSH-2.0-`",
    judged: Judged::NotDivided(Tunnel::Session),
    client: Magic::First(identification),
    ..KnownProtocol::new(Protocol::Ssh, "ssh", "SSH")
};

/// RFC 4253, section 4.2; 1.99 is section 5.1's.
fn identification(bytes: &[u8]) -> Guess {
    best([b"SSH-2.0-".as_slice(), b"SSH-1.99-"].map(|it| begins(bytes, it)))
}
