//! How far apart segments were seen, and whether a link has kept them so.

use super::Nanos;

/// How far apart two segments were seen that the sender had ready at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    pub bytes: u64,
    pub span: Nanos,
    /// How long after an acknowledgement between them the later one might have been seen at the
    /// earliest, if it had waited for that.
    pub after_ack: Option<Nanos>,
}

impl Spacing {
    /// Whether the link has kept the segments apart, and not the acknowledgement between them. That
    /// one would have come long before; or it comes at other times while the spacing stays the same.
    pub(super) fn is_of_link(&self, before: Option<Self>) -> bool {
        /// A segment that follows an acknowledgement this many times sooner than the segment before it
        /// has probably waited for the acknowledgement. Our choice.
        const SOONER: u64 = 4;
        /// Spacings are the same if they differ by less than one part in this many. Our choice.
        const SAME: u64 = 64;
        let Some(after_ack) = self.after_ack else { return true };
        if after_ack * SOONER >= self.span {
            return true;
        }
        before.filter(|it| it.bytes == self.bytes).is_some_and(|before| {
            let same = self.span.abs_diff(before.span) <= self.span / SAME;
            let moved = before.after_ack.is_none_or(|it| it.abs_diff(after_ack) > self.span / SAME);
            same && moved
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spaced(bytes: u64, micros: u64, after_ack: Option<u64>) -> Spacing {
        let after_ack = after_ack.map(Nanos::from_micros);
        Spacing { bytes, span: Nanos::from_micros(micros), after_ack }
    }

    #[test]
    fn a_slow_link_is_told_from_a_window() {
        let same = spaced(1_460, 6_400, Some(1_000));
        for (now, before, is_of_link, why) in [
            (spaced(1_460, 6_400, None), None, true, "no ACK came between them"),
            (spaced(1_460, 6_400, Some(1_600)), None, true, "the ACK came long before"),
            (spaced(1_460, 6_400, Some(1_599)), None, false, "the ACK came just before"),
            (spaced(1_460, 6_400, Some(0)), Some(same), true, "as far apart, at another time"),
            (spaced(1_460, 6_500, Some(0)), Some(same), true, "nearly as far apart"),
            (spaced(1_460, 6_502, Some(0)), Some(same), false, "further apart"),
            (spaced(1_460, 6_300, Some(0)), Some(same), false, "less far apart"),
            (spaced(1_000, 6_400, Some(0)), Some(same), false, "of another size"),
            (spaced(1_460, 6_400, Some(900)), Some(same), false, "the ACKs come at the same time"),
            (spaced(1_460, 6_400, Some(899)), Some(same), true, "the ACKs come earlier"),
            (
                spaced(1_460, 6_400, Some(0)),
                Some(spaced(1_460, 6_400, None)),
                true,
                "no ACK came before",
            ),
        ] {
            assert_eq!(now.is_of_link(before), is_of_link, "{why}");
        }
    }
}
