//! `explain --export N FILE`, with and without the secrets of TLS: rustls on both ends is recorded.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

#[path = "../../../capture/tests/keys/peers.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod peers;

use std::{
    env, fs,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output, Stdio, id},
    sync::atomic::{AtomicU32, Ordering},
};

use ackwise_capture::{PcapWriter, SegmentWriter, StreamContents, WHOLE_FRAMES};
use ackwise_cause::Direction::{ToClient, ToServer};
use ackwise_tcp::{Flags, Instant, Segment, SeqNumber, Transmit};
use peers::{Peers, Recorded, Said};
use rustls::{
    crypto::ring::cipher_suite::{
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS13_AES_128_GCM_SHA256,
    },
    version::{TLS12, TLS13},
};
use serde_json::Value;

/// Three exchanges; the last one's packets are those of the end of the connection.
fn said() -> Vec<Said> {
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes();
    let answer = |length: usize| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
        [head, vec![b'x'; length]].concat()
    };
    vec![
        (ToServer, get("/first")),
        (ToClient, answer(20_000)),
        (ToServer, get("/second")),
        (ToClient, answer(300)),
        (ToServer, get("/third")),
        (ToClient, answer(5_000)),
    ]
}

/// A capture that is being made, one connection after the other.
struct Recorder {
    file: SegmentWriter<Vec<u8>>,
    now: Instant,
}

impl Recorder {
    fn new() -> Self {
        let file = SegmentWriter::new(PcapWriter::new(Vec::new(), WHOLE_FRAMES).unwrap());
        Self { file, now: Instant::EPOCH }
    }

    /// Adds a connection from a client's `port`: each segment is acknowledged.
    fn add(&mut self, port: u16, recorded: &Recorded) {
        let ends: [SocketAddr; 2] = [([10, 0, 0, 2], port).into(), "10.0.0.1:443".parse().unwrap()];
        let mut streams = [StreamContents::default(), StreamContents::default()];
        for (direction, start, bytes) in &recorded.wire {
            streams[*direction as usize].insert(*start, bytes);
        }
        let mut next = [SeqNumber(1); 2];
        let syn = |ack| Segment {
            seq: SeqNumber(0),
            ack,
            flags: Flags { syn: true, ..Flags::default() },
            ..Segment::default()
        };
        self.put(ends, 0, syn(None), 0, &streams);
        self.put(ends, 1, syn(Some(SeqNumber(1))), 0, &streams);
        self.put(ends, 0, ack(next), 0, &streams);
        for (direction, start, bytes) in &recorded.wire {
            let of = *direction as usize;
            let length = u32::try_from(bytes.len()).unwrap();
            let [own, other] = [next[of], next[1 - of]];
            self.put(ends, of, Segment { len: length, ..ack([own, other]) }, *start, &streams);
            next[of] = own + length;
            self.put(ends, 1 - of, ack([other, next[of]]), 0, &streams);
        }
    }

    fn put(
        &mut self,
        ends: [SocketAddr; 2],
        from: usize,
        segment: Segment,
        offset: u64,
        streams: &[StreamContents; 2],
    ) {
        let transmit = Transmit { segment, offset, retransmission: false, ack_reason: None };
        let way = [ends[from], ends[1 - from]];
        self.file.write(way, &transmit, &streams[from], self.now).unwrap();
        self.now = self.now + std::time::Duration::from_micros(700);
    }

    fn finish(self) -> Vec<u8> {
        self.file.into_file().finish().unwrap()
    }
}

fn ack([seq, ack]: [SeqNumber; 2]) -> Segment {
    Segment { seq, ack: Some(ack), window: 60_000, ..Segment::default() }
}

/// A directory of its own, removed in the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("ackwise-export-{}-{count}", id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn explain(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
        command.arg("explain").args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command.output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.explain(&[&["--json"], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    /// Makes `capture.pcap` of two connections, and `keys` of both.
    fn with_two_connections(peers: &Peers) -> Self {
        let directory = Self::new();
        let mut recorder = Recorder::new();
        let mut keys = String::new();
        for port in [50_000, 50_001] {
            let recorded = peers.talk(&[], &said(), 1_448, None);
            recorder.add(port, &recorded);
            // All that were logged until now.
            keys = recorded.keys;
        }
        fs::write(directory.0.join("capture.pcap"), recorder.finish()).unwrap();
        fs::write(directory.0.join("keys"), keys).unwrap();
        directory
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

fn holds(file: &[u8], text: &str) -> bool {
    file.windows(text.len()).any(|it| it.eq_ignore_ascii_case(text.as_bytes()))
}

/// The last word of each line, with the client random before it.
fn secrets(keys: &[u8]) -> Vec<(&str, &str)> {
    text(keys)
        .lines()
        .map(|line| {
            let mut words = line.rsplit(' ');
            let (secret, random) = (words.next().unwrap(), words.next().unwrap());
            (random, secret)
        })
        .collect()
}

/// What an exchange waited for, without the numbers of packets.
fn causes(exchange: &Value) -> Vec<(&Value, &Value)> {
    let causes = exchange["causes"].as_array().unwrap();
    causes.iter().map(|it| (&it["cause"], &it["ms"])).collect()
}

const PEERS: [fn() -> Peers; 2] = [
    || Peers::new(&TLS12, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    || Peers::new(&TLS13, TLS13_AES_128_GCM_SHA256),
];

#[test]
fn an_exported_file_has_no_secret_unless_asked_for() {
    for peers in PEERS {
        let directory = Directory::with_two_connections(&peers());
        let exported =
            directory.explain(&["--keys", "keys", "--export", "4", "one.pcapng", "capture.pcap"]);
        assert!(exported.status.success(), "{}", text(&exported.stderr));
        let (file, keys) = (directory.read("one.pcapng"), directory.read("keys"));
        for (random, secret) in secrets(&keys) {
            assert!(!holds(&file, secret) && !holds(&file, random));
        }
        for told in ["CLIENT_RANDOM", "TRAFFIC_SECRET", "second"] {
            assert!(!holds(&file, told), "{told}");
        }
        let whole = directory.json(&["one.pcapng"]);
        assert!(whole["exchanges"].as_array().unwrap().iter().all(|it| it["request"].is_null()));
    }
}

#[test]
fn with_its_secrets_an_exported_exchange_is_decrypted_alone() {
    for peers in PEERS {
        let directory = Directory::with_two_connections(&peers());
        let whole = directory.json(&["--keys", "keys", "capture.pcap"]);
        let keys = directory.read("keys");
        let all = secrets(&keys);
        for number in 0..6_usize {
            let arguments = ["--keys", "keys", "--export-secrets", "capture.pcap", "--export"];
            let number_text = number.to_string();
            let exported =
                directory.explain(&[&arguments[..], &[&number_text, "one.pcapng"]].concat());
            assert!(exported.status.success(), "{}", text(&exported.stderr));
            assert!(text(&exported.stderr).contains("passwords"), "{}", text(&exported.stderr));
            let file = directory.read("one.pcapng");
            let expected = &whole["exchanges"][number];
            let connection = expected["connection"].as_u64().unwrap();
            // Each connection has as many lines of the log, in order.
            let [own, other] = {
                let (first, second) = all.split_at(all.len() / 2);
                if connection == 0 { [first, second] } else { [second, first] }
            };
            assert!(own.iter().any(|(_, secret)| holds(&file, secret)));
            // A resumed session of TLS 1.2 has the secret of the first one.
            let is_own = |secret: &str| own.iter().any(|it| it.1 == secret);
            for (random, secret) in other {
                assert!(!holds(&file, random) && (is_own(secret) || !holds(&file, secret)));
            }
            let one = directory.json(&["one.pcapng"]);
            assert_eq!(one["connections"].as_array().unwrap().len(), 1);
            let found = one["exchanges"].as_array().unwrap();
            // Those before it come along.
            assert_eq!(found.len(), number % 3 + 1);
            for key in ["request", "status", "duration_ms", "response_bytes"] {
                assert_eq!(found[number % 3][key], expected[key], "{number} {key}");
            }
            assert_eq!(causes(&found[number % 3]), causes(expected), "{number}");
            let mode = fs::metadata(directory.0.join("one.pcapng")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}

/// What was exported has its secrets itself, and can be exported again.
#[test]
fn secrets_of_the_capture_are_exported_as_well() {
    let directory = Directory::with_two_connections(&PEERS[1]());
    for arguments in [
        ["--keys", "keys", "--export", "4", "one.pcapng", "--export-secrets", "capture.pcap"]
            .as_slice(),
        &["--export", "0", "again.pcapng", "--export-secrets", "one.pcapng"],
    ] {
        let exported = directory.explain(arguments);
        assert!(exported.status.success(), "{}", text(&exported.stderr));
    }
    let again = directory.json(&["again.pcapng"]);
    assert_eq!(again["exchanges"].as_array().unwrap().len(), 1);
    assert_eq!(again["exchanges"][0]["status"], 200);
}

#[test]
fn secrets_that_are_not_known_are_not_exported() {
    let directory = Directory::with_two_connections(&PEERS[1]());
    let keys = directory.read("keys");
    let lines = text(&keys).lines().count();
    let second: String = text(&keys).lines().skip(lines / 2).map(|it| format!("{it}\n")).collect();
    fs::write(directory.0.join("second"), second).unwrap();
    // Behind the handshake.
    let capture = directory.read("capture.pcap");
    let (header, mut rest) = capture.split_at(24);
    let mut late = header.to_vec();
    for number in 0_u32.. {
        let Some(length) = rest.get(8..12) else { break };
        let length = u32::from_le_bytes(length.try_into().unwrap());
        let (record, behind) = rest.split_at(16 + length as usize);
        if number > 12 {
            late.extend(record);
        }
        rest = behind;
    }
    fs::write(directory.0.join("late.pcap"), late).unwrap();
    // In clear.
    let clear: Vec<_> = {
        let mut ends = [0; 2];
        let place = |(direction, bytes): Said| {
            let start = ends[direction as usize];
            ends[direction as usize] += bytes.len() as u64;
            (direction, start, bytes)
        };
        said().into_iter().take(2).map(place).filter(|it| it.2.len() < 1_000).collect()
    };
    let mut recorder = Recorder::new();
    recorder.add(50_000, &Recorded { keys: String::new(), wire: clear });
    fs::write(directory.0.join("clear.pcap"), recorder.finish()).unwrap();

    for (arguments, said) in [
        (&["capture.pcap"][..], "exchange 0: neither --keys nor the capture has secrets of it"),
        (
            &["--keys", "second", "capture.pcap"],
            "exchange 0: neither --keys nor the capture has secrets of it",
        ),
        (&["--keys", "keys", "late.pcap"], "exchange 0: the capture lacks its ClientHello"),
        (&["--keys", "keys", "clear.pcap"], "exchange 0: it has no TLS"),
    ] {
        let export = ["--export", "0", "one.pcapng", "--export-secrets"];
        let output = directory.explain(&[&export, arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
        assert!(!directory.0.join("one.pcapng").exists());
    }
    let alone = directory.explain(&["--export-secrets", "capture.pcap"]);
    assert_eq!(alone.status.code(), Some(2));
}
