//! A CA for one run: its certificate is handed to the client, and its key stays in memory.

mod pkcs12;

use std::{
    ffi::OsString,
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
    process,
    sync::Arc,
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};

/// What the client may trust, and what the server shows.
pub(super) struct Authority {
    pub(super) server: Arc<ServerConfig>,
    /// The certificate for programs on OpenSSL, and for Java.
    pem: PathBuf,
    pkcs12: PathBuf,
    /// Removed at the end.
    own: Vec<PathBuf>,
}

impl Authority {
    /// A CA with a certificate for `address` and `names`, in `file` or a file that is removed at the end.
    pub(super) fn new(
        address: IpAddr,
        names: &[&str],
        file: Option<&Path>,
    ) -> Result<Self, String> {
        let made = certificates(address, names).map_err(|error| error.to_string())?;
        let temporary =
            |ending| std::env::temp_dir().join(format!("ackwise-ca-{}.{ending}", process::id()));
        let pem = file.map_or_else(|| temporary("pem"), Path::to_owned);
        let pkcs12 = temporary("p12");
        let mut authority = Self { server: made.server, pem, pkcs12, own: Vec::new() };
        if let Some(file) = file {
            fs::write(file, &made.pem)
                .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        } else {
            authority.write_new(authority.pem.clone(), made.pem.as_bytes())?;
        }
        authority.write_new(authority.pkcs12.clone(), &pkcs12::trust_store(&made.der))?;
        Ok(authority)
    }

    /// Not over a file, or through a link, that somebody else has put there: what is not ours is not removed either.
    fn write_new(&mut self, path: PathBuf, bytes: &[u8]) -> Result<(), String> {
        let failed = |error: io::Error| format!("cannot write {}: {error}", path.display());
        let opened = fs::OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = opened.map_err(failed)?;
        self.own.push(path.clone());
        io::Write::write_all(&mut file, bytes).map_err(failed)
    }

    /// The variables by which common clients learn whom to trust.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let pem = ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"];
        let mut java = std::env::var_os(JAVA).unwrap_or_default();
        java.push(" -Djavax.net.ssl.trustStoreType=PKCS12 -Djavax.net.ssl.trustStore=");
        java.push(&self.pkcs12);
        pem.into_iter().map(|name| (name, self.pem.clone().into())).chain([(JAVA, java)]).collect()
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        for path in &self.own {
            let _ = fs::remove_file(path); // What is gone need not be removed.
        }
    }
}

struct Made {
    server: Arc<ServerConfig>,
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
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    let (pem, der) = (authority.pem(), authority.der().to_vec());
    Ok(Made { server: Arc::new(server), pem, der })
}

const JAVA: &str = "JAVA_TOOL_OPTIONS";
