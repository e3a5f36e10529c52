//! What HTTP/2's flow control held.

use ackwise_cause::Direction;

use super::ObservedConnection;
use crate::{
    attribution::gap::{CreditArrival, Gap},
    flow::flow_control::{Data, Delay},
};

impl ObservedConnection {
    /// Blames it for what is before the data up to `end`, which ends `gap`, if a window was used up.
    pub(super) fn blame_flow_control(&mut self, gap: &mut Gap, direction: Direction, end: u64) {
        let heard = self.ends.half(direction.opposite()).stream.acked();
        let data = Data { end, heard, open: self.open.len() };
        let control = &mut self.flow_control[direction as usize];
        match control.delay_data(data) {
            Delay::None => {}
            Delay::Unseen => {
                let is_answer = direction == Direction::ToClient;
                let is_waited_for = self.open.iter().any(|it| it.is_answered() || !is_answer);
                if is_waited_for && gap.doubt_unseen_window() {
                    control.note_doubt();
                }
            }
            Delay::Some => gap.doubt_flow_control(),
            Delay::All(window) => {
                let at_sender = self.ends.distances.path_delays(direction).is_next_to_sender();
                gap.blame_flow_control(window, at_sender, self.credit_for(direction));
            }
        }
    }

    /// When all that the receiver of `direction` has sent, and so its credit, had reached the sender, if the sender has
    /// acknowledged that.
    fn credit_for(&self, direction: Direction) -> Option<CreditArrival> {
        let back = self.ends.half(direction.opposite());
        let last = back.sender.last().filter(|_| back.stream.flight() == 0)?;
        let delays = self.ends.distances.path_delays(direction);
        let at = last.sent + (delays.receiver + delays.sender);
        Some(CreditArrival { at, immediate: delays.immediate })
    }
}
