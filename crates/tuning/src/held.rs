//! Whether Nagle's algorithm holds the end of a response at this moment, judged from outside.
//!
//! RFC 9293, section 3.7.4: "If there is unacknowledged data (i.e., SND.NXT > SND.UNA), then the sending TCP
//! endpoint buffers all user data (regardless of the PSH bit) until the outstanding data has been
//! acknowledged or until the TCP endpoint can send a full-sized segment". A small rest that waits although
//! both windows are open waits for that, or because the server asked for it (`TCP_CORK`, `MSG_MORE`).

/// What is known about one connection's send side.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SendSide {
    /// Bytes that wait for their first transmission.
    pub unsent: u32,
    /// Bytes sent and not acknowledged.
    pub in_flight: u32,
    /// Segments sent and not acknowledged.
    pub segments_in_flight: u32,
    /// Segment size.
    pub mss: u32,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// The peer's window, in bytes, if known.
    pub peer_window: Option<u32>,
}

impl SendSide {
    /// Whether less than a segment waits for an ACK although the windows would let it go.
    #[must_use]
    pub fn holds_a_small_segment(&self) -> bool {
        let small = self.unsent > 0 && self.unsent < self.mss;
        let cwnd_is_open = self.segments_in_flight < self.cwnd;
        let needed = self.unsent.saturating_add(self.in_flight);
        small
            && self.segments_in_flight > 0
            && cwnd_is_open
            && self.peer_window.is_none_or(|window| needed <= window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: SendSide = SendSide {
        unsent: 300,
        in_flight: 200,
        segments_in_flight: 1,
        mss: 1_448,
        cwnd: 10,
        peer_window: Some(500),
    };

    #[test]
    fn each_condition_decides() {
        assert!(HELD.holds_a_small_segment());
        assert!(SendSide { peer_window: None, ..HELD }.holds_a_small_segment());
        for not_held in [
            SendSide { unsent: 0, ..HELD },
            SendSide { unsent: 1_448, peer_window: None, ..HELD },
            SendSide { segments_in_flight: 0, in_flight: 0, ..HELD },
            SendSide { cwnd: 1, ..HELD },
            SendSide { peer_window: Some(499), ..HELD },
        ] {
            assert!(!not_held.holds_a_small_segment(), "{not_held:?}");
        }
    }
}
