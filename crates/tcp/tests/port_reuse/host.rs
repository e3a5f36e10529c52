//! One end's driver: at most one connection, and a listener behind it.

use ackwise_tcp::{
    Config, Endpoint, Event, Instant, Segment, SeqNumber, State, Transmit, endpoint::refuse,
};

/// A segment with its origin: which connection of its sender made it, and where its data stands there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) segment: Segment,
    pub(crate) offset: u64,
    /// Zero: no connection, but the host.
    pub(crate) origin: u32,
}

/// What the application does on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// Bytes to write as soon as there is a connection.
    pub(crate) writes: u32,
    /// Close as soon as it is written; else, when the peer has closed.
    pub(crate) closes_now: bool,
}

/// Data that was placed where it does not belong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stale {
    pub(crate) origin: u32,
    pub(crate) expected: Option<u32>,
}

/// One end.
pub(crate) struct Host {
    pub(crate) config: Config,
    pub(crate) endpoint: Option<Endpoint>,
    /// This connection, and which connection of the peer it was opened with.
    pub(crate) serial: u32,
    pub(crate) peer: Option<u32>,
    pub(crate) task: Task,
    closed: bool,
    /// The next sequence number that no connection has used.
    pub(crate) unused: SeqNumber,
    /// Answers of the host itself.
    refusals: Vec<Segment>,
    pub(crate) reset: bool,
}

impl Host {
    pub(crate) fn new(config: Config, unused: SeqNumber) -> Self {
        Self {
            config,
            endpoint: None,
            serial: 0,
            peer: None,
            task: Task { writes: 0, closes_now: false },
            closed: false,
            unused,
            refusals: Vec::new(),
            reset: false,
        }
    }

    pub(crate) fn begin(&mut self, endpoint: Endpoint, serial: u32, task: Task) {
        self.endpoint = Some(endpoint);
        (self.serial, self.task) = (serial, task);
        (self.peer, self.closed, self.reset) = (None, false, false);
    }

    /// The state, CLOSED where there is no connection.
    pub(crate) fn state(&self) -> State {
        self.endpoint.as_ref().map_or(State::Closed, Endpoint::state)
    }

    /// Whether a SYN begins another connection here, be it out of TIME-WAIT.
    pub(crate) fn opens(&self, segment: &Segment) -> bool {
        let syn = segment.flags.syn && segment.ack.is_none() && !segment.flags.rst;
        let idle = matches!(self.state(), State::Closed | State::Listen);
        let reopens = self.endpoint.as_ref().is_some_and(|it| it.reopens(segment).is_some());
        syn && idle || reopens
    }

    /// Whether it belongs to a connection that is open here.
    pub(crate) fn expects(&self, packet: &Packet) -> bool {
        let over = matches!(self.state(), State::Closed | State::Listen | State::TimeWait);
        !over && self.peer.is_none_or(|peer| peer == packet.origin)
    }

    /// Takes a packet; says if it placed data that is not of the connection it is for.
    pub(crate) fn take(&mut self, packet: &Packet, now: Instant) -> Result<(), Stale> {
        let Some(endpoint) = self.endpoint.as_mut().filter(|it| it.state() != State::Closed) else {
            self.refusals.extend(refuse(&packet.segment));
            return Ok(());
        };
        let before = endpoint.state();
        let placement = endpoint.handle_segment(&packet.segment, now).placement();
        if !before.is_synchronized() && endpoint.state().is_synchronized() {
            self.peer = Some(packet.origin);
        }
        match placement {
            Some(_) if self.peer != Some(packet.origin) => {
                Err(Stale { origin: packet.origin, expected: self.peer })
            }
            Some(placement) => {
                assert_eq!(placement.offset, packet.offset + u64::from(placement.skip));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// What the application and the driver do until nothing more leaves.
    pub(crate) fn settle(&mut self, mut send: impl FnMut(Packet), now: Instant) {
        let own = |segment| Packet { segment, offset: 0, origin: 0 };
        self.refusals.drain(..).for_each(|segment| send(own(segment)));
        let Some(endpoint) = &mut self.endpoint else { return };
        while let Some(Transmit { segment, offset, .. }) = endpoint.poll_transmit(now) {
            send(Packet { segment, offset, origin: self.serial });
        }
        let mut acted = endpoint.read(u32::MAX) > 0;
        while let Some(event) = endpoint.poll_event() {
            acted = true;
            match event {
                Event::Connected => {
                    let writes = std::mem::take(&mut self.task.writes);
                    assert_eq!(endpoint.write(writes), writes, "the send buffer is large");
                }
                Event::PeerClosed => self.task.closes_now = true,
                Event::Reset | Event::TimedOut(_) => self.reset = true,
                _ => {}
            }
        }
        let open = matches!(endpoint.state(), State::Established | State::CloseWait);
        if open && self.task.closes_now && !self.closed {
            self.closed = true;
            endpoint.close();
            acted = true;
        }
        self.unused = endpoint.next_sequence();
        if acted {
            self.settle(send, now);
        }
    }
}
