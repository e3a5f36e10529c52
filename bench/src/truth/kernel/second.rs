//! The last set of families, drawn up once the rules were made with the others: each is a mechanism, or a combination
//! of mechanisms, that no other family has, and means no cause.
//!
//! It was drawn up from the same reports of wrong verdicts as `axes`, without a look at the rules or at what they say of
//! it. All ranges without a source are our choice. Logarithms are uniform, so that no size or time is typical.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `hosts` | what programs and their sockets do |
//! | `paths` | what the path does |

use super::families::{Family, size};
use super::paths::Path;
use crate::dice::Dice;

mod hosts;
mod paths;

/// All, in turn.
pub(super) const FAMILIES: &[Family] = &[
    ("busy-uplink", paths::busy_uplink),
    ("standing-queue", paths::standing_queue),
    ("shared-link", paths::shared_link),
    ("jitter", paths::jitter),
    ("opened-early", hosts::opened_early),
    ("cork-or-think", hosts::cork_or_think),
    ("late-second-write", hosts::late_second_write),
    ("accepts-late", hosts::accepts_late),
    ("queued-and-kept", hosts::queued_and_kept),
    ("busy-client", hosts::busy_client),
    ("bursts-lost", paths::bursts_lost),
    ("acks-lost", paths::acks_lost),
    ("data-reordered", paths::data_reordered),
    ("duplicated", paths::duplicated),
    ("stops-reading", hosts::stops_reading),
    ("idle-windows", hosts::idle_windows),
    ("bbr-anywhere", paths::bbr_anywhere),
    ("chunked", hosts::chunked),
    ("expects", hosts::expects),
    ("asyncio", hosts::asyncio),
    ("proxied", hosts::proxied),
    ("clocks-and-faults", paths::clocks_and_faults),
    ("one-of-many", hosts::one_of_many),
    ("small-buffers", hosts::small_buffers),
];

/// A size in one of `one_in` cases, and nothing in the others.
fn some_bytes(dice: &mut Dice, one_in: u32, [least, most]: [f64; 2]) -> usize {
    let drawn = size(dice, least, most);
    if dice.between(1, one_in) == 1 { drawn } else { 0 }
}

/// One path in four has no distance: a LAN's, with the tenths of a millisecond that the machine takes.
fn near_or_far(dice: &mut Dice, rate: [f64; 2], most_ms: u32) -> Path {
    let far = Path::draw(dice, rate, [0, most_ms]);
    if dice.between(0, 3) == 0 { Path { delay: [0, 0], ..far } } else { far }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::kernel::families::draw;

    #[test]
    fn every_family_draws_the_same_run_again_and_another_with_another_number() {
        let count = FAMILIES.len() as u64;
        for number in 0..count {
            let drawn = |number| format!("{:?}", draw(FAMILIES, 5, number));
            assert_eq!(drawn(number), drawn(number));
            assert_ne!(drawn(number), drawn(number + count), "{number}");
        }
    }
}
