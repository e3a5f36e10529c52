//! Ackwise's TCP over TUN.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use ackwise_linux::{
    ConnectionId, HostChanges, TunStack,
    stack::{ConnectError as TunConnectError, Tap},
    wire::Wire,
};
use ackwise_tcp::{
    Config, Endpoint, Event, State, TimeWaitReason,
    policy::{ClosePolicy, CongestionPolicy, HoldPolicy, Policies, Preset},
};

use super::{AfterWrite, ConnectError, ConnectionError, Heard, Read, Slot, Transport};

/// Connections of Ackwise's TCP to one server.
pub struct TunTransport {
    tun: TunStack,
    peer: SocketAddr,
    /// Connections take them in turn.
    configs: Vec<Arc<Config>>,
    opened: usize,
    slots: Vec<Option<OpenConnection>>,
    by_id: BTreeMap<ConnectionId, Slot>,
    /// Closed connections that may be in TIME-WAIT.
    closing: Vec<ConnectionId>,
    began: Instant,
    _changes: Option<HostChanges>,
}

/// A connection in its slot.
#[derive(Clone, Copy)]
struct OpenConnection {
    id: ConnectionId,
    connected: bool,
    peer_closed: bool,
    broken: Option<ConnectionError>,
}

impl TunTransport {
    /// A transport for `slots` concurrent connections.
    #[must_use]
    pub fn new(wire: Wire, preset: Preset, close: ClosePolicy, slots: usize) -> Self {
        let Wire { tun, peer, changes } = wire;
        Self {
            tun,
            peer,
            configs: configs(Policies { close, ..preset.policies() }),
            opened: 0,
            slots: vec![None; slots],
            by_id: BTreeMap::new(),
            closing: Vec::new(),
            began: Instant::now(),
            _changes: changes,
        }
    }

    fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.closing.iter().filter_map(|id| self.tun.endpoint(*id))
    }

    fn forget_those_gone(&mut self) {
        let Self { closing, tun, .. } = self;
        closing.retain(|id| tun.endpoint(*id).is_some());
    }

    fn take(&mut self, slot: Slot) -> Option<ConnectionId> {
        let OpenConnection { id, .. } = self.slots[slot.0].take()?;
        self.by_id.remove(&id);
        Some(id)
    }

    /// Records events.
    fn hear(&mut self, ready: &mut Vec<Slot>) {
        while let Some((id, event)) = self.tun.poll_event() {
            let Some(slot) = self.by_id.get(&id) else { continue };
            let Some(connection) = &mut self.slots[slot.0] else { continue };
            match event {
                Event::Connected => connection.connected = true,
                Event::PeerClosed => connection.peer_closed = true,
                Event::Reset if connection.connected => {
                    connection.broken = Some(ConnectionError::Reset)
                }
                Event::Reset => connection.broken = Some(ConnectionError::Refused),
                Event::TimedOut(_) => connection.broken = Some(ConnectionError::TimedOut),
                _ => {}
            }
            if ready.last() != Some(slot) {
                ready.push(*slot);
            }
        }
    }
}

/// One configuration, or one for each phase in which BBR may begin (Linux draws it), so that connections which
/// begin together do not probe together.
fn configs(policies: Policies) -> Vec<Arc<Config>> {
    let phases = if policies.congestion == CongestionPolicy::Bbr { BBR_PHASES } else { 1 };
    (0..phases).map(|bbr_phase| Arc::new(Config { bbr_phase, ..Config::new(policies) })).collect()
}

/// `CYCLE_LEN` - 1 in Linux `bbr_reset_probe_bw_mode`: the phase in which the queue drains is none of them.
const BBR_PHASES: u8 = 7;

impl Transport for TunTransport {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn connect(&mut self, slot: Slot) -> Result<(), ConnectError> {
        let config = Arc::clone(&self.configs[self.opened % self.configs.len()]);
        self.opened = self.opened.wrapping_add(1);
        let opened = self.tun.connect(self.peer, config, Tap::Off);
        let id = opened.map_err(|error| match error {
            TunConnectError::NoPort(_) | TunConnectError::Full(_) => ConnectError::NoPort,
            error => ConnectError::System(io::Error::other(error)),
        })?;
        let connection = OpenConnection { id, connected: false, peer_closed: false, broken: None };
        self.slots[slot.0] = Some(connection);
        self.by_id.insert(id, slot);
        Ok(())
    }

    fn write(
        &mut self,
        slot: Slot,
        bytes: &[u8],
        follows: AfterWrite,
    ) -> Result<usize, ConnectionError> {
        let connection = self.slots[slot.0].ok_or(ConnectionError::Reset)?;
        match connection.broken {
            Some(broken) => Err(broken),
            // Bytes written during the handshake would stay in the send buffer and count as sent.
            None if !connection.connected => Ok(0),
            None => {
                if follows == AfterWrite::Close {
                    self.tun.set_hold(connection.id, UNTIL_THE_FIN);
                }
                Ok(self.tun.write(connection.id, bytes))
            }
        }
    }

    fn read(&mut self, slot: Slot, buffer: &mut [u8]) -> Result<Read, ConnectionError> {
        let connection = self.slots[slot.0].ok_or(ConnectionError::Reset)?;
        match (self.tun.read(connection.id, buffer), connection.broken) {
            (0, Some(broken)) => Err(broken),
            (0, None) if connection.peer_closed => Ok(Read::End),
            (0, None) => Ok(Read::Nothing),
            (bytes, _) => Ok(Read::ByteCount(bytes)),
        }
    }

    fn may_have_ended(&mut self, slot: Slot, _now: Duration) -> bool {
        // Packets are read in `poll` only.
        self.slots[slot.0].is_none_or(|it| it.peer_closed || it.broken.is_some())
    }

    fn heard(&mut self, slot: Slot) -> Option<Heard> {
        let connection = self.slots[slot.0]?;
        let end = self.tun.endpoint(connection.id)?;
        Some(match (connection.connected, end.written().checked_sub(end.acknowledged())) {
            (false, _) => Heard::Nothing,
            (true, Some(1..)) => Heard::Part,
            (true, _) => Heard::All,
        })
    }

    fn half_close(&mut self, slot: Slot) {
        if let Some(connection) = self.slots[slot.0] {
            self.tun.close(connection.id);
        }
    }

    fn close(&mut self, slot: Slot) {
        if let Some(id) = self.take(slot) {
            self.tun.release(id);
            self.closing.push(id);
            if self.closing.len() >= CLOSING_LIMIT {
                self.forget_those_gone();
            }
        }
    }

    fn abort(&mut self, slot: Slot) {
        if let Some(id) = self.take(slot) {
            self.tun.abort(id);
            self.tun.release(id);
        }
    }

    fn poll(&mut self, until: Duration, ready: &mut Vec<Slot>) -> io::Result<()> {
        self.hear(ready);
        let deadline = if ready.is_empty() { self.began + until } else { Instant::now() };
        self.tun.poll(deadline)?;
        self.hear(ready);
        Ok(())
    }

    fn time_wait_reasons(&mut self) -> Option<Vec<(TimeWaitReason, u64)>> {
        self.forget_those_gone();
        let mut reasons: Vec<(TimeWaitReason, u64)> = Vec::new();
        for reason in self.endpoints().filter_map(Endpoint::time_wait_reason) {
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((reason, 1)),
            }
        }
        Some(reasons)
    }

    fn is_closing(&self) -> bool {
        self.endpoints().any(|end| !matches!(end.state(), State::TimeWait | State::Closed))
    }

    fn address(&self) -> Option<IpAddr> {
        self.tun.device().address_towards(self.peer.ip())
    }

    fn packets_lost(&self) -> u64 {
        self.tun.counters().send_failures
    }
}

/// Holds bytes that a FIN follows, so that they are sent together; the bound is Linux's for
/// `MSG_MORE`.
const UNTIL_THE_FIN: HoldPolicy = HoldPolicy::LINUX_CORK;
/// The stack holds at most half as many, so at this length at least half of the entries are stale.
const CLOSING_LIMIT: usize = 2 * 65_536;
