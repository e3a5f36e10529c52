//! Captures of TLS with the secrets to decrypt them: rustls talks to itself, and each write is a record.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ackwise_capture::{PcapWriter, SegmentWriter, StreamContents, WHOLE_FRAMES};
use ackwise_tcp::{Flags, Instant, Segment, SeqNumber, Transmit};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, KeyLog, RootCertStore, ServerConfig,
    ServerConnection,
};

/// What is said on each connection: a request, and a response in records of one size. No connection is closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traffic {
    pub(super) name: &'static str,
    pub(super) connections: u32,
    /// Records of the response's body on each.
    pub(super) records: u32,
    /// Bytes of content of each.
    pub(super) bytes: u32,
}

/// A capture with its key log.
#[derive(Clone, Debug)]
pub(super) struct Sealed {
    pub(super) traffic: Traffic,
    pub(super) capture: PathBuf,
    pub(super) keys: PathBuf,
}

impl Sealed {
    /// Writes both into `directory`.
    ///
    /// # Errors
    ///
    /// If they cannot be written, or rustls fails.
    pub(super) fn make(traffic: Traffic, directory: &Path) -> anyhow::Result<Self> {
        let capture = directory.join(traffic.name).with_extension("pcap");
        let keys = capture.with_extension("keys");
        let log = Arc::new(Log::default());
        let (client, server) = configurations(&log)?;
        let file = BufWriter::new(File::create(&capture)?);
        let mut recorder = Recorder {
            file: SegmentWriter::new(PcapWriter::new(file, WHOLE_FRAMES)?),
            now: Instant::EPOCH,
        };
        for number in 0..traffic.connections {
            recorder.record(number, traffic, (&client, &server))?;
        }
        recorder.file.into_file().finish()?.flush()?;
        fs::write(&keys, &*log.0.lock().unwrap_or_else(PoisonError::into_inner))?;
        Ok(Self { traffic, capture, keys })
    }
}

#[derive(Debug, Default)]
struct Log(Mutex<String>);

impl KeyLog for Log {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(label);
        for bytes in [client_random, secret] {
            text.push(' ');
            // Writing to a string cannot fail.
            let _ = bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}"));
        }
        text.push('\n');
    }
}

/// TLS 1.3 with AES-128-GCM, the suite that most connections have.
fn configurations(log: &Arc<Log>) -> anyhow::Result<(Arc<ClientConfig>, Arc<ServerConfig>)> {
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let provider = CryptoProvider { cipher_suites: vec![suite], ..ring::default_provider() };
    let provider = Arc::new(provider);
    let certified = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let mut roots = RootCertStore::empty();
    roots.add(certified.cert.der().clone())?;
    let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.key_log = Arc::clone(log) as _;
    // Each connection has a whole handshake.
    client.resumption = rustls::client::Resumption::disabled();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der())
        .map_err(anyhow::Error::msg)?;
    let server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)?;
    Ok((Arc::new(client), Arc::new(server)))
}

struct Recorder {
    file: SegmentWriter<BufWriter<File>>,
    now: Instant,
}

/// A connection that is recorded.
struct Recorded {
    ends: [SocketAddr; 2],
    /// What was sent, and how much, to the server and to the client.
    streams: [StreamContents; 2],
    sent: [u64; 2],
}

impl Recorder {
    fn record(
        &mut self,
        number: u32,
        traffic: Traffic,
        (client, server): (&Arc<ClientConfig>, &Arc<ServerConfig>),
    ) -> anyhow::Result<()> {
        let mut client = ClientConnection::new(Arc::clone(client), ServerName::try_from(NAME)?)?;
        let mut server = ServerConnection::new(Arc::clone(server))?;
        let mut recorded = Recorded::new(number);
        self.open(&recorded)?;
        while client.is_handshaking() || server.is_handshaking() {
            self.pass(&mut recorded, 0, &mut client, &mut server)?;
            self.pass(&mut recorded, 1, &mut server, &mut client)?;
        }
        client.writer().write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        self.pass(&mut recorded, 0, &mut client, &mut server)?;
        let length = u64::from(traffic.records) * u64::from(traffic.bytes);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        server.writer().write_all(head.as_bytes())?;
        self.pass(&mut recorded, 1, &mut server, &mut client)?;
        let content = vec![b'x'; traffic.bytes as usize];
        for _ in 0..traffic.records {
            server.writer().write_all(&content)?;
            self.pass(&mut recorded, 1, &mut server, &mut client)?;
        }
        Ok(())
    }

    /// What one end has to send leaves in full segments, and is acknowledged at once.
    fn pass<Sender, Receiver>(
        &mut self,
        recorded: &mut Recorded,
        from: usize,
        sender: &mut ConnectionCommon<Sender>,
        receiver: &mut ConnectionCommon<Receiver>,
    ) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        while sender.wants_write() {
            sender.write_tls(&mut bytes)?;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        recorded.streams[from].insert(recorded.sent[from], &bytes);
        for part in bytes.chunks(MSS) {
            let len = u32::try_from(part.len())?;
            self.put(recorded, from, Segment { len, ..recorded.ack(from) })?;
            recorded.sent[from] += part.len() as u64;
        }
        self.put(recorded, 1 - from, recorded.ack(1 - from))?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            receiver.read_tls(&mut rest)?;
            let plain = receiver.process_new_packets()?.plaintext_bytes_to_read();
            receiver.reader().read_exact(&mut vec![0; plain])?;
        }
        Ok(())
    }

    fn open(&mut self, recorded: &Recorded) -> anyhow::Result<()> {
        let syn = |ack| Segment {
            seq: SeqNumber(0),
            ack,
            flags: Flags { syn: true, ..Flags::default() },
            ..Segment::default()
        };
        self.put(recorded, 0, syn(None))?;
        self.put(recorded, 1, syn(Some(SeqNumber(1))))?;
        self.put(recorded, 0, recorded.ack(0))
    }

    fn put(&mut self, recorded: &Recorded, from: usize, segment: Segment) -> anyhow::Result<()> {
        let offset = recorded.sent[from];
        let transmit = Transmit { segment, offset, retransmission: false, ack_reason: None };
        let way = [recorded.ends[from], recorded.ends[1 - from]];
        self.file.write(way, &transmit, &recorded.streams[from], self.now)?;
        self.now = self.now + APART;
        Ok(())
    }
}

impl Recorded {
    fn new(number: u32) -> Self {
        let [_, high, middle, low] = number.to_be_bytes();
        let ends = [([10, high, middle, low], 50_000).into(), ([192, 0, 2, 1], 443).into()];
        Self { ends, streams: Default::default(), sent: [0; 2] }
    }

    /// A segment without data.
    fn ack(&self, from: usize) -> Segment {
        #[expect(clippy::cast_possible_truncation, reason = "sequence numbers wrap")]
        let [seq, ack] = [self.sent[from], self.sent[1 - from]].map(|it| SeqNumber(1) + it as u32);
        Segment { seq, ack: Some(ack), window: 60_000, ..Segment::default() }
    }
}

const NAME: &str = "localhost";

/// Of Ethernet, with timestamps.
const MSS: usize = 1448;

/// Time between packets. Our choice.
const APART: Duration = Duration::from_micros(20);
