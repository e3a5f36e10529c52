//! Two captures of the same connections, one at each end, as one report.
//!
//! | file | its one idea |
//! | --- | --- |
//! | `clocks` | how far the one's clock is ahead of the other's, from packets that both have |
//! | `join` | of each exchange, from each capture what it alone can know |
//! | `journeys` | when packets left the one end and arrived at the other |
//! | `ways` | the same where the captures do not agree on the path: it was slower than usual |

use std::sync::{Arc, Mutex, PoisonError};

use ackwise_capture::{
    decode::decode,
    read::{Drops, Frame, Unread},
};
use ackwise_text::words::counted;

mod clocks;
mod join;
mod journeys;
#[cfg(test)]
mod tests;
mod ways;

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
    pub fn record<F: Frames>(&self, frames: F) -> RecordedFrames<F> {
        RecordedFrames { frames, end: self.clone() }
    }

    /// Joins what the captures at the client and at the server said.
    ///
    /// If nothing of the server is in both, the report is that of the client's capture, and says so. Else the answer is
    /// the client's, but for what only the server's capture can know: why responses
    /// took their time. Packets that show that are counted in the server's capture.
    ///
    /// # Errors
    ///
    /// If the captures have nothing in common, see [`PairError`].
    pub fn join(
        client: (&Self, Explained),
        server: (&Self, Explained),
    ) -> Result<Explained, PairError> {
        let ((client_end, mut client), (server_end, server)) = (client, server);
        let (ours, theirs) = (client_end.take(), server_end.take());
        let compared = clocks::compare(&ours, &theirs, &client.analysis)?;
        let Some((clocks, names, journeys)) = compared else {
            client.warnings.push(without_answer(&server));
            return Ok(client);
        };
        let counts = join::join(&mut client.analysis, &server.analysis, &names, &clocks, &journeys);
        client.drops = client.drops + server.drops;
        client.warnings.extend(server.warnings);
        client.unread.add(server.unread);
        client.joined = Some(Joined { clocks, counts });
        Ok(client)
    }

    fn take(&self) -> Sightings {
        let mut sightings = self.sightings.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut sightings)
    }
}

/// What the server's capture shows if nothing of it came to the client: not when.
fn without_answer(server: &Explained) -> String {
    let packets = |way: usize| -> u64 {
        let all = server.analysis.connections.iter();
        all.map(|it| u64::from(it.quality.directions[way].packets)).sum()
    };
    format!(
        "This is the client's capture alone: no SYN-ACK and no data of the server is in both, so that the clocks \
         cannot be compared. The server's capture has {} to the server, and {} from it.",
        counted(packets(0), "packet"),
        counted(packets(1), "packet"),
    )
}

/// Packets whose comparison with those of another capture is prepared.
#[derive(Debug)]
pub struct RecordedFrames<F> {
    frames: F,
    end: End,
}

impl<F: Frames> Frames for RecordedFrames<F> {
    type Error = F::Error;

    fn next(&mut self) -> Result<Option<Frame<'_>>, F::Error> {
        let frame = self.frames.next()?;
        if let Some(Ok(seen)) = frame.as_ref().map(decode) {
            self.end.sightings.lock().unwrap_or_else(PoisonError::into_inner).add(&seen);
        }
        Ok(frame)
    }

    fn unread(error: &F::Error) -> Option<Unread> {
        F::unread(error)
    }

    fn drops(&self) -> Drops {
        self.frames.drops()
    }

    fn take_secrets(&mut self) -> Vec<u8> {
        self.frames.take_secrets()
    }

    fn may_wait(&self) -> bool {
        self.frames.may_wait()
    }
}

/// Why two captures are not of the same connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    /// Something changes the packets on their way, or they are of different times.
    #[error(
        "cannot join the captures: no packet from the client is in both (expected captures of the \
         same \
         time, without a proxy between them)"
    )]
    NothingToServer,
    /// Packets seem to arrive before they leave.
    #[error(
        "cannot align the clocks: one was set while the captures ran, or the captures are in the \
         wrong order (expected --pair CLIENT SERVER)"
    )]
    Contradiction,
}
