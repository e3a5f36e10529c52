//! TLS over any of the transports: a session for each connection.
//!
//! The handshake is part of the first write, which takes nothing before the handshake is over; so
//! latencies of the first request on a connection include it.

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr, TcpStream},
    time::Duration,
};

use ackwise_tcp::TimeWaitReason;

use super::{AfterWrite, ConnectError, ConnectionError, Heard, Read, Slot, Transport};
use crate::tls::{TlsError, TlsSession, TlsSettings};

/// A transport whose bytes are those of TLS sessions over `inner`.
pub struct TlsTransport<T> {
    inner: T,
    settings: TlsSettings,
    sessions: Vec<Option<Session>>,
    /// For one read.
    buffer: Vec<u8>,
}

struct Session {
    tls: TlsSession,
    /// Records that the transport has not taken yet.
    outgoing: Vec<u8>,
    /// Whether the server has closed its half of the connection.
    ended: bool,
}

impl<T: Transport> TlsTransport<T> {
    /// Sessions with `settings` for `slots` concurrent connections.
    pub fn new(inner: T, settings: TlsSettings, slots: usize) -> Self {
        let sessions = std::iter::repeat_with(|| None).take(slots).collect();
        Self { inner, settings, sessions, buffer: vec![0; READ_SIZE] }
    }

    fn session(&mut self, slot: Slot) -> Result<&mut Session, ConnectionError> {
        self.sessions[slot.0].as_mut().ok_or(ConnectionError::Reset)
    }

    /// Hands records to the transport, as far as it takes them.
    fn flush(&mut self, slot: Slot, follows: AfterWrite) -> Result<(), ConnectionError> {
        let session = self.sessions[slot.0].as_mut().ok_or(ConnectionError::Reset)?;
        session.tls.take_outgoing(&mut session.outgoing).map_err(|error| error.kind())?;
        while !session.outgoing.is_empty() {
            match self.inner.write(slot, &session.outgoing, follows)? {
                0 => return Ok(()),
                written => drop(session.outgoing.drain(..written)),
            }
        }
        Ok(())
    }

    /// Takes what has arrived. Returns whether there was anything.
    fn receive(&mut self, slot: Slot) -> Result<bool, ConnectionError> {
        let session = self.sessions[slot.0].as_mut().ok_or(ConnectionError::Reset)?;
        match self.inner.read(slot, &mut self.buffer)? {
            Read::Nothing => Ok(false),
            Read::End => {
                session.ended = true;
                Ok(false)
            }
            Read::ByteCount(bytes) => {
                session.tls.receive(&self.buffer[..bytes]);
                Ok(true)
            }
        }
    }

    /// Goes on with the handshake, as far as records are there. Returns whether it is over.
    fn shake_hands(&mut self, slot: Slot) -> Result<bool, ConnectionError> {
        while self.session(slot)?.tls.is_handshaking() {
            let has_more = self.receive(slot)?;
            let session = self.session(slot)?;
            let failed = session.tls.shake_hands().err();
            self.flush(slot, AfterWrite::Nothing)?;
            let session = self.session(slot)?;
            match failed {
                Some(error) => return Err(error.into()),
                None if !session.tls.is_handshaking() => break,
                None if session.ended => return Err(ConnectionError::Tls),
                None if !has_more => return Ok(false),
                None => {}
            }
        }
        Ok(true)
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

impl From<TlsError> for ConnectionError {
    fn from(_: TlsError) -> Self {
        Self::Tls
    }
}

impl<T: Transport> Transport for TlsTransport<T> {
    fn now(&self) -> Duration {
        self.inner.now()
    }

    fn connect(&mut self, slot: Slot) -> Result<(), ConnectError> {
        let tls = TlsSession::new(&self.settings);
        let tls = tls.map_err(|error| ConnectError::System(io::Error::other(error)))?;
        self.inner.connect(slot)?;
        self.sessions[slot.0] = Some(Session { tls, outgoing: Vec::new(), ended: false });
        Ok(())
    }

    fn write(
        &mut self,
        slot: Slot,
        bytes: &[u8],
        follows: AfterWrite,
    ) -> Result<usize, ConnectionError> {
        self.flush(slot, AfterWrite::Nothing)?;
        if !self.shake_hands(slot)? {
            return Ok(0);
        }
        let session = self.session(slot)?;
        if !session.outgoing.is_empty() {
            return Ok(0); // The transport is full.
        }
        let taken = session.tls.write(bytes).map_err(|error| error.kind())?;
        self.flush(slot, follows)?;
        Ok(taken)
    }

    fn read(&mut self, slot: Slot, buffer: &mut [u8]) -> Result<Read, ConnectionError> {
        self.flush(slot, AfterWrite::Nothing)?;
        loop {
            let session = self.session(slot)?;
            // The end is TCP's: the FIN after a close_notify decides who closes first.
            match session.tls.read(buffer)? {
                0 if session.ended => return Ok(Read::End),
                0 => {}
                bytes => return Ok(Read::ByteCount(bytes)),
            }
            if !self.receive(slot)? && !self.session(slot)?.ended {
                return Ok(Read::Nothing);
            }
        }
    }

    fn may_have_ended(&mut self, slot: Slot, now: Duration) -> bool {
        let has_more = |session: &mut Session| session.ended || session.tls.has_unread();
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
pub fn try_handshake(
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
        (Some(inner), _) => TlsError::from(inner.clone()).to_string(),
        (None, ErrorKind::WouldBlock) => {
            "no response in time (if the server has no TLS, use http://)".to_owned()
        }
        (None, ErrorKind::UnexpectedEof) => "the server closed during the handshake".to_owned(),
        (None, _) => error.to_string(),
    }
}

/// Larger than the largest record (RFC 8446, section 5.2).
const READ_SIZE: usize = 32 * 1024;
