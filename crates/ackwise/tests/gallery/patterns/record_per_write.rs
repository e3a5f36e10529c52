//! The server's TLS library makes a record of each write, and writes each record to the socket.

use std::sync::{Arc, LazyLock};

use ackwise_cause::{Cause, Party};
use rcgen::generate_simple_self_signed;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, Stream,
    crypto::ring,
    pki_types::{PrivatePkcs8KeyDer, ServerName},
};

use super::*;

#[test]
fn a_tls_record_for_each_write() {
    Exhibit {
        title: "A TLS record for each write",
        source: include_str!("record_per_write.rs"),
        network: Network::Cable,
        server: serve,
        client: ask_by_tls,
        verdict: Claim::Costs(Cause::NagleDelayedAck, Party::Server, 85.0),
    }
    .show();
}

fn serve(socket: &mut TcpStream, version: Version) -> io::Result<()> {
    let mut session = ServerConnection::new(identity().server).map_err(io::Error::other)?;
    let mut stream = Stream::new(&mut session, socket);
    let (head, body) = (http::response_head(500), http::body(500));
    loop {
        http::read_message(&mut stream)?;
        match version {
            Version::Buggy => {
                stream.write_all(&head)?;
                stream.write_all(&body)?;
            }
            Version::Fixed => stream.write_all(&[&head[..], &body].concat())?,
        }
    }
}

fn ask_by_tls(server: SocketAddr, _: Version) -> io::Result<()> {
    let mut socket = connect(server)?;
    let name = ServerName::try_from("server").expect("a name");
    let mut session = ClientConnection::new(identity().client, name).map_err(io::Error::other)?;
    let mut stream = Stream::new(&mut session, &mut socket);
    (0..20).try_for_each(|_| {
        stream.write_all(http::GET)?;
        http::read_message(&mut stream)
    })
}

/// What both need to know of the server's name.
#[derive(Clone)]
struct Identity {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

fn identity() -> Identity {
    static MADE: LazyLock<Identity> = LazyLock::new(make_identity);
    MADE.clone()
}

fn make_identity() -> Identity {
    let made = generate_simple_self_signed(["server".to_owned()]).expect("there is randomness");
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("it is a certificate");
    let provider = Arc::new(ring::default_provider());
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .expect("it is the key of the certificate");
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Identity { server: Arc::new(server), client: Arc::new(client) }
}
