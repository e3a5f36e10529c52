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
use ackwise_linux::sockets::{Query, SocketTable};
use ackwise_linux::{Emulator, Namespace};
use ackwise_tcp::State;
use anyhow::{Context, anyhow};
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
    /// Each has an equal part of the pool (`SO_SNDBUF` on the listening socket).
    Equal,
    /// By `ackwise tune --buffer-memory`, with the memory that was in use with equal limits.
    Tuned,
    /// The same, with the pool itself.
    TunedToPool,
    /// By the kernel, up to an equal part of the pool (`net.ipv4.tcp_wmem`).
    Autotuning,
    /// By the kernel, without a common limit.
    Unlimited,
    /// The same, with at most 16 KB unsent (`TCP_NOTSENT_LOWAT` by `ackwise tune --unsent`).
    Unsent,
}

impl Sizing {
    const ALL: [Self; 6] = [
        Self::Equal,
        Self::Tuned,
        Self::TunedToPool,
        Self::Autotuning,
        Self::Unlimited,
        Self::Unsent,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal split",
            Self::Tuned => "`--buffer-memory`: what the equal split has in use",
            Self::TunedToPool => "`--buffer-memory`: the pool",
            Self::Autotuning => "autotuning limited to the same total",
            Self::Unlimited => "autotuning",
            Self::Unsent => "autotuning, `--unsent 16KB`",
        }
    }
}

pub(super) fn run(ackwise: &Path, time: Duration) -> anyhow::Result<()> {
    println!("tune --buffers: {CLIENTS} clients, {} KiB of buffers each, {time:?}", EACH / 1024);
    for (title, kinds) in [
        (
            "half at 1 Mb/s 40 ms, half at 100 Mb/s 100 ms with 0.01 % loss",
            [Kind::Slow, Kind::Fast],
        ),
        ("all at 100 Mb/s 100 ms with 0.01 % loss", [Kind::Fast, Kind::Fast]),
    ] {
        println!("\n{title}\n");
        println!(
            "| buffers | MB in all | of the equal split | first half of the clients | second half | memory in use: mean, most |"
        );
        println!("| --- | --- | --- | --- | --- | --- |");
        let mut first = None;
        for sizing in Sizing::ALL {
            let pool = match (sizing, first) {
                // The kernel exceeds each limit, so that a pool of limits is not one of memory.
                (Sizing::Tuned, Some((_, memory))) => memory,
                _ => EACH * CLIENTS,
            };
            let got = once(ackwise, (sizing, pool), kinds, time).with_context(|| sizing.name())?;
            let all: f64 = got.bytes.iter().sum();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a number of bytes"
            )]
            let (first, _) = *first.get_or_insert((all, got.memory.0 as usize));
            println!(
                "| {} | {:.1} | {:.2} | {:.1} | {:.1} | {:.0} KB, {:.0} KB |",
                sizing.name(),
                all / 1e6,
                all / first,
                got.bytes[0] / 1e6,
                got.bytes[1] / 1e6,
                got.memory.0 / 1e3,
                got.memory.1 / 1e3
            );
        }
    }
    Ok(())
}

/// What a run has shown.
#[derive(Debug)]
struct Got {
    /// Bytes of each half of the clients.
    bytes: [f64; 2],
    /// Memory of all send buffers (`sk_wmem_queued`), mean and largest.
    memory: (f64, f64),
}

fn once(
    ackwise: &Path,
    (sizing, pool): (Sizing, usize),
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
    let listener = server.run(|| listen(sizing))??;
    let port = listener.local_addr()?.port();
    let received: Arc<[AtomicU64; 2]> = Arc::default();
    let mut streams = Vec::new();
    let mut threads = Vec::new();
    for (index, client) in clients.iter().enumerate() {
        let address = (emulators[index].server_address(), port);
        let mut receiving = client.run(|| TcpStream::connect(address))??;
        let mut sending = listener.accept()?.0;
        // As nginx, HAProxy, h2o, Go and Node do. With Nagle's algorithm, no limit holds.
        sending.set_nodelay(true)?;
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
    let pool = pool.to_string();
    let tuning = match sizing {
        Sizing::Tuned | Sizing::TunedToPool => Some(vec!["--buffer-memory", &pool]),
        Sizing::Unsent => Some(vec!["--unsent", "16KB"]),
        Sizing::Equal | Sizing::Autotuning | Sizing::Unlimited => None,
    };
    let tuning = tuning.map(|it| server.run(|| Tuning::start(ackwise, port, &it)));
    let tuning = tuning.transpose()?.transpose()?;
    let mut table = SocketTable::of(&server)?;
    let count = || [0, 1].map(|half| received[half].load(Ordering::Relaxed));
    // What the kernel's autotuning has let in before tune begins has to drain.
    thread::sleep(WARM_UP);
    let before = count();
    let memory = watch(&mut table, port, time)?;
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
    Ok(Got { bytes, memory })
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

fn listen(sizing: Sizing) -> anyhow::Result<TcpListener> {
    if let Sizing::Autotuning = sizing {
        fs::write("/proc/sys/net/ipv4/tcp_wmem", format!("4096 16384 {EACH}"))?;
    }
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    if let Sizing::Equal = sizing {
        // The kernel doubles it.
        SockRef::from(&listener).set_send_buffer_size(EACH / 2)?;
    }
    Ok(listener)
}

/// Mean and largest memory of the send buffers during `time`.
fn watch(table: &mut SocketTable, port: u16, time: Duration) -> anyhow::Result<(f64, f64)> {
    let (began, mut samples) = (Instant::now(), Vec::new());
    while began.elapsed() < time {
        thread::sleep(SAMPLE.min(time));
        let mut memory = 0_u64;
        let query = Query::local_port(port).in_states(&[State::Established]).with_memory();
        table.each(query, |it| memory += it.memory.map_or(0, |it| u64::from(it.queued)))?;
        #[expect(clippy::cast_precision_loss, reason = "some digits")]
        samples.push(memory as f64);
    }
    let most = samples.iter().copied().reduce(f64::max).ok_or_else(|| anyhow!("no sample"))?;
    #[expect(clippy::cast_precision_loss, reason = "some digits")]
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    Ok((mean, most))
}

/// Our choice: enough for both kinds, and few enough for two processors.
const CLIENTS: usize = 8;
/// Of the pool, as the kernel counts.
const EACH: usize = 64 * 1024;
/// Our choice: tune starts, looks twice, and the queues of before drain.
const WARM_UP: Duration = Duration::from_secs(30);
const SAMPLE: Duration = Duration::from_millis(500);
