//! Bytes that slow and fast clients get in a time, by how their server's send buffers are sized.
//!
//! Each client has a link of its own (the emulator) to one server that writes whenever it can.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ackwise_link::{Faults, LinkConfig, Pick, Probability, Queue, Rate};
use ackwise_linux::emulator::EmulatorOptions;
use ackwise_linux::sockets::{Query, SocketTable, TcpSocket};
use ackwise_linux::{Emulator, Namespace};
use ackwise_tcp::State;
use ackwise_tune::Limits;
use anyhow::{Context, anyhow, bail};
use socket2::SockRef;

use super::Tuning;

/// A client's link.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// 1 Mb/s, 40 ms.
    Slow,
    /// 100 Mb/s, 100 ms, one packet in 10,000 is lost.
    Fast,
}

/// How the server's send buffers are sized.
#[derive(Clone, Copy, Debug)]
enum Sizing {
    /// Each has an equal part of the pool (`SO_SNDBUF` on the listening socket). The memory in use exceeds the pool.
    Equal,
    /// By `ackwise tune --buffer-memory`, with the memory that was in use with equal limits.
    Tuned,
    /// By the kernel, up to an equal part of the pool (`net.ipv4.tcp_wmem`).
    Autotuning,
    /// Equal parts that are lowered together until the memory in use fits into the pool, by the rule of `ackwise tune`.
    EqualKept,
    /// By `ackwise tune --buffer-memory`, with the pool itself.
    TunedToPool,
    /// By the kernel, up to the limit that [`EqualKept`](Self::EqualKept) has found.
    AutotuningKept,
    /// By the kernel, without a common limit.
    Unlimited,
    /// The same, with at most 16 KB unsent (`TCP_NOTSENT_LOWAT` by `ackwise tune --unsent`).
    Unsent,
}

impl Sizing {
    /// Each after the equal split that it is compared with.
    const ALL: [Self; 8] = [
        Self::Equal,
        Self::Tuned,
        Self::Autotuning,
        Self::EqualKept,
        Self::TunedToPool,
        Self::AutotuningKept,
        Self::Unlimited,
        Self::Unsent,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Equal => "limits: equal split of the pool",
            Self::Tuned => "memory that these limits take: `--buffer-memory`",
            Self::Autotuning => "limits: autotuning up to an equal part",
            Self::EqualKept => "memory of the pool: equal split, lowered",
            Self::TunedToPool => "memory of the pool: `--buffer-memory`",
            Self::AutotuningKept => "memory of the pool: autotuning up to the same limit",
            Self::Unlimited => "autotuning",
            Self::Unsent => "autotuning, `--unsent 16KB`",
        }
    }

    /// Whether later rows are compared with it.
    const fn is_equal_split(self) -> bool {
        matches!(self, Self::Equal | Self::EqualKept)
    }
}

pub(super) fn run(
    ackwise: &Path,
    Pool { links, each }: Pool,
    time: Duration,
) -> anyhow::Result<()> {
    println!("tune --buffers: {CLIENTS} clients, {} KiB of buffers each, {time:?}", each / 1024);
    let pool = each * CLIENTS;
    for links in Links::ALL.into_iter().filter(|it| links.is_none_or(|only| only == *it)) {
        let (title, kinds) = links.kinds();
        println!("\n{title}\n");
        println!(
            "| buffers | MB in all | of the equal split | first half of the clients | second half | memory in use: mean, most | limit of each at the end |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- |");
        let (mut equal, mut memory, mut limit) = (None, pool, each);
        for sizing in Sizing::ALL {
            let size = match sizing {
                // The kernel exceeds each limit, so that a pool of limits is not one of memory.
                Sizing::Tuned => memory,
                Sizing::TunedToPool | Sizing::EqualKept => pool,
                Sizing::Autotuning | Sizing::Equal => each,
                Sizing::AutotuningKept => limit,
                Sizing::Unlimited | Sizing::Unsent => 0,
            };
            let got = once(ackwise, (sizing, size), kinds, time).with_context(|| sizing.name())?;
            let all: f64 = got.bytes.iter().sum();
            if sizing.is_equal_split() {
                equal = Some(all);
                limit = got.limit;
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a number of bytes"
            )]
            if let Sizing::Equal = sizing {
                memory = got.memory.0 as usize;
            }
            let limit = match sizing.is_equal_split() {
                true => format!("{:.0} KB", got.limit as f64 / 1e3),
                false => "-".to_owned(),
            };
            println!(
                "| {} | {:.1} | {:.2} | {:.1} | {:.1} | {:.0} KB, {:.0} KB | {limit} |",
                sizing.name(),
                all / 1e6,
                all / equal.unwrap_or(all),
                got.bytes[0] / 1e6,
                got.bytes[1] / 1e6,
                got.memory.0 / 1e3,
                got.memory.1 / 1e3
            );
        }
    }
    Ok(())
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pool {
    /// One of the two tables.
    pub(super) links: Option<Links>,
    /// Bytes of the pool for each client.
    pub(super) each: usize,
}

/// The links of a table's clients.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Links {
    /// Half slow, half fast.
    Mixed,
    /// All fast, so that all can use the same.
    Alike,
}

impl Links {
    const ALL: [Self; 2] = [Self::Mixed, Self::Alike];

    /// # Errors
    ///
    /// If the word is another.
    pub(super) fn parse(word: &str) -> anyhow::Result<Self> {
        match word {
            "mixed" => Ok(Self::Mixed),
            "alike" => Ok(Self::Alike),
            _ => bail!("unknown links {word} (expected mixed or alike)"),
        }
    }

    const fn kinds(self) -> (&'static str, [Kind; 2]) {
        match self {
            Self::Mixed => (
                "half at 1 Mb/s 40 ms, half at 100 Mb/s 100 ms with 0.01 % loss",
                [Kind::Slow, Kind::Fast],
            ),
            Self::Alike => ("all at 100 Mb/s 100 ms with 0.01 % loss", [Kind::Fast, Kind::Fast]),
        }
    }
}

/// What a run has shown.
#[derive(Debug)]
struct Got {
    /// Bytes of each half of the clients.
    bytes: [f64; 2],
    /// Memory of all send buffers (`sk_wmem_queued`), mean and largest.
    memory: (f64, f64),
    /// The limit that an equal split gave each in the end.
    limit: usize,
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn once(
    ackwise: &Path,
    (sizing, size): (Sizing, usize),
    kinds: [Kind; 2],
    time: Duration,
) -> anyhow::Result<Got> {
    let server = Namespace::create()?;
    let clients = (0..CLIENTS).map(|_| Namespace::create()).collect::<Result<Vec<_>, _>>()?;
    let mut emulators = Vec::new();
    for (index, client) in clients.iter().enumerate() {
        let options = link(kinds[index * 2 / CLIENTS], index)?;
        emulators.push(Emulator::between(client, &server, &options)?);
    }
    let listener = server.run(|| listen(sizing, size))??;
    let port = listener.local_addr()?.port();
    let received: Arc<[AtomicU64; 2]> = Arc::default();
    let (mut streams, mut senders) = (Vec::new(), Vec::new());
    let mut threads = Vec::new();
    for (index, client) in clients.iter().enumerate() {
        let address = (emulators[index].server_address(), port);
        let mut receiving = client.run(|| TcpStream::connect(address))??;
        let mut sending = listener.accept()?.0;
        // As nginx, HAProxy, h2o, Go and Node do. With Nagle's algorithm, no limit holds.
        sending.set_nodelay(true)?;
        senders.push(sending.try_clone()?);
        streams.extend([sending.try_clone()?, receiving.try_clone()?]);
        let received = Arc::clone(&received);
        threads.push(thread::spawn(move || {
            let block = [0; 64 * 1024];
            while sending.write_all(&block).is_ok() {}
        }));
        threads.push(thread::spawn(move || {
            let mut block = [0; 64 * 1024];
            while let Ok(size @ 1..) = receiving.read(&mut block) {
                received[index * 2 / CLIENTS].fetch_add(size as u64, Ordering::Relaxed);
            }
        }));
    }
    let size_words = size.to_string();
    let tuning = match sizing {
        Sizing::Tuned | Sizing::TunedToPool => Some(vec!["--buffer-memory", &size_words]),
        Sizing::Unsent => Some(vec!["--unsent", "16KB"]),
        _ => None,
    };
    let tuning = tuning.map(|it| server.run(|| Tuning::start(ackwise, port, &it)));
    let tuning = tuning.transpose()?.transpose()?;
    let mut watched = Watched {
        table: SocketTable::of(&server)?,
        port,
        split: matches!(sizing, Sizing::EqualKept).then(|| Split::new(senders, size)),
    };
    let count = || [0, 1].map(|half| received[half].load(Ordering::Relaxed));
    // What the kernel's autotuning has let in before tune begins has to drain.
    watched.watch(WARM_UP)?;
    let before = count();
    let memory = watched.watch(time)?;
    let after = count();
    let bytes = [after[0] - before[0], after[1] - before[1]];
    if let Some(tuning) = tuning {
        tuning.end()?;
    }
    for stream in &streams {
        let _ = stream.shutdown(Shutdown::Both);
    }
    for thread in threads {
        thread.join().map_err(|_| anyhow!("a thread of a client or of the server panicked"))?;
    }
    emulators.into_iter().try_for_each(|it| it.stop().map(drop))?;
    #[expect(clippy::cast_precision_loss, reason = "some digits")]
    let bytes = bytes.map(|it| it as f64);
    let limit = watched.split.map_or(size, |it| it.limit);
    Ok(Got { bytes, memory, limit })
}

fn link(kind: Kind, index: usize) -> anyhow::Result<EmulatorOptions> {
    let (rate, delay, queue) = match kind {
        Kind::Slow => (1_000_000, 20, 100),
        Kind::Fast => (100_000_000, 50, 1_000),
    };
    let link = LinkConfig {
        rate: Rate::bits_per_second(rate),
        delay: Duration::from_millis(delay),
        queue: Queue::packets(queue).context("not 0")?,
        ..LinkConfig::IDEAL
    };
    let mut options = EmulatorOptions::symmetric(link);
    if let Kind::Fast = kind {
        let loss = Pick::Random(Probability::per_million(100).context("below a million")?);
        options.to_client.faults = Faults { loss, ..Faults::NONE };
    }
    options.seed = ackwise_link::Seed(index as u64);
    Ok(options)
}

fn listen(sizing: Sizing, size: usize) -> anyhow::Result<TcpListener> {
    if let Sizing::Autotuning | Sizing::AutotuningKept = sizing {
        let first = size.min(16_384);
        fs::write("/proc/sys/net/ipv4/tcp_wmem", format!("4096 {first} {size}"))?;
    }
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    if let Some(limit) = match sizing {
        Sizing::Equal => Some(size),
        Sizing::EqualKept => Some(size / CLIENTS),
        _ => None,
    } {
        // The kernel doubles it.
        SockRef::from(&listener).set_send_buffer_size(limit / 2)?;
    }
    Ok(listener)
}

/// The server's sockets, and what is done with them at each look.
#[derive(Debug)]
struct Watched {
    table: SocketTable,
    port: u16,
    split: Option<Split>,
}

impl Watched {
    /// Mean and largest memory of the send buffers during `time`.
    fn watch(&mut self, time: Duration) -> anyhow::Result<(f64, f64)> {
        let (began, mut samples) = (Instant::now(), Vec::new());
        while began.elapsed() < time {
            thread::sleep(SAMPLE.min(time));
            let mut memory = 0_u64;
            let query = Query::local_port(self.port).in_states(&[State::Established]).with_memory();
            let add = |it: &TcpSocket| memory += it.memory.map_or(0, |it| u64::from(it.queued));
            self.table.each(query, add)?;
            if let Some(split) = &mut self.split {
                split.observe(memory)?;
            }
            #[expect(clippy::cast_precision_loss, reason = "some digits")]
            samples.push(memory as f64);
        }
        let most = samples.iter().copied().reduce(f64::max).ok_or_else(|| anyhow!("no sample"))?;
        #[expect(clippy::cast_precision_loss, reason = "some digits")]
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        Ok((mean, most))
    }
}

/// Equal limits whose memory is kept within a pool as `ackwise tune` keeps it.
#[derive(Debug)]
struct Split {
    senders: Vec<TcpStream>,
    pool: usize,
    limits: Limits,
    limit: usize,
    last: Instant,
}

impl Split {
    fn new(senders: Vec<TcpStream>, pool: usize) -> Self {
        let limit = pool / senders.len();
        Self { senders, pool, limits: Limits::default(), limit, last: Instant::now() }
    }

    /// Lowers or raises all limits, as often as `ackwise tune` does.
    fn observe(&mut self, in_use: u64) -> anyhow::Result<()> {
        if self.last.elapsed() < DIVISION {
            return Ok(());
        }
        self.last = Instant::now();
        self.limits.observe(in_use, self.pool as u64);
        self.limit = usize::try_from(self.limits.of(self.pool as u64))? / self.senders.len();
        for sender in &self.senders {
            // The kernel doubles it.
            SockRef::from(sender).set_send_buffer_size(self.limit / 2)?;
        }
        Ok(())
    }
}

/// Our choice: enough for both kinds, and few enough for two processors.
const CLIENTS: usize = 8;
/// Default of the pool for each client, as the kernel counts.
pub(super) const EACH: usize = 64 * 1024;
/// Our choice: tune starts, looks twice, and the queues of before drain.
const WARM_UP: Duration = Duration::from_secs(30);
const SAMPLE: Duration = Duration::from_millis(500);
/// As often as `ackwise tune` divides its budget.
const DIVISION: Duration = Duration::from_secs(2);
