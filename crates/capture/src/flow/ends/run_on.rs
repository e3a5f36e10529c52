//! A segment of a burst that says nothing else: both ends take note of it in few steps.

use ackwise_cause::Direction;
use ackwise_tcp::{Flags, Instant};

use super::{Ends, Packet, echoes::echo_of};
use crate::attribution::{
    clock::is_later,
    gap::{Gap, Missing},
    sender::{Asks, SeenData},
};

impl Ends {
    /// Takes a data segment of a burst that is next in its stream and repeats what is known of the other direction.
    /// `None` if it is not, or not for sure: then nothing has happened.
    ///
    /// [`number`](Self::number), [`handle_header`](Self::handle_header) and [`handle_data`](Self::handle_data) do the
    /// same together, and ask what these segments answer all alike.
    #[inline(always)]
    pub(crate) fn run_on(
        &mut self,
        seen: &Packet<'_>,
        direction: Direction,
        now: Instant,
    ) -> Option<Gap> {
        let segment = seen.segment;
        let [one, other] = &mut self.halves;
        let (half, peer) = match direction {
            Direction::ToServer => (one, other),
            Direction::ToClient => (other, one),
        };
        let Flags { syn, fin, rst, .. } = segment.flags;
        if syn || fin || rst || !segment.options.sack.is_empty() {
            return None;
        }
        let repeats = peer.stream.has_heard(segment, half.stream.shift())
            && peer.sender.knows_edge()
            && peer.again.is_none();
        let timestamps = segment.options.timestamps;
        let echoes_unseen = timestamps
            .is_some_and(|it| peer.latest.is_some_and(|latest| is_later(it.echo, latest)));
        let echoes_timed = timestamps
            .is_some_and(|it| peer.timed.is_some_and(|(timed, _)| !is_later(timed, it.echo)));
        let answers = self.last_data.is_none_or(|it| it.0 != direction);
        if !repeats || echoes_unseen || echoes_timed || answers {
            return None;
        }
        let (bytes, full) = half.stream.find_next(segment)?;
        // Longer ones are several segments, a shorter one may be a keep-alive.
        if segment.len > full || segment.len <= 1 {
            return None;
        }
        let mut serial = half.serial;
        serial.see(seen.identification, 1);
        let may_skip_ack = half.lacks_pure_acks();
        let seems_lost_before = serial.seems_skipped() && !may_skip_ack;
        let lost_before = serial.take_skipped().filter(|_| !may_skip_ack);
        let pushed = segment.flags.psh;
        let data = SeenData {
            packet: seen.number,
            seen: now,
            bytes: bytes.clone(),
            full: full.into(),
            pushed,
            loss: None,
            missing: Missing::Nothing,
            new: true,
            timestamp: timestamps.map(|it| it.value),
            echo: echo_of(segment),
            answers: None,
            lost_before,
            seems_lost_before,
        };
        let gap = half.sender.handle_in_burst(&data, self.distances.path_delays(direction))?;
        half.serial = serial;
        half.stream.run_on(segment, &bytes);
        half.hear_timestamp(timestamps, now);
        half.count_data(segment.len, peer.mss);
        peer.run = 0;
        self.last_data = Some((direction, Asks { packet: seen.number, seen: now }));
        Some(gap)
    }
}
