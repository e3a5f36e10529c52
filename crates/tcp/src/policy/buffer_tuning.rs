//! How large the socket buffers become: what the application set, or what the connection turns out to need.

use super::CongestionPolicy;

/// Who decides how large a socket buffer is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BufferTuning {
    /// The application: the buffer has its configured size from the start to the end, as on Linux with
    /// `SO_RCVBUF` and `SO_SNDBUF` (`SOCK_RCVBUF_LOCK`, `SOCK_SNDBUF_LOCK`).
    Off,
    /// The connection: the buffer begins with its configured size and grows, as on Linux with
    /// `net.ipv4.tcp_moderate_rcvbuf`. Not copied: memory that is accounted in packets' buffers, not in
    /// bytes of data, and limits of the whole host.
    Linux,
}

/// What a receiver has measured: bytes that the application took in a round trip.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Taken {
    /// In the round trip that has ended.
    pub(crate) now: u32,
    /// In the best one before.
    pub(crate) before: u32,
    /// Bytes beyond the first gap.
    pub(crate) out_of_order: u32,
}

impl BufferTuning {
    /// The largest receive buffer of [`Linux`](Self::Linux), data and overhead: `tcp_rmem[2]` of Linux 6.17
    /// and later.
    pub(crate) const LINUX_MAX_SPACE: u32 = 32 << 20;

    /// The most that [`Linux`](Self::Linux) advertises: the share of data in that buffer, 20 MiB.
    pub const LINUX_MAX_WINDOW: u32 = Self::window_of(Self::LINUX_MAX_SPACE);

    /// The most that [`Linux`](Self::Linux) takes from the application: the share of data in `tcp_wmem[2]`, 4 MiB.
    pub const LINUX_MAX_SEND: u32 = (4 << 20) / 16 * LINUX_SENT_SIXTEENTHS;

    /// `tcp_rmem[1]` bytes hold this much: what a window grows to before anything is measured
    /// (`tcp_measure_rcv_mss` sets `window_clamp` with the first full segment).
    pub(crate) const LINUX_FIRST_WINDOW: u32 = Self::window_of(128 << 10);

    const fn window_of(space: u32) -> u32 {
        let (data, of) = LINUX_SHARE;
        space / of * data
    }

    /// The window that lets the sender go on as it does (Linux 6.18 `tcp_rcvbuf_grow`): dynamic
    /// right-sizing (Fisk and Feng 2001) with room for a rate that doubles, one round trip late.
    pub(crate) fn right_size(taken: Taken) -> u32 {
        let Taken { now, before, out_of_order } = taken;
        let [now, before] = [u64::from(now), u64::from(before.max(1))];
        let twice = 2 * now;
        let growth = twice * now.saturating_sub(before) / before;
        let window = twice + 2 * growth + u64::from(out_of_order);
        u32::try_from(window).unwrap_or(u32::MAX).min(Self::LINUX_MAX_WINDOW)
    }

    /// What the send buffer holds: memory for two congestion windows, or three of BBR (`tcp_sndbuf_expand`,
    /// `bbr_sndbuf_expand`), in which a packet of 1448 bytes counts with 2304. They hold half as many again,
    /// because packets leave in larger buffers. Linux keeps what it had if the window shrinks.
    pub(crate) fn send_buffer(
        self,
        configured: u32,
        congestion: CongestionPolicy,
        congestion_window: impl FnOnce() -> u32,
    ) -> u32 {
        match self {
            Self::Off => configured,
            Self::Linux => {
                let halves = if congestion == CongestionPolicy::Bbr { 9 } else { 6 };
                let held = (congestion_window() / 2).saturating_mul(halves);
                configured.max(held.min(Self::LINUX_MAX_SEND))
            }
        }
    }
}

/// Bytes of data in bytes of buffers (`scaling_ratio`): 1448 in 2304, a packet of an Ethernet without
/// offloads. Measured with tracepoint `tcp_rcvbuf_grow` on Linux 6.18: 160 / 256.
const LINUX_SHARE: (u32, u32) = (160, 256);
/// The same of what is sent, in sixteenths. Measured with `INET_DIAG_MEMINFO` on Linux 6.18: 0.92 to 0.96.
const LINUX_SENT_SIXTEENTHS: u32 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_has_room_for_a_rate_that_grows_as_it_did() {
        #[rustfmt::skip]
        let table = [
            // Taken now, before, out of order: the window.
            (30_000,     15_000,     0,      180_000),
            (30_000,     29_000,     0,      64_136),
            (30_000,     29_000,     10_000, 74_136),
            (1 << 30,    1,          0,      BufferTuning::LINUX_MAX_WINDOW),
        ];
        for (now, before, out_of_order, window) in table {
            let taken = Taken { now, before, out_of_order };
            assert_eq!(BufferTuning::right_size(taken), window, "{taken:?}");
        }
    }

    #[test]
    fn the_send_buffer_follows_the_congestion_window_within_bounds() {
        let (cubic, bbr) = (CongestionPolicy::Cubic, CongestionPolicy::Bbr);
        let linux = |policy, window| BufferTuning::Linux.send_buffer(65_535, policy, || window);
        assert_eq!([linux(cubic, 14_600), linux(cubic, 100_000)], [65_535, 300_000]);
        assert_eq!(linux(bbr, 100_000), 450_000);
        assert_eq!(linux(bbr, u32::MAX), BufferTuning::LINUX_MAX_SEND);
        assert_eq!(BufferTuning::Off.send_buffer(65_535, cubic, || 100_000), 65_535);
    }
}
