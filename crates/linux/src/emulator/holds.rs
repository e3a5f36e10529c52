//! Times at which a link delivers nothing.

use ackwise_tcp::Instant;

use super::Hold;

/// Holds in the link's time.
#[derive(Clone, Debug)]
pub(super) struct Holds(Vec<(Instant, Instant)>);

impl Holds {
    /// Those of one direction; `start` is when the link began.
    #[expect(clippy::fn_params_excessive_bools, reason = "the direction, as the fields have it")]
    pub(super) fn new(holds: &[Hold], to_server: bool, start: Instant) -> Self {
        let holds = holds.iter().filter(|hold| hold.ways.has(to_server));
        Self(holds.map(|hold| (start + hold.from, start + hold.until)).collect())
    }

    /// When a packet that is due at `due` can be delivered.
    pub(super) fn released(&self, due: Instant) -> Instant {
        let later = self.0.partition_point(|(from, _)| *from <= due);
        let before = later.checked_sub(1).map(|index| self.0[index].1);
        before.map_or(due, |until| until.max(due))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::emulator::Ways;

    #[test]
    fn what_is_due_within_a_hold_is_released_at_its_end() {
        let at = |ms| Instant::EPOCH + Duration::from_millis(ms);
        let holds = Holds(vec![(at(10), at(20)), (at(30), at(31))]);
        for (due, released) in [(9, 9), (10, 20), (19, 20), (20, 20), (25, 25), (30, 31), (40, 40)]
        {
            assert_eq!(holds.released(at(due)), at(released), "{due} ms");
        }
    }

    #[test]
    fn a_hold_of_one_direction_leaves_the_other_alone() {
        let ms = Duration::from_millis;
        let due = Instant::EPOCH + ms(15);
        for (ways, held) in [
            (Ways::Both, [true, true]),
            (Ways::ToServer, [true, false]),
            (Ways::ToClient, [false, true]),
        ] {
            let hold = Hold { from: ms(10), until: ms(20), ways };
            let of = |to_server| Holds::new(&[hold], to_server, Instant::EPOCH).released(due) > due;
            assert_eq!([of(true), of(false)], held, "{ways:?}");
        }
    }
}
