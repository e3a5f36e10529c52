//! What happened on a connection, line by line.

use alloc::collections::VecDeque;
use core::fmt;

use crate::{endpoint::Event, notation::Relative, units::Instant};

/// What happened on a connection, oldest first. Printed, it is a script that can be run again.
///
/// It keeps a bounded number of lines: when a new one does not fit, the oldest goes, and the printed
/// trace says how many have gone.
#[derive(Clone, Debug)]
pub struct Trace {
    lines: VecDeque<(Instant, TraceEvent)>,
    limit: usize,
    forgotten: u64,
}

impl Trace {
    /// An empty trace that keeps the last `limit` lines.
    #[must_use]
    pub const fn with_limit(limit: usize) -> Self {
        Self { lines: VecDeque::new(), limit, forgotten: 0 }
    }

    /// Adds a line.
    pub fn record(&mut self, event: TraceEvent, now: Instant) {
        self.lines.push_back((now, event));
        while self.lines.len() > self.limit {
            self.lines.pop_front();
            self.forgotten += 1;
        }
    }

    /// The lines, oldest first.
    pub fn lines(&self) -> impl Iterator<Item = (Instant, TraceEvent)> + '_ {
        self.lines.iter().copied()
    }
}

/// One line of a trace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TraceEvent {
    /// A segment left.
    Sent(Relative),
    /// A segment arrived.
    Received(Relative),
    /// The application called.
    Called(Call),
    /// The application was told.
    Told(Event),
}

/// What an application asks of its connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Call {
    /// Wait for a connection.
    Listen,
    /// Open one.
    Connect,
    /// This many bytes to send.
    Write(u32),
    /// This many bytes of the received data.
    Read(u32),
    /// No more will be sent.
    Close,
    /// The connection is given up.
    Abort,
    /// Small segments are no longer held.
    NoDelay,
    /// Small segments are held.
    Cork,
    /// Small segments are held as the policy says, again.
    Uncork,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.forgotten > 0 {
            writeln!(f, "# {} earlier lines are forgotten", self.forgotten)?;
        }
        for (at, event) in &self.lines {
            writeln!(f, "{at} {event}")?;
        }
        Ok(())
    }
}

impl fmt::Display for TraceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent(segment) => write!(f, "> {segment}"),
            Self::Received(segment) => write!(f, "< {segment}"),
            Self::Called(call) => write!(f, "{call}"),
            Self::Told(event) => write!(f, "event {}", event.name()),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen => f.write_str("listen"),
            Self::Connect => f.write_str("connect"),
            Self::Write(bytes) => write!(f, "write {bytes}"),
            Self::Read(bytes) => write!(f, "read {bytes}"),
            Self::Close => f.write_str("close"),
            Self::Abort => f.write_str("abort"),
            Self::NoDelay => f.write_str("nodelay"),
            Self::Cork => f.write_str("cork"),
            Self::Uncork => f.write_str("uncork"),
        }
    }
}
