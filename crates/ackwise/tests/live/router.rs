//! A host between client and server: a bridge, two veths, and a service's address behind DNAT.

use std::{
    fs::{self, File},
    net::Ipv4Addr,
    os::fd::AsRawFd,
    process,
};

use ackwise_linux::Namespace;

use crate::lab::Host;

/// Client, router and server, as a node of Kubernetes has them: both ends are pods on one bridge.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub client: Host,
    pub server: Host,
    /// Everything that the router sees.
    pub any: Host,
    /// What it sees of the client.
    pub clean: Host,
}

/// The address that the client knows.
pub(crate) const SERVICE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 78, 1, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 78, 2, 2);

/// Which addresses of clients the server sees.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Addresses {
    Kept,
    /// Masqueraded, as for a service that is used from elsewhere.
    Translated,
}

impl Cluster {
    /// Makes it; port 80 of the service is `port` of the server.
    pub(crate) fn new(port: u16, clients: Addresses) -> Self {
        let [client, router, server] =
            [(); 3].map(|()| Namespace::create().expect("it worked before"));
        let any = Host { namespace: router, interface: "any".into(), address: SERVICE };
        any.run("ip link add bridge type bridge");
        for address in ["10.78.1.1/24", "10.78.2.1/24"] {
            any.run(&format!("ip address add {address} dev bridge"));
        }
        any.run("ip link set bridge up");
        let client = join(&any, client, "pod1", CLIENT);
        let server = join(&any, server, "pod2", SERVER);
        any.inside(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1")).expect("root may");
        translate(&any, port, clients);
        let same = any.inside(|| Namespace::current().expect("/proc is mounted"));
        let clean = Host { namespace: same, interface: "pod1".into(), address: SERVICE };
        Self { client, server, any, clean }
    }
}

/// A pod: a host on the bridge that sends everything through the router.
fn join(router: &Host, pod: Namespace, port: &str, address: Ipv4Addr) -> Host {
    let inside = pod.run(|| File::open("/proc/thread-self/ns/net")).expect("it is ours");
    let inside = inside.expect("/proc is mounted");
    let inside = format!("/proc/{}/fd/{}", process::id(), inside.as_raw_fd());
    router.run(&format!("ip link add {port} type veth peer name eth0 netns {inside}"));
    router.run(&format!("ethtool -K {port} tso off gso off gro off"));
    router.run(&format!("ip link set {port} master bridge up"));
    let host = Host { namespace: pod, interface: "eth0".into(), address };
    let [a, b, c, _] = address.octets();
    host.run(&format!("ip address add {address}/24 dev eth0"));
    host.run("ethtool -K eth0 tso off gso off gro off");
    host.run("ip link set eth0 up");
    // This kernel's default may be BBR, which paces.
    host.run(&format!("ip route add default via {a}.{b}.{c}.1 congctl lock cubic"));
    host
}

fn translate(router: &Host, port: u16, clients: Addresses) {
    router.run("nft add table ip nat");
    router.run("nft add chain ip nat before { type nat hook prerouting priority -100 ; }");
    router.run(&format!(
        "nft add rule ip nat before ip daddr {SERVICE} tcp dport 80 dnat to {SERVER}:{port}"
    ));
    if clients == Addresses::Translated {
        router.run("nft add chain ip nat after { type nat hook postrouting priority 100 ; }");
        router.run(&format!("nft add rule ip nat after ip daddr {SERVER} masquerade"));
    }
}
