//! Client, middle and server, each in a namespace, and an emulated link on each side of the middle.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ackwise_linux::emulator::{Disturbance, EmulatorOptions, PacketRecord};
use ackwise_linux::{Emulator, Namespace};
use anyhow::{Context, ensure};

use super::tap::Tap;

/// The namespaces die with the process, and the links with this.
#[derive(Debug)]
pub(super) struct Lab {
    pub(super) client: Namespace,
    pub(super) server: Namespace,
    middle: Namespace,
    near: Emulator,
    far: Emulator,
}

/// What both links recorded.
#[derive(Debug)]
pub(super) struct Links {
    /// Of the link between client and middle.
    pub(super) near: Vec<PacketRecord>,
    /// Of the link between middle and server.
    pub(super) far: Vec<PacketRecord>,
    /// The emulators dropped packets that the links would have delivered.
    pub(super) dropped: Option<Disturbance>,
    /// When processors paused.
    pub(super) pauses: Vec<[Instant; 2]>,
}

impl Lab {
    /// Joins the three. `initial_window` is in segments, of both ends; the kernel's own without.
    pub(super) fn build(
        [near, far]: [&EmulatorOptions; 2],
        initial_window: Option<u32>,
    ) -> anyhow::Result<Self> {
        let [client, middle, server] =
            [Namespace::create()?, Namespace::create()?, Namespace::create()?];
        let near = Emulator::between(&client, &middle, near)?;
        let far = Emulator::between(&middle, &server, far)?;
        let forward = || fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        middle.run(forward)?.context("cannot forward packets in the middle")?;
        let lab = Self { client, server, middle, near, far };
        let window = initial_window.map_or_else(String::new, |n| format!(" initcwnd {n}"));
        let route = |to: Ipv4Addr, device: &str| format!("route add {to}/32 dev {device}{window}");
        let to_server = route(lab.server_address(), lab.near.client_device());
        lab.client.run(|| ip(&to_server))??;
        let to_client = route(lab.client_address(), lab.far.server_device());
        lab.server.run(|| ip(&to_client))??;
        Ok(lab)
    }

    pub(super) const fn client_address(&self) -> Ipv4Addr {
        self.near.client_address()
    }

    pub(super) const fn server_address(&self) -> Ipv4Addr {
        self.far.server_address()
    }

    /// Captures at the client, in the middle and at the server.
    pub(super) fn tap(&self, folder: &Path) -> anyhow::Result<[Tap; 3]> {
        let file = |name: &str| folder.join(name);
        Ok([
            Tap::at(&self.client, self.near.client_device(), &file("client.pcap"))?,
            Tap::at(&self.middle, self.near.server_device(), &file("middle.pcap"))?,
            Tap::at(&self.server, self.far.server_device(), &file("server.pcap"))?,
        ])
    }

    /// Waits for what is in flight, and stops the links.
    pub(super) fn stop(self) -> anyhow::Result<Links> {
        let [near, far] = [self.near.stop()?, self.far.stop()?];
        let dropped = [near.disturbances(), far.disturbances()].concat().into_iter();
        let dropped =
            dropped.into_iter().find(|it| matches!(it, Disturbance::DroppedByAccident { .. }));
        // Both watched the same processors.
        Ok(Links { near: near.packets, far: far.packets, dropped, pauses: near.pauses })
    }

    /// The last packets reach the captures.
    pub(super) fn settle() {
        thread::sleep(SETTLE);
    }
}

fn ip(arguments: &str) -> anyhow::Result<()> {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.context("cannot start ip: install iproute2")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip {arguments}: {said}");
    Ok(())
}

/// Our choice: longer than the round trip of any path in the lab.
const SETTLE: Duration = Duration::from_millis(250);
