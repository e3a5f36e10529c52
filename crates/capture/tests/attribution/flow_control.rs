//! Flow-control windows of HTTP/2 that are used up: which one, until when, and what is none.

use crate::{line, wire::Streams};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `GET / HTTP/1.1` and `200` in HPACK (RFC 7541, appendix A).
const GET: &[u8] = &[0x82, 0x86, 0x84];
const OK: &[u8] = &[0x88];

/// Bytes before a frame's payload.
const FRAME: usize = 9;

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [.., high, middle, low] = payload.len().to_be_bytes();
    let header = [high, middle, low, kind, flags, 0, 0, 0, stream];
    [&header[..], payload].concat()
}

/// A client that gives streams a window of `initial` bytes, asks on each of these streams, and says more after that.
fn client(initial: u32, streams: &[u8], more: &[Vec<u8>]) -> Vec<u8> {
    let setting = [&[0, 4][..], &initial.to_be_bytes()].concat();
    let asks = |&it: &u8| frame(HEADERS, END_HEADERS | END_STREAM, it, GET);
    let begin = [PREFACE.to_vec(), frame(SETTINGS, 0, 0, &setting)];
    let asked: Vec<_> = streams.iter().map(asks).collect();
    [&begin[..], &asked, more].concat().concat()
}

/// A server that answers with DATA of these lengths, on these streams.
fn server(data: &[(u8, usize, bool)]) -> Vec<u8> {
    let mut begun = 0;
    let mut said = frame(SETTINGS, 0, 0, &[]);
    for &(stream, length, is_last) in data {
        if stream > begun {
            said.extend(frame(HEADERS, END_HEADERS, stream, OK));
            begun = stream;
        }
        let flags = if is_last { END_STREAM } else { 0 };
        said.extend(frame(DATA, flags, stream, &vec![b'.'; length]));
    }
    said
}

fn give(stream: u8, bytes: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
}

/// The server's SETTINGS and HEADERS.
const HEAD: usize = FRAME + FRAME + OK.len();
/// The client's preface, SETTINGS with a size, and a request.
const ASKED: usize = PREFACE.len() + FRAME + 6 + FRAME + GET.len();
const UPDATE: usize = FRAME + 4;

#[test]
fn the_stream_s_window_is_used_up_and_the_connection_s_is_not() {
    let streams = Streams::of(
        &client(2_920, &[1], &[give(1, 2_920)]),
        &server(&[(1, 2_920, false), (1, 1_000, true)]),
    );
    let [used_up, end] = [HEAD + FRAME + 2_920, HEAD + 2 * FRAME + 3_920];
    shows(
        &streams,
        &format!(
            "
            0     > syn
            40    < syn
            40.1  > ack 0
            40.2  > 0:{ASKED} psh ack 0
            80.4  < 0:{used_up} psh ack {ASKED}
            80.5  > {ASKED}:{given} psh ack {used_up}
            120.7 < {used_up}:{end} psh ack {given}
            120.8 > ack {end}
            ",
            given = ASKED + UPDATE,
        ),
        "h2-flow-control (stream) to-client 40.273 (1, 40.273) high: 7 8 9",
    );
}

#[test]
fn the_connection_s_window_is_used_up_and_the_stream_s_is_not() {
    let parts = [(1, 16_384, false), (1, 16_384, false), (1, 16_384, false), (1, 16_383, false)];
    let data = [&parts[..], &[(1, 1_000, true)]].concat();
    let streams = Streams::of(&client(1 << 20, &[1], &[give(0, 65_535)]), &server(&data));
    let used_up = HEAD + 4 * FRAME + 65_535;
    let end = used_up + FRAME + 1_000;
    shows(
        &streams,
        &script(used_up, end, 120.7),
        "h2-flow-control (connection) to-client 39.978 (1, 39.978) high: 49 50 51",
    );
}

#[test]
fn with_the_sizes_of_the_default_both_windows_are_used_up() {
    let parts = [(1, 16_384, false), (1, 16_384, false), (1, 16_384, false), (1, 16_383, false)];
    let data = [&parts[..], &[(1, 1_000, true)]].concat();
    let streams = Streams::of(&client(65_535, &[1], &[give(0, 65_535)]), &server(&data));
    let used_up = HEAD + 4 * FRAME + 65_535;
    let end = used_up + FRAME + 1_000;
    shows(
        &streams,
        &script(used_up, end, 120.7),
        "h2-flow-control (both) to-client 39.978 (1, 39.978) high: 49 50 51",
    );
}

/// As much as the window allows is sent, credit comes within a round trip, and the program writes on 300 ms later.
#[test]
fn a_program_that_pauses_after_the_window_has_opened_is_not_flow_controlled() {
    let streams = Streams::of(
        &client(2_920, &[1], &[give(1, 2_920)]),
        &server(&[(1, 2_920, false), (1, 1_000, true)]),
    );
    let [used_up, end] = [HEAD + FRAME + 2_920, HEAD + 2 * FRAME + 3_920];
    shows(
        &streams,
        &script(used_up, end, 420.7),
        "
        h2-flow-control (stream) to-client 40.102 (1, 40.102) medium: 7 8 9
        application-limited to-client 299.745 (1, 299.745) medium or path-stall: 7 8 9
        ",
    );
}

/// A window that the end of a response has used up opens no more: what comes on other streams does not wait for it.
#[test]
fn the_window_of_a_stream_that_is_over_holds_nothing() {
    let streams = Streams::of(
        &client(2_920, &[1, 3], &[]),
        &server(&[(1, 2_920, false), (1, 0, true), (3, 100, false), (3, 100, true)]),
    );
    let both = ASKED + FRAME + GET.len();
    let first = HEAD + FRAME + 2_920 + FRAME;
    let half = first + FRAME + OK.len() + FRAME + 100;
    let end = half + FRAME + 100;
    shows(
        &streams,
        &format!(
            "
            0     > syn
            40    < syn
            40.1  > ack 0
            40.2  > 0:{ASKED} psh ack 0
            80.4  < 0:{first} psh ack {ASKED}
            80.5  > ack {first}
            90    > {ASKED}:{both} psh ack {first}
            130.2 < {first}:{half} psh ack {both}
            130.3 > ack {half}
            430.2 < {half}:{end} psh ack {both}
            430.3 > ack {end}
            "
        ),
        "application-limited to-client 299.999 (1, 299.999) medium or path-stall: 10 11 12",
    );
}

/// One stream's window is used up, and its client does not read; the other stream's program pauses.
#[test]
fn another_stream_s_window_does_not_hold_this_one_for_sure() {
    let streams = Streams::of(
        &client(2_920, &[1, 3], &[]),
        &server(&[(1, 2_920, false), (3, 100, false), (3, 100, true)]),
    );
    let both = ASKED + FRAME + GET.len();
    let first = HEAD + FRAME + 2_920;
    let half = first + FRAME + OK.len() + FRAME + 100;
    let end = half + FRAME + 100;
    shows(
        &streams,
        &format!(
            "
            0     > syn
            40    < syn
            40.1  > ack 0
            40.2  > 0:{both} psh ack 0
            80.4  < 0:{first} psh ack {both}
            80.5  > ack {first}
            80.6  < {first}:{half} psh ack {both}
            80.7  > ack {half}
            430.2 < {half}:{end} psh ack {both}
            430.3 > ack {end}
            "
        ),
        "
        application-limited to-client 349.659 (2, 349.599) low or path-stall: 9 10 11
        application-limited to-client 349.599 (1, 349.599) low or path-stall: 9 10 11
        ",
    );
}

/// With 62 bytes of each packet, as by `-s 128`, nothing is known of windows. If they may have been used up, as in
/// [`with_the_sizes_of_the_default_both_windows_are_used_up`], neither they nor a send buffer are blamed for what came after
/// the first 65,535 bytes; what fits into any window needs no judgement.
#[test]
fn windows_that_are_cut_off_are_not_judged_if_they_may_have_been_used_up() {
    let all = [16_384, 16_384, 16_384, 16_383];
    for (parts, rest, credit, is_unseen) in
        [(&all[..], 1_000, 65_535, true), (&all[..1], 16_384, 32_768, false)]
    {
        let data = parts.iter().map(|&len| (1, len, false)).chain([(1, rest, true)]);
        let data: Vec<_> = data.collect();
        let streams = Streams::of(&client(65_535, &[1], &[give(0, credit)]), &server(&data));
        let used_up = HEAD + parts.len() * FRAME + parts.iter().sum::<usize>();
        let end = used_up + FRAME + rest;
        let analysis = streams.cut_to(62).seen_as(&script(used_up, end, 120.7));
        assert_eq!(analysis.connections[0].quality.flow_control_unseen, is_unseen);
        let found: Vec<String> = analysis.exchanges[0].shares.iter().map(|it| line(&it)).collect();
        let held = "slow-start to-client 39.978 (1, 39.978) low or h2-flow-control: 49 50 51";
        assert_eq!(found.iter().any(|it| it == held), is_unseen, "{}", found.join("\n"));
        let is_blamed = found.iter().any(|it| it.contains("send-buffer"));
        assert_eq!(is_blamed, !is_unseen, "{}", found.join("\n"));
    }
}

/// Fails unless this is all that the exchanges owe to flow control, and to pauses of the server.
#[track_caller]
fn shows(streams: &Streams, capture: &str, expected: &str) {
    let analysis = streams.seen_as(capture);
    let lines = analysis.exchanges.iter().flat_map(|it| &it.shares).map(|share| line(&share));
    let is_asked = |it: &String| {
        ["h2-flow", "application-limited to-c"].iter().any(|name| it.starts_with(name))
    };
    let found: Vec<String> = lines.filter(is_asked).collect();
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    assert_eq!(found, expected, "found:\n{}", found.join("\n"));
}

/// At the client, 40 ms from the server, which sends `used_up` bytes, hears of credit, and goes on at `later`.
fn script(used_up: usize, end: usize, later: f64) -> String {
    let given = ASKED + UPDATE;
    format!(
        "
        0     > syn win 65535 scale 7
        40    < syn scale 7
        40.1  > ack 0
        40.2  > 0:{ASKED} psh ack 0
        80.4  < 0:{used_up} psh ack {ASKED}
        80.95 > {ASKED}:{given} psh ack {used_up}
        {later} < {used_up}:{end} psh ack {given}
        {after} > ack {end}
        ",
        after = later + 0.1,
    )
}

/// At the client, 40 ms from the server: behind a response, an upload uses up the window of 65,535, and goes on when credit
/// comes after 60 ms. `captured`: so is a WINDOW_UPDATE before the upload.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn upload(captured: bool) -> Vec<String> {
    let ends = END_HEADERS | END_STREAM;
    let mut says =
        [PREFACE.to_vec(), frame(SETTINGS, 0, 0, &[]), frame(HEADERS, ends, 1, GET)].concat();
    let asked = says.len();
    says.extend(frame(HEADERS, END_HEADERS, 3, GET));
    let parts = [(16_384, 0), (16_384, 0), (16_384, 0), (16_383, 0), (16_000, END_STREAM)];
    for (len, flags) in parts {
        says.extend(frame(DATA, flags, 3, &vec![b'.'; len]));
    }
    let all = says.len();
    let used_up = all - 16_000 - FRAME;
    let first = [frame(SETTINGS, 0, 0, &[]), frame(HEADERS, ends, 1, OK)].concat();
    let credit = [give(0, 60_000), give(3, 60_000)].concat();
    let [early, answered] = [first.len(), first.len() + UPDATE];
    let given = answered + credit.len();
    let answers = [first, give(0, 9), credit, frame(HEADERS, ends, 3, OK)].concat();
    let end = answers.len();
    let update = format!("80.5 < {early}:{answered} psh ack {asked}");
    let analysis = Streams::of(&says, &answers).seen_as(&format!(
        "
        0     > syn win 65535 scale 7
        40    < syn win 65535 scale 7
        40.1  > ack 0
        40.2  > 0:{asked} psh ack 0
        80.4  < 0:{early} psh ack {asked}
        {update}
        80.6  > ack {answered}
        90    > {asked}:{used_up} psh ack {answered}
        130.3 < ack {used_up}
        190   < {answered}:{given} psh ack {used_up}
        190.1 > {used_up}:{all} psh ack {given}
        230.2 < {given}:{end} psh ack {all}
        230.3 > ack {end}
        ",
        update = if captured { update.as_str() } else { "" },
    ));
    let shares = analysis.exchanges.last().unwrap().shares.iter().map(|share| line(&share));
    shares.filter(|it| it.contains(" 99.650 ")).collect()
}

#[test]
fn where_the_capture_lacks_credit_an_upload_is_not_judged_for_sure() {
    assert_eq!(
        upload(true),
        ["h2-flow-control (both) to-server 99.650 (1, 99.650) high: 52 53 55"]
    );
    assert_eq!(
        upload(false),
        ["application-limited to-server 99.650 (1, 99.650) medium or h2-flow-control: 51 52 54"]
    );
}
