//! Ordinary servers and clients, each with the smallest configuration that lets them serve documents by size.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use ackwise_linux::Namespace;
use ackwise_testing::debian::{self, APACHE_MODULES, apache_configuration, find};
use anyhow::{Context, bail, ensure};
use serde::Serialize;

use super::packages;
use crate::program;
use crate::truth::started::{PREFERRED, spawn};

/// What a session's programs do.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Session {
    pub(super) server: &'static str,
    pub(super) client: &'static str,
    pub(super) tls: bool,
    /// nginx or Node offers HTTP/2.
    pub(super) http2: bool,
    /// Mean think time of a server that is a program of ours, in ms.
    pub(super) server_think: u32,
    /// Mean time between requests, in ms.
    pub(super) think: u32,
    pub(super) delay_us: u32,
    pub(super) seed: u32,
    /// Exchanges, of a session whose client tells its phases.
    pub(super) count: Option<u32>,
}

impl Session {
    /// Where the server is.
    pub(super) fn url(&self, server: Ipv4Addr) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{server}:{PORT}")
    }
}

pub(super) const SERVERS: &[&str] = &["nginx", "python", "node", "apache", "haproxy"];
pub(super) const CLIENTS: &[&str] = &[
    "kept", "curl", "ab", "chromium", "single", "wrk", "pool", "go", "ab-k", "session", "wget",
    "node", "java", "pip", "cargo", "apt",
];
/// In bytes, as the clients ask for them.
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
/// Of a page; our choice, and what a page of a shop has at least.
const IMAGES: usize = 30;
const PORT: u16 = 8_000;
/// Of a server behind a proxy.
const BEHIND: u16 = 8_001;

/// Programs that run; they end when this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    processes: Vec<Child>,
    log: PathBuf,
}

impl Running {
    /// Starts the session's server on `host`, and waits until it listens. Its files are in `folder`.
    pub(super) fn start(
        session: &Session,
        host: &Namespace,
        address: Ipv4Addr,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        documents(folder)?;
        if packages::are_for(session.client) {
            packages::make(&folder.join("documents"), &session.url(address))?;
        }
        certificate(folder, address)?;
        let log = folder.join("server.log");
        let mut running = Self { processes: Vec::new(), log: log.clone() };
        let behind = session.server == "haproxy";
        let mut commands = Vec::new();
        if behind {
            commands.push((BEHIND, nginx(folder, BEHIND, "", "/dev/null".as_ref())?));
        }
        commands.push((PORT, server(session, folder, &log)?));
        for (port, command) in commands {
            running.processes.push(spawn(&command, host, &log)?);
            let listens = host.run(|| program::listens(port))?;
            if !listens {
                let log = fs::read_to_string(&log).unwrap_or_default();
                bail!("{} does not listen on port {port}:\n{log}", session.server);
            }
        }
        Ok(running)
    }

    /// Ends them, and returns what they printed.
    pub(super) fn stop(mut self) -> anyhow::Result<String> {
        self.processes.iter_mut().rev().for_each(debian::end);
        self.processes.clear();
        fs::read_to_string(&self.log).context("cannot read what the server printed")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.processes.iter_mut().rev().for_each(debian::end);
    }
}

/// Watches how long programs wait for each processor, until it is dropped.
pub(super) fn watch(host: &Namespace, folder: &Path) -> anyhow::Result<Running> {
    let (path, log) = (folder.join("watch.py"), folder.join("watch.log"));
    fs::write(&path, include_str!("sources/watch.py"))?;
    let mut running = Running { processes: Vec::new(), log: log.clone() };
    for processor in 0..thread::available_parallelism()?.get() {
        let mut command = Command::new(find("python3", "python3")?);
        command.arg(&path).arg(processor.to_string());
        running.processes.push(spawn(&command, host, &log)?);
    }
    Ok(running)
}

fn server(session: &Session, folder: &Path, log: &Path) -> anyhow::Result<Command> {
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let script = |program: &'static str,
                  package: &'static str,
                  name: &str,
                  text|
     -> anyhow::Result<Command> {
        let path = folder.join(name);
        fs::write(&path, text)?;
        let mut command = Command::new(find(program, package).map_err(anyhow::Error::from)?);
        command.arg(path).arg(PORT.to_string()).arg(session.server_think.to_string());
        if session.tls {
            command.arg(&certificate).arg(&key);
        }
        if session.http2 {
            command.arg("h2");
        }
        Ok(command)
    };
    match session.server {
        "python" => script("python3", "python3", "server.py", include_str!("sources/server.py")),
        "node" => script("node", "nodejs", "server.js", include_str!("sources/server.js")),
        "apache" => apache(folder, session, log),
        "haproxy" => haproxy(folder, session),
        _ if session.http2 => nginx(folder, PORT, " ssl http2", log),
        _ if session.tls => nginx(folder, PORT, " ssl", log),
        _ => nginx(folder, PORT, "", log),
    }
}

/// `more` are parameters of `listen`.
fn nginx(folder: &Path, port: u16, more: &str, log: &Path) -> anyhow::Result<Command> {
    let config = folder.join(format!("nginx-{port}.conf"));
    let root = folder.display();
    let text = format!(
        "daemon off; pid {root}/pid-{port}; error_log stderr; worker_processes 1; user root;
        events {{}}
        http {{
            client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
            fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
            types {{ text/html html; }}
            log_format own '$remote_port ${{request_time}}s';
            access_log {log} own; sendfile on; keepalive_timeout 1s;
            ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem;
            server {{ listen {port}{more}; root {root}/documents; }}
        }}",
        log = log.display(),
    );
    fs::write(&config, text)?;
    let mut command = Command::new(find("nginx", "nginx")?);
    command.args(["-e", "stderr", "-c"]).arg(config).arg("-p").arg(folder);
    Ok(command)
}

fn apache(folder: &Path, session: &Session, log: &Path) -> anyhow::Result<Command> {
    let module = |name: &str| format!("LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so");
    let root = folder.display();
    let mut more = vec![module("mime"), module("dir")];
    more.extend([
        "DirectoryIndex index.html".to_owned(),
        "TypesConfig /dev/null".to_owned(),
        "AddType text/html .html".to_owned(),
        "LogFormat \"%{remote}p %Dus\" own".to_owned(),
        format!("CustomLog {} own", log.display()),
        "KeepAliveTimeout 1".to_owned(),
    ]);
    if session.tls {
        more.extend([module("socache_shmcb"), module("ssl"), "SSLEngine on".to_owned()]);
        more.push(format!("SSLCertificateFile {root}/cert.pem"));
        more.push(format!("SSLCertificateKeyFile {root}/key.pem"));
    }
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let text = apache_configuration(folder, &folder.join("documents"), PORT, &more);
    let config = folder.join("apache.conf");
    fs::write(&config, text)?;
    Ok(debian::apache(&config)?)
}

/// In front of nginx.
fn haproxy(folder: &Path, session: &Session) -> anyhow::Result<Command> {
    let config = folder.join("haproxy.cfg");
    let secure =
        if session.tls { format!(" ssl crt {}/both.pem", folder.display()) } else { String::new() };
    let text = format!(
        "global\n  log stdout format raw local0\n\
         defaults\n  mode http\n  log global\n  log-format \"%cp %Ta ms\"\n\
         \x20 timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  timeout http-keep-alive 1s\n\
         frontend front\n  bind :{PORT}{secure}\n  default_backend back\n\
         backend back\n  server nginx 127.0.0.1:{BEHIND}\n"
    );
    fs::write(&config, text)?;
    let mut command = Command::new(find("haproxy", "haproxy")?);
    command.args(["-db", "-f"]).arg(config);
    Ok(command)
}

fn documents(folder: &Path) -> anyhow::Result<()> {
    let documents = folder.join("documents");
    fs::create_dir_all(&documents)?;
    for size in SIZES {
        fs::write(documents.join(size.to_string()), "x".repeat(size))?;
    }
    let image = |it: usize| format!("<img src=\"{}?{it}\">", SIZES[it % SIZES.len()]);
    let images: String = (0..IMAGES).map(image).collect();
    fs::write(documents.join("page.html"), format!("<title>page</title>{images}"))?;
    fs::write(documents.join("phases.html"), include_str!("sources/phases.html"))?;
    Ok(())
}

fn certificate(folder: &Path, address: Ipv4Addr) -> anyhow::Result<()> {
    let made = rcgen::generate_simple_self_signed(["server".to_owned(), address.to_string()])?;
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    fs::write(folder.join("cert.pem"), &certificate)?;
    fs::write(folder.join("key.pem"), &key)?;
    fs::write(folder.join("both.pem"), format!("{certificate}{key}"))?;
    Ok(())
}

/// Runs a session's client on `host` to its end, and returns what it printed.
pub(super) fn ask(
    name: &str,
    mut command: Command,
    host: &Namespace,
    folder: &Path,
) -> anyhow::Result<String> {
    command.stdin(Stdio::null()).stderr(File::create(folder.join("client.err"))?);
    let output = host.run(|| command.output())?;
    let output = output.with_context(|| format!("cannot start {name}"))?;
    ensure!(output.status.success(), "{name} failed: {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What runs a client, whose words follow.
pub(super) fn patiently() -> Command {
    let mut command = Command::new("nice");
    command.args(PREFERRED).args(["timeout", PATIENCE]);
    command
}

/// The client of a session.
pub(super) fn client(session: &Session, url: &str, folder: &Path) -> anyhow::Result<Command> {
    let Session { think, seed, .. } = session;
    // A session takes about as long, whatever its think time.
    let each = think + IDLE_MS / 20 + session.server_think + session.delay_us / 250;
    let count = (SESSION_MS / each).clamp(8, 120);
    let document = format!("{url}/{}", SIZES[*seed as usize % SIZES.len()]);
    let mut command = patiently();
    match session.client {
        "curl" => {
            let path = folder.join("curl.sh");
            fs::write(&path, include_str!("sources/curl.sh"))?;
            command
                .arg("sh")
                .arg(path)
                .arg(url)
                .arg((count / 3).to_string())
                .arg(think.to_string());
        }
        "wget" => {
            command.args(["wget", "-q", "--no-check-certificate", "-O", "/dev/null"]);
            command
                .args((0..count).map(|it| format!("{url}/{}", SIZES[it as usize % SIZES.len()])));
        }
        "ab" => _ = command.args(["ab", "-q", "-n", "150", "-c", "3", &document]),
        "ab-k" => _ = command.args(["ab", "-q", "-k", "-n", "300", "-c", "2", &document]),
        // As long as gives some hundred exchanges: wrk knows no number.
        "wrk" => _ = command.args(["wrk", "-t1", "-c2", "-d1s", &document]),
        // It loads the page, and what the page has.
        "chromium" => {
            command.args(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
            command.args(["--ignore-certificate-errors", "--disable-background-networking"]);
            command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
            command.arg(format!("{url}/page.html"));
        }
        "go" => {
            let path = folder.join("client.go");
            fs::write(&path, include_str!("sources/client.go"))?;
            command.args(["go", "run"]).arg(path).arg(url).env("GO111MODULE", "off");
            command.args([count, *think, IDLE_MS].map(|it| it.to_string()));
        }
        "java" => {
            let path = folder.join("Client.java");
            fs::write(&path, include_str!("sources/Client.java"))?;
            // It offers no name for an address, so it would refuse the certificate's.
            command.args(["java", "-Djdk.internal.httpclient.disableHostnameVerification"]);
            command.arg(path).arg(url);
            command.args([count, *think, IDLE_MS].map(|it| it.to_string()));
        }
        name if packages::are_for(name) => {
            command.args(packages::client(name, url, folder)?);
        }
        "node" => {
            let path = folder.join("client.js");
            fs::write(&path, include_str!("sources/client.js"))?;
            command.arg("node").arg(path).arg(url);
            command.args([count, *think, IDLE_MS].map(|it| it.to_string()));
        }
        mode => {
            let path = folder.join("client.py");
            fs::write(&path, include_str!("sources/client.py"))?;
            command.arg("python3").arg(path).arg(mode).arg(url);
            command.args([count, *think, IDLE_MS, *seed].map(|it| it.to_string()));
        }
    }
    Ok(command)
}

/// Our choices: a session takes some seconds, and a pool's idle time is longer than what servers wait.
const SESSION_MS: u32 = 4_000;
const IDLE_MS: u32 = 1_300;
/// In seconds.
const PATIENCE: &str = "150";
