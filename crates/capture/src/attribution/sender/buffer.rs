//! How much a sender's buffer holds.

/// A buffer that is full holds the same number of bytes each time, a congestion window grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendBuffer {
    /// What was outstanding when the sender last waited with nothing more written.
    last: u64,
    /// What was outstanding at two such waits in a row: after an idle time or the end of a message, too, its size is
    /// that.
    size: u64,
}

impl SendBuffer {
    /// Whether it was full with so much outstanding.
    pub(super) const fn is_filled_by(&self, outstanding: u64) -> bool {
        outstanding == self.last || outstanding == self.size
    }

    /// The sender waited with so much outstanding, and nothing more written.
    pub(super) const fn note(&mut self, outstanding: u64) {
        if outstanding == self.last {
            self.size = outstanding;
        }
        self.last = outstanding;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_outstanding_twice_in_a_row_is_remembered() {
        let after = |waits: &[u64]| {
            let mut buffer = SendBuffer::default();
            waits.iter().for_each(|&wait| buffer.note(wait));
            buffer
        };
        for (waits, filled) in [
            (&[][..], false),
            (&[7_000], true),
            (&[7_000, 3_000], false),
            (&[7_000, 3_000, 7_000, 3_000], false),
            (&[7_000, 7_000, 3_000], true),
            (&[7_000, 7_000, 9_000, 9_000, 3_000], false),
        ] {
            assert_eq!(after(waits).is_filled_by(7_000), filled, "{waits:?}");
        }
    }
}
