//! Dynamic right-sizing: a receive window that grows with what the application takes (Linux `rcvq_space`,
//! `rcv_rtt_est`, `rcv_ssthresh` and `window_clamp`).
//!
//! It exists from the first full segment on: an end that only gets short requests has none.
//!
//! Linux measures when the application reads. A segment that arrives counts as read at once here if the
//! application had read everything before; if it had not, what it reads is seen with the next segment.

use crate::{
    policy::{BufferTuning, Taken},
    units::{Instant, Nanos},
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct RightSizing {
    /// The most bytes that were taken in a round trip (`rcvq_space.space`).
    space: u32,
    /// What the application had read when the present round trip began.
    read: u64,
    /// When that was.
    since: Instant,
    /// The shortest round trip, smoothed upwards; zero before the first (`rcv_rtt_est`).
    round_trip: Nanos,
    /// The echo that it was measured by last: the first segment with it counts.
    echo: u32,
    /// The largest window that makes sense now (`window_clamp`).
    clamp: u32,
    /// The window to advertise, which grows up to that with each segment (`rcv_ssthresh`).
    window: u32,
}

/// Data that has arrived, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataArrived {
    /// Bytes of data in the segment.
    pub(crate) len: u32,
    /// Bytes of a full segment.
    pub(crate) mss: u32,
    /// The timestamp that it echoes, and its age in milliseconds.
    pub(crate) echo: Option<(u32, u32)>,
    /// What the application has read of the stream.
    pub(crate) read: u64,
    /// Bytes that it could read, these included.
    pub(crate) readable: u64,
    /// It had read all that had arrived before.
    pub(crate) drained: bool,
    /// Bytes beyond the first gap.
    pub(crate) out_of_order: u32,
    /// A bare ACK of what this end has sent came before.
    pub(crate) after_bare_ack: bool,
}

impl RightSizing {
    /// For a buffer of so many bytes, when the first full segment arrives. That ends the round trip that began with
    /// the handshake; after a bare ACK, the first segment of the next flight does, because no round trip is
    /// known before.
    pub(crate) fn new(buffer: u32, data: &DataArrived, now: Instant) -> Self {
        let (read, since, echo) = match (data.after_bare_ack, data.echo) {
            // Longer ago than a round trip, as the handshake.
            (true, Some((echo, _))) => (data.read, Instant::EPOCH, echo),
            _ => (data.read_at_once(), now, 0),
        };
        Self {
            // `tcp_init_buffer_space`: TCP_INIT_CWND segments.
            space: INITIAL_SEGMENTS * data.mss,
            read,
            since,
            round_trip: Nanos::ZERO,
            echo,
            // `tcp_measure_rcv_mss`.
            clamp: buffer.max(BufferTuning::LINUX_FIRST_WINDOW),
            window: buffer,
        }
    }

    /// Takes a segment into account; returns the window to advertise.
    pub(crate) fn on_data(&mut self, data: &DataArrived, now: Instant) -> u32 {
        if let Some((echo, age)) = data.echo.filter(|it| it.0 != self.echo) {
            self.echo = echo;
            if data.len >= data.mss {
                self.take_round_trip(Nanos::from_millis(age.into()), data);
            }
        }
        // `tcp_grow_window`: two segments for each that arrives.
        const LEAST: u32 = 128;
        if data.len >= LEAST {
            self.window = self.window.saturating_add(2 * data.mss).min(self.clamp.max(self.window));
        }
        if data.out_of_order > 0 {
            // `tcp_data_queue_ofo`: room for what lies behind the gap, at the rate of the best round trip.
            self.right_size(self.space, data);
        }
        if !self.round_trip.is_zero() && Nanos::between(self.since, now) >= self.round_trip {
            self.end_round_trip(data);
            (self.read, self.since) = (data.read_at_once(), now);
        }
        self.window
    }

    /// A segment without data: data with the same echo tells nothing of the round trip (Linux
    /// `tcp_rcv_established`: `rcv_rtt_last_tsecr`).
    pub(crate) const fn note_bare_ack(&mut self, echo: u32) {
        self.echo = echo;
    }

    /// `tcp_rcv_rtt_update`: a shorter sample counts at once, a longer one by an eighth.
    fn take_round_trip(&mut self, sample: Nanos, data: &DataArrived) {
        if self.round_trip.is_zero() || sample < self.round_trip {
            self.round_trip = sample;
        } else if data.drained {
            self.round_trip = self.round_trip + (sample - self.round_trip) / 8;
        }
    }

    /// `tcp_rcv_space_adjust`: what has arrived and was not read does not count.
    fn end_round_trip(&mut self, data: &DataArrived) {
        let waiting = if data.drained { 0 } else { data.readable };
        let taken = data.read_at_once().saturating_sub(self.read).saturating_sub(waiting);
        let now = u32::try_from(taken).unwrap_or(u32::MAX);
        if now > self.space {
            self.right_size(now, data);
            self.space = now;
        }
    }

    /// `tcp_rcvbuf_grow`. The window follows with the next segments.
    fn right_size(&mut self, now: u32, data: &DataArrived) {
        let taken = Taken { now, before: self.space, out_of_order: data.out_of_order };
        self.clamp = self.clamp.max(BufferTuning::right_size(taken));
    }
}

impl DataArrived {
    /// What the application has read of the stream, once it has read this segment if it does so at once.
    fn read_at_once(&self) -> u64 {
        if self.drained { self.read + self.readable } else { self.read }
    }
}

/// TCP_INIT_CWND.
const INITIAL_SEGMENTS: u32 = 10;

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::*;

    const MSS: u32 = 1_448;
    const TRIP: Duration = Duration::from_millis(20);
    const DATA: DataArrived = DataArrived {
        len: MSS,
        mss: MSS,
        echo: None,
        read: 0,
        readable: MSS as u64,
        drained: true,
        out_of_order: 0,
        after_bare_ack: false,
    };

    /// `segments` of a round trip arrive and are read.
    fn round(state: &mut RightSizing, number: u32, segments: u32, read: &mut u64) -> u32 {
        let now = Instant::EPOCH + number * TRIP;
        let mut window = 0;
        for _ in 0..segments {
            let data = DataArrived { echo: Some((number, 20)), read: *read, ..DATA };
            window = state.on_data(&data, now);
            *read += u64::from(MSS);
        }
        window
    }

    #[test]
    fn the_window_stays_ahead_of_a_slow_start() {
        let (mut state, mut read) = (RightSizing::new(65_535, &DATA, Instant::EPOCH), 0);
        let mut segments = 10;
        for number in 1..10 {
            let window = round(&mut state, number, segments, &mut read);
            segments *= 2;
            assert!(window >= segments * MSS, "round {number}: {window} for {segments} segments");
        }
    }

    #[test]
    fn a_reader_that_takes_the_same_each_round_trip_needs_no_larger_window() {
        let (mut state, mut read) = (RightSizing::new(65_535, &DATA, Instant::EPOCH), 0);
        let windows: Vec<u32> =
            (1..20).map(|number| round(&mut state, number, 10, &mut read)).collect();
        assert_eq!(windows[18], BufferTuning::LINUX_FIRST_WINDOW, "{windows:?}");
    }

    #[test]
    fn a_round_trip_that_grows_with_the_queue_is_measured_if_all_was_read() {
        for (drained, grown) in [(true, true), (false, false)] {
            let mut state = RightSizing::new(65_535, &DATA, Instant::EPOCH);
            for age in [20, 36, 52, 68] {
                let data = DataArrived { echo: Some((age, age)), drained, ..DATA };
                state.on_data(&data, Instant::EPOCH);
            }
            assert_eq!(state.round_trip > Nanos::from_millis(20), grown, "{:?}", state.round_trip);
        }
    }

    #[test]
    fn after_a_bare_ack_the_second_flight_tells_the_round_trip_and_what_the_first_one_had() {
        for (after_bare_ack, known, space) in [(false, 20, 10), (true, 0, 11)] {
            let flight = |number, after_bare_ack| DataArrived {
                echo: Some((number, 20)),
                after_bare_ack,
                ..DATA
            };
            let first = flight(1, after_bare_ack);
            let mut state = RightSizing::new(65_535, &first, Instant::EPOCH + TRIP);
            let mut read = 0;
            for _ in 0..10 {
                state.on_data(&DataArrived { read, ..first }, Instant::EPOCH + TRIP);
                read += u64::from(MSS);
            }
            assert_eq!(state.round_trip, Nanos::from_millis(known), "{after_bare_ack}");
            state.on_data(&DataArrived { read, ..flight(2, true) }, Instant::EPOCH + 2 * TRIP);
            assert_eq!(state.round_trip, Nanos::from_millis(20));
            assert_eq!(state.space / MSS, space, "{after_bare_ack}");
        }
    }

    #[test]
    fn what_lies_behind_a_gap_makes_room_for_itself() {
        let mut state = RightSizing::new(65_535, &DATA, Instant::EPOCH);
        let behind = DataArrived { readable: 0, out_of_order: 100_000, ..DATA };
        for _ in 0..100 {
            state.on_data(&behind, Instant::EPOCH);
        }
        assert_eq!(state.window, 2 * 10 * MSS + 100_000);
    }
}
