//! One interface, a real server, and curl.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    thread,
    time::Duration,
};

use ackwise_testing::skip;
use serde_json::Value;

use crate::{
    lab::{self, Lab},
    program::{KEPT, PORT, SETTLE, curl, explain, missing, nginx},
};

fn owed(report: &Value, cause: &str) -> f64 {
    let totals = report["totals"].as_array().unwrap();
    let of_all = totals.iter().filter(|it| it["over"] == "all" && it["cause"] == cause);
    of_all.map(|it| it["ms"].as_f64().unwrap()).sum()
}

#[test]
fn an_interrupt_prints_what_a_live_interface_has_shown() {
    if let Some(missing) = lab::missing().or_else(|| missing(&["nginx", "curl", "setpriv"])) {
        return skip("an_interrupt_prints_what_a_live_interface_has_shown", missing);
    }
    let Lab { client, server, .. } = &Lab::with_cable();
    let _nginx = nginx(&server.namespace, "interrupt");
    let filter = format!("tcp port {PORT} and host {}", client.address);
    let arguments = ["--interface", &server.interface, "--filter", &filter, "--json"];
    let mut explain = explain(&server.namespace, &arguments);
    curl(&client.namespace, &[&format!("http://{}:{PORT}/small?[1-10]", server.address)]);
    thread::sleep(SETTLE);
    explain.interrupt();
    let output = explain.output();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["exchanges"].as_array().unwrap().len(), 10, "{}", report["summary"]);
    let [connection] = &report["connections"].as_array().unwrap()[..] else {
        panic!("{}", report["connections"])
    };
    assert_eq!(connection["closed_first"], "client");
    assert_eq!(report["lost_by_capture"], 0);
    // The first responses of a connection are acknowledged at once.
    let stalls = owed(&report, "nagle-delayed-ack") / 40.0;
    assert!((4.0..11.0).contains(&stalls), "{stalls} stalls: {}", report["summary"]);
}

#[test]
fn a_live_capture_ends_after_its_duration_and_sees_only_what_the_filter_wants() {
    if let Some(missing) = lab::missing().or_else(|| missing(&["nginx", "curl", "setpriv"])) {
        return skip("a_live_capture_ends_after_its_duration", missing);
    }
    let Lab { client, server, .. } = &Lab::with_cable();
    let _nginx = nginx(&server.namespace, "duration");
    let filter = format!("not port {PORT}");
    let one = ["--interface", "any", "--duration", "2s"];
    let wanted = explain(&client.namespace, &one);
    let unwanted = explain(&client.namespace, &[&one[..], &["--filter", &filter]].concat());
    curl(&client.namespace, &[&format!("http://{}:{PORT}/small", server.address)]);
    for (capture, expected) in [(wanted, "1 exchange,"), (unwanted, "The capture has no exchange")]
    {
        let output = capture.output();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn idle_connections_and_quic_are_counted_and_who_holds_time_wait_is_said() {
    if let Some(missing) = lab::missing().or_else(|| missing(&["nginx", "setpriv"])) {
        return skip("idle_connections_and_quic_are_counted", missing);
    }
    let Lab { client, server, .. } = &Lab::with_cable();
    let _nginx = nginx(&server.namespace, "idle");
    let mut explain = explain(&client.namespace, &["--interface", &client.interface, "--json"]);
    let address = SocketAddr::from((server.address, PORT));
    let get = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /small HTTP/1.1\r\nHost: server\r\n\r\n").unwrap();
        assert!(stream.read(&mut [0; 2_000]).unwrap() > 0);
        stream
    };
    let mut closed = client.inside(get);
    client.inside(|| {
        let quic = UdpSocket::bind("0.0.0.0:0").unwrap();
        // What a client begins with (RFC 9000, section 17.2.2): both connection IDs, no token, the length.
        let mut initial = [&[0xc3, 0, 0, 0, 1, 8][..], &[7; 8], &[0, 0, 0x44, 0x9e]].concat();
        initial.resize(1_200, 0x55);
        quic.send_to(&initial, (server.address, 443)).unwrap();
    });
    thread::sleep(KEPT / 2);
    let open = client.inside(get);
    // What is left of the response, and the end.
    closed.read_to_end(&mut Vec::new()).unwrap();
    drop(closed);
    thread::sleep(SETTLE);
    explain.interrupt();
    let report: Value = serde_json::from_slice(&explain.output().stdout).unwrap();
    drop(open);
    assert_eq!(report["left_out"]["quic"], 1, "{}", report["left_out"]);
    let [server] = &report["servers"].as_array().unwrap()[..] else { panic!("one server") };
    assert_eq!((&server["idle_open"], &server["idle_closed"]), (&1.into(), &1.into()), "{server}");
    let after = Duration::from_secs_f64(server["idle_closed_ms"].as_f64().unwrap() / 1e3);
    // nginx looks at its clock now and then.
    assert!((KEPT * 9 / 10..KEPT * 4 / 3).contains(&after), "{after:?}");
    assert_eq!(server["closed_first"], server["time_wait"]);
    assert_eq!(server["time_wait"]["server"], 1, "{server}");
}

#[test]
fn while_packets_are_read_no_thread_has_more_than_it_needs() {
    if let Some(missing) = lab::missing().or_else(|| missing(&["setpriv"])) {
        return skip("while_packets_are_read_no_thread_has_more_than_it_needs", missing);
    }
    let Lab { client, .. } = &Lab::with_cable();
    let mut explain = explain(&client.namespace, &["--interface", &client.interface]);
    // CAP_DAC_OVERRIDE: what root needs to write files in directories of others.
    assert_eq!(explain.capabilities(), [1 << 1].into());
    explain.interrupt();
    assert_eq!(explain.output().status.code(), Some(0));
}

#[test]
fn what_cannot_be_captured_is_said_in_one_line() {
    if let Some(missing) = lab::missing().or_else(|| missing(&["setpriv"])) {
        return skip("what_cannot_be_captured_is_said_in_one_line", missing);
    }
    let host = &Lab::with_cable().client;
    let said = |arguments: &str| {
        let mut command = std::process::Command::new("setpriv");
        command.args(arguments.split(' ')).args(["--", env!("CARGO_BIN_EXE_ackwise"), "explain"]);
        let output = host.inside(|| command.args(["--interface", "eth7"]).output()).unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let all = said("--pdeathsig KILL");
    assert!(all.contains("unknown interface \"eth7\" (expected one of"), "{all}");
    assert!(all.contains("cable") && all.lines().count() == 1, "{all}");
    let none = said("--bounding-set -net_raw --inh-caps -net_raw");
    assert!(
        none.contains("CAP_NET_RAW is missing (use sudo, or let a group capture: sudo chgrp"),
        "{none}"
    );
    assert!(none.lines().count() == 1, "{none}");
}
