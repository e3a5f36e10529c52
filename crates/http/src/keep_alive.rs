//! The `Keep-Alive` field of HTTP/1.0 persistent connections.

use core::{fmt, time::Duration};

use crate::Fields;

/// What a server announces about an idle persistent connection.
///
/// Not standardised after RFC 2068, section 19.7.1.1, but still sent by Apache. The announcement is
/// not binding: `check` compares it with the observed behaviour.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct KeepAlive {
    /// How long an idle connection stays open; whole seconds on the wire.
    pub timeout: Option<Duration>,
    /// How many more requests the connection takes after this one.
    pub max: Option<u32>,
}

impl KeepAlive {
    /// Parses `Keep-Alive: timeout=5, max=100`. Unknown or malformed parameters are skipped.
    ///
    /// `None` if the message has no such field.
    #[must_use]
    pub fn from_fields(fields: &Fields) -> Option<Self> {
        fields.first(FIELD)?;
        let mut found = Self::default();
        for element in fields.list(FIELD) {
            match parameter(element) {
                Some(("timeout", value)) => {
                    found.timeout = Some(Duration::from_secs(value.into()));
                }
                Some(("max", value)) => found.max = Some(value),
                _ => {}
            }
        }
        Some(found)
    }
}

/// Formats the field value as sent.
impl fmt::Display for KeepAlive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.timeout, self.max) {
            (Some(timeout), Some(max)) => write!(f, "timeout={}, max={max}", timeout.as_secs()),
            (Some(timeout), None) => write!(f, "timeout={}", timeout.as_secs()),
            (None, Some(max)) => write!(f, "max={max}"),
            (None, None) => Ok(()),
        }
    }
}

fn parameter(element: &[u8]) -> Option<(&'static str, u32)> {
    let (name, value) = core::str::from_utf8(element).ok()?.split_once('=')?;
    let name = ["timeout", "max"].into_iter().find(|known| name.trim().eq_ignore_ascii_case(known));
    Some((name?, value.trim().trim_matches('"').parse().ok()?))
}

const FIELD: &str = "Keep-Alive";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::responses;
    use alloc::{format, string::ToString};

    #[test]
    fn parameters_are_read_and_written_in_the_same_notation() {
        let secs = |n| Some(Duration::from_secs(n));
        for (field, expected) in [
            ("timeout=5, max=100", KeepAlive { timeout: secs(5), max: Some(100) }),
            ("Timeout = 15 , max=\"4\"", KeepAlive { timeout: secs(15), max: Some(4) }),
            ("300", KeepAlive::default()),
            ("max=-1, timeout=99999999999", KeepAlive::default()),
            ("timeout=20, flavour=mint", KeepAlive { timeout: secs(20), max: None }),
        ] {
            let stream = format!("HTTP/1.1 204 No Content\r\nKeep-Alive: {field}\r\n\r\n");
            let head = responses(stream.as_bytes()).unwrap().remove(0).head;
            assert_eq!(head.keep_alive, Some(expected), "{field}");
        }
        let said = KeepAlive { timeout: secs(5), max: Some(100) };
        assert_eq!(said.to_string(), "timeout=5, max=100");
    }
}
