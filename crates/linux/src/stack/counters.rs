//! What the driver has done, and what it has ignored.

/// Counts since the stack was made. What is ignored is counted, so that nothing vanishes silently.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Packets read from the device.
    pub packets_in: u64,
    /// Packets written to the device.
    pub packets_out: u64,
    /// Packets for addresses that are not ours: the kernel's own multicasts, mostly.
    pub not_ours: u64,
    /// Reports of a router that a packet was too large, which made a connection send smaller ones.
    pub path_mtus: u64,
    /// Such reports that were not believed, or changed nothing.
    pub path_mtus_ignored: u64,
    /// Packets for us that are neither TCP nor one of these nor an echo request.
    pub not_tcp: u64,
    /// Packets for us that claim to be TCP and cannot be read.
    pub malformed: u64,
    /// Echo requests answered.
    pub echoes: u64,
    /// Segments without a connection that were answered with RST.
    pub refused: u64,
    /// Segments without a connection that a listener dropped: neither SYN nor ACK, or an RST.
    pub dropped: u64,
    /// SYNs dropped because a listener's backlog or the table was full.
    pub overflows: u64,
    /// Packets that the kernel did not take.
    pub send_failures: u64,
}
