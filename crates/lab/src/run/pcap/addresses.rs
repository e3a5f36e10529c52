//! The addresses that a capture gives to hosts, which the simulator knows by number only.

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, SocketAddr},
};

use ackwise_sim::{observe::ConnectionId, scenario::NodeId};

/// Gives connections that are open at the same time addresses of their own.
///
/// Host `n` is 10.0.x.y, where x and y are the bytes of `n + 1`, and servers listen on port 80. A
/// connection has the port of [`FIRST_PORT`] on that its number leads to, as at a host that counts its
/// ports up. Where an open one has it, the client gets a further address: 10.1.x.y, 10.2.x.y. So
/// addresses depend on the run alone, and captures of one run at two hosts agree.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    taken: BTreeSet<(NodeId, u16, Subnet)>,
}

/// The second byte of a client's address.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Subnet(u8);

impl Addresses {
    /// Takes an address for a connection that begins.
    pub(super) fn take(&mut self, connection: ConnectionId, client: NodeId) -> Subnet {
        let port = port(connection);
        // Should all be taken, two connections have to share the last one.
        let free = |subnet: &u8| !self.taken.contains(&(client, port, Subnet(*subnet)));
        let subnet = Subnet((0..=u8::MAX).find(free).unwrap_or(u8::MAX));
        self.taken.insert((client, port, subnet));
        subnet
    }

    /// Gives it back when the connection is over.
    pub(super) fn release(&mut self, connection: ConnectionId, client: NodeId, subnet: Subnet) {
        self.taken.remove(&(client, port(connection), subnet));
    }
}

/// The addresses of the client and of the server; `None` if there are more hosts than addresses.
pub(super) fn addresses(
    connection: ConnectionId,
    [client, server]: [NodeId; 2],
    subnet: Subnet,
) -> Option<[SocketAddr; 2]> {
    let client = SocketAddr::from((host(client, subnet)?, port(connection)));
    Some([client, SocketAddr::from((host(server, Subnet(0))?, SERVER_PORT))])
}

/// Neither 10.0.0.0 nor 10.0.255.255, which look like networks.
fn host(node: NodeId, Subnet(subnet): Subnet) -> Option<Ipv4Addr> {
    let number = u16::try_from(node.0.checked_add(1)?).ok().filter(|&number| number < u16::MAX)?;
    let [high, low] = number.to_be_bytes();
    Some(Ipv4Addr::new(10, subnet, high, low))
}

fn port(connection: ConnectionId) -> u16 {
    let place = connection.0 % u64::from(u16::MAX - FIRST_PORT + 1);
    FIRST_PORT + u16::try_from(place).expect("less than the number of ports")
}

/// RFC 6335, section 6: "the Dynamic Ports, also known as the Private or Ephemeral Ports, from
/// 49152-65535".
const FIRST_PORT: u16 = 49_152;
const SERVER_PORT: u16 = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(connection: u64, hosts: [u32; 2], subnet: Subnet) -> Option<String> {
        let addresses = addresses(ConnectionId(connection), hosts.map(NodeId), subnet)?;
        Some(addresses.map(|address| address.to_string()).join(" "))
    }

    #[test]
    fn open_connections_have_addresses_of_their_own() {
        let mut addresses = Addresses::default();
        let [first, same_port] = [ConnectionId(3), ConnectionId(3 + 16_384)];
        let one = addresses.take(first, NodeId(0));
        let two = addresses.take(same_port, NodeId(0));
        assert_eq!(text(3, [0, 256], one).unwrap(), "10.0.0.1:49155 10.0.1.1:80");
        assert_eq!(text(3 + 16_384, [0, 256], two).unwrap(), "10.1.0.1:49155 10.0.1.1:80");
        assert_eq!(addresses.take(same_port, NodeId(1)), one);
        addresses.release(first, NodeId(0), one);
        assert_eq!(addresses.take(ConnectionId(3 + 2 * 16_384), NodeId(0)), one);
    }

    #[test]
    fn there_are_fewer_addresses_than_hosts_may_be() {
        assert_eq!(text(0, [65_533, 0], Subnet(0)).unwrap(), "10.0.255.254:49152 10.0.0.1:80");
        assert_eq!(text(0, [65_534, 0], Subnet(0)), None);
        assert_eq!(text(0, [0, u32::MAX], Subnet(0)), None);
    }
}
