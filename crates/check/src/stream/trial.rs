//! The clients that read the stream.

use std::time::Duration;

use crate::stack::Receiver;

/// The client of one reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// How long it delays its ACKs.
    pub(crate) delay: Duration,
    /// The MSS that it announces, in bytes.
    pub(crate) mss: u16,
    pub(crate) coding: Coding,
    /// How long it goes on reading a stream that comes in few pieces.
    pub(crate) patience: Duration,
}

/// What it accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Coding {
    /// What the user's requests accept: nothing is said, if they do not say it.
    Given,
    Gzip,
}

impl Trial {
    /// Acknowledges every segment at once.
    pub(crate) const PROMPT: Self = Self {
        delay: Duration::ZERO,
        mss: Receiver::ETHERNET.mss,
        coding: Coding::Given,
        patience: FIRST,
    };

    /// Delays its ACKs.
    pub(crate) const fn delayed(delay: Duration) -> Self {
        Self { delay, patience: FURTHER, ..Self::PROMPT }
    }

    /// Announces small segments, so that a cork lets go earlier.
    pub(crate) const SMALL: Self = Self { mss: SMALL_MSS, patience: FURTHER, ..Self::PROMPT };

    pub(crate) const GZIP: Self = Self { coding: Coding::Gzip, patience: FURTHER, ..Self::PROMPT };
}

/// How long the first reading goes on, and further ones, after the first content. Our choices: buffers of 4,096 bytes
/// fill several times with 300 bytes each 20 ms, and all readings fit into the 15 s of a check.
const FIRST: Duration = Duration::from_secs(5);
const FURTHER: Duration = Duration::from_secs(2);

/// Our choice: few events are smaller, and larger than what systems refuse (Linux `tcp_min_snd_mss`: 48).
const SMALL_MSS: u16 = 128;
