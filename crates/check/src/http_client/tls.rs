//! TLS between TCP's bytes and HTTP's. It is fed record by record, because a record is readable only
//! when its last byte has come: that is what a stall inside it delays.

pub use ackwise_client::TlsSettings;

use std::{
    io::{ErrorKind, Read, Write},
    time::Instant,
};

use ackwise_client::refusal;
use rustls::ClientConnection;

use super::{ExchangeError, plain::Plain};
use crate::stack::{Connection, StackEvent, TransportError};

/// One TLS session over one connection.
#[derive(Debug)]
pub(super) struct Tls {
    session: ClientConnection,
    /// What has arrived of a record that is not complete.
    record: Vec<u8>,
    /// Where in TCP's stream it begins.
    record_start: u64,
    /// Bytes of HTTP seen so far.
    plain: u64,
    /// What the server sent of HTTP with the end of its handshake, as HTTP/2's SETTINGS may be.
    early: Vec<Plain>,
}

impl Tls {
    /// Does the handshake on a fresh connection.
    pub(super) fn establish(
        settings: &TlsSettings,
        connection: &mut dyn Connection,
        deadline: Instant,
    ) -> Result<Self, ExchangeError> {
        let session = settings.session().map_err(|error| tls_error(&error))?;
        let mut tls =
            Self { session, record: Vec::new(), record_start: 0, plain: 0, early: Vec::new() };
        let mut early = Vec::new();
        let began = connection.now();
        loop {
            let records = tls.outgoing()?;
            if !records.is_empty() {
                connection.send(&records)?;
            }
            if !tls.session.is_handshaking() {
                tls.early = early;
                return Ok(tls);
            }
            let event = connection.next_in_time(deadline).filter(|event| event.at() <= deadline);
            let Some(event) = event else {
                let waited = connection.now().saturating_duration_since(began);
                return Err(ExchangeError::EndlessHandshake(waited));
            };
            match event {
                StackEvent::Arrived(arrival) => {
                    let taken = tls.open(arrival.offset, &arrival.bytes, |plain| early.push(plain));
                    if taken.is_err() {
                        // The alert that says why; whether it arrives does not matter any more.
                        let _ = connection.send(&tls.outgoing()?);
                    }
                    taken?;
                }
                StackEvent::Acknowledged { .. } => {}
                StackEvent::PeerClosed { .. } => return Err(closed()),
                StackEvent::Broken { error: TransportError::Closed, .. } => return Err(closed()),
                StackEvent::Broken { error, .. } => return Err(error.into()),
            }
        }
    }

    /// What came of HTTP with the handshake, once.
    pub(super) fn take_early(&mut self) -> Vec<Plain> {
        std::mem::take(&mut self.early)
    }

    /// Whether both sides have chosen `protocol` (ALPN, RFC 7301).
    pub(super) fn has_agreed_on(&self, protocol: &[u8]) -> bool {
        self.session.alpn_protocol() == Some(protocol)
    }

    /// The records to send for `bytes`.
    pub(super) fn seal(&mut self, bytes: &[u8]) -> Result<Vec<u8>, ExchangeError> {
        self.session.writer().write_all(bytes).map_err(|error| tls_error(&error))?;
        self.outgoing()
    }

    /// Takes bytes that arrived at `offset` of TCP's stream, and hands on what they make readable.
    pub(super) fn open(
        &mut self,
        offset: u64,
        bytes: &[u8],
        mut feed: impl FnMut(Plain),
    ) -> Result<(), ExchangeError> {
        if self.record.is_empty() {
            self.record_start = offset;
        }
        self.record.extend_from_slice(bytes);
        while let Some(size) = record_size(&self.record)? {
            let record: Vec<u8> = self.record.drain(..size).collect();
            let wire = self.record_start..self.record_start + size as u64;
            self.record_start = wire.end;
            let bytes = self.read_record(&record)?;
            if !bytes.is_empty() {
                let offset = self.plain;
                self.plain += bytes.len() as u64;
                feed(Plain { bytes, offset, wire, sealed: true });
            }
        }
        Ok(())
    }

    fn read_record(&mut self, record: &[u8]) -> Result<Vec<u8>, ExchangeError> {
        let mut unread = record;
        while !unread.is_empty() {
            let taken = self.session.read_tls(&mut unread).map_err(|error| tls_error(&error))?;
            if taken == 0 {
                break; // After close_notify nothing counts.
            }
        }
        let processed = self.session.process_new_packets();
        processed.map_err(|error| ExchangeError::Tls(refusal(&error)))?;
        let mut bytes = Vec::new();
        match self.session.reader().read_to_end(&mut bytes) {
            // Without close_notify there is always more to come, and a FIN is judged by HTTP's framing.
            Err(error)
                if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::UnexpectedEof) =>
            {
                Err(tls_error(&error))
            }
            _ => Ok(bytes),
        }
    }

    fn outgoing(&mut self) -> Result<Vec<u8>, ExchangeError> {
        let mut wire = Vec::new();
        while self.session.wants_write() {
            self.session.write_tls(&mut wire).map_err(|error| tls_error(&error))?;
        }
        Ok(wire)
    }
}

/// The size of the record that `bytes` begin with, once all of it is there (RFC 8446, section 5.1).
fn record_size(bytes: &[u8]) -> Result<Option<usize>, ExchangeError> {
    if bytes.first().is_some_and(|kind| !CONTENT_TYPES.contains(kind)) {
        let sample = bytes[..bytes.len().min(SAMPLE)].escape_ascii();
        return Err(ExchangeError::Tls(format!(
            "not a TLS record: the response begins with \"{sample}\" (if the server has no TLS, \
             use \
             http://)"
        )));
    }
    let &[_, _, _, high, low, ..] = bytes else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > RECORD_LIMIT {
        return Err(ExchangeError::Tls(format!(
            "record too long: {length} bytes (expected at most {RECORD_LIMIT})"
        )));
    }
    let size = HEADER + length;
    Ok((bytes.len() >= size).then_some(size))
}

fn tls_error(error: &dyn ToString) -> ExchangeError {
    ExchangeError::Tls(error.to_string())
}

fn closed() -> ExchangeError {
    ExchangeError::Tls("the server closed the connection during the handshake".to_owned())
}

/// change_cipher_spec, alert, handshake, application_data.
const CONTENT_TYPES: std::ops::RangeInclusive<u8> = 20..=23;
/// Content type, version, length.
const HEADER: usize = 5;
/// RFC 5246, section 6.2.3: 2^14 + 2048; TLS 1.3 allows less.
const RECORD_LIMIT: usize = (1 << 14) + 2048;
/// Bytes that a message shows of an answer.
const SAMPLE: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_taken_whole_or_not_at_all() {
        let record = [22, 3, 3, 0, 2, 7, 7, 99];
        for (seen, size) in [(0, None), (4, None), (6, None), (7, Some(7)), (8, Some(7))] {
            assert_eq!(record_size(&record[..seen]).unwrap(), size, "{seen} bytes");
        }
    }

    #[test]
    fn what_is_no_tls_is_shown() {
        let error = record_size(b"HTTP/1.1 400 Bad Request\r\n").unwrap_err().to_string();
        assert!(error.contains("HTTP/1.1 400") && error.contains("use http://"), "{error}");
        assert!(record_size(&[23, 3, 3, 255, 255]).unwrap_err().to_string().contains("65535"));
    }
}
