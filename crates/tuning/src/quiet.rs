//! Whether a connection of an unmodified server is idle, judged from outside by what the kernel shows
//! (`TCP_INFO`).
//!
//! Okamoto et al. 2001 close idle persistent connections from inside the proxy, which knows its requests.
//! From outside, a request in flight shows by order: the server's last data went out before the client's
//! last data came in. The kernel's times move in ticks, of 4 ms on many systems, and on fast paths request,
//! response and ACK often fall into one. Such a tie counts as busy until the connection has been quiet for
//! longer than the server's slowest response. A witness inside the kernel that knows the order ([`Order`])
//! decides without times.
//!
//! A proxy's connection to a server behind it is judged in the same way, with the roles exchanged ([`Side`]).
//!
//! What this cannot see: a request that arrives before the response to an earlier one has been sent
//! (pipelining, streams of HTTP/2), and messages that need no answer (WebSocket, event streams).

use core::time::Duration;

/// What is known about one established connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Observed {
    /// Who opened it.
    pub side: Side,
    /// Bytes received, ever.
    pub received: u64,
    /// Bytes sent and acknowledged, ever.
    pub acknowledged: u64,
    /// Bytes received that the process has not read.
    pub unread: u32,
    /// Bytes that the peer has not acknowledged, sent or not.
    pub unacknowledged: u32,
    /// Time since the process last sent data.
    pub since_sent: Duration,
    /// Time since the peer's last data.
    pub since_received: Duration,
    /// Time since the peer's last ACK; its data carries one, too.
    pub since_ack: Duration,
    /// What came last, if somebody saw it.
    pub order: Option<Order>,
}

/// On which side of a process a connection is: who sends the requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// A client opened it and sends requests.
    Accepted,
    /// The process opened it, to a server behind it, and sends requests.
    Upward,
}

/// What came last on a connection, seen and not concluded from times.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// At least a part of a response, after the last request.
    ResponseLast,
    /// A request, or a part of it, after the last response.
    RequestLast,
}

/// How long a connection has to be quiet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Patience {
    /// If the order of events is known.
    pub idle_at_least: Duration,
    /// If it is not.
    pub unsure_after: Duration,
}

impl Patience {
    /// Our choice: a client that reads a page for a second leaves its connection idle, and few servers
    /// need 10 s for a response. A server that does needs a longer time.
    pub const DEFAULT: Self =
        Self { idle_at_least: Duration::from_secs(1), unsure_after: Duration::from_secs(10) };
}

/// A verdict with its reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Quiet {
    /// It may be closed: the last response was sent and acknowledged after the last request.
    Idle {
        /// For how long.
        quiet: Duration,
    },
    /// It may be closed only because it has been quiet for [`Patience::unsure_after`].
    IdleUnsure {
        /// For how long.
        quiet: Duration,
    },
    /// It must stay.
    Busy(Busy),
}

/// Why a connection must stay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Busy {
    /// No request has been answered yet.
    OneWay,
    /// The process has not read everything.
    Unread,
    /// The peer has not acknowledged everything.
    Unacknowledged,
    /// The last data was a request's: it is in flight.
    InFlight,
    /// The order of events is not known, and the connection has not been quiet for long enough.
    Tie,
    /// It has not been quiet for long enough.
    Recent,
}

impl Observed {
    /// Whether the connection may be closed.
    #[must_use]
    pub fn judge(&self, patience: Patience) -> Quiet {
        let Self { received, acknowledged, unread, unacknowledged, .. } = *self;
        if received == 0 || acknowledged == 0 {
            return Quiet::Busy(Busy::OneWay);
        }
        if unread > 0 {
            return Quiet::Busy(Busy::Unread);
        }
        if unacknowledged > 0 {
            return Quiet::Busy(Busy::Unacknowledged);
        }
        let quiet = self.quiet();
        match self.order {
            Some(Order::RequestLast) => return Quiet::Busy(Busy::InFlight),
            Some(Order::ResponseLast) => {
                return match quiet >= patience.idle_at_least {
                    true => Quiet::Idle { quiet },
                    false => Quiet::Busy(Busy::Recent),
                };
            }
            None => {}
        }
        let (since_request, since_response) = match self.side {
            Side::Accepted => (self.since_received, self.since_sent),
            Side::Upward => (self.since_sent, self.since_received),
        };
        if since_response > since_request {
            return Quiet::Busy(Busy::InFlight);
        }
        // A client that has a response has acknowledged it after its request.
        let is_followed = self.side == Side::Upward || self.since_ack < since_request;
        if since_response == since_request || !is_followed {
            return match quiet >= patience.unsure_after {
                true => Quiet::IdleUnsure { quiet },
                false => Quiet::Busy(Busy::Tie),
            };
        }
        match quiet >= patience.idle_at_least {
            true => Quiet::Idle { quiet },
            false => Quiet::Busy(Busy::Recent),
        }
    }

    /// Time since anything went in either direction. An ACK alone does not count: keep-alive probes
    /// (RFC 9293, section 3.8.4) are answered by ACKs on a connection that is idle.
    fn quiet(&self) -> Duration {
        self.since_sent.min(self.since_received)
    }
}

#[cfg(test)]
mod tests {
    use core::cmp::Ordering;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Idle for 5 s in every respect.
    const IDLE: Observed = Observed {
        side: Side::Accepted,
        received: 100,
        acknowledged: 300,
        unread: 0,
        unacknowledged: 0,
        since_sent: Duration::from_millis(5_000),
        since_received: Duration::from_millis(5_008),
        since_ack: Duration::from_millis(4_996),
        order: None,
    };

    #[test]
    fn a_connection_is_idle_by_order_or_after_the_longer_patience() {
        let ms = Duration::from_millis;
        let judged = |sent, received, ack| {
            let times = Observed {
                since_sent: ms(sent),
                since_received: ms(received),
                since_ack: ms(ack),
                ..IDLE
            };
            times.judge(Patience::DEFAULT)
        };
        assert_eq!(judged(5_000, 5_008, 4_996), Quiet::Idle { quiet: ms(5_000) });
        assert_eq!(judged(1_000, 1_004, 1_000), Quiet::Idle { quiet: ms(1_000) });
        assert_eq!(judged(999, 1_004, 996), Quiet::Busy(Busy::Recent));
        // A request in flight is never idle, however long it takes.
        assert_eq!(judged(3_600_004, 3_600_000, 3_600_000), Quiet::Busy(Busy::InFlight));
        // Request and response in one tick; response and request, too.
        assert_eq!(judged(9_999, 9_999, 9_996), Quiet::Busy(Busy::Tie));
        assert_eq!(judged(10_000, 10_000, 9_996), Quiet::IdleUnsure { quiet: ms(10_000) });
        // No ACK after the last data.
        assert_eq!(judged(5_000, 5_004, 5_004), Quiet::Busy(Busy::Tie));
        assert_eq!(judged(11_000, 11_004, 11_004), Quiet::IdleUnsure { quiet: ms(11_000) });
    }

    /// The whole product of states, against the definition written as one condition for each verdict.
    #[test]
    fn what_may_be_closed_fulfils_every_condition_and_nothing_else_does() {
        let ages = [0, 4, 996, 1_000, 1_004, 9_996, 10_000, 10_004].map(Duration::from_millis);
        let mut verdicts = [0; 3];
        for (received, acknowledged) in [(0, 0), (0, 9), (9, 0), (9, 9)] {
            for (unread, unacknowledged) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                for since_sent in ages {
                    for since_received in ages {
                        for since_ack in ages {
                            let observed = Observed {
                                side: Side::Accepted,
                                received,
                                acknowledged,
                                unread,
                                unacknowledged,
                                since_sent,
                                since_received,
                                since_ack,
                                order: None,
                            };
                            let settled = (received, acknowledged) == (9, 9)
                                && (unread, unacknowledged) == (0, 0)
                                && since_sent <= since_received;
                            let ordered = since_sent < since_received && since_ack < since_received;
                            let quiet = since_sent.min(since_received);
                            let expected = match (settled, ordered) {
                                (true, true) if quiet >= SECOND => 0,
                                (true, false) if quiet >= 10 * SECOND => 1,
                                _ => 2,
                            };
                            let found = match observed.judge(Patience::DEFAULT) {
                                Quiet::Idle { quiet: it } => {
                                    assert_eq!(it, quiet);
                                    0
                                }
                                Quiet::IdleUnsure { quiet: it } => {
                                    assert_eq!(it, quiet);
                                    1
                                }
                                Quiet::Busy(_) => 2,
                            };
                            assert_eq!(found, expected, "{observed:?}");
                            verdicts[found] += 1;
                        }
                    }
                }
            }
        }
        assert!(verdicts.iter().all(|count| *count > 5), "{verdicts:?}");
    }

    /// The process waits for what a client would have asked of it.
    #[test]
    fn upward_the_roles_are_exchanged() {
        let ages = [0, 4, 996, 1_000, 1_004, 9_996, 10_000, 10_004].map(Duration::from_millis);
        for since_sent in ages {
            for since_received in ages {
                let upward = Observed { side: Side::Upward, since_sent, since_received, ..IDLE };
                let quiet = since_sent.min(since_received);
                let expected = match since_received.cmp(&since_sent) {
                    Ordering::Greater => Quiet::Busy(Busy::InFlight),
                    Ordering::Equal if quiet >= 10 * SECOND => Quiet::IdleUnsure { quiet },
                    Ordering::Equal => Quiet::Busy(Busy::Tie),
                    Ordering::Less if quiet >= SECOND => Quiet::Idle { quiet },
                    Ordering::Less => Quiet::Busy(Busy::Recent),
                };
                assert_eq!(upward.judge(Patience::DEFAULT), expected, "{upward:?}");
                // Only a server's writes are acknowledged by the one who asks.
                for since_ack in ages {
                    assert_eq!(Observed { since_ack, ..upward }.judge(Patience::DEFAULT), expected);
                }
            }
        }
    }

    /// Whatever the times say.
    #[test]
    fn a_witness_decides_ties_and_never_what_is_not_settled() {
        let ages = [0, 4, 996, 1_000, 1_004, 9_996, 10_000, 10_004].map(Duration::from_millis);
        for since_sent in ages {
            for since_received in ages {
                let times = Observed { since_sent, since_received, ..IDLE };
                let judge = |observed: Observed| observed.judge(Patience::DEFAULT);
                let last = Observed { order: Some(Order::RequestLast), ..times };
                assert_eq!(judge(last), Quiet::Busy(Busy::InFlight), "{times:?}");
                let first = Observed { order: Some(Order::ResponseLast), ..times };
                let quiet = since_sent.min(since_received);
                let expected =
                    if quiet >= SECOND { Quiet::Idle { quiet } } else { Quiet::Busy(Busy::Recent) };
                assert_eq!(judge(first), expected, "{times:?}");
                for unsettled in [
                    Observed { received: 0, ..first },
                    Observed { unread: 1, ..first },
                    Observed { unacknowledged: 1, ..first },
                ] {
                    assert!(matches!(judge(unsettled), Quiet::Busy(_)), "{unsettled:?}");
                }
            }
        }
    }

    #[test]
    fn each_reason_to_stay_has_its_name() {
        let reason = |observed: Observed| observed.judge(Patience::DEFAULT);
        assert_eq!(reason(Observed { received: 0, ..IDLE }), Quiet::Busy(Busy::OneWay));
        assert_eq!(reason(Observed { acknowledged: 0, ..IDLE }), Quiet::Busy(Busy::OneWay));
        assert_eq!(reason(Observed { unread: 1, ..IDLE }), Quiet::Busy(Busy::Unread));
        let unacknowledged = Observed { unacknowledged: 1, ..IDLE };
        assert_eq!(reason(unacknowledged), Quiet::Busy(Busy::Unacknowledged));
    }
}
