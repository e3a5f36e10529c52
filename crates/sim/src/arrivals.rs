//! Connections that arrive whatever becomes of the earlier ones: one request, one response, a close. What a source of
//! them does next, without a clock or a connection of its own.
//!
//! The simulator drives it in virtual time, crate `live` with sockets of the kernel.

use std::time::Duration;

use ackwise_link::Stream;

use crate::{measure::Progress, scenario::Arrivals, user::Ask};

/// What opens the connections of an application.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    arrivals: &'a Arrivals,
    stream: Stream,
    /// Connections left; `None` for no limit.
    left: Option<u32>,
    progress: Progress,
}

impl<'a> Source<'a> {
    /// A source that has opened nothing yet.
    #[must_use]
    pub fn new(arrivals: &'a Arrivals, stream: Stream) -> Self {
        let left = arrivals.limit.map(u32::from);
        Self { arrivals, stream, left, progress: Progress::NotStarted }
    }

    /// How far it has come.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        self.progress
    }

    /// What each connection is opened for.
    #[must_use]
    pub fn ask(&self) -> Ask {
        Ask::of_a_file(self.arrivals.request.0, self.arrivals.response.0)
    }

    /// A connection arrives now. Returns how long after it the next one does; `None` if it was the last. It draws random
    /// numbers: call it once for each.
    pub fn handle_arrival(&mut self) -> Option<Duration> {
        if self.progress == Progress::NotStarted {
            self.progress = Progress::NoDocument;
        }
        self.left = self.left.map(|left| left - 1);
        (self.left != Some(0)).then(|| self.arrivals.interarrival.draw(&mut self.stream))
    }

    /// A response is complete. Returns how long its connection is held before it is closed. It draws random numbers:
    /// call it once for each.
    pub fn handle_response(&mut self) -> Duration {
        self.progress = Progress::Documents;
        self.arrivals.hold.draw(&mut self.stream)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use ackwise_http::workload::Span;
    use ackwise_link::Seed;
    use ackwise_tcp::ByteCount;

    use super::*;

    #[test]
    fn a_source_stops_at_its_limit_and_does_not_wait_for_responses() {
        let (apart, held) = (Duration::from_millis(20), Duration::from_millis(7));
        let arrivals = Arrivals {
            interarrival: Span::Fixed(apart),
            limit: NonZeroU32::new(3),
            request: ByteCount(100),
            response: ByteCount(900),
            hold: Span::Fixed(held),
            prompt_acks: false,
        };
        let mut source = Source::new(&arrivals, Seed(1).stream());
        assert_eq!(source.progress(), Progress::NotStarted);
        assert_eq!(source.ask(), Ask::of_a_file(100, 900));
        assert_eq!(source.handle_arrival(), Some(apart));
        assert_eq!(source.handle_arrival(), Some(apart));
        assert_eq!(source.progress(), Progress::NoDocument);
        assert_eq!(source.handle_response(), held);
        assert_eq!(source.handle_arrival(), None, "three connections");
        assert_eq!(source.progress(), Progress::Documents);
    }
}
