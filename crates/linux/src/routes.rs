//! Networks in the routing table of the current namespace.

use std::{
    fs, io,
    net::{Ipv4Addr, Ipv6Addr},
};

/// The routes of the current namespace, except default routes, which match every address.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    v4: Vec<(u32, u8)>,
    v6: Vec<(u128, u8)>,
}

impl Routes {
    /// Reads the main table. Policy routing tables are not read.
    pub(crate) fn read() -> io::Result<Self> {
        // `thread-self`: `/proc/net` shows the namespace of the process's main thread.
        let v4 = fs::read_to_string("/proc/thread-self/net/route")?;
        let v6 = fs::read_to_string("/proc/thread-self/net/ipv6_route").unwrap_or_default();
        Ok(Self::parse(&v4, &v6))
    }

    fn parse(v4: &str, v6: &str) -> Self {
        Self {
            v4: v4.lines().filter_map(parse_v4).filter(|(_, prefix)| *prefix > 1).collect(),
            v6: v6.lines().filter_map(parse_v6).filter(|(_, prefix)| *prefix > 1).collect(),
        }
    }

    /// Whether a route overlaps the network `address/prefix`.
    pub(crate) fn overlap_v4(&self, address: Ipv4Addr, prefix: u8) -> bool {
        let address = u32::from(address);
        self.v4.iter().any(|(net, len)| same_v4(*net, address, prefix.min(*len)))
    }

    /// Like [`Routes::overlap_v4`].
    pub(crate) fn overlap_v6(&self, address: Ipv6Addr, prefix: u8) -> bool {
        let address = u128::from(address);
        self.v6.iter().any(|(net, len)| same_v6(*net, address, prefix.min(*len)))
    }
}

fn same_v4(one: u32, other: u32, prefix: u8) -> bool {
    (one ^ other).leading_zeros() >= u32::from(prefix)
}

fn same_v6(one: u128, other: u128, prefix: u8) -> bool {
    (one ^ other).leading_zeros() >= u32::from(prefix)
}

/// `Iface Destination Gateway Flags RefCnt Use Metric Mask …`, with addresses in host byte order.
fn parse_v4(line: &str) -> Option<(u32, u8)> {
    let mut fields = line.split_whitespace();
    let destination = u32::from_str_radix(fields.nth(1)?, 16).ok()?;
    let mask = u32::from_str_radix(fields.nth(5)?, 16).ok()?;
    let prefix = u8::try_from(mask.count_ones()).ok()?;
    Some((u32::from_be_bytes(destination.to_ne_bytes()), prefix))
}

/// `Destination PrefixLength …`, in hexadecimal and network byte order.
fn parse_v6(line: &str) -> Option<(u128, u8)> {
    let mut fields = line.split_whitespace();
    let destination = u128::from_str_radix(fields.next()?, 16).ok()?;
    let prefix = u8::from_str_radix(fields.next()?, 16).ok()?;
    Some((destination, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn networks_overlap_when_either_contains_the_other() {
        let v4 = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                  eth0\t00000000\t010000C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                  vpn0\t000412C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        let v6 = "fd6b7c1e92a400070000000000000000 40 00000000000000000000000000000000 00 x\n\
                  00000000000000000000000000000000 00 00000000000000000000000000000000 00 x\n";
        let routes = Routes::parse(v4, v6);
        assert!(routes.overlap_v4(Ipv4Addr::new(198, 18, 4, 8), 30), "inside 198.18.4.0/24");
        assert!(routes.overlap_v4(Ipv4Addr::new(198, 18, 0, 0), 15), "around 198.18.4.0/24");
        assert!(!routes.overlap_v4(Ipv4Addr::new(198, 18, 5, 0), 30), "only the default route");
        assert!(routes.overlap_v6("fd6b:7c1e:92a4:7::4".parse().unwrap(), 126));
        assert!(!routes.overlap_v6("fd6b:7c1e:92a4:8::4".parse().unwrap(), 126));
    }

    #[test]
    fn nonsense_is_no_route() {
        let routes = Routes::parse("a\nb c d\n", "zz 40\n\n");
        assert!(
            !routes.overlap_v4(Ipv4Addr::LOCALHOST, 8)
                && !routes.overlap_v6(Ipv6Addr::LOCALHOST, 8)
        );
    }
}
