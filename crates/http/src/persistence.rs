//! Whether a connection outlives a response: RFC 9112, section 9.3.

use crate::{Fields, Framing, Version};

/// The options of the `Connection` field that govern persistence.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ConnectionOptions {
    /// Whether `close` is present.
    pub close: bool,
    /// Whether `keep-alive` is present.
    pub keep_alive: bool,
}

impl ConnectionOptions {
    /// Parses every `Connection` field; options are case-insensitive.
    #[must_use]
    pub fn from_fields(fields: &Fields) -> Self {
        let mut options = Self::default();
        for option in fields.list("Connection") {
            options.close |= option.eq_ignore_ascii_case(b"close");
            options.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
        options
    }
}

/// Whether the connection persists after a response, as far as the messages determine it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Persistence {
    /// It accepts another request.
    Persists,
    /// It closes, for this reason.
    Closes(CloseReason),
}

/// Why a connection ends with a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The message has `Connection: close`.
    CloseOption,
    /// HTTP/1.0 without `keep-alive`.
    Http10Only,
    /// The body is delimited by the close.
    UntilClose,
    /// The message had more than one possible end (RFC 9112, section 6.1).
    FaultyFraming,
}

/// The rules of RFC 9112, section 9.3, in its order, after the two cases determined by the body.
#[must_use]
#[expect(clippy::fn_params_excessive_bools, reason = "a fact of the head, as the others")]
pub(crate) fn after_response(
    version: Version,
    options: ConnectionOptions,
    framing: Framing,
    faulty_framing: bool,
) -> Persistence {
    let reason = match (version, options) {
        _ if framing == Framing::UntilClose => CloseReason::UntilClose,
        _ if faulty_framing => CloseReason::FaultyFraming,
        (_, ConnectionOptions { close: true, .. }) => CloseReason::CloseOption,
        (Version::Http11, _) | (_, ConnectionOptions { keep_alive: true, .. }) => {
            return Persistence::Persists;
        }
        (Version::Http10, _) => CloseReason::Http10Only,
    };
    Persistence::Closes(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use CloseReason::*;
    use Persistence::*;
    use Version::*;

    #[test]
    fn close_beats_keep_alive_and_the_version_decides_the_rest() {
        let options = |close, keep_alive| ConnectionOptions { close, keep_alive };
        let sized = Framing::Length(1);
        #[rustfmt::skip]
        let table = [
            (Http11, options(false, false), sized,               false, Persists),
            (Http11, options(false, true),  sized,               false, Persists),
            (Http11, options(true,  false), sized,               false, Closes(CloseOption)),
            (Http11, options(true,  true),  sized,               false, Closes(CloseOption)),
            (Http10, options(false, false), sized,               false, Closes(Http10Only)),
            (Http10, options(false, true),  sized,               false, Persists),
            (Http10, options(true,  true),  sized,               false, Closes(CloseOption)),
            (Http10, options(false, true),  Framing::UntilClose, false, Closes(UntilClose)),
            (Http11, options(false, false), Framing::UntilClose, false, Closes(UntilClose)),
            (Http11, options(false, false), Framing::Chunked,    true,  Closes(FaultyFraming)),
            (Http11, options(false, false), Framing::None,       false, Persists),
        ];
        for (version, options, framing, faulty, expected) in table {
            assert_eq!(
                after_response(version, options, framing, faulty),
                expected,
                "{version} {options:?} {framing:?} faulty {faulty}"
            );
        }
    }
}
