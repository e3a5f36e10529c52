//! A client and a server of rustls, which log their secrets, and what they put on the wire.

use std::{
    fmt::Write as _,
    io::{Read, Write},
    sync::{Arc, Mutex},
};

use ackwise_cause::Direction::{self, ToClient, ToServer};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
    SupportedCipherSuite, SupportedProtocolVersion,
    crypto::{CryptoProvider, ring},
    pki_types::PrivateKeyDer,
    server::WebPkiClientVerifier,
};

/// What one side writes at once.
pub(crate) type Said = (Direction, Vec<u8>);

/// Segments on the wire, or what was in them: where they stand in their stream.
pub(crate) type Sent = Vec<(Direction, u64, Vec<u8>)>;

#[derive(Debug, Default)]
struct Log(Mutex<String>);

impl rustls::KeyLog for Log {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        };
        let line = format!("{label} {} {}\n", hex(client_random), hex(secret));
        self.0.lock().unwrap().push_str(&line);
    }
}

/// Both configurations, for any number of connections.
pub(crate) struct Peers {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    log: Arc<Log>,
}

/// A connection, from its first byte to its last.
pub(crate) struct Recorded {
    pub(crate) keys: String,
    pub(crate) wire: Sent,
}

impl Peers {
    /// With one cipher suite.
    pub(crate) fn new(
        version: &'static SupportedProtocolVersion,
        suite: SupportedCipherSuite,
    ) -> Self {
        Self::with(version, suite, 0, false)
    }

    /// With a limit in bytes for early data, and with or without certificates of clients.
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    pub(crate) fn with(
        version: &'static SupportedProtocolVersion,
        suite: SupportedCipherSuite,
        early: u32,
        with_certificate: bool,
    ) -> Self {
        let provider = CryptoProvider { cipher_suites: vec![suite], ..ring::default_provider() };
        let provider = Arc::new(provider);
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certified.cert.der().clone()).unwrap();
        let log = Arc::new(Log::default());
        let roots = Arc::new(roots);
        let certificates = vec![certified.cert.der().clone()];
        let key = || PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(Arc::clone(&roots));
        let mut client = match with_certificate {
            true => client.with_client_auth_cert(certificates.clone(), key()).unwrap(),
            false => client.with_no_client_auth(),
        };
        client.key_log = Arc::clone(&log) as _;
        client.enable_early_data = true;
        let wants = |provider: &Arc<CryptoProvider>| {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider));
            verifier.build().unwrap()
        };
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[version])
            .unwrap();
        let server = match with_certificate {
            true => server.with_client_cert_verifier(wants(&provider)),
            false => server.with_no_client_auth(),
        };
        let mut server = server.with_single_cert(certificates, key()).unwrap();
        server.max_early_data_size = early;
        Self { client: Arc::new(client), server: Arc::new(server), log }
    }

    /// Takes no early data from now on, although it has said that it would.
    pub(crate) fn refuse_early(&mut self) {
        let mut server = (*self.server).clone();
        server.max_early_data_size = 0;
        self.server = Arc::new(server);
    }

    /// Talks on a new connection; `segment` is the most bytes of a segment. `early` is what the client says
    /// before the handshake is done. Both change their keys before what they say at `update`.
    pub(crate) fn talk(
        &self,
        early: &[u8],
        said: &[Said],
        segment: usize,
        update: Option<usize>,
    ) -> Recorded {
        let name = "localhost".try_into().unwrap();
        let client = ClientConnection::new(Arc::clone(&self.client), name).unwrap();
        let server = ServerConnection::new(Arc::clone(&self.server)).unwrap();
        let mut talk = Talk { client, server, segment, sent: [0; 2], wire: Vec::new() };
        if !early.is_empty() {
            let taken = talk.client.early_data().expect("resumed").write(early).unwrap();
            assert_eq!(taken, early.len());
        }
        talk.shake_hands();
        if !early.is_empty() && !talk.client.is_early_data_accepted() {
            talk.say(ToServer, early);
        }
        for (number, (direction, bytes)) in said.iter().enumerate() {
            if update == Some(number) {
                talk.client.refresh_traffic_keys().unwrap();
                talk.server.refresh_traffic_keys().unwrap();
            }
            talk.say(*direction, bytes);
        }
        talk.client.send_close_notify();
        talk.server.send_close_notify();
        talk.pass(ToServer);
        talk.pass(ToClient);
        Recorded { keys: self.log.0.lock().unwrap().clone(), wire: talk.wire }
    }
}

struct Talk {
    client: ClientConnection,
    server: ServerConnection,
    segment: usize,
    sent: [u64; 2],
    wire: Sent,
}

impl Talk {
    fn shake_hands(&mut self) {
        while self.client.is_handshaking() || self.server.is_handshaking() {
            self.pass(ToServer);
            self.pass(ToClient);
        }
        self.pass(ToServer);
        self.pass(ToClient);
    }

    fn say(&mut self, direction: Direction, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = match direction {
                ToServer => self.client.writer().write(bytes),
                ToClient => self.server.writer().write(bytes),
            };
            bytes = &bytes[taken.unwrap()..];
            self.pass(direction);
        }
    }

    /// What one side has to send reaches the other.
    fn pass(&mut self, direction: Direction) {
        let mut bytes = Vec::new();
        match direction {
            ToServer => {
                while self.client.wants_write() {
                    self.client.write_tls(&mut bytes).unwrap();
                }
            }
            ToClient => {
                while self.server.wants_write() {
                    self.server.write_tls(&mut bytes).unwrap();
                }
            }
        }
        for part in bytes.chunks(self.segment) {
            self.wire.push((direction, self.sent[direction as usize], part.to_vec()));
            self.sent[direction as usize] += part.len() as u64;
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            // Plaintext has to be taken, or there is no room for more.
            let mut buffer = vec![0; 1 << 17];
            match direction {
                ToServer => {
                    self.server.read_tls(&mut rest).unwrap();
                    self.server.process_new_packets().unwrap();
                    if let Some(mut early) = self.server.early_data() {
                        let _ = early.read(&mut buffer);
                    }
                    let _ = self.server.reader().read(&mut buffer);
                }
                ToClient => {
                    self.client.read_tls(&mut rest).unwrap();
                    self.client.process_new_packets().unwrap();
                    let _ = self.client.reader().read(&mut buffer);
                }
            }
        }
    }
}
