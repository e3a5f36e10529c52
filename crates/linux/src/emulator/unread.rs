//! Packets dropped by the kernel because they were not read in time: a loss that is not part of the
//! model.

use std::{
    fs::File,
    io::{self, Read, Seek},
};

/// A device's count of packets that found its queue full.
pub(super) struct Unread {
    /// Opened in the device's namespace, so it shows that namespace in any thread.
    table: File,
    device: String,
}

impl Unread {
    /// The counter of a device in the calling thread's namespace.
    pub(super) fn of(device: &str) -> io::Result<Self> {
        Ok(Self { table: File::open("/proc/thread-self/net/dev")?, device: device.to_owned() })
    }

    /// The count so far; `None` if the device is gone.
    pub(super) fn packets(&mut self) -> Option<u64> {
        let mut text = String::new();
        self.table.rewind().ok()?;
        self.table.read_to_string(&mut text).ok()?;
        dropped(&text, &self.device)
    }
}

/// `tun0: bytes packets errs drop fifo frame compressed multicast`, then `bytes packets errs drop
/// …` of the other direction, which is the one into the device (proc_pid_net(5)).
fn dropped(table: &str, device: &str) -> Option<u64> {
    let row = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        (name.trim() == device).then(|| counts.split_whitespace().nth(11)?.parse().ok())?
    };
    table.lines().find_map(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_by_the_name() {
        let table = "Inter-|   Receive     |  Transmit\n face |bytes    packets\n    lo: 0 0 0 1 0 0 0 0 \
                     0 0 0 2 0 0 0 0\n  tun0: 0 0 0 3 0 0 0 0 0 0 0 4 0 0 0 0\ntun01: 1\n";
        assert_eq!(dropped(table, "tun0"), Some(4));
        assert_eq!(dropped(table, "lo"), Some(2));
        assert_eq!(dropped(table, "tun01"), None);
        assert_eq!(dropped(table, "tun"), None);
    }
}
