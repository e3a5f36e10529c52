//! TLS between TCP's bytes and HTTP's.

pub use ackwise_net::TlsSettings;

use std::time::Instant;

use ackwise_net::{PLAINTEXT_LIMIT, TlsError, TlsSession};

use super::{ExchangeError, plain::Plain};
use crate::stack::{Connection, StackEvent, TransportError};

/// One TLS session over one connection.
#[derive(Debug)]
pub(super) struct Tls {
    session: TlsSession,
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
        let mut tls = Self { session: TlsSession::new(settings)?, plain: 0, early: Vec::new() };
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
                    let taken = tls.open(&arrival.bytes, |plain| early.push(plain));
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
        self.session.has_agreed_on(protocol)
    }

    /// The records to send for `bytes`.
    pub(super) fn seal(&mut self, mut bytes: &[u8]) -> Result<Vec<u8>, ExchangeError> {
        let mut wire = self.outgoing()?;
        while !bytes.is_empty() {
            let written = self.session.write(bytes).map_err(|error| tls_error(&error))?;
            if written == 0 {
                return Err(tls_error(&"the session takes no more"));
            }
            bytes = &bytes[written..];
            wire.append(&mut self.outgoing()?);
        }
        Ok(wire)
    }

    /// Takes bytes that arrived next in TCP's stream, and hands on what they make readable.
    pub(super) fn open(
        &mut self,
        bytes: &[u8],
        mut feed: impl FnMut(Plain),
    ) -> Result<(), ExchangeError> {
        self.session.receive(bytes);
        let mut record = vec![0; PLAINTEXT_LIMIT];
        loop {
            let bytes = match self.session.read(&mut record)? {
                0 => return Ok(()),
                read => record[..read].to_vec(),
            };
            let (offset, wire) = (self.plain, self.session.record());
            self.plain += bytes.len() as u64;
            feed(Plain { bytes, offset, wire, sealed: true });
        }
    }

    fn outgoing(&mut self) -> Result<Vec<u8>, ExchangeError> {
        let mut wire = Vec::new();
        self.session.take_outgoing(&mut wire).map_err(|error| tls_error(&error))?;
        Ok(wire)
    }
}

impl From<TlsError> for ExchangeError {
    fn from(error: TlsError) -> Self {
        tls_error(&error)
    }
}

fn tls_error(error: &dyn ToString) -> ExchangeError {
    ExchangeError::Tls(error.to_string())
}

fn closed() -> ExchangeError {
    ExchangeError::Tls("the server closed the connection during the handshake".to_owned())
}
