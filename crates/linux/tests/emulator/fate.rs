//! Faults of the model on the wire, and the kernel's reaction.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpStream, UdpSocket},
    process::Command,
    thread,
    time::{self, Duration},
};

use ackwise_link::{DropReason, Faults, Link, LinkConfig, Pick, Probability, Seed};
use ackwise_linux::{
    Emulator, Namespace,
    emulator::{EmulatorOptions, Hold, Ways},
};
use ackwise_tcp::{ByteCount, Instant};
use ackwise_testing::skip;

use crate::cable::Cable;

#[test]
fn the_packet_that_is_dropped_is_the_one_that_is_sent_again() {
    let name = "the_packet_that_is_dropped_is_the_one_that_is_sent_again";
    if let Err(missing) = Command::new("ss").arg("-V").output() {
        return skip(name, format!("cannot start ss: {missing}; install iproute2"));
    }
    // SYN, ACK, then data: the third data segment.
    let lossy = Faults { loss: Pick::Nth(vec![5]), ..Faults::NONE };
    let retransmitted = [Faults::NONE, lossy].map(|faults| {
        let drops = u64::from(faults != Faults::NONE);
        let delay = Duration::from_millis(5);
        let options = EmulatorOptions {
            to_server: LinkConfig { delay, faults, ..LinkConfig::IDEAL },
            to_client: LinkConfig { delay, ..LinkConfig::IDEAL },
            ..EmulatorOptions::default()
        };
        let mut retransmitted = None;
        Cable::with(name, options, |cable| {
            let (client, server) = cable.connect();
            transfer(&client, &server, 14_480);
            retransmitted = Some(retransmissions(&cable.client));
            let report = cable.emulator.stop().unwrap();
            assert_eq!(report.to_server.link.dropped_loss, drops, "{report}");
            assert_eq!(report.to_server.dropped_by_accident(), 0, "{report}");
        });
        retransmitted
    });
    if let [Some(without), Some(with)] = retransmitted {
        assert!(with > without, "{with} retransmissions with a drop, {without} without");
    }
}

/// Sends bytes from one socket to the other.
fn transfer(mut from: &TcpStream, mut to: &TcpStream, bytes: usize) {
    thread::scope(|scope| {
        scope.spawn(|| from.write_all(&vec![1; bytes]).unwrap());
        to.read_exact(&mut vec![0; bytes]).unwrap();
    });
}

/// `tcpi_total_retrans` of the namespace's only connection, as shown by `ss`.
fn retransmissions(namespace: &Namespace) -> u64 {
    let ss = namespace.run(|| Command::new("ss").args(["-tiHn"]).output()).unwrap().unwrap();
    let text = String::from_utf8(ss.stdout).unwrap();
    // `retrans:0/1`: in flight and total.
    let Some((_, found)) = text.split_once(" retrans:") else {
        assert!(text.contains("cwnd:"), "no connection in {text}");
        return 0;
    };
    let all = found.split_whitespace().next().and_then(|counts| counts.split_once('/'));
    all.and_then(|(_, all)| all.parse().ok()).unwrap_or_else(|| panic!("no count in {text}"))
}

#[test]
fn one_seed_drops_and_doubles_the_same_packets_on_the_wire_as_in_the_model() {
    let name = "one_seed_drops_and_doubles_the_same_packets_on_the_wire_as_in_the_model";
    let random = |per_million| Pick::Random(Probability::per_million(per_million).unwrap());
    let faults = Faults { loss: random(200_000), duplication: random(100_000), ..Faults::NONE };
    let link = LinkConfig { faults, ..LinkConfig::IDEAL };
    let fates = [1, 1, 2].map(|seed| {
        let options = EmulatorOptions {
            to_server: link.clone(),
            seed: Seed(seed),
            ..EmulatorOptions::default()
        };
        let mut arrived = None;
        Cable::with(name, options, |cable| arrived = Some(datagrams_that_arrive(&cable)));
        arrived
    });
    if let [Some(one), Some(again), Some(other)] = fates {
        let seed = Seed(1).named("to server");
        assert_eq!(one, virtually(LinkConfig { seed, ..link }));
        assert_eq!(one, again);
        assert_ne!(one, other);
    }
}

const DATAGRAMS: u32 = 200;

/// Sends numbered datagrams and a final one that cannot be lost. Returns the numbers received.
fn datagrams_that_arrive(cable: &Cable) -> Vec<u32> {
    let server_address = (cable.emulator.server_address(), 0);
    let receiver = cable.server.run(|| UdpSocket::bind(server_address)).unwrap().unwrap();
    let client_address = (cable.emulator.client_address(), 0);
    let sender = cable.client.run(|| UdpSocket::bind(client_address)).unwrap().unwrap();
    for number in 0..DATAGRAMS {
        sender.send_to(&number.to_be_bytes(), receiver.local_addr().unwrap()).unwrap();
    }
    // The link has no delay: a datagram not received soon is lost.
    receiver.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut bytes = [0; 4];
    std::iter::from_fn(|| receiver.recv(&mut bytes).ok().map(|_| u32::from_be_bytes(bytes)))
        .collect()
}

/// The same with the model alone.
fn virtually(config: LinkConfig) -> Vec<u32> {
    let mut link = Link::new(config);
    let arriving = |link: &mut Link<u32>, number| {
        let _verdict = link.push(number, ByteCount(32), Instant::EPOCH);
        std::iter::from_fn(|| link.poll(Instant::EPOCH)).collect::<Vec<_>>()
    };
    (0..DATAGRAMS).flat_map(|number| arriving(&mut link, number)).collect()
}

#[test]
fn the_kernel_s_own_ipv6_messages_are_not_packets_of_the_link() {
    let name = "the_kernel_s_own_ipv6_messages_are_not_packets_of_the_link";
    Cable::with(name, EmulatorOptions::default(), |cable| {
        let table = cable.client.run(|| fs::read_to_string("/proc/thread-self/net/if_inet6"));
        if !table.unwrap().is_ok_and(|table| table.contains("tun")) {
            return skip(name, "IPv6 is switched off");
        }
        thread::sleep(Duration::from_millis(300));
        let report = cable.emulator.stop().unwrap();
        assert_eq!(
            report.to_server.link.offered() + report.to_client.link.offered(),
            0,
            "{report}"
        );
        assert!(report.to_server.not_ipv4 > 0, "multicast listener reports, at least: {report:?}");
    });
}

#[test]
fn bytes_in_flight_are_bounded_however_far_the_link_and_fast_the_sender() {
    let name = "bytes_in_flight_are_bounded_however_far_the_link_and_fast_the_sender";
    const SIZE: usize = 1500;
    let most = Emulator::MAX_BYTES_IN_FLIGHT / SIZE;
    let far = LinkConfig { delay: Duration::from_secs(3600), ..LinkConfig::IDEAL };
    Cable::with(name, EmulatorOptions::symmetric(far), |cable| {
        let client_address = (cable.emulator.client_address(), 0);
        let sender = cable.client.run(|| UdpSocket::bind(client_address)).unwrap().unwrap();
        for _ in 0..most + most / 2 {
            // 20 bytes of IP header, 8 of UDP header.
            sender.send_to(&[0; SIZE - 28], (cable.emulator.server_address(), 9)).unwrap();
        }
        thread::sleep(Duration::from_millis(200));
        let report = cable.emulator.stop().unwrap();
        let to_server = report.to_server;
        assert!(usize::try_from(to_server.in_flight).unwrap() <= most, "{report}");
        assert!(to_server.dropped_memory_full > 0 && !report.disturbances().is_empty(), "{report}");
    });
}

#[test]
fn nothing_arrives_within_a_hold_and_the_log_has_the_fate_of_each_packet() {
    let name = "nothing_arrives_within_a_hold_and_the_log_has_the_fate_of_each_packet";
    let held = Duration::from_millis(250);
    // SYN, ACK, then data, whose first copy is dropped.
    let lossy = Faults { loss: Pick::Nth(vec![3]), ..Faults::NONE };
    let options = EmulatorOptions {
        to_server: LinkConfig { faults: lossy, ..LinkConfig::IDEAL },
        holds: vec![Hold { from: Duration::ZERO, until: held, ways: Ways::Both }],
        log: true,
        ..EmulatorOptions::default()
    };
    let began = time::Instant::now();
    Cable::with(name, options, |cable| {
        let (client, server) = cable.connect();
        transfer(&client, &server, 100);
        let report = cable.emulator.stop().unwrap();
        let to_server: Vec<_> = report.packets.iter().filter(|it| it.to_server).collect();
        let syn = to_server[0];
        assert_eq!(syn.headers.len(), syn.length);
        assert!(syn.delivered.unwrap() >= began + held, "{syn:?}");
        assert!(syn.sent.is_ok() && syn.offered < began + held, "{syn:?}");
        assert_eq!((to_server[2].sent, to_server[2].delivered), (Err(DropReason::Loss), None));
        let back = report.packets.len() - to_server.len();
        assert_eq!(back as u64, report.to_client.link.queued, "{report}");
    });
}
