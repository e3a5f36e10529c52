//! The elements of a start line: version, method, reason phrase. Fields are not examined here.

use core::fmt;

/// The protocol version of a message.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Version {
    /// HTTP/1.0 (RFC 1945): closes after a response unless both ends send `keep-alive`.
    Http10,
    /// HTTP/1.1 (RFC 9112): persists unless one end sends `close`.
    Http11,
}

impl Version {
    pub(crate) const fn from_minor(minor: u8) -> Self {
        if minor == 0 { Self::Http10 } else { Self::Http11 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        })
    }
}

/// A request method of RFC 9110, section 9, CLIENT_CLOSE or GETWEB. Any other is a
/// [`RequestErrorKind::Method`].
///
/// [`RequestErrorKind::Method`]: crate::RequestErrorKind::Method
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "RFC 9110 defines each by its name")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Connect,
    Options,
    Trace,
    /// Not of RFC 9110: see [`client_close`](crate::client_close). Parsers accept it only if
    /// enabled.
    ClientClose,
    /// Not of RFC 9110: see [`getweb`](crate::getweb). Parsers accept it only if enabled.
    GetWeb,
}

impl Method {
    /// Whether a client may send a request again that may have reached the server.
    ///
    /// RFC 9110, section 9.2.2: "PUT, DELETE, and safe request methods are idempotent." Methods that are not of RFC 9110 do
    /// not say that they are.
    #[must_use]
    pub const fn is_idempotent(self) -> bool {
        match self {
            Self::Get | Self::Head | Self::Put | Self::Delete | Self::Options | Self::Trace => true,
            Self::Post | Self::Connect | Self::ClientClose | Self::GetWeb => false,
        }
    }

    /// Every method of RFC 9110, in its order.
    pub const ALL: [Self; 8] = [
        Self::Get,
        Self::Head,
        Self::Post,
        Self::Put,
        Self::Delete,
        Self::Connect,
        Self::Options,
        Self::Trace,
    ];

    /// The method's token in a request line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
            Self::Options => "OPTIONS",
            Self::Trace => "TRACE",
            Self::ClientClose => "CLIENT_CLOSE",
            Self::GetWeb => "GETWEB",
        }
    }

    /// The method named `token`; methods are case-sensitive (RFC 9110, section 9.1).
    pub(crate) fn from_token(token: &str) -> Option<Self> {
        let mut known = Self::ALL.into_iter().chain([Self::ClientClose, Self::GetWeb]);
        known.find(|method| method.as_str() == token)
    }
}

/// The reason phrase that RFC 9110 suggests for `status`; empty for a status this crate never
/// sends.
#[must_use]
pub const fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        416 => "Range Not Satisfiable",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}
