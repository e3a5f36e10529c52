//! A case: captures of one run, and what the connections waited for, in files that a later run can read.
//!
//! One directory per case holds `case.json` ([`Case`]), `truth.json` ([`Truth`]) and the captures.
//! The truth is written before any capture is analysed. Times are nanoseconds since the Unix epoch, as in
//! the captures. Unknown fields are ignored, so a recorder may add its own.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ackwise_cause::{Cause, Direction};
use anyhow::{Context, ensure};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A case as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recorded {
    /// Where its files are.
    pub(crate) folder: PathBuf,
    pub(crate) case: Case,
    pub(crate) truth: Truth,
}

/// `case.json`: how it was made.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Case {
    /// Unique among the cases of a run, such as `kernel-0017`.
    pub(crate) name: String,
    pub(crate) world: World,
    /// The scenario, such as `nagle`.
    pub(crate) family: String,
    pub(crate) seed: u64,
    /// What was drawn.
    #[serde(default)]
    pub(crate) parameters: Map<String, Value>,
    pub(crate) captures: Captures,
    #[serde(default)]
    pub(crate) one_way_ms: OneWay,
    /// Why the run must not be counted.
    #[serde(default)]
    pub(crate) disturbed: Option<String>,
}

/// Where the connections were.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum World {
    Kernel,
    Sim,
}

impl World {
    /// The fast one first.
    pub(crate) const ALL: [Self; 2] = [Self::Sim, Self::Kernel];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Sim => "sim",
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// File names of the captures, relative to the case's directory.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Captures {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) middle: Option<String>,
    /// A key log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<String>,
}

/// Propagation delays, without queueing. Without a middle, the other half is 0.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct OneWay {
    pub(crate) client_to_middle: f64,
    pub(crate) middle_to_server: f64,
    pub(crate) server_to_middle: f64,
    pub(crate) middle_to_client: f64,
}

impl OneWay {
    /// Of all the way in this direction, and a twentieth for what varies.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a delay")]
    pub(super) fn nanos(&self, direction: Direction) -> u64 {
        let ms = match direction {
            Direction::ToServer => self.client_to_middle + self.middle_to_server,
            Direction::ToClient => self.server_to_middle + self.middle_to_client,
        };
        (ms.max(0.0) * 1.05e6).round() as u64
    }
}

/// `truth.json`: what the connections waited for. Time that no interval covers is not judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Truth {
    pub(crate) intervals: Vec<Interval>,
    /// Where only sums over all exchanges are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) amounts: Vec<Amount>,
}

/// What is true of all exchanges of a capture together.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Amount {
    /// Names of causes, any of which is right; those that this build does not know are never said.
    pub(crate) causes: Vec<String>,
    /// How long they took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ms: Option<f64>,
    /// Only in this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) direction: Option<String>,
    /// Right as well, if it is said with at most medium confidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) doubted: Vec<String>,
    /// Wrong, however little of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) never: Vec<String>,
    /// Packets cannot tell, so none of it is high.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) never_high: bool,
    /// It need not take most of the time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_minor: bool,
    /// All exchanges together take no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_at_most_ms: Option<f64>,
}

/// Some time and its cause.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) connection: Connection,
    /// Which exchange of the connection, counted from 0 in the order of requests. Without it, it is
    /// the oldest one that is not complete: where exchanges overlap, the others are not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exchange: Option<u32>,
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
    /// The place whose events bound it: the sender's, or the program's.
    pub(crate) at: Peer,
    #[serde(serialize_with = "write_direction", deserialize_with = "read_direction")]
    pub(crate) direction: Direction,
    /// Those that are right answers; the likeliest first.
    #[serde(serialize_with = "write_causes", deserialize_with = "read_causes")]
    pub(crate) causes: Vec<Cause>,
    /// What recorded it.
    #[serde(default)]
    pub(crate) witness: String,
}

/// A connection's ends.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct Connection {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Peer {
    Client,
    Server,
}

impl Recorded {
    /// Reads `case.json` and `truth.json`.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or is not of this format: with the file and the field.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let case: Case = read(&folder.join(CASE), parse)?;
        let truth = read(&folder.join(TRUTH), Truth::parse)?;
        Ok(Self { folder: folder.to_owned(), case, truth })
    }

    /// Writes both files, but no captures.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot create {}", self.folder.display()))?;
        write(&self.folder.join(CASE), &self.case)?;
        write(&self.folder.join(TRUTH), &self.truth)
    }
}

impl Truth {
    /// # Errors
    ///
    /// If a field is missing, has the wrong type, or an interval ends before it begins.
    fn parse(text: &str) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Raw {
            intervals: Vec<Value>,
            #[serde(default)]
            amounts: Vec<Amount>,
        }
        let raw: Raw = parse(text)?;
        let one = |(number, value): (usize, Value)| {
            Interval::parse(value).with_context(|| format!("intervals[{number}]"))
        };
        let intervals = raw.intervals.into_iter().enumerate().map(one).collect::<Result<_, _>>()?;
        Ok(Self { intervals, amounts: raw.amounts })
    }
}

/// The witness of time in which a server had not accepted a connection, while its queue was full.
pub(crate) const ACCEPT_QUEUE: &str = "accept queue";

impl Interval {
    fn parse(value: Value) -> anyhow::Result<Self> {
        let mut it: Self = serde_json::from_value(value)?;
        // It was recorded before there was a cause of this name, if there is one.
        if it.witness == ACCEPT_QUEUE
            && let Ok(cause) = "accept-queue-full".parse()
            && !it.causes.contains(&cause)
        {
            it.causes.insert(0, cause);
        }
        ensure!(
            it.from_ns <= it.until_ns,
            "until_ns: {} is before from_ns, {}",
            it.until_ns,
            it.from_ns
        );
        ensure!(!it.causes.is_empty(), "causes: empty (expected at least one)");
        Ok(it)
    }
}

pub(super) const CASE: &str = "case.json";
const TRUTH: &str = "truth.json";

fn read<T>(path: &Path, parse: fn(&str) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| format!("cannot read {}", path.display()))
}

fn parse<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    Ok(serde_json::from_str(text)?)
}

fn write(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn write_causes<S: Serializer>(causes: &[Cause], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(causes.iter().map(|it| it.name()))
}

fn read_causes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Cause>, D::Error> {
    let names: Vec<String> = Deserialize::deserialize(deserializer)?;
    let cause = |name: &String| {
        name.parse().map_err(|_| D::Error::custom(format!("causes: `{name}` is not a cause")))
    };
    names.iter().map(cause).collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn write_direction<S: Serializer>(way: &Direction, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(way.name())
}

fn read_direction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Direction, D::Error> {
    let name: String = Deserialize::deserialize(deserializer)?;
    let ways = [Direction::ToServer, Direction::ToClient];
    ways.into_iter().find(|way| way.name() == name).ok_or_else(|| {
        let expected = "expected to-server or to-client";
        D::Error::custom(format!("direction: `{name}` is not one ({expected})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: &str = r#"{
        "connection": {"client": "10.0.0.1:40000", "server": "10.0.0.2:80"},
        "from_ns": 1, "until_ns": 2, "at": "server", "direction": "to-client",
        "causes": ["nagle-delayed-ack", "propagation"], "witness": "tcp_probe"
    }"#;

    fn truth(interval: &str) -> anyhow::Result<Truth> {
        Truth::parse(&format!(r#"{{"intervals": [{INTERVAL}, {interval}]}}"#))
    }

    #[test]
    fn what_is_written_is_read_back() {
        let case = r#"{
            "name": "kernel-0017", "world": "kernel", "family": "nagle", "seed": 17,
            "parameters": {"rate_mbit": 20}, "captures": {"client": "client.pcap"},
            "one_way_ms": {"client_to_middle": 5.0, "middle_to_server": 2.5}, "disturbed": null
        }"#;
        let folder = std::env::temp_dir().join(format!("ackwise-case-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let case: Case = parse(case).unwrap();
        assert_eq!((case.world, case.one_way_ms.middle_to_server), (World::Kernel, 2.5));
        let recorded = Recorded { folder: folder.clone(), case, truth: truth(INTERVAL).unwrap() };
        recorded.write().unwrap();
        let read = Recorded::read(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read.unwrap(), recorded);
    }

    #[test]
    fn an_error_names_the_file_and_the_field() {
        for (from, to, message) in [
            ("\"until_ns\": 2", "\"until\": 2", "intervals[1]: missing field `until_ns`"),
            ("\"until_ns\": 2", "\"until_ns\": 0", "until_ns: 0 is before from_ns, 1"),
            ("propagation", "bad-luck", "causes: `bad-luck` is not a cause"),
            ("to-client", "up", "direction: `up` is not one"),
        ] {
            let error = format!("{:#}", truth(&INTERVAL.replace(from, to)).unwrap_err());
            assert!(error.contains(message), "{error}");
        }
        let error = format!("{:#}", Recorded::read(Path::new("/nonexistent")).unwrap_err());
        assert!(error.contains("/nonexistent/case.json"), "{error}");
    }
}
