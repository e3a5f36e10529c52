//! What the analyser concludes from captures that are written here packet by packet.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod answers;
mod black_holes;
mod causes;
mod first_windows;
mod flow_control;
mod half_duplex;
mod held_requests;
mod holes;
mod in_advance;
mod jitter;
mod look_alikes;
mod losses;
mod measures;
mod messages;
mod middles;
mod misread;
mod path_stalls;
mod receivers;
mod redis;
mod sealed_windows;
mod shared_links;
mod standing;
mod tls_closing;
mod tls_first;
mod tls_refused;
mod tls_stacks;
mod tls_wire;
mod tunnels;
mod windows;
mod wire;
mod witnesses;

use ackwise_capture::attribution::Share;

use wire::Streams;

/// Fails unless the exchanges of a capture owe their time to what `expected` says: a line for each
/// cause, `cause (kind) direction milliseconds (times, longest) confidence or rival: packets`.
#[track_caller]
fn shows(streams: &Streams, capture: &str, expected: &str) {
    let analysis = streams.seen_as(capture);
    let shares = analysis.exchanges.iter().flat_map(|it| &it.shares);
    let found: Vec<String> = shares.map(|share| line(&share)).collect();
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    assert_eq!(found, expected, "found:\n{}", found.join("\n"));
    for exchange in &analysis.exchanges {
        let sum: std::time::Duration = exchange.shares.iter().map(|share| share.span).sum();
        assert_eq!(sum, exchange.duration);
    }
}

fn line(share: &Share) -> String {
    let [span, longest] = [share.span, share.longest].map(|it| it.as_secs_f64() * 1e3);
    let packets: Vec<_> = share.evidence.packets().map(|it| it.to_string()).collect();
    let (cause, direction) = (share.cause.name(), share.direction.name());
    let (times, confidence) = (share.times, share.confidence.name());
    let (packets, rival) = (packets.join(" "), share.rival);
    let detail = share.kind.map(|it| it.name()).or_else(|| share.window.map(|it| it.name()));
    let kind = detail.map_or(String::new(), |detail| format!(" ({detail})"));
    let rival = rival.map_or(String::new(), |rival| format!(" or {rival}"));
    let spans = format!("{span:.3} ({times}, {longest:.3})");
    let line = format!("{cause}{kind} {direction} {spans} {confidence}{rival}: {packets}");
    line.trim_end().to_owned()
}
