//! The queues of slow readers at real servers, and what a bound of unsent data costs fast clients.
//!
//! Clients and server are in two namespaces, joined by a link of the emulator: wide for the slow readers, who
//! read at 20 KB/s, and at 100 Mb/s for one fast client.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ackwise_link::{LinkConfig, Queue, Rate};
use ackwise_linux::emulator::EmulatorOptions;
use ackwise_linux::sockets::{Query, SocketTable};
use ackwise_linux::{Emulator, Namespace};
use ackwise_tcp::State;
use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::Tuning;

/// A server of a file of 1 MB.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Nginx,
    HaProxy,
    H2o,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Nginx, Self::HaProxy, Self::H2o];

    const fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::HaProxy => "HAProxy",
            Self::H2o => "h2o",
        }
    }
}

pub(super) fn run(ackwise: &Path, readers: usize, time: Duration) -> anyhow::Result<()> {
    println!(
        "tune --slow-readers: {readers} readers at 20 KB/s, one fast client at 100 Mb/s and 20 ms, {time:?}\n"
    );
    println!(
        "| server | `tune` | unsent: mean, largest | unsent and unacknowledged: mean, largest | above 40 KB | memory: mean | fast client |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for kind in Kind::ALL {
        for variant in VARIANTS {
            let row = row(ackwise, kind, variant, readers, time);
            match row.with_context(|| kind.name()) {
                Ok(row) => println!("{row}"),
                Err(error) => println!("| {} | not measured: {error:#} |", kind.name()),
            }
        }
    }
    Ok(())
}

/// What is done about the queues.
#[derive(Clone, Copy, Debug)]
struct Variant {
    /// Of `tune`, which does not run without any.
    arguments: &'static [&'static str],
    /// The largest packet that the kernel builds for the server's device (`ip link set gso_max_size`).
    packets: Option<&'static str>,
}

/// What the samples of the server's sockets have shown, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    sum: u64,
    most: u64,
    /// Samples above [`AIM`].
    above: u64,
}

impl Seen {
    fn add(&mut self, value: u64) {
        self.sum += value;
        self.most = self.most.max(value);
        self.above += u64::from(value > AIM);
    }
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn row(
    ackwise: &Path,
    kind: Kind,
    Variant { arguments, packets }: Variant,
    readers: usize,
    time: Duration,
) -> anyhow::Result<String> {
    let (client, server) = (Namespace::create()?, Namespace::create()?);
    let slow = Emulator::between(&client, &server, &link(1_000_000_000, 1)?)?;
    let fast = Emulator::between(&client, &server, &link(100_000_000, 10)?)?;
    if let Some(bytes) = packets {
        for emulator in [&slow, &fast] {
            let mut ip = Command::new("ip");
            ip.args(["link", "set", "dev", emulator.server_device(), "gso_max_size", bytes]);
            ensure!(server.run(|| ip.status())??.success(), "ip link set {bytes} failed");
        }
    }
    let running = server.run(|| Server::start(kind))??;
    let tuning = match arguments {
        [] => None,
        _ => Some(server.run(|| Tuning::start(ackwise, PORT, arguments))??),
    };
    tuning.as_ref().map_or(Ok(()), Tuning::wait_until_set)?;
    let stop = Arc::new(AtomicBool::new(false));
    let taken = Arc::new(AtomicU64::new(0));
    let slow_address = SocketAddr::from((slow.server_address(), PORT));
    let fast_address = SocketAddr::from((fast.server_address(), PORT));
    let ended = Arc::clone(&stop);
    let slow_client = client.run(|| {
        let streams: Vec<_> = (0..readers).map(|_| request(slow_address)).collect();
        thread::spawn(move || read_slowly(streams, &ended))
    })?;
    let (ended, bytes) = (Arc::clone(&stop), Arc::clone(&taken));
    let fast_client = client.run(|| {
        thread::spawn(move || -> anyhow::Result<()> {
            let mut block = vec![0; 256 * 1_024];
            while !ended.load(Ordering::Relaxed) {
                let mut stream = request(fast_address)?;
                while let Ok(size @ 1..) = stream.read(&mut block) {
                    bytes.fetch_add(size as u64, Ordering::Relaxed);
                }
            }
            Ok(())
        })
    })?;
    // The buffers of the first second fill.
    thread::sleep(Duration::from_secs(5));
    let (began, before) = (Instant::now(), taken.load(Ordering::Relaxed));
    let mut table = SocketTable::of(&server)?;
    let (mut unsent, mut queued, mut memory, mut count) = (Seen::default(), Seen::default(), 0, 0);
    while began.elapsed() < time {
        thread::sleep(SAMPLE);
        let query = Query::local_port(PORT).in_states(&[State::Established]);
        table.each(query.with_info().with_memory(), |it| {
            if it.local.ip() == slow_address.ip() && it.send_queue > 0 {
                unsent.add(it.info.map_or(0, |info| info.notsent_bytes.into()));
                queued.add(it.send_queue.into());
                memory += it.memory.map_or(0, |memory| u64::from(memory.queued));
                count += 1;
            }
        })?;
    }
    let got = taken.load(Ordering::Relaxed) - before;
    let took = began.elapsed();
    stop.store(true, Ordering::Relaxed);
    let _ = slow_client.join();
    tuning.map(Tuning::end).transpose()?;
    drop(running);
    let _ = fast_client.join();
    for emulator in [slow, fast] {
        emulator.stop()?;
    }
    #[expect(clippy::cast_precision_loss, reason = "some digits")]
    let kilobytes = |bytes: u64| bytes as f64 / 1e3;
    let mean = |sum: u64| kilobytes(sum / count.max(1));
    let name = match (arguments, packets) {
        ([], _) => "-".to_owned(),
        (_, Some(bytes)) => format!("{}, `gso_max_size {bytes}`", arguments.join(" ")),
        (_, None) => arguments.join(" "),
    };
    Ok(format!(
        "| {} | {name} | {:.0}, {:.0} KB | {:.0}, {:.0} KB | {:.1} % | {:.0} KB | {:.2} MB/s |",
        kind.name(),
        mean(unsent.sum),
        kilobytes(unsent.most),
        mean(queued.sum),
        kilobytes(queued.most),
        // In percent.
        mean(queued.above * 100_000),
        mean(memory),
        kilobytes(got) / 1e3 / took.as_secs_f64()
    ))
}

fn request(address: SocketAddr) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(b"GET /file HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    Ok(stream)
}

/// Takes 2 KB from each every 100 ms.
fn read_slowly(streams: Vec<anyhow::Result<TcpStream>>, stop: &AtomicBool) {
    let mut streams: Vec<_> = streams.into_iter().flatten().collect();
    streams.retain(|it| it.set_nonblocking(true).is_ok());
    let mut block = [0; 2_000];
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        for mut stream in &streams {
            let _ = stream.read(&mut block);
        }
        thread::sleep(Duration::from_millis(100).saturating_sub(began.elapsed()));
    }
}

fn link(rate: u64, delay: u64) -> anyhow::Result<EmulatorOptions> {
    Ok(EmulatorOptions::symmetric(LinkConfig {
        rate: Rate::bits_per_second(rate),
        delay: Duration::from_millis(delay),
        queue: Queue::packets(1_000).context("not 0")?,
        ..LinkConfig::IDEAL
    }))
}

/// A server in the calling thread's namespace, in a process group of its own.
#[derive(Debug)]
struct Server {
    children: Vec<Child>,
    directory: PathBuf,
}

impl Server {
    fn start(kind: Kind) -> anyhow::Result<Self> {
        let directory =
            std::env::temp_dir().join(format!("ackwise-bench-slow-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("site"))?;
        for path in [directory.clone(), directory.join("site")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
        fs::write(directory.join("site/file"), vec![b'x'; 1_000_000])?;
        let mut server = Self { children: Vec::new(), directory };
        match kind {
            Kind::Nginx => server.nginx(PORT)?,
            // HAProxy relays what nginx serves.
            Kind::HaProxy => {
                server.nginx(BEHIND)?;
                let text = format!(
                    "defaults\n mode http\n timeout client 300s\n timeout connect 5s\n timeout server 300s\nfrontend f
 bind 0.0.0.0:{PORT}\n default_backend b\nbackend b\n server s 127.0.0.1:{BEHIND}\n"
                );
                server.start_one("haproxy", "-f", &text, &["-db"])?;
            }
            Kind::H2o => {
                let path = server.directory.display();
                let text = format!(
                    "num-threads: 1\nuser: root\nlisten:\n  host: 0.0.0.0\n  port: {PORT}\nhosts:\n  default:\n    paths:
      /:\n        file.dir: {path}/site\n"
                );
                server.start_one("h2o", "-c", &text, &[])?;
            }
        }
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, PORT)).is_err() {
            if began.elapsed() > Duration::from_secs(30) {
                bail!("the server does not listen");
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    fn nginx(&mut self, port: u16) -> anyhow::Result<()> {
        let path = self.directory.display();
        let text = format!(
            "daemon off; pid {path}/pid; error_log {path}/errors crit; worker_processes 1; user root;
events {{ worker_connections 4096; }}
http {{ client_body_temp_path {path}/a; proxy_temp_path {path}/b; fastcgi_temp_path {path}/c;
 uwsgi_temp_path {path}/d; scgi_temp_path {path}/e; access_log off; sendfile on; tcp_nopush on;
 server {{ listen 0.0.0.0:{port} backlog=4096; root {path}/site; }} }}\n"
        );
        let prefix = self.directory.display().to_string();
        self.start_one("nginx", "-c", &text, &["-e", "stderr", "-p", &prefix])
    }

    fn start_one(
        &mut self,
        program: &str,
        flag: &str,
        text: &str,
        arguments: &[&str],
    ) -> anyhow::Result<()> {
        let config = self.directory.join(program);
        fs::write(&config, text)?;
        let mut command = Command::new(program);
        command.arg(flag).arg(config).args(arguments).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.children.push(command.spawn().with_context(|| format!("{program} is not installed"))?);
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for child in &mut self.children {
            if let Ok(group) = i32::try_from(child.id()) {
                let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            }
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

const VARIANTS: [Variant; 5] = [
    Variant { arguments: &[], packets: None },
    Variant { arguments: &["--unsent", "16KB"], packets: None },
    Variant { arguments: &["--unsent", "4KB"], packets: None },
    Variant { arguments: &["--unsent", "16KB", "--buffer-memory", "8MB"], packets: None },
    Variant { arguments: &["--unsent", "16KB"], packets: Some("16384") },
];
/// No queue was to be longer.
const AIM: u64 = 40_000;
const PORT: u16 = 8_080;
const BEHIND: u16 = 8_081;
const SAMPLE: Duration = Duration::from_millis(250);
