//! The largest of the last samples (Kathleen Nichols' algorithm; Linux `lib/win_minmax.c`).

/// The largest sample of a window, with the second and third choice for when it leaves the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMaximum {
    /// Best first, and each later than the one before it.
    best: [At; 3],
}

/// A sample, and when it was taken.
#[derive(Clone, Copy, Debug, Default)]
struct At {
    time: u32,
    value: u32,
}

impl WindowedMaximum {
    pub(super) const fn value(&self) -> u32 {
        self.best[0].value
    }

    /// Takes a sample at `time`, and forgets what is older than `window`.
    pub(super) fn add(&mut self, value: u32, time: u32, window: u32) {
        let new = At { time, value };
        let age = |at: At| time.wrapping_sub(at.time);
        let [first, second, third] = &mut self.best;
        if value >= first.value || age(*third) > window {
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        // A choice must come from a later part of the window than the better one.
        if age(*first) > window {
            (*first, *second, *third) = (*second, *third, new);
            if age(*first) > window {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.time == first.time && age(*first) > window / 4 {
            (*second, *third) = (new, new);
        } else if third.time == second.time && age(*first) > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_sample_of_the_window_counts() {
        let mut maximum = WindowedMaximum::default();
        #[rustfmt::skip]
        let table = [
            (0, 10, 10), (1, 30, 30), (2, 20, 30), (5, 15, 30), (9, 12, 30), (11, 5, 30),
            // The sample of time 1 has left the window of 10.
            (12, 5, 15), (13, 5, 15), (16, 4, 12), (20, 4, 5), (21, 40, 40),
        ];
        for (time, sample, expected) in table {
            maximum.add(sample, time, 10);
            assert_eq!(maximum.value(), expected, "at {time}");
        }
    }
}
