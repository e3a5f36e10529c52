//! HTTP/3, which is not checked: whether a server speaks it is worth a word.

use std::{
    net::{SocketAddr, UdpSocket},
    time::Duration,
};

use ackwise_http::Fields;

/// What a card says of a server that offers HTTP/3 (RFC 9114, section 3.1.1).
pub(super) fn note(fields: &Fields) -> Option<String> {
    let offers = fields.list("Alt-Svc").any(|service| {
        let name = service.split(|&byte| byte == b'=').next().unwrap_or_default();
        name == b"h3" || name.starts_with(b"h3-")
    });
    offers.then(|| "HTTP/3 is offered (Alt-Svc), and was not checked".to_owned())
}

/// Whether something at `server` speaks QUIC: it answers a version that does not exist with those that do.
pub(super) fn speaks_quic(server: SocketAddr) -> bool {
    ask(server).unwrap_or(false)
}

fn ask(server: SocketAddr) -> std::io::Result<bool> {
    let any = if server.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let socket = UdpSocket::bind(any)?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(&question())?;
    let mut answer = [0; 1500];
    let size = socket.recv(&mut answer)?;
    Ok(is_version_negotiation(&answer[..size]))
}

/// A packet with a long header (RFC 9000, section 17.2), padded to the size that servers answer (section 6.1).
fn question() -> Vec<u8> {
    let id = |id: &[u8; 8]| [&[8][..], id].concat();
    let mut packet = [&[0xc0][..], &NO_VERSION, &id(SERVER_ID), &id(CLIENT_ID)].concat();
    packet.resize(SIZE, 0);
    packet
}

/// RFC 9000, section 17.2.1: a long header, version 0, and our two identifiers the other way round.
fn is_version_negotiation(answer: &[u8]) -> bool {
    let ids = [&[8][..], CLIENT_ID, &[8], SERVER_ID].concat();
    matches!(answer, [first, 0, 0, 0, 0, rest @ ..] if first & 0x80 != 0 && rest.starts_with(&ids))
}

/// RFC 9000, section 15: versions of this form are reserved, so that nobody speaks them.
const NO_VERSION: [u8; 4] = [0x1a, 0x2a, 0x3a, 0x4a];

/// Any will do.
const SERVER_ID: &[u8; 8] = b"ackwise0";
const CLIENT_ID: &[u8; 8] = b"ackwise1";

/// RFC 9000, section 14.1.
const SIZE: usize = 1200;

/// How long the answer is waited for. Our choice: TCP has had its time already.
const PATIENCE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn service(answer: fn(&[u8]) -> Vec<u8>) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let address = socket.local_addr().expect("it is bound");
        std::thread::spawn(move || {
            let mut packet = [0; 1500];
            while let Ok((size, from)) = socket.recv_from(&mut packet) {
                let _ = socket.send_to(&answer(&packet[..size]), from);
            }
        });
        address
    }

    #[test]
    fn a_server_of_quic_names_its_versions() {
        let negotiates = service(|asked| {
            assert_eq!(asked.len(), SIZE);
            let [to, from] = [&asked[5..14], &asked[14..23]];
            [&[0xff, 0, 0, 0, 0][..], from, to, &[0, 0, 0, 1]].concat()
        });
        assert!(speaks_quic(negotiates));
        assert!(!speaks_quic(service(<[u8]>::to_vec)), "an echo is no answer");
        let nobody = UdpSocket::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
        assert!(!speaks_quic(nobody));
    }

    #[test]
    fn an_offer_is_an_alternative_service() {
        for (value, offers) in [
            ("h3=\":443\"; ma=86400", true),
            ("h2=\":443\", h3-29=\":443\"", true),
            ("h2=\":443\"", false),
            ("clear", false),
        ] {
            let fields = Fields::of([(&b"alt-svc"[..], value.as_bytes())]);
            assert_eq!(note(&fields).is_some(), offers, "{value}");
        }
    }
}
