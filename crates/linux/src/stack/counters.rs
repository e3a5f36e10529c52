//! Counts of the driver's actions, including ignored packets.

/// Counts since the stack was created. Ignored packets are counted too.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Packets read from the device.
    pub packets_in: u64,
    /// Packets written to the device.
    pub packets_out: u64,
    /// Packets for other addresses, mostly the kernel's own multicasts.
    pub not_ours: u64,
    /// Routers' "packet too big" reports that reduced a connection's packet size.
    pub path_mtus: u64,
    /// Reports that were implausible, or changed nothing.
    pub path_mtus_ignored: u64,
    /// Packets that are not TCP, a router's report, or an echo request.
    pub not_tcp: u64,
    /// Malformed TCP packets.
    pub malformed: u64,
    /// Echo requests answered.
    pub echoes: u64,
    /// Segments without a connection, answered by an RST.
    pub refused: u64,
    /// Segments without a connection, dropped by a listener: neither SYN nor ACK, or an RST.
    pub dropped: u64,
    /// SYNs, and ACKs with a cookie, dropped because a listener's queue or the connection table was full.
    pub overflows: u64,
    /// SYNs answered by a cookie because a listener's backlog was full.
    pub cookies_sent: u64,
    /// Connections opened by a cookie that came back.
    pub cookies_accepted: u64,
    /// Released connections given up because their peer closed nothing, or acknowledged nothing new, for too long.
    pub orphans_timed_out: u64,
    /// Released connections given up because there were too many, or they held too many bytes.
    pub orphans_evicted: u64,
    /// Released connections that closed without TIME-WAIT because too many were in it.
    pub time_waits_cut: u64,
    /// Packets that the kernel did not accept.
    pub send_failures: u64,
}
