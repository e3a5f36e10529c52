//! What a server sends before its first response: session tickets, and the SETTINGS of HTTP/2. Only their lengths, and what
//! follows, tell them from a response.

use ackwise_cause::Direction;

use super::{
    Inside, Tls, control,
    records::{Found, Kind, Record, Records},
    turns::Turns,
};
use crate::conversation::{
    log::Log,
    span::{Span, Start},
};

/// How far the records that a server sends before its first response are distinguished.
#[derive(Clone, Copy, Debug)]
pub(super) enum First {
    /// None has come.
    Nothing,
    /// One that may be a ticket; or the response, if it came after the request.
    Ticket { record: Record, asked: bool },
    /// Two tickets have.
    Tickets,
    /// All that is to come is data.
    Data,
}

impl Tls {
    pub(super) fn handle_response(&mut self, record: &Record, segment: u64, log: &mut Log) {
        if let First::Ticket { record: held, .. } = self.first {
            let same_length = held.length() == record.length();
            if !same_length && held.start >= segment {
                // A ticket is written before the server reads the request, and so by itself.
                self.release(log);
            }
        }
        self.first = match self.first {
            First::Nothing | First::Ticket { .. } | First::Tickets if self.is_settings(record) => {
                let asked = matches!(self.turns, Turns::Request { .. });
                self.settings = asked.then_some(*record);
                if !asked {
                    self.http2 = Inside::Http2;
                }
                return;
            }
            First::Nothing if self.may_be_ticket(record) => {
                let asked = matches!(self.turns, Turns::Request { .. });
                First::Ticket { record: *record, asked }
            }
            // Tickets of one handshake have one length.
            First::Ticket { record: held, .. } if held.length() == record.length() => {
                First::Tickets
            }
            First::Nothing | First::Ticket { .. } | First::Tickets | First::Data => {
                self.last_length = record.length();
                self.settings = None;
                self.take_turn(Direction::ToClient, record, log);
                First::Data
            }
        };
    }

    /// As of [`expect_request`](crate::conversation::ExchangeReader::expect_request).
    pub(in super::super) fn expect_request(&mut self, bytes: &[u8], log: &mut Log) {
        let holds = matches!(self.first, First::Ticket { asked: true, .. });
        if !(holds || self.settings.is_some()) || !self.client.is_between_records() {
            return;
        }
        let start = self.asked_to;
        let next = Records::new(Start::Beginning).advance(&mut Span::segment(
            start,
            bytes.len() as u64,
            bytes,
        ));
        if let Some(Found::Record(record)) = next
            && record.kind == Kind::ApplicationData
            && !self.is_control(Direction::ToServer, &record)
        {
            self.release(log);
        }
    }

    /// The client may acknowledge SETTINGS. Behind what the server has sent, no request of HTTP/1 is as short.
    pub(super) fn note_acknowledged_settings(&mut self) {
        let is_held = self.settings.take().is_some();
        let is_behind_data = matches!(self.turn, Some((Direction::ToClient, _)));
        let is_offered = self.from_beginning && self.http2 == Inside::MayBeHttp2;
        if is_held || (is_behind_data && is_offered) {
            self.http2 = Inside::Http2;
        }
    }

    fn is_settings(&self, record: &Record) -> bool {
        record.kind == Kind::ApplicationData
            && self.http2 != Inside::Other
            && control::is_http2_settings(record, self.sealing(Direction::ToClient))
    }

    fn may_be_ticket(&self, record: &Record) -> bool {
        record.kind == Kind::ApplicationData
            && self.version_13
            && control::may_be_ticket(record)
            && !self.has_read_of_request()
    }

    /// Whether more of a request was sent than a server's first receive window has room for: its program has
    /// read some, and what it sends from then on is no ticket, which it sends when it has read the handshake.
    fn has_read_of_request(&self) -> bool {
        let begun = self.turn.filter(|(whose, _)| *whose == Direction::ToServer);
        begun.is_some_and(|(_, start)| self.asked_to.saturating_sub(start) > FIRST_WINDOW)
    }

    /// Nothing came after what could be SETTINGS or a ticket: it was the response.
    pub(super) fn release(&mut self, log: &mut Log) {
        let ticket = match self.first {
            First::Ticket { record, asked: true } => Some(record),
            _ => None,
        };
        if let Some(record) = self.settings.take().or(ticket) {
            self.first = First::Data;
            self.take_turn(Direction::ToClient, &record, log);
        }
    }
}

/// The largest receive window without an option; Linux's is about as large at first (`tcp_select_initial_window`).
const FIRST_WINDOW: u64 = 1 << 16;
