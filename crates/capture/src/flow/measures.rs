//! Measures round trips, windows and reordering of a connection while it goes on.

use ackwise_cause::Direction;
use ackwise_tcp::{Instant, Segment};

use super::{
    ends::{Data, Ends},
    round_trips::RoundTrips,
};
use crate::{
    attribution::later::Resolution,
    measures::{AdvertisedWindows, ConnectionMeasures},
};

/// What is measured so far. Arrays are by the direction of the segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Measures {
    round_trips: [RoundTrips; 2],
    reordered: [u32; 2],
    windows: [Option<AdvertisedWindows>; 2],
    /// Which windows are zero.
    closed: [bool; 2],
    /// SYNs seen.
    syns: [bool; 2],
    /// The client has answered the server's SYN.
    is_open: bool,
}

impl Measures {
    /// Takes a segment's header, which `ends` have taken before.
    pub(super) fn handle_header(
        &mut self,
        segment: &Segment,
        direction: Direction,
        now: Instant,
        ends: &Ends,
    ) {
        let [this, other] = [direction, direction.opposite()].map(|it| it as usize);
        if segment.flags.syn {
            self.round_trips[other].answer_syn(now);
            let again = std::mem::replace(&mut self.syns[this], true);
            return self.round_trips[this].handle_syn(now, again);
        }
        if !self.is_open && direction == Direction::ToServer {
            self.is_open = true;
            self.round_trips[other].answer_syn(now);
        }
        if segment.ack.is_some() {
            self.round_trips[other].handle_ack(ends.half(direction.opposite()).stream.acked(), now);
        }
        if let (Some(shift), false) = (ends.half(direction).stream.shift(), segment.flags.rst) {
            self.note_window(direction, shift.bytes(segment.window));
        }
    }

    /// Takes a segment's data.
    pub(super) fn handle_data(&mut self, data: &Data, direction: Direction, now: Instant) {
        let new = data.new && !data.repairs;
        self.round_trips[direction as usize].handle_data(data.bytes.end, new, now);
        if data.resolution == Some(Resolution::Overtaken) {
            self.reordered[direction as usize] += 1;
        }
    }

    fn note_window(&mut self, direction: Direction, bytes: u32) {
        let windows = self.windows[direction as usize].get_or_insert(AdvertisedWindows {
            smallest: bytes,
            largest: bytes,
            closed: 0,
        });
        windows.smallest = windows.smallest.min(bytes);
        windows.largest = windows.largest.max(bytes);
        let was_closed = std::mem::replace(&mut self.closed[direction as usize], bytes == 0);
        windows.closed += u32::from(bytes == 0 && !was_closed);
    }

    pub(super) fn finish(&self) -> ConnectionMeasures {
        ConnectionMeasures {
            round_trips: self.round_trips.each_ref().map(RoundTrips::times),
            reordered: self.reordered,
            windows: self.windows,
        }
    }
}
