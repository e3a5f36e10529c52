//! Two hosts and an Ethernet between them: namespaces that are gone when the test is.
//!
//! The kernel's stack plays the client on a host of its own, because loopback (MTU 65,536) and offloads
//! would hide where segments end. Our own stack brings its wire along, a TUN device, so it runs beside
//! the server. Names and addresses can be the same in each test: nobody else is there.

use std::{
    fs::{self, File},
    os::fd::AsRawFd,
    process::{self, Command},
};

use ackwise_linux::Namespace;
use ackwise_testing::debian::find;

use crate::{
    card::Stack,
    missing::{Missing, tun},
};

/// A server's and a client's host.
pub(crate) struct Network {
    pub(crate) server: Namespace,
    client: Namespace,
}

/// Where every server listens, on all addresses.
pub(crate) const PORT: u16 = 8080;

/// Where a server behind a proxy listens.
pub(crate) const BACK: u16 = 8081;

impl Network {
    /// Makes both hosts, and the link between them: enough for a check with `stack`.
    pub(crate) fn new(stack: Stack) -> Result<Self, Missing> {
        if stack == Stack::Ackwise {
            tun()?;
        }
        let network = Self { server: Namespace::create()?, client: Namespace::create()? };
        network.link()?;
        for (name, value) in PRESUPPOSED {
            network.set_on_server(name, value)?;
        }
        Ok(network)
    }

    /// Sets `net.ipv4.NAME` on the server's host.
    pub(crate) fn set_on_server(&self, name: &str, value: &str) -> Result<(), Missing> {
        let path = format!("/proc/sys/net/ipv4/{name}");
        let written = self.server.run(|| fs::write(&path, value))?;
        written.map_err(|error| Missing::setup(&format!("sysctl net.ipv4.{name}={value}"), error))
    }

    /// The host on which a check with `stack` runs, and how it names the server.
    pub(crate) fn client(&self, stack: Stack) -> (&Namespace, String) {
        match stack {
            Stack::Kernel => (&self.client, format!("http://{SERVER}:{PORT}")),
            Stack::Ackwise => (&self.server, format!("http://127.0.0.1:{PORT}")),
        }
    }

    fn link(&self) -> Result<(), Missing> {
        let client = self.client.run(|| File::open("/proc/thread-self/ns/net"))?;
        let client = client.expect("who has threads has /proc/thread-self");
        let client = format!("/proc/{}/fd/{}", process::id(), client.as_raw_fd());
        self.server.run(|| {
            run(
                "ip",
                &format!(
                    "link add {WIRE} mtu {MTU} type veth peer {WIRE} mtu {MTU} netns {client}"
                ),
            )?;
            attach(SERVER)
        })??;
        self.client.run(|| attach(CLIENT))?
    }
}

/// Gives this host's end of the wire its address, and leaves no segment to be cut or merged by a device.
fn attach(address: &str) -> Result<(), Missing> {
    run("ip", &format!("address add {address}/24 dev {WIRE}"))?;
    run("ethtool", &format!("-K {WIRE} tso off gso off gro off"))?;
    run("ip", &format!("link set {WIRE} up"))
}

fn run(name: &str, arguments: &str) -> Result<(), Missing> {
    let package = if name == "ip" { "iproute2" } else { name };
    let output = Command::new(find(name, package)?).args(arguments.split(' ')).output();
    let command = format!("{name} {arguments}");
    let output = output.map_err(|error| Missing::setup(&command, error))?;
    if !output.status.success() {
        return Err(Missing::setup(&command, String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(())
}

const WIRE: &str = "wire0";
const MTU: u16 = 1500;
const SERVER: &str = "10.0.0.1";
const CLIENT: &str = "10.0.0.2";

/// What the expectations presuppose of the server's host, whatever the machine's defaults are.
const PRESUPPOSED: [(&str, &str); 4] = [
    // BBR, a default here and there, paces: its first flight is not the initial window. CUBIC cannot be
    // chosen inside a namespace; at the start of a connection the two are the same.
    ("tcp_congestion_control", "reno"),
    // Without what earlier connections to the same client have taught.
    ("tcp_no_metrics_save", "1"),
    ("tcp_rfc1337", "0"),
    ("tcp_slow_start_after_idle", "1"),
];
