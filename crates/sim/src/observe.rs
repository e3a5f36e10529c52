//! Who watches a run: captures, plots and traces are observers, not features of the world.

use std::{ops::ControlFlow, time::Duration};

use ackwise_cause::{Cause, Direction, InFlight};
use ackwise_tcp::{Instant, Transmit, endpoint::RecoveryPhase};

use crate::{pause::Pause, scenario::NodeId};

pub use crate::ids::{ConnectionId, Side};

/// A segment at one point of its way.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// Of which connection.
    pub connection: ConnectionId,
    /// Who sent it.
    pub from: Side,
    /// The host that sent it, and the host that it is for.
    pub hosts: [NodeId; 2],
    /// The segment, and where its data stands in the sender's stream.
    pub transmit: &'a Transmit,
    /// The sender's congestion window when it left, in bytes.
    pub congestion_window: u32,
    /// Where the sender's loss recovery stood when it left.
    pub recovery: RecoveryPhase,
}

/// A message in a stream: a request in the client's, a response in the server's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Message {
    /// Of which connection.
    pub connection: ConnectionId,
    /// Who sends it.
    pub from: Side,
    /// Where it begins in the sender's stream.
    pub offset: u64,
    /// Bytes of its head (of a request: all of it).
    pub head: u32,
    /// Bytes of its body.
    pub body: u64,
    /// The number of the first file that it asks for or carries, within its document.
    pub file: u32,
}

/// A client has lost a connection with requests on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Failure {
    /// Which.
    pub connection: ConnectionId,
    /// How many requests had no complete response: the last ones that it asked there.
    pub unanswered: u32,
    /// Why.
    pub end: ConnectionEnd,
}

/// How a client loses a connection.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ConnectionEnd {
    /// The server has closed, or announced that it will.
    Closed,
    /// By an RST.
    Reset,
    /// Nothing was acknowledged until the user timeout.
    TimedOut,
    /// The client's program reset it: the response had not come until its timeout.
    GivenUp,
}

/// Some time in which an exchange made no progress.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Blame {
    /// Why.
    pub cause: Cause,
    /// What the sender waits for, which may not know yet that something was lost.
    pub unaware: Cause,
    /// Where the sender's data in flight was.
    pub in_flight: InFlight,
    /// Where the sender's loss recovery stood.
    pub recovery: RecoveryPhase,
    /// Which way the data goes that was waited for.
    pub direction: Direction,
    /// Since when.
    pub from: Instant,
    /// Until when.
    pub until: Instant,
}

impl Blame {
    /// How long.
    #[must_use]
    pub fn span(&self) -> Duration {
        self.until.since(self.from)
    }
}

/// Watches a run. All methods do nothing unless they are written.
pub trait Observer {
    /// A host has sent a segment.
    fn on_sent(&mut self, _sighting: &Sighting<'_>, _now: Instant) {}

    /// A segment has arrived at the host that it is for.
    fn on_received(&mut self, _sighting: &Sighting<'_>, _now: Instant) {}

    /// A link has dropped a segment.
    fn on_dropped(&mut self, _sighting: &Sighting<'_>, _now: Instant) {}

    /// An application has begun to write a message.
    fn on_message(&mut self, _message: &Message, _now: Instant) {}

    /// A client has the whole response to the oldest request of a connection. A proxy, as a client, is not heard here.
    fn on_answered(&mut self, _connection: ConnectionId, _now: Instant) {}

    /// A client has lost a connection, and with it requests.
    fn on_failure(&mut self, _failure: &Failure, _now: Instant) {}

    /// The oldest exchange of a connection has made no progress for some time; only if the scenario has
    /// causes watched. Calls are in order of time and do not overlap.
    fn on_blame(&mut self, _at: ConnectionId, _blame: Blame, _now: Instant) {}

    /// A connection is over, and nothing of it is under way: it will not be heard of again. One that
    /// is alive at the end of the run never is.
    fn on_over(&mut self, _connection: ConnectionId, _now: Instant) {}

    /// For an observer that also steers: when the run pauses next, in virtual time since its beginning and with all of that
    /// time done. Asked before each event. `None` lets it run.
    fn pauses_at(&self) -> Option<Duration> {
        None
    }

    /// The run pauses: at that time, which is later at the next question; at its end; or because a congestion control
    /// that is set from outside has something to hear, whatever the time. A break ends the run with
    /// [`RunError::Stopped`](crate::RunError::Stopped).
    fn on_pause(&mut self, _pause: &mut dyn Pause) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Whether anything but [`Observer::goes_on`] is written; a run without that is faster.
    fn watches(&self) -> bool {
        true
    }

    /// Asked now and then: whether the run is to go on.
    fn goes_on(&mut self, _now: Instant) -> bool {
        true
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {
    fn watches(&self) -> bool {
        false
    }
}

/// An observer that watches.
pub(crate) struct Watched<'a>(pub &'a mut dyn Observer);

impl Observer for Watched<'_> {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.0.on_sent(sighting, now);
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.0.on_received(sighting, now);
    }

    fn on_dropped(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.0.on_dropped(sighting, now);
    }

    fn on_message(&mut self, message: &Message, now: Instant) {
        self.0.on_message(message, now);
    }

    fn on_answered(&mut self, connection: ConnectionId, now: Instant) {
        self.0.on_answered(connection, now);
    }

    fn on_failure(&mut self, failure: &Failure, now: Instant) {
        self.0.on_failure(failure, now);
    }

    fn on_blame(&mut self, at: ConnectionId, blame: Blame, now: Instant) {
        self.0.on_blame(at, blame, now);
    }

    fn on_over(&mut self, connection: ConnectionId, now: Instant) {
        self.0.on_over(connection, now);
    }

    fn pauses_at(&self) -> Option<Duration> {
        self.0.pauses_at()
    }

    fn on_pause(&mut self, pause: &mut dyn Pause) -> ControlFlow<()> {
        self.0.on_pause(pause)
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        self.0.goes_on(now)
    }
}

/// One that is only asked whether the run is to go on: the rest costs nothing.
pub(crate) struct Unwatched<'a>(pub &'a mut dyn Observer);

impl Observer for Unwatched<'_> {
    fn goes_on(&mut self, now: Instant) -> bool {
        self.0.goes_on(now)
    }
}
