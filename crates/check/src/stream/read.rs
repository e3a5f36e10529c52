//! One reading of the stream over the network, by a client of a certain kind.

use std::time::Duration;

use super::{
    record::{Record, TOGETHER},
    trial::{Coding, Trial},
};
use crate::{
    http_client::{Client, ExchangeError, Page, Watch},
    stack::{AckRule, Acknowledge, Receiver},
};

/// Asks for the stream, and reads it for a while.
pub(crate) fn read(
    trial: Trial,
    client: &mut Client,
    page: &Page,
) -> Result<Record, ExchangeError> {
    let request = match trial.coding {
        Coding::Given => client.ask_for(page, None),
        Coding::Gzip => client.ask_for_with(page, ("Accept-Encoding", "gzip")),
    }?;
    let mut connection = client.open(Receiver { mss: trial.mss, ..Receiver::ETHERNET })?;
    if !trial.delay.is_zero() {
        connection.set_acknowledge(Acknowledge::Delayed(AckRule::Linux, trial.delay));
    }
    let watch = Watch {
        short: SHORT.min(trial.patience),
        long: trial.patience,
        enough: ENOUGH,
        apart: TOGETHER,
        content: CONTENT,
    };
    let exchange = connection.watch(&request, &watch, &mut client.budget)?;
    let rtt = connection.handshake();
    Ok(Record::new(exchange, trial, rtt, connection.now()))
}

/// How long a stream of many pieces is read. Our choice: ten of the longest ACK delays.
const SHORT: Duration = Duration::from_millis(1_200);

/// As many pieces are enough. Our choice: a stream of a token each 20 ms has twice as many in [`SHORT`].
const ENOUGH: usize = 30;

/// Bytes of a stream that are read. Our choice.
const CONTENT: usize = 1 << 20;
