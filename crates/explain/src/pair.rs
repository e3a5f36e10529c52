//! Two captures of the same connections, one at each end, as one report.
//!
//! | file | its one idea |
//! | --- | --- |
//! | `clocks` | how far the one's clock is ahead of the other's, from packets that both have |
//! | `join` | of each exchange, from each capture what it alone can know |

use std::sync::{Arc, Mutex, PoisonError};

use ackwise_capture::{
    decode::decode,
    read::{Drops, Frame},
};

mod clocks;
mod join;

use clocks::Sightings;

use super::{
    joined::Joined,
    reading::{Explained, Frames},
};

/// A capture at one end that is being read, and the packets by which it is compared with the other.
#[derive(Clone, Debug, Default)]
pub struct End {
    // The thread that reads fills it, the one that waits takes it.
    sightings: Arc<Mutex<Sightings>>,
}

impl End {
    /// The same packets, remembered in passing.
    pub fn watch<F: Frames>(&self, frames: F) -> Watched<F> {
        Watched { frames, end: self.clone() }
    }

    /// Joins what the captures at the client and at the server said.
    ///
    /// The answer is the client's, but for what only the server's capture can know: why responses
    /// took their time. Packets that show that are counted in the server's capture.
    ///
    /// # Errors
    ///
    /// If the captures have nothing in common, see [`Apart`].
    pub fn join(
        client: (&Self, Explained),
        server: (&Self, Explained),
    ) -> Result<Explained, Apart> {
        let ((client_end, mut client), (server_end, server)) = (client, server);
        let (ours, theirs) = (client_end.take(), server_end.take());
        let (clocks, names) = clocks::compare(&ours, &theirs, &client.analysis)?;
        let counts = join::join(&mut client.analysis, &server.analysis, &names, &clocks);
        client.drops = client.drops + server.drops;
        client.troubles.extend(server.troubles);
        client.joined = Some(Joined { clocks, counts });
        Ok(client)
    }

    fn take(&self) -> Sightings {
        let mut sightings = self.sightings.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut sightings)
    }
}

/// Packets whose comparison with those of another capture is prepared.
#[derive(Debug)]
pub struct Watched<F> {
    frames: F,
    end: End,
}

impl<F: Frames> Frames for Watched<F> {
    type Error = F::Error;

    fn next(&mut self) -> Result<Option<Frame<'_>>, F::Error> {
        let frame = self.frames.next()?;
        if let Some(Ok(seen)) = frame.as_ref().map(decode) {
            self.end.sightings.lock().unwrap_or_else(PoisonError::into_inner).add(&seen);
        }
        Ok(frame)
    }

    fn drops(&self) -> Drops {
        self.frames.drops()
    }
}

/// Why two captures are not of the same connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Apart {
    /// Something changes the packets on their way, or they are of different times.
    #[error(
        "no packet that the client sent is in both captures: are they of the same time, and does \
         nothing between them end the connections, as a proxy does?"
    )]
    NothingToServer,
    /// As that, the other way.
    #[error("no packet that the server sent is in both captures, but some of the client's are")]
    NothingToClient,
    /// Packets seem to arrive before they leave.
    #[error(
        "the clocks do not agree with themselves: one was set while the captures ran, or the \
         captures are named in the wrong order (--pair CLIENT SERVER)"
    )]
    Contradiction,
}
