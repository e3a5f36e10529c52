//! From the two streams of a connection, as far as a capture shows them, to its exchanges.
//!
//! ```
//! use ackwise_capture::conversation::{Conversation, Event};
//! use ackwise_http::cause::Direction::{ToClient, ToServer};
//!
//! let mut conversation = Conversation::new(80);
//! let request = b"GET /a?b HTTP/1.1\r\nHost: c\r\n\r\n";
//! conversation.handle_data(ToServer, 0, 31, request);
//! // The snap length cut this segment: 1000 octets, the head and the beginning of the body.
//! let response = b"HTTP/1.1 200 OK\r\nContent-Length: 960\r\n\r\nAnd so";
//! conversation.handle_data(ToClient, 0, 1000, response);
//!
//! let mut ends = Vec::new();
//! while let Some(event) = conversation.poll_event() {
//!     if let Event::RequestEnds { position, .. } | Event::ResponseEnds { position, .. } = event {
//!         ends.push(position);
//!     }
//! }
//! assert_eq!(ends, [31, 1000]);
//! ```
//!
//! Not here: time and packets. The caller knows when each position was seen.

mod event;

pub use event::{Event, ExchangeId, Protocol, RequestHead, ResponseHead, TlsFlight};

use std::collections::VecDeque;

use ackwise_http::cause::Direction;

/// One connection's octets on their way to exchanges.
///
/// The caller's contract: data of one direction comes in order and without overlap, what the capture
/// does not show is a gap, and after each `handle_*` call [`poll_event`](Self::poll_event) is drained.
/// The two directions may be interleaved as the capture has them. A connection that the capture shows
/// from its middle begins with a gap. Nothing that a capture holds makes it panic; what it keeps is
/// bounded.
#[derive(Clone, Debug)]
pub struct Conversation {
    events: VecDeque<Event>,
}

impl Conversation {
    /// A connection on which nothing was sent yet, to a server at `server_port`, which is a hint.
    #[must_use]
    pub fn new(server_port: u16) -> Self {
        let _ = server_port;
        Self { events: VecDeque::new() }
    }

    /// Takes the next `len` octets of a stream, from `position` on; `octets` is their beginning, as
    /// far as the capture holds it. A segment is best given whole: where segments begin is a hint.
    pub fn handle_data(&mut self, direction: Direction, position: u64, len: u32, octets: &[u8]) {
        let _ = (direction, position, len, octets);
    }

    /// Says that octets `from` to `to` of a stream were sent but are not in the capture.
    pub fn handle_gap(&mut self, direction: Direction, from: u64, to: u64) {
        let _ = (direction, from, to);
    }

    /// Says that one side sends no more (FIN) after the octet before `position`.
    pub fn handle_end(&mut self, direction: Direction, position: u64) {
        let _ = (direction, position);
    }

    /// Says that the connection is gone: RST, or the capture ends.
    pub fn handle_abort(&mut self) {}

    /// What came of it, oldest first.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
