//! A program's connection as it reads and writes it: as it is, or below TLS 1.3.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, DigitallySignedStruct, ServerConfig,
    ServerConnection, SignatureScheme, StreamOwned,
};

use super::line::Line;
use super::plan::{Plan, Protocol};
use super::secrets::Secrets;

/// One end.
#[derive(Debug)]
pub(super) enum Channel {
    Plain(Box<Line>),
    Client(Box<StreamOwned<ClientConnection, Line>>),
    Server(Box<StreamOwned<ServerConnection, Line>>),
}

impl Channel {
    pub(super) fn client(
        line: Line,
        protocol: Protocol,
        secrets: &Secrets,
    ) -> anyhow::Result<Self> {
        if !protocol.is_sealed() {
            return Ok(Self::Plain(Box::new(line)));
        }
        let name = ServerName::try_from("server")?;
        let session = ClientConnection::new(client_config(protocol, secrets)?, name)?;
        let mut stream = StreamOwned::new(session, line);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Self::Client(Box::new(stream)))
    }

    pub(super) fn server(line: Line, plan: &Plan) -> anyhow::Result<Self> {
        if !plan.protocol.is_sealed() {
            return Ok(Self::Plain(Box::new(line)));
        }
        let session = ServerConnection::new(server_config(plan)?)?;
        let mut stream = StreamOwned::new(session, line);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Self::Server(Box::new(stream)))
    }

    pub(super) fn line(&mut self) -> &mut Line {
        match self {
            Self::Plain(line) => line,
            Self::Client(stream) => &mut stream.sock,
            Self::Server(stream) => &mut stream.sock,
        }
    }

    /// Reads what has arrived, if anything has.
    pub(super) fn read_if_ready(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Plain(line) => line.read_if_ready(buffer),
            Self::Client(stream) => open_if_ready(&mut stream.conn, &mut stream.sock, buffer),
            Self::Server(stream) => open_if_ready(&mut stream.conn, &mut stream.sock, buffer),
        }
    }
}

/// Opens the records that have arrived; `None` if they are not whole.
fn open_if_ready<Data>(
    session: &mut ConnectionCommon<Data>,
    line: &mut Line,
    buffer: &mut [u8],
) -> io::Result<Option<usize>> {
    let mut sealed = [0; 16_384];
    if let Some(length) = line.read_if_ready(&mut sealed)? {
        let mut sealed = &sealed[..length];
        while !sealed.is_empty() {
            session.read_tls(&mut sealed)?;
            session.process_new_packets().map_err(io::Error::other)?;
        }
    }
    match session.reader().read(buffer) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        result => result.map(Some),
    }
}

impl Read for Channel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(line) => line.read(buffer),
            Self::Client(stream) => stream.read(buffer),
            Self::Server(stream) => stream.read(buffer),
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(line) => line.write(bytes),
            Self::Client(stream) => stream.write(bytes),
            Self::Server(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(line) => line.flush(),
            Self::Client(stream) => stream.flush(),
            Self::Server(stream) => stream.flush(),
        }
    }
}

fn client_config(protocol: Protocol, secrets: &Secrets) -> anyhow::Result<Arc<ClientConfig>> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_no_client_auth();
    config.key_log = secrets.key_log();
    config.alpn_protocols = protocol.alpn();
    Ok(Arc::new(config))
}

fn server_config(plan: &Plan) -> anyhow::Result<Arc<ServerConfig>> {
    let made = rcgen::generate_simple_self_signed(["server".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    // They are written before the first response, outside any message.
    config.send_tls13_tickets = plan.tickets;
    config.alpn_protocols = plan.protocol.alpn();
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
