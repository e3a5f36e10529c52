//! What the kernel's socket tables count: no program has a descriptor of a socket in TIME-WAIT.

use std::{collections::BTreeMap, io, net::IpAddr, time::Duration};

use ackwise_linux::{
    Namespace, NamespaceError, SocketTable,
    sockets::{Family, Query},
};
use ackwise_tcp::State;

/// Looks at the tables of all namespaces.
#[derive(Debug)]
pub(crate) struct Sampler {
    tables: Vec<SocketTable>,
    /// By address: the most in TIME-WAIT, and the most connections besides.
    pub(crate) most: BTreeMap<IpAddr, [u64; 2]>,
}

impl Sampler {
    pub(crate) fn of(namespaces: &[Namespace]) -> Result<Self, NamespaceError> {
        let tables = namespaces.iter().map(SocketTable::of).collect::<Result<_, _>>()?;
        Ok(Self { tables, most: BTreeMap::new() })
    }

    /// Takes a sample.
    pub(crate) fn sample(&mut self) -> io::Result<()> {
        let mut now: BTreeMap<IpAddr, [u64; 2]> = BTreeMap::new();
        for table in &mut self.tables {
            let query = Query::local_port(0).in_family(Family::V4);
            table.each(query, |socket| {
                let counts = now.entry(socket.local.ip()).or_default();
                match socket.state {
                    State::TimeWait => counts[0] += 1,
                    State::Listen | State::Closed => {}
                    _ => counts[1] += 1,
                }
            })?;
        }
        for (address, counts) in now {
            let most = self.most.entry(address).or_default();
            *most = [most[0].max(counts[0]), most[1].max(counts[1])];
        }
        Ok(())
    }
}

/// How often connections are counted (our choice: it takes some tens of microseconds for a hundred).
pub(crate) const EVERY: Duration = Duration::from_millis(200);
