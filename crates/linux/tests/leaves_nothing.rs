//! Nothing remains, however the process ends.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "each test file uses its part")]
mod host;

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::{
    Emulator, Namespace, TunDevice, device::TunOptions, emulator::EmulatorOptions,
};
use ackwise_testing::skip;
use host::{Host, PATIENCE};

#[test]
fn a_device_goes_when_it_is_dropped() {
    Host::with("a_device_goes_when_it_is_dropped", |host| {
        let name = host.stack.device().name().to_owned();
        assert!(interfaces().contains(&name));
        drop(host);
        assert_eq!(interfaces(), ["lo"]);
    });
}

#[test]
fn a_device_goes_when_its_process_is_killed() {
    Host::with("a_device_goes_when_its_process_is_killed", |host| {
        drop(host);
        let (mut child, said) = start("a_process_that_holds_a_device");
        assert!(interfaces().contains(&said), "{said}");
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        wait_for_loopback_alone();
    });
}

#[test]
fn a_namespace_has_no_name_and_its_maker_stays_outside() {
    let name = "a_namespace_has_no_name_and_its_maker_stays_outside";
    let before = fs::read_link("/proc/thread-self/ns/net").unwrap();
    let names = || fs::read_dir("/run/netns").map_or(0, Iterator::count);
    let named = names();
    let namespace = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(missing) => return skip(name, missing),
    };
    let here = || fs::read_link("/proc/thread-self/ns/net").unwrap();
    assert_eq!((here(), names()), (before.clone(), named));
    let inside = namespace.enter().unwrap();
    let within = here();
    assert_ne!(within, before);
    assert_eq!(interfaces(), ["lo"]);
    drop(inside);
    assert_eq!(here(), before);
    assert_eq!(namespace.run(here).unwrap(), within);
}

#[test]
fn an_emulated_link_goes_when_its_process_is_killed() {
    let name = "an_emulated_link_goes_when_its_process_is_killed";
    Host::with(name, |host| {
        drop(host);
        let (mut child, said) = start("a_process_that_holds_an_emulated_link");
        assert!(interfaces().contains(&said), "{said}");
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        wait_for_loopback_alone();
    });
}

/// Not a test: the process that the test above starts and kills.
#[test]
fn a_process_that_holds_an_emulated_link() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let (here, there) = (Namespace::current().unwrap(), Namespace::create().unwrap());
    let emulator = Emulator::between(&here, &there, &EmulatorOptions::default()).unwrap();
    println!("\nsays {}", emulator.client_device());
    thread::sleep(PATIENCE);
}

/// Not a test: the process that a test starts and kills.
#[test]
fn a_process_that_holds_a_device() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let device = TunDevice::open(TunOptions::default()).unwrap();
    println!("\nsays {}", device.name());
    thread::sleep(PATIENCE);
}

/// Starts a test of this file as a process. Returns its first line of output.
fn start(test: &str) -> (Child, String) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "yes")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("says ").map(str::to_owned));
    (child, said.expect("the child says something"))
}

/// The kernel removes a killed process's resources asynchronously.
fn wait_for_loopback_alone() {
    let deadline = Instant::now() + PATIENCE;
    while interfaces() != ["lo"] {
        assert!(Instant::now() < deadline, "{:?} is left", interfaces());
        thread::sleep(Duration::from_millis(1));
    }
}

fn interfaces() -> Vec<String> {
    let table = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    table
        .lines()
        .skip(2)
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
        .collect()
}

const CHILD: &str = "ACKWISE_TEST_CHILD";
