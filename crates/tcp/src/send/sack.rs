//! What the SACK blocks of a segment tell (RFC 2018, 2883).

use super::{in_flight::InFlight, recovery::Recovery, sequence::SendSequence};
use crate::{
    segment::{SackBlocks, Segment},
    units::Instant,
};

/// What the SACK blocks of one segment tell for the first time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackNews {
    /// The scoreboard has changed.
    pub(crate) news: bool,
    /// Bytes that were not known to have been delivered.
    pub(crate) delivered: u64,
}

impl SackNews {
    /// Notes the blocks of a segment that acknowledges `ack`.
    pub(crate) fn take(
        recovery: &mut Recovery,
        in_flight: &mut InFlight,
        sequence: &SendSequence,
        ack: u64,
        segment: &Segment,
        now: Instant,
    ) -> Self {
        take_d_sack(recovery, in_flight, sequence, ack, segment);
        let (sacked_before, delivered_before) = recovery.known();
        let (mut blocks, mut count) = ([(0, 0); SackBlocks::MAX], 0);
        for (left, right) in segment.options.sack.iter() {
            let (left, right) = (sequence.position(left), sequence.position(right));
            let (Ok(left), Ok(right)) = (u64::try_from(left), u64::try_from(right)) else {
                continue;
            };
            // A block that was never sent, or lies below the ACK (RFC 2883), says nothing here.
            if sequence.una().max(ack) < left && left < right && right <= sequence.max() {
                blocks[count] = (left, right);
                count += 1;
            }
        }
        // Linux `tcp_sacktag_write_queue` takes the lowest first: the sender of the ACK puts the latest first, and
        // blocks that one ACK reports together have not overtaken each other.
        blocks[..count].sort_unstable();
        for &(left, right) in &blocks[..count] {
            let (from, to) = recovery.sacked().missing(left, right);
            if in_flight.list().is_none_or(|it| it.has_sent_once(from, to)) {
                recovery.note_sacked_original(left, right);
            }
            recovery.insert(left, right);
            if let Some(flight) = in_flight.list_mut()
                && let Some(range) = recovery.sacked().around(from)
            {
                flight.on_sack(from, to, range, now);
            }
        }
        let (sacked, delivered) = recovery.known();
        Self { news: sacked > sacked_before, delivered: delivered - delivered_before }
    }
}

/// RFC 2883, section 4: the first block lies below the ACK, or inside the second: a segment has arrived
/// twice.
fn take_d_sack(
    recovery: &mut Recovery,
    in_flight: &mut InFlight,
    sequence: &SendSequence,
    ack: u64,
    segment: &Segment,
) {
    let mut blocks = segment.options.sack.iter();
    let Some((left, right)) = blocks.next() else { return };
    let position = |number| u64::try_from(sequence.position(number)).unwrap_or(0);
    let (left, right) = (position(left), position(right));
    let inside = blocks.next().is_some_and(|(outer_left, outer_right)| {
        position(outer_left) <= left && right <= position(outer_right)
    });
    if left >= right || !(right <= ack || inside) {
        return;
    }
    if let Some(episode) = recovery.episode_mut() {
        episode.on_d_sack(left, right);
    }
    let segments = (right - left).div_ceil(u64::from(sequence.mss()).max(1));
    let segments = u32::try_from(segments).unwrap_or(u32::MAX);
    in_flight.on_d_sack(right, segments, sequence.una().max(ack), sequence.max());
}
