//! Whom servers at their limit serve, with and without `ackwise tune --max-connections`: one more client beside
//! idle ones, and more clients than places.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ackwise_linux::Namespace;
use anyhow::Context;

use super::Tuning;
use super::server::{Client, Server, envoy};
use crate::dice::Dice;

/// A server with room for some 200 connections.
#[derive(Clone, Copy, Debug)]
enum Kind {
    HaProxy,
    Apache,
    H2o,
    /// It accepts and closes who comes beyond its limit.
    Envoy,
    /// Not by a limit of its own, but short of descriptors.
    Nginx,
    /// The same.
    Varnish,
    /// It looks once a second whether it may accept again.
    Lighttpd,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::HaProxy,
        Self::Apache,
        Self::H2o,
        Self::Envoy,
        Self::Nginx,
        Self::Varnish,
        Self::Lighttpd,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::HaProxy => "HAProxy (`maxconn 200`)",
            Self::Apache => "Apache (worker MPM, `MaxRequestWorkers 200`)",
            Self::H2o => "h2o (`max-connections: 200`)",
            Self::Envoy => "Envoy (`global_downstream_max_connections: 200`)",
            Self::Nginx => "nginx (`worker_rlimit_nofile 208`)",
            Self::Varnish => "Varnish with 230 descriptors",
            Self::Lighttpd => "lighttpd (`server.max-connections = 200`)",
        }
    }

    /// The program and its configuration.
    fn command(self, directory: &Path, port: u16) -> anyhow::Result<Command> {
        let path = directory.display();
        let (program, file, text) = match self {
            Self::HaProxy => ("haproxy", "-f", format!(
                "global\n maxconn 200\ndefaults\n mode http\n timeout client 300s\n timeout http-keep-alive 300s
 timeout http-request 300s\n timeout connect 5s\n timeout server 60s
frontend page\n bind 127.0.0.1:{port} backlog 4096
 http-request return status 200 content-type text/plain string xxxxxxxxxx\n"
            )),
            Self::Apache => ("apache2", "-f", format!(
                "ServerRoot {path}\nPidFile {path}/pid\nListen 127.0.0.1:{port}\nListenBacklog 4096\nServerName x
LoadModule mpm_worker_module /usr/lib/apache2/modules/mod_mpm_worker.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
ServerLimit 8\nThreadsPerChild 25\nStartServers 8\nMaxRequestWorkers 200\nMinSpareThreads 200
MaxSpareThreads 200\nKeepAlive On\nKeepAliveTimeout 300\nMaxKeepAliveRequests 0
User www-data\nGroup www-data\nErrorLog {path}/errors\nDocumentRoot {path}/site\n"
            )),
            Self::H2o => ("h2o", "-c", format!(
                "num-threads: 1\nmax-connections: 200\nhttp1-request-timeout: 300\nuser: root
listen:\n  host: 127.0.0.1\n  port: {port}\nhosts:\n  default:\n    paths:\n      /:\n        file.dir: {path}/site\n"
            )),
            Self::Envoy => ("envoy", "-c", ENVOY_LIMIT.to_owned() + &envoy(port, ENVOY_PAGE)),
            Self::Nginx => ("nginx", "-c", nginx(&path.to_string(), port)),
            Self::Varnish => ("prlimit", "--nofile=230", VARNISH.to_owned()),
            Self::Lighttpd => ("lighttpd", "-f", lighttpd(&path.to_string(), port)),
        };
        // Envoy tells formats by the name.
        let config = directory.join("config.yaml");
        fs::write(&config, text)?;
        let mut command = Command::new(program);
        command.arg(file);
        if let Self::Varnish = self {
            let address = format!("127.0.0.1:{port}");
            command.args([
                "varnishd",
                "-F",
                "-j",
                "none",
                "-p",
                "timeout_idle=300",
                "-a",
                &address,
                "-f",
            ]);
        }
        command.arg(config);
        match self {
            Self::Varnish => command.arg("-n").arg(directory.join("work")),
            Self::Lighttpd => command.arg("-D"),
            Self::HaProxy => command.arg("-db"),
            Self::Apache => command.args(["-D", "FOREGROUND"]),
            Self::H2o => &mut command,
            Self::Envoy => command.args(["--concurrency", "1", "--log-level", "off"]),
            Self::Nginx => command.args(["-e", "stderr", "-p"]).arg(directory),
        };
        Ok(command)
    }
}

fn nginx(path: &str, port: u16) -> String {
    format!(
        "daemon off; pid {path}/pid; error_log {path}/errors crit; worker_processes 1; user root;
worker_rlimit_nofile 208; events {{ worker_connections 4096; }}
http {{ client_body_temp_path {path}/a; proxy_temp_path {path}/b; fastcgi_temp_path {path}/c;
 uwsgi_temp_path {path}/d; scgi_temp_path {path}/e; access_log off; keepalive_timeout 300s;
 keepalive_requests 1000000;
 server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200 xxxxxxxxxx; }} }} }}\n"
    )
}

fn lighttpd(path: &str, port: u16) -> String {
    format!(
                "server.document-root = \"{path}/site\"\nserver.bind = \"127.0.0.1\"\nserver.port = {port}
server.max-connections = 200\nserver.max-keep-alive-idle = 300\nserver.max-keep-alive-requests = 1000000
server.listen-backlog = 4096\nserver.errorlog = \"{path}/errors\"\n"
            )
}

pub(super) fn run(ackwise: &Path, time: Duration) -> anyhow::Result<()> {
    println!(
        "tune --limits: more clients beside 200 idle ones (served, median); {CLIENTS} clients with 1 s between requests, {time:?}\n"
    );
    println!(
        "| server | tune | one more client | {MANY} more | clients served | responses | failed after one retry | closed, reset |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for kind in Kind::ALL {
        for tuned in [false, true] {
            let namespace = Namespace::create()?;
            let row = namespace.run(|| row(ackwise, kind, tuned, time))?;
            match row.with_context(|| kind.name()) {
                Ok(row) => println!("{row}"),
                Err(error) => println!("| {} | not measured: {error:#} |", kind.name()),
            }
        }
    }
    Ok(())
}

#[expect(clippy::fn_params_excessive_bools, reason = "what the row is about")]
fn row(ackwise: &Path, kind: Kind, tuned: bool, time: Duration) -> anyhow::Result<String> {
    let one_more = {
        let server = Server::start(|directory, port| kind.command(directory, port))?;
        let port = server.port;
        let idle = (0..PLACES).map(|_| Client::open(port)).collect::<io::Result<Vec<_>>>()?;
        for client in &idle {
            client.0.set_read_timeout(Some(Duration::from_secs(1)))?;
            // nginx has room for some fewer.
            let _ = client.exchange("GET");
        }
        let arguments = ["--max-connections", "200"];
        let tuning = if tuned { Some(Tuning::start(ackwise, port, &arguments)?) } else { None };
        thread::sleep(IDLE);
        let words = [1, MANY].map(|number| newcomers(port, number));
        tuning.map(Tuning::end).transpose()?;
        words.join(" | ")
    };
    let server = Server::start(|directory, port| kind.command(directory, port))?;
    let port = server.port;
    let arguments =
        ["--max-connections", "200", "--idle-at-least", "100ms", "--unsure-after", "200ms"];
    let tuning = if tuned { Some(Tuning::start(ackwise, port, &arguments)?) } else { None };
    let tally = Arc::new(Tally::default());
    let until = Instant::now() + time;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let tally = Arc::clone(&tally);
            thread::spawn(move || user(port, number, until, &tally))
        })
        .collect();
    clients.into_iter().for_each(|client| drop(client.join()));
    let closed = tuning.map(Tuning::end).transpose()?.map_or_else(
        || "-".to_owned(),
        |text| {
            let last = text.lines().last().unwrap_or_default();
            last.split_once("set, ").map_or_else(String::new, |(_, words)| words.to_owned())
        },
    );
    let [served, responses, failed] =
        [&tally.served, &tally.responses, &tally.failed].map(|it| it.load(Ordering::Relaxed));
    let with = if tuned { "yes" } else { "no" };
    Ok(format!(
        "| {} | {with} | {one_more} | {served} | {responses} | {failed} | {closed} |",
        kind.name()
    ))
}

#[derive(Debug, Default)]
struct Tally {
    served: AtomicU64,
    responses: AtomicU64,
    /// Requests that failed twice.
    failed: AtomicU64,
}

/// How long clients that come at once wait for their responses, if any is served. They stay.
fn newcomers(port: u16, number: usize) -> String {
    let began = Instant::now();
    let clients: Vec<_> = (0..number)
        .map(|_| {
            thread::spawn(move || {
                let client = Client::open(port)?;
                client.0.set_read_timeout(Some(PATIENCE))?;
                client.exchange("GET")?;
                let took = began.elapsed();
                thread::sleep(PATIENCE.saturating_sub(took));
                io::Result::Ok(took)
            })
        })
        .collect();
    let served = clients.into_iter().filter_map(|client| client.join().ok()?.ok());
    let mut served: Vec<Duration> = served.collect();
    served.sort_unstable();
    match served.get(served.len() / 2) {
        Some(median) => {
            format!("{} of {number}, {:.0} ms", served.len(), median.as_secs_f64() * 1e3)
        }
        None => format!("0 of {number}"),
    }
}

/// A client that keeps its connection, and repeats a request once on a new one (RFC 9112, section 9.3.1).
fn user(port: u16, number: u64, until: Instant, tally: &Tally) {
    let mut dice = Dice::new(number);
    let mut kept: Option<Client> = None;
    let mut responses = 0;
    while Instant::now() < until {
        let mut answered = false;
        for _ in 0..2 {
            // As clients do, it looks for the server's FIN before it sends.
            let usable = kept.take().filter(Client::is_open);
            let client = usable.map_or_else(|| Client::open(port), Ok);
            let Ok(client) = client else { continue };
            let left = until.saturating_duration_since(Instant::now());
            let _ = client.0.set_read_timeout(Some(left.max(Duration::from_millis(1))));
            match client.exchange("GET") {
                Ok(()) => {
                    answered = true;
                    kept = Some(client);
                    break;
                }
                // The end of the run: neither served nor failed.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {}
            }
        }
        match answered {
            // Places become free when the first clients stop.
            true if Instant::now() >= until => return,
            true => {
                tally.served.fetch_add(u64::from(responses == 0), Ordering::Relaxed);
                tally.responses.fetch_add(1, Ordering::Relaxed);
                responses += 1;
            }
            false => drop(tally.failed.fetch_add(1, Ordering::Relaxed)),
        }
        // Evenly between half a second and one and a half.
        let think = Duration::from_millis(dice.between(500, 1_500).into());
        thread::sleep(think.min(until.saturating_duration_since(Instant::now())));
    }
}

const ENVOY_LIMIT: &str = "layered_runtime: {layers: [{name: a, static_layer: {overload: {global_downstream_max_connections: 200}}}]}\n";
const VARNISH: &str = "vcl 4.1; backend default none; sub vcl_recv { return (synth(200)); }\n";
const ENVOY_PAGE: &str = "direct_response: {status: 200, body: {inline_string: xxxxxxxxxx}}";
const PLACES: usize = 200;
const CLIENTS: u64 = 500;
/// Clients that come at once.
const MANY: usize = 50;
/// Longer than the default of `--unsure-after`.
const IDLE: Duration = Duration::from_secs(11);
const PATIENCE: Duration = Duration::from_secs(5);
