//! A TLS session without I/O: whose records come and go by the caller's hand.
//!
//! Records are read one by one, because one is readable only when its last byte has come: that is what a stall inside
//! it delays.

mod file_verifier;
mod refusal;
mod settings;

use std::{
    io::{self, ErrorKind, Read, Write},
    ops::Range,
};

use rustls::ClientConnection;

pub use settings::TlsSettings;

/// The client's side of one session.
#[derive(Debug)]
pub struct TlsSession {
    tls: ClientConnection,
    /// Received bytes whose records have not been read, and behind `read` of those that have.
    incoming: Vec<u8>,
    read: usize,
    /// Where the last record that was read stands in TCP's stream.
    record: Range<u64>,
}

/// Why a session cannot go on.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The bytes are not a record.
    #[error(
        "not a TLS record: the response begins with \"{0}\" (if the server has no TLS, use http://)"
    )]
    NotTls(String),
    /// A record announces more bytes than any has.
    #[error("record too long: {0} bytes (expected at most {RECORD_LIMIT})")]
    TooLong(usize),
    /// The session says no.
    #[error("{}", refusal::refusal(.0))]
    Session(#[from] rustls::Error),
    /// It says no to the bytes.
    #[error("{0}")]
    Bytes(String),
}

impl TlsSession {
    /// A session before its handshake.
    ///
    /// # Errors
    ///
    /// If rustls refuses the settings.
    pub fn new(settings: &TlsSettings) -> Result<Self, TlsError> {
        Ok(Self { tls: settings.session()?, incoming: Vec::new(), read: 0, record: 0..0 })
    }

    /// Whether the handshake has not ended.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Whether both sides have chosen `protocol` (ALPN, RFC 7301).
    #[must_use]
    pub fn has_agreed_on(&self, protocol: &[u8]) -> bool {
        self.tls.alpn_protocol() == Some(protocol)
    }

    /// Takes bytes that arrived. The caller reads until nothing comes before it brings more, so that at most those
    /// and an incomplete record lie here.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.incoming.drain(..self.read);
        self.read = 0;
        self.incoming.extend_from_slice(bytes);
    }

    /// Goes on with the handshake, as far as its records are complete.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn shake_hands(&mut self) -> Result<(), TlsError> {
        while self.is_handshaking() && self.read_record()? {}
        Ok(())
    }

    /// Reads plaintext of one record: all of it, if `buffer` has [`PLAINTEXT_LIMIT`] bytes. 0 means that no record
    /// with plaintext is complete.
    ///
    /// # Errors
    ///
    /// If the session cannot go on; what it says about that is [`take_outgoing`](Self::take_outgoing)'s.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, TlsError> {
        loop {
            match self.tls.reader().read(buffer) {
                // Without close_notify there is always more to come, and a FIN is judged by HTTP's framing.
                Ok(0) => {}
                Ok(bytes) => return Ok(bytes),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::UnexpectedEof) => {
                }
                Err(error) => return Err(TlsError::Bytes(error.to_string())),
            }
            if !self.read_record()? {
                return Ok(0);
            }
        }
    }

    /// Where the record of the last bytes read stands in TCP's stream.
    #[must_use]
    pub fn record(&self) -> Range<u64> {
        self.record.clone()
    }

    /// Whether received bytes have not been read.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        self.read < self.incoming.len()
    }

    /// Takes plaintext to send, as far as there is room; it waits for the end of the handshake.
    ///
    /// # Errors
    ///
    /// If the session takes no more.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tls.writer().write(bytes)
    }

    /// Closes this side of the session.
    pub fn send_close_notify(&mut self) {
        self.tls.send_close_notify();
    }

    /// Appends the records that are due to `wire`.
    ///
    /// # Errors
    ///
    /// Never, as rustls writes to memory.
    pub fn take_outgoing(&mut self, wire: &mut Vec<u8>) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(wire)?;
        }
        Ok(())
    }

    /// Whether there was a complete record.
    fn read_record(&mut self) -> Result<bool, TlsError> {
        let unread = &self.incoming[self.read..];
        let Some(size) = record_size(unread)? else { return Ok(false) };
        let mut record = &unread[..size];
        while !record.is_empty() {
            let taken = self.tls.read_tls(&mut record);
            if taken.map_err(|error| TlsError::Bytes(error.to_string()))? == 0 {
                break; // After close_notify nothing counts.
            }
        }
        self.read += size;
        self.record = self.record.end..self.record.end + size as u64;
        self.tls.process_new_packets()?;
        Ok(true)
    }
}

/// The size of the record that `bytes` begin with, once all of it is there (RFC 8446, section 5.1).
fn record_size(bytes: &[u8]) -> Result<Option<usize>, TlsError> {
    if bytes.first().is_some_and(|kind| !CONTENT_TYPES.contains(kind)) {
        let sample = bytes[..bytes.len().min(SAMPLE)].escape_ascii();
        return Err(TlsError::NotTls(sample.to_string()));
    }
    let &[_, _, _, high, low, ..] = bytes else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > RECORD_LIMIT {
        return Err(TlsError::TooLong(length));
    }
    let size = HEADER + length;
    Ok((bytes.len() >= size).then_some(size))
}

/// Bytes of plaintext in a record (RFC 8446, section 5.1).
pub const PLAINTEXT_LIMIT: usize = 1 << 14;
/// `change_cipher_spec`, alert, handshake, `application_data`.
const CONTENT_TYPES: std::ops::RangeInclusive<u8> = 20..=23;
/// Content type, version, length.
const HEADER: usize = 5;
/// RFC 5246, section 6.2.3: 2^14 + 2048; TLS 1.3 allows less.
const RECORD_LIMIT: usize = PLAINTEXT_LIMIT + 2048;
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
