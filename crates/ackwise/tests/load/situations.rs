//! What else a run meets: other hosts, ports that run out, errors, an impatient user.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    num::NonZeroU32,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_http::{
    Behaviour,
    behaviour::{Answer, KeepAlivePolicy},
};
use ackwise_serve::{Config, Server};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{
    card::Stack,
    network::PORT,
    program::{Loaded, command, load, load_loopback},
    schema,
    server::Running,
    with_network, with_nginx,
};

/// The number of its process, which nginx writes after it has begun to listen.
fn process_of(running: &Running) -> String {
    let written = (0..250).find_map(|_| {
        let number = running.site().read("pid");
        let number = number.trim().to_owned();
        if number.is_empty() {
            thread::sleep(Duration::from_millis(20));
        }
        (!number.is_empty()).then_some(number)
    });
    written.expect("nginx writes its number within 5 s")
}

/// The server's end is elsewhere: unknown, and not 0; a process of the server tells where.
#[test]
fn the_server_s_end_is_unknown_until_its_process_is_named() {
    let name = "the_server_s_end_is_unknown_until_its_process_is_named";
    with_nginx(name, |network, running| {
        let (client, _) = network.client(Stack::Kernel);
        let loaded = load(client, "10.0.0.1", &["--connections", "200"]);
        loaded.assert_whole(200);
        assert!(loaded.value("/time_wait/server").is_null(), "{loaded}");
        assert!(loaded.notes("could not determine TIME-WAIT at the server"), "{loaded}");
        let process = process_of(running);
        let arguments = ["--connections", "200", "--server-pid", &process];
        let loaded = load(client, "10.0.0.1", &arguments);
        loaded.assert_whole(200);
        assert_eq!(loaded.held(), [200, 0], "those of the run before do not count: {loaded}");
    });
}

#[test]
fn a_run_that_has_used_up_its_ports_says_so() {
    with_nginx("a_run_that_has_used_up_its_ports_says_so", |network, _| {
        network.set_on_server("ip_local_port_range", "40000 40099").unwrap();
        let arguments = ["--close", "client", "--connections", "500", "--concurrency", "8"];
        // Its own address, but no loopback one: there is no other to start from.
        let loaded = load(&network.server, "10.0.0.1", &arguments);
        assert_eq!(loaded.exit_code, Some(1), "{loaded}");
        assert!(loaded.notes("every local port towards 10.0.0.1:8080"), "{loaded}");
        assert!((80..=100).contains(&loaded.number("/connections")), "{loaded}");
        // Loopback has sixteen million.
        load_loopback(&network.server, &arguments).assert_whole(500);
    });
}

/// The kernel's table does not have the names that lead to loopback, too.
#[test]
fn every_name_of_this_host_is_counted() {
    with_nginx("every_name_of_this_host_is_counted", |network, _| {
        for host in ["0.0.0.0", "[::ffff:127.0.0.1]"] {
            let arguments = ["--close", "client", "--connections", "50"];
            let loaded = load(&network.server, host, &arguments);
            loaded.assert_whole(50);
            assert_eq!(loaded.held(), [0, 50], "{host}: {loaded}");
        }
    });
}

/// Nothing is said of RSTs that nobody has seen.
#[test]
fn a_server_that_never_closes_is_said_to_be_that() {
    with_network("a_server_that_never_closes_is_said_to_be_that", |network| {
        let _server = network.server.run(|| thread::spawn(answer_and_never_close))?;
        thread::sleep(Duration::from_millis(200));
        for (close, seen, exit_code) in [
            ("client", "the reason could not be determined", 0),
            ("server", "8 reset by the server, or not closed by it in time", 1),
            ("swap", "8 reset by the server, or not closed by it in time", 1),
        ] {
            let arguments = ["--close", close, "--connections", "8", "--timeout", "1s"];
            let loaded = load_loopback(&network.server, &arguments);
            assert_eq!(loaded.exit_code, Some(exit_code), "{close}: {loaded}");
            assert!(loaded.summary().contains(seen), "{close}: {loaded}");
            assert_eq!(loaded.number("/not_closed"), 8 * u64::from(exit_code == 1), "{loaded}");
        }
        Ok(())
    });
}

/// Each connection has one response and stays open.
fn answer_and_never_close() {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
    let mut kept = Vec::new();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        // One of them asks for nothing.
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        if !matches!(stream.read(&mut [0; 1024]), Ok(1..)) {
            continue;
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        kept.push(stream);
    }
}

/// A server that says no has answered.
#[test]
fn answers_that_all_say_no_are_a_report() {
    with_nginx("answers_that_all_say_no_are_a_report", |network, _| {
        let url = format!("http://127.0.0.1:{PORT}/nothing-here");
        let run = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
            command.args(["load", &url, "--json", "--connections", "20"]).output().unwrap()
        };
        let loaded = Loaded::read(&network.server.run(run).unwrap());
        assert_eq!(loaded.exit_code, Some(1), "{loaded}");
        assert_eq!(loaded.failed("status-4xx"), 20, "{loaded}");
        assert_eq!(loaded.held(), [20, 0], "{loaded}");
    });
}

#[test]
fn further_sources_are_used_when_one_has_no_port_left() {
    with_nginx("further_sources_are_used_when_one_has_no_port_left", |network, _| {
        network.set_on_server("ip_local_port_range", "40000 40099").unwrap();
        let arguments =
            ["--close", "client", "--connections", "500", "--source", "127.1.0.0/27,127.2.0.1"];
        let loaded = load(&network.server, "10.0.0.1", &arguments);
        loaded.assert_whole(500);
        assert_eq!(loaded.held(), [0, 500], "{loaded}");
    });
}

#[test]
fn an_open_loop_keeps_its_rate_and_kept_connections_their_requests() {
    let name = "an_open_loop_keeps_its_rate_and_kept_connections_their_requests";
    with_nginx(name, |network, _| {
        let arguments = ["--rate", "100/s", "--duration", "2s", "--requests-per-connection", "5"];
        let loaded = load_loopback(&network.server, &arguments);
        loaded.assert_whole(200);
        let connections = loaded.number("/connections");
        assert!((40..=60).contains(&connections), "{loaded}");
    });
}

/// Without the end, this took as long as a billion requests.
#[test]
fn a_duration_ends_a_run_whose_connections_carry_any_number_of_requests() {
    let name = "a_duration_ends_a_run_whose_connections_carry_any_number_of_requests";
    with_nginx(name, |network, _| {
        for each in ["unlimited", "1000000000"] {
            let arguments = ["--duration", "1s", "--requests-per-connection", each];
            let began = Instant::now();
            let loaded = load_loopback(&network.server, &arguments);
            assert!(began.elapsed() < Duration::from_secs(8), "{:?}: {loaded}", began.elapsed());
            assert_eq!(loaded.exit_code, Some(0), "{loaded}");
            let answered = loaded.number("/requests");
            assert!(answered > 1000, "{loaded}");
            assert_eq!(loaded.number("/statuses/200"), answered, "{loaded}");
            // nginx ends a connection after 1,000 requests.
            assert!(loaded.number("/cut_short") + 64 >= answered / 1000, "{loaded}");
        }
    });
}

#[test]
fn requests_beyond_a_server_s_limit_for_a_connection_are_made_on_others() {
    let name = "requests_beyond_a_server_s_limit_for_a_connection_are_made_on_others";
    with_network(name, |network| {
        let (idle, max_requests) = (Duration::from_secs(15), NonZeroU32::new(30));
        let keep_alive = KeepAlivePolicy::Silent { idle, max_requests };
        let behaviour = Behaviour { keep_alive, ..Behaviour::FIXED };
        let bind = SocketAddr::from(([127, 0, 0, 1], PORT));
        let config = Config { bind, ..Config::loopback(behaviour) };
        let _server = network.server.run(|| Server::start(config))?.unwrap();
        let arguments = ["--connections", "2", "--requests-per-connection", "100"];
        let loaded = load_loopback(&network.server, &arguments);
        loaded.assert_whole(200);
        assert!(loaded.number("/connections") >= 7, "{loaded}");
        assert!(loaded.notes("the requests left were made on new connections"), "{loaded}");
        Ok(())
    });
}

/// A server that writes head and content apart, with Nagle's algorithm, waits for delayed ACKs.
#[test]
fn what_the_requests_waited_for_is_explained() {
    with_network("what_the_requests_waited_for_is_explained", |network| {
        let bind = SocketAddr::from(([0, 0, 0, 0], PORT));
        let config = Config { bind, ..Config::loopback(Behaviour::PAPER_1996) };
        let _server = network.server.run(|| Server::start(config))?.unwrap();
        let (client, _) = network.client(Stack::Kernel);
        let arguments = ["--connections", "20", "--requests-per-connection", "5", "--explain"];
        let loaded = load(client, "10.0.0.1", &arguments);
        assert_eq!(loaded.number("/causes/exchanges"), 100, "{loaded}");
        let causes = loaded.value("/causes/list").as_array().unwrap();
        let stall = causes.iter().find(|it| it["cause"] == "nagle-delayed-ack").unwrap();
        assert_eq!(stall["party"], "server", "{loaded}");
        assert!(stall["remedy"].as_str().unwrap().contains("TCP_NODELAY"), "{loaded}");
        Ok(())
    });
}

#[test]
fn two_servers_are_loaded_in_turn_and_compared() {
    with_nginx("two_servers_are_loaded_in_turn_and_compared", |network, _| {
        let other = format!("http://127.0.0.1:{PORT}/6651");
        let run = || {
            let arguments = ["--against", &other, "--requests", "400"];
            command("127.0.0.1", &arguments).output().unwrap()
        };
        let output = network.server.run(run).unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let compared = schema::keeping_to("load-against", &output.stdout);
        assert_eq!(
            (&compared["a"]["requests"], &compared["b"]["requests"]),
            (&400.into(), &400.into())
        );
        assert_eq!(compared["rounds"], 10);
        let ratio = |end: &str| compared["ratios"]["p50_ms"][end].as_f64().unwrap();
        assert!(ratio("lower") <= ratio("median") && ratio("median") <= ratio("upper"));
        assert_eq!(compared["ratios"]["p50_ms"]["confidence"], 0.978_516);
    });
}

/// With ports chosen at random, 8.5 % of these were lost.
#[test]
fn a_server_elsewhere_keeps_all_its_time_waits() {
    with_nginx("a_server_elsewhere_keeps_all_its_time_waits", |network, running| {
        let (client, _) = network.client(Stack::Kernel);
        let process = process_of(running);
        let connections = crate::connections();
        let number = connections.to_string();
        let arguments = ["--connections", &number, "--server-pid", &process];
        let loaded = load(client, "10.0.0.1", &arguments);
        loaded.assert_whole(connections);
        assert_eq!(loaded.held(), [connections, 0], "{loaded}");
    });
}

#[test]
fn statuses_contents_and_sizes_are_those_of_the_pages() {
    with_nginx("statuses_contents_and_sizes_are_those_of_the_pages", |network, running| {
        let pages = running.site().write("pages", "/300\n/nothing-here\n");
        let arguments = ["--connections", "30", "--urls", pages.to_str().unwrap()];
        let loaded = load_loopback(&network.server, &arguments);
        assert_eq!(loaded.exit_code, Some(1), "{loaded}");
        assert_eq!(loaded.number("/statuses/200"), 20, "{loaded}");
        assert_eq!(loaded.number("/statuses/404"), 10, "{loaded}");
        let arguments = ["--connections", "10", "--expect-content", "same"];
        load_loopback(&network.server, &arguments).assert_whole(10);
        let other = "0".repeat(64);
        let arguments = ["--connections", "10", "--expect-content", &other];
        let loaded = load_loopback(&network.server, &arguments);
        assert_eq!(loaded.failed("wrong-content"), 10, "{loaded}");
        // Ranges of 500 bytes and more, of a page of 300.
        let arguments = ["--connections", "10", "--workload", "webstone-2"];
        let loaded = load_loopback(&network.server, &arguments);
        assert_eq!(loaded.failed("wrong-size"), 10, "{loaded}");
        assert_eq!(loaded.number("/statuses/206"), 10, "{loaded}");
    });
}

#[test]
fn nobody_who_answers_is_one_clear_error() {
    with_network("nobody_who_answers_is_one_clear_error", |network| {
        let refused = load_loopback(&network.server, &["--connections", "10"]);
        assert_eq!(refused.exit_code, Some(2), "{refused}");
        assert!(refused.complaints.contains("cannot connect to 127.0.0.1:8080"), "{refused}");
        assert!(refused.complaints.contains("connection refused"), "{refused}");
        let error = refused.value("/error").to_string();
        assert!(error.contains("connection refused"), "--json is not empty: {refused}");
        // It accepts in the kernel and never answers.
        let _silent = network.server.run(|| TcpListener::bind(("127.0.0.1", PORT)).unwrap())?;
        let arguments = ["--connections", "10", "--timeout", "300ms"];
        let began = Instant::now();
        let silent = load_loopback(&network.server, &arguments);
        assert_eq!(silent.exit_code, Some(2), "{silent}");
        assert!(silent.complaints.contains("no response in time"), "{silent}");
        assert!(began.elapsed() < Duration::from_secs(10), "{silent}");
        Ok(())
    });
}

#[test]
fn what_is_wrong_with_a_server_is_said() {
    for (answer, complaint) in [
        (Answer::Garbage, "expected \"HTTP/1.\""),
        (Answer::EndlessHead, "expected the end of the head within"),
        (Answer::Close, "closed without a response"),
        (Answer::Silence, "no response in time"),
    ] {
        with_network("what_is_wrong_with_a_server_is_said", |network| {
            let behaviour = Behaviour { answer, ..Behaviour::FIXED };
            let bind = SocketAddr::from(([127, 0, 0, 1], PORT));
            let config = Config { bind, ..Config::loopback(behaviour) };
            let _server = network.server.run(|| Server::start(config))?.unwrap();
            let arguments = ["--connections", "10", "--timeout", "1s"];
            let loaded = load_loopback(&network.server, &arguments);
            assert_eq!(loaded.exit_code, Some(2), "{answer:?}: {loaded}");
            assert!(loaded.complaints.contains(complaint), "{answer:?}: {loaded}");
            Ok(())
        });
    }
}

/// nginx serves them all, and the report names the preset.
#[test]
fn the_clients_may_copy_any_preset() {
    with_nginx("the_clients_may_copy_any_preset", |network, _| {
        for preset in ["rfc", "linux-6", "linux-6-bbr", "bsd-4.4", "sunos-4.1"] {
            let arguments = ["--tcp", preset, "--connections", "50"];
            let loaded = load_loopback(&network.server, &arguments);
            loaded.assert_whole(50);
            assert_eq!(loaded.value("/stack"), "ackwise", "{loaded}");
            assert!(loaded.notes(&format!("the clients' TCP copies {preset}")), "{loaded}");
        }
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    with_network("what_makes_no_sense_is_refused", |network| {
        let swap = load_loopback(&network.server, &["--close", "swap", "--stack", "kernel"]);
        assert_eq!(swap.exit_code, Some(2), "{swap}");
        assert!(swap.complaints.contains("--stack ackwise"), "{swap}");
        for (arguments, complaint) in [
            (["--drain", "plain"], "--close client-close"),
            (["--stack=kernel", "--allow-host-changes"], "--stack ackwise"),
            (["--stack=kernel", "--tcp=linux-6"], "--stack ackwise"),
            (["--tcp", "linux-7"], "linux-6-bbr"),
            (["--server-pid", "4294967295"], "--server-pid"),
            (["--requests-per-connection", "unlimited"], "--duration"),
            (["--arrivals", "poisson"], "--rate"),
            (["--warmup", "1s"], "--duration"),
            (["--urls", "/nowhere"], "--urls /nowhere"),
            (["--workload", "slurp"], "expected one of heidemann"),
        ] {
            let refused = load_loopback(&network.server, &arguments);
            assert_eq!(refused.exit_code, Some(2), "{refused}");
            assert!(refused.complaints.contains(complaint), "{refused}");
        }
        Ok(())
    });
}

#[test]
fn an_interrupted_run_reports_what_it_has() {
    with_nginx("an_interrupted_run_reports_what_it_has", |network, _| {
        let arguments = ["--duration", "60s", "--rate", "50/s"];
        let child = network.server.run(|| {
            let mut command = command("127.0.0.1", &arguments);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        });
        let child = child.unwrap();
        thread::sleep(Duration::from_secs(2));
        let id = i32::try_from(child.id()).unwrap();
        kill(Pid::from_raw(id), Signal::SIGINT).unwrap();
        let loaded = Loaded::read(&child.wait_with_output().unwrap());
        assert_eq!(loaded.exit_code, Some(130), "{loaded}");
        assert!(loaded.number("/requests") > 0 && loaded.notes("interrupted"), "{loaded}");
    });
}
