//! The namespaces' configuration, and the end of a link.

use std::{
    fs,
    io::{ErrorKind, Read},
    net::{TcpListener, TcpStream},
    process::Command,
    time::{Duration, Instant},
};

use ackwise_link::LinkConfig;
use ackwise_linux::{
    Emulator, Namespace,
    emulator::{EmulatorError, EmulatorOptions},
};
use ackwise_testing::skip;
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};

use crate::cable::{Cable, namespaces};

#[test]
fn both_sides_have_the_congestion_control_of_the_options_and_keep_it() {
    let name = "both_sides_have_the_congestion_control_of_the_options_and_keep_it";
    Cable::with(name, EmulatorOptions::default(), |cable| {
        let (client, server) = cable.connect();
        for socket in [&client, &server] {
            let control = getsockopt(socket, TcpCongestion).unwrap();
            assert_eq!(control.to_str().unwrap().trim_end_matches('\0'), "cubic");
            setsockopt(socket, TcpCongestion, &"reno".into()).unwrap_err();
        }
    });
}

#[test]
fn congestion_control_is_left_alone_when_that_is_asked_for() {
    let name = "congestion_control_is_left_alone_when_that_is_asked_for";
    let options = EmulatorOptions { congestion_control: None, ..EmulatorOptions::default() };
    Cable::with(name, options, |cable| {
        let (client, _server) = cable.connect();
        setsockopt(&client, TcpCongestion, &"reno".into()).unwrap();
    });
}

#[test]
fn one_that_the_kernel_does_not_know_is_named() {
    let name = "one_that_the_kernel_does_not_know_is_named";
    let Some((client, server)) = namespaces(name) else { return };
    for unknown in ["nonsense", "a_name_that_is_too_long", "", "cubic\0x"] {
        let options = EmulatorOptions {
            congestion_control: Some(unknown.to_owned()),
            ..EmulatorOptions::default()
        };
        match Emulator::between(&client, &server, &options) {
            Err(EmulatorError::CongestionControl { name, .. }) => assert_eq!(name, unknown),
            Err(EmulatorError::Device(missing)) => return skip(name, missing),
            other => panic!("{unknown}: {other:?}"),
        }
    }
}

#[test]
fn one_namespace_has_nothing_to_be_joined_with() {
    let name = "one_namespace_has_nothing_to_be_joined_with";
    let Some((client, _)) = namespaces(name) else { return };
    let same = client.run(Namespace::current).unwrap().unwrap();
    let refused = Emulator::between(&client, &same, &EmulatorOptions::default());
    assert!(matches!(refused, Err(EmulatorError::OneNamespace)), "{refused:?}");
}

#[test]
fn two_links_between_the_same_namespaces_are_two_networks() {
    let name = "two_links_between_the_same_namespaces_are_two_networks";
    Cable::with(name, EmulatorOptions::default(), |cable| {
        let options = EmulatorOptions::default();
        let other = Emulator::between(&cable.client, &cable.server, &options).unwrap();
        assert_ne!(cable.emulator.client_device(), other.client_device());
        let (first, _) = cable.connect();
        assert_eq!(first.local_addr().unwrap().ip(), cable.emulator.client_address());
        let second = Cable { emulator: other, ..cable };
        let (second, _) = second.connect();
        assert_ne!(first.local_addr().unwrap().ip(), second.local_addr().unwrap().ip());
    });
}

#[test]
fn a_link_whose_device_is_removed_says_so() {
    let name = "a_link_whose_device_is_removed_says_so";
    Cable::with(name, EmulatorOptions::default(), |cable| {
        let device = cable.emulator.client_device().to_owned();
        if let Err(missing) = ip(&cable.client, &["link", "delete", &device]) {
            return skip(name, missing);
        }
        let ended = cable.emulator.stop();
        assert!(matches!(ended, Err(EmulatorError::Ended(_))), "{ended:?}");
    });
}

#[test]
fn packets_in_flight_at_the_end_are_lost_and_counted() {
    let name = "packets_in_flight_at_the_end_are_lost_and_counted";
    let far = LinkConfig { delay: Duration::MAX, ..LinkConfig::IDEAL };
    Cable::with(name, EmulatorOptions::symmetric(far), |cable| {
        let (_listener, address) = cable.listen();
        let wait = Duration::from_millis(50);
        cable.client.run(|| TcpStream::connect_timeout(&address, wait)).unwrap().unwrap_err();
        let start = Instant::now();
        let report = cable.emulator.stop().unwrap();
        assert!(start.elapsed() < Duration::from_secs(1), "it does not wait for what is under way");
        assert_eq!((report.to_server.in_flight, report.to_server.delivered), (1, 0), "{report}");
    });
}

#[test]
fn a_dropped_emulator_takes_its_connections_with_it() {
    let name = "a_dropped_emulator_takes_its_connections_with_it";
    Cable::with(name, EmulatorOptions::default(), |cable| {
        let (mut client, _server) = cable.connect();
        let Cable { client: namespace, emulator, .. } = cable;
        drop(emulator);
        client.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        client.read(&mut [0]).unwrap_err();
        let devices = || fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        assert!(!namespace.run(devices).unwrap().contains("tun"));
    });
}

#[test]
fn links_form_a_chain_through_a_namespace_that_forwards() {
    let name = "links_form_a_chain_through_a_namespace_that_forwards";
    let delay = Duration::from_millis(5);
    let options = EmulatorOptions::symmetric(LinkConfig { delay, ..LinkConfig::IDEAL });
    Cable::with(name, options.clone(), |near| {
        let router = near.server;
        let Some((far, _)) = namespaces(name) else { return };
        let second = Emulator::between(&router, &far, &options).unwrap();
        router.run(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1")).unwrap().unwrap();
        let first = near.emulator;
        let routes = [
            (&near.client, second.server_address(), first.server_address()),
            (&far, first.client_address(), second.client_address()),
        ];
        for (namespace, to, via) in routes {
            let (to, via) = (to.to_string(), via.to_string());
            if let Err(missing) = ip(namespace, &["route", "add", &to, "via", &via]) {
                return skip(name, missing);
            }
        }
        let listener = far.run(|| TcpListener::bind((second.server_address(), 0)));
        let address = listener.unwrap().unwrap().local_addr().unwrap();
        let start = Instant::now();
        // The listener is closed: the response is an RST, which passes the same link.
        let refused = near.client.run(|| TcpStream::connect(address)).unwrap().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert!(start.elapsed() >= 4 * delay, "two links there, two back");
    });
}

/// Runs `ip` in a namespace, or reports that it is not installed.
fn ip(namespace: &Namespace, arguments: &[&str]) -> Result<(), String> {
    let output = namespace.run(|| Command::new("ip").args(arguments).output()).unwrap();
    let output =
        output.map_err(|missing| format!("cannot start ip: {missing}; install iproute2"))?;
    assert!(output.status.success(), "{output:?}");
    Ok(())
}
