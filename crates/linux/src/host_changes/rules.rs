//! The tables added to the packet filter in `nft` syntax: one line, one transaction.

use std::net::SocketAddrV4;

use crate::TunDevice;

/// A table of the family `ip`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct NftTable {
    pub(super) name: String,
    pub(super) rules: String,
}

/// Redirects packets that arrive at the host's end of `device` to the loopback interface.
pub(super) fn to_loopback(device: &TunDevice, port: u16) -> NftTable {
    let (interface, host) = (device.name(), device.v4().host);
    table(
        interface,
        "prerouting priority dstnat",
        &format!(
            "iifname \"{interface}\" ip daddr {host} tcp dport {port} dnat to 127.0.0.1:{port}"
        ),
    )
}

/// Translates the source of packets from `device` to `target` to the host's address.
pub(super) fn to_remote(device: &TunDevice, target: SocketAddrV4) -> NftTable {
    let (ip, port) = (target.ip(), target.port());
    let ours = device.v4().ours;
    table(
        device.name(),
        "postrouting priority srcnat",
        &format!("ip saddr {ours} ip daddr {ip} tcp dport {port} masquerade"),
    )
}

/// `flags owner`: the kernel removes the table with the process that created it.
fn table(interface: &str, hook: &str, rule: &str) -> NftTable {
    let name = format!("ackwise_{interface}");
    let rules = format!(
        "table ip {name} {{ flags owner; chain nat {{ type nat hook {hook}; {rule}; }}; }}"
    );
    NftTable { name, rules }
}
