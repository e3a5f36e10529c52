//! How messages look on the wire: HTTP/1, HTTP/2, TLS and a protocol that nobody knows.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, ServerConfig, ServerConnection,
    SignatureScheme, StreamOwned,
};

use super::h2;
use super::line::{Line, pause};
use super::plan::{Kind, Message, Protocol, Reading, Step};

/// One end, which speaks a protocol.
#[derive(Debug)]
pub(super) enum Wire {
    Plain(Line, Protocol),
    Http2(h2::Peer),
    Client(Box<StreamOwned<ClientConnection, Line>>),
    Server(Box<StreamOwned<ServerConnection, Line>>),
}

impl Wire {
    pub(super) fn client(line: Line, protocol: Protocol) -> anyhow::Result<Self> {
        Ok(match protocol {
            Protocol::Http1 | Protocol::Closes | Protocol::Unknown => Self::Plain(line, protocol),
            Protocol::Http2 { window } => Self::Http2(h2::Peer::client(line, window)?),
            Protocol::Tls => {
                let name = ServerName::try_from("server")?;
                let session = ClientConnection::new(client_config()?, name)?;
                let mut stream = StreamOwned::new(session, line);
                while stream.conn.is_handshaking() {
                    stream.conn.complete_io(&mut stream.sock)?;
                }
                Self::Client(Box::new(stream))
            }
        })
    }

    pub(super) fn server(line: Line, protocol: Protocol) -> anyhow::Result<Self> {
        Ok(match protocol {
            Protocol::Http1 | Protocol::Closes | Protocol::Unknown => Self::Plain(line, protocol),
            Protocol::Http2 { .. } => Self::Http2(h2::Peer::server(line)?),
            Protocol::Tls => {
                let session = ServerConnection::new(server_config()?)?;
                let mut stream = StreamOwned::new(session, line);
                while stream.conn.is_handshaking() {
                    stream.conn.complete_io(&mut stream.sock)?;
                }
                Self::Server(Box::new(stream))
            }
        })
    }

    /// Writes a message step by step.
    pub(super) fn write(&mut self, kind: Kind, message: &Message) -> io::Result<()> {
        if let Self::Http2(peer) = self {
            return peer.write(kind, message);
        }
        let head = self.head(kind, message.body);
        let bytes = [head.clone(), vec![b'x'; message.body]].concat();
        let mut at = 0;
        self.line().diary.begin();
        for step in &message.steps {
            let until = match *step {
                Step::Head => head.len(),
                Step::Bytes(len) => bytes.len().min(at + len),
                Step::Rest => bytes.len(),
                Step::Pause(span) => {
                    pause(span);
                    continue;
                }
                Step::Cork(on) => {
                    self.line().cork(on)?;
                    continue;
                }
            };
            self.stream().write_all(&bytes[at..until])?;
            self.stream().flush()?;
            at = until;
        }
        self.line().diary.end();
        Ok(())
    }

    /// Reads a message, whose size both ends know.
    pub(super) fn read(&mut self, kind: Kind, body: usize, reading: Reading) -> io::Result<()> {
        if let Self::Http2(peer) = self {
            return peer.read(kind, reading);
        }
        let mut left = self.head(kind, body).len() + body;
        if !reading.late.is_zero() {
            // Late for what has come, not for what will.
            self.line().wait_for_data()?;
            self.line().stay_away(reading.late);
        }
        let mut buffer = vec![0; reading.chunk];
        while left > 0 {
            let part = left.min(buffer.len());
            match self.stream().read(&mut buffer[..part])? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                len => left -= len,
            }
            if left > 0 {
                self.line().stay_away(reading.pause);
            }
        }
        let now = self.line().now();
        self.line().diary.received.push(now);
        Ok(())
    }

    pub(super) fn line(&mut self) -> &mut Line {
        match self {
            Self::Plain(line, _) => line,
            Self::Http2(peer) => peer.line(),
            Self::Client(stream) => &mut stream.sock,
            Self::Server(stream) => &mut stream.sock,
        }
    }

    fn stream(&mut self) -> &mut dyn Stream {
        match self {
            Self::Plain(line, _) => line,
            Self::Http2(peer) => peer.line(),
            Self::Client(stream) => stream.as_mut(),
            Self::Server(stream) => stream.as_mut(),
        }
    }

    fn head(&self, kind: Kind, body: usize) -> Vec<u8> {
        if let Self::Plain(_, Protocol::Unknown) = self {
            // 16 bytes, none of which looks like a protocol: a mark and the length.
            return [&[0xa7, 0x5c, 0, 1, 0, 0, 0, 0], &(body as u64).to_be_bytes()[..]].concat();
        }
        match (kind, body) {
            (Kind::Request, 0) => b"GET /page HTTP/1.1\r\nHost: server\r\n\r\n".to_vec(),
            (Kind::Request, _) => {
                format!("POST /upload HTTP/1.1\r\nHost: server\r\nContent-Length: {body}\r\n\r\n")
                    .into()
            }
            (Kind::Response, _) if matches!(self, Self::Plain(_, Protocol::Closes)) => {
                b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_vec()
            }
            (Kind::Response, _) => {
                let fields = format!("Content-Type: text/plain\r\nContent-Length: {body}");
                format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n").into()
            }
        }
    }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn client_config() -> anyhow::Result<Arc<ClientConfig>> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn server_config() -> anyhow::Result<Arc<ServerConfig>> {
    let made = rcgen::generate_simple_self_signed(["server".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    // A ticket would be written before the first response, outside any message.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// Accepts the server's own certificate: the path has no attackers.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
