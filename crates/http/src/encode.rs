//! Writes heads. Rejects values that would end a line early, so that a caller cannot inject a
//! header field.

use alloc::{string::String, vec::Vec};

/// Why a message could not be encoded. The caller is at fault.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A request target that is empty, or contains spaces, controls or non-ASCII bytes.
    #[error("request target {0:?} is not visible ASCII")]
    Target(String),
    /// A field name that is not a token (RFC 9110, section 5.6.2).
    #[error("field name {0:?} is not a token")]
    FieldName(String),
    /// A field value with a control character; CR and LF would begin another field.
    #[error("value {value:?} of field {name} has a control character")]
    FieldValue {
        /// The field's name.
        name: String,
        /// The offending value.
        value: String,
    },
}

/// Appends `name: value` and the line end.
pub(crate) fn field(head: &mut Vec<u8>, name: &str, value: &str) -> Result<(), EncodeError> {
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(EncodeError::FieldName(name.into()));
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(EncodeError::FieldValue { name: name.into(), value: value.into() });
    }
    for part in [name, ": ", value, "\r\n"] {
        head.extend_from_slice(part.as_bytes());
    }
    Ok(())
}

const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}
