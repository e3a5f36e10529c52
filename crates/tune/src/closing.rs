//! Which idle connections close: those that have been quiet longest, as many as are needed, at most so many
//! in a second. When a connection counts as idle is decided in `ackwise-tuning`.

use std::time::{Duration, Instant};

use ackwise_bpf::Witness;
use ackwise_linux::sockets::TcpSocket;
use ackwise_tuning::{Observed, Order, Quiet};

use crate::Closing;

/// The rule with its allowance.
#[derive(Debug)]
pub(crate) struct Closer {
    rule: Closing,
    /// Closes that are allowed now: a bucket that holds those of one second.
    allowance: f64,
    last: Option<Instant>,
    /// Who sees the order of request and response, if the kernel allows it.
    witness: Option<Witness>,
}

/// A connection that may be closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) socket: TcpSocket,
    pub(crate) quiet: Duration,
    /// Whether it counts as idle only because it has been quiet for long.
    pub(crate) is_unsure: bool,
    /// Whether the witness saw the response follow the request.
    pub(crate) is_seen: bool,
}

/// How many connections there are for how many places.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Shortage {
    pub(crate) open: usize,
    pub(crate) waiting: usize,
    pub(crate) places: usize,
}

impl Shortage {
    /// How many have to close.
    pub(crate) const fn excess(self) -> usize {
        (self.open + self.waiting).saturating_sub(self.places)
    }
}

impl Closer {
    pub(crate) const fn new(rule: Closing) -> Self {
        Self { rule, allowance: 0.0, last: None, witness: None }
    }

    /// Decides by the order that `witness` sees, where it has seen one.
    pub(crate) fn rely_on(&mut self, witness: Witness) {
        self.witness = Some(witness);
    }

    /// Counts the connections of a scan. Those without an inode wait to be accepted.
    pub(crate) fn shortage(&self, sockets: &[TcpSocket]) -> Shortage {
        let open = sockets.iter().filter(|socket| socket.inode != 0).count();
        let places = usize::try_from(self.rule.max_connections).unwrap_or(usize::MAX);
        Shortage { open, waiting: sockets.len() - open, places }
    }

    /// The connections that may be closed, the longest quiet first.
    pub(crate) fn candidates(&self, sockets: &[TcpSocket]) -> Vec<Candidate> {
        let mut candidates: Vec<_> =
            sockets.iter().filter_map(|socket| self.candidate(socket)).collect();
        candidates.sort_by_key(|it| (std::cmp::Reverse(it.quiet), it.socket.cookie));
        candidates
    }

    /// How many may close at `now`.
    pub(crate) fn allowed(&mut self, now: Instant) -> usize {
        let rate = f64::from(self.rule.per_second);
        let since = self.last.map_or(Duration::from_secs(1), |last| now - last);
        self.last = Some(now);
        self.allowance = (self.allowance + rate * since.as_secs_f64()).min(rate);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and a u32"
        )]
        let whole = self.allowance as usize;
        whole
    }

    /// Notes closes.
    pub(crate) fn closed(&mut self, count: u32) {
        self.allowance -= f64::from(count);
    }

    fn candidate(&self, socket: &TcpSocket) -> Option<Candidate> {
        let client = socket.remote.ip();
        if socket.inode == 0 || self.rule.exclude.iter().any(|net| net.contains(&client)) {
            return None;
        }
        let observed = self.observed(socket)?;
        let (quiet, is_unsure) = match observed.judge(self.rule.patience) {
            Quiet::Idle { quiet } => (quiet, false),
            Quiet::IdleUnsure { quiet } => (quiet, true),
            Quiet::Busy(_) => return None,
        };
        Some(Candidate { socket: *socket, quiet, is_unsure, is_seen: observed.order.is_some() })
    }

    fn observed(&self, socket: &TcpSocket) -> Option<Observed> {
        let received = socket.info?.bytes_received;
        let seen = self.witness.as_ref().and_then(|it| it.order(socket.cookie, received));
        let order = seen.map(|order| match order {
            ackwise_bpf::Order::ResponseLast => Order::ResponseLast,
            ackwise_bpf::Order::RequestLast => Order::RequestLast,
        });
        observed(socket, order)
    }
}

fn observed(socket: &TcpSocket, order: Option<Order>) -> Option<Observed> {
    let info = socket.info?;
    let ms = |ms: u32| Duration::from_millis(ms.into());
    Some(Observed {
        received: info.bytes_received,
        acknowledged: info.bytes_acked,
        unread: socket.receive_queue,
        unacknowledged: socket.send_queue,
        since_sent: ms(info.last_data_sent_ms),
        since_received: ms(info.last_data_recv_ms),
        since_ack: ms(info.last_ack_recv_ms),
        order,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closer(per_second: u32) -> Closer {
        let patience = ackwise_tuning::Patience::DEFAULT;
        Closer::new(Closing { max_connections: 200, per_second, patience, exclude: Vec::new() })
    }

    #[test]
    fn as_many_close_as_are_needed() {
        let excess = |open, waiting| Shortage { open, waiting, places: 200 }.excess();
        assert_eq!(
            [excess(200, 0), excess(200, 1), excess(150, 50), excess(150, 57)],
            [0, 1, 0, 7]
        );
    }

    #[test]
    fn the_allowance_is_that_of_a_second_at_most() {
        let mut closer = closer(10);
        let began = Instant::now();
        assert_eq!(closer.allowed(began), 10);
        closer.closed(10);
        assert_eq!(closer.allowed(began), 0);
        assert_eq!(closer.allowed(began + Duration::from_millis(250)), 2);
        closer.closed(2);
        assert_eq!(closer.allowed(began + Duration::from_secs(60)), 10);
    }
}
