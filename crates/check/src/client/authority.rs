//! A CA for one run: its certificate is handed to the client, and its key stays in memory.

mod pkcs12;

use std::{
    ffi::OsString,
    fs::{self, Permissions},
    net::IpAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tempfile::NamedTempFile;

use crate::http_client::Protocol;

/// What the client may trust, and what the server shows.
pub(crate) struct Authority {
    server: ServerConfig,
    shown: Arc<Shown>,
    /// The certificate for programs on OpenSSL, and for Java.
    pem: PathBuf,
    pkcs12: PathBuf,
    /// Removed at the end.
    _own: Vec<NamedTempFile>,
}

/// The server's certificate, and what clients offer that see it.
#[derive(Debug)]
struct Shown {
    key: Arc<CertifiedKey>,
    http2_is_offered: AtomicBool,
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        if hello.alpn().is_some_and(|mut names| names.any(|name| name == HTTP2)) {
            self.http2_is_offered.store(true, Ordering::Relaxed);
        }
        Some(Arc::clone(&self.key))
    }
}

impl Authority {
    /// A CA with a certificate for `address` and `names`, in `file` or a file that is removed at the end.
    pub(crate) fn new(
        address: IpAddr,
        names: &[&str],
        file: Option<&Path>,
    ) -> Result<Self, String> {
        let made = certificates(address, names).map_err(|error| error.to_string())?;
        let mut own = Vec::new();
        let pem = match file {
            Some(file) => {
                let written = fs::write(file, &made.pem);
                written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
                file.to_owned()
            }
            None => temporary(".pem", made.pem.as_bytes(), &mut own)?,
        };
        let pkcs12 = temporary(".p12", &pkcs12::trust_store(&made.der), &mut own)?;
        Ok(Self { server: made.server, shown: made.shown, pem, pkcs12, _own: own })
    }

    /// A server that speaks these versions of HTTP, if the client asks by ALPN.
    pub(crate) fn server(&self, protocols: &[Protocol]) -> Arc<ServerConfig> {
        let name = |it: &Protocol| match it {
            Protocol::Http1 => b"http/1.1".to_vec(),
            Protocol::Http2 => HTTP2.to_vec(),
        };
        let mut server = self.server.clone();
        server.alpn_protocols = protocols.iter().map(name).collect();
        Arc::new(server)
    }

    /// Whether a client has offered HTTP/2.
    pub(crate) fn http2_is_offered(&self) -> bool {
        self.shown.http2_is_offered.load(Ordering::Relaxed)
    }

    /// The variables by which common clients learn whom to trust.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let pem = ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"];
        let mut java = std::env::var_os(JAVA).unwrap_or_default();
        java.push(" -Djavax.net.ssl.trustStoreType=PKCS12 -Djavax.net.ssl.trustStore=");
        java.push(&self.pkcs12);
        pem.into_iter().map(|name| (name, self.pem.clone().into())).chain([(JAVA, java)]).collect()
    }
}

/// A new file that whoever runs the command can read.
fn temporary(ending: &str, bytes: &[u8], own: &mut Vec<NamedTempFile>) -> Result<PathBuf, String> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("ackwise-ca-").suffix(ending).permissions(Permissions::from_mode(0o644));
    let file = builder.tempfile().map_err(|error| format!("cannot make a file: {error}"))?;
    let path = file.path().to_owned();
    fs::write(&path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    own.push(file);
    Ok(path)
}

struct Made {
    server: ServerConfig,
    shown: Arc<Shown>,
    pem: String,
    der: Vec<u8>,
}

fn certificates(address: IpAddr, names: &[&str]) -> Result<Made, Box<dyn std::error::Error>> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "Ackwise, for one run");
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?;
    let issuer = Issuer::new(params, key);
    let names = names.iter().map(|name| (*name).to_owned());
    let leaf = CertificateParams::new(names.chain([address.to_string()]).collect::<Vec<_>>())?;
    let leaf_key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&leaf_key, &issuer)?;
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = vec![certificate.der().clone()];
    let key = CertifiedKey::from_der(chain, private, &provider)?;
    let shown = Arc::new(Shown { key: Arc::new(key), http2_is_offered: AtomicBool::new(false) });
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::<Shown>::clone(&shown));
    let (pem, der) = (authority.pem(), authority.der().to_vec());
    Ok(Made { server, shown, pem, der })
}

/// HTTP/2's name in ALPN (RFC 9113, section 3.1).
const HTTP2: &[u8] = b"h2";

const JAVA: &str = "JAVA_TOOL_OPTIONS";
