//! The causes: their names, who can change something, and what each means. A new cause is a row here.

use core::{fmt, str::FromStr};

/// Whose fault a cause is, whichever way the data goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Owner {
    Path,
    Client,
    Server,
    /// Of the data.
    Sender,
    Receiver,
    /// Nobody knows.
    Nobody,
}

macro_rules! deed {
    (time) => {
        None
    };
    (stalls $deed:literal) => {
        Some($deed)
    };
}

/// Rows: documentation, variant, name, owner, whether it stalls the exchange and by which deed of its owner, meaning.
macro_rules! causes {
    ($($(#[$doc:meta])+ $variant:ident $name:literal $owner:ident $kind:ident $(($deed:literal))? $meaning:literal)*) => {
        /// Why an exchange makes no progress at some moment.
        ///
        /// Not `non_exhaustive`, so that a new cause breaks the build wherever causes are distinguished.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Cause {
            $($(#[$doc])+ $variant,)*
        }

        impl Cause {
            /// Every cause, in the order of an exchange.
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            /// The name in reports, JSON and options.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The meaning in one sentence, without a full stop.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// What the responsible party did, after its name, if that wastes the other's time, rather than being work,
            /// distance or loss.
            #[must_use]
            pub const fn deed(self) -> Option<&'static str> {
                match self { $(Self::$variant => deed!($kind $($deed)?),)* }
            }

            pub(crate) const fn owner(self) -> Owner {
                match self { $(Self::$variant => Owner::$owner,)* }
            }
        }
    };
}

causes! {
    /// TCP connection setup.
    Handshake "handshake" Path time
        "the TCP connection was being set up"
    /// The server's TCP drops a SYN, or the first data of a connection: its program accepts too slowly.
    AcceptQueueFull "accept-queue-full" Server stalls("let connections wait in a full accept queue")
        "the server's accept queue was full: its TCP received a SYN, or the first data of a \
         connection, and dropped it"
    /// TLS handshake.
    TlsHandshake "tls-handshake" Path time
        "TLS was being set up"
    /// The link is busy with the request.
    RequestUpload "request-upload" Path time
        "a link was busy with the request"
    /// The request has arrived, and nothing of the response is written.
    ServerThink "server-think" Server time
        "the server had the whole request, or a head with `Expect: 100-continue`, and had \
         written nothing"
    /// All data to be sent is in flight, and no link is busy with it.
    Propagation "propagation" Path time
        "all outstanding data was in transit (distance)"
    /// The path delivers nothing for more than two round trips, although something is in transit.
    PathStall "path-stall" Path time
        "the path delivered nothing for more than two round trips, although data or its ACK \
         was in transit, and lost none of it"
    /// A link is busy with the response, or with what the same connection sent before it.
    Transmission "transmission" Path time
        "a link was busy with the response"
    /// A link is busy with packets of other connections, and the message waits behind them.
    Queueing "queueing" Path time
        "the data waited behind packets of other connections"
    /// The congestion window is full until a delayed acknowledgement opens it.
    ShortInitialSegment "short-initial-segment" Sender stalls("waited for a delayed ACK with its congestion window full")
        "the message began with a short segment, and the congestion window was then full \
         until a delayed ACK arrived"
    /// A small segment is held until a delayed acknowledgement releases it.
    NagleDelayedAck "nagle-delayed-ack" Sender stalls("held the last segment of a message (Nagle) until the other end's delayed ACK")
        "a small segment was held until a delayed ACK arrived"
    /// A small segment is held for an acknowledgement that is not delayed.
    NagleRtt "nagle-rtt" Sender stalls("held a small segment (Nagle) for a round trip")
        "a small segment was held until an ACK arrived that was not delayed"
    /// A small segment is held until a timer releases it; no acknowledgement is awaited.
    CorkTimer "cork-timer" Sender stalls("held a small segment (TCP_CORK or MSG_MORE) until the cork timer expired")
        "a small segment was held until a 200 ms timer expired; no ACK released it"
    /// The window allows only a small segment (silly window syndrome).
    SillyWindow "silly-window" Receiver stalls("offered too small a receive window, or closed it")
        "nothing was in flight, and the receiver's window had room for less than a full \
         segment, so the sender waited for more room"
    /// The congestion window is full, in slow start.
    SlowStart "slow-start" Sender time
        "the congestion window was full during slow start"
    /// The congestion window is full, after slow start.
    CongestionWindow "congestion-window" Path time
        "the congestion window was full after slow start"
    /// The congestion window is full, because it was cut after an idle period.
    IdleRestart "idle-restart" Sender stalls("cut its congestion window after an idle period")
        "the congestion window was full because it had been reduced after an idle period"
    /// The sender spreads its segments over time.
    Pacing "pacing" Sender time
        "segments were spread over time although the windows had room"
    /// Lost segments are being repaired.
    LossRecovery "loss-recovery" Path time
        "a loss was being repaired by fast retransmit"
    /// Only the retransmission timer can repair the loss.
    RetransmissionTimeout "retransmission-timeout" Path stalls("waited for its retransmission timer after a loss")
        "a loss was not repaired before the retransmission timer expired"
    /// The receiver's window is closed.
    ReceiveWindow "receive-window" Receiver stalls("offered too small a receive window, or closed it")
        "the receiver's window was closed, or full of data in flight"
    /// The sender's application has more to write, and the send buffer is full.
    SendBuffer "send-buffer" Sender stalls("was limited by its send buffer")
        "the send buffer was full: the data in flight stopped growing without loss, and no \
         window explains it"
    /// The sender's application has more to write, and HTTP/2 flow control blocks it.
    H2FlowControl "h2-flow-control" Receiver stalls("kept its HTTP/2 flow-control window closed")
        "an HTTP/2 flow-control window was exhausted"
    /// The response waits behind an earlier one on its connection.
    HeadOfLine "head-of-line" Client stalls("waited for earlier responses on the same connection")
        "an earlier response on the connection was still being sent"
    /// The sender's application has not written, or the receiver's has not read.
    ApplicationLimited "application-limited" Sender time
        "the program paused in the middle of a message, or before the first request on a connection \
         that it had opened"
    /// The observations do not determine the cause.
    Unknown "unknown" Nobody time
        "the capture does not show the cause: packets are missing, or exchanges overlap \
         and cannot be separated"
}

impl Cause {
    /// Whether one end wastes the other's time, rather than work, distance or loss.
    #[must_use]
    pub const fn is_stall(self) -> bool {
        self.deed().is_some()
    }
}

/// Formats the [`name`](Cause::name).
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Parses a [`name`](Cause::name).
impl FromStr for Cause {
    type Err = UnknownCause;

    fn from_str(name: &str) -> Result<Self, UnknownCause> {
        Self::ALL.into_iter().find(|cause| cause.name() == name).ok_or(UnknownCause)
    }
}

/// Not the name of a cause. The caller is at fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not the name of a cause")]
pub struct UnknownCause;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_cause_is_in_the_list_once_and_read_back_by_its_name() {
        for (place, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, place, "{cause} stands at another place in the list");
            assert_eq!(cause.to_string().parse(), Ok(cause));
        }
        assert_eq!("Handshake".parse::<Cause>(), Err(UnknownCause));
    }

    #[test]
    fn only_who_makes_the_other_wait_stalls() {
        assert!(Cause::ALL.into_iter().filter(|it| it.is_stall()).all(|it| !it.is_path_delay()));
        assert!(Cause::CorkTimer.is_stall() && Cause::RetransmissionTimeout.is_stall());
        assert!(!Cause::ServerThink.is_stall() && !Cause::Unknown.is_stall());
    }
}
