//! Protocols that are judged by TCP alone, or not divided.

use ackwise_capture::{
    analysis::Analysis,
    conversation::{Protocol, Tunnel},
};
use ackwise_cause::Cause;

use crate::wire::Streams;

const GET: &[u8] = b"get abc\r\n";
const END: &[u8] = b"END\r\n";

/// A client of memcached, 20 ms away; the capture is at the client, or else at the server.
fn memcached(requests: usize, capture: &str) -> Analysis {
    let streams = Streams::of(&GET.repeat(requests), &END.repeat(requests));
    let analysis = streams.seen_as(&format!("0 > syn\n20 < syn\n20.1 > ack 0\n{capture}"));
    assert_eq!(analysis.connections[0].protocol, Some(Protocol::Memcached));
    analysis
}

fn kinds(analysis: &Analysis) -> Vec<Tunnel> {
    analysis.connections[0].tunnels.iter().map(|it| it.kind).collect()
}

#[test]
fn one_request_after_the_other_is_divided() {
    let analysis = memcached(
        2,
        "
        20.2  > 0:9 psh ack 0
        80.2  < 0:5 psh ack 9
        80.3  > 9:18 psh ack 5
        100.4 < 5:10 psh ack 18
        100.5 > ack 10
        ",
    );
    let [slow, quick] = &analysis.exchanges[..] else { panic!("{:?}", analysis.exchanges) };
    let thinks = slow.shares.iter().find(|it| it.cause == Cause::ServerThink).unwrap();
    assert!((39..=41).contains(&thinks.span.as_millis()), "{slow:?}");
    assert!(quick.duration.as_millis() < 21, "{quick:?}");
    assert!(kinds(&analysis).is_empty());
}

/// The third request leaves before the answer to the second has come: whose the answers are, nobody can say.
#[test]
fn requests_that_overlap_with_answers_are_not_divided() {
    for rest in [
        // The answer was sent before the server had the third request.
        "
        50   > 18:27 psh ack 5
        61   < 5:10 psh ack 18
        71   < 10:15 psh ack 27
        ",
        // The third request left before the client had all of the answer.
        "
        61   < 5:10 psh ack 18
        61.1 > 18:27 psh ack 5
        81   < 10:15 psh ack 27
        ",
    ] {
        let first = "
        20.2 > 0:9 psh ack 0
        40.2 < 0:5 psh ack 9
        40.3 > 9:18 psh ack 5
        ";
        let analysis = memcached(3, &format!("{first}{rest}"));
        assert_eq!(analysis.exchanges.len(), 1, "{:?}", analysis.exchanges);
        assert_eq!(kinds(&analysis), [Tunnel::Overlapping]);
    }
}

/// What a server of MySQL takes to greet is nobody's wait for a request, and no fault of the client.
#[test]
fn the_wait_for_a_greeting_is_in_no_exchange() {
    let greeting = [&b"\x4a\0\0\0\x0a8.0.36\0"[..], &[1; 66]].concat();
    let login = [&[36, 0, 0, 1, 0x8c, 0xa2, 0xbf, 0, 0, 0, 0, 16, 33][..], &[0; 27]].concat();
    let ok = [7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
    let (greets, logs_in) = (greeting.len(), login.len());
    let end = greets + ok.len();
    let streams = Streams::of(&login, &[&greeting[..], &ok].concat());
    let analysis = streams.seen_as(&format!(
        "
        0      > syn
        20     < syn
        20.1   > ack 0
        5020   < 0:{greets} psh ack 0
        5020.1 > 0:{logs_in} psh ack {greets}
        5041   < {greets}:{end} psh ack {logs_in}
        5041.1 > ack {end}
        "
    ));
    assert_eq!(analysis.connections[0].protocol, Some(Protocol::MySql));
    let [login] = &analysis.exchanges[..] else { panic!("{:?}", analysis.exchanges) };
    assert!(login.duration.as_millis() < 22, "{login:?}");
}

#[test]
fn a_session_of_ssh_is_nobody_s_wait() {
    let (client, server) = (b"SSH-2.0-a\r\nls\n", b"SSH-2.0-b\r\nfile\n");
    let analysis = Streams::of(client, server).seen_as(
        "
        0     > syn
        20    < syn
        20.1  > ack 0
        20.2  > 0:11 psh ack 0
        40    < 0:11 psh ack 11
        9000  > 11:14 psh ack 11
        19000 < 11:16 psh ack 14
        ",
    );
    assert!(analysis.exchanges.is_empty());
    assert_eq!(kinds(&analysis), [Tunnel::Session]);
    let [tunnel] = &analysis.connections[0].tunnels[..] else { panic!() };
    assert!(tunnel.until.since(tunnel.from).as_secs_f64() > 18.9, "{tunnel:?}");
}
