//! How a sender finds out which segments are lost.

/// How a sender finds out which segments are lost, where SACK was negotiated. Without SACK the repair
/// that the congestion control asks for is what there is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum LossDetection {
    /// By what was SACKed above a segment (RFC 6675).
    Rfc6675,
    /// By the time at which later segments were sent that have arrived, with probes for the tail of a
    /// flight (RACK-TLP, RFC 8985; Linux `tcp_recovery` = 1 and `tcp_early_retrans` = 3).
    Rack,
}
