//! Whether requests fail while `ackwise tune --of` closes a proxy's idle connections to the server behind it.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ackwise_linux::Namespace;
use ackwise_linux::sockets::{Query, SocketTable};
use ackwise_tcp::State;
use anyhow::Context;

use super::Tuning;
use super::server::{Client, Server, envoy};
use crate::dice::Dice;

/// A proxy that keeps connections to the server behind it.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Nginx,
    HaProxy,
    Envoy,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Nginx, Self::HaProxy, Self::Envoy];

    const fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx (`keepalive 100`)",
            Self::HaProxy => "HAProxy (`http-reuse always`)",
            Self::Envoy => "Envoy",
        }
    }

    /// With few descriptors.
    fn command(self, directory: &Path, port: u16, behind: u16) -> anyhow::Result<Command> {
        let path = directory.display();
        let (program, file, text) = match self {
            Self::Nginx => ("nginx", "-c", format!(
                "daemon off; pid {path}/pid; error_log {path}/errors crit; worker_processes 1; user root;
events {{ worker_connections 4096; }}
http {{ client_body_temp_path {path}/a; proxy_temp_path {path}/b; fastcgi_temp_path {path}/c;
 uwsgi_temp_path {path}/d; scgi_temp_path {path}/e; access_log off; keepalive_timeout 300s;
 keepalive_requests 1000000; upstream page {{ server 127.0.0.1:{behind}; keepalive 100; }}
 server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ proxy_pass http://page;
 proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }} }}\n"
            )),
            Self::HaProxy => ("haproxy", "-f", format!(
                "global\n maxconn 60\n nbthread 1\ndefaults\n mode http\n timeout client 300s
 timeout http-keep-alive 300s\n timeout connect 5s\n timeout server 60s\n timeout queue 60s
frontend page\n bind 127.0.0.1:{port} backlog 4096\n default_backend page
backend page\n http-reuse always\n server one 127.0.0.1:{behind} pool-purge-delay 300s\n"
            )),
            Self::Envoy => ("envoy", "-c", envoy(port, "route: {cluster: page}") + &cluster(behind)),
        };
        // Envoy tells formats by the name.
        let config = directory.join("config.yaml");
        fs::write(&config, text)?;
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={DESCRIPTORS}")).arg(program).arg(file).arg(config);
        match self {
            Self::Nginx => command.args(["-e", "stderr", "-p"]).arg(directory),
            Self::HaProxy => command.arg("-db"),
            Self::Envoy => command.args(["--concurrency", "1", "--log-level", "off"]),
        };
        Ok(command)
    }
}

/// The server behind it, for Envoy.
fn cluster(behind: u16) -> String {
    format!(
        "  clusters:
  - name: page
    type: STATIC
    load_assignment:
      cluster_name: page
      endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {behind}}}}}}}}}]}}]
"
    )
}

pub(super) fn run(ackwise: &Path, requests: u32) -> anyhow::Result<()> {
    println!(
        "tune --upward: {requests} requests by {CLIENTS} clients, half of them POST; {DESCRIPTORS} descriptors, half of them kept free\n"
    );
    println!(
        "| proxy | tune | most, then least connections upward | responses | failed GET | failed POST | tried again | closed |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for kind in Kind::ALL {
        for tuned in [None, Some(ackwise)] {
            let namespace = Namespace::create()?;
            match namespace.run(|| row(kind, tuned, requests))?.with_context(|| kind.name()) {
                Ok(row) => println!("{row}"),
                Err(error) => println!("| {} | not measured: {error:#} |", kind.name()),
            }
        }
    }
    Ok(())
}

fn row(kind: Kind, tuned: Option<&Path>, requests: u32) -> anyhow::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let behind = listener.local_addr()?.port();
    thread::spawn(move || {
        for (connection, number) in listener.incoming().zip(0..) {
            // It ends with the process that keeps the connection.
            let Ok(connection) = connection else { return };
            thread::spawn(move || serve(&connection, number));
        }
    });
    let server = Server::start(|directory, port| kind.command(directory, port, behind))?;
    let process = server.process().to_string();
    let start = |ackwise| Tuning::start_for(ackwise, ["--of", &process], &RULE);
    let tuning = tuned.map(start).transpose()?;
    let (tally, began) = (Arc::new(Tally::default()), Instant::now());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (tally, port) = (Arc::clone(&tally), server.port);
            thread::spawn(move || user(port, number, requests, began, &tally))
        })
        .collect();
    let (mut most, mut least) = (0, usize::MAX);
    let mut table = SocketTable::here()?;
    while !clients.iter().all(thread::JoinHandle::is_finished) {
        let mut upward = 0;
        let query = Query::remote_port(behind).in_states(&[State::Established]);
        table.each(query, |_| upward += 1)?;
        most = most.max(upward);
        if upward == most {
            least = most;
        }
        least = least.min(upward);
        thread::sleep(Duration::from_millis(20));
    }
    let closed = tuning.map(Tuning::end).transpose()?.map_or_else(
        || "-".to_owned(),
        |text| {
            let last = text.lines().last().unwrap_or_default();
            last.split_once("set, ").map_or_else(String::new, |(_, words)| words.to_owned())
        },
    );
    let [responses, get, post, again] =
        [&tally.responses, &tally.failed[0], &tally.failed[1], &tally.again]
            .map(|it| it.load(Ordering::Relaxed));
    let with = if tuned.is_some() { "yes" } else { "no" };
    Ok(format!(
        "| {} | {with} | {most}, {least} | {responses} | {get} | {post} | {again} | {closed} |",
        kind.name()
    ))
}

/// Answers each request after 0 to 50 ms.
fn serve(connection: &TcpStream, number: u64) {
    let (mut dice, mut reader) = (Dice::new(number), BufReader::new(connection));
    let mut line = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(2) => {}
            Ok(1..) => continue,
            _ => return,
        }
        thread::sleep(Duration::from_millis(dice.between(0, 50).into()));
        let mut connection = connection;
        if connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx").is_err() {
            return;
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    sent: AtomicU64,
    responses: AtomicU64,
    /// GET and POST for which the client saw an error.
    failed: [AtomicU64; 2],
    /// Requests on a connection that the proxy had closed.
    again: AtomicU64,
}

/// A client that keeps its connection. All pause until moments that they have in common, so that the proxy needs many
/// connections at once, and few between.
fn user(port: u16, number: u64, requests: u32, began: Instant, tally: &Tally) {
    let mut dice = Dice::new(number);
    let mut kept: Option<Client> = None;
    while tally.sent.fetch_add(1, Ordering::Relaxed) < u64::from(requests) {
        let method = usize::from(dice.between(0, 1) == 1);
        let usable = kept.take().filter(Client::is_open);
        let is_kept = usable.is_some();
        let exchange = |client: Client| {
            client.0.set_read_timeout(Some(PATIENCE))?;
            client.exchange(["GET", "POST"][method]).map(|()| client)
        };
        let mut done = usable.map_or_else(|| Client::open(port), Ok).and_then(exchange);
        // Closed without an answer: clients repeat that on a new connection.
        if is_kept && done.as_ref().is_err_and(|error| error.kind() != ErrorKind::InvalidData) {
            tally.again.fetch_add(1, Ordering::Relaxed);
            done = Client::open(port).and_then(exchange);
        }
        match done {
            Ok(client) => {
                tally.responses.fetch_add(1, Ordering::Relaxed);
                kept = Some(client);
            }
            Err(_) => drop(tally.failed[method].fetch_add(1, Ordering::Relaxed)),
        }
        let every = [50, 100, 150, 200, 300][dice.between(0, 4) as usize];
        let since = u64::try_from(began.elapsed().as_millis()).unwrap_or(0);
        thread::sleep(Duration::from_millis(every - since % every));
    }
}

const CLIENTS: u64 = 50;
const DESCRIPTORS: u32 = 150;
/// Closes as much as it can: a pause of 200 ms is enough.
const RULE: [&str; 6] =
    ["--keep-free", "50%", "--idle-at-least", "100ms", "--unsure-after", "200ms"];
const PATIENCE: Duration = Duration::from_secs(20);
