//! Signs that something has changed, which cost microseconds where a dump of the kernel's table costs
//! milliseconds: how many connections the namespace has accepted, and how many descriptors a process has left.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt},
};

use ackwise_linux::Namespace;

use crate::{KeepFree, NetworkNamespace, TuneError};

/// The counters of one network namespace.
#[derive(Debug)]
pub(crate) struct Signs {
    /// `/proc/net/snmp` (proc_net(5)) stays that of the namespace in which it was opened. `None`: not readable.
    counters: Option<File>,
}

impl Signs {
    pub(crate) fn of(namespace: &NetworkNamespace) -> Result<Self, TuneError> {
        const OWN: &str = "/proc/thread-self/net/snmp";
        let counters = match namespace {
            NetworkNamespace::Here => File::open(OWN).ok(),
            NetworkNamespace::Process(process) => {
                File::open(format!("/proc/{process}/net/snmp")).ok()
            }
            NetworkNamespace::File(path) => {
                Namespace::of_file(path)?.run(|| File::open(OWN).ok())?
            }
        };
        Ok(Self { counters })
    }

    /// How many handshakes listening sockets have completed, ever, on any port: `PassiveOpens` of RFC 4022.
    pub(crate) fn accepted(&self) -> Option<u64> {
        let mut buffer = [0; COUNTERS_SIZE];
        let size = self.counters.as_ref()?.read_at(&mut buffer, 0).ok()?;
        passive_opens(str::from_utf8(buffer.get(..size)?).ok()?)
    }
}

fn passive_opens(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let index = lines.next()?.split(' ').position(|name| name == "PassiveOpens")?;
    lines.next()?.split(' ').nth(index)?.parse().ok()
}

/// A process that can hardly open anything.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Full {
    pub(crate) process: u32,
    pub(crate) used: u64,
    pub(crate) limit: u64,
    /// How many of them are to be free.
    pub(crate) free: u64,
}

impl Full {
    /// `None` if enough are left.
    fn of(process: u32, used: u64, limit: u64, keep_free: KeepFree) -> Option<Self> {
        let free = keep_free.of(limit).max(SPARE_DESCRIPTORS);
        (used + free > limit).then_some(Self { process, used, limit, free })
    }

    /// How many have to be closed.
    pub(crate) const fn excess(self) -> u64 {
        (self.used + self.free).saturating_sub(self.limit)
    }
}

/// That of these processes of whose descriptors fewer are left than shall be, and that needs most.
pub(crate) fn full(processes: &[u32], keep_free: KeepFree) -> Option<Full> {
    let full = processes.iter().filter_map(|process| {
        let limit = limit_of(&fs::read_to_string(format!("/proc/{process}/limits")).ok()?)?;
        Full::of(*process, used_by(*process)?, limit, keep_free)
    });
    full.max_by_key(|full| full.excess())
}

/// The soft limit in the table of `/proc/PID/limits`; `None` if there is none.
fn limit_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The size of `/proc/PID/fd` is the number of descriptors since Linux 6.2, and 0 before.
fn used_by(process: u32) -> Option<u64> {
    let path = format!("/proc/{process}/fd");
    match fs::metadata(&path).ok()?.size() {
        0 => Some(fs::read_dir(path).ok()?.count() as u64),
        size => Some(size),
    }
}

/// At least this many stay free. Our choice: a proxy needs two for a client, and a
/// server one for the file.
const SPARE_DESCRIPTORS: u64 = 3;
/// Our choice: the file has less than 2 KB, and its TCP lines come before what later kernels append.
const COUNTERS_SIZE: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_counted_when_its_handshake_is_complete() {
        let signs = Signs::of(&NetworkNamespace::Here).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let before = signs.accepted().expect("every Linux has the counter");
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(signs.accepted().unwrap() > before);
        let text = "Ip: A\nIp: 1\nTcp: ActiveOpens PassiveOpens\nTcp: 3 4711\nUdp: B\n";
        assert_eq!(passive_opens(text), Some(4_711));
        for bad in ["", "Tcp: PassiveOpens", "Tcp: A\nTcp: 1", "Tcp: PassiveOpens\nTcp: -1"] {
            assert_eq!(passive_opens(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_process_near_its_limit_is_full() {
        let own = std::process::id();
        assert_eq!(full(&[u32::MAX, own], KeepFree::Number(0)), None);
        let used = used_by(own).unwrap();
        for (used, keep_free, excess) in [
            (90, KeepFree::DEFAULT, None),
            (91, KeepFree::DEFAULT, Some(1)),
            (97, KeepFree::Number(0), None),
            (98, KeepFree::Number(0), Some(1)),
            (50, KeepFree::Number(99), None),
            (51, KeepFree::Number(99), Some(1)),
        ] {
            let found = Full::of(own, used, 100, keep_free).map(Full::excess);
            assert_eq!(found, excess, "{used} {keep_free:?}");
        }
        assert!((3..1_000).contains(&used), "{used}");
        let line = "Max open files            1024                 524288               files";
        assert_eq!(limit_of(line), Some(1_024));
        assert_eq!(limit_of("Max open files            unlimited            unlimited"), None);
    }
}
