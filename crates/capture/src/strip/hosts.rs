//! Numbers for addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hashbrown::HashMap;

/// Addresses by the order in which they come: 10.0.0.1, 10.0.0.2 and so on, fd00::1 and so on.
///
/// Better than any cipher: a number says nothing of the address, whoever has which key, and no two
/// hosts share one.
#[derive(Debug, Default)]
pub struct Hosts {
    // Looked up, never walked.
    numbers: HashMap<IpAddr, u32>,
    last: u32,
}

impl Hosts {
    /// The most addresses that are remembered; then all are forgotten, and get new numbers. Our choice.
    const MOST: usize = 1 << 19;
    /// Numbers that an address in 10.0.0.0/8 has room for. Packets of further hosts are dropped.
    const LAST: u32 = (1 << 24) - 2;

    /// The addresses in the place of these, with their ports; `None` if there are no more numbers.
    pub fn of(&mut self, one: SocketAddr, other: SocketAddr) -> Option<[SocketAddr; 2]> {
        if self.numbers.len() >= Self::MOST {
            self.numbers.clear();
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
        if let Some(number) = self.numbers.get(&address) {
            return Some(*number);
        }
        if self.last == Self::LAST {
            return None;
        }
        self.last += 1;
        self.numbers.insert(address, self.last);
        Some(self.last)
    }
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
