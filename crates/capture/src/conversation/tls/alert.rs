//! Alerts that end a handshake.

use ackwise_cause::Party;

/// An alert that ended TLS's handshake.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Alert {
    /// Who sent it.
    pub by: Party,
    /// What it says (RFC 8446, section 6); `None` if it is encrypted.
    pub description: Option<u8>,
    /// The handshake was done for the client: its certificate is refused, or that it has none.
    pub refuses_client: bool,
}

impl Alert {
    /// `unknown_ca`, …; `None` if it is encrypted, or has no name.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        let Some(description) = self.description else { return None };
        Some(match description {
            0 => "close_notify",
            10 => "unexpected_message",
            20 => "bad_record_mac",
            22 => "record_overflow",
            40 => "handshake_failure",
            42 => "bad_certificate",
            43 => "unsupported_certificate",
            44 => "certificate_revoked",
            45 => "certificate_expired",
            46 => "certificate_unknown",
            47 => "illegal_parameter",
            48 => "unknown_ca",
            49 => "access_denied",
            50 => "decode_error",
            51 => "decrypt_error",
            70 => "protocol_version",
            71 => "insufficient_security",
            80 => "internal_error",
            86 => "inappropriate_fallback",
            90 => "user_canceled",
            109 => "missing_extension",
            110 => "unsupported_extension",
            112 => "unrecognized_name",
            113 => "bad_certificate_status_response",
            115 => "unknown_psk_identity",
            116 => "certificate_required",
            120 => "no_application_protocol",
            _ => return None,
        })
    }
}
