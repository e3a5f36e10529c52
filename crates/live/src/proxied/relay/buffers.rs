//! The pool of socket buffers: samples of the senders, demands by the scheme, and the division.
//!
//! To a client, the relay's send buffer is sized; to a server, its receive buffer. The sender of the latter is the
//! server, and the paper's proxy has "complete information" of it: here, its namespace's table.
//!
//! A share is bytes of data. The kernel counts memory: see [`SENT`] and [`RECEIVED`]. It has no send buffer below
//! 4,608 bytes of memory (`SOCK_MIN_SNDBUF`), so scheme 4's 1 KB is that, and none above twice
//! `net.core.wmem_max`. A receive buffer that shrinks takes nothing back that was advertised.

use std::{
    collections::BTreeMap,
    fs, io,
    net::SocketAddr,
    num::{NonZeroU8, NonZeroU32},
};

use ackwise_linux::sockets::{Family, Query, TcpInfo};
use ackwise_tcp::{ByteCount, Instant, Nanos, State as TcpState};
use ackwise_tuning::{
    Buffers, Division, Downward, E2Atbt, Idle, IdleBuffers, Loss, Scheme, Sender, Sent, Source,
    Upward, Use,
};
use socket2::SockRef;

use super::{Direction, Member, Relay, State};
use crate::proxied::PORT;

impl Relay<'_> {
    /// Of a new connection.
    pub(super) fn initial_buffer(&self) -> ByteCount {
        match &self.run.proxy.scheme.buffers {
            Buffers::Fixed(size) => *size,
            Buffers::E2Atbt(rule) => rule.eatbt.initial,
        }
    }

    /// The initial size if it is free, else a share of a new division.
    pub(super) fn buffer_for_new(&self, state: &mut State) -> ByteCount {
        let initial = self.initial_buffer();
        if let Buffers::Fixed(_) = self.run.proxy.scheme.buffers {
            return initial;
        }
        match state.division.admit(initial) {
            Some(share) => share.bytes,
            None => self.divides(state, Some(initial)),
        }
    }

    /// A connection that was idle has what is left of its buffer, and gets its demand if that is free.
    pub(super) fn reuses_buffer(&self, state: &mut State, idle: Idle<u64>, now: Instant) {
        let scheme = &self.run.proxy.scheme;
        let IdleBuffers::Halve(_) = scheme.idle else { return };
        let size = scheme.idle.size(idle.held, idle.since, now);
        let Some(member) = state.members.get_mut(&idle.key) else { return };
        member.apply(size);
        let demand = member.demand;
        if demand > size {
            match state.division.admit(ByteCount(demand.0 - size.0)) {
                Some(_) => {
                    if let Some(member) = state.members.get_mut(&idle.key) {
                        member.apply(demand);
                    }
                }
                None => drop(self.divides(state, None)),
            }
        }
    }

    pub(super) fn divides_at_intervals(&self) {
        while self.run.sleeps(Scheme::INTERVAL.into()) {
            let mut state = self.lock();
            let (open, idle) = (state.open, [0, 1].map(|at| state.idle[at].len() as u64));
            let mut measures = self.run.measures();
            measures.samples += 1;
            for at in 0..2 {
                measures.open[at] += open[at];
                measures.idle[at] += idle[at];
            }
            drop(measures);
            if let Buffers::E2Atbt(rule) = self.run.proxy.scheme.buffers {
                // Without a sample, the demands stay.
                let _ = self.samples(&mut state);
                self.estimates(&mut state, &rule);
                self.divides(&mut state, None);
            }
        }
    }

    /// What the sender of each connection has lost since the last sample.
    fn samples(&self, state: &mut State) -> io::Result<()> {
        let mut seen: [BTreeMap<SocketAddr, TcpInfo>; 2] = Default::default();
        let query = Query::local_port(PORT).in_family(Family::V4);
        let query = query.in_states(&[TcpState::Established]).with_info();
        let mut tables = self.tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (table, seen) in tables.iter_mut().zip(&mut seen) {
            table.each(query, |socket| seen.extend(socket.info.map(|it| (socket.remote, it))))?;
        }
        for member in state.members.values_mut() {
            if let Some(info) = seen[member.direction as usize].get(&member.peer) {
                member.samples(info, self.run.proxy.pool);
            }
        }
        Ok(())
    }

    /// What each busy connection can use; an idle one's demand stays.
    fn estimates(&self, state: &mut State, rule: &E2Atbt) {
        let most = self.run.proxy.pool;
        let supply = |up: &u64| rule.supply(&state.members.get(up)?.sender?);
        let demands = state.members.iter().filter_map(|(&key, member)| {
            let sender = member.sender.filter(|_| !state.is_idle(key, member))?;
            let buffer = Use { assigned: member.buffer, peak: member.buffer };
            let demand = match member.direction {
                Direction::Down => {
                    let source = member.source.as_ref();
                    let source = source.map_or(Source::Cache, |up| Source::Upward(supply(up)));
                    rule.downward(&Downward { sender, source, buffer })
                }
                Direction::Up => rule.upward(&Upward { sender, buffer, most }),
            };
            Some((key, demand.bytes))
        });
        for (key, demand) in demands.collect::<Vec<_>>() {
            if let Some(member) = state.members.get_mut(&key) {
                member.demand = demand;
            }
        }
    }

    /// Divides the pool among those that take part, and a new connection that demands `new`; returns its share.
    fn divides(&self, state: &mut State, new: Option<ByteCount>) -> ByteCount {
        let (scheme, now) = (&self.run.proxy.scheme, self.now());
        let halves = matches!(scheme.idle, IdleBuffers::Halve(_));
        let idle = |at: usize| state.idle[at].memory(scheme.idle, now).0;
        let idle = if halves { idle(0) + idle(1) } else { 0 };
        let pool = ByteCount(self.run.proxy.pool.0.saturating_sub(idle));
        let part = state.members.iter().filter(|(key, it)| !halves || !state.is_idle(**key, it));
        let part: Vec<_> = part.map(|(&key, member)| (key, member.demand)).collect();
        let demands = part.iter().map(|(_, demand)| *demand).chain(new);
        let division = Division::new(pool, demands, self.run.proxy.spare);
        state.division = division;
        self.run.measures().divisions += 1;
        for (key, demand) in part {
            if let Some(member) = state.members.get_mut(&key) {
                member.apply_if_new(division.share(demand).bytes);
            }
        }
        new.map_or(ByteCount(0), |new| division.share(new).bytes)
    }
}

impl State {
    fn is_idle(&self, key: u64, member: &Member) -> bool {
        self.idle[member.direction as usize].contains(&key)
    }
}

impl Member {
    fn samples(&mut self, info: &TcpInfo, pool: ByteCount) {
        let now = [info.data_segs_out, info.total_retrans].map(u64::from);
        let [segments, lost] = [0, 1].map(|at| now[at].saturating_sub(self.sampled[at]));
        self.sampled = now;
        self.loss.observe(Sent { segments, lost });
        let window = match self.direction {
            Direction::Down => ByteCount(info.snd_wnd.unwrap_or(u32::MAX).into()),
            // The window is what the relay's buffer decides.
            Direction::Up => pool,
        };
        let largest = self.sender.map_or(window, |before| before.peer_window.max(window));
        self.sender = NonZeroU32::new(info.snd_mss).map(|mss| Sender {
            loss: self.loss.loss(),
            round_trip: Nanos::from_micros(info.rtt_us.into()),
            timeout: Nanos::from_micros(info.rto_us.into()),
            mss,
            peer_window: largest,
            segments_per_ack: DELAYED_ACKS,
        });
        debug_assert!(self.loss.loss() != Loss::Unmeasured || segments == 0, "observed");
    }

    fn apply_if_new(&mut self, share: ByteCount) {
        if share != self.buffer {
            self.apply(share);
        }
    }

    /// Sets the buffer. A connection that the peer has just reset keeps its size.
    pub(super) fn apply(&mut self, share: ByteCount) {
        self.buffer = share;
        let socket = SockRef::from(&self.stream);
        let _ = match self.direction {
            Direction::Down => socket.set_send_buffer_size(memory(share, SENT) / DOUBLED),
            Direction::Up => socket.set_recv_buffer_size(memory(share, RECEIVED) / DOUBLED),
        };
    }
}

/// Receive buffers begin with the initial size: set on a socket before it connects, a size would also limit how
/// far its window can ever grow.
pub(super) fn prepare_namespace(initial: ByteCount) -> io::Result<()> {
    let text = fs::read_to_string(RECEIVE_SIZES)?;
    let mut sizes = text.split_whitespace();
    let (Some(least), Some(most)) = (sizes.next(), sizes.nth(1)) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    fs::write(RECEIVE_SIZES, format!("{least} {} {most}", memory(initial, RECEIVED)))
}

fn memory(data: ByteCount, [times, of]: [u64; 2]) -> usize {
    usize::try_from(data.0.saturating_mul(times) / of).unwrap_or(usize::MAX)
}

/// Memory for data in packets of 1,448 bytes: `sk_wmem_queued` was 1.29 times the data (docs/tune/buffers.md).
const SENT: [u64; 2] = [129, 100];
/// A packet of 1,448 bytes of data from a TUN device occupies 2,432 (`settings::truesize`).
const RECEIVED: [u64; 2] = [2_432, 1_448];
/// The kernel doubles what it is given (socket(7)).
const DOUBLED: usize = 2;
/// RFC 5681, section 4.2.
const DELAYED_ACKS: NonZeroU8 = NonZeroU8::new(2).expect("not 0");
const RECEIVE_SIZES: &str = "/proc/sys/net/ipv4/tcp_rmem";
