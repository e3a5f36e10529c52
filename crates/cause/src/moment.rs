//! From what both ends wait for to the cause.
//!
//! One rule decides what a moment is blamed on: what keeps the next byte of the message from getting
//! nearer to the receiver *now*. While a link is busy with the message, that is the link, whatever else
//! holds back what comes behind: it would only join the queue. When no link is busy, it is whatever
//! the sender waits for; and when the sender waits for nothing any more, it is distance. So the
//! milliseconds under a cause are those that would be saved if it alone were cured, and the stalls of
//! slow start are those of the analytic models.

use ackwise_tcp::{AckWait, Wait};

use super::{Cause, Direction};

/// What is known of one exchange at one moment. Each fact is one that a simulator knows and that a
/// capture can show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Moment {
    /// How far the exchange is; it says whose data is waited for.
    pub phase: Phase,
    /// Why the TCP that is to send does not send (more).
    pub wait: Wait,
    /// Why the other TCP has not acknowledged, if there is something to acknowledge.
    pub ack_wait: Option<AckWait>,
    /// Where the sender's data in flight is.
    pub in_flight: InFlight,
    /// What the sender's program is doing.
    pub writer: Writer,
    /// The congestion window was cut after an idle time, within this exchange, and has not grown
    /// back to what it was.
    pub cut_by_idle: bool,
    /// The sender's pacing timer runs, and there is something to send when it fires.
    pub paced: bool,
}

/// How far an exchange is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Phase {
    /// Before the connection is open.
    Handshake,
    /// Before TLS is done; whose turn it is.
    Tls(Direction),
    /// The client has begun to write the request, and it has not arrived completely.
    Request,
    /// The request has arrived, and the server has written nothing of the response.
    ServerThink,
    /// The server has begun to write the response, and it has not arrived completely.
    Response,
    /// As the two before, but an earlier response on the connection has not arrived completely.
    HeadOfLine,
}

/// Where the sender's data in flight is: the first of these that is true of any of it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum InFlight {
    /// Some is being put on a link, or waits for its turn there.
    Transmitting,
    /// The first byte that the receiver misses was sent and lost, and no retransmission of it is in flight.
    Lost(RepairedBy),
    /// Some is between the links' ends, and links are not busy with it.
    Propagating,
    /// None is: what was sent has arrived.
    Nothing,
}

/// What repairs a loss. Who does not know the future expects recovery if three later segments were
/// sent.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RepairedBy {
    /// Duplicate acknowledgements or SACK.
    Recovery,
    /// The retransmission timer.
    Timeout,
}

/// What the program that writes the awaited message is doing.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Writer {
    /// It has not written all of the message, and nothing hinders it.
    Working,
    /// It has more to write, and the send buffer is full.
    SendBufferFull,
    /// It has more to write, and HTTP/2's flow control forbids it.
    FlowControlled,
    /// It has written all of the message.
    Done,
}

impl Phase {
    /// Which way the data goes that is waited for.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Self::Handshake | Self::Request => Direction::ToServer,
            Self::Tls(direction) => direction,
            Self::ServerThink | Self::Response | Self::HeadOfLine => Direction::ToClient,
        }
    }
}

/// Why the exchange does not go on at `moment`. Never [`Cause::Unknown`]: who cannot say what the
/// moment is says that.
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
        // Who computes, and for how long, belongs to TLS; what TCP holds back does not.
        Phase::Tls(_) => match moment.of_message() {
            Cause::Transmission | Cause::Propagation | Cause::ApplicationLimited => {
                Cause::TlsHandshake
            }
            cause => cause,
        },
    }
}

impl Moment {
    /// A loss that is being repaired, or else `otherwise`.
    const fn repair(&self, otherwise: Cause) -> Cause {
        match (self.in_flight, self.wait) {
            (InFlight::Lost(RepairedBy::Timeout), _)
            | (InFlight::Lost(RepairedBy::Recovery), Wait::RetransmissionTimeout) => {
                Cause::RetransmissionTimeout
            }
            (InFlight::Lost(RepairedBy::Recovery), _) => Cause::LossRecovery,
            (InFlight::Transmitting | InFlight::Propagating | InFlight::Nothing, _) => otherwise,
        }
    }

    /// A message that is being sent.
    const fn of_message(&self) -> Cause {
        let held = match self.in_flight {
            InFlight::Transmitting => return Cause::Transmission,
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
            Wait::Recovery => Cause::LossRecovery,
            Wait::RetransmissionTimeout => Cause::RetransmissionTimeout,
        }
    }

    /// TCP has sent all that it was given.
    const fn unwritten(&self) -> Cause {
        match self.writer {
            Writer::Working => Cause::ApplicationLimited,
            Writer::SendBufferFull => Cause::SendBuffer,
            Writer::FlowControlled => Cause::H2FlowControl,
            Writer::Done => self.arriving(),
        }
    }

    /// The whole message has left.
    const fn arriving(&self) -> Cause {
        match self.in_flight {
            InFlight::Transmitting => Cause::Transmission,
            InFlight::Lost(_) | InFlight::Propagating => Cause::Propagation,
            // It has arrived and is not read.
            InFlight::Nothing => Cause::ApplicationLimited,
        }
    }

    /// The receiver delays an acknowledgement, and no data is in flight that would trigger it.
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
            (_, InFlight::Transmitting | InFlight::Lost(_) | InFlight::Propagating)
            | (None, InFlight::Nothing) => false,
        }
    }
}
