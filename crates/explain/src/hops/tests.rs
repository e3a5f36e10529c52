//! Captures of two connections and more: which exchange was made for which.

use std::net::SocketAddr;

use ackwise_capture::{
    analysis::Analyser,
    decode::decode,
    read::{Frame, HostDirection as Way, LinkType},
};
use ackwise_tcp::{Flags, Options, Segment, SeqNumber, wire};

use super::*;
use crate::{failures::Failure, sentence};

/// An exchange on a connection of its own, from its SYN to its answer, in milliseconds.
#[derive(Clone)]
struct Asked {
    ends: [SocketAddr; 2],
    from: u64,
    until: u64,
    /// The target, and a field.
    request: String,
    answer: &'static str,
    /// Whether the capturing host sends what the client sends.
    sends: Option<bool>,
}

/// When, whether to the server, numbers, flags and data.
type Packet = (u64, bool, (u32, Option<u32>), Flags, Vec<u8>);

const FRONT: [&str; 2] = ["10.0.0.1:1000", "10.0.0.2:80"];
const BACK: [&str; 2] = ["10.0.0.2:2000", "10.0.0.3:8080"];
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

fn asked(ends: [&str; 2], from: u64, until: u64, target: &str) -> Asked {
    let ends = ends.map(|it| it.parse().unwrap());
    Asked {
        ends,
        from,
        until,
        request: format!("GET {target} HTTP/1.1\r\n"),
        answer: OK,
        sends: None,
    }
}

impl Asked {
    fn with(mut self, field: &str) -> Self {
        self.request += field;
        self.request += "\r\n";
        self
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn at_host(self, sends: bool) -> Self {
        Self { sends: Some(sends), ..self }
    }

    fn answered(self, answer: &'static str) -> Self {
        Self { answer, ..self }
    }

    /// In order.
    fn packets(&self) -> Vec<Packet> {
        let request = format!("{}\r\n", self.request).into_bytes();
        let answer = self.answer.as_bytes().to_vec();
        let asked = 1 + u32::try_from(request.len()).unwrap();
        let answered = 1 + u32::try_from(answer.len()).unwrap();
        if self.answer == "refused" {
            let refused = Flags::RST;
            return vec![
                (self.from, true, (0, None), Flags::SYN, Vec::new()),
                (self.until, false, (0, Some(1)), refused, Vec::new()),
            ];
        }
        let end = match self.answer {
            "" => (self.until, false, (1, Some(asked)), Flags::FIN, Vec::new()),
            _ => (self.until, false, (1, Some(asked)), Flags::PSH, answer),
        };
        vec![
            (self.from, true, (0, None), Flags::SYN, Vec::new()),
            (self.from, false, (0, Some(1)), Flags::SYN, Vec::new()),
            (self.from, true, (1, Some(1)), Flags::NONE, Vec::new()),
            (self.from, true, (1, Some(1)), Flags::PSH, request),
            end,
            (self.until, true, (asked, Some(answered)), Flags::NONE, Vec::new()),
        ]
    }
}

fn captured(all: &[Asked]) -> Analysis {
    let of = |it: &Asked| {
        it.packets().into_iter().map(|packet| (it.clone(), packet)).collect::<Vec<_>>()
    };
    let mut packets: Vec<_> = all.iter().flat_map(of).collect();
    packets.sort_by_key(|(_, packet)| packet.0);
    let mut analyser = Analyser::default();
    for (number, (it, (at, to_server, (seq, ack), flags, data))) in (1..).zip(packets) {
        let [from, to] = if to_server { it.ends } else { [it.ends[1], it.ends[0]] };
        // No two connections begin with the same numbers.
        let first = u32::from(it.ends[0].port()) << 16;
        let segment = Segment {
            seq: SeqNumber(first + seq),
            ack: ack.map(|ack| SeqNumber(first + ack)),
            flags,
            window: 60_000,
            options: Options { mss: flags.syn.then_some(1_460), ..Options::NONE },
            len: u32::try_from(data.len()).unwrap(),
            ..Segment::default()
        };
        let mut bytes = Vec::new();
        wire::write(&mut bytes, from, to, &segment, &data).unwrap();
        let way = |sends| if sends == to_server { Way::Sent } else { Way::Received };
        analyser.handle(
            &decode(&Frame {
                number,
                at: Instant::EPOCH + Duration::from_millis(at),
                interface: 0,
                link_type: LinkType::RAW,
                original_len: u32::try_from(bytes.len()).unwrap(),
                bytes: &bytes,
                direction: it.sends.map(way),
                lost_before: 0,
            })
            .unwrap(),
        );
    }
    analyser.finish()
}

#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn the_only_request_that_fits_was_passed_on() {
    let front = || asked(FRONT, 0, 100, "/a");
    let back = || asked(BACK, 10, 40, "/a");
    let elsewhere = ["10.0.9.1:2000", "10.0.0.3:8080"];
    let local = [["127.0.0.1:1000", "127.0.0.1:80"], ["127.0.0.1:2000", "127.0.0.1:8080"]];
    let trace = |parent| format!("traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-{parent}-01");
    let second = || asked(["10.0.0.1:1001", "10.0.0.2:80"], 5, 90, "/a");
    for (why, all, expected) in [
        ("nested", vec![front(), back()], vec![(0, 1, Confidence::Medium)]),
        ("begins before", vec![asked(FRONT, 20, 100, "/a"), back()], vec![]),
        ("ends later", vec![asked(FRONT, 0, 30, "/a"), back()], vec![]),
        ("another request", vec![asked(FRONT, 0, 100, "/b"), back()], vec![]),
        ("another host", vec![front(), asked(elsewhere, 10, 40, "/a")], vec![]),
        (
            "another address of the capturing host",
            vec![front().at_host(false), asked(elsewhere, 10, 40, "/a").at_host(true)],
            vec![(0, 1, Confidence::Medium)],
        ),
        (
            "both come to the capturing host",
            vec![front().at_host(false), asked(elsewhere, 10, 40, "/a").at_host(false)],
            vec![],
        ),
        ("two may have been the reason", vec![front(), second(), back()], vec![]),
        (
            "one request makes two",
            vec![front(), back(), asked(["10.0.0.2:2001", "10.0.0.3:8080"], 50, 60, "/a")],
            vec![],
        ),
        (
            "named by an id, under another path",
            vec![
                asked(FRONT, 0, 100, "/b").with("x-request-id: 7"),
                back().with("X-Request-ID: 7"),
            ],
            vec![(0, 1, Confidence::High)],
        ),
        (
            "one of two, named by its trace",
            vec![
                front(),
                second().with(&trace("00f067aa0ba902b7")),
                back().with(&trace("b7ad6b7169203331")),
            ],
            vec![(1, 2, Confidence::High)],
        ),
        (
            "on one host",
            vec![asked(local[0], 0, 100, "/a"), asked(local[1], 10, 40, "/a")],
            vec![(0, 1, Confidence::Low)],
        ),
        (
            "tried again",
            vec![
                front(),
                back().answered(""),
                asked(["10.0.0.2:2001", "10.0.0.3:8080"], 50, 60, "/a"),
            ],
            vec![(0, 1, Confidence::Medium), (0, 2, Confidence::Medium)],
        ),
    ] {
        let analysis = captured(&all);
        assert_eq!(analysis.exchanges.len(), all.len(), "{why}");
        let hops = Fronts::of(&analysis).hops(&analysis);
        let said: Vec<_> = hops.iter().map(|it| (it.front, it.back, it.confidence)).collect();
        assert_eq!(said, expected, "{why}");
    }
}

#[test]
fn who_let_the_client_wait_is_named() {
    for (from, until, expected) in [
        (
            10,
            20,
            "received the first bytes of responses from 10.0.0.3:8080 after 20.0 ms, and forwarded them after 1.00 s",
        ),
        (10, 990, "waited for 10.0.0.3:8080: 980 ms of these 1.00 s"),
        (980, 990, "forwarded requests to 10.0.0.3:8080 after 980 ms"),
    ] {
        let analysis = captured(&[asked(FRONT, 0, 1_000, "/a"), asked(BACK, from, until, "/a")]);
        let said = sentence(&analysis);
        let begin = format!("\nThe proxy 10.0.0.2:80 {expected}");
        assert!(said.contains(&begin), "{from}, {until}: {said}");
    }
}

#[test]
fn what_failed_behind_a_proxy_is_joined_to_what_its_client_got() {
    const BAD_GATEWAY: &str = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
    for (why, answer, failed, made_for) in [
        ("closed", BAD_GATEWAY, "", Some(0)),
        ("refused", BAD_GATEWAY, "refused", Some(0)),
        // It may have been for anything else.
        ("refused, and the client does not know", OK, "refused", None),
    ] {
        let front = asked(FRONT, 0, 100, "/a").answered(answer);
        let analysis = captured(&[front, asked(BACK, 10, 40, "/a").answered(failed)]);
        let failures = Failure::all(&analysis);
        let said: Vec<_> = failures.iter().map(|it| it.made_for).collect();
        assert_eq!(said, [made_for], "{why}");
        let told =
            sentence(&analysis).contains("A proxy made the request and answered its client 502: 1");
        assert_eq!(told, made_for.is_some(), "{why}: {}", sentence(&analysis));
    }
}
