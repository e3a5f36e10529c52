//! Numbers of bytes on the command line: `30000`, `30KB`, `64KiB`, `1MB`.

use std::ops::RangeInclusive;

/// A parser for sizes in `range`. `KB` is 1,000 bytes, `KiB` 1,024.
pub(crate) fn bytes(range: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "" | "B" => Some(1),
            "kB" | "KB" => Some(1_000),
            "KiB" => Some(1_024),
            "MB" => Some(1_000_000),
            "MiB" => Some(1_048_576),
            _ => None,
        };
        let number = digits.parse::<u32>().ok();
        let bytes = number.zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
        bytes.filter(|bytes| range.contains(bytes)).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            format!("expected {least} to {most} bytes, such as 16384, 30KB or 64KiB")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_or_binary() {
        let parse = bytes(1_000..=2_000_000);
        for (text, expected) in [
            ("1000", 1_000),
            ("30KB", 30_000),
            ("30kB", 30_000),
            ("64KiB", 65_536),
            ("1MiB", 1_048_576),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for text in
            ["", "KB", "0", "999", "2MiB", "-1", "1.5KB", "30K", "99999999999", "9999MB", "ü"]
        {
            let refused = parse(text).unwrap_err();
            assert!(refused.starts_with("expected 1000 to 2000000 bytes"), "{text}: {refused}");
        }
    }
}
