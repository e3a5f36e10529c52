//! One reading of the stream over the network, by a client of a certain kind.

use std::time::Duration;

use super::record::{Record, TOGETHER};
use crate::{
    http_client::{Client, ExchangeError, Page, Watch},
    stack::{AckRule, Acknowledge, Receiver},
};

/// The client of one reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// How long it delays its ACKs.
    pub(super) delay: Duration,
    /// The MSS that it announces, in bytes.
    pub(super) mss: u16,
    pub(super) coding: Coding,
    /// How long it goes on reading a stream that comes in few pieces.
    pub(super) patience: Duration,
}

/// What it accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Coding {
    /// What the user's requests accept: nothing is said, if they do not say it.
    Given,
    Gzip,
}

impl Trial {
    /// Acknowledges every segment at once.
    pub(super) const PROMPT: Self = Self {
        delay: Duration::ZERO,
        mss: Receiver::ETHERNET.mss,
        coding: Coding::Given,
        patience: FIRST,
    };

    /// Delays its ACKs.
    pub(super) const fn delayed(delay: Duration) -> Self {
        Self { delay, patience: FURTHER, ..Self::PROMPT }
    }

    /// Announces small segments, so that a cork lets go earlier.
    pub(super) const SMALL: Self = Self { mss: SMALL_MSS, patience: FURTHER, ..Self::PROMPT };

    pub(super) const GZIP: Self = Self { coding: Coding::Gzip, patience: FURTHER, ..Self::PROMPT };

    /// Asks for the stream, and reads it for a while.
    pub(super) fn read(self, client: &mut Client, page: &Page) -> Result<Record, ExchangeError> {
        let request = match self.coding {
            Coding::Given => client.ask_for(page, None),
            Coding::Gzip => client.ask_for_with(page, ("Accept-Encoding", "gzip")),
        }?;
        let mut connection = client.open(Receiver { mss: self.mss, ..Receiver::ETHERNET })?;
        if !self.delay.is_zero() {
            connection.set_acknowledge(Acknowledge::Delayed(AckRule::Linux, self.delay));
        }
        let watch = Watch {
            short: SHORT.min(self.patience),
            long: self.patience,
            enough: ENOUGH,
            apart: TOGETHER,
            content: CONTENT,
        };
        let exchange = connection.watch(&request, &watch, &mut client.budget)?;
        let rtt = connection.handshake();
        Ok(Record::new(exchange, self, rtt, connection.now()))
    }
}

/// How long the first reading goes on, and further ones, after the first content. Our choices: buffers of 4,096 bytes
/// fill several times with 300 bytes each 20 ms, and all readings fit into the 15 s of a check.
const FIRST: Duration = Duration::from_secs(5);
const FURTHER: Duration = Duration::from_secs(2);

/// How long a stream of many pieces is read. Our choice: ten of the longest ACK delays.
const SHORT: Duration = Duration::from_millis(1_200);

/// As many pieces are enough. Our choice: a stream of a token each 20 ms has twice as many in [`SHORT`].
const ENOUGH: usize = 30;

/// Bytes of a stream that are read. Our choice.
const CONTENT: usize = 1 << 20;

/// Our choice: few events are smaller, and larger than what systems refuse (Linux `tcp_min_snd_mss`: 48).
const SMALL_MSS: u16 = 128;
