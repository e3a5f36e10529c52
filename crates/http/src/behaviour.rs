//! Server behaviour as data, shared by the simulated server and the server on kernel sockets.
//!
//! It describes what the server *does*. The cost is computed by TCP and is not part of it.

mod keep_alive;
mod plan;

pub use keep_alive::{KeepAlivePolicy, Outlook};
pub use plan::{Write, WritePlan, Writes};

use core::{num::NonZeroU32, num::NonZeroUsize, time::Duration};

/// Every choice of a server between reading a request and completing its response.
///
/// Not `non_exhaustive`, so that a new field breaks the build wherever a `Behaviour` is
/// destructured. Variations are one line: `Behaviour { nagle: Nagle::On, ..Behaviour::FIXED }`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Behaviour {
    /// Whether the head waits for the body.
    pub head_flush: HeadFlush,
    /// Bytes per write; `None` writes all available data at once.
    pub write_size: Option<NonZeroUsize>,
    /// The Nagle algorithm (RFC 896) on the server's socket.
    pub nagle: Nagle,
    /// How the last write is sent.
    pub tail: Tail,
    /// Size of the send buffer in bytes (`SO_SNDBUF`); `None` keeps the kernel's default.
    pub send_buffer: Option<NonZeroUsize>,
    /// Whether and how long connections persist.
    pub keep_alive: KeepAlivePolicy,
    /// Time between a request and the first write of its response.
    pub think: Duration,
    /// Time between the head and the first write of the body, if they are written separately.
    pub think_after_head: Duration,
    /// Time between two writes of the body.
    pub think_between_writes: Duration,
    /// How requests that arrive together are answered.
    pub pipelining: Pipelining,
    /// Whether responses to requests that arrive together share writes.
    pub gather: Gather,
    /// How a request that arrives in several segments is read.
    pub request_pieces: RequestPieces,
    /// What the server sends in response.
    pub answer: Answer,
}

impl Behaviour {
    /// The server of Heidemann 1996 and 1997: Apache 1.1b4 on SunOS 4.1.3, unmodified.
    ///
    /// Section 2.1: "Apache sends its headers as a separate segment"; 2.2: it "writes data at the
    /// application-layer in 4KB chunks", with Nagle "enabled by default"; section 1: HTTP/1.0 with
    /// `Connection: Keep-Alive`. The idle timeout of 15 s is from Apache 1.1's manual. Its limit of
    /// 5 requests would cut measurements short; 100 is Apache 1.2's default. Think time depends on
    /// the machine, so experiments set it.
    pub const PAPER_1996: Self = Self {
        head_flush: HeadFlush::Apart,
        write_size: NonZeroUsize::new(4096),
        nagle: Nagle::On,
        keep_alive: KeepAlivePolicy::Announced {
            idle: Duration::from_secs(15),
            max_requests: NonZeroU32::new(100),
        },
        ..Self::FIXED
    };

    /// Both fixes from the papers: one gathered write over HTTP/1.1, Nagle off. The idle timeout of
    /// 15 s is our choice: the same as in [`Behaviour::PAPER_1996`], so that it is not a difference
    /// between the two.
    pub const FIXED: Self = Self {
        head_flush: HeadFlush::Joined,
        write_size: None,
        nagle: Nagle::Off,
        tail: Tail::Sent,
        send_buffer: None,
        keep_alive: KeepAlivePolicy::Silent { idle: Duration::from_secs(15), max_requests: None },
        think: Duration::ZERO,
        think_after_head: Duration::ZERO,
        think_between_writes: Duration::ZERO,
        pipelining: Pipelining::InOrder,
        gather: Gather::Each,
        request_pieces: RequestPieces::Awaited,
        answer: Answer::Document,
    };

    /// The writes that send a response of `head` and `body` bytes.
    #[must_use]
    pub const fn writes(&self, head: usize, body: u64) -> Writes<'_> {
        Writes::new(self, WritePlan::new(head, body))
    }

    /// The writes that send several responses as one stream of `bytes`, heads and bodies.
    #[must_use]
    pub const fn gathered_writes(&self, bytes: u64) -> Writes<'_> {
        Writes::new(self, WritePlan::gathered(bytes))
    }
}

/// Whether the head of a response waits for its body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum HeadFlush {
    /// Head and body share writes.
    Joined,
    /// The head is written separately.
    Apart,
}

/// The Nagle algorithm: on unless `TCP_NODELAY` is set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "there is nothing to add")]
pub enum Nagle {
    On,
    Off,
}

/// How the last write of a response is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Tail {
    /// Like the others.
    Sent,
    /// Under `TCP_CORK` (as with `MSG_MORE`), which is never cleared: a short segment waits for the
    /// kernel's timer, 200 ms on Linux, even when all data is acknowledged.
    Corked,
}

/// How requests that arrive before the first is answered are handled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Pipelining {
    /// Answered in order: RFC 9112, section 9.3.2, "MUST send the corresponding responses in the
    /// same order that the requests were received".
    InOrder,
    /// Only the first is answered; the others are discarded with the receive buffer.
    FirstOnly,
    /// Answered in reverse order.
    Reversed,
}

/// Whether responses to requests that arrive together share writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Gather {
    /// Each response is written separately, even if others are pending.
    Each,
    /// Pending responses are written as one stream, so that only its last segment is short, whether
    /// or not TCP holds small segments back (Figure 4.6 of Gürkan's thesis). [`HeadFlush`] applies
    /// to a single response only.
    Pending,
}

/// How a request that arrives in more than one segment is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RequestPieces {
    /// The server reads again as soon as data arrives.
    Awaited,
    /// The server reads again only after this delay.
    LookedAtAfter(Duration),
}

/// What the server sends; all but the first are for testing clients.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// The requested document.
    Document,
    /// Bytes that are not HTTP.
    Garbage,
    /// A head that never ends.
    EndlessHead,
    /// A redirect to the same target.
    RedirectLoop,
    /// Nothing: the server accepts, reads and does not respond.
    Silence,
    /// Nothing: the server accepts and closes.
    Close,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_1996_leaves_nagle_on_and_announces_how_long_it_keeps_connections() {
        let Behaviour { nagle, keep_alive, .. } = Behaviour::PAPER_1996;
        assert_eq!(nagle, Nagle::On, "enabled by default");
        // Apache 1.1's idle timeout and Apache 1.2's request limit.
        let (idle, max_requests) = (Duration::from_secs(15), NonZeroU32::new(100));
        assert_eq!(keep_alive, KeepAlivePolicy::Announced { idle, max_requests });
    }
}
