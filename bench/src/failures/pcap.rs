//! Cuts a lab's capture into its cases' captures, by the server's port. Only what tcpdump writes on a TUN device is read:
//! nanoseconds, this machine's byte order, IPv4 without a link header, or behind one of 14 bytes.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, ensure};

/// A capture file in memory.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    header: Vec<u8>,
    link: u32,
    records: Vec<Vec<u8>>,
}

impl Capture {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        ensure!(bytes.len() >= HEADER, "{}: no capture", path.display());
        let (header, mut rest) = bytes.split_at(HEADER);
        let mut records = Vec::new();
        while rest.len() >= RECORD {
            let len = RECORD + word(rest, 8) as usize;
            if rest.len() < len {
                break;
            }
            records.push(rest[..len].to_vec());
            rest = &rest[len..];
        }
        Ok(Self { header: header.to_vec(), link: word(header, 20), records })
    }

    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut bytes = self.header.clone();
        bytes.extend(self.records.iter().flatten());
        fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The packets of each server's port in `ports`.
    pub(super) fn by_port(&self, ports: Range<u16>) -> BTreeMap<u16, Self> {
        let mut all: BTreeMap<u16, Self> = BTreeMap::new();
        for record in &self.records {
            let found = self.ip(record).and_then(ports_of);
            let port = found.into_iter().flatten().find(|it| ports.contains(it));
            if let Some(port) = port {
                let empty = || Self { records: Vec::new(), ..self.clone() };
                all.entry(port).or_insert_with(empty).records.push(record.clone());
            }
        }
        all
    }

    /// Only what goes to the server's port.
    pub(super) fn sent_to(&self, server: u16) -> Self {
        self.only(|[_, to]| to == server)
    }

    /// Only what comes from it.
    pub(super) fn sent_from(&self, server: u16) -> Self {
        self.only(|[from, _]| from == server)
    }

    fn only(&self, keeps: impl Fn([u16; 2]) -> bool) -> Self {
        let keeps = |record: &&Vec<u8>| self.ip(record).and_then(ports_of).is_some_and(&keeps);
        let records = self.records.iter().filter(keeps).cloned().collect();
        Self { records, ..self.clone() }
    }

    /// The packets in this part of the capture, as shares of their number.
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares")]
    pub(super) fn part(&self, from: f64, until: f64) -> Self {
        let at = |share: f64| (share * self.records.len() as f64) as usize;
        Self { records: self.records[at(from)..at(until)].to_vec(), ..self.clone() }
    }

    /// The port that the first packet goes to, which the client sends.
    pub(super) fn server_port(&self) -> Option<u16> {
        self.records.iter().find_map(|it| ports_of(self.ip(it)?)).map(|it| it[1])
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    fn ip<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(RECORD + if self.link == ETHERNET { 14 } else { 0 }..)
    }
}

/// Of a TCP packet, or of the one that an ICMP message is about.
fn ports_of(ip: &[u8]) -> Option<[u16; 2]> {
    let (first, protocol) = (*ip.first()?, *ip.get(9)?);
    if first >> 4 == 6 {
        return (*ip.get(6)? == TCP).then(|| pair(ip, 40))?;
    }
    let behind = usize::from(first & 15) * 4;
    match protocol {
        TCP => pair(ip, behind),
        ICMP => ports_of(ip.get(behind + 8..)?),
        _ => None,
    }
}

fn pair(bytes: &[u8], at: usize) -> Option<[u16; 2]> {
    let it = bytes.get(at..at + 4)?;
    Some([u16::from_be_bytes([it[0], it[1]]), u16::from_be_bytes([it[2], it[3]])])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

const HEADER: usize = 24;
const RECORD: usize = 16;
const ETHERNET: u32 = 1;
const TCP: u8 = 6;
const ICMP: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, behind: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
        bytes.extend([0; 8]);
        bytes.extend(behind);
        bytes
    }

    #[test]
    fn an_icmp_message_belongs_to_the_packet_that_it_is_about() {
        let tcp = ipv4(TCP, &[0x9c, 0x40, 0x4e, 0x20]);
        assert_eq!(ports_of(&tcp), Some([40_000, 20_000]));
        let icmp = ipv4(ICMP, &[&[3, 1, 0, 0, 0, 0, 0, 0][..], &tcp].concat());
        assert_eq!(ports_of(&icmp), Some([40_000, 20_000]));
        assert_eq!(ports_of(&icmp[..20]), None);
    }

    #[test]
    fn a_capture_is_cut_by_port_direction_and_part() {
        let record = |from: u16, to: u16| {
            let ip = ipv4(TCP, &[from.to_be_bytes(), to.to_be_bytes()].concat());
            [vec![0; RECORD], ip].concat()
        };
        let records = vec![record(4, 9), record(9, 4), record(4, 8), record(4, 9)];
        let capture = Capture { header: vec![0; HEADER], link: 101, records };
        let cut = capture.by_port(8..10);
        assert_eq!(
            cut.iter().map(|(port, it)| (*port, it.len())).collect::<Vec<_>>(),
            [(8, 1), (9, 3)]
        );
        assert_eq!(cut[&9].sent_to(9).len(), 2);
        assert_eq!(cut[&9].part(0.4, 1.0).len(), 2);
    }
}
