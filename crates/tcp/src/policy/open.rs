//! How a connection opens: whether data may travel with the SYN.

use core::time::Duration;

/// How a connection opens.
///
/// T/TCP and TCP Fast Open differ in how an end shows that the peer is no stranger, by a connection count
/// (RFC 1644, section 2.3: the TAO test) or by a cookie (RFC 7413, section 4.1), and agree on what follows:
/// data travels with the SYN, and the server answers it at once. What a host remembers of its peers is the
/// driver's: [`Endpoint::allow_data_with_syn`](crate::Endpoint::allow_data_with_syn) tells the result.
/// Neither's option is put on the wire.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum OpenPolicy {
    /// The three-way handshake first (RFC 9293, section 3.5).
    Handshake,
    /// Transactions (T/TCP, RFC 1644): data with the SYN, and a TIME-WAIT that is cut short.
    Transaction,
    /// TCP Fast Open (RFC 7413): data with the SYN.
    FastOpen,
}

impl OpenPolicy {
    /// Whether data may travel with the SYN, to or from a peer that has shown what the policy asks for.
    #[must_use]
    pub const fn sends_data_with_syn(self) -> bool {
        match self {
            Self::Handshake => false,
            Self::Transaction | Self::FastOpen => true,
        }
    }

    /// How long TIME-WAIT lasts that would last `full`, after a connection that has `lasted` so long.
    ///
    /// RFC 1644, section 2.4, as 4.4BSD-Lite2 has it (`TCPTV_TWTRUNC`): eight RTOs, if both ends know each
    /// other's counts and the connection lasted less than MSL, so that the next count tells its segments
    /// from older ones.
    #[must_use]
    pub fn time_wait(self, full: Duration, lasted: Duration, rto: Duration) -> Duration {
        match self {
            Self::Transaction if lasted < full / 2 => full.min(rto.saturating_mul(8)),
            Self::Transaction | Self::Handshake | Self::FastOpen => full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OpenPolicy::*, *};

    #[test]
    fn data_travels_with_the_syn_to_a_known_peer_if_the_policy_has_it() {
        for (policy, known) in [(Handshake, false), (Transaction, true), (FastOpen, true)] {
            assert_eq!(policy.sends_data_with_syn(), known, "{policy:?}");
        }
    }

    #[test]
    fn only_a_short_transaction_cuts_time_wait_short() {
        let seconds = Duration::from_secs;
        let table = [
            (Transaction, 1, 2, 16),
            (Transaction, 29, 2, 16),
            (Transaction, 30, 2, 60),
            (Transaction, 1, 10, 60),
            (FastOpen, 1, 2, 60),
            (Handshake, 1, 2, 60),
        ];
        for (policy, lasted, rto, expected) in table {
            let span = policy.time_wait(seconds(60), seconds(lasted), seconds(rto));
            assert_eq!(span, seconds(expected), "{policy:?} {lasted} {rto}");
        }
    }
}
