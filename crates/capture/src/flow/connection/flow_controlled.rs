//! What HTTP/2's flow control held.

use ackwise_cause::Direction;

use super::ObservedConnection;
use crate::{
    attribution::gap::{CreditArrival, Gap},
    flow::{
        flow_control::{Data, Delay},
        sealed_credit::{SealedCredit, ServerData},
    },
};

impl ObservedConnection {
    /// Blames it for what is before the data up to `end`, which ends `gap`, if a window was used up.
    pub(super) fn blame_flow_control(&mut self, gap: &mut Gap, direction: Direction, end: u64) {
        if self.waited_for_sealed_credit(gap, direction) {
            return gap.blame_sealed_window();
        }
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

    /// Whether the data that ends `gap` has waited for records that are as long as credit.
    #[inline]
    fn waited_for_sealed_credit(&mut self, gap: &Gap, direction: Direction) -> bool {
        let Some(sealed) = self.flow_control[direction as usize].sealed() else { return false };
        let Some(last) = self.ends.half(direction).sender.last() else { return false };
        let delays = self.ends.distances.path_delays(direction);
        sealed.held(&ServerData {
            heard: self.ends.half(direction.opposite()).stream.acked(),
            sent: gap.until,
            immediate: delays.immediate,
            round_trip: delays.round_trip,
            ends_write: last.ends_write(),
        })
    }

    /// A record of the client up to `position` may give credit, after a `window` was used up.
    pub(super) fn note_sealed_credit(&mut self, position: u64, window: u64) {
        let direction = Direction::ToClient;
        let delays = self.ends.distances.path_delays(direction);
        let way = delays.receiver + delays.sender;
        let back = self.ends.half(direction.opposite());
        let Some(record) = back.sender.last() else { return };
        let credit = SealedCredit { position, arrives: record.sent + way, window };
        let last = self.ends.half(direction).sender.last().filter(|it| it.ends_write());
        let (heard, paused_at) = (back.stream.acked(), last.map(|it| it.sent));
        self.flow_control[direction as usize].give_sealed(credit, heard, paused_at);
    }

    /// When all that the receiver of `direction` has sent, and so its credit, had reached the sender, if the sender has
    /// acknowledged that.
    pub(super) fn credit_for(&self, direction: Direction) -> Option<CreditArrival> {
        let back = self.ends.half(direction.opposite());
        let last = back.sender.last().filter(|_| back.stream.flight() == 0)?;
        let delays = self.ends.distances.path_delays(direction);
        let at = last.sent + (delays.receiver + delays.sender);
        Some(CreditArrival { at, immediate: delays.immediate })
    }
}
