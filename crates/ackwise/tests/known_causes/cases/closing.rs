//! TLS by rustls and OpenSSL at both ends, closed after an idle time by either: nobody waited for the close_notify.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use ackwise_capture::conversation::Protocol;
use ackwise_testing::skip;
use rcgen::{CertificateParams, KeyPair};
use rustls::{
    ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, ServerConfig, ServerConnection,
    SupportedProtocolVersion, crypto::ring, pki_types::PrivatePkcs8KeyDer, version,
};

use super::super::{
    lab::{self, Host, Lab},
    scenario::Recorded,
};

/// Who closes first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Closer {
    Client,
    Server,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stack {
    Rustls,
    OpenSsl,
}

/// A line that is asked, and its answer: longer than any session ticket.
const LINE: usize = 3_000;
/// Longer than an exchange takes on a busy machine.
const IDLE: Duration = Duration::from_millis(1_500);
const NAME: &str = "server.test";
const PORT: u16 = 443;

#[test]
fn a_close_notify_after_an_idle_time_costs_nobody_anything() {
    let name = "a_close_notify_after_an_idle_time_costs_nobody_anything";
    if let Some(missing) = lab::missing().or_else(|| lab::missing_program(&["openssl"])) {
        return skip(name, missing);
    }
    let keys = Keys::new();
    for version in [&version::TLS12, &version::TLS13] {
        for (server, client, closer) in [
            (Stack::Rustls, Stack::Rustls, Closer::Client),
            (Stack::Rustls, Stack::Rustls, Closer::Server),
            (Stack::Rustls, Stack::OpenSsl, Closer::Client),
            (Stack::Rustls, Stack::OpenSsl, Closer::Server),
            (Stack::OpenSsl, Stack::Rustls, Closer::Client),
            (Stack::OpenSsl, Stack::OpenSsl, Closer::Client),
        ] {
            let case = format!("{:?} {server:?} {client:?} {closer:?}", version.version);
            let lab = Lab::with_cable();
            let address = SocketAddr::from((lab.server.address, PORT));
            let serving = keys.serve(server, &lab.server, version, closer);
            let recorded = Recorded::record("closing tls", &lab, |_| {
                lab.client.inside(|| keys.ask(client, address, version, closer));
            });
            drop(serving);
            lab.stop();
            for (at, analysis) in recorded.analyse().seen {
                let at = at.name();
                assert_eq!(analysis.exchanges.len(), 1, "{case}, at the {at}");
                let exchange = &analysis.exchanges[0];
                let protocol = analysis.connections[exchange.connection as usize].protocol;
                assert_eq!(protocol, Some(Protocol::Tls), "{case}, at the {at}");
                let is_fast = exchange.complete && exchange.duration < IDLE;
                assert!(is_fast, "{case}, at the {at}: {exchange:#?}");
            }
        }
    }
}

/// A certificate and its key, in DER and in files.
struct Keys {
    certificate: rcgen::Certificate,
    key: KeyPair,
    files: [String; 2],
}

/// A server that is ended with this, if it is a program.
struct Serving(Option<Child>);

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(mut program) = self.0.take() {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

impl Keys {
    fn new() -> Self {
        let key = KeyPair::generate().expect("ring makes keys");
        let wanted = CertificateParams::new([NAME.to_owned()]).expect("it is a name");
        let certificate = wanted.self_signed(&key).expect("the key signs");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let files = [("closing.pem", certificate.pem()), ("closing.key", key.serialize_pem())];
        let files = files.map(|(file, text)| {
            let path = folder.join(file);
            fs::write(&path, text).expect("the folder is ours");
            path.display().to_string()
        });
        Self { certificate, key, files }
    }

    /// Answers one line for each connection.
    fn serve(
        &self,
        stack: Stack,
        host: &Host,
        version: &'static SupportedProtocolVersion,
        closer: Closer,
    ) -> Serving {
        match stack {
            Stack::Rustls => {
                let config = Arc::new(self.server_config(version));
                let address = SocketAddr::from((host.address, PORT));
                let listener = host.inside(|| TcpListener::bind(address));
                let listener = listener.expect("nobody has the port");
                thread::spawn(move || {
                    let (socket, _) = listener.accept().expect("the client connects");
                    let session = ServerConnection::new(config).expect("the config is whole");
                    answer(rustls::StreamOwned::new(session, socket), closer);
                });
                Serving(None)
            }
            Stack::OpenSsl => {
                let [certificate, key] = &self.files;
                let mut command = Command::new("openssl");
                command
                    .args(["s_server", "-rev", "-accept", &PORT.to_string(), option(version)])
                    .args(["-cert", certificate, "-key", key])
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null());
                let mut program = host.inside(|| command.spawn()).expect("openssl is installed");
                let said = program.stdout.take().expect("a pipe was asked for");
                let mut lines = BufReader::new(said).lines();
                let listens = lines.any(|line| line.is_ok_and(|it| it.contains("ACCEPT")));
                assert!(listens, "openssl s_server listens");
                Serving(Some(program))
            }
        }
    }

    fn server_config(&self, version: &'static SupportedProtocolVersion) -> ServerConfig {
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .expect("the provider has it")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.der().clone()], key.into())
            .expect("the key is the certificate's")
    }

    /// Sends a line, reads one, and closes or lets the server close.
    fn ask(
        &self,
        stack: Stack,
        address: SocketAddr,
        version: &'static SupportedProtocolVersion,
        closer: Closer,
    ) {
        match stack {
            Stack::Rustls => {
                let mut roots = RootCertStore::empty();
                roots.add(self.certificate.der().clone()).expect("it is a certificate");
                let config =
                    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                        .with_protocol_versions(&[version])
                        .expect("the provider has it")
                        .with_root_certificates(roots)
                        .with_no_client_auth();
                let name = NAME.try_into().expect("it is a name");
                let session = ClientConnection::new(Arc::new(config), name);
                let session = session.expect("the config is whole");
                let socket = TcpStream::connect(address).expect("the server listens");
                let mut stream = rustls::StreamOwned::new(session, socket);
                stream.write_all(&line()).expect("the server reads");
                stream.read_exact(&mut [0; LINE]).expect("the server answers");
                close_or_wait(&mut stream, closer == Closer::Client);
            }
            Stack::OpenSsl => {
                let mut program = Command::new("openssl")
                    .args(["s_client", "-quiet", "-no_ign_eof", option(version)])
                    .args(["-connect", &address.to_string()])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .expect("openssl is installed");
                let mut asks = program.stdin.take().expect("a pipe was asked for");
                let mut hears = program.stdout.take().expect("a pipe was asked for");
                asks.write_all(&line()).expect("openssl reads");
                hears.read_exact(&mut [0; LINE]).expect("the server answers");
                if closer == Closer::Client {
                    thread::sleep(IDLE);
                    drop(asks);
                }
                program.wait().expect("it is our child");
            }
        }
    }
}

/// Answers a line, and closes or lets the client close.
fn answer(mut stream: rustls::StreamOwned<ServerConnection, TcpStream>, closer: Closer) {
    stream.read_exact(&mut [0; LINE]).expect("the client asks");
    stream.write_all(&line()).expect("the client reads");
    stream.flush().expect("the client reads");
    if closer == Closer::Server {
        thread::sleep(IDLE);
    } else {
        let _ = stream.read(&mut [0]);
    }
    stream.conn.send_close_notify();
    let _ = stream.flush();
    let _ = stream.sock.shutdown(Shutdown::Write);
    let _ = stream.sock.read(&mut [0]);
}

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn close_or_wait(stream: &mut rustls::StreamOwned<ClientConnection, TcpStream>, closes: bool) {
    if closes {
        thread::sleep(IDLE);
    } else {
        let _ = stream.read(&mut [0]);
    }
    stream.conn.send_close_notify();
    let _ = stream.flush();
    let _ = stream.sock.shutdown(Shutdown::Write);
    let _ = stream.sock.read(&mut [0; 64]);
}

fn line() -> Vec<u8> {
    let mut line = vec![b'x'; LINE - 1];
    line.push(b'\n');
    line
}

/// OpenSSL's.
fn option(version: &SupportedProtocolVersion) -> &'static str {
    if version.version == ProtocolVersion::TLSv1_2 { "-tls1_2" } else { "-tls1_3" }
}
