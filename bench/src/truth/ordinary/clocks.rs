//! What programs say of their exchanges, by their own clocks: `clocks.json` of a case.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// Of one session.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Clocks {
    pub(crate) exchanges: Vec<Clock>,
    /// Times in which a processor paused, from and until, in nanoseconds since the Unix epoch.
    pub(crate) disturbed_ns: Vec<[u64; 2]>,
    /// Packets that the path dropped.
    pub(crate) dropped: u64,
}

/// One exchange; what no program told is missing.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Clock {
    /// The client's port.
    pub(crate) port: u16,
    /// Which exchange of its connection.
    pub(crate) number: usize,
    /// When the client began: nanoseconds since the Unix epoch.
    #[serde(default)]
    pub(crate) from_ns: Option<u64>,
    /// From the call until the last byte was read, by the client.
    pub(crate) total_ns: Option<u64>,
    /// Of that, what the client took itself before it had written the request.
    pub(crate) client_ns: Option<u64>,
    /// From the request to the end of the response, by the server.
    pub(crate) server_ns: Option<u64>,
}

impl Clocks {
    /// Joins what both programs printed: the exchanges of a port are in order.
    /// Of a connection's first one, TLS takes more than the server counts.
    #[expect(clippy::fn_params_excessive_bools, reason = "an option of the session")]
    pub(super) fn join(client: &str, server: &str, tls: bool) -> Self {
        let mut asked: BTreeMap<u16, VecDeque<[Option<u64>; 3]>> = BTreeMap::new();
        for (port, values) in client.lines().filter_map(client_line) {
            asked.entry(port).or_default().push_back(values);
        }
        let mut served: BTreeMap<u16, VecDeque<u64>> = BTreeMap::new();
        for (port, nanos) in server.lines().filter_map(server_line) {
            served.entry(port).or_default().push_back(nanos);
        }
        let mut ports: Vec<u16> = asked.keys().chain(served.keys()).copied().collect();
        ports.sort_unstable();
        ports.dedup();
        let mut exchanges = Vec::new();
        for port in ports {
            let (asked, served) = (asked.remove(&port), served.remove(&port));
            let [asked_count, served_count] =
                [asked.as_ref().map(VecDeque::len), served.as_ref().map(VecDeque::len)];
            // A port that was used twice, or a request that was never answered: nobody knows whose is whose.
            if asked_count.zip(served_count).is_some_and(|(one, other)| one != other) {
                continue;
            }
            for number in 0..asked_count.or(served_count).unwrap_or_default() {
                let asked = asked.as_ref().map_or([None; 3], |it| it[number]);
                let served = served.as_ref().filter(|_| !tls || number > 0);
                let server_ns = served.map(|it| it[number]);
                let [from_ns, total_ns, client_ns] = asked;
                exchanges.push(Clock { port, number, from_ns, total_ns, client_ns, server_ns });
            }
        }
        Self { exchanges, ..Self::default() }
    }

    /// `None` if the case has none.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).map(Some).with_context(|| path.display().to_string())
    }

    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE);
        let text = serde_json::to_string(self)?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// How long processors paused while an exchange went on; of two at a time, both count.
    pub(crate) fn disturbed(&self, from: u64, until: u64) -> u64 {
        let within = |it: &[u64; 2]| it[1].min(until).saturating_sub(it[0].max(from));
        self.disturbed_ns.iter().map(within).sum()
    }
}

/// `PORT FROM UNTIL OWN`, in nanoseconds, or `PORT SECONDS`: the start, the total and the client's own time.
fn client_line(line: &str) -> Option<(u16, [Option<u64>; 3])> {
    let mut fields = line.split_whitespace();
    let port = fields.next()?.parse().ok()?;
    let first = fields.next()?;
    if let Some(nanos) = span(first) {
        return Some((port, [None, Some(nanos), None]));
    }
    let from: u64 = first.parse().ok()?;
    let until: u64 = fields.next()?.parse().ok()?;
    let own = fields.next()?.parse().ok()?;
    Some((port, [Some(from), Some(until.saturating_sub(from)), Some(own)]))
}

/// `PORT TIME`, or nothing of ours.
fn server_line(line: &str) -> Option<(u16, u64)> {
    let (port, time) = line.trim().split_once(' ')?;
    Some((port.parse().ok()?, span(&time.replace(' ', ""))?))
}

/// A number with its unit.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive time")]
fn span(text: &str) -> Option<u64> {
    let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (number, unit) =
        units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let number: f64 = number.parse().ok()?;
    Some((number * unit).max(0.0) as u64)
}

const FILE: &str = "clocks.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_lines_are_joined_by_port_and_order() {
        let client = "40000 100 350 20\n40001 0.5s\nwarning\n40000 400 500 0\n40002 0.1s\n";
        let server = "40000 3us\n40001 0.002s\n40000 1 ms\n40002 1us\n40002 1us\n";
        let clock = |port, number, from, total, client, server| Clock {
            port,
            number,
            from_ns: from,
            total_ns: Some(total),
            client_ns: client,
            server_ns: Some(server),
        };
        let expected = [
            clock(40_000, 0, Some(100), 250, Some(20), 3_000),
            clock(40_000, 1, Some(400), 100, Some(0), 1_000_000),
            clock(40_001, 0, None, 500_000_000, None, 2_000_000),
        ];
        assert_eq!(Clocks::join(client, server, false).exchanges, expected);
        let over_tls = Clocks::join(client, server, true).exchanges;
        assert_eq!(over_tls[0], Clock { server_ns: None, ..expected[0].clone() });
        assert_eq!(over_tls[1], expected[1]);
    }
}
