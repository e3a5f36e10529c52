//! Numbers for addresses.

use std::{
    hash::Hash,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use hashbrown::HashMap;

/// Addresses by the order in which they come: 10.0.0.1, 10.0.0.2 and so on, fd00::1 and so on.
///
/// Better than any cipher: a number says nothing of the address, whoever has which key, and no two
/// hosts share one.
#[derive(Debug, Default)]
pub struct Hosts {
    // Looked up, never walked. Each family has its own: those of IPv4 take a third of the memory.
    of_ipv4: HashMap<Ipv4Addr, u32>,
    of_ipv6: HashMap<Ipv6Addr, u32>,
    last: u32,
}

impl Hosts {
    /// The most addresses that are remembered; then all are forgotten, and get new numbers. Our choice.
    const MOST: usize = 1 << 19;
    /// Numbers that an address in 10.0.0.0/8 has room for. Packets of further hosts are dropped.
    const LAST: u32 = (1 << 24) - 2;

    /// The addresses in the place of these, with their ports; `None` if there are no more numbers.
    pub fn of(&mut self, one: SocketAddr, other: SocketAddr) -> Option<[SocketAddr; 2]> {
        if self.of_ipv4.len() + self.of_ipv6.len() >= Self::MOST {
            self.of_ipv4.clear();
            self.of_ipv6.clear();
        }
        let mut number = |address: SocketAddr| {
            let number = self.number(address.ip())?;
            let [_, b, c, d] = number.to_be_bytes();
            let ip = match address {
                SocketAddr::V4(_) => Ipv4Addr::new(10, b, c, d).into(),
                SocketAddr::V6(_) => {
                    Ipv6Addr::from_bits((0xfd00 << 112) | u128::from(number)).into()
                }
            };
            Some(SocketAddr::new(ip, address.port()))
        };
        Some([number(one)?, number(other)?])
    }

    fn number(&mut self, address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => numbered(&mut self.of_ipv4, address, &mut self.last),
            IpAddr::V6(address) => numbered(&mut self.of_ipv6, address, &mut self.last),
        }
    }
}

/// The number of `address`, which may be a new one after the `last`.
fn numbered<A: Eq + Hash>(
    numbers: &mut HashMap<A, u32>,
    address: A,
    last: &mut u32,
) -> Option<u32> {
    if let Some(number) = numbers.get(&address) {
        return Some(*number);
    }
    if *last == Hosts::LAST {
        return None;
    }
    *last += 1;
    numbers.insert(address, *last);
    Some(*last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_as_they_come_and_stay_themselves() {
        let mut hosts = Hosts::default();
        for (one, other, expected) in [
            ("8.8.8.8:80", "1.2.3.4:5", ["10.0.0.1:80", "10.0.0.2:5"]),
            ("1.2.3.4:6", "8.8.8.8:80", ["10.0.0.2:6", "10.0.0.1:80"]),
            ("[2001:db8::1]:7", "[::1]:8", ["[fd00::3]:7", "[fd00::4]:8"]),
        ] {
            let numbered = hosts.of(one.parse().unwrap(), other.parse().unwrap());
            assert_eq!(numbered, Some(expected.map(|it| it.parse().unwrap())), "{one}");
        }
    }
}
