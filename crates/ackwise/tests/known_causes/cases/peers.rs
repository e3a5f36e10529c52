//! Programs that people run: nobody is accused of anything, until a server is told to be slow.

use std::{
    io::Write,
    net::{Ipv4Addr, TcpListener},
    thread,
    time::Duration,
};

use ackwise_cause::{Cause, Direction};
use ackwise_testing::skip;

use super::judge;
use crate::{
    http::{body, read_message, response_head},
    lab::{self, Lab},
    peer::{Peer, curl},
    scenario::think,
    truth::Truth,
};

#[test]
fn nginx_that_serves_files() {
    serve_files("nginx_that_serves_files", |lab| Peer::nginx(&lab.server, ""));
}

#[test]
fn nginx_with_tcp_nopush() {
    let nopush = |lab: &Lab| Peer::nginx(&lab.server, "tcp_nopush on;");
    serve_files("nginx_with_tcp_nopush", nopush);
}

#[test]
fn apache_that_serves_files() {
    serve_files("apache_that_serves_files", |lab| Peer::apache(&lab.server));
}

/// curl asks twice for each of some files, large and small, on one connection.
fn serve_files(name: &str, peer: impl Fn(&Lab) -> Peer + Sync) {
    let paths = ["200", "6651", "3883", "1866", "65536", "300"].repeat(2);
    if_installed(name, || {
        judge(name, paths.len(), &[], Lab::with_cable, |lab, _| {
            let _peer = peer(lab);
            curl(&lab.client, &lab.server, &paths);
        });
    });
}

#[test]
fn nginx_with_limit_rate() {
    let name = "nginx_with_limit_rate";
    let blame = (Cause::ApplicationLimited, Direction::ToClient);
    let act = |lab: &Lab, truth: &Truth| {
        let _peer = Peer::nginx(&lab.server, "limit_rate 40k;");
        for (exchange, body) in curl(&lab.client, &lab.server, &["65536"; 2]).iter().enumerate() {
            truth.tell(exchange, blame, *body);
        }
    };
    if_installed(name, || judge(name, 2, &[], Lab::with_cable, act));
}

#[test]
fn nginx_with_a_slow_upstream() {
    let name = "nginx_with_a_slow_upstream";
    let act = |lab: &Lab, truth: &Truth| {
        let upstream = "location / { proxy_pass http://127.0.0.1:8081; }";
        let _peer = Peer::nginx(&lab.server, upstream);
        let listener = lab.server.inside(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 8081)));
        let listener = listener.expect("nobody has the port");
        thread::scope(|scope| {
            scope
                .spawn(|| (0..SLOW).for_each(|exchange| answer_slowly(&listener, exchange, truth)));
            curl(&lab.client, &lab.server, &["page"; SLOW]);
        });
    };
    if_installed(name, || judge(name, SLOW, &[], Lab::with_cable, act));
}

/// nginx makes a connection for each request, and keeps none.
fn answer_slowly(listener: &TcpListener, exchange: usize, truth: &Truth) {
    let (mut stream, _) = listener.accept().expect("nginx connects");
    read_message(&mut stream).expect("nginx asks");
    let blame = (Cause::ServerThink, Direction::ToClient);
    truth.measure(exchange, blame, || think(Duration::from_millis(100)));
    stream.write_all(&[response_head(3_000), body(3_000)].concat()).expect("nginx reads");
}

/// Looks for everything that runs here before it is needed.
fn if_installed(name: &str, work: impl FnOnce()) {
    let programs = ["nginx", "apache2", "curl", "setpriv"];
    match lab::missing().or_else(|| lab::missing_program(&programs)) {
        Some(missing) => skip(name, missing),
        None => work(),
    }
}

/// So many requests to the slow upstream.
const SLOW: usize = 8;
