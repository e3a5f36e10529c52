//! What a card advises is applied here, and seen to work.
//!
//! The names of these tests stand in the table of remedies.

use std::process::Command;

use ackwise_testing::debian;
use serde_json::Value;

use super::*;
use crate::{card::check_from, servers::Proxy};

#[test]
fn nginx_tcp_nopush_joins_the_head() {
    let [before, after] = [Nginx::HeadApart, Nginx::TcpNopush].map(Server::Nginx);
    assert_cured("remedies::nginx_tcp_nopush_joins_the_head", "split-head", [before, after]);
}

/// With an initial window of two segments, as before RFC 3390: the head and one full segment leave, and a client of 1996
/// delays its ACK. Where responses begin with full segments, it acknowledges two at once.
#[test]
fn nginx_tcp_nopush_ends_the_short_initial_segment_s_stall() {
    let test = "remedies::nginx_tcp_nopush_ends_the_short_initial_segment_s_stall";
    let check = |nginx| {
        let network = Network::new(Stack::Ackwise)?;
        let route = ["route", "replace", "10.0.0.0/24", "dev", "wire0", "initcwnd", "2"];
        let mut ip = Command::new(debian::find("ip", "iproute2")?);
        let set = network.server.run(|| ip.args(route).status())?;
        assert!(set.expect("it is there").success(), "no route with initcwnd");
        let running = Running::start(Server::Nginx(nginx), &network, test)?;
        // On the other host, so that the server's route leads to it.
        let arguments = ["--allow-host-changes", "--only", "short-initial-segment"];
        check_from(network.client(Stack::Kernel), &running, Stack::Ackwise, &arguments)
    };
    let (before, after) = match (check(Nginx::HeadApart), check(Nginx::TcpNopush)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(missing), _) | (_, Err(missing)) => return skip(test, missing),
    };
    let verdict = |card: &Card| card.value("short-initial-segment", "/verdict").clone();
    assert_eq!(verdict(&before), "warn", "{before}");
    let stall = before.value("short-initial-segment", "/values/stall_ms").as_f64();
    assert!(stall.is_some_and(|ms| ms > 30.0), "{before}");
    assert_eq!(verdict(&after), "pass", "{after}");
    assert_eq!(after.value("short-initial-segment", "/values/stall_ms"), 0.0, "{after}");
}

#[test]
fn nginx_tcp_nodelay_ends_the_stall() {
    let [before, after] = [Nginx::WithoutTcpNodelay, Nginx::HeadApart].map(Server::Nginx);
    assert_cured(
        "remedies::nginx_tcp_nodelay_ends_the_stall",
        "nagle-delayed-ack",
        [before, after],
    );
}

#[test]
fn python_disable_nagle_algorithm_ends_the_stall() {
    let test = "remedies::python_disable_nagle_algorithm_ends_the_stall";
    let [before, after] = [Python::HeadApart, Python::NoDelay].map(Server::Python);
    assert_cured(test, "nagle-delayed-ack", [before, after]);
}

#[test]
fn python_wbufsize_ends_the_stall() {
    let [before, after] = [Python::HeadApart, Python::Joined].map(Server::Python);
    assert_cured("remedies::python_wbufsize_ends_the_stall", "nagle-delayed-ack", [before, after]);
}

#[test]
fn python_wbufsize_joins_the_head() {
    let [before, after] = [Python::HeadApart, Python::Joined].map(Server::Python);
    assert_cured("remedies::python_wbufsize_joins_the_head", "split-head", [before, after]);
}

#[test]
fn linux_tcp_slow_start_after_idle_keeps_the_window() {
    let test = "remedies::linux_tcp_slow_start_after_idle_keeps_the_window";
    let check = |value: &str| {
        let network = Network::new(Stack::Ackwise)?;
        network.set_on_server("tcp_slow_start_after_idle", value)?;
        let running = Running::start(Server::Nginx(Nginx::TcpNopush), &network, test)?;
        check(&network, &running, Stack::Ackwise, &["--only", "idle-restart"])
    };
    let (before, after) = match (check("1"), check("0")) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(missing), _) | (_, Err(missing)) => return skip(test, missing),
    };
    let window = |card: &Card| card.value("idle-restart", "/values/after").as_u64();
    assert_eq!(window(&before), Some(10), "{before}");
    assert!(window(&after) > Some(20), "{after}");
    assert_eq!(before.value("idle-restart", "/verdict"), "warn", "{before}");
    assert_eq!(after.value("idle-restart", "/verdict"), "pass", "{after}");
}

#[test]
fn nginx_keepalive_timeout_outlasts_what_is_in_front() {
    let test = "remedies::nginx_keepalive_timeout_outlasts_what_is_in_front";
    let card = |nginx| card_behind(test, Server::Nginx(nginx), "2s");
    match (card(Nginx::Keeps(2)), card(Nginx::Keeps(5))) {
        (Ok(before), Ok(after)) => {
            assert_eq!(before.value("keep-alive", "/verdict"), "warn", "{before}");
            let remedy = before.value("keep-alive", "/remedy").as_str().unwrap_or_default();
            assert!(remedy.starts_with("nginx: keepalive_timeout longer"), "{before}");
            assert_eq!(after.value("keep-alive", "/verdict"), "pass", "{after}");
        }
        (Err(missing), _) | (_, Err(missing)) => skip(test, missing),
    }
}

/// While nginx buffers, it sets `TCP_NODELAY` only after the first response of a connection.
#[test]
fn nginx_without_proxy_buffering_sends_each_token() {
    let test = "remedies::nginx_without_proxy_buffering_sends_each_token";
    assert_stream_is_cured(test, [Proxy::Nginx, Proxy::NginxUnbuffered], "nagle");
}

/// HAProxy writes with `MSG_MORE` while it expects more.
#[test]
fn haproxy_http_no_delay_sends_each_token() {
    let test = "remedies::haproxy_http_no_delay_sends_each_token";
    assert_stream_is_cured(test, [Proxy::Haproxy, Proxy::HaproxyNoDelay], "cork");
}

fn assert_stream_is_cured(test: &str, proxies: [Proxy; 2], held_by: &str) {
    let (before, after) = match proxies.map(|proxy| streams::card_behind(test, proxy)) {
        [Ok(before), Ok(after)] => (before, after),
        [Err(missing), _] | [_, Err(missing)] => return skip(test, missing),
    };
    assert_eq!(before.value(streams::HELD, "/values/held_by"), held_by, "{before}");
    assert_eq!(after.value(streams::HELD, "/verdict"), "pass", "{after}");
}

/// The first server is found to have `finding`, the second, to which the remedy was applied, not.
fn assert_cured(test: &str, finding: &str, servers: [Server; 2]) {
    let check = |server| {
        let network = Network::new(Stack::Ackwise)?;
        let running = Running::start(server, &network, test)?;
        check(&network, &running, Stack::Ackwise, &["--only", finding])
    };
    let (before, after) = match (check(servers[0]), check(servers[1])) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(missing), _) | (_, Err(missing)) => return skip(test, missing),
    };
    let bad: [Value; 2] = ["warn".into(), "fail".into()];
    assert!(bad.contains(before.value(finding, "/verdict")), "{:?}: {before}", servers[0]);
    assert_eq!(after.value(finding, "/verdict"), "pass", "{:?}: {after}", servers[1]);
}
