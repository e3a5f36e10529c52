//! The `Range` field: one range of bytes, as a server serves it (RFC 9110, section 14).

use core::ops::Range;

/// Which part of a representation a request asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RangeRequest {
    /// All of it: no range was requested, or the server may ignore it.
    Whole,
    /// These bytes; never empty and within the representation.
    Part(Range<u64>),
    /// No existing bytes: status 416.
    Unsatisfiable,
}

impl RangeRequest {
    /// Parses the value of a `Range` field for a representation of `length` bytes.
    ///
    /// RFC 9110, section 14.2: "A server MAY ignore the Range header field". Other units, several
    /// ranges and malformed ranges are ignored.
    #[must_use]
    pub fn parse(value: &str, length: u64) -> Self {
        match Self::parse_single(value, length) {
            None => Self::Whole,
            Some(range) if range.is_empty() => Self::Unsatisfiable,
            Some(range) => Self::Part(range),
        }
    }

    /// The range, clipped to `length` and possibly empty; `None` if it is to be ignored.
    fn parse_single(value: &str, length: u64) -> Option<Range<u64>> {
        let (unit, range) = value.split_once('=')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        Some(match range.trim().split_once('-')? {
            ("", suffix) => length.saturating_sub(bytes(suffix)?)..length,
            (first, "") => bytes(first)?..length,
            (first, last) => {
                let (first, last) = (bytes(first)?, bytes(last)?);
                if last < first {
                    return None; // Section 14.1.1: such a range is invalid, not unsatisfiable.
                }
                first..length.min(last.saturating_add(1))
            }
        })
    }
}

fn bytes(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use RangeRequest::*;

    #[test]
    fn one_range_is_served_and_the_odd_ones_are_ignored() {
        for (value, expected) in [
            ("bytes=0-0", Part(0..1)),
            ("bytes=0-9", Part(0..10)),
            ("Bytes=2-", Part(2..10)),
            ("bytes=-3", Part(7..10)),
            ("bytes=-30", Part(0..10)),
            ("bytes=5-500", Part(5..10)),
            ("bytes=0-18446744073709551615", Part(0..10)),
            ("bytes=10-", Unsatisfiable),
            ("bytes=10-11", Unsatisfiable),
            ("bytes=-0", Unsatisfiable),
            ("bytes=5-4", Whole),
            ("bytes=0-1,3-4", Whole),
            ("bytes=-", Whole),
            ("bytes=+1-2", Whole),
            ("bytes=a-b", Whole),
            ("bytes=99999999999999999999-", Whole),
            ("lines=1-2", Whole),
            ("0-1", Whole),
        ] {
            assert_eq!(RangeRequest::parse(value, 10), expected, "{value}");
        }
        assert_eq!(RangeRequest::parse("bytes=-5", 0), Unsatisfiable);
    }
}
