//! Withholding ACKs with `TCP_QUICKACK`, and saying when they left.
//!
//! The option is not permanent: the kernel leaves the mode whenever it likes, so it is set again
//! around every read and write. Setting it to 1 sends a pending ACK at once; at 0 the kernel's timer
//! sends it, after about 40 ms on Linux ([`LONGEST`] stays below).

use std::time::{Duration, Instant};

use socket2::Socket;

use crate::stack::{Acknowledge, StackEvent};

/// What of the server's stream is unacknowledged, and until when.
pub(super) struct PendingAck {
    acknowledge: Acknowledge,
    /// Everything before this offset is acknowledged.
    acknowledged: u64,
    due: Option<Instant>,
}

impl PendingAck {
    pub(super) fn new(acknowledge: Acknowledge, socket: &Socket) -> Self {
        let withheld = Self { acknowledge, acknowledged: 0, due: None };
        withheld.renew(socket);
        withheld
    }

    /// When the pending ACK leaves.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Puts the socket into its mode again.
    pub(super) fn renew(&self, socket: &Socket) {
        quick_ack(socket, self.acknowledge == Acknowledge::Promptly);
    }

    /// Bytes up to `received` have arrived at `at`.
    pub(super) fn arrived(
        &mut self,
        socket: &Socket,
        received: u64,
        at: Instant,
    ) -> Option<StackEvent> {
        self.renew(socket);
        match self.acknowledge {
            Acknowledge::Promptly => self.left(received, Instant::now()),
            Acknowledge::Delayed(_, delay) | Acknowledge::After(delay) => {
                self.due.get_or_insert(at + delay);
                None
            }
        }
    }

    /// Sends the ACK if it is due.
    pub(super) fn fire(
        &mut self,
        socket: &Socket,
        received: u64,
        now: Instant,
    ) -> Option<StackEvent> {
        self.due.filter(|due| *due <= now)?;
        quick_ack(socket, true);
        self.renew(socket);
        self.left(received, now)
    }

    /// What is sent carries the ACK.
    pub(super) fn carried(&mut self, received: u64, now: Instant) -> Option<StackEvent> {
        self.left(received, now)
    }

    pub(super) fn change(
        &mut self,
        acknowledge: Acknowledge,
        socket: &Socket,
        received: u64,
        now: Instant,
    ) -> Option<StackEvent> {
        self.acknowledge = acknowledge;
        self.renew(socket);
        match acknowledge {
            Acknowledge::Promptly => self.left(received, now),
            Acknowledge::Delayed(..) | Acknowledge::After(_) => None,
        }
    }

    fn left(&mut self, received: u64, at: Instant) -> Option<StackEvent> {
        self.due = None;
        let news = received > self.acknowledged;
        self.acknowledged = received;
        news.then_some(StackEvent::Acknowledged { at, up_to: received })
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia"))]
#[expect(clippy::fn_params_excessive_bools, reason = "a switch of the kernel's")]
pub(crate) fn quick_ack(socket: &Socket, on: bool) {
    let _ = socket.set_tcp_quickack(on); // Fails on a closed socket, which acknowledges nothing.
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "fuchsia")))]
pub(crate) fn quick_ack(_: &Socket, _: bool) {}

/// How long an ACK can be withheld such that we know when it left: below Linux's minimum of the
/// delayed-ACK timer, `TCP_ATO_MIN` = HZ/25 = 40 ms, by one tick of the slowest clock (HZ = 100).
/// Other systems have no switch: nothing can be withheld.
pub(crate) const LONGEST: Duration =
    if cfg!(target_os = "linux") { Duration::from_millis(30) } else { Duration::ZERO };
