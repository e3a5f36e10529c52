//! What passes an interface now, as a capture.

use std::time::{Duration, Instant};

use ackwise_capture::read::{Direction, Drops, Frame, LinkType};
use ackwise_linux::packet_socket::{self, Filter, PacketSocket, PacketSocketError};

use super::reading::Frames;

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
        let until = Instant::now() + duration;
        Ok(Self { socket, until, packets: 0, dropped: 0, ended: false })
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
            if self.ended || Instant::now() >= self.until {
                return Ok(None);
            }
            match self.socket.receive() {
                Ok(Some(passed)) => break passed,
                Ok(None) => {}
                Err(error) => return self.end(LiveError::Lost(error)),
            }
        };
        if self.packets >= Self::MOST_PACKETS {
            return self.end(LiveError::Full);
        }
        self.packets += 1;
        let dropped = u64::from(self.socket.dropped());
        let lost_before = dropped.saturating_sub(self.dropped);
        self.dropped = dropped;
        Ok(Some(Frame {
            number: self.packets,
            at: passed.at,
            interface: passed.interface,
            link_type: LinkType::RAW,
            original_len: passed.original_len,
            bytes: self.socket.bytes(),
            direction: Some(match passed.direction {
                packet_socket::Direction::Received => Direction::Received,
                packet_socket::Direction::Sent => Direction::Sent,
                packet_socket::Direction::Passing => Direction::Passing,
            }),
            lost_before,
        }))
    }

    fn drops(&self) -> Drops {
        let mut drops = Drops::default();
        drops.by_system = self.dropped;
        drops
    }
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
