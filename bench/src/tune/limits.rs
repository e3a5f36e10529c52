//! Whom servers at their limit serve, with and without `ackwise tune --max-connections`: one more client beside
//! idle ones, and more clients than places.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ackwise_linux::Namespace;
use anyhow::{Context, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::Tuning;
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
}

impl Kind {
    const ALL: [Self; 5] = [Self::HaProxy, Self::Apache, Self::H2o, Self::Envoy, Self::Nginx];

    const fn name(self) -> &'static str {
        match self {
            Self::HaProxy => "HAProxy (`maxconn 200`)",
            Self::Apache => "Apache (worker MPM, `MaxRequestWorkers 200`)",
            Self::H2o => "h2o (`max-connections: 200`)",
            Self::Envoy => "Envoy (`global_downstream_max_connections: 200`)",
            Self::Nginx => "nginx (`worker_rlimit_nofile 208`)",
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
            Self::Envoy => ("envoy", "-c", envoy(port)),
            Self::Nginx => ("nginx", "-c", format!(
                "daemon off; pid {path}/pid; error_log {path}/errors crit; worker_processes 1; user root;
worker_rlimit_nofile 208; events {{ worker_connections 4096; }}
http {{ client_body_temp_path {path}/a; proxy_temp_path {path}/b; fastcgi_temp_path {path}/c;
 uwsgi_temp_path {path}/d; scgi_temp_path {path}/e; access_log off; keepalive_timeout 300s;
 keepalive_requests 1000000;
 server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200 xxxxxxxxxx; }} }} }}\n"
            )),
        };
        // Envoy tells formats by the name.
        let config = directory.join("config.yaml");
        fs::write(&config, text)?;
        let mut command = Command::new(program);
        command.arg(file).arg(config);
        match self {
            Self::HaProxy => command.arg("-db"),
            Self::Apache => command.args(["-D", "FOREGROUND"]),
            Self::H2o => &mut command,
            Self::Envoy => command.args(["--concurrency", "1", "--log-level", "off"]),
            Self::Nginx => command.args(["-e", "stderr", "-p"]).arg(directory),
        };
        Ok(command)
    }
}

/// A configuration that answers by itself.
fn envoy(port: u16) -> String {
    let http = "type.googleapis.com/envoy.extensions.filters";
    format!(
        "layered_runtime: {{layers: [{{name: a, static_layer: {{overload: {{global_downstream_max_connections: 200}}}}}}]}}
static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': {http}.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: a
          common_http_protocol_options: {{idle_timeout: 300s}}
          route_config:
            virtual_hosts:
            - name: a
              domains: ['*']
              routes: [{{match: {{prefix: /}}, direct_response: {{status: 200, body: {{inline_string: xxxxxxxxxx}}}}}}]
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{'@type': {http}.http.router.v3.Router}}
"
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

fn row(ackwise: &Path, kind: Kind, tuned: bool, time: Duration) -> anyhow::Result<String> {
    let one_more = {
        let server = Server::start(kind)?;
        let port = server.port;
        let idle = (0..PLACES).map(|_| Client::open(port)).collect::<io::Result<Vec<_>>>()?;
        for client in &idle {
            client.0.set_read_timeout(Some(Duration::from_secs(1)))?;
            // nginx has room for some fewer.
            let _ = client.exchange();
        }
        let arguments = ["--max-connections", "200"];
        let tuning = if tuned { Some(Tuning::start(ackwise, port, &arguments)?) } else { None };
        thread::sleep(IDLE);
        let words = [1, MANY].map(|number| newcomers(port, number));
        tuning.map(Tuning::end).transpose()?;
        words.join(" | ")
    };
    let server = Server::start(kind)?;
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
                (&client).exchange()?;
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
            match (&client).exchange() {
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

#[derive(Debug)]
struct Client(TcpStream);

impl Client {
    fn open(port: u16) -> io::Result<Self> {
        Ok(Self(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?))
    }

    /// Whether the server has not closed it.
    fn is_open(&self) -> bool {
        let look = || {
            self.0.set_nonblocking(true)?;
            let seen = self.0.peek(&mut [0]);
            self.0.set_nonblocking(false)?;
            seen
        };
        look().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

trait Exchange {
    fn exchange(self) -> io::Result<()>;
}

impl Exchange for &Client {
    /// A request, and a response with `Content-Length`.
    fn exchange(self) -> io::Result<()> {
        let mut stream = &self.0;
        stream.write_all(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")?;
        let (mut response, mut block) = (Vec::new(), [0; 4_096]);
        loop {
            let size = stream.read(&mut block)?;
            if size == 0 || response.len() > LARGEST_RESPONSE {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            response.extend_from_slice(&block[..size]);
            if is_whole(&response) {
                return Ok(());
            }
        }
    }
}

fn is_whole(response: &[u8]) -> bool {
    let text = String::from_utf8_lossy(response).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.and_then(|it| it.trim().parse().ok()).is_some_and(|length: usize| body.len() >= length)
}

/// A server that listens, in a process group of its own.
#[derive(Debug)]
struct Server {
    child: Child,
    directory: PathBuf,
    port: u16,
}

impl Server {
    /// Each start has a port of its own: workers of the server before may hold its listening socket for a moment
    /// after SIGKILL, and Apache does not try again.
    fn start(kind: Kind) -> anyhow::Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let directory = std::env::temp_dir().join(format!("ackwise-bench-tune-{}-{port}", id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("site"))?;
        for path in [directory.clone(), directory.join("site")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
        fs::write(directory.join("site/page"), "xxxxxxxxxx")?;
        let mut command = kind.command(&directory, port)?;
        let said = File::create(directory.join("said"))?;
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said).process_group(0);
        let child = command.spawn().context("the server is not installed")?;
        let mut server = Self { child, directory, port };
        let began = Instant::now();
        while Client::open(port).and_then(|it| (&it).exchange()).is_err() {
            if let Some(status) = server.child.try_wait()? {
                bail!("the server ended with {status}: {}", server.said());
            }
            if began.elapsed() > START {
                bail!("the server does not answer: {}", server.said());
            }
            thread::sleep(Duration::from_millis(50));
        }
        // It has noticed that this client is gone.
        thread::sleep(Duration::from_millis(500));
        Ok(server)
    }

    /// What it has printed or logged, on one line.
    fn said(&self) -> String {
        let read = |name| fs::read_to_string(self.directory.join(name)).unwrap_or_default();
        let text = read("said") + &read("errors");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.chars().take(SAID_LIMIT).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

const PLACES: usize = 200;
const CLIENTS: u64 = 500;
/// Clients that come at once.
const MANY: usize = 50;
/// Longer than the default of `--unsure-after`.
const IDLE: Duration = Duration::from_secs(11);
/// A busy machine takes long to start eight processes (our choice).
const START: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(5);
const LARGEST_RESPONSE: usize = 100_000;
/// Characters of a server's output in an error (our choice: some lines).
const SAID_LIMIT: usize = 600;
