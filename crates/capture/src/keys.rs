//! Secrets of TLS connections, as programs log them: the key log format of NSS (RFC 9850).
//!
//! ```
//! use ackwise_capture::keys::KeyLog;
//!
//! let random = "ab".repeat(32);
//! let secret = "cd".repeat(48);
//! let keys = KeyLog::default();
//! let read = keys.add_text(format!("# a comment\nCLIENT_RANDOM {random} {secret}\n?\n").as_bytes());
//! assert_eq!((read.secrets, read.other_lines), (1, 1));
//! ```
//!
//! What is kept is the secrets themselves, 32 to 48 bytes each, until the analysis is over.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt::{self, Write as _},
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// Secrets by the connection's client random.
///
/// Readers and writers may be different threads.
#[derive(Default)]
pub struct KeyLog {
    secrets: RwLock<BTreeMap<(Random, Label), Secret>>,
    grows: AtomicBool,
}

/// What one text held.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct KeyLogRead {
    /// Lines with a secret that can be used.
    pub secrets: u64,
    /// Lines with a secret for which there was no room: [`KeyLog::MOST_SECRETS`].
    pub beyond_limit: u64,
    /// Lines that are neither empty, nor a comment, nor a secret of a kind that RFC 9850 or NSS knows.
    pub other_lines: u64,
}

impl KeyLogRead {
    /// Adds what another text held.
    pub const fn add(&mut self, other: Self) {
        let Self { secrets, beyond_limit, other_lines } = other;
        self.secrets += secrets;
        self.beyond_limit += beyond_limit;
        self.other_lines += other_lines;
    }
}

/// The `random` of a ClientHello.
pub(crate) type Random = [u8; 32];

/// What a secret is of (RFC 9850, section 2).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Label {
    /// TLS 1.2's master secret.
    Master,
    ClientEarly,
    ClientHandshake,
    ServerHandshake,
    ClientTraffic,
    ServerTraffic,
}

impl Label {
    const ALL: [Self; 6] = [
        Self::Master,
        Self::ClientEarly,
        Self::ClientHandshake,
        Self::ServerHandshake,
        Self::ClientTraffic,
        Self::ServerTraffic,
    ];
    const FIRST: Self = Self::Master;
    const LAST: Self = Self::ServerTraffic;

    const fn name(self) -> &'static str {
        match self {
            Self::Master => "CLIENT_RANDOM",
            Self::ClientEarly => "CLIENT_EARLY_TRAFFIC_SECRET",
            Self::ClientHandshake => "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            Self::ServerHandshake => "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            Self::ClientTraffic => "CLIENT_TRAFFIC_SECRET_0",
            Self::ServerTraffic => "SERVER_TRAFFIC_SECRET_0",
        }
    }
}

/// A secret of 32 or 48 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Secret {
    bytes: [u8; Self::MOST],
    length: u8,
}

impl KeyLog {
    /// The most secrets that are kept: some 130 MB. Our choice.
    pub const MOST_SECRETS: usize = 1_000_000;

    /// Adds the secrets of a text. The last line need not end.
    pub fn add_text(&self, text: &[u8]) -> KeyLogRead {
        let mut read = KeyLogRead::default();
        let mut secrets = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        for line in text.split(|&byte| byte == b'\n') {
            match Line::read(line) {
                Line::Nothing => {}
                Line::Unknown => read.other_lines += 1,
                Line::Secret(name, secret) => {
                    let room = secrets.len() < Self::MOST_SECRETS;
                    match secrets.entry(name) {
                        Entry::Occupied(mut known) => *known.get_mut() = secret,
                        Entry::Vacant(place) if room => {
                            place.insert(secret);
                        }
                        Entry::Vacant(_) => {
                            read.beyond_limit += 1;
                            continue;
                        }
                    }
                    read.secrets += 1;
                }
            }
        }
        read
    }

    /// From now on secrets may come later than what they open: what is sealed waits for them, at most 64 KB of each
    /// connection.
    pub fn expect_more(&self) {
        self.grows.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_growing(&self) -> bool {
        self.grows.load(Ordering::Relaxed)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// The lines of one connection, as a program would log them; `None` if there are none.
    pub(crate) fn lines(&self, random: &Random) -> Option<KeyLogLines> {
        let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for ((_, label), secret) in secrets.range((*random, Label::FIRST)..=(*random, Label::LAST))
        {
            text.push_str(label.name());
            for bytes in [&random[..], secret.bytes()] {
                text.push(' ');
                // Writing to a string cannot fail.
                let _ = bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}"));
            }
            text.push('\n');
        }
        (!text.is_empty()).then_some(KeyLogLines(text))
    }

    pub(crate) fn find(&self, random: &Random, label: Label) -> Option<Secret> {
        let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        secrets.get(&(*random, label)).copied()
    }
}

/// Why no secrets of a connection are known.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoSecrets {
    /// It has nothing to decrypt.
    #[error("it has no TLS")]
    NoTls,
    /// Secrets are named by the client's random.
    #[error("the capture lacks its ClientHello, by which secrets are found")]
    NoClientHello,
    /// Other connections may have some.
    #[error("neither --keys nor the capture has secrets of it")]
    NotLogged,
}

/// The lines of a key log for one connection.
pub struct KeyLogLines(String);

impl KeyLogLines {
    pub(crate) const fn text(&self) -> &str {
        self.0.as_str()
    }
}

/// Says how many there are, and none of them.
impl fmt::Debug for KeyLogLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secret lines", self.0.lines().count())
    }
}

/// Says how many there are, and none of them.
impl fmt::Debug for KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.secrets.read().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("KeyLog").field("secrets", &count).finish_non_exhaustive()
    }
}

impl Secret {
    /// A hash of SHA-384, or TLS 1.2's master secret.
    const MOST: usize = 48;

    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        if !matches!(bytes.len(), 32 | 48) {
            return None;
        }
        let mut secret = Self { bytes: [0; Self::MOST], length: 0 };
        secret.bytes[..bytes.len()].copy_from_slice(bytes);
        secret.length = u8::try_from(bytes.len()).ok()?;
        Some(secret)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secret bytes", self.length)
    }
}

/// What a line says.
enum Line {
    /// It is empty, a comment, or of something that is not needed here.
    Nothing,
    Secret((Random, Label), Secret),
    Unknown,
}

impl Line {
    fn read(line: &[u8]) -> Self {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return Self::Nothing;
        }
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (Some(label), Some(random), Some(secret), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Self::Unknown;
        };
        let known = Label::ALL.into_iter().find(|it| it.name().as_bytes() == label);
        let label = match (known, label) {
            (Some(known), _) => known,
            // They open no record; "RSA" was NSS's for key exchanges that nobody offers now.
            (
                None,
                b"EARLY_EXPORTER_SECRET"
                | b"EARLY_EXPORTER_MASTER_SECRET"
                | b"EXPORTER_SECRET"
                | b"ECH_SECRET"
                | b"ECH_CONFIG"
                | b"RSA",
            ) => return Self::Nothing,
            (None, _) => return Self::Unknown,
        };
        let mut bytes = [0; 32];
        let mut value = [0; Secret::MOST];
        let read = unhex(random, &mut bytes).filter(|&it| it == 32);
        let read = read.and_then(|_| unhex(secret, &mut value));
        match read.and_then(|length| Secret::new(&value[..length])) {
            Some(secret) => Self::Secret((bytes, label), secret),
            None => Self::Unknown,
        }
    }
}

/// Reads hexadecimal digits; how many bytes they are, if `into` has room for them.
fn unhex(digits: &[u8], into: &mut [u8]) -> Option<usize> {
    let digit = |byte: u8| (byte as char).to_digit(16).and_then(|it| u8::try_from(it).ok());
    if !digits.len().is_multiple_of(2) || digits.len() / 2 > into.len() {
        return None;
    }
    for (pair, byte) in digits.chunks_exact(2).zip(into) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(digits.len() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_secret_are_counted_or_passed_over() {
        let random = "0f".repeat(32);
        let secret = "A0".repeat(32);
        for (line, secrets, other) in [
            (format!("SERVER_TRAFFIC_SECRET_0 {random} {secret}"), 1, 0),
            (format!("  SERVER_TRAFFIC_SECRET_0  {random}\t{secret}\r"), 1, 0),
            (String::new(), 0, 0),
            ("# SSL/TLS secrets log file".to_owned(), 0, 0),
            (format!("EXPORTER_SECRET {random} {secret}"), 0, 0),
            (format!("SERVER_TRAFFIC_SECRET_0 {random}"), 0, 1),
            (format!("SERVER_TRAFFIC_SECRET_0 {random} {secret} {secret}"), 0, 1),
            (format!("SERVER_TRAFFIC_SECRET_0 {random} {}", &secret[1..]), 0, 1),
            (format!("SERVER_TRAFFIC_SECRET_0 {random} {}", &secret[2..]), 0, 1),
            (format!("SERVER_TRAFFIC_SECRET_0 {} {secret}", &random[2..]), 0, 1),
            (format!("CLIENT_RANDOM {random} {}", "g0".repeat(48)), 0, 1),
            (format!("CLIENT_RANDOM {random} {}", "00".repeat(4_000)), 0, 1),
            ("\u{0}\u{ff}".to_owned(), 0, 1),
        ] {
            let read = KeyLog::default().add_text(line.as_bytes());
            assert_eq!((read.secrets, read.other_lines), (secrets, other), "{line}");
        }
    }

    #[test]
    fn the_lines_of_one_connection_are_those_that_were_logged_of_it() {
        let line = |label: Label, random: &str, bytes: usize| {
            format!("{} {} {}\n", label.name(), random.repeat(32), "5e".repeat(bytes))
        };
        for label in Label::ALL {
            let keys = KeyLog::default();
            let own = line(label, "0a", 48);
            for text in [&own, &line(label, "09", 48), &line(label, "0b", 32)] {
                assert_eq!(keys.add_text(text.as_bytes()).secrets, 1, "{text}");
            }
            assert_eq!(keys.lines(&[10; 32]).unwrap().text(), own);
            assert!(keys.lines(&[12; 32]).is_none());
        }
        let keys = KeyLog::default();
        let all = Label::ALL.map(|label| line(label, "0a", 32)).concat();
        keys.add_text(all.as_bytes());
        assert_eq!(keys.lines(&[10; 32]).unwrap().text(), all);
    }

    #[test]
    fn nothing_prints_a_secret() {
        let keys = KeyLog::default();
        keys.add_text(format!("CLIENT_RANDOM {} {}", "aa".repeat(32), "bb".repeat(48)).as_bytes());
        let secret = keys.find(&[0xaa; 32], Label::Master).unwrap();
        assert_eq!(format!("{keys:?} {secret:?}"), "KeyLog { secrets: 1, .. } 48 secret bytes");
        let lines = keys.lines(&[0xaa; 32]).unwrap();
        assert_eq!(format!("{lines:?}"), "1 secret lines");
    }
}
