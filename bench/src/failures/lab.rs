//! Client, middle and server, each in a namespace. The delay is between client and middle; the middle forwards, and
//! drops or refuses what a case wants, so that captures at both ends see what ends see.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use ackwise_link::LinkConfig;
use ackwise_linux::emulator::EmulatorOptions;
use ackwise_linux::{Emulator, Namespace};
use anyhow::{Context, ensure};

use crate::tap::Tap;

/// The namespaces die with the process, and the links with this.
#[derive(Debug)]
pub(super) struct Lab {
    pub(super) client: Namespace,
    pub(super) server: Namespace,
    middle: Namespace,
    near: Emulator,
    far: Emulator,
    /// One nft at a time.
    rules: Mutex<()>,
}

/// How its hosts and the path are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    pub(super) rtt: Duration,
    pub(super) timestamps: bool,
}

impl Lab {
    pub(super) fn build(path: Course) -> anyhow::Result<Self> {
        let [client, middle, server] =
            [Namespace::create()?, Namespace::create()?, Namespace::create()?];
        let link = LinkConfig { delay: path.rtt / 2, ..LinkConfig::IDEAL };
        let near = Emulator::between(&client, &middle, &EmulatorOptions::symmetric(link))?;
        let far = Emulator::between(&middle, &server, &EmulatorOptions::default())?;
        let lab = Self { client, server, middle, near, far, rules: Mutex::default() };
        let [near, far] = [lab.near.client_device(), lab.far.server_device()];
        let [own, other] = [lab.far.server_address(), lab.near.client_address()];
        lab.middle.run(|| -> anyhow::Result<()> {
            fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("cannot forward packets")?;
            run("ip", &format!("route add {SECOND}/32 dev {}", lab.far.client_device()))
        })??;
        lab.client.run(|| -> anyhow::Result<()> {
            run("ip", &format!("route add {own}/32 dev {near}"))?;
            run("ip", &format!("route add {SECOND}/32 dev {near}"))
        })??;
        lab.server.run(|| -> anyhow::Result<()> {
            run("ip", &format!("addr add {SECOND}/32 dev lo"))?;
            run("ip", &format!("route add {other}/32 dev {far}"))
        })??;
        for (host, hook) in [(&lab.middle, "forward"), (&lab.server, "input")] {
            host.run(|| -> anyhow::Result<()> {
                run("nft", "add table ip t")?;
                run("nft", &format!("add chain ip t c {{ type filter hook {hook} priority 0; }}"))
            })??;
        }
        lab.middle.run(|| -> anyhow::Result<()> {
            run("nft", "add set ip t held { type inet_service ; flags timeout ; }")?;
            run("nft", &format!("add rule ip t c ip daddr {SECOND} tcp dport @held drop"))
        })??;
        for host in [&lab.client, &lab.server] {
            host.run(|| -> anyhow::Result<()> {
                fs::write(
                    "/proc/sys/net/ipv4/tcp_timestamps",
                    if path.timestamps { "1" } else { "0" },
                )?;
                // A burst of SYNs to one listener is no attack.
                fs::write("/proc/sys/net/ipv4/tcp_max_syn_backlog", "1024")?;
                Ok(())
            })??;
        }
        Ok(lab)
    }

    pub(super) fn server_at(&self, port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(self.far.server_address(), port)
    }

    /// Lets the middle do this to packets, such as `tcp dport 80 drop`.
    pub(super) fn rule(&self, text: &str) -> anyhow::Result<()> {
        self.add_rule(&self.middle, text)
    }

    /// Drops what goes to the second address's port for a while.
    pub(super) fn hold_second(&self, port: u16, span: Duration) -> anyhow::Result<()> {
        let _alone = self.rules.lock().expect("nobody panics here");
        let element = format!("add element ip t held {{ {port} timeout {}ms }}", span.as_millis());
        self.middle.run(|| run("nft", &element))?
    }

    /// As [`rule`](Self::rule), behind the server's capture.
    pub(super) fn rule_at_server(&self, text: &str) -> anyhow::Result<()> {
        self.add_rule(&self.server, text)
    }

    fn add_rule(&self, host: &Namespace, text: &str) -> anyhow::Result<()> {
        let _alone = self.rules.lock().expect("nobody panics here");
        host.run(|| run("nft", &format!("add rule ip t c {text}")))?
    }

    /// Captures at both ends.
    pub(super) fn tap(&self, folder: &Path) -> anyhow::Result<[Tap; 2]> {
        let ends = [
            (&self.client, self.near.client_device(), "client.pcap"),
            (&self.server, self.far.server_device(), "server.pcap"),
        ];
        let [client, server] = ends
            .map(|(host, device, file)| Tap::of(host, device, &folder.join(file), "tcp or icmp"));
        Ok([client?, server?])
    }
}

fn run(program: &str, arguments: &str) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments.split(' '));
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {arguments}: {said}");
    Ok(())
}

/// The server's second address.
pub(super) const SECOND: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
