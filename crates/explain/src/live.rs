//! What passes an interface now, as a capture.

mod governor;

use std::{
    hash::{BuildHasher, RandomState},
    net::SocketAddr,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ackwise_capture::read::{Drops, Frame, HostDirection, LinkType};
use ackwise_linux::{
    packet_socket::{self, Filter, PacketSocket, PacketSocketError, Part, Passed, is_plain},
    processor_time,
};

pub use governor::Budget;
use governor::Governor;

use super::{
    followed::Followed,
    reading::{Frames, Step},
};

/// The packets of an interface, or of all, from now on for a bounded time.
///
/// ```no_run
/// use ackwise_explain::{Live, Reading, sentence};
///
/// let filter = "tcp port 80".parse()?;
/// let mut live = Live::open(Some("eth0"), Some(&filter), Live::LONGEST)?;
/// let reading = Reading::new();
/// reading.read(&mut live);
/// println!("{}", sentence(&reading.end().expect("nobody else ends it").analysis));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Live {
    socket: PacketSocket,
    until: Instant,
    packets: u64,
    dropped: u64,
    /// Why it is over, once it is.
    ended: bool,
    budget: Budget,
    governor: Governor,
    part: Part,
    /// When the part became smaller: packets are in the queue that are older.
    narrowed: Option<ackwise_tcp::Instant>,
    /// Only a part was captured for some time.
    was_partial: bool,
}

/// Why a live capture ended before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The interface cannot be listened to any more.
    #[error("capture stopped: {0}")]
    Lost(#[source] std::io::Error),
    /// What is kept of each packet's exchange would fill the memory at some time.
    #[error("capture stopped: {max} packets, the maximum (a narrower --filter lasts longer)", max = Live::MOST_PACKETS)]
    Full,
}

impl Live {
    /// Longest capture (our choice: for hours of traffic, capture to files).
    pub const LONGEST: Duration = Duration::from_secs(600);

    /// Most packets of a capture: 10 minutes at 1 Gb/s (our choice).
    pub const MOST_PACKETS: u64 = 50_000_000;

    /// Listens to an interface, or to all for `None`, for what `filter` lets pass.
    ///
    /// # Errors
    ///
    /// See [`PacketSocketError`].
    pub fn open(
        interface: Option<&str>,
        filter: Option<&Filter>,
        duration: Duration,
    ) -> Result<Self, PacketSocketError> {
        let socket = PacketSocket::open(interface, filter)?;
        let (now, budget) = (Instant::now(), Budget::default());
        #[expect(clippy::cast_possible_truncation, reason = "any 32 bits do")]
        let seed = RandomState::new().hash_one(()) as u32;
        Ok(Self {
            socket,
            until: now + duration,
            packets: 0,
            dropped: 0,
            ended: false,
            budget,
            governor: Governor::new(budget, Part::MOST_HALVINGS, now),
            part: Part::everything(seed),
            narrowed: None,
            was_partial: false,
        })
    }

    /// Uses so much processor time, by following fewer connections if there are too many packets.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        let governor = Governor::new(budget, Part::MOST_HALVINGS, Instant::now());
        Self { budget, governor, ..self }
    }

    /// Follows as many connections as the budget allows. What changes, if something does.
    fn govern(&mut self, now: Instant) -> Result<Option<Step<'static>>, LiveError> {
        let Ok(used) = processor_time() else { return Ok(None) };
        let Some(halvings) = self.governor.handle_usage(used, now) else { return Ok(None) };
        let before = self.part;
        self.part = before.halved(halvings);
        if let Err(error) = self.socket.follow(self.part) {
            return self.end(LiveError::Lost(error));
        }
        let (narrower, whole) = (self.part.is_within(before), self.part.is_everything());
        self.was_partial |= whole;
        self.narrowed = narrower.then(kernel_time);
        Ok(Some(Step::Follows { narrower, whole }))
    }

    /// Whether a packet is wanted: one that was queued before the part became smaller may not be.
    fn is_wanted(&mut self, passed: &Passed, now: Instant) -> bool {
        let Some(narrowed) = self.narrowed else { return true };
        if passed.at < narrowed {
            return self.part.holds(self.socket.bytes());
        }
        self.drained(now);
        true
    }

    fn drained(&mut self, now: Instant) {
        self.narrowed = None;
        if let Ok(used) = processor_time() {
            self.governor.handle_drained(used, now);
        }
    }

    fn end<T>(&mut self, why: LiveError) -> Result<T, LiveError> {
        self.ended = true;
        Err(why)
    }
}

impl Frames for Live {
    type Error = LiveError;

    fn next(&mut self) -> Result<Option<Frame<'_>>, LiveError> {
        let passed = loop {
            match self.advance()? {
                Advance::Packet(passed) => break passed,
                Advance::Step(_) => {}
                Advance::End => return Ok(None),
            }
        };
        Ok(Some(self.frame(passed)))
    }

    fn step(&mut self) -> Result<Step<'_>, LiveError> {
        match self.advance()? {
            Advance::Packet(passed) => {
                let is_interrupted = self.was_partial && !is_plain(self.socket.bytes());
                Ok(Step::Packet { frame: self.frame(passed), is_interrupted })
            }
            Advance::Step(step) => Ok(step),
            Advance::End => Ok(Step::End),
        }
    }

    fn keeps(&self, ends: [SocketAddr; 2]) -> bool {
        self.part.holds_connection(ends)
    }

    fn drops(&self) -> Drops {
        let mut drops = Drops::default();
        drops.by_system = self.dropped;
        drops
    }

    fn followed(&self) -> Followed {
        let now = Instant::now();
        let part = (self.part.halvings(), now);
        Followed::new(self.governor.times(now), part, self.budget.as_percent())
    }
}

/// What comes next.
enum Advance {
    Packet(Passed),
    Step(Step<'static>),
    End,
}

impl Live {
    /// Waits for the next packet or change.
    fn advance(&mut self) -> Result<Advance, LiveError> {
        loop {
            let now = Instant::now();
            if self.ended || now >= self.until {
                return Ok(Advance::End);
            }
            if self.governor.wants_to_look(now)
                && let Some(step) = self.govern(now)?
            {
                return Ok(Advance::Step(step));
            }
            match self.socket.receive() {
                Ok(Some(passed)) if !self.is_wanted(&passed, now) => {}
                Ok(Some(_)) if self.packets >= Self::MOST_PACKETS => {
                    return self.end(LiveError::Full);
                }
                Ok(Some(passed)) => return Ok(Advance::Packet(passed)),
                Ok(None) => self.drained(now),
                Err(error) => return self.end(LiveError::Lost(error)),
            }
        }
    }

    /// The packet that was received last.
    fn frame(&mut self, passed: Passed) -> Frame<'_> {
        self.packets += 1;
        let dropped = u64::from(self.socket.dropped());
        let lost_before = dropped.saturating_sub(self.dropped);
        self.dropped = dropped;
        Frame {
            number: self.packets,
            at: passed.at,
            interface: passed.interface,
            link_type: LinkType::RAW,
            original_len: passed.original_len,
            bytes: self.socket.bytes(),
            direction: Some(match passed.direction {
                packet_socket::PacketType::Received => HostDirection::Received,
                packet_socket::PacketType::Sent => HostDirection::Sent,
                packet_socket::PacketType::Passing => HostDirection::Passing,
            }),
            lost_before,
        }
    }
}

/// The clock of the packets' timestamps.
fn kernel_time() -> ackwise_tcp::Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ackwise_tcp::Instant::EPOCH + since
}

#[cfg(test)]
mod tests {
    use ackwise_capture::filter::Filter;
    use proptest::prelude::*;

    /// Words of the language of filters, and some that are none.
    fn word() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "and",
            "or",
            "not",
            "(",
            ")",
            "src",
            "dst",
            "host",
            "net",
            "port",
            "tcp",
            "udp",
            "ip",
            "ip6",
            "10.0.0.1",
            "::1",
            "10.0.0.0/8",
            "::/129",
            "80",
            "+80",
            "65536",
            "x",
        ])
    }

    /// A filter of a few primitives, mostly correct.
    fn filter() -> impl Strategy<Value = String> {
        let primitive = prop::sample::select(vec![
            "tcp",
            "udp port 53",
            "src port 80",
            "dst host 10.0.0.1",
            "net ::/0",
            "ip6",
            "tcp src port 1",
            "host x",
            "not ip",
            "( tcp )",
        ]);
        let and_or = prop::sample::select(vec![" and ", " or ", " and not ", " "]);
        prop::collection::vec((primitive, and_or), 1..8).prop_map(|parts| {
            parts.into_iter().flat_map(|(a, b)| [a, b]).collect::<String>() + "tcp"
        })
    }

    proptest! {
        /// `--filter` means the same for files and for interfaces.
        #[test]
        fn files_and_interfaces_have_the_same_filters(
            words in prop::collection::vec(word(), 0..12),
            filter in filter(),
        ) {
            for text in [words.join(" "), filter] {
                let (of_files, live) = (text.parse::<Filter>(), text.parse::<super::Filter>());
                prop_assert_eq!(of_files.is_ok(), live.is_ok(), "{}: {:?} {:?}", text, of_files, live);
            }
        }
    }
}
