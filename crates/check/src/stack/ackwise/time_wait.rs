//! Does an RST at exactly RCV.NXT end the server's TIME-WAIT? (Faber, Touch and Yue 1997 build on it;
//! RFC 1337 forbids it.)

use std::time::{Duration, Instant};

use ackwise_linux::{ConnectionId, TunStack, stack::WireDirection, wire::poll};
use ackwise_tcp::{Endpoint, Flags, Segment, SeqNumber, State};

use crate::stack::NotSeen;

/// What the server's TCP answers to a segment far outside its window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    /// An ACK: it still knows the connection.
    Known,
    /// An RST: it does not.
    Unknown,
}

/// Asks, resets, and asks again.
///
/// # Errors
///
/// Why the server's TCP did not say.
pub(super) fn exact_reset_ends_it(
    tun: &mut TunStack,
    id: ConnectionId,
    limit: Duration,
) -> Result<bool, NotSeen> {
    let deadline = Instant::now() + limit;
    wait_until_closed(tun, id, deadline).ok_or(NotSeen::NotClosed)?;
    let endpoint = tun.detach(id).ok_or(NotSeen::NotClosed)?;
    let (next, expected) = (endpoint.next_sequence(), endpoint.next_expected());
    let question = segment(next - FAR, Some(expected), Flags::NONE);
    let ask = |tun: &mut TunStack| ask(tun, id, &question, deadline).ok_or(NotSeen::Unanswered);
    if ask(tun)? == Answer::Unknown {
        return Err(NotSeen::NoTimeWait);
    }
    pause(tun, Instant::now() + ANSWER_INTERVAL);
    let reset = segment(next, None, Flags::RST);
    tun.send_crafted(id, &reset, &[]).map_err(|_| NotSeen::Unanswered)?;
    Ok(ask(tun)? == Answer::Unknown)
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

/// Puts `question` on the wire and waits for the first answer. Either of the two may get lost, so it
/// is put again.
fn ask(
    tun: &mut TunStack,
    id: ConnectionId,
    question: &Segment,
    deadline: Instant,
) -> Option<Answer> {
    let asked = tun.trace(id)?.recorded();
    for _ in 0..ATTEMPTS {
        tun.send_crafted(id, question, &[]).ok()?;
        let deadline = deadline.min(Instant::now() + ANSWER_INTERVAL);
        if let Some(answer) = wait_for_answer(tun, id, asked, deadline) {
            return Some(answer);
        }
    }
    None
}

/// What came since `asked` segments had been recorded.
fn wait_for_answer(
    tun: &mut TunStack,
    id: ConnectionId,
    asked: u64,
    deadline: Instant,
) -> Option<Answer> {
    loop {
        let answers =
            tun.trace(id)?.since(asked).filter(|entry| entry.direction == WireDirection::In);
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
/// How often the same question is put. Our choice.
const ATTEMPTS: usize = 3;
