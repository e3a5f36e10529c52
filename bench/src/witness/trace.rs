//! What the kernel's TCP says of itself: tracefs, in an instance of its own.

use std::fs;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::clock::Nanos;

/// A running trace of the connections of one port.
#[derive(Debug)]
pub(crate) struct Tracer {
    folder: PathBuf,
}

/// One event of one socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) at: Nanos,
    /// The socket's own address.
    pub(crate) local: SocketAddrV4,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A packet came in; as it was before that.
    Probe { snd_cwnd: u32, ssthresh: u32 },
    /// The state of congestion control from now on.
    State(State),
}

/// `enum tcp_ca_state` of the kernel.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum State {
    #[default]
    Open,
    Disorder,
    Reduced,
    Recovery,
    Loss,
}

impl Tracer {
    /// Removes what a run left behind that was killed, and checks that tracefs works.
    ///
    /// # Errors
    ///
    /// If it does not: with what to do.
    pub(crate) fn prepare() -> anyhow::Result<()> {
        let events = Path::new(TRACEFS).join("events/tcp/tcp_probe");
        if !events.exists() {
            mount();
        }
        ensure!(
            events.exists(),
            "cannot trace TCP: {} is missing (run as root, on a kernel with tracefs and the \
             tracepoint tcp:tcp_probe)",
            events.display()
        );
        let instances = fs::read_dir(Path::new(TRACEFS).join("instances"))
            .context("cannot list the instances of tracefs (run as root)")?;
        for entry in instances.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
            if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
        Ok(())
    }

    /// Traces all sockets with this port, from now on.
    pub(crate) fn start(port: u16) -> anyhow::Result<Self> {
        let name = format!("{PREFIX}{}-{port}", std::process::id());
        let folder = Path::new(TRACEFS).join("instances").join(name);
        fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let tracer = Self { folder };
        tracer.set("trace_clock", "mono")?;
        tracer.set("buffer_size_kb", BUFFER_KB)?;
        for event in EVENTS {
            tracer
                .set(&format!("events/{event}/filter"), &format!("sport=={port}||dport=={port}"))?;
            tracer.set(&format!("events/{event}/enable"), "1")?;
        }
        Ok(tracer)
    }

    /// Stops, and returns the events in order.
    pub(crate) fn stop(self) -> anyhow::Result<Vec<Event>> {
        self.set("tracing_on", "0")?;
        for processor in fs::read_dir(self.folder.join("per_cpu"))?.flatten() {
            let stats = fs::read_to_string(processor.path().join("stats"))?;
            ensure!(stats.lines().any(|line| line == "overrun: 0"), "the trace was too long");
        }
        let text = fs::read_to_string(self.folder.join("trace"))?;
        let mut events = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            events.push(Event::parse(line).with_context(|| format!("not an event: {line}"))?);
        }
        events.sort_by_key(|event| event.at);
        Ok(events)
    }

    fn set(&self, file: &str, value: &str) -> anyhow::Result<()> {
        let path = self.folder.join(file);
        fs::write(&path, value).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

impl Event {
    /// `task-1 [000] ..s2. 12.345678: tcp_probe: family=AF_INET src=1.2.3.4:5 … snd_cwnd=10 …`
    fn parse(line: &str) -> anyhow::Result<Self> {
        let (before, event) = line.split_once(": tcp_").context("no event of TCP")?;
        let (name, fields) = event.split_once(": ").context("no fields")?;
        let time = before.split_whitespace().last().context("no time")?;
        let (seconds, micros) = time.split_once('.').context("no time")?;
        let at = seconds.parse::<u64>()? * 1_000_000_000 + micros.parse::<u64>()? * 1_000;
        let field = |key: &str| {
            let mut pairs = fields.split_whitespace().filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value)
                .context("a field is missing")
        };
        let (local, what) = match name {
            "probe" => {
                let (snd_cwnd, ssthresh) =
                    (field("snd_cwnd")?.parse()?, field("ssthresh")?.parse()?);
                let what = What::Probe { snd_cwnd, ssthresh };
                (field("src")?.to_owned(), what)
            }
            "cong_state_set" => {
                let local = format!("{}:{}", field("saddr")?, field("sport")?);
                (local, What::State(State::of(field("cong_state")?)?))
            }
            other => bail!("tcp_{other} was not asked for"),
        };
        Ok(Self { at, local: local.parse()?, what })
    }
}

impl State {
    fn of(number: &str) -> anyhow::Result<Self> {
        Ok(match number {
            "0" => Self::Open,
            "1" => Self::Disorder,
            "2" => Self::Reduced,
            "3" => Self::Recovery,
            "4" => Self::Loss,
            _ => bail!("cong_state {number}"),
        })
    }
}

/// Mounts tracefs where everybody expects it. It is harmless there, and stays.
fn mount() {
    let mut command = std::process::Command::new("mount");
    let _ = command.args(["-t", "tracefs", "tracefs", TRACEFS]).output();
}

const TRACEFS: &str = "/sys/kernel/tracing";
const PREFIX: &str = "ackwise-bench-";
/// For each processor (our choice): some 40,000 events.
const BUFFER_KB: &str = "8192";
const EVENTS: [&str; 2] = ["tcp/tcp_probe", "tcp/tcp_cong_state_set"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_each_event_is_read() {
        let probe = "  <idle>-0  [001] ..s2. 12.345678: tcp_probe: family=AF_INET src=1.2.3.4:80 \
                     dest=5.6.7.8:90 mark=0x0 data_len=0 snd_nxt=0x1 snd_una=0x1 snd_cwnd=10 \
                     ssthresh=2147483647 snd_wnd=5 srtt=1 rcv_wnd=2 sock_cookie=1 skbaddr=0 skaddr=0";
        let event = Event::parse(probe).unwrap();
        assert_eq!((event.at, event.local.port()), (12_345_678_000, 80));
        assert!(matches!(event.what, What::Probe { snd_cwnd: 10, ssthresh: 2_147_483_647 }));
        let state = "x-1 [000] b.s4. 1.000001: tcp_cong_state_set: family=AF_INET sport=1 dport=2 \
                     saddr=1.1.1.1 daddr=2.2.2.2 saddrv6=::1 daddrv6=::2 cong_state=4";
        let event = Event::parse(state).unwrap();
        assert!(matches!(event.what, What::State(State::Loss)));
        assert_eq!(event.local.to_string(), "1.1.1.1:1");
        assert!(Event::parse("x-1 [000] b.s4. 1.000001: sched_switch: a=b").is_err());
    }
}
