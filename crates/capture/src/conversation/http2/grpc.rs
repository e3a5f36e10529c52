//! The fields of gRPC (its document PROTOCOL-HTTP2.md) that say how a call ended, or when it has to.

use std::time::Duration;

use ackwise_cause::GrpcStatus;

/// What a server sends behind GOAWAY's error code to a client whose keepalive pings come too often (gRPC proposal A8:
/// "additional debug data of ASCII too_many_pings").
pub(super) const TOO_MANY_PINGS: &[u8] = b"too_many_pings";

/// "Content-Type → "content-type" "application/grpc" [("+proto" / "+json" / {custom})]".
pub(super) fn is_content_type(value: &[u8]) -> bool {
    let rest = value.strip_prefix(b"application/grpc");
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// "TimeoutValue → {positive integer as ASCII string of at most 8 digits}", and a unit.
pub(super) fn timeout(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    let number = number(digits, 8)?;
    Some(match unit {
        b'H' => Duration::from_secs(number * 3600),
        b'M' => Duration::from_secs(number * 60),
        b'S' => Duration::from_secs(number),
        b'm' => Duration::from_millis(number),
        b'u' => Duration::from_micros(number),
        b'n' => Duration::from_nanos(number),
        _ => return None,
    })
}

/// "Status → "grpc-status" 1*DIGIT". No code has more than two digits.
pub(super) fn status(value: &[u8]) -> Option<GrpcStatus> {
    u16::try_from(number(value, 4)?).ok().map(GrpcStatus)
}

fn number(digits: &[u8], most: usize) -> Option<u64> {
    let is_number = (1..=most).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_have_a_unit_and_at_most_eight_digits() {
        for (value, expected) in [
            ("2H", Some(Duration::from_secs(7_200))),
            ("3M", Some(Duration::from_secs(180))),
            ("5S", Some(Duration::from_secs(5))),
            ("250m", Some(Duration::from_millis(250))),
            ("99999999u", Some(Duration::from_micros(99_999_999))),
            ("1n", Some(Duration::from_nanos(1))),
            ("999999999u", None),
            ("m", None),
            ("", None),
            ("+1m", None),
            ("1s", None),
        ] {
            assert_eq!(timeout(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn a_status_is_a_number() {
        for (value, expected) in [
            ("0", Some(0)),
            ("14", Some(14)),
            ("016", Some(16)),
            ("", None),
            ("-1", None),
            ("99999", None),
        ] {
            assert_eq!(status(value.as_bytes()), expected.map(GrpcStatus), "{value}");
        }
    }

    #[test]
    fn what_only_begins_like_grpc_is_not_grpc() {
        for (value, expected) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/json", false),
        ] {
            assert_eq!(is_content_type(value.as_bytes()), expected, "{value}");
        }
    }
}
