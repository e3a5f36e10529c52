//! Whole captures of connections to one or two servers: what is said to have failed, and what is not.

use ackwise_capture::{
    analysis::Analyser,
    decode::decode,
    read::{Frame, LinkType},
};
use ackwise_tcp::{Flags, Options, Segment, SeqNumber, wire};

use super::*;
use crate::sentence;

mod grpc;

const REQUEST: &[u8] = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const ASKED: u32 = 29;
const ANSWERED: u32 = 39;
const _: () = assert!(REQUEST.len() == 28 && RESPONSE.len() == 38);

/// A client and its servers, seen at the client.
#[derive(Default)]
pub(crate) struct Host {
    analyser: Analyser,
    packets: u64,
    /// The most bytes of a packet that are captured.
    snap: Option<usize>,
    /// Of RSTs, and of other packets.
    hop_limits: Option<[u8; 2]>,
}

/// A connection from a port to a server.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a>(pub u16, pub &'a str);

impl Host {
    /// `true` to the server; numbers begin at 0 on both sides.
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    pub(crate) fn packet(
        &mut self,
        Pair(port, server): Pair<'_>,
        millis: u64,
        to_server: bool,
        (seq, ack): (u32, Option<u32>),
        flags: Flags,
        data: &[u8],
    ) {
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: ack.map(SeqNumber),
            flags,
            window: 60_000,
            options: Options { mss: flags.syn.then_some(1_460), ..Options::NONE },
            len: u32::try_from(data.len()).unwrap(),
            ..Segment::default()
        };
        let server: SocketAddr = server.parse().unwrap();
        let client = match server {
            SocketAddr::V4(_) => SocketAddr::from(([10, 0, 0, 1], port)),
            SocketAddr::V6(_) => SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, 1], port)),
        };
        let [from, to] = if to_server { [client, server] } else { [server, client] };
        let mut bytes = Vec::new();
        wire::write(&mut bytes, from, to, &segment, data).unwrap();
        if let Some([rst, other]) = self.hop_limits {
            // RFC 791, section 3.1.
            bytes[8] = if flags.rst { rst } else { other };
        }
        self.packets += 1;
        let frame = Frame {
            number: self.packets,
            at: Instant::EPOCH + Duration::from_millis(millis),
            interface: 0,
            link_type: LinkType::RAW,
            original_len: u32::try_from(bytes.len()).unwrap(),
            bytes: &bytes[..self.snap.map_or(bytes.len(), |snap| snap.min(bytes.len()))],
            direction: None,
            lost_before: 0,
        };
        self.analyser.handle(&decode(&frame).unwrap());
    }

    /// A handshake and an exchange, 20 ms each; the connection is kept.
    pub(crate) fn exchange(&mut self, pair: Pair<'_>, at: u64) {
        self.packet(pair, at, true, (0, None), Flags::SYN, b"");
        self.packet(pair, at + 20, false, (0, Some(1)), Flags::SYN, b"");
        self.packet(pair, at + 20, true, (1, Some(1)), Flags::NONE, b"");
        self.packet(pair, at + 20, true, (1, Some(1)), Flags::PSH, REQUEST);
        self.packet(pair, at + 40, false, (1, Some(ASKED)), Flags::PSH, RESPONSE);
        self.packet(pair, at + 40, true, (ASKED, Some(ANSWERED)), Flags::NONE, b"");
    }

    /// The next request on it, and a FIN that it crosses.
    pub(crate) fn cross(&mut self, pair: Pair<'_>, at: u64) {
        self.packet(pair, at, true, (ASKED, Some(ANSWERED)), Flags::PSH, REQUEST);
        self.packet(pair, at + 10, false, (ANSWERED, Some(ASKED)), Flags::FIN, b"");
        self.packet(pair, at + 20, false, (ANSWERED + 1, None), Flags::RST, b"");
    }

    /// The server closes it, and then the client.
    pub(crate) fn close(&mut self, pair: Pair<'_>, at: u64) {
        self.packet(pair, at, false, (ANSWERED, Some(ASKED)), Flags::FIN, b"");
        self.packet(pair, at, true, (ASKED, Some(ANSWERED + 1)), Flags::FIN, b"");
        self.packet(pair, at + 20, false, (ANSWERED + 1, Some(ASKED + 1)), Flags::NONE, b"");
    }

    /// An attempt to connect that is refused.
    pub(crate) fn refuse(&mut self, pair: Pair<'_>, at: u64) {
        self.packet(pair, at, true, (0, None), Flags::SYN, b"");
        self.packet(pair, at + 20, false, (0, Some(1)), Flags::RST, b"");
    }

    pub(crate) fn finish(self) -> Analysis {
        self.analyser.finish()
    }

    /// Each failure as `kind confidence rival`, and the sentences.
    fn said(self) -> (Vec<String>, String) {
        let analysis = self.analyser.finish();
        let one = |it: &Failure| {
            format!("{} {} {}", it.kind.name(), it.confidence.name(), it.rival.unwrap_or("-"))
        };
        (Failure::all(&analysis).iter().map(one).collect(), sentence(&analysis))
    }
}

const SERVER: &str = "10.0.0.2:80";

#[test]
fn two_closes_after_the_same_idle_time_are_a_timeout() {
    for (idle, expected) in [
        ([5_000, 5_000], ["close-race high -"; 2]),
        ([5_000, 5_100], ["close-race high -"; 2]),
        ([5_000, 8_000], ["close-race medium server-restart"; 2]),
        ([300, 310], ["close-race medium request-limit"; 2]),
    ] {
        let mut host = Host::default();
        for (port, idle) in (1_000..).zip(idle) {
            host.exchange(Pair(port, SERVER), 0);
            host.cross(Pair(port, SERVER), 40 + idle - 10);
        }
        let (failures, sentence) = host.said();
        assert_eq!(failures, expected, "{idle:?}");
        let begin =
            "Failed: 10.0.0.2:80 closed idle connections while requests were on their way: 2 of 4";
        assert!(sentence.starts_with(begin), "{sentence}");
        assert!(!sentence.contains("Nothing to change"), "{sentence}");
    }
}

#[test]
fn one_close_may_be_a_restart() {
    let mut host = Host::default();
    host.exchange(Pair(1_000, SERVER), 0);
    host.cross(Pair(1_000, SERVER), 5_000);
    let (failures, sentence) = host.said();
    assert_eq!(failures, ["close-race medium server-restart"]);
    assert!(sentence.contains("the packets also admit server-restart"), "{sentence}");
    assert!(sentence.contains("\nIf so: let the server keep"), "{sentence}");
}

#[test]
fn a_close_that_the_client_knew_of_is_its_own_fault() {
    for (later, expected) in [(500, "ignored-close high -"), (0, "close-race medium ignored-close")]
    {
        let mut host = Host::default();
        let pair = Pair(1_000, SERVER);
        host.exchange(pair, 0);
        host.packet(pair, 5_000, false, (ANSWERED, Some(ASKED)), Flags::FIN, b"");
        host.packet(pair, 5_000, true, (ASKED, Some(ANSWERED + 1)), Flags::NONE, b"");
        host.packet(pair, 5_000 + later, true, (ASKED, Some(ANSWERED + 1)), Flags::PSH, REQUEST);
        host.packet(pair, 5_020 + later, false, (ANSWERED + 1, None), Flags::RST, b"");
        assert_eq!(host.said().0, [expected], "{later}");
    }
}

#[test]
fn a_path_that_forgets_is_told_from_one_that_is_gone() {
    for (works, expected) in
        [(true, "idle-flow-dropped medium path-broken"), (false, "silent high -")]
    {
        let mut host = Host::default();
        let pair = Pair(1_000, SERVER);
        host.exchange(pair, 0);
        for at in [60_000, 60_300, 60_900, 62_100] {
            host.packet(pair, at, true, (ASKED, Some(ANSWERED)), Flags::PSH, REQUEST);
        }
        if works {
            host.exchange(Pair(1_001, SERVER), 80_000);
        }
        let analysis = host.analyser.finish();
        let failures = Failure::all(&analysis);
        let [it] = &failures[..] else { panic!("{failures:?}") };
        let said =
            format!("{} {} {}", it.kind.name(), it.confidence.name(), it.rival.unwrap_or("-"));
        assert_eq!(said, expected);
        assert_eq!(it.span, Duration::from_millis(300), "the kernel may repeat it for nobody");
        assert_eq!(it.at_most, works.then_some(Duration::from_secs(20)));
    }
}

#[test]
fn who_has_several_addresses_is_tried_at_the_next() {
    for (other, at, expected) in [
        (Some("10.0.0.3:80"), 1, &[][..]),
        (Some("[fd00::2]:80"), 1, &[]),
        // The two are tried side by side.
        (Some("10.0.0.3:80"), 0, &[]),
        (Some("10.0.0.3:80"), 2_000, &["connect-refused high -"]),
        (Some("10.0.0.3:81"), 1, &["connect-refused high -"]),
        (None, 0, &["connect-refused high -"]),
    ] {
        let mut host = Host::default();
        host.packet(Pair(1_000, SERVER), 0, true, (0, None), Flags::SYN, b"");
        host.packet(Pair(1_000, SERVER), 0, false, (0, Some(1)), Flags::RST, b"");
        if let Some(other) = other {
            host.exchange(Pair(1_001, other), at);
        }
        assert_eq!(host.said().0, expected, "{other:?} {at}");
    }
}

#[test]
fn ordinary_ends_are_no_failures() {
    let pair = Pair(1_000, SERVER);
    type Packet = (u64, bool, (u32, Option<u32>), Flags, &'static [u8]);
    let after_exchange: &[(&str, &[Packet])] = &[
        ("kept", &[]),
        ("closed while idle", &[(9_000, false, (ANSWERED, Some(ASKED)), Flags::FIN, b"")]),
        ("reset while idle", &[(9_000, false, (ANSWERED, Some(ASKED)), Flags::RST, b"")]),
        ("reset by the client", &[(9_000, true, (ASKED, Some(ANSWERED)), Flags::RST, b"")]),
        (
            "a stream that its client ends",
            &[
                (100, true, (ASKED, Some(ANSWERED)), Flags::PSH, REQUEST),
                (
                    120,
                    false,
                    (ANSWERED, Some(2 * ASKED - 1)),
                    Flags::PSH,
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n",
                ),
                (9_000, true, (2 * ASKED - 1, Some(ANSWERED + 58)), Flags::RST, b""),
            ],
        ),
        (
            "a request when the capture ends",
            &[(9_000, true, (ASKED, Some(ANSWERED)), Flags::PSH, REQUEST)],
        ),
    ];
    for (name, packets) in after_exchange {
        let mut host = Host::default();
        host.exchange(pair, 0);
        for &(at, to_server, numbers, flags, data) in *packets {
            host.packet(pair, at, to_server, numbers, flags, data);
        }
        let (failures, sentence) = host.said();
        assert_eq!(failures, [""; 0], "{name}");
        assert!(!sentence.starts_with("Failed"), "{name}: {sentence}");
    }
}

#[test]
fn an_early_response_fails_by_a_reset_that_follows_and_not_by_a_timeout() {
    const POST: &[u8] = b"POST /a HTTP/1.1\r\nContent-Length: 900\r\n\r\n";
    let sent = 1 + u32::try_from(POST.len()).unwrap();
    const EARLY: &[u8] = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";
    let answered = 1 + u32::try_from(EARLY.len()).unwrap();
    // All of the request's head, and not of the response's.
    let cut = Some(40 + POST.len());
    for (later, snap, expected) in [
        (5, None, &["early-response-reset high -"][..]),
        (60_000, None, &[]),
        (5, cut, &["early-response-reset medium truncated"]),
        (60_000, cut, &[]),
    ] {
        let mut host = Host { snap, ..Host::default() };
        let pair = Pair(1_000, SERVER);
        host.packet(pair, 0, true, (0, None), Flags::SYN, b"");
        host.packet(pair, 20, false, (0, Some(1)), Flags::SYN, b"");
        host.packet(pair, 20, true, (1, Some(1)), Flags::PSH, POST);
        host.packet(pair, 40, false, (1, Some(sent)), Flags::PSH, EARLY);
        host.packet(pair, 41, true, (sent, Some(answered)), Flags::PSH, &[b'x'; 800]);
        host.packet(pair, 41 + later, false, (answered, Some(sent)), Flags::RST, b"");
        assert_eq!(host.said().0, expected, "{later}, {snap:?}");
    }
}

#[test]
fn an_rst_that_is_fewer_hops_away_than_its_end_was_sent_on_the_way() {
    let refused = |host: &mut Host| host.refuse(Pair(1_001, "10.0.0.2:81"), 100);
    let known = |host: &mut Host| host.exchange(Pair(1_000, SERVER), 0);
    let reset = |host: &mut Host| {
        let pair = Pair(1_000, SERVER);
        host.exchange(pair, 0);
        host.packet(pair, 500, true, (ASKED, Some(ANSWERED)), Flags::PSH, REQUEST);
        host.packet(pair, 520, false, (ANSWERED, None), Flags::RST, b"");
    };
    let server = Some(Party::Server);
    let path = Some(Party::Path);
    let nobody: &dyn Fn(&mut Host) = &|_| ();
    for (why, first, then, rst, expected) in [
        (
            "refused",
            &known as &dyn Fn(&mut Host),
            &refused as &dyn Fn(&mut Host),
            60,
            (server, Confidence::High, None),
        ),
        ("on the way", &known, &refused, 62, (path, Confidence::Medium, Some("another-route"))),
        ("nothing to compare with", nobody, &refused, 62, (server, Confidence::High, None)),
        ("reset", nobody, &reset, 60, (server, Confidence::High, None)),
        (
            "by an end that sends RSTs with 255",
            nobody,
            &reset,
            251,
            (server, Confidence::High, None),
        ),
        ("further away", nobody, &reset, 58, (server, Confidence::High, None)),
        ("reset on the way", nobody, &reset, 255, (path, Confidence::High, None)),
    ] {
        let mut host = Host { hop_limits: Some([rst, 60]), ..Host::default() };
        first(&mut host);
        then(&mut host);
        let analysis = host.finish();
        let said: Vec<_> =
            Failure::all(&analysis).iter().map(|it| (it.party, it.confidence, it.rival)).collect();
        assert_eq!(said, [expected], "{why}");
        let is_said = sentence(&analysis).contains("a host on the path sent it");
        assert_eq!(is_said, expected.0 == path, "{why}: {}", sentence(&analysis));
    }
}

/// A record of TLS: its type, and as many bytes.
fn record(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
    [&[kind, 3, 3][..], &length, bytes].concat()
}

#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn a_handshake_of_tls_that_comes_to_nothing() {
    const HELLO: [u8; 200] = {
        let mut hello = [0; 200];
        (hello[0], hello[3]) = (1, 196);
        hello
    };
    let [client, server] = [true, false];
    let hello = (client, record(22, &HELLO));
    let answer = (server, record(22, &[2; 90]));
    let encrypted = (server, record(23, &[9; 900]));
    let finished = (client, record(23, &[9; 53]));
    let begun = [hello.clone(), answer.clone(), encrypted.clone()];
    let alert = |by, level, what| (by, record(21, &[level, what]));
    for (name, records, ends, expected) in [
        ("done", [&begun[..], std::slice::from_ref(&finished)].concat(), (client, 5_000), None),
        (
            "done, with padding",
            [&begun[..], &[(client, record(23, &[9; 85]))]].concat(),
            (client, 5_000),
            None,
        ),
        (
            "refused by the client",
            [&begun[..], &[alert(client, 2, 48)]].concat(),
            (client, 10),
            Some("tls-alert high unknown_ca client"),
        ),
        (
            "refused in secret",
            [&begun[..], &[(client, record(23, &[9; 19]))]].concat(),
            (client, 10),
            Some("tls-alert high - client"),
        ),
        (
            "refused by the server",
            vec![hello.clone(), alert(server, 2, 40)],
            (server, 10),
            Some("tls-alert high handshake_failure server"),
        ),
        (
            "warned, and done",
            [&[hello.clone(), alert(server, 1, 112)], &begun[1..], &[finished]].concat(),
            (client, 5_000),
            None,
        ),
        ("cancelled at once", begun.to_vec(), (client, 10), None),
        (
            "cancelled after a while",
            begun.to_vec(),
            (client, 5_000),
            Some("tls-unfinished high - client"),
        ),
        (
            "closed by the server",
            vec![hello.clone()],
            (server, 10),
            Some("tls-unfinished high - server"),
        ),
        ("open when the capture ends", vec![hello], (client, 0), None),
    ] {
        let mut host = Host::default();
        let pair = Pair(1_000, SERVER);
        host.packet(pair, 0, true, (0, None), Flags::SYN, b"");
        host.packet(pair, 20, false, (0, Some(1)), Flags::SYN, b"");
        host.packet(pair, 20, true, (1, Some(1)), Flags::NONE, b"");
        let (mut next, mut at) = ([1, 1], 20);
        for (by_client, bytes) in &records {
            let way = usize::from(!by_client);
            at += 20;
            host.packet(pair, at, *by_client, (next[way], Some(next[1 - way])), Flags::PSH, bytes);
            next[way] += u32::try_from(bytes.len()).unwrap();
        }
        let (by_client, later) = ends;
        if later > 0 {
            let way = usize::from(!by_client);
            let numbers = (next[way], Some(next[1 - way]));
            host.packet(pair, at + later, by_client, numbers, Flags::FIN, b"");
        }
        let analysis = host.analyser.finish();
        let said: Vec<_> = Failure::all(&analysis)
            .iter()
            .map(|it| {
                let alert = it.alert.and_then(|it| it.name()).unwrap_or("-");
                let by = it.ended_by.map_or("-", Party::name);
                format!("{} {} {alert} {by}", it.kind.name(), it.confidence.name())
            })
            .collect();
        assert_eq!(said, expected.into_iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn a_server_that_takes_nothing_has_no_room_for_the_connection() {
    for (again, expected) in [
        (true, &["accept-queue-full medium path-broken"][..]),
        // The path may drop the requests.
        (false, &["silent high -"]),
    ] {
        let mut host = Host::default();
        let pair = Pair(1_000, SERVER);
        host.packet(pair, 0, true, (0, None), Flags::SYN, b"");
        host.packet(pair, 20, false, (0, Some(1)), Flags::SYN, b"");
        host.packet(pair, 20, true, (1, Some(1)), Flags::NONE, b"");
        host.packet(pair, 21, true, (1, Some(1)), Flags::PSH, REQUEST);
        for at in [250, 700, 1_600] {
            host.packet(pair, at, true, (1, Some(1)), Flags::PSH, REQUEST);
        }
        if again {
            host.packet(pair, 1_020, false, (0, Some(1)), Flags::SYN, b"");
        }
        assert_eq!(host.said().0, expected, "{again}");
    }
}

#[test]
fn only_full_segments_are_missing_for_long() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1424\r\n\r\n";
    let page = [&head[..], &[b'x'; 1_424]].concat();
    for (closed, expected) in [(3_000, &["path-mtu-black-hole medium burst-loss"][..]), (300, &[])]
    {
        let mut host = Host::default();
        let pair = Pair(1_000, SERVER);
        host.packet(pair, 0, true, (0, None), Flags::SYN, b"");
        host.packet(pair, 20, false, (0, Some(1)), Flags::SYN, b"");
        host.packet(pair, 20, true, (1, Some(1)), Flags::PSH, REQUEST);
        // The first 1,460 bytes are not there.
        host.packet(pair, 40, false, (1_461, Some(ASKED)), Flags::PSH, &page[1_460..]);
        host.packet(pair, closed, true, (ASKED, Some(1)), Flags::FIN, b"");
        let said = host.said().0;
        let is_hole = |it: &String| it.starts_with("path-mtu");
        assert_eq!(said.into_iter().filter(is_hole).collect::<Vec<_>>(), expected, "{closed}");
    }
}

/// A whole handshake, of which the capture has one direction.
#[test]
fn nothing_is_known_of_a_handshake_that_is_half_captured() {
    for to_server in [true, false] {
        let mut host = Host::default();
        let pair = Pair(1_000, SERVER);
        let hello = [&[1, 0, 0, 196][..], &[0; 196]].concat();
        let records = match to_server {
            true => [record(22, &hello), record(23, &[9; 53]), record(23, &[9; 90])],
            false => [record(22, &[2; 90]), record(23, &[9; 900]), record(23, &[9; 300])],
        };
        let syn = if to_server { (0, None) } else { (0, Some(1)) };
        host.packet(pair, 0, to_server, syn, Flags::SYN, b"");
        let mut next = 1;
        for (at, bytes) in (20..).step_by(300).zip(&records) {
            host.packet(pair, at, to_server, (next, Some(1)), Flags::PSH, bytes);
            next += u32::try_from(bytes.len()).unwrap();
        }
        host.packet(pair, 5_000, to_server, (next, Some(1)), Flags::FIN, b"");
        assert_eq!(host.said().0, [""; 0], "{to_server}");
    }
}

#[test]
fn a_client_that_gives_up_is_told_from_a_scan_and_from_the_loser_of_a_race() {
    for (again, answered, elsewhere, expected) in [
        (true, 2_000, None, &["connect-abandoned high -"][..]),
        (false, 400, None, &["connect-abandoned medium scan"]),
        (false, 20, None, &[]),
        (true, 2_000, Some(300), &[]),
    ] {
        let mut host = Host::default();
        let pair = Pair(1_000, SERVER);
        host.packet(pair, 0, true, (0, None), Flags::SYN, b"");
        if let Some(at) = elsewhere {
            host.exchange(Pair(1_001, "10.0.0.3:80"), at);
        }
        if again {
            host.packet(pair, 1_000, true, (0, None), Flags::SYN, b"");
        }
        host.packet(pair, answered, false, (0, Some(1)), Flags::SYN, b"");
        host.packet(pair, answered, true, (1, None), Flags::RST, b"");
        assert_eq!(host.said().0, expected, "{again} {answered} {elsewhere:?}");
    }
}

#[test]
fn a_next_try_recovers_the_same_request_if_it_comes_soon() {
    for (later, expected) in [(100, true), (5_000, false)] {
        let mut host = Host::default();
        host.exchange(Pair(1_000, SERVER), 0);
        host.cross(Pair(1_000, SERVER), 5_000);
        host.exchange(Pair(1_001, SERVER), 5_020 + later);
        let analysis = host.analyser.finish();
        let failures = Failure::all(&analysis);
        assert_eq!(failures[0].recovered_by, expected.then_some(2), "{later}");
    }
}

#[test]
fn a_port_scan_is_one_line() {
    let mut host = Host::default();
    let servers: Vec<_> = (1..=50).map(|port| format!("10.0.0.2:{port}")).collect();
    for server in &servers {
        host.packet(Pair(1_000, server), 0, true, (0, None), Flags::SYN, b"");
        host.packet(Pair(1_000, server), 0, false, (0, Some(1)), Flags::RST, b"");
    }
    let analysis = host.analyser.finish();
    let failures = Failure::all(&analysis);
    assert_eq!(failures.len(), 50);
    assert_eq!(section(&failures).lines().count(), 5, "{}", section(&failures));
    let sentence = sentence(&analysis);
    assert!(sentence.starts_with("Failed: 10.0.0.2 refused connections: 50 times"), "{sentence}");
}
