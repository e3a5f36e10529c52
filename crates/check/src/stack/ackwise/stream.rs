//! How much of a stream is there in order, seen from its segments.

/// Gaps that are remembered; what lies beyond more of them counts when it is sent again.
const MAX_GAPS: usize = 256;

/// The in-order end of a stream and what has arrived beyond it.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    end: u64,
    beyond: Vec<(u64, u64)>,
}

impl InOrder {
    /// The first offset that is missing.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// `len` bytes arrive at `offset`; returns how many more are in order now.
    pub(super) fn arrive(&mut self, offset: u64, len: u64) -> u64 {
        let before = self.end;
        if self.beyond.len() < MAX_GAPS || offset <= self.end {
            self.beyond.push((offset, offset + len));
        }
        while let Some(index) = self.beyond.iter().position(|(start, _)| *start <= self.end) {
            let (_, end) = self.beyond.swap_remove(index);
            self.end = self.end.max(end);
        }
        self.end - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filled_gap_brings_all_that_waited_behind_it() {
        let mut stream = InOrder::default();
        let gains: Vec<u64> = [(0, 10), (20, 10), (30, 5), (20, 10), (10, 10), (0, 10), (35, 1)]
            .map(|(offset, len)| stream.arrive(offset, len))
            .into();
        assert_eq!(gains, [10, 0, 0, 0, 25, 0, 1]);
        assert_eq!(stream.end(), 36);
    }
}
