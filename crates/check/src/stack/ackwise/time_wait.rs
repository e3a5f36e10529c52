//! Does an RST at exactly RCV.NXT end the server's TIME-WAIT? (Faber, Touch and Yue 1997 build on it;
//! RFC 1337 forbids it.)

use std::time::{Duration, Instant};

use ackwise_linux::{ConnectionId, TunStack, stack::Direction, wire::poll};
use ackwise_tcp::{Endpoint, Flags, Segment, SeqNumber, State};

/// What the server's TCP answers to a segment far outside its window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    /// An ACK: it still knows the connection.
    Known,
    /// An RST: it does not.
    Unknown,
}

/// Asks, resets, and asks again. `None` if the server holds no TIME-WAIT, or does not answer.
pub(super) fn exact_reset_ends_it(
    tun: &mut TunStack,
    id: ConnectionId,
    limit: Duration,
) -> Option<bool> {
    let deadline = Instant::now() + limit;
    wait_until_closed(tun, id, deadline)?;
    let endpoint = tun.detach(id)?;
    let (next, expected) = (endpoint.next_sequence(), endpoint.next_expected());
    let question = segment(next - FAR, Some(expected), Flags::NONE);
    if send_probe(tun, id, &question, deadline)? == Answer::Unknown {
        return None;
    }
    pause(tun, Instant::now() + ANSWER_INTERVAL);
    tun.send_crafted(id, &segment(next, None, Flags::RST), &[]).ok()?;
    Some(send_probe(tun, id, &question, deadline)? == Answer::Unknown)
}

/// The server closed first, so our end is done when our FIN is acknowledged.
fn wait_until_closed(tun: &mut TunStack, id: ConnectionId, deadline: Instant) -> Option<()> {
    while tun.endpoint(id).map(Endpoint::state)? != State::Closed {
        if Instant::now() >= deadline {
            return None;
        }
        poll(tun, deadline).ok()?;
    }
    Some(())
}

/// Puts `question` on the wire and waits for the first answer.
fn send_probe(
    tun: &mut TunStack,
    id: ConnectionId,
    question: &Segment,
    deadline: Instant,
) -> Option<Answer> {
    let asked = tun.trace(id)?.recorded();
    tun.send_crafted(id, question, &[]).ok()?;
    let deadline = deadline.min(Instant::now() + ANSWER_LIMIT);
    loop {
        let answers = tun.trace(id)?.since(asked).filter(|entry| entry.direction == Direction::In);
        let last = answers.last().map(|entry| entry.segment.flags.rst);
        match last {
            Some(true) => return Some(Answer::Unknown),
            Some(false) => return Some(Answer::Known),
            None if Instant::now() >= deadline => return None,
            None => poll(tun, deadline).ok()?,
        }
    }
}

fn pause(tun: &mut TunStack, until: Instant) {
    while Instant::now() < until && poll(tun, until).is_ok() {}
}

const fn segment(seq: SeqNumber, ack: Option<SeqNumber>, flags: Flags) -> Segment {
    let options = ackwise_tcp::Options::NONE;
    Segment { seq, ack, flags, window: 0, options, time_wait_holder: None, len: 0 }
}

/// Outside every window that the server may have.
const FAR: u32 = 1 << 30;
/// Linux answers such segments at most every 500 ms (`tcp_invalid_ratelimit`).
const ANSWER_INTERVAL: Duration = Duration::from_millis(550);
/// How long one answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
