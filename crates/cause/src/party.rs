//! Who has to change something.

use super::Cause;

/// Who has to change something.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Party {
    /// The client: its program or its TCP.
    Client,
    /// The server: its program or its TCP.
    Server,
    /// Nobody at the ends does anything that costs: it is distance, rate or loss.
    Path,
}

impl Party {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Path => "path",
        }
    }
}

/// Which way the data goes that is waited for.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Direction {
    /// From the client: a request.
    ToServer,
    /// From the server: a response.
    ToClient,
}

impl Direction {
    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToServer => "to-server",
            Self::ToClient => "to-client",
        }
    }

    /// The way back.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }

    /// Who sends.
    #[must_use]
    pub const fn sender(self) -> Party {
        match self {
            Self::ToServer => Party::Client,
            Self::ToClient => Party::Server,
        }
    }

    /// Who receives.
    #[must_use]
    pub const fn receiver(self) -> Party {
        match self {
            Self::ToServer => Party::Server,
            Self::ToClient => Party::Client,
        }
    }
}

impl Cause {
    /// Whether this is what the path takes even if both ends do everything right: distance and rate.
    #[must_use]
    pub const fn is_path_delay(self) -> bool {
        matches!(self, Self::RequestUpload | Self::Propagation | Self::Transmission)
    }

    /// Who has to change something so that this costs less, for data that goes in `direction`;
    /// `None` if that is unknown.
    ///
    /// A small segment that Nagle holds needs both ends to become a stall; the sender can cure it for
    /// all its peers, so it is the sender's. A connection that had to be opened is the path's: only
    /// the connections before it tell who could have kept one.
    #[must_use]
    pub const fn party(self, direction: Direction) -> Option<Party> {
        Some(match self {
            Self::Handshake
            | Self::TlsHandshake
            | Self::RequestUpload
            | Self::Propagation
            | Self::Transmission
            | Self::CongestionWindow
            | Self::LossRecovery
            | Self::RetransmissionTimeout => Party::Path,
            Self::ServerThink => Party::Server,
            // Who sends requests before responses are there chooses to wait for all of them.
            Self::HeadOfLine => Party::Client,
            Self::ShortInitialSegment
            | Self::NagleDelayedAck
            | Self::NagleRtt
            | Self::CorkTimer
            | Self::SlowStart
            | Self::IdleRestart
            | Self::Pacing
            | Self::SendBuffer
            | Self::ApplicationLimited => direction.sender(),
            Self::SillyWindow | Self::ReceiveWindow | Self::H2FlowControl => direction.receiver(),
            Self::Unknown => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A direction: its name in reports, who sends, who receives, and the way back.
    const WAYS: [(Direction, &str, Party, Party, Direction); 2] = [
        (Direction::ToServer, "to-server", Party::Client, Party::Server, Direction::ToClient),
        (Direction::ToClient, "to-client", Party::Server, Party::Client, Direction::ToServer),
    ];

    #[test]
    fn requests_go_to_the_server_and_responses_to_the_client() {
        for (direction, name, sender, receiver, back) in WAYS {
            assert_eq!(direction.name(), name);
            assert_eq!((direction.sender(), direction.receiver()), (sender, receiver), "{name}");
            assert_eq!(direction.opposite(), back, "{name}");
        }
    }

    #[test]
    fn only_distance_and_rate_cost_time_when_both_ends_do_everything_right() {
        let path: &[Cause] = &[Cause::RequestUpload, Cause::Propagation, Cause::Transmission];
        for cause in Cause::ALL {
            assert_eq!(cause.is_path_delay(), path.contains(&cause), "{cause}");
            if cause.is_path_delay() {
                assert_eq!(cause.party(Direction::ToClient), Some(Party::Path), "{cause}");
            }
        }
    }
}
