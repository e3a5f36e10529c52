//! Changes to a host (a namespace here) are announced, work, and are undone, also after SIGKILL.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "each test file uses its part")]
mod host;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::{
    HostChanges, TunDevice,
    device::TunOptions,
    host_changes::HostChangeError,
    stack::{Listen, Tap},
    testing::skip,
};
use ackwise_tcp::Event;
use host::{Host, PATIENCE, config};

#[test]
fn a_server_on_loopback_only_is_reached_while_the_change_holds() {
    let name = "a_server_on_loopback_only_is_reached_while_the_change_holds";
    Host::with(name, |mut host| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = host.kernel(port);
        let mut announced = Vec::new();
        let announce = |change: &_| announced.push(format!("{change}"));
        let changes = HostChanges::reach_loopback(host.stack.device(), port, announce);
        let Some(changes) = made(name, changes) else { return };
        assert_eq!(announced.len(), 2, "{announced:?}");

        let id = host.connect(server);
        host.run_until_event(id, Event::Connected);
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"hello").unwrap();
        let mut received = Vec::new();
        host.exchange(id, b"and back", &mut received, 5);
        socket.read_exact(&mut [0; 8]).unwrap();
        assert_eq!(received, b"hello");

        drop(changes);
        assert_eq!(tables(), "");
        let id = host.connect(server);
        host.run_until_event(id, Event::Reset);
    });
}

#[test]
fn a_host_behind_this_one_is_reached_and_its_interface_is_as_before() {
    let name = "a_host_behind_this_one_is_reached_and_its_interface_is_as_before";
    Host::with(name, |mut host| {
        // A second device is the uplink, its stack the remote host.
        let mut far = Host::on(TunDevice::open(TunOptions::default()).unwrap());
        far.stack.listen(80, Listen { config: config(), backlog: 1, tap: Tap::Off }).unwrap();
        let uplink = far.stack.device().name().to_owned();
        let target = far.ours(80);
        assert_eq!(forwarding(&uplink), "0");
        let changes = HostChanges::reach_remote(host.stack.device(), target, |_| ());
        let Some(changes) = made(name, changes) else { return };
        assert_eq!(forwarding(&uplink), "1");

        let id = host.connect(target);
        let mut accepted = None;
        host.run_until("far away", |_| {
            far.stack.poll(Instant::now() + Duration::from_millis(1)).unwrap();
            accepted = accepted.or_else(|| far.stack.accept(80));
            accepted.is_some()
        });
        host.run_until_event(id, Event::Connected);
        let seen_from = far.stack.tuple(accepted.unwrap()).unwrap().peer;
        assert_eq!(seen_from.ip(), far.stack.device().v4().host, "masqueraded");

        drop(changes);
        assert_eq!((forwarding(&uplink).as_str(), tables().as_str()), ("0", ""));
    });
}

#[test]
fn a_killed_process_leaves_no_change() {
    Host::with("a_killed_process_leaves_no_change", |host| {
        drop(host);
        let uplink = TunDevice::open(TunOptions::default()).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_process_that_holds_changes", "--nocapture"])
            .env(TARGET, uplink.v4().ours.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("says ")));
        if said.unwrap().unwrap() == "says nothing" {
            return drop(child.wait());
        }
        assert_ne!((forwarding(uplink.name()).as_str(), tables().as_str()), ("0", ""));
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        let deadline = Instant::now() + PATIENCE;
        while (forwarding(uplink.name()).as_str(), tables().as_str()) != ("0", "") {
            assert!(Instant::now() < deadline, "{}{}", forwarding(uplink.name()), tables());
            thread::sleep(Duration::from_millis(2));
        }
    });
}

/// Not a test: the process that the test above starts and kills.
#[test]
fn a_process_that_holds_changes() {
    let Ok(target) = std::env::var(TARGET) else { return };
    let target = (target.parse::<Ipv4Addr>().unwrap(), 80).into();
    let device = TunDevice::open(TunOptions::default()).unwrap();
    let changes = HostChanges::reach_remote(&device, target, |_| ());
    let made = made("a_killed_process_leaves_no_change", changes);
    println!("\nsays {}", if made.is_some() { "ready" } else { "nothing" });
    thread::sleep(if made.is_some() { PATIENCE } else { Duration::ZERO });
}

/// Skips the test without `nft`.
fn made(test: &str, changes: Result<HostChanges, HostChangeError>) -> Option<HostChanges> {
    match changes {
        Ok(changes) => Some(changes),
        Err(missing @ HostChangeError::Keeper { .. }) => {
            skip(test, missing);
            None
        }
        Err(other) => panic!("{other}"),
    }
}

fn forwarding(interface: &str) -> String {
    let path = format!("/proc/sys/net/ipv4/conf/{interface}/forwarding");
    fs::read_to_string(path).unwrap().trim().to_owned()
}

fn tables() -> String {
    let output = Command::new("nft").args(["list", "tables"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

const TARGET: &str = "ACKWISE_TEST_TARGET";
