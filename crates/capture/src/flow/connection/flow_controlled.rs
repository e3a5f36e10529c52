//! What HTTP/2's flow control held.

use ackwise_cause::Direction;

use super::ObservedConnection;
use crate::{
    attribution::gap::{CreditArrival, Gap},
    flow::flow_control::Delay,
};

impl ObservedConnection {
    /// Blames it for what is before the data that ends `gap`, if a window was used up.
    pub(super) fn blame_flow_control(&mut self, gap: &mut Gap, direction: Direction) {
        match self.flow_control[direction as usize].delay_data(self.open.len()) {
            Delay::None => {}
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
