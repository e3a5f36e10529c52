//! Where slow start ends.

/// Where slow start ends, unless a loss ends it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum SlowStartPolicy {
    /// Nowhere: the first ssthresh is "arbitrarily high" (RFC 5681, section 3.1).
    UntilLoss,
    /// The first one of a connection that inherits no ssthresh: at the bandwidth-delay product of the
    /// path, measured by the spacing of acknowledgements: as Hoe 1996, of whom Heidemann 1997, section
    /// 3, says that she limits "the aggressive phase of slow-start". How it is measured is our reading.
    Hoe,
    /// Where a round trip begins to take longer, or its ACKs come for half of the shortest one: Ha and
    /// Rhee 2008, as in Linux (`hystart_update`). Part of CUBIC there and here: other controls ignore it.
    HyStart,
}
