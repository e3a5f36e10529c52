//! WebSockets and CONNECT tunnels: what is sent there is nobody's fault.

use std::time::Duration;

use ackwise_capture::conversation::{Protocol, Tunnel};
use ackwise_cause::Cause;

use crate::{shows, wire::Streams};

fn websocket() -> Streams {
    let asks = b"GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let answers = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    assert_eq!((asks.len(), answers.len()), (63, 56));
    Streams::of(&[&asks[..], &[0x81; 40]].concat(), &[&answers[..], &[0x81; 144]].concat())
}

/// The client says something once, the server every three seconds.
const PUSHES: &str = r#"
    0    > syn
    20   < syn
    20.1 > ack 0
    20.2 > 0:63 psh ack 0
    45   < 0:56 psh ack 63
    45.1 > ack 56
    100  > 63:103 psh ack 56
    120  < ack 103
    3045 < 56:80 psh ack 103
    3085 > ack 80
    6045 < 80:120 psh ack 103
    6085 > ack 120
    9045 < 120:200 psh ack 103
    9085 > ack 200
    12045 > fin ack 200
    12065 < fin ack 104
    12065.1 > ack 201
"#;

#[test]
fn what_a_websocket_pushes_is_not_the_servers_time() {
    shows(
        &websocket(),
        PUSHES,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 4.800 (1, 4.800) medium or queueing: 4 5
        propagation to-client 10.000 (1, 10.000) high: 5
        "#,
    );
    let analysis = websocket().seen_as(PUSHES);
    assert_eq!(analysis.exchanges.len(), 1);
    let connection = &analysis.connections[0];
    assert_eq!(connection.protocol, Some(Protocol::WebSocket));
    let [tunnel] = &connection.tunnels[..] else { panic!("{:?}", connection.tunnels) };
    assert_eq!((tunnel.kind, tunnel.stream, tunnel.packet), (Tunnel::WebSocket, 0, 4));
    let span = tunnel.until.since(tunnel.from);
    assert_eq!(span, Duration::from_secs(12) + Duration::from_millis(20));
}

#[test]
fn what_a_tunnel_carries_is_judged_only_if_it_is_http() {
    let connect = b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n";
    let answers = b"HTTP/1.1 200 OK\r\n\r\n";
    assert_eq!((connect.len(), answers.len()), (34, 19));
    let capture = r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:34 psh ack 0
        45   < 0:19 psh ack 34
        45.1 > 34:59 psh ack 19
        105  < ack 59
        1045 < 19:64 psh ack 59
        1045.1 > ack 64
    "#;
    for (asks, answer, exchanges, tunnels) in [
        (
            &b"GET /abcdefg HTTP/1.1\r\n\r\n"[..],
            &b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nABCDEFG"[..],
            2,
            0,
        ),
        (&[0x16, 3, 1, 0, 100, 1, 0, 0, 96][..], &[0x16, 3, 3, 0, 40][..], 1, 1),
        (b"EHLO", b"250", 1, 1),
    ] {
        let mut client = [&connect[..], asks].concat();
        let mut server = [&answers[..], answer].concat();
        client.resize(59, b' ');
        server.resize(64, b' ');
        let analysis = Streams::of(&client, &server).seen_as(capture);
        assert_eq!(analysis.exchanges.len(), exchanges, "{:?}", analysis.exchanges);
        assert_eq!(analysis.connections[0].tunnels.len(), tunnels);
        let thinks = analysis
            .exchanges
            .iter()
            .any(|it| it.owed_to(Cause::ServerThink) > Duration::from_millis(500));
        assert_eq!(thinks, exchanges == 2);
    }
}
