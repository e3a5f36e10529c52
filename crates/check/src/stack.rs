//! What a check asks of a TCP, whoever implements it: the kernel's sockets or our own endpoint.

#[cfg(target_os = "linux")]
pub mod ackwise;
pub mod distance;
pub mod kernel;

use std::{
    fmt,
    net::SocketAddr,
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::Serialize;

use self::distance::PathLoss;

/// The TCP stack of the end that Ackwise plays.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackName {
    /// The kernel's sockets.
    Kernel,
    /// Ackwise's own stack on a TUN device.
    Ackwise,
}

/// How our end of one connection behaves.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    /// The MSS that we announce, in bytes; [`LOOPBACK_MSS`] stands for that of the path, where the kernel's TCP plays.
    pub mss: u16,
    /// The receive window that we advertise, in bytes (the kernel rounds it).
    pub window: u32,
    /// Offer SACK? Without it Linux sends no tail-loss probes (RFC 8985), which look like releases.
    pub sack: bool,
    /// When we acknowledge.
    pub acknowledge: Acknowledge,
    /// Whose TCP it is.
    pub whose: Whose,
    /// Whether small segments of ours wait for the server's ACK.
    pub hold: Hold,
}

/// What the kernel announces over loopback, whose MTU is 65,536 on Linux.
pub const LOOPBACK_MSS: u16 = 65_495;

/// Nagle's algorithm (RFC 896) at our end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hold {
    /// Off: what is sent leaves at once.
    Off,
    /// On, as Linux has it.
    Nagle,
}

/// Whose TCP plays the client on one connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Whose {
    /// That of the [`Stack`].
    Stack,
    /// The kernel's, which is what users of this host have: [`Stack::kernel`].
    Kernel,
}

/// When our end acknowledges.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Acknowledge {
    /// Every segment, at once.
    Promptly,
    /// At once what this rule counts, anything else after this long. The kernel's sockets have one
    /// rule: [`Capabilities::ack_rules`].
    Delayed(AckRule, Duration),
    /// Nothing earlier than this after the first unacknowledged segment. The kernel's sockets cannot
    /// and do as with `Delayed`.
    After(Duration),
}

/// What a receiver that delays its ACKs acknowledges at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AckRule {
    /// More than one full segment: Linux, once its quick-ACK phase is over (`__tcp_ack_snd_check`).
    Linux,
    /// Every second segment, full or not: Windows (Microsoft, "Delayed Acknowledgments": "an ACK is
    /// sent for every other TCP segment") and lwIP (`tcp_ack`).
    EverySecond,
    /// Two full segments: BSD in 1996 (Heidemann 1996, section 2.1).
    TwoFull,
}

impl AckRule {
    /// Whether systems of today acknowledge like this.
    #[must_use]
    pub const fn is_in_use(self) -> bool {
        match self {
            Self::Linux | Self::EverySecond => true,
            Self::TwoFull => false,
        }
    }
}

/// What a stack can do; a check that needs more answers `unknown` and says what it needed.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Arrivals are segments with exact bounds, retransmissions are told apart.
    pub segments: bool,
    /// ACKs can be withheld at most so long such that it is known when they leave. A stack may take
    /// [`Acknowledge::After`] a longer delay; its own timer then ends it.
    pub longest_delay: Duration,
    /// The rules that [`Acknowledge::Delayed`] can follow, the most common receiver first.
    pub ack_rules: &'static [AckRule],
    /// SACK can be left out of the offer.
    pub without_sack: bool,
    /// Whole segments can be made up: an exact RST, an out-of-window probe.
    pub crafted_segments: bool,
}

/// A TCP that plays the client.
pub trait Stack {
    /// Whose TCP it is.
    fn name(&self) -> StackName;

    /// The time by its clock; the tests' stack has a clock of its own.
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// Lets the time until `until` pass.
    fn rest(&mut self, until: Instant) {
        std::thread::sleep(until.saturating_duration_since(self.now()));
    }

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Whether the emulated path loses packets, if there is one that does. No connection may be open.
    fn emulate(&mut self, _loss: PathLoss) {}

    /// The kernel's TCP, if this stack is another and the kernel reaches the server too.
    fn kernel(&mut self) -> Option<&mut dyn Stack> {
        None
    }

    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// If there is no connection by `deadline`.
    fn connect(
        &mut self,
        server: SocketAddr,
        receiver: Receiver,
        deadline: Instant,
    ) -> Result<Box<dyn Connection>, ConnectError>;
}

/// One connection of a [`Stack`]. Dropping it closes it, without waiting.
pub trait Connection {
    /// The time by the stack's clock.
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// How long opening took: about one round trip.
    fn handshake(&self) -> Duration;

    /// Sends `bytes` at once: in one segment, if they fit one.
    ///
    /// # Errors
    ///
    /// If the connection can no longer send.
    fn send(&mut self, bytes: &[u8]) -> Result<(), TransportError>;

    /// Changes when we acknowledge, from now on. [`Acknowledge::Promptly`] acknowledges at once what
    /// was withheld.
    fn set_acknowledge(&mut self, acknowledge: Acknowledge);

    /// The next thing that happens, or `None` if nothing has by `deadline`. After the deadline it
    /// still returns what is there, however long the server goes on:
    /// [`next_in_time`](Self::next_in_time) does not.
    fn next(&mut self, deadline: Instant) -> Option<StackEvent>;

    /// As [`next`](Self::next), but asks no more [`LATE_READS`] after `deadline`. What came after the
    /// deadline is returned, once: the caller stops at it.
    fn next_in_time(&mut self, deadline: Instant) -> Option<StackEvent> {
        if self.now() > deadline + LATE_READS { None } else { self.next(deadline) }
    }

    /// Closes our sending direction (FIN).
    fn half_close(&mut self);

    /// Sends RST and forgets the connection.
    fn abort(&mut self);

    /// The server has closed first and we have closed: would an RST at exactly its RCV.NXT end its
    /// TIME_WAIT? At most `limit` is spent.
    ///
    /// # Errors
    ///
    /// Why it cannot be determined.
    fn exact_reset_ends_time_wait(&mut self, limit: Duration) -> Result<bool, NotSeen>;
}

/// On a busy machine, what came in time is read late. Our choice: a server cannot send enough before a
/// deadline to keep us busy for longer.
pub const LATE_READS: Duration = Duration::from_millis(250);

/// Why it could not be seen whether an RST ends the server's TIME_WAIT.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotSeen {
    /// The stack at our end makes no segments to order.
    NotOurs,
    /// The connection was not closed at both ends in time.
    NotClosed,
    /// The server's TCP no longer knew the connection before any RST.
    NoTimeWait,
    /// It did not answer.
    Unanswered,
}

impl fmt::Display for NotSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotOurs => "this end cannot make the RST",
            Self::NotClosed => "the connection was not closed at both ends in time",
            Self::NoTimeWait => "the server had forgotten the connection at once",
            Self::Unanswered => "the server's TCP did not answer",
        })
    }
}

/// Something that happened on a connection.
#[derive(Clone, Debug)]
pub enum StackEvent {
    /// Bytes arrived.
    Arrived(Arrival),
    /// We acknowledged everything up to the stream offset `up_to`.
    Acknowledged {
        /// When the ACK left.
        at: Instant,
        /// The first offset of the stream that is not acknowledged.
        up_to: u64,
    },
    /// The server closed its direction (FIN).
    PeerClosed {
        /// When the FIN arrived.
        at: Instant,
    },
    /// The connection is gone: RST or time-out.
    Broken {
        /// When we learnt of it.
        at: Instant,
        /// How it ended.
        error: TransportError,
    },
}

impl StackEvent {
    /// When it happened.
    #[must_use]
    pub fn at(&self) -> Instant {
        match self {
            Self::Arrived(arrival) => arrival.at,
            Self::Acknowledged { at, .. } | Self::PeerClosed { at } | Self::Broken { at, .. } => {
                *at
            }
        }
    }
}

/// A segment of our own stack, or a read from a kernel socket.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When it arrived: as near to the wire as the stack can tell.
    pub at: Instant,
    /// The offset of its first byte in the server's stream.
    pub offset: u64,
    /// Its bytes that were not there before, in order; empty for an out-of-order or repeated one.
    pub bytes: Vec<u8>,
    /// Length on the wire.
    pub len: u32,
    /// It repeats what the server had sent before.
    pub retransmission: bool,
}

/// Why there is no connection.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// RST in answer to our SYN.
    #[error("cannot connect to {0}: connection refused (no server is listening on that port)")]
    Refused(SocketAddr),
    /// No answer in time.
    #[error("cannot connect to {0}: no reply within {1:.1?}")]
    TimedOut(SocketAddr, Duration),
    /// The system says no.
    #[error("cannot connect to {0}: {1}")]
    System(SocketAddr, String),
}

/// Why a connection can no longer be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The server sent RST.
    #[error("the server reset the connection")]
    Reset,
    /// The server no longer answers at TCP level.
    #[error("the connection timed out: the server sends no ACK")]
    TimedOut,
    /// We have closed it.
    #[error("the connection is closed")]
    Closed,
    /// The system has another reason.
    #[error("connection failed: system error {0}")]
    System(i32),
}
