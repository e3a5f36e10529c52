//! What is bounded for a segment, a connection or a block, times each other: gaps, open requests, connections and directions;
//! fragments and connections.

use super::{
    Attack,
    http2::{DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, RST_STREAM, frame},
    packets::{ACK, By, File, Talk, cut, tcp},
};

pub(crate) const ALL: &[Attack] = &[
    Attack { name: "gaps-requests", make: |most| gaps(most, 1, Asks::Each) },
    Attack { name: "gaps-requests-50", make: |most| gaps(most, 50, Asks::Each) },
    Attack { name: "gaps-requests-1000", make: |most| gaps(most, 1_000, Asks::Each) },
    Attack { name: "gaps-requests-20000", make: |most| gaps(most, 20_000, Asks::Each) },
    Attack { name: "gaps-both-ways", make: |most| gaps(most, 20, Asks::BothWays) },
    Attack { name: "gaps-both-ways-1000", make: |most| gaps(most, 1_000, Asks::BothWays) },
    Attack { name: "gaps-cut", make: |most| gaps(most, 50, Asks::Cut) },
    Attack { name: "gaps-streams-64", make: |most| stream_gaps(most, 1, 64, 1) },
    Attack { name: "gaps-streams-64-50", make: |most| stream_gaps(most, 50, 64, 1) },
    Attack { name: "gaps-streams-64-1000", make: |most| stream_gaps(most, 1_000, 64, 1) },
    Attack { name: "gaps-streams-1000", make: |most| stream_gaps(most, 1, 1_000, 1_000) },
    Attack { name: "gaps-streams-1000-50", make: |most| stream_gaps(most, 50, 1_000, 1_000) },
    Attack { name: "gaps-streams-1000-many", make: |most| short_streams(most, 1_000, 16) },
    Attack { name: "gaps-streams-128-many", make: |most| short_streams(most, 128, 256) },
    Attack { name: "gaps-filled", make: |most| filled(most, 1) },
    Attack { name: "gaps-filled-1000", make: |most| filled(most, 1_000) },
    Attack { name: "gaps-waiting-many", make: waiting },
    Attack { name: "gaps-released", make: released },
    Attack { name: "repairs-requests", make: |most| repairs(most, 1) },
    Attack { name: "repairs-requests-many", make: |most| repairs(most, 500) },
    Attack { name: "streams-answered-amid", make: answered_amid },
    Attack { name: "streams-holes-resets", make: holes_and_resets },
    Attack { name: "streams-holes-both", make: holes_both },
    Attack { name: "requests-10000", make: |most| requests(most, 10_000, false, 0) },
    Attack { name: "requests-60000", make: |most| requests(most, 60_000, false, 0) },
    Attack { name: "requests-acked-30000", make: |most| requests(most, 30_000, true, 0) },
    Attack { name: "fragments-20000", make: |most| requests(most, 20_000, false, MORE) },
    Attack { name: "fragments-200000", make: |most| requests(most, 200_000, false, MORE) },
    Attack { name: "fragments-1000", make: |most| requests(most, 1_000, false, MORE) },
];

/// More fragments follow (RFC 791, section 3.1).
const MORE: u16 = 0x2000;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Asks {
    /// Each segment is a request.
    Each,
    /// The server sends, too.
    BothWays,
    /// Each segment claims to be long.
    Cut,
}

/// Every segment behind a hole, and most with a request, on each of `connections` in turn.
fn gaps(most: usize, connections: u32, asks: Asks) -> Vec<u8> {
    let mut file = File::new(most);
    file.step = 100;
    let mut talks: Vec<_> = (0..connections).map(Talk::new).collect();
    while file.has_room(500 * talks.len()) {
        for talk in &mut talks {
            talk.next[0] += 5;
            let (ends, numbers) = talk.of(By::Client);
            if asks == Asks::Cut {
                let segment = tcp(ends, numbers, ACK, &[], b"GET /");
                file.packet(&cut([ends[0].host, ends[1].host], 60_000, &segment));
                talk.next[0] = talk.next[0].wrapping_add(60_000);
                continue;
            }
            file.say(talk, By::Client, b"GET /");
            if asks == Asks::BothWays {
                talk.next[1] += 1;
                file.say(talk, By::Server, b"a");
            }
        }
    }
    file.into_bytes()
}

/// The preface, and requests without an end on each of `streams`.
fn open_streams(file: &mut File, talk: &mut Talk, streams: u32) {
    let mut frames = PREFACE.to_vec();
    for stream in 0..streams {
        frame(HEADERS, END_HEADERS, 2 * stream + 1, &[0x82], &mut frames);
    }
    file.say(talk, By::Client, &frames);
}

/// Every segment of the client behind a hole, with `bytes`, while so many streams are open on each connection.
fn stream_gaps(most: usize, connections: u32, streams: u32, bytes: usize) -> Vec<u8> {
    let mut file = File::new(most);
    file.step = 100;
    let mut talks: Vec<_> = (0..connections).map(Talk::new).collect();
    talks.iter_mut().for_each(|talk| open_streams(&mut file, talk, streams));
    while file.has_room((bytes + 100) * talks.len()) {
        for talk in &mut talks {
            talk.next[0] += 1;
            file.say(talk, By::Client, &vec![b'a'; bytes]);
        }
    }
    file.into_bytes()
}

/// The same on one connection after the other, with so many gaps on each.
fn short_streams(most: usize, streams: u32, gaps: u32) -> Vec<u8> {
    let mut file = File::new(most);
    file.step = 100;
    let mut number = 0;
    while file.has_room(30_000) {
        let mut talk = Talk::new(number);
        open_streams(&mut file, &mut talk, streams);
        for _ in 0..gaps {
            talk.next[0] += 1;
            file.say(&mut talk, By::Client, b"a");
        }
        number += 1;
    }
    file.into_bytes()
}

/// One connection with so many open requests, the client of which goes on in small segments.
#[allow(dead_code, reason = "not everybody who shares this module compares verdicts")]
pub(crate) fn one_with_pauses(streams: u32) -> Vec<u8> {
    let mut file = File::new(usize::MAX);
    file.step = 700;
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    open_streams(&mut file, &mut talk, streams);
    for number in 0..100 {
        file.say(&mut talk, By::Client, b"a");
        if number % 3 == 0 {
            let (ends, numbers) = talk.of(By::Server);
            file.segment(ends, numbers, ACK, &[], &[]);
        }
        if number % 20 == 0 {
            talk.next[0] += 1;
        }
    }
    file.into_bytes()
}

/// A hole that stays, and behind it others, each of which is filled.
fn filled(most: usize, connections: u32) -> Vec<u8> {
    let mut file = File::new(most);
    file.step = 100;
    let mut talks: Vec<_> = (0..connections).map(Talk::new).collect();
    for talk in &mut talks {
        file.say(talk, By::Client, b"GET / HTTP/1.1\r\n");
        talk.next[0] += 10;
    }
    while file.has_room(200 * talks.len()) {
        for talk in &mut talks {
            let next = talk.next[0];
            talk.next[0] = next.wrapping_add(1);
            file.say(talk, By::Client, b"a");
            talk.next[0] = next;
            file.say(talk, By::Client, b"a");
            talk.next[0] = next.wrapping_add(2);
        }
    }
    file.into_bytes()
}

/// A thousand segments behind holes on each connection, in both directions.
fn waiting(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    file.step = 100;
    let mut number = 0;
    while file.has_room(150_000) {
        let mut talk = Talk::new(number);
        file.say(&mut talk, By::Client, b"GET / HTTP/1.1\r\n");
        file.say(&mut talk, By::Server, b"HTTP/1.1 200 \r\n");
        for _ in 0..1_000 {
            for by in [By::Client, By::Server] {
                talk.next[by as usize] += 1;
                file.say(&mut talk, by, b"a");
            }
        }
        number += 1;
    }
    file.into_bytes()
}

/// A thousand segments of requests, and then what was missing before them.
fn released(most: usize) -> Vec<u8> {
    const REQUESTS: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
    const RESPONSES: &[u8] = b"HTTP/1.1 204 \r\n\r\n";
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    let requests = REQUESTS.repeat(10);
    while file.has_room(500_000) {
        let [first, answered] = talk.next;
        talk.next[0] = first.wrapping_add(u32::try_from(REQUESTS.len()).expect(FITS));
        for _ in 0..1_000 {
            file.say(&mut talk, By::Client, &requests);
        }
        let next = talk.next[0];
        talk.next = [first, answered];
        file.say(&mut talk, By::Client, REQUESTS);
        talk.next[0] = next;
        for _ in 0..10 {
            file.say(&mut talk, By::Server, &RESPONSES.repeat(1_001));
        }
    }
    file.into_bytes()
}

/// A thousand requests on each connection that nobody answers, and the last of them again and again.
fn repairs(most: usize, connections: u32) -> Vec<u8> {
    let mut file = File::new(most);
    file.step = 100;
    let mut talks: Vec<_> = (0..connections).map(Talk::new).collect();
    for talk in &mut talks {
        file.say(talk, By::Client, &b"GET / HTTP/1.1\r\n\r\n".repeat(1_000));
    }
    while file.has_room(200 * talks.len()) {
        for talk in &mut talks {
            let before = talk.next;
            talk.next[0] = before[0].wrapping_sub(18);
            file.say(talk, By::Client, b"GET / HTTP/1.1\r\n\r\n");
            talk.next = before;
            let (ends, numbers) = talk.of(By::Server);
            file.segment(ends, numbers, ACK, &[], &[]);
        }
    }
    file.into_bytes()
}

/// A thousand streams are open, and the one in their middle is answered.
fn answered_amid(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    open_streams(&mut file, &mut talk, 1_000);
    let (mut answered, mut asked) = (1_001, 2_001);
    while file.has_room(20_000) {
        let [mut requests, mut responses] = [Vec::new(), Vec::new()];
        for _ in 0..20 {
            frame(HEADERS, END_HEADERS | END_STREAM, asked, &[0x82], &mut requests);
            frame(HEADERS, END_HEADERS | END_STREAM, answered, &[0x88], &mut responses);
            (asked, answered) = (asked + 2, answered + 2);
        }
        file.say(&mut talk, By::Client, &requests);
        file.say(&mut talk, By::Server, &responses);
    }
    file.into_bytes()
}

/// A thousand streams are open, and behind each hole one more is opened and reset.
fn holes_and_resets(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    open_streams(&mut file, &mut talk, 1_000);
    let mut stream = 2_001;
    while file.has_room(500) {
        talk.next[0] += 1;
        let mut frames = Vec::new();
        frame(HEADERS, END_HEADERS, stream, &[0x82], &mut frames);
        frame(RST_STREAM, 0, stream, &[0, 0, 0, 8], &mut frames);
        file.say(&mut talk, By::Client, &frames);
        let (ends, numbers) = talk.of(By::Server);
        file.segment(ends, numbers, ACK, &[], &[]);
        stream += 2;
    }
    file.into_bytes()
}

/// The same, and the server's data is behind holes as well.
fn holes_both(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    open_streams(&mut file, &mut talk, 1_000);
    let mut stream = 2_001;
    while file.has_room(500) {
        let [mut request, mut response] = [Vec::new(), Vec::new()];
        frame(HEADERS, END_HEADERS, stream, &[0x82], &mut request);
        frame(DATA, 0, stream, b"a", &mut response);
        file.say(&mut talk, By::Client, &request);
        talk.next[1] += 1;
        file.say(&mut talk, By::Server, &response);
        stream += 2;
    }
    file.into_bytes()
}

/// A request in each segment, on each of so many connections in turn; nobody answers.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn requests(most: usize, connections: u32, acked: bool, fragment: u16) -> Vec<u8> {
    let mut file = File::new(most);
    file.step = 100;
    let mut talks: Vec<_> = (0..connections).map(Talk::new).collect();
    loop {
        for talk in &mut talks {
            if !file.has_room(500) {
                return file.into_bytes();
            }
            let (ends, numbers) = talk.of(By::Client);
            let segment = tcp(ends, numbers, ACK, &[], b"GET / HTTP/1.1\r\n\r\n");
            file.ip([ends[0].host, ends[1].host], 6, fragment, &segment);
            talk.next[0] += 18;
            if acked {
                let (ends, numbers) = talk.of(By::Server);
                file.segment(ends, numbers, ACK, &[], &[]);
            }
        }
    }
}

const FITS: &str = "numbers here are small";
