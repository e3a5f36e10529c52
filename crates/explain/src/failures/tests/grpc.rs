//! Calls of gRPC: deadlines, pings and what looks like them.

use super::*;

/// An HTTP/2 connection from a port to [`SERVER`], 20 ms away.
struct Http2 {
    host: Host,
    pair: Pair<'static>,
    /// What each side sends next.
    next: [u32; 2],
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const CANCEL: &[u8] = &[0, 0, 0, 8];

impl Http2 {
    fn new() -> Self {
        let mut it = Self { host: Host::default(), pair: Pair(1_000, SERVER), next: [1, 1] };
        it.host.packet(it.pair, 0, true, (0, None), Flags::SYN, b"");
        it.host.packet(it.pair, 20, false, (0, Some(1)), Flags::SYN, b"");
        it.host.packet(it.pair, 20, true, (1, Some(1)), Flags::NONE, b"");
        it.send(20, true, PREFACE);
        it.send(20, true, &frame(4, 0, 0, b""));
        it.send(40, false, &frame(4, 0, 0, b""));
        it
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn send(&mut self, at: u64, to_server: bool, data: &[u8]) {
        let [ours, theirs] = if to_server { [0, 1] } else { [1, 0] };
        let numbers = (self.next[ours], Some(self.next[theirs]));
        self.host.packet(self.pair, at, to_server, numbers, Flags::PSH, data);
        self.next[ours] += u32::try_from(data.len()).unwrap();
    }

    /// A request with these fields beside `:method` and `:path`.
    fn ask(&mut self, at: u64, stream: u32, fields: &[(&str, &str)]) {
        let block = [b"\x83\x86\x04\x04/S/M".to_vec(), literals(fields)].concat();
        let mut request = frame(HEADERS, END_HEADERS, stream, &block);
        request.extend(frame(DATA, END_STREAM, stream, &[0; 5]));
        self.send(at, true, &request);
    }

    fn answer(&mut self, at: u64, stream: u32, status: &str) {
        let mut response = frame(HEADERS, END_HEADERS, stream, b"\x88");
        response.extend(frame(DATA, 0, stream, &[0; 7]));
        let trailers = literals(&[("grpc-status", status)]);
        response.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream, &trailers));
        self.send(at, false, &response);
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn reset(&mut self, at: u64, to_server: bool, stream: u32, code: &[u8]) {
        self.send(at, to_server, &frame(RST_STREAM, 0, stream, code));
    }

    fn goaway(&mut self, at: u64, last: u8, code: u8, debug: &[u8]) {
        let payload = [&[0, 0, 0, last, 0, 0, 0, code], debug].concat();
        self.send(at, false, &frame(GOAWAY, 0, 0, &payload));
    }

    fn server_closes(&mut self, at: u64) {
        let numbers = (self.next[1], Some(self.next[0]));
        self.host.packet(self.pair, at, false, numbers, Flags::FIN, b"");
        let numbers = (self.next[0], Some(self.next[1] + 1));
        self.host.packet(self.pair, at, true, numbers, Flags::FIN, b"");
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags][..], &stream.to_be_bytes(), payload].concat()
}

/// RFC 7541, section 6.2.1: with names of their own.
fn literals(fields: &[(&str, &str)]) -> Vec<u8> {
    let text = |it: &str| [&[u8::try_from(it.len()).unwrap()], it.as_bytes()].concat();
    fields.iter().flat_map(|(name, value)| [vec![0x40], text(name), text(value)].concat()).collect()
}

const GRPC: (&str, &str) = ("content-type", "application/grpc");

#[test]
fn a_call_that_is_cancelled_when_its_deadline_is_over_is_told_from_one_that_is_cancelled_before() {
    for (why, timeout, ends, by_client, code, expected) in [
        ("its own deadline", "100m", 100, true, CANCEL, "deadline-exceeded high -"),
        ("rounded up by the client", "1010m", 1_000, true, CANCEL, "deadline-exceeded high -"),
        ("the server's timer is first", "100m", 101, false, CANCEL, "deadline-exceeded high -"),
        ("cancelled before", "1S", 400, true, CANCEL, "abandoned high -"),
        ("no deadline", "", 100, true, CANCEL, "abandoned high -"),
        ("another error of the server", "100m", 101, false, &[0, 0, 0, 2], "reset high -"),
    ] {
        let mut it = Http2::new();
        it.ask(50, 1, &[GRPC]);
        it.answer(70, 1, "0");
        let timeout = ("grpc-timeout", timeout);
        let fields = if timeout.1.is_empty() { vec![GRPC] } else { vec![GRPC, timeout] };
        it.ask(1_000, 3, &fields);
        it.reset(1_000 + ends, by_client, 3, code);
        let (failures, sentence) = it.host.said();
        assert_eq!(failures, [expected], "{why}");
        assert_eq!(
            sentence.contains("(grpc-timeout) was"),
            expected.starts_with('d'),
            "{sentence}"
        );
    }
}

#[test]
fn a_status_is_counted_and_no_failure() {
    let mut it = Http2::new();
    for (stream, status) in [(1, "0"), (3, "5"), (5, "5"), (7, "4")] {
        it.ask(100 * u64::from(stream), stream, &[GRPC, ("grpc-timeout", "1S")]);
        it.answer(100 * u64::from(stream) + 30, stream, status);
    }
    let analysis = it.host.finish();
    assert!(Failure::all(&analysis).is_empty());
    let note = crate::grpc::note(&analysis).unwrap();
    let said = "gRPC: of 4 calls whose status the capture shows, 1 ended with grpc-status 4 DEADLINE_EXCEEDED, 2 ended \
                with grpc-status 5 NOT_FOUND.";
    assert_eq!(note, said);
}

#[test]
fn a_response_that_has_begun_is_a_stream_that_its_client_ends() {
    for by_client in [true, false] {
        let mut it = Http2::new();
        it.ask(1_000, 1, &[GRPC, ("grpc-timeout", "2S")]);
        it.send(1_030, false, &frame(HEADERS, END_HEADERS, 1, b"\x88"));
        it.send(1_040, false, &frame(DATA, 0, 1, &[0; 7]));
        it.reset(3_001, by_client, 1, CANCEL);
        assert!(it.host.said().0.is_empty());
    }
}

#[test]
fn too_many_pings_are_told_by_code_and_debug_data_and_not_by_one_of_them() {
    for (why, code, debug, asks, expected) in [
        ("a call is under way", 11, &b"too_many_pings"[..], true, vec!["too-many-pings high -"]),
        ("none is", 11, b"too_many_pings", false, vec!["too-many-pings high -"]),
        ("calm without pings", 11, b"flood", true, vec!["closed-unanswered high -"]),
        ("calm without a call", 11, b"", false, vec![]),
        ("an orderly end", 0, b"max_age", false, vec![]),
    ] {
        let mut it = Http2::new();
        it.ask(50, 1, &[GRPC]);
        it.answer(70, 1, "0");
        if asks {
            it.ask(1_000, 3, &[GRPC]);
        }
        it.goaway(2_000, 3, code, debug);
        it.server_closes(2_001);
        let (failures, sentence) = it.host.said();
        assert_eq!(failures, expected, "{why}");
        assert_eq!(
            sentence.contains("EnforcementPolicy"),
            debug == b"too_many_pings",
            "{sentence}"
        );
        assert_eq!(sentence.contains("UNAVAILABLE"), asks, "{why}: {sentence}");
    }
}

#[test]
fn what_ends_after_a_goaway_says_that_it_was_announced() {
    let mut it = Http2::new();
    it.ask(50, 1, &[GRPC]);
    it.goaway(2_000, 1, 0, b"max_age");
    it.server_closes(3_000);
    let (failures, sentence) = it.host.said();
    assert_eq!(failures, ["closed-unanswered high -"]);
    let said = "The server had announced the end of the connection before (GOAWAY, NO_ERROR). A gRPC client reports \
                such calls as UNAVAILABLE";
    assert!(sentence.contains(said), "{sentence}");
}
