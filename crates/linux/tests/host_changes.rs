//! Changes to a host (a namespace here) are announced, work, and are undone, also after SIGKILL.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "each test file uses its part")]
mod host;

use std::{
    fs,
    io::{BufRead, BufReader, Lines, Read, Write},
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::MetadataExt,
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::{
    HostChanges, TunDevice,
    device::TunOptions,
    host_changes::{HostChangeError, RUN_DIRECTORY},
    stack::{Listen, Tap},
};
use ackwise_tcp::Event;
use ackwise_testing::skip;
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
        let Some(holder) = Holder::start(&uplink) else { return };
        assert_ne!((forwarding(uplink.name()).as_str(), tables().as_str()), ("0", ""));
        holder.kill();
        let deadline = Instant::now() + PATIENCE;
        while (forwarding(uplink.name()).as_str(), tables().as_str()) != ("0", "") {
            assert!(Instant::now() < deadline, "{}{}", forwarding(uplink.name()), tables());
            thread::sleep(Duration::from_millis(2));
        }
    });
}

#[test]
fn the_last_of_several_processes_undoes_what_they_share() {
    let name = "the_last_of_several_processes_undoes_what_they_share";
    for (first, kill_first) in [(0, true), (1, true), (0, false)] {
        Host::with(name, |host| {
            drop(host);
            let uplink = TunDevice::open(TunOptions::default()).unwrap();
            let before = shared_files();
            let mut both = Vec::new();
            for _ in 0..2 {
                match Holder::start(&uplink) {
                    Some(holder) => both.push(holder),
                    None => return,
                }
            }
            assert_eq!(forwarding(uplink.name()), "1");
            let other = both.remove(1 - first);
            let first = both.remove(0);
            // SIGKILL, or as after an orderly end.
            if kill_first {
                first.kill()
            } else {
                first.end()
            }
            // Enough for a keeper that would be wrong.
            thread::sleep(Duration::from_millis(300));
            assert_eq!(forwarding(uplink.name()), "1", "the other one still needs it");
            assert_eq!(shared_files().len(), before.len() + 1);
            other.kill();
            let deadline = Instant::now() + PATIENCE;
            while (forwarding(uplink.name()).as_str(), tables().as_str()) != ("0", "") {
                assert!(Instant::now() < deadline, "{}{}", forwarding(uplink.name()), tables());
                thread::sleep(Duration::from_millis(2));
            }
            while shared_files() != before {
                assert!(Instant::now() < deadline, "{:?}", shared_files());
                thread::sleep(Duration::from_millis(2));
            }
        });
    }
}

#[test]
fn what_the_administrator_has_set_stays() {
    let name = "what_the_administrator_has_set_stays";
    Host::with(name, |host| {
        drop(host);
        let uplink = TunDevice::open(TunOptions::default()).unwrap();
        let path = format!("/proc/sys/net/ipv4/conf/{}/forwarding", uplink.name());
        fs::write(path, "1").unwrap();
        let Some(holder) = Holder::start(&uplink) else { return };
        holder.end();
        let deadline = Instant::now() + PATIENCE;
        while !tables().is_empty() {
            assert!(Instant::now() < deadline, "{}", tables());
            thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(forwarding(uplink.name()), "1");
    });
}

#[test]
fn the_capabilities_of_a_file_do_not_suffice() {
    let name = "the_capabilities_of_a_file_do_not_suffice";
    if !nix::unistd::geteuid().is_root() {
        return skip(name, "needs root");
    }
    Host::with(name, |host| {
        drop(host);
        let uplink = TunDevice::open(TunOptions::default()).unwrap();
        // The node of TUN devices may be readable for root only.
        let capabilities = "+net_admin,+net_raw,+dac_override";
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .args(["--inh-caps", capabilities, "--ambient-caps", capabilities, "--"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "a_process_that_holds_changes", "--nocapture"])
            .env(TARGET, uplink.v4().ours.to_string())
            .output();
        let Ok(output) = output else { return skip(name, "no setpriv here; install util-linux") };
        let said = String::from_utf8(output.stdout).unwrap();
        if !said.contains("says ") {
            return skip(name, "another user may not run this test or open /dev/net/tun");
        }
        assert!(said.contains("says cannot change this host: not root"), "{said}");
        assert_eq!((forwarding(uplink.name()).as_str(), tables().as_str()), ("0", ""));
    });
}

#[test]
fn nft_leaves_no_history() {
    let name = "nft_leaves_no_history";
    Host::with(name, |host| {
        drop(host);
        let uplink = TunDevice::open(TunOptions::default()).unwrap();
        let home = std::env::temp_dir().join(format!("ackwise-home-{}", std::process::id()));
        fs::create_dir(&home).unwrap();
        let holder = Holder::start_with(&uplink, &[("HOME", home.to_str().unwrap()), ("PATH", "")]);
        if let Some(holder) = holder {
            holder.end();
            let deadline = Instant::now() + PATIENCE;
            while !tables().is_empty() {
                assert!(Instant::now() < deadline, "{}", tables());
                thread::sleep(Duration::from_millis(2));
            }
        }
        let left: Vec<_> =
            fs::read_dir(&home).unwrap().flatten().map(|it| it.file_name()).collect();
        fs::remove_dir_all(&home).unwrap();
        assert_eq!(left, Vec::<std::ffi::OsString>::new());
    });
}

/// A process that holds changes until it is ended.
struct Holder {
    child: Child,
    /// Held open: what the process prints at its end must not end it earlier.
    _output: Lines<BufReader<ChildStdout>>,
}

impl Holder {
    fn start(uplink: &TunDevice) -> Option<Self> {
        Self::start_with(uplink, &[])
    }

    /// `None` if the test was skipped.
    fn start_with(uplink: &TunDevice, environment: &[(&str, &str)]) -> Option<Self> {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_process_that_holds_changes", "--nocapture"])
            .env(TARGET, uplink.v4().ours.to_string())
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("says ")));
        if said.unwrap().unwrap() == "says ready" {
            return Some(Self { child, _output: lines });
        }
        child.wait().unwrap();
        None
    }

    fn kill(mut self) {
        self.child.kill().unwrap(); // SIGKILL
        self.child.wait().unwrap();
    }

    /// It drops its changes.
    fn end(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// The files with values to restore, of all namespaces.
fn shared_files() -> Vec<std::ffi::OsString> {
    let entries =
        fs::read_dir(RUN_DIRECTORY).map_or_else(|_| Vec::new(), |all| all.flatten().collect());
    let names = entries.iter().map(fs::DirEntry::file_name).filter(|name| name != "lock");
    // Other tests run at the same time, in other namespaces.
    let here = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    let ours = names.filter(|name| name.to_string_lossy().starts_with(&format!("{here}-")));
    ours.collect()
}

/// Not a test: the process that the tests above start and kill.
#[test]
fn a_process_that_holds_changes() {
    let Ok(target) = std::env::var(TARGET) else { return };
    let target = (target.parse::<Ipv4Addr>().unwrap(), 80).into();
    let device = TunDevice::open(TunOptions::default()).unwrap();
    let changes = HostChanges::reach_remote(&device, target, |_| ());
    if let Err(refused @ HostChangeError::NotRoot) = changes {
        return println!("\nsays {refused}");
    }
    let made = made("a_killed_process_leaves_no_change", changes);
    println!("\nsays {}", if made.is_some() { "ready" } else { "nothing" });
    if made.is_some() {
        // Until the test closes its end, or kills this process.
        let _ = std::io::stdin().read(&mut [0]);
    }
}

/// Skips the test without `nft`.
fn made(test: &str, changes: Result<HostChanges, HostChangeError>) -> Option<HostChanges> {
    match changes {
        Ok(changes) => Some(changes),
        Err(missing @ (HostChangeError::Keeper { .. } | HostChangeError::NotRoot)) => {
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
