//! The server that is loaded: nginx with one worker and a page of 300 bytes.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, ensure};

/// Stopped when dropped.
#[derive(Debug)]
pub(crate) struct Nginx {
    child: Child,
    address: SocketAddr,
}

impl Nginx {
    /// Starts it on loopback, with its files in `directory`.
    ///
    /// # Errors
    ///
    /// If it does not accept connections in time.
    pub(super) fn start(directory: &Path) -> anyhow::Result<Self> {
        // Another program may take the port in between; nginx then says so.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        Self::start_on(address, directory)
    }

    /// As [`start`](Self::start), on this address, in the calling thread's network.
    ///
    /// # Errors
    ///
    /// If it does not accept connections in time.
    pub(crate) fn start_on(address: SocketAddr, directory: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(directory.join("pages"))?;
        let directory = directory.canonicalize()?;
        fs::write(directory.join("pages/300"), "x".repeat(300))?;
        let configuration = directory.join("nginx.conf");
        fs::write(&configuration, configure(&directory, address))?;
        let mut command = Command::new("nginx");
        command.arg("-c").arg(&configuration).arg("-p").arg(&directory);
        command.arg("-e").arg(directory.join("error.log")).stdin(Stdio::null());
        let child = command.spawn().context("cannot start nginx")?;
        let server = Self { child, address };
        let end = Instant::now() + START_LIMIT;
        while TcpStream::connect(address).is_err() {
            ensure!(Instant::now() < end, "nginx does not accept connections");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Its master process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/300", self.address)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        use nix::sys::signal::{Signal, kill};
        use nix::unistd::Pid;
        // The master tells its worker; killed, it would leave it behind.
        let told =
            i32::try_from(self.child.id()).map(|id| kill(Pid::from_raw(id), Signal::SIGTERM));
        if !matches!(told, Ok(Ok(()))) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn configure(directory: &Path, address: SocketAddr) -> String {
    let directory = directory.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|name| format!("{name}_temp_path {directory}/{name};\n"))
        .collect();
    format!(
        "daemon off;\nworker_processes 1;\npid {directory}/pid;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\naccess_log off;\nkeepalive_requests 1000000000;\n{temporary}\
         server {{ listen {address} backlog=4096; root {directory}/pages; }}\n}}\n"
    )
}

/// Our choice.
const START_LIMIT: Duration = Duration::from_secs(10);
