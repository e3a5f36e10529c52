//! Checks of a server's stream of events (server-sent events, lines of JSON, messages of gRPC): when events arrive, and
//! what holds them between the program and the client.
//!
//! | file | purpose |
//! | --- | --- |
//! | `trial`, `read` | a client of a certain kind, and its reading of the stream |
//! | `readings` | the readings of a check, and which of them are needed |
//! | `syntax` | where events end in the content |
//! | `record` | when they arrived, and how many together |
//!
//! Compressed content is not decoded: when its bytes arrive is enough.

mod read;
mod readings;
pub(crate) mod record;
mod syntax;
pub(crate) mod trial;

use std::time::Duration;

use ackwise_cause::Software;
use ackwise_text::words::rounded;

pub(crate) use self::readings::{Readings, Wanted};
use self::{record::Record, trial::Trial};
use crate::{
    http_client::{Client, Exchange, ExchangeError, Page},
    no_verdict::NoVerdict,
    verdict::Reason,
};

/// A stream that has begun: its first reading.
pub(crate) struct Begun {
    record: Record,
}

impl Begun {
    /// Asks for `page`, and reads for a while what comes.
    pub(crate) fn read(client: &mut Client, page: &Page) -> Result<Self, ExchangeError> {
        Ok(Self { record: read::read(Trial::PROMPT, client, page)? })
    }

    /// The response, as far as it was read.
    pub(crate) fn response(&self) -> &Exchange {
        &self.record.exchange
    }

    /// Whether the response has events; a verdict is unknown if there might have been some.
    pub(crate) fn has_events(&self) -> Result<(), NoVerdict> {
        has_events(&self.record)
    }

    /// Reads the stream as often as the checks need.
    pub(crate) fn read_on(
        self,
        client: &mut Client,
        page: &Page,
        software: Option<Software>,
        wanted: Wanted,
    ) -> Readings {
        Readings::after(self.record, client, page, software, wanted)
    }
}

/// Whether a response has events; the verdict is unknown if there might have been some.
fn has_events(record: &Record) -> Result<(), NoVerdict> {
    if record.events > 0 {
        return Ok(());
    }
    let Record { exchange, watched, .. } = record;
    let (content, status) = (exchange.content, exchange.head.status);
    let read = |span: &Duration| rounded(*span);
    Err(match exchange.complete {
        true => {
            let took = exchange.duration().map(rounded).unwrap_or_default();
            let why = format!(
                "no stream: the response (status {status}) ended {took} after the request, with {content} bytes and no \
                 event"
            );
            NoVerdict::not_applicable(why)
        }
        false if content == 0 => {
            let why =
                format!("the head of a response came, but no content within {}", read(watched));
            NoVerdict::unknown(Reason::NoAnswer, why)
        }
        false => {
            let why = format!("{content} bytes came in {}, but no complete event", read(watched));
            NoVerdict::unknown(Reason::NoAnswer, why)
        }
    })
}
