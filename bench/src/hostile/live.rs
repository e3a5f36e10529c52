//! The same attacks at line rate against a live capture: a thread sends them over one end of a veth, and
//! `ackwise explain` listens at the other.

use std::{
    io::Read as _,
    ops::Range,
    os::{fd::AsRawFd as _, unix::process::CommandExt as _},
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::Namespace;
use anyhow::{Context, ensure};
use nix::{
    errno::Errno,
    ifaddrs::getifaddrs,
    sys::{
        signal::{Signal, killpg},
        socket::{self, AddressFamily, MsgFlags, SockFlag, SockType},
    },
    unistd::Pid,
};
use xtask::process::{self, End, Output};

use super::{attacks::Attack, peak::Peak};

/// What a flood cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flood {
    pub(super) memory: u64,
    pub(super) cpu: Duration,
    pub(super) sent: u64,
    pub(super) captured: u64,
    /// The part of all connections that was followed longest.
    pub(super) one_in: u64,
    /// From Ctrl-C to the first byte of the report, and to the end of the program.
    pub(super) stopped: [Duration; 2],
}

/// Floods a capture for `time`.
///
/// # Errors
///
/// If there is no network to flood, the attack is no file of plain packets, or nothing is captured.
pub(super) fn flood(
    program: &Path,
    attack: &Attack,
    size: usize,
    time: Duration,
    peak: &Peak,
) -> anyhow::Result<Flood> {
    let file = (attack.make)(size);
    let packets = packets(&file).with_context(|| format!("{} cannot be sent", attack.name))?;
    let network = Namespace::create()?;
    let inside = network.enter()?;
    ip("link add name out mtu 65535 type veth peer name in mtu 65535")?;
    ip("link set out up")?;
    ip("link set in up")?;
    let (over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let measured = thread::scope(|scope| {
        let mut explain = Command::new(program);
        explain.args(["explain", "--interface", "in", "--json"]);
        let explain = Running::start(peak.watch(&explain))?;
        thread::sleep(BEGIN);
        let sender = scope.spawn(|| send(&file, &packets, &over, &sent));
        thread::sleep(time);
        let measured = explain.stop();
        over.store(true, Ordering::Relaxed);
        sender.join().expect("sending does not panic")?;
        measured
    });
    drop(inside);
    let Stopped { cpu, captured, one_in, times } = measured?;
    let sent = sent.into_inner();
    ensure!(captured > 0, "{sent} packets were sent and none captured");
    Ok(Flood { memory: peak.last_bytes()?, cpu, sent, captured, one_in, stopped: times })
}

/// `ackwise explain` while it captures.
struct Running {
    child: std::process::Child,
    cpu_before: Duration,
}

struct Stopped {
    cpu: Duration,
    captured: u64,
    one_in: u64,
    times: [Duration; 2],
}

impl Running {
    fn start(mut command: Command) -> anyhow::Result<Self> {
        let cpu_before = process::children_cpu_time()?;
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(Self { child: command.spawn()?, cpu_before })
    }

    /// Presses Ctrl-C, in the middle of the flood, and reads the report.
    fn stop(mut self) -> anyhow::Result<Stopped> {
        let group = Pid::from_raw(i32::try_from(self.child.id()).context("a process id")?);
        let mut output = self.child.stdout.take().context("a pipe")?;
        let pressed = Instant::now();
        // GNU time ignores it while it waits.
        killpg(group, Signal::SIGINT)?;
        let mut report = vec![0];
        output.read_exact(&mut report)?;
        let begins = pressed.elapsed();
        output.read_to_end(&mut report)?;
        self.child.wait()?;
        let times = [begins, pressed.elapsed()];
        let report: serde_json::Value = serde_json::from_slice(&report)?;
        let captured = report["packets"].as_u64().context("no number of packets")?;
        let cpu = process::children_cpu_time()?.saturating_sub(self.cpu_before);
        let parts = report["quality"]["followed"]["parts"].as_array().into_iter().flatten();
        let longest = parts.max_by(|a, b| {
            let [a, b] = [a, b].map(|it| it["seconds"].as_f64().unwrap_or_default());
            a.total_cmp(&b)
        });
        let one_in = longest.and_then(|it| it["one_in"].as_u64()).unwrap_or(1);
        Ok(Stopped { cpu, captured, one_in, times })
    }
}

/// Where the packets of one of our own pcap files are.
fn packets(file: &[u8]) -> Option<Vec<Range<usize>>> {
    /// Of the file, and of a packet: the libpcap format, little-endian.
    const HEADERS: [usize; 2] = [24, 16];
    (file.get(..4)? == 0xa1b2_c3d4_u32.to_le_bytes()).then_some(())?;
    let (mut packets, mut at) = (Vec::new(), HEADERS[0]);
    while let Some(header) = file.get(at..at + HEADERS[1]) {
        let length = u32::from_le_bytes(header[8..12].try_into().ok()?);
        let begin = at + HEADERS[1];
        at = begin + usize::try_from(length).ok()?;
        packets.push(begin..at);
    }
    (at == file.len()).then_some(packets)
}

/// Sends the packets again and again, as fast as the kernel takes them.
fn send(
    file: &[u8],
    packets: &[Range<usize>],
    over: &AtomicBool,
    sent: &AtomicU64,
) -> anyhow::Result<()> {
    /// To everybody, from nobody, IPv4.
    const ETHERNET: [u8; 14] = [255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 0];
    let address = getifaddrs()?.find(|it| it.interface_name == "out").and_then(|it| it.address);
    let address = address.as_ref().and_then(|it| it.as_link_addr()).context("no veth")?.to_owned();
    let socket =
        socket::socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
    socket::bind(socket.as_raw_fd(), &address)?;
    let mut frame = Vec::new();
    for packet in packets.iter().cycle() {
        if over.load(Ordering::Relaxed) {
            break;
        }
        frame.clear();
        frame.extend(ETHERNET);
        frame.extend(&file[packet.clone()]);
        match socket::send(socket.as_raw_fd(), &frame, MsgFlags::empty()) {
            Ok(_) => sent.fetch_add(1, Ordering::Relaxed),
            // A full queue; and some attacks' packets are longer than any link takes.
            Err(Errno::ENOBUFS | Errno::EMSGSIZE) => continue,
            Err(errno) => return Err(errno.into()),
        };
    }
    Ok(())
}

fn ip(arguments: &str) -> anyhow::Result<()> {
    let mut command = Command::new("ip");
    command.args(arguments.split(' '));
    let end = process::run(&mut command, Output::Discard, Duration::from_secs(10))?;
    ensure!(end == End::Succeeded, "ip {arguments}: {end:?}");
    Ok(())
}

/// Before the first packet, the capture has begun. Our choice.
const BEGIN: Duration = Duration::from_millis(500);
