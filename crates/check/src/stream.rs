//! Checks of a server's stream of events (server-sent events, lines of JSON, messages of gRPC): when events arrive, and
//! what holds them between the program and the client.
//!
//! | file | purpose |
//! | --- | --- |
//! | `trial`, `read` | a client of a certain kind, and its reading of the stream |
//! | `readings` | the readings of a check, and which of them are needed |
//! | `syntax` | where events end in the content |
//! | `record` | when they arrived, and how many together |
//! | `held`, `compressed`, `pace` | pure functions from the readings to findings |
//!
//! Compressed content is not decoded: when its bytes arrive is enough.

mod compressed;
mod held;
mod judged;
mod pace;
mod read;
mod readings;
mod record;
mod syntax;
mod trial;

use std::time::Duration;

use ackwise_cause::{FindingId, Role, Software};
use ackwise_text::words::rounded;

use self::{judged::Judged, readings::Readings, record::Record, trial::Trial};
use crate::{
    card::{Finding, Reason},
    http_client::{Client, Exchange, ExchangeError, Page},
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

    /// Reads the stream as often as the findings need that `wants` names, and judges it.
    pub(crate) fn judge(
        self,
        client: &mut Client,
        page: &Page,
        software: Option<Software>,
        wants: impl Fn(FindingId) -> bool,
    ) -> Vec<Finding> {
        let ids = FindingId::of(Role::Stream).filter(|id| wants(*id));
        if let Some((reason, why)) = without_events(&self.record) {
            return ids.map(|id| Judged::without(id, reason, &*why).into_finding()).collect();
        }
        let readings = Readings::after(self.record, client, page, software, &wants);
        let judge = |id| match id {
            FindingId::StreamFirstEvent => pace::first_event(&readings.prompt),
            FindingId::StreamGaps => pace::gaps(&readings.prompt),
            FindingId::StreamHeld => held::judge(&readings),
            FindingId::StreamGzip => compressed::judge(&readings),
            other => Judged::without(other, None, "it does not grade streams"),
        };
        ids.map(|id| judge(id).into_finding()).collect()
    }
}

/// Why a response has no events: with a reason, if there might have been some.
fn without_events(record: &Record) -> Option<(Option<Reason>, String)> {
    if record.events > 0 {
        return None;
    }
    let Record { exchange, watched, .. } = record;
    let (content, status) = (exchange.content, exchange.head.status);
    let read = |span: &Duration| rounded(*span);
    Some(match exchange.complete {
        true => {
            let took = exchange.duration().map(rounded).unwrap_or_default();
            let why = format!(
                "no stream: the response (status {status}) ended {took} after the request, with {content} bytes and no \
                 event"
            );
            (None, why)
        }
        false if content == 0 => {
            let why =
                format!("the head of a response came, but no content within {}", read(watched));
            (Some(Reason::NoAnswer), why)
        }
        false => {
            let why = format!("{content} bytes came in {}, but no complete event", read(watched));
            (Some(Reason::NoAnswer), why)
        }
    })
}

#[cfg(test)]
mod tests;
