//! Numbers as a reader wants them.

use std::time::Duration;

/// `12345` as `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 port`, and `2 ports`.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// `12.345 ms`.
pub fn millis(span: Duration) -> String {
    format!("{:.3} ms", span.as_secs_f64() * 1e3)
}

/// `12.345 ms` or `12.345 s`, whichever is easier to read.
pub fn span(span: Duration) -> String {
    if span < Duration::from_secs(1) {
        millis(span)
    } else {
        format!("{:.3} s", span.as_secs_f64())
    }
}

/// `12.3 ms` or `12.3 s`: three digits, as a sentence wants them.
pub fn rounded(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    let (number, unit) = if seconds < 1.0 { (seconds * 1e3, "ms") } else { (seconds, "s") };
    let decimals = decimals(number);
    format!("{number:.decimals$} {unit}")
}

/// As many as make three digits, or none if those before the point are three or more.
pub(crate) const fn decimals(number: f64) -> usize {
    match number {
        ..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    }
}

/// `0.12 ms` or `12.3 ms`.
pub fn milliseconds(cost: f64) -> String {
    if cost < 0.995 { format!("{cost:.2} ms") } else { format!("{cost:.1} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_three_digits_of_a_span() {
        let spans = [0, 340, 43_656, 190_048, 7_784_000, 38_010_000, 120_400_000];
        let texts = ["0.00 ms", "0.34 ms", "43.7 ms", "190 ms", "7.78 s", "38.0 s", "120 s"];
        assert_eq!(spans.map(Duration::from_micros).map(rounded), texts);
    }

    #[test]
    fn small_times_keep_two_digits() {
        let shown: Vec<_> = [0.0, 0.124, 0.994, 1.0, 40.17, 131.96].map(milliseconds).into();
        assert_eq!(shown, ["0.00 ms", "0.12 ms", "0.99 ms", "1.0 ms", "40.2 ms", "132.0 ms"]);
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn one_is_not_many() {
        let ports = [0, 1, 2000].map(|number| counted(number, "port"));
        assert_eq!(ports, ["0 ports", "1 port", "2,000 ports"]);
    }

    #[test]
    fn a_span_is_in_seconds_from_one_second_on() {
        let spans = [0, 12_345, 999_999, 1_000_000, 61_500_000].map(Duration::from_micros);
        let texts = ["0.000 ms", "12.345 ms", "999.999 ms", "1.000 s", "61.500 s"];
        assert_eq!(spans.map(span), texts);
        assert_eq!(millis(spans[4]), "61500.000 ms");
    }
}
