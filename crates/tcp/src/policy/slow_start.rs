//! Where the first slow start ends.

/// Where the first slow start ends: the first ssthresh of a connection that inherits none.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum SlowStartPolicy {
    /// With the first loss: ssthresh is "arbitrarily high" (RFC 5681, section 3.1).
    UntilLoss,
    /// At the bandwidth-delay product of the path, measured by the spacing of acknowledgements: as Hoe
    /// 1996, of whom Heidemann 1997, section 3, says that she limits "the aggressive phase of
    /// slow-start". How it is measured is our reading.
    Hoe,
}
