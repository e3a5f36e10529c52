//! TLS over any of the transports: a session for each connection.
//!
//! The handshake is part of the first write, which takes nothing before the handshake is over; so
//! latencies of the first request on a connection include it.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::{IpAddr, SocketAddr, TcpStream},
    time::Duration,
};

use ackwise_client::{TlsSettings, refusal};
use ackwise_tcp::TimeWaitReason;
use rustls::ClientConnection;

use super::clients::Clients;
use crate::generator::{AfterWrite, ConnectError, ConnectionError, Heard, Read, Slot, Transport};

/// A transport whose bytes are those of TLS sessions over `inner`.
pub(super) struct TlsTransport<T> {
    inner: T,
    settings: TlsSettings,
    sessions: Vec<Option<Session>>,
    /// For one read.
    buffer: Vec<u8>,
}

struct Session {
    tls: ClientConnection,
    /// Records that the transport has not taken yet.
    outgoing: Vec<u8>,
    /// Received bytes that the session has not taken yet: it keeps only some records' plaintext. At most
    /// one read.
    incoming: Vec<u8>,
    /// Whether the server has closed its half of the connection.
    ended: bool,
}

impl<T: Transport> TlsTransport<T> {
    /// Sessions with `settings` for `slots` concurrent connections.
    pub(super) fn new(inner: T, settings: TlsSettings, slots: usize) -> Self {
        let sessions = std::iter::repeat_with(|| None).take(slots).collect();
        Self { inner, settings, sessions, buffer: vec![0; READ_SIZE] }
    }

    /// Hands records to the transport, as far as it takes them.
    fn flush(&mut self, slot: Slot, follows: AfterWrite) -> Result<(), ConnectionError> {
        let session = self.sessions[slot.0].as_mut().ok_or(ConnectionError::Reset)?;
        while session.tls.wants_write() {
            session.tls.write_tls(&mut session.outgoing).map_err(|error| error.kind())?;
        }
        while !session.outgoing.is_empty() {
            match self.inner.write(slot, &session.outgoing, follows)? {
                0 => return Ok(()),
                written => drop(session.outgoing.drain(..written)),
            }
        }
        Ok(())
    }

    /// Takes what has arrived, up to the first plaintext. Returns whether there was anything.
    fn receive(&mut self, slot: Slot) -> Result<bool, ConnectionError> {
        let session = self.sessions[slot.0].as_mut().ok_or(ConnectionError::Reset)?;
        if session.incoming.is_empty() {
            match self.inner.read(slot, &mut self.buffer)? {
                Read::Nothing => return Ok(false),
                Read::End => {
                    session.ended = true;
                    return Ok(false);
                }
                Read::ByteCount(bytes) => {
                    session.incoming.extend_from_slice(&self.buffer[..bytes]);
                }
            }
        }
        let mut unread = &session.incoming[..];
        while !unread.is_empty() {
            let taken = session.tls.read_tls(&mut unread).map_err(|error| error.kind())?;
            let state = session.tls.process_new_packets().map_err(|_| ConnectionError::Tls)?;
            if taken == 0 {
                unread = &[]; // After close_notify nothing counts.
            }
            if state.plaintext_bytes_to_read() > 0 {
                break;
            }
        }
        let taken = session.incoming.len() - unread.len();
        session.incoming.drain(..taken);
        Ok(true)
    }
}

impl<T: Transport> Transport for TlsTransport<T> {
    fn now(&self) -> Duration {
        self.inner.now()
    }

    fn connect(&mut self, slot: Slot) -> Result<(), ConnectError> {
        let tls = self.settings.session();
        let tls = tls.map_err(|error| ConnectError::System(io::Error::other(error)))?;
        self.inner.connect(slot)?;
        self.sessions[slot.0] =
            Some(Session { tls, outgoing: Vec::new(), incoming: Vec::new(), ended: false });
        Ok(())
    }

    fn write(
        &mut self,
        slot: Slot,
        bytes: &[u8],
        follows: AfterWrite,
    ) -> Result<usize, ConnectionError> {
        self.flush(slot, AfterWrite::Nothing)?;
        while self.session(slot)?.tls.is_handshaking() {
            let has_more = self.receive(slot)?;
            self.flush(slot, AfterWrite::Nothing)?;
            let session = self.session(slot)?;
            if session.ended && session.tls.is_handshaking() {
                return Err(ConnectionError::Tls);
            }
            if !has_more && session.tls.is_handshaking() {
                return Ok(0);
            }
        }
        let session = self.session(slot)?;
        if !session.outgoing.is_empty() {
            return Ok(0); // The transport is full.
        }
        let taken = session.tls.writer().write(bytes).map_err(|error| error.kind())?;
        self.flush(slot, follows)?;
        Ok(taken)
    }

    fn read(&mut self, slot: Slot, buffer: &mut [u8]) -> Result<Read, ConnectionError> {
        self.flush(slot, AfterWrite::Nothing)?;
        loop {
            let session = self.session(slot)?;
            match session.tls.reader().read(buffer) {
                // The end is TCP's: the FIN after a close_notify decides who closes first. Without
                // close_notify, an end is judged by HTTP's framing.
                Ok(0) => {}
                Ok(bytes) => return Ok(Read::ByteCount(bytes)),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::UnexpectedEof) => {
                }
                Err(error) => return Err(error.kind().into()),
            }
            if session.ended && session.incoming.is_empty() {
                return Ok(Read::End);
            }
            if !self.receive(slot)? && !self.session(slot)?.ended {
                return Ok(Read::Nothing);
            }
        }
    }

    fn may_have_ended(&mut self, slot: Slot, now: Duration) -> bool {
        let has_more = |session: &mut Session| session.ended || !session.incoming.is_empty();
        self.session(slot).is_ok_and(has_more) || self.inner.may_have_ended(slot, now)
    }

    fn heard(&mut self, slot: Slot) -> Option<Heard> {
        self.inner.heard(slot)
    }

    fn half_close(&mut self, slot: Slot) {
        self.notify(slot);
        self.inner.half_close(slot);
    }

    fn close(&mut self, slot: Slot) {
        self.notify(slot);
        self.sessions[slot.0] = None;
        self.inner.close(slot);
    }

    fn abort(&mut self, slot: Slot) {
        self.sessions[slot.0] = None;
        self.inner.abort(slot);
    }

    fn poll(&mut self, until: Duration, ready: &mut Vec<Slot>) -> io::Result<()> {
        self.inner.poll(until, ready)
    }
}

impl<T: Transport> TlsTransport<T> {
    fn session(&mut self, slot: Slot) -> Result<&mut Session, ConnectionError> {
        self.sessions[slot.0].as_mut().ok_or(ConnectionError::Reset)
    }

    /// RFC 8446, section 6.1: "Each party MUST send a "close_notify" alert before closing its write
    /// side of the connection", unless it has already sent an error alert. Not to a server that has
    /// closed: it would answer with an RST, which ends its TIME-WAIT.
    fn notify(&mut self, slot: Slot) {
        let Ok(session) = self.session(slot) else { return };
        if session.ended || session.tls.is_handshaking() {
            return;
        }
        session.tls.send_close_notify();
        // If it fails, the connection is broken.
        let _ = self.flush(slot, AfterWrite::Close);
    }
}

impl<T: Clients> Clients for TlsTransport<T> {
    fn time_wait_reasons(&mut self) -> Option<Vec<(TimeWaitReason, u64)>> {
        self.inner.time_wait_reasons()
    }

    fn is_closing(&self) -> bool {
        self.inner.is_closing()
    }

    fn address(&self) -> Option<IpAddr> {
        self.inner.address()
    }

    fn packets_lost(&self) -> u64 {
        self.inner.packets_lost()
    }
}

/// Makes one handshake with the kernel's TCP, so that a certificate that is not trusted is one clear
/// message instead of thousands of failures.
///
/// # Errors
///
/// If the server cannot be reached or trusted.
pub(super) fn try_handshake(
    server: SocketAddr,
    settings: &TlsSettings,
    timeout: Duration,
) -> Result<(), String> {
    let mut tls = settings.session().map_err(|error| error.to_string())?;
    let mut socket =
        TcpStream::connect_timeout(&server, timeout).map_err(|error| error.to_string())?;
    let limits = [socket.set_read_timeout(Some(timeout)), socket.set_write_timeout(Some(timeout))];
    limits.into_iter().collect::<io::Result<()>>().map_err(|error| error.to_string())?;
    while tls.is_handshaking() {
        tls.complete_io(&mut socket).map_err(|error| in_words(&error))?;
    }
    tls.send_close_notify();
    // The handshake has succeeded, which was the question.
    let _ = tls.complete_io(&mut socket);
    Ok(())
}

/// rustls wraps its errors into those of the connection.
fn in_words(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match (inner, error.kind()) {
        (Some(rustls::Error::InvalidMessage(_)), _) => {
            "the response is not TLS (if the server has no TLS, use http://)".to_owned()
        }
        (Some(inner), _) => refusal(inner),
        (None, ErrorKind::WouldBlock) => {
            "no response in time (if the server has no TLS, use http://)".to_owned()
        }
        (None, ErrorKind::UnexpectedEof) => "the server closed during the handshake".to_owned(),
        (None, _) => error.to_string(),
    }
}

/// Larger than the largest record (RFC 8446, section 5.2).
const READ_SIZE: usize = 32 * 1024;
