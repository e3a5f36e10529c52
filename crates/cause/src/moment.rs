//! Derives the cause from what both ends wait for.
//!
//! A moment is attributed to what keeps the next byte of the message from getting closer to the
//! receiver *now*. While a link is busy with the message, that is the link: data held back behind
//! it would only join the queue. When no link is busy, it is what the sender waits for; when the
//! sender waits for nothing, it is the propagation delay. The time attributed to a cause is
//! therefore the time saved by removing it alone, and the stalls of slow start match the analytic
//! models.

use ackwise_tcp::{AckWait, Wait};

use super::{Cause, Direction};

/// The state of one exchange at one moment. Each fact is available in a simulator and in a capture.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Moment {
    /// Phase of the exchange, which determines whose data is awaited.
    pub phase: Phase,
    /// Why the sending TCP does not send (more).
    pub wait: Wait,
    /// Why the other TCP has not acknowledged, if an acknowledgement is pending.
    pub ack_wait: Option<AckWait>,
    /// Where the sender's data in flight is.
    pub in_flight: InFlight,
    /// State of the sender's application.
    pub writer: Writer,
    /// Whether the congestion window was cut after an idle period within this exchange, and has not
    /// grown back to its former size.
    pub cut_by_idle: bool,
    /// Whether the sender's pacing timer runs, with data to send when it fires.
    pub paced: bool,
}

/// The phase of an exchange.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Phase {
    /// Before the connection is established.
    Handshake,
    /// Before the TLS handshake is complete; the direction of the awaited message.
    Tls(Direction),
    /// The client has begun to write the request, and it has not arrived completely.
    Request,
    /// The request has arrived, and the server has written nothing of the response.
    ServerThink,
    /// The server has begun to write the response, and it has not arrived completely.
    Response,
    /// As for the previous two, but an earlier response on the connection has not arrived
    /// completely.
    HeadOfLine,
}

/// Where the sender's data in flight is: the first of these that applies to any of it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum InFlight {
    /// Some is being transmitted on a link, or is queued behind data of the same connection.
    Transmitting,
    /// Some is queued behind packets of other connections.
    Queued,
    /// The path holds it, or the acknowledgement of it, and delivers nothing.
    Held,
    /// The first byte missing at the receiver was sent and lost, and no retransmission of it is in
    /// flight.
    Lost(RepairedBy),
    /// Some is propagating, and no link is busy with it.
    Propagating,
    /// None: all sent data has arrived.
    Nothing,
}

/// What repairs a loss. Without knowledge of the future, recovery is expected if three later
/// segments were sent.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RepairedBy {
    /// Duplicate acknowledgements or SACK.
    Recovery,
    /// The retransmission timer.
    Timeout,
}

/// State of the application that writes the awaited message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Writer {
    /// It has not written all of the message, and is not blocked.
    Working,
    /// It is blocked by a full send buffer.
    SendBufferFull,
    /// It is blocked by HTTP/2 flow control.
    FlowControlled,
    /// It has written all of the message.
    Done,
}

impl Phase {
    /// The direction of the awaited data.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Self::Handshake | Self::Request => Direction::ToServer,
            Self::Tls(direction) => direction,
            Self::ServerThink | Self::Response | Self::HeadOfLine => Direction::ToClient,
        }
    }
}

/// Why the exchange makes no progress at `moment`. Never [`Cause::Unknown`], which is for a caller
/// that cannot determine the moment.
#[must_use]
pub const fn cause(moment: &Moment) -> Cause {
    match moment.phase {
        Phase::Handshake => moment.repair(Cause::Handshake),
        Phase::ServerThink => Cause::ServerThink,
        Phase::HeadOfLine => Cause::HeadOfLine,
        Phase::Response => moment.of_message(),
        Phase::Request => match moment.of_message() {
            Cause::Transmission => Cause::RequestUpload,
            cause => cause,
        },
        // Computation belongs to TLS; segments held by TCP do not.
        Phase::Tls(_) => match moment.of_message() {
            Cause::Transmission | Cause::Propagation | Cause::ApplicationLimited => {
                Cause::TlsHandshake
            }
            cause => cause,
        },
    }
}

impl Moment {
    /// The repair of a loss, if one is in progress, else `otherwise`.
    const fn repair(&self, otherwise: Cause) -> Cause {
        match (self.in_flight, self.wait) {
            (InFlight::Lost(RepairedBy::Timeout), _)
            | (InFlight::Lost(RepairedBy::Recovery), Wait::RetransmissionTimeout) => {
                Cause::RetransmissionTimeout
            }
            (InFlight::Lost(RepairedBy::Recovery), _) => Cause::LossRecovery,
            (
                InFlight::Transmitting
                | InFlight::Queued
                | InFlight::Held
                | InFlight::Propagating
                | InFlight::Nothing,
                _,
            ) => otherwise,
        }
    }

    /// The cause while a message is being sent.
    const fn of_message(&self) -> Cause {
        let held = match self.in_flight {
            InFlight::Transmitting => return Cause::Transmission,
            InFlight::Queued => return Cause::Queueing,
            InFlight::Held => return Cause::PathStall,
            _ if self.paced => Cause::Pacing,
            InFlight::Lost(_) | InFlight::Propagating | InFlight::Nothing => self.held(),
        };
        self.repair(held)
    }

    /// What the sender waits for while no link is busy.
    const fn held(&self) -> Cause {
        match self.wait {
            Wait::Application => self.unwritten(),
            Wait::Closed => self.arriving(),
            Wait::Handshake => Cause::Handshake,
            Wait::SlowStart | Wait::CongestionWindow if self.ack_is_delayed() => {
                Cause::ShortInitialSegment
            }
            Wait::SlowStart | Wait::CongestionWindow if self.cut_by_idle => Cause::IdleRestart,
            Wait::SlowStart => Cause::SlowStart,
            Wait::CongestionWindow => Cause::CongestionWindow,
            Wait::ReceiveWindow { probing: true | false } => Cause::ReceiveWindow,
            Wait::Nagle | Wait::Minshall if self.ack_is_delayed() => Cause::NagleDelayedAck,
            Wait::Nagle | Wait::Minshall => Cause::NagleRtt,
            Wait::Cork => Cause::CorkTimer,
            Wait::SillyWindow => Cause::SillyWindow,
            Wait::Pacing => Cause::Pacing,
            Wait::Recovery => Cause::LossRecovery,
            Wait::RetransmissionTimeout => Cause::RetransmissionTimeout,
        }
    }

    /// TCP has sent all data written so far.
    const fn unwritten(&self) -> Cause {
        match self.writer {
            Writer::Working => Cause::ApplicationLimited,
            Writer::SendBufferFull => Cause::SendBuffer,
            Writer::FlowControlled => Cause::H2FlowControl,
            Writer::Done => self.arriving(),
        }
    }

    /// The whole message has been sent.
    const fn arriving(&self) -> Cause {
        match self.in_flight {
            InFlight::Transmitting => Cause::Transmission,
            InFlight::Queued => Cause::Queueing,
            InFlight::Held => Cause::PathStall,
            InFlight::Lost(_) | InFlight::Propagating => Cause::Propagation,
            // It has arrived and has not been read.
            InFlight::Nothing => Cause::ApplicationLimited,
        }
    }

    /// Whether the receiver delays an acknowledgement, and no data in flight would trigger it.
    const fn ack_is_delayed(&self) -> bool {
        match (self.ack_wait, self.in_flight) {
            (
                Some(
                    AckWait::Delayed { .. }
                    | AckWait::HostTick { .. }
                    | AckWait::Interarrival { .. }
                    | AckWait::Withheld { .. },
                ),
                InFlight::Nothing,
            ) => true,
            (
                _,
                InFlight::Transmitting
                | InFlight::Queued
                | InFlight::Held
                | InFlight::Lost(_)
                | InFlight::Propagating,
            )
            | (None, InFlight::Nothing) => false,
        }
    }
}
