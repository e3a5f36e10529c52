//! Whom a TLS session trusts, and what it calls the server.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, WantsVerifier,
    client::{
        WantsClientCert,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{
        CertificateDer, ServerName, UnixTime,
        pem::{self, PemObject},
    },
};

use super::file_verifier::FileVerifier;

/// What all sessions with one server share.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsSettings {
    /// For sessions with `host`, whose certificate must lead to one in `ca_file`, or to one that the
    /// system trusts.
    ///
    /// # Errors
    ///
    /// If `host` cannot stand in a certificate, or `ca_file` or the system holds none.
    pub fn new(host: &str, ca_file: Option<&Path>) -> Result<Self, String> {
        Self::with(host, |builder, provider| {
            let Some(file) = ca_file else {
                return Ok(builder.with_root_certificates(system_roots()?));
            };
            let problem = |what: String| format!("--ca-file {}: {what}", file.display());
            let file_verifier = certificates(file).and_then(|all| FileVerifier::new(all, provider));
            let file_verifier = Arc::new(file_verifier.map_err(problem)?);
            Ok(builder.dangerous().with_custom_certificate_verifier(file_verifier))
        })
    }

    /// Whether sessions could trust any server by what the system has.
    ///
    /// # Errors
    ///
    /// If the system has no root certificates.
    pub fn check_system_roots() -> Result<(), String> {
        system_roots().map(drop)
    }

    /// For sessions with `host`, whose certificate may be any.
    ///
    /// # Errors
    ///
    /// If `host` cannot stand in a certificate.
    pub fn insecure(host: &str) -> Result<Self, String> {
        Self::with(host, |builder, provider| {
            let anybody = Arc::new(Anybody(provider));
            Ok(builder.dangerous().with_custom_certificate_verifier(anybody))
        })
    }

    fn with(
        host: &str,
        verify: impl FnOnce(
            ConfigBuilder<ClientConfig, WantsVerifier>,
            Arc<CryptoProvider>,
        ) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, String>,
    ) -> Result<Self, String> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("cannot verify {host:?}: not a host name or address"))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider serves TLS 1.2 and 1.3");
        let mut config = verify(builder, provider)?.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), name })
    }

    /// The same for sessions that speak HTTP/2 (RFC 9113, section 3.2) and nothing else.
    #[must_use]
    pub fn for_http2(mut self) -> Self {
        Arc::make_mut(&mut self.config).alpn_protocols = vec![b"h2".to_vec()];
        self
    }

    /// A new session, before its handshake.
    ///
    /// # Errors
    ///
    /// If rustls refuses the settings.
    pub fn session(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

/// What the system cannot read is the system's matter: a session says whom it does not trust. None at all is what
/// a container without a distribution has, and no server could be trusted.
fn system_roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    match roots.is_empty() {
        true => Err(NO_ROOTS.to_owned()),
        false => Ok(roots),
    }
}

const NO_ROOTS: &str = "cannot verify servers: this system has no root certificates (expected the package \
                        ca-certificates, a PEM file that SSL_CERT_FILE names, or --ca-file FILE)";

/// The certificates of a PEM file: at least one.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    match certificates {
        Ok(none) if none.is_empty() => {
            Err("contains no certificate (expected at least one, in PEM)".to_owned())
        }
        Ok(certificates) => Ok(certificates),
        Err(pem::Error::Io(error)) => Err(format!("cannot read the file: {error}")),
        Err(error) => Err(error.to_string()),
    }
}

/// `--insecure`: any certificate will do. Signatures are still verified, so that a broken server does
/// not pass for a good one.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
