//! How long the timers run.

/// How the retransmission time-out is computed and how coarse the clock is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TimerPolicy {
    /// BSD: 500 ms ticks, minimum 1 s, 6 s for the first SYN (4.4BSD; Banga and Druschel 1997).
    Bsd,
    /// RFC 6298: minimum 1 s, initial 1 s.
    Rfc6298,
    /// Linux: minimum 200 ms, initial 1 s (`TCP_RTO_MIN`, `TCP_TIMEOUT_INIT`).
    Linux,
}
