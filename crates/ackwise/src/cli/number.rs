//! Whole numbers on the command line. Unlike clap's own parsers, the messages give the range.

use std::{
    fmt::Display,
    ops::{Bound, RangeBounds},
    str::FromStr,
};

/// A parser for the whole numbers in `range`, which has a least one.
pub(crate) fn whole<T, R>(range: R) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display,
    R: RangeBounds<T> + Clone,
{
    move |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(expected(&range)),
    }
}

fn expected<T: Display>(range: &impl RangeBounds<T>) -> String {
    match (range.start_bound(), range.end_bound()) {
        (Bound::Included(least), Bound::Included(most)) => {
            format!("expected a whole number from {least} to {most}")
        }
        (Bound::Included(least), _) if least.to_string() != "0" => {
            format!("expected a whole number of at least {least}")
        }
        _ => "expected a whole number".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_the_range_is_answered_with_the_range() {
        assert_eq!(whole(1..=8_u32)("8"), Ok(8));
        for text in ["0", "9", "ten", "", "1.5", "99999999999999999999"] {
            let refused = whole(1..=8_u32)(text).unwrap_err();
            assert_eq!(refused, "expected a whole number from 1 to 8", "{text}");
        }
        assert_eq!(whole(1_u64..)("0").unwrap_err(), "expected a whole number of at least 1");
    }
}
