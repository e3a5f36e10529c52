//! Client, middle and server, each in a namespace, and an emulated link on each side of the middle.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ackwise_linux::emulator::{Disturbance, PacketRecord};
use ackwise_linux::{Emulator, Namespace};
use anyhow::{Context, ensure};

use super::plan::{Plan, Stamps};
use super::route;
use crate::tap::Tap;

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
    /// Joins the three.
    pub(super) fn build(plan: &Plan) -> anyhow::Result<Self> {
        let [near, far] = &plan.links;
        let [client, middle, server] =
            [Namespace::create()?, Namespace::create()?, Namespace::create()?];
        let near = Emulator::between(&client, &middle, near)?;
        let far = Emulator::between(&middle, &server, far)?;
        let forward = || fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        middle.run(forward)?.context("cannot forward packets in the middle")?;
        let lab = Self { client, server, middle, near, far };
        let ends = [
            (&lab.client, lab.server_address(), lab.near.client_device()),
            (&lab.server, lab.client_address(), lab.far.server_device()),
        ];
        for (host, to, device) in ends {
            host.run(|| prepare(plan, to, device))??;
        }
        Ok(lab)
    }

    pub(super) const fn client_address(&self) -> Ipv4Addr {
        self.near.client_address()
    }

    pub(super) const fn server_address(&self) -> Ipv4Addr {
        self.far.server_address()
    }

    /// Captures at the client, in the middle and at the server.
    pub(super) fn tap(&self, plan: &Plan, folder: &Path) -> anyhow::Result<Vec<Tap>> {
        let file = |name: &str| folder.join(name);
        if plan.one_host {
            return Ok(vec![Tap::at(&self.server, "lo", &file("host.pcap"))?]);
        }
        let [mut client, mut server] = [self.near.client_device(), self.far.server_device()];
        if plan.all_interfaces {
            [client, server] = ["any"; 2];
        }
        let taps = vec![
            Tap::at(&self.client, client, &file("client.pcap"))?,
            Tap::at(&self.middle, self.near.server_device(), &file("middle.pcap"))?,
            Tap::at(&self.server, server, &file("server.pcap"))?,
        ];
        if plan.all_interfaces {
            [&self.client, &self.server]
                .into_iter()
                .try_for_each(|it| it.run(talk_to_itself)?)?;
        }
        Ok(taps)
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
    pub(super) fn settle(plan: &Plan) {
        thread::sleep(SETTLE.max(plan.round_trip() + SETTLE / 5));
    }
}

/// The route from the current namespace to the other end, and what is set for all sockets.
fn prepare(plan: &Plan, to: Ipv4Addr, device: &str) -> anyhow::Result<()> {
    let window = plan.initial_window.map_or_else(String::new, |n| format!(" initcwnd {n}"));
    match plan.kernel.stamps {
        Stamps::Microseconds => route::with_microseconds(to, device)?,
        _ => ip(&format!("route add {to}/32 dev {device}{window}"))?,
    }
    if plan.kernel.stamps == Stamps::Without {
        set("tcp_timestamps")?;
    }
    if plan.kernel.keeps_idle_window {
        set("tcp_slow_start_after_idle")?;
    }
    Ok(())
}

/// Sets a value of the current namespace to 0.
fn set(name: &str) -> anyhow::Result<()> {
    let path = format!("/proc/sys/net/ipv4/{name}");
    fs::write(&path, "0").with_context(|| format!("cannot write {path}"))
}

/// A few bytes over the loopback interface of the current namespace.
fn talk_to_itself() -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut asks = TcpStream::connect(listener.local_addr()?)?;
    asks.write_all(b"ping\n")?;
    let (mut answers, _) = listener.accept()?;
    answers.write_all(b"pong\n")?;
    asks.read_exact(&mut [0; 5])?;
    Ok(())
}

fn ip(arguments: &str) -> anyhow::Result<()> {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.context("cannot start ip: install iproute2")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip {arguments}: {said}");
    Ok(())
}

/// At least; longer on a longer path. Our choice.
const SETTLE: Duration = Duration::from_millis(250);
