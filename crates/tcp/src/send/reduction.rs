//! How far the window comes down in a repair by the scoreboard.

use super::{
    in_flight::InFlight,
    phase::Phase,
    prr::InRepair,
    recovery::Recovery,
    scoreboard::Scoreboard,
    sequence::{SendSequence, Una},
};
use crate::congestion::Repair;

impl Recovery {
    /// cwnd after an ACK that tells of `delivered` bytes, in such a repair.
    #[inline]
    pub(crate) fn reduced_window(
        &mut self,
        in_flight: &InFlight,
        sequence: &SendSequence,
        threshold: u32,
        delivered: u32,
        una: Una,
    ) -> Option<u32> {
        if self.phase() != Phase::Fast(Repair::Scoreboard) || delivered == 0 {
            return None;
        }
        let board = Scoreboard::new(self, in_flight, sequence);
        let (pipe, lost_end, mss) = (board.pipe(), board.lost_end(), sequence.mss());
        let episode = self.episode_mut()?;
        let before = episode.before().congestion;
        let ack = InRepair {
            before,
            threshold,
            delivered,
            advances: una == Una::Advances,
            pipe,
            lost_end,
            mss,
        };
        Some(u32::try_from(episode.window(&ack)).unwrap_or(u32::MAX))
    }
}
