//! How a server answers, as data: the simulator's server and the one on the kernel's sockets both
//! run these.
//!
//! It says what the server *does*. What that costs is TCP's doing and is not written down here.

mod keep_alive;
mod plan;

pub use keep_alive::{KeepAlivePolicy, Outlook};
pub use plan::{Write, WritePlan, Writes};

use core::{num::NonZeroU32, num::NonZeroUsize, time::Duration};

/// Every choice a server has between reading a request and having answered it.
///
/// A new field is meant to stop the build where a `Behaviour` is taken apart, so this is not
/// `non_exhaustive`. Variations are one line: `Behaviour { nagle: Nagle::On, ..Behaviour::FIXED }`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Behaviour {
    /// Whether the head waits for the body.
    pub head_flush: HeadFlush,
    /// How many bytes go into one write; `None` writes all there is at once.
    pub write_size: Option<NonZeroUsize>,
    /// The Nagle algorithm (RFC 896) on the server's socket.
    pub nagle: Nagle,
    /// What becomes of the last write.
    pub tail: Tail,
    /// Size of the send buffer in bytes (`SO_SNDBUF`); `None` leaves it to the kernel.
    pub send_buffer: Option<NonZeroUsize>,
    /// Whether and how long connections persist.
    pub keep_alive: KeepAlivePolicy,
    /// Time between a request and the first write of its answer.
    pub think: Duration,
    /// Time between the head and the first write of the body, if they are written apart.
    pub think_after_head: Duration,
    /// Time between two writes of the body.
    pub think_between_writes: Duration,
    /// What happens to requests that arrive together.
    pub pipelining: Pipelining,
    /// Whether the answers to requests that arrive together share writes.
    pub gather: Gather,
    /// What happens to a request that arrives in pieces.
    pub request_pieces: RequestPieces,
    /// What the server says.
    pub answer: Answer,
}

impl Behaviour {
    /// The server of Heidemann 1996 and 1997: Apache 1.1b4 on SunOS 4.1.3, unmodified.
    ///
    /// Section 2.1: "Apache sends its headers as a separate segment"; 2.2: it "writes data at the
    /// application-layer in 4KB chunks", with Nagle "enabled by default"; section 1: HTTP/1.0 with
    /// `Connection: Keep-Alive`. Apache 1.1's manual has the idle time-out of 15 s. Its limit of 5
    /// requests would cut measurements short; 100 is Apache 1.2's default. How long its machine
    /// thought is not a choice of the server: experiments say that themselves.
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

    /// Both fixes of the papers and what else HTTP/1.1 has taught since: one gathered write, Nagle
    /// off. The idle time-out of 15 s is ours, the same as 1996 so that it is not what differs.
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
    /// The head is a write of its own.
    Apart,
}

/// The Nagle algorithm: on unless `TCP_NODELAY` is set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "there is nothing to add")]
pub enum Nagle {
    On,
    Off,
}

/// What becomes of the last write of a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Tail {
    /// It is sent like the others.
    Sent,
    /// It is made under `TCP_CORK` (as with `MSG_MORE`), and the cork is forgotten: a short segment
    /// waits for the kernel's timer, 200 ms on Linux, whatever is acknowledged.
    Corked,
}

/// What happens to requests that arrive before the first is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Pipelining {
    /// Answered in order: RFC 9112, section 9.3.2, "MUST send the corresponding responses in the
    /// same order that the requests were received".
    InOrder,
    /// Only the first is answered; the others are lost with the buffer they were read into.
    FirstOnly,
    /// Answered last first.
    Reversed,
}

/// Whether the answers to requests that arrive together share writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Gather {
    /// Each is written by itself, whatever else is to be answered.
    Each,
    /// Several become one stream of writes, so that only its last segment is short, whatever TCP
    /// holds back (Figure 4.6 of Gürkan's thesis). [`HeadFlush`] counts for a single one only.
    Pending,
}

/// What happens to a request that arrives in more than one segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RequestPieces {
    /// The server reads on as soon as there is more.
    Awaited,
    /// The server looks again only after this long.
    LookedAtAfter(Duration),
}

/// What the server says; all but the first are for testing clients.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// What was asked for.
    Document,
    /// Bytes that are not HTTP.
    Garbage,
    /// A head without an end.
    EndlessHead,
    /// A redirect to the same place.
    RedirectLoop,
    /// Nothing: accepts, reads, and keeps quiet.
    Silence,
    /// Nothing: accepts and closes.
    Close,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_1996_leaves_nagle_on_and_announces_how_long_it_keeps_connections() {
        let Behaviour { nagle, keep_alive, .. } = Behaviour::PAPER_1996;
        assert_eq!(nagle, Nagle::On, "enabled by default");
        // Apache 1.1's idle time-out, and Apache 1.2's limit of requests.
        let (idle, max_requests) = (Duration::from_secs(15), NonZeroU32::new(100));
        assert_eq!(keep_alive, KeepAlivePolicy::Announced { idle, max_requests });
    }
}
