//! What a path and an exchange cost whatever the transport.

/// A path between a client and a server, seen from the transport.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Round-trip time of a minimal packet without queues, in seconds.
    pub rtt: f64,
    /// What the bottleneck carries of user data, in bytes a second. Headers are counted here or
    /// not at all: [`user_level`](Self::user_level) takes them off a link's rate.
    pub bandwidth: f64,
    /// Data bytes of a full segment.
    pub mss: u32,
}

impl Path {
    /// The path over a link of `rate` bits a second, where each full segment takes `overhead`
    /// bytes for its headers and frame.
    #[must_use]
    pub fn user_level(rate: f64, rtt: f64, mss: u32, overhead: u32) -> Self {
        let share = f64::from(mss) / f64::from(mss + overhead);
        Self { rtt, bandwidth: rate / 8.0 * share, mss }
    }

    /// How long a full segment takes to be transmitted, in seconds.
    #[must_use]
    pub fn segment_time(self) -> f64 {
        self.transmission(u64::from(self.mss))
    }

    /// The transmission time of `bytes`, in seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no file has 2^53 bytes")]
    pub fn transmission(self, bytes: u64) -> f64 {
        bytes as f64 / self.bandwidth
    }

    /// The number of segments that hold `bytes`.
    #[must_use]
    pub fn segments(self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.mss.max(1)))
    }

    /// The "maximum useful window size" in segments: with more the pipe is full.
    #[must_use]
    pub fn useful_window(self) -> f64 {
        (self.rtt * self.bandwidth / f64::from(self.mss)).ceil()
    }

    /// What it takes to open a connection: SYN and SYN-ACK. The third ACK travels with the request.
    #[must_use]
    pub fn setup(self) -> f64 {
        self.rtt + self.transmission(2 * MINIMAL_PACKET)
    }
}

/// A request and its reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// Bytes of the request.
    pub request: u64,
    /// Bytes of the reply, its head included.
    pub reply: u64,
    /// The client's work before the request, in seconds.
    pub client: f64,
    /// The server's work between request and reply, in seconds.
    pub server: f64,
}

impl Exchange {
    /// No transport is faster: one round trip, both transmissions, both ends' work.
    #[must_use]
    pub fn least_time(&self, path: Path) -> f64 {
        self.client
            + path.rtt
            + path.transmission(self.request)
            + self.server
            + path.transmission(self.reply)
    }
}

/// A packet without data, in bytes.
const MINIMAL_PACKET: u64 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_useful_window_fills_the_pipe() {
        // Heidemann 1997, section 2.5: 1 Mb/s and 90 ms want 12 KB, which are 22 segments of 512.
        let path = Path { rtt: 0.090, bandwidth: 125_000.0, mss: 512 };
        assert_eq!(path.useful_window(), 22.0);
        assert!((path.rtt * path.bandwidth - 11_250.0).abs() < 1e-9);
    }

    #[test]
    fn headers_take_their_share_of_the_link() {
        // 10 Mb/s Ethernet: 1460 of 1538 bytes; measured were 8.7 Mb/s (section 2.1).
        let path = Path::user_level(10e6, 0.0005, 1460, 78);
        assert_eq!((path.bandwidth * 8.0 / 1e3).round(), 9_493.0);
    }

    #[test]
    fn the_least_time_is_the_sum_of_its_parts() {
        let path = Path { rtt: 0.1, bandwidth: 1000.0, mss: 500 };
        let exchange = Exchange { request: 50, reply: 1000, client: 0.01, server: 0.02 };
        assert!((exchange.least_time(path) - 1.18).abs() < 1e-12);
        assert!((path.setup() - 0.18).abs() < 1e-12);
    }
}
