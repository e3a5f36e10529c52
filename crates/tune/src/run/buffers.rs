//! Send and receive buffers under a budget: every two seconds, if that takes little time, what each connection can use (E2-ATBT), a
//! division of the budget, and `SO_SNDBUF` and `SO_RCVBUF` of those whose share has changed.
//!
//! Sizes are the kernel's: memory with its bookkeeping. The kernel exceeds a limit by up to one packet of 64 KB, so the
//! limits together are lowered until the memory in use fits into the budget. Connections that send nothing hold
//! no memory and are left out, as in the paper's scheme 4; they keep their size.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    time::{Duration, Instant},
};

use ackwise_linux::{foreign::SocketOption, sockets::TcpSocket};
use ackwise_tcp::{ByteCount, Nanos};
use ackwise_text::words::{counted, grouped};
use ackwise_tuning::{
    Demand, DemandReason, Division, Eatbt, SeenSender, Share, Shown, Spare, Use, UseRule,
};

use super::{Run, spent, spent_since};
use crate::{
    Act, Limits, Line, TuneError,
    change::{self, Planned},
};

/// The connections of a server as a budget sees them.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    seen: BTreeMap<u64, Seen>,
    last: Option<Instant>,
    limits: Limits,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    sender: SeenSender,
    received: u64,
    /// Bytes that arrived in a round trip of the last interval; `None` if few arrived, and few wait.
    arriving: Option<u64>,
}

/// A buffer with what it can use.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    socket: TcpSocket,
    option: SocketOption,
    /// The limit now, as the kernel counts.
    size: u32,
    /// In bytes of data.
    demand: Demand,
}

impl Wanted {
    /// The memory that the demand takes, as the kernel counts it.
    fn memory(&self) -> ByteCount {
        let data = self.demand.bytes.0;
        ByteCount(match self.option {
            SocketOption::SendBuffer => data.saturating_add(data / SENT_EXTRA),
            _ => data.saturating_mul(RECEIVED),
        })
    }
}

/// A buffer with what it gets, as the kernel counts.
#[derive(Clone, Copy, Debug)]
struct Assigned {
    wanted: Wanted,
    share: Share,
}

impl Buffers {
    /// Whether a connection took part in the last division, or could have. One beyond [`CONNECTIONS_LIMIT`] did not.
    pub(super) fn contains(&self, cookie: u64) -> bool {
        self.seen.contains_key(&cookie)
    }

    /// Takes a scan, `interval` after the one before, and divides `budget`.
    fn divide(
        &mut self,
        sockets: &[TcpSocket],
        budget: u64,
        interval: Option<Duration>,
    ) -> Vec<Assigned> {
        let mut before = std::mem::take(&mut self.seen);
        let mut wanted = Vec::new();
        for socket in sockets.iter().filter(|it| it.inode != 0).take(CONNECTIONS_LIMIT) {
            let (Some(shown), Some(memory), Some(info)) =
                (shown(socket), socket.memory, socket.info)
            else {
                continue;
            };
            let new = Seen { sender: SeenSender::new(shown), received: 0, arriving: None };
            let known = before.remove(&socket.cookie);
            let mut seen = known.unwrap_or(new);
            if known.is_some() {
                seen.sender.observe(shown);
                let arrived = info.bytes_received.saturating_sub(seen.received);
                let unread = u64::from(socket.receive_queue);
                let is_upload = in_time(arrived, INTERVAL, interval) >= UPLOAD;
                seen.arriving = match (unread >= RECEIVE_RULE.least.0, is_upload) {
                    // The time in which a window arrives is then that of the program.
                    (true, _) => Some(in_a_round_trip(arrived, info.rtt_us, interval)),
                    (false, true) => Some(in_a_round_trip(arrived, info.rcv_rtt_us, interval)),
                    (false, false) => None,
                };
            }
            seen.received = info.bytes_received;
            self.seen.insert(socket.cookie, seen);
            let one = |option, size, demand| Wanted { socket: *socket, option, size, demand };
            if seen.sender.is_sending() {
                let demand = seen.sender.demand(&Eatbt::OKAMOTO_2001);
                wanted.push(one(SocketOption::SendBuffer, memory.send_buffer, demand));
            }
            if let Some(arriving) = seen.arriving {
                let assigned = ByteCount(u64::from(memory.receive_buffer) / RECEIVED);
                let in_use = Use { assigned, peak: ByteCount(arriving) };
                let most = Demand { bytes: MOST_RECEIVED, reason: DemandReason::Most };
                let demand = RECEIVE_RULE.demand(in_use, most);
                wanted.push(one(SocketOption::ReceiveBuffer, memory.receive_buffer, demand));
            }
        }
        let demands = wanted.iter().map(Wanted::memory);
        let division = Division::new(ByteCount(self.limits.of(budget)), demands, Spare::Keep);
        let assign = |wanted: Wanted| Assigned { wanted, share: division.share(wanted.memory()) };
        wanted.into_iter().map(assign).collect()
    }
}

impl Assigned {
    fn size(&self) -> u32 {
        u32::try_from(self.share.bytes.0).unwrap_or(u32::MAX).clamp(LEAST, MOST)
    }

    /// Whether the share differs enough to set it.
    fn is_new(&self) -> bool {
        self.size().abs_diff(self.wanted.size) > self.wanted.size / 8
    }

    fn reason(&self) -> String {
        let Self { wanted, share } = self;
        let demand = wanted.demand;
        format!(
            "can use {} bytes of data ({}); share of memory: {}",
            grouped(demand.bytes.0),
            demand.reason,
            share.reason
        )
    }
}

impl Run<'_> {
    /// Divides the budget, if its time has come.
    pub(super) fn size_buffers(&mut self, now: Instant) -> Result<(), TuneError> {
        let Some(budget) = self.options.buffer_memory else { return Ok(()) };
        let since = self.buffers.last.map(|last| now - last);
        let is_early = since.is_some_and(|since| since < INTERVAL);
        if is_early || !self.looks_at_buffers.allows(now) {
            return Ok(());
        }
        self.buffers.last = Some(now);
        let before = spent();
        let sized = self.size_all(budget, since, now);
        self.looks_at_buffers.spend(spent_since(before));
        sized
    }

    /// Divides the budget, `since` after the last time.
    fn size_all(
        &mut self,
        budget: u64,
        since: Option<Duration>,
        now: Instant,
    ) -> Result<(), TuneError> {
        let sockets = self.sized()?;
        if since.is_some() {
            self.buffers.limits.observe(in_use(&sockets), budget);
        }
        let assigned = self.buffers.divide(&sockets, budget, since);
        // The first look shows no rates.
        let Some(_) = since else { return Ok(()) };
        let new: Vec<_> = assigned.into_iter().filter(Assigned::is_new).take(SETS_LIMIT).collect();
        if new.is_empty() {
            return Ok(());
        }
        let sockets: Vec<_> = new.iter().map(|it| it.wanted.socket).collect();
        let holders = self.workers.find(&sockets, now);
        self.forget_gone();
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let planned = new.iter().map(|it| (it.wanted.socket, it.wanted.option, it.size()));
        let planned = change::plan_sizes(planned, &holders);
        let done = change::carry_out(planned, &holders, journal)?;
        for planned in done.iter().filter(|it| it.option != SocketOption::BufferLock) {
            let is_it = |it: &&Assigned| {
                it.wanted.socket.cookie == planned.socket.cookie
                    && it.wanted.option == planned.option
            };
            let reason = match planned.option {
                SocketOption::NoDelay => {
                    "without it, the kernel exceeds the send buffer's limit".to_owned()
                }
                _ => new.iter().find(is_it).map(Assigned::reason).unwrap_or_default(),
            };
            self.say_set(planned, None, reason);
        }
        Ok(())
    }

    /// The connections whose buffers count, also those to servers behind a proxy: what it does not pass on to a slow client
    /// stays in their receive buffers.
    fn sized(&mut self) -> Result<Vec<TcpSocket>, TuneError> {
        let mut sockets = self.connected(self.query().with_info().with_memory())?;
        sockets.extend(self.upward()?.all().into_iter().filter(|it| self.is_upward(it)));
        Ok(sockets)
    }

    /// What a dry run reports: demand and share of each connection.
    pub(super) fn would_size(&mut self) -> Result<(), TuneError> {
        let Some(budget) = self.options.buffer_memory else { return Ok(()) };
        let mut assigned = Vec::new();
        let mut last = None;
        for wait in [Duration::ZERO, self.options.watch] {
            self.pause(wait);
            let sockets = self.sized()?;
            let now = Instant::now();
            assigned = self.buffers.divide(&sockets, budget, last.map(|last| now - last));
            last = Some(now);
        }
        for it in assigned.iter().take(SHOWN_LIMIT) {
            let Wanted { socket, option, size, .. } = it.wanted;
            let planned = Planned { socket, option, old: size, new: it.size() };
            self.tell_planned(Act::WouldSet, &planned, None, it.reason());
        }
        let sum = |each: fn(&Assigned) -> u64| assigned.iter().map(each).sum::<u64>();
        let demanded = sum(|it| it.wanted.memory().0);
        let (shares, now) = (sum(|it| it.size().into()), sum(|it| it.wanted.size.into()));
        let buffers = counted(assigned.len() as u64, "buffer");
        let reason = format!(
            "{buffers} in use: limits now {} bytes, demand {} bytes, shares {} of {} bytes",
            grouped(now),
            grouped(demanded),
            grouped(shares),
            grouped(budget)
        );
        let mut line = Line::new(self.began.elapsed(), Act::Stake, reason);
        line.count = Some(assigned.len() as u64);
        line.stake_bytes = Some(now.saturating_sub(shares));
        self.tell(&line);
        Ok(())
    }
}

/// The memory that the buffers of all connections hold.
fn in_use(sockets: &[TcpSocket]) -> u64 {
    let memory = sockets.iter().filter_map(|it| it.memory);
    memory.map(|it| u64::from(it.queued) + u64::from(it.received)).sum()
}

/// What arrives in a round trip if `arrived` bytes came evenly.
fn in_a_round_trip(arrived: u64, round_trip_us: u32, interval: Option<Duration>) -> u64 {
    in_time(arrived, Duration::from_micros(round_trip_us.into()), interval)
}

/// What arrives in `time` if `arrived` bytes came evenly in `interval`.
fn in_time(arrived: u64, time: Duration, interval: Option<Duration>) -> u64 {
    let Some(interval) = interval.filter(|it| !it.is_zero()) else { return 0 };
    let scaled = u128::from(arrived) * time.as_micros() / interval.as_micros().max(1);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

fn shown(socket: &TcpSocket) -> Option<Shown> {
    let info = socket.info?;
    let micros = |us: u32| Nanos::from_micros(us.into());
    Some(Shown {
        acknowledged: info.bytes_acked,
        segments: info.data_segs_out.into(),
        retransmitted: info.total_retrans.into(),
        busy: Duration::from_micros(info.busy_us),
        window_closed: Duration::from_micros(info.window_limited_us),
        buffer_full: Duration::from_micros(info.send_buffer_limited_us),
        queued: ByteCount(socket.send_queue.into()),
        round_trip: micros(info.rtt_us),
        // Before the first sample.
        least_round_trip: micros(info.min_rtt_us.min(info.rtt_us)),
        timeout: micros(info.rto_us),
        mss: NonZeroU32::new(info.snd_mss)?,
        peer_window: ByteCount(info.snd_wnd.unwrap_or(u32::MAX).into()),
    })
}

/// Memory beyond the data in a receive buffer: the kernel takes twice the data (socket(7), `SO_RCVBUF`).
const RECEIVED: u64 = 2;
/// Memory beyond the data in a send buffer, one part in this many. Our choice: `sk_wmem_queued` was 1.06 times the data
/// in packets of 64 KB, and 1.29 times in packets of 1,448 bytes.
const SENT_EXTRA: u64 = 3;
/// As the other scans. Our choice: some round trips of the longest paths.
const INTERVAL: Duration = Duration::from_secs(2);
/// The kernel's own minimum (`SOCK_MIN_SNDBUF`), rounded up.
const LEAST: u32 = 4_608;
/// Our choice: what `net.core.wmem_max` allows on current kernels.
const MOST: u32 = 8 << 20;
/// A receive buffer takes part if so much arrived in an [`INTERVAL`], or if more waits unread than the least size. Our choice:
/// requests are smaller, and an upload at this rate needs no more than every connection has.
const UPLOAD: u64 = 256 * 1_024;
/// Largest receive buffer, in bytes of data: half of `net.ipv4.tcp_rmem`'s usual maximum.
const MOST_RECEIVED: ByteCount = ByteCount(3 << 20);
/// At least 64 KB: what a sender may use before it knows of window scaling (our choice).
const RECEIVE_RULE: UseRule = {
    let mut rule = UseRule::DEFAULT;
    rule.least = ByteCount(64 * 1_024);
    rule
};
/// Our choice: 40 MB.
const CONNECTIONS_LIMIT: usize = 100_000;
/// At most this many are set at one time (our choice: 60 ms, or 3 % of a processor).
const SETS_LIMIT: usize = 1_000;
/// At most this many lines in a dry run (our choice).
const SHOWN_LIMIT: usize = 50;
