//! Servers of Debian that a bench starts, and a client of theirs.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A connection to a server.
#[derive(Debug)]
pub(super) struct Client(pub(super) TcpStream);

impl Client {
    pub(super) fn open(port: u16) -> io::Result<Self> {
        Ok(Self(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?))
    }

    /// Whether the server has not closed it.
    pub(super) fn is_open(&self) -> bool {
        let look = || {
            self.0.set_nonblocking(true)?;
            let seen = self.0.peek(&mut [0]);
            self.0.set_nonblocking(false)?;
            seen
        };
        look().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// A request, and a response with `Content-Length`. `InvalidData`: its status is not 200.
    pub(super) fn exchange(&self, method: &str) -> io::Result<()> {
        let mut stream = &self.0;
        let head = format!("{method} /page HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        let (mut response, mut block) = (Vec::new(), [0; 4_096]);
        loop {
            let size = stream.read(&mut block)?;
            if size == 0 || response.len() > LARGEST_RESPONSE {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            response.extend_from_slice(&block[..size]);
            if is_whole(&response) {
                let is_good = response.starts_with(b"HTTP/1.1 200");
                return if is_good { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) };
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
pub(super) struct Server {
    child: Child,
    directory: PathBuf,
    pub(super) port: u16,
}

impl Server {
    /// Each start has a port of its own: workers of the server before may hold its listening socket for a moment
    /// after SIGKILL, and Apache does not try again.
    pub(super) fn start(
        command: impl FnOnce(&Path, u16) -> anyhow::Result<Command>,
    ) -> anyhow::Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let directory = std::env::temp_dir().join(format!("ackwise-bench-tune-{}-{port}", id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("site"))?;
        for path in [directory.clone(), directory.join("site")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
        fs::write(directory.join("site/page"), "xxxxxxxxxx")?;
        let mut command = command(&directory, port)?;
        let said = File::create(directory.join("said"))?;
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said).process_group(0);
        let child = command.spawn().context("the server is not installed")?;
        let mut server = Self { child, directory, port };
        let began = Instant::now();
        while Client::open(port).and_then(|it| it.exchange("GET")).is_err() {
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

    /// Its first process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
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

/// A configuration of Envoy that listens on `port` and does `action` with each request.
pub(super) fn envoy(port: u16, action: &str) -> String {
    let http = "type.googleapis.com/envoy.extensions.filters";
    format!(
        "static_resources:
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
              routes: [{{match: {{prefix: /}}, {action}}}]
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{'@type': {http}.http.router.v3.Router}}
"
    )
}

/// A busy machine takes long to start eight processes (our choice).
const START: Duration = Duration::from_secs(30);
const LARGEST_RESPONSE: usize = 100_000;
/// Characters of a server's output in an error (our choice: some lines).
const SAID_LIMIT: usize = 600;
