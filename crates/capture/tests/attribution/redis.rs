//! Commands of Redis that are pipelined, or that wait by themselves.

use ackwise_capture::{
    analysis::ExchangeResult,
    conversation::{Protocol, Tunnel},
};
use ackwise_cause::Cause;

use crate::wire::Streams;

const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
const PONG: &[u8] = b"+PONG\r\n";

fn millis(exchange: &ExchangeResult, cause: Cause) -> f64 {
    let shares = exchange.shares.iter().filter(|it| it.cause == cause);
    shares.map(|it| it.span.as_nanos() as f64 / 1e6).sum()
}

/// Two commands leave together; the server works for 40 ms.
fn pipelined(answers: &str) -> Vec<ExchangeResult> {
    let capture = format!(
        "
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:28 psh ack 0
        {answers}
        150  > ack 14
        "
    );
    let streams = Streams::of(&PING.repeat(2), &PONG.repeat(2));
    let analysis = streams.seen_as(&capture);
    assert_eq!(analysis.connections[0].protocol, Some(Protocol::Resp));
    analysis.exchanges.to_vec()
}

#[test]
fn replies_in_one_packet_have_not_waited_for_each_other() {
    for exchange in pipelined("80.2 < 0:14 psh ack 28") {
        assert_eq!(exchange.request.as_deref(), Some("PING"));
        assert_eq!(millis(&exchange, Cause::HeadOfLine), 0.0, "{exchange:?}");
        let waited = millis(&exchange, Cause::ServerThink) + millis(&exchange, Cause::Queueing);
        assert!((39.0..41.0).contains(&waited), "{exchange:?}");
    }
}

#[test]
fn the_second_reply_has_waited_for_the_first_in_another_packet() {
    let exchanges = pipelined("80.2 < 0:7 psh ack 28\n110.2 < 7:14 psh ack 28");
    let waited = millis(&exchanges[1], Cause::HeadOfLine);
    assert!((39.0..41.0).contains(&waited), "{exchanges:?}");
}

#[test]
fn nobody_is_blamed_for_a_command_that_blocks() {
    const BLPOP: &[u8] = b"*3\r\n$5\r\nBLPOP\r\n$1\r\nq\r\n$1\r\n0\r\n";
    assert_eq!(BLPOP.len(), 29);
    let streams = Streams::of(&[BLPOP, PING].concat(), &[&b"*-1\r\n"[..], PONG].concat());
    let analysis = streams.seen_as(
        "
        0      > syn
        20     < syn
        20.1   > ack 0
        20.2   > 0:29 psh ack 0
        5040.2 < 0:5 psh ack 29
        5040.3 > 29:43 psh ack 5
        5060.4 < 5:12 psh ack 43
        5060.5 > ack 12
        ",
    );
    let [exchange] = &analysis.exchanges[..] else { panic!("{:?}", analysis.exchanges) };
    assert_eq!(exchange.request.as_deref(), Some("PING"));
    assert!(exchange.duration.as_secs_f64() < 0.03, "{exchange:?}");
    let connection = &analysis.connections[0];
    assert_eq!(connection.exchanges, 1);
    let [tunnel] = &connection.tunnels[..] else { panic!("{:?}", connection.tunnels) };
    let waited = tunnel.until.since(tunnel.from).as_secs_f64();
    assert!(tunnel.kind == Tunnel::Blocking && (5.0..5.1).contains(&waited), "{tunnel:?}");
}
