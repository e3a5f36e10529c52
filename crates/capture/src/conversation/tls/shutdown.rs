//! What an end sends when it closes the connection, and nobody waits for: close_notify (RFC 8446, section 6.1), and
//! GOAWAY (RFC 9113, section 6.8) before it.
//!
//! TLS 1.3 encrypts the type of an alert, so its length must do, and a body of two bytes is as long. What follows
//! decides which it was: an alert is the last record of its direction.

use ackwise_cause::Direction;

use super::{
    super::guess::{self, Guess},
    First, Inside, Opening, Tls,
    records::Kind,
    turns::Turns,
    unsealed::{self, Unsealed},
};

/// What the records of a segment may be, if they may be what an end closes with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shutdown {
    /// An alert by its type.
    Alert,
    /// An alert by its length.
    MayBeAlert,
    /// The same, where only a refusal of the client is as short.
    MayBeRefusal,
    /// A GOAWAY by its length, which an alert may follow.
    MayBeGoaway,
}

impl Tls {
    /// What the next `len` bytes may be, if they may be what an end closes with and nothing else; `bytes` are those
    /// that were captured.
    pub(in super::super) fn shutdown(
        &self,
        direction: Direction,
        len: u32,
        bytes: &[u8],
    ) -> Option<Shutdown> {
        /// A GOAWAY and an alert.
        const MOST_RECORDS: usize = 2;
        /// A GOAWAY with some debug data, sealed. Our choice.
        const LONGEST: usize = 128;
        let records = if direction == Direction::ToServer { &self.client } else { &self.server };
        if !(self.handshake.is_none() || self.may_refuse(direction))
            || !records.is_between_records()
        {
            return None;
        }
        let mut at = 0;
        for earlier in 0..MOST_RECORDS {
            let header = bytes.get(at..at + 5)?;
            if guess::tls_record(header, 21..=23) != Guess::Yes {
                return None;
            }
            let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
            let payload = bytes.get(at + 5..at + 5 + length);
            let found = match (header[0], &self.inside) {
                (21, _) => Shutdown::Alert,
                (23, Opening::Unsealed(unsealed)) if unsealed.is_confirmed() => {
                    let payload = payload.filter(|it| it.len() <= LONGEST)?;
                    shutdown_in(unsealed, direction, earlier as u64, payload)?
                }
                (23, _) => self.shutdown_of_length(direction, length as u64)?,
                _ => return None,
            };
            at += 5 + length;
            if at == len as usize {
                return Some(found);
            }
        }
        None
    }

    /// What a record of encrypted content may be.
    fn shutdown_of_length(&self, direction: Direction, length: u64) -> Option<Shutdown> {
        /// From Java, if the capture lacks its handshake.
        const PADDED_ALERT: u64 = 2 + 17 + 16;
        /// A GOAWAY without debug data in TLS 1.2 with ChaCha20-Poly1305 and GCM.
        const GOAWAY: [u64; 2] = [17 + 16, 17 + 24];
        let added = self.sealing[direction as usize];
        let may_be_13 = self.version_13 || !self.from_beginning;
        // Longer ones may be a whole message: only behind a response they are not waited for.
        match length {
            _ if may_be_13 && length == 2 + added => Some(match self.may_refuse(direction) {
                true => Shutdown::MayBeRefusal,
                false => Shutdown::MayBeAlert,
            }),
            PADDED_ALERT if may_be_13 && self.is_behind_response(direction) => {
                Some(Shutdown::MayBeAlert)
            }
            _ if (GOAWAY.contains(&length) || length == 17 + added)
                && self.http2 != Inside::Other
                && self.is_behind_response(direction) =>
            {
                Some(Shutdown::MayBeGoaway)
            }
            _ => None,
        }
    }

    /// Whether a response may be what was sent last.
    const fn is_behind_response(&self, direction: Direction) -> bool {
        match self.turns {
            Turns::Response { .. } => true,
            // The server has closed, or nobody has asked yet.
            Turns::Idle => {
                matches!(direction, Direction::ToClient) || matches!(self.first, First::Data)
            }
            Turns::Request { .. } => {
                let is_ticket = matches!(self.first, First::Ticket { asked: true, .. });
                is_ticket || self.settings.is_some()
            }
            Turns::Asked { .. } => false,
        }
    }
}

/// What a record is that can be opened, the one `later` than the next.
fn shutdown_in(
    unsealed: &Unsealed,
    direction: Direction,
    later: u64,
    payload: &[u8],
) -> Option<Shutdown> {
    const GOAWAY: u8 = 7;
    match unsealed.peek(direction, later, Kind::ApplicationData, payload)? {
        (unsealed::ALERT, _) => Some(Shutdown::Alert),
        (unsealed::APPLICATION_DATA, [0, 0, _, GOAWAY]) if unsealed.is_http2() => {
            Some(Shutdown::MayBeGoaway)
        }
        _ => None,
    }
}
