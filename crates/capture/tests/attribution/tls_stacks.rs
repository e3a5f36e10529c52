//! What real programs send, with the clocks of their clients: `tls_stacks/record.sh` has recorded it. Of each
//! connection there are the milliseconds of its exchanges, the lengths of the records of both streams (of hellos the content,
//! too), and the packets as [`wire`](crate::wire) has them.

use ackwise_capture::analysis::Analysis;

use crate::wire::Streams;

/// Milliseconds that a client's clock may show more than the wire, or 2 %.
const EXACT: f64 = 1.0;
/// The same of programs that first wake a thread, and compile as they run. Our choice.
const BROAD: f64 = 15.0;

const RECORDED: &[(f64, &str, &str)] = &[
    (EXACT, "curl", include_str!("tls_stacks/curl.txt")),
    (EXACT, "curl-1.2", include_str!("tls_stacks/curl-1.2.txt")),
    (EXACT, "early", include_str!("tls_stacks/early.txt")),
    (EXACT, "go", include_str!("tls_stacks/go.txt")),
    (EXACT, "go-mtls", include_str!("tls_stacks/go-mtls.txt")),
    (BROAD, "java", include_str!("tls_stacks/java.txt")),
    (BROAD, "java-nginx", include_str!("tls_stacks/java-nginx.txt")),
    (BROAD, "chromium", include_str!("tls_stacks/chromium.txt")),
];

#[test]
fn exchanges_are_what_the_clients_say() {
    let mut wrong = Vec::new();
    for (most, name, text) in RECORDED {
        for (number, text) in text.split("\nconnection").skip(1).enumerate() {
            let (clock, analysis) = replayed(text);
            let found: Vec<f64> =
                analysis.exchanges.iter().map(|it| it.duration.as_secs_f64() * 1e3).collect();
            let is_near = |(clock, found): (&Option<f64>, &f64)| {
                clock.is_none_or(|clock| {
                    let percent = clock * 0.02;
                    (-percent.max(EXACT)..=percent.max(*most)).contains(&(clock - found))
                })
            };
            let is_right = clock.len() == found.len()
                && clock.iter().zip(&found).all(is_near)
                && analysis.exchanges.iter().all(|it| it.complete);
            if !is_right {
                let complete = analysis.exchanges.iter().filter(|it| it.complete).count();
                wrong.push(format!(
                    "{name}, {number}: {clock:?}, not {found:?}, {complete} complete"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The clock of a connection, and what the analyser says of its packets.
fn replayed(text: &str) -> (Vec<Option<f64>>, Analysis) {
    let mut lines = text.splitn(4, '\n');
    let mut next = || lines.next().unwrap();
    let clock = next().split_whitespace().map(|it| it.parse().ok()).collect();
    let client = records(next().strip_prefix("client").unwrap());
    let server = records(next().strip_prefix("server").unwrap());
    (clock, Streams::of(&client, &server).seen_as(next()))
}

/// The records of `type:length`, or `type:length=content`.
fn records(words: &str) -> Vec<u8> {
    let mut stream = Vec::new();
    for word in words.split_whitespace() {
        let (kind, rest) = word.split_once(':').unwrap();
        let (length, content) = rest.split_once('=').unwrap_or((rest, ""));
        let length: u16 = length.parse().unwrap();
        stream.extend([kind.parse().unwrap(), 3, 3]);
        stream.extend(length.to_be_bytes());
        let digit = |at: usize| u8::from_str_radix(&content[at..at + 2], 16).unwrap();
        match content {
            "" => stream.resize(stream.len() + usize::from(length), 0xaa),
            content => stream.extend((0..content.len()).step_by(2).map(digit)),
        }
    }
    stream
}
