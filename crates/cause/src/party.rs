//! Which end has to change something.

use super::{Cause, name::Owner};

/// The party that has to change something.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Party {
    /// The client: its application or its TCP.
    Client,
    /// The server: its application or its TCP.
    Server,
    /// Neither end causes a delay: it is distance, rate or loss.
    Path,
}

impl Party {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Path => "path",
        }
    }
}

/// The direction of the awaited data.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Direction {
    /// From the client: a request.
    ToServer,
    /// From the server: a response.
    ToClient,
}

impl Direction {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToServer => "to-server",
            Self::ToClient => "to-client",
        }
    }

    /// The opposite direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }

    /// The sending end.
    #[must_use]
    pub const fn sender(self) -> Party {
        match self {
            Self::ToServer => Party::Client,
            Self::ToClient => Party::Server,
        }
    }

    /// The receiving end.
    #[must_use]
    pub const fn receiver(self) -> Party {
        match self {
            Self::ToServer => Party::Server,
            Self::ToClient => Party::Client,
        }
    }
}

impl Cause {
    /// Whether this is the delay of the path itself (distance and rate), which remains if both ends
    /// are optimal.
    #[must_use]
    pub const fn is_path_delay(self) -> bool {
        matches!(self, Self::RequestUpload | Self::Propagation | Self::Transmission)
    }

    /// The party that has to change something to reduce this, for data in `direction`; `None` if
    /// unknown.
    ///
    /// A small segment held by Nagle becomes a stall only with both ends; it is attributed to the
    /// sender, which can fix it for all its peers. Connection setup is attributed to the path: only
    /// earlier connections show which end could have kept one open. A client that pipelines requests
    /// chooses to wait for all responses in order.
    #[must_use]
    pub const fn party(self, direction: Direction) -> Option<Party> {
        Some(match self.owner() {
            Owner::Path => Party::Path,
            Owner::Client => Party::Client,
            Owner::Server => Party::Server,
            Owner::Sender => direction.sender(),
            Owner::Receiver => direction.receiver(),
            Owner::Nobody => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A direction: its name in reports, sender, receiver, and the opposite direction.
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
