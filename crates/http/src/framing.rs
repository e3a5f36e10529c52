//! How a message body is delimited (RFC 9112, section 6.3), as one function for each direction.

use crate::{Fields, Method, Version};

/// Where the body of a message ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Framing {
    /// With the head: no body, whatever the fields contain.
    None,
    /// After this number of bytes.
    Length(u64),
    /// With a chunk of size zero and its trailer section.
    Chunked,
    /// When the connection closes.
    UntilClose,
}

/// Why the fields of a head do not determine the end of the body.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FramingError {
    /// A `Content-Length` that is not a number of at most 64 bits.
    #[error("Content-Length is not a number of bytes")]
    ContentLength,
    /// Two different lengths.
    #[error("Content-Length says both {first} and {second} bytes")]
    ConflictingLengths {
        /// The first value.
        first: u64,
        /// The first value that differs from it.
        second: u64,
    },
    /// RFC 9112, section 6.1: "A sender MUST NOT apply the chunked transfer coding more than once to a message body".
    /// A recipient that undoes it once and one that undoes it twice see different messages.
    #[error("Transfer-Encoding has chunked more than once")]
    ChunkedTwice,
    /// A request with both lengths, or one whose last coding is not chunked: possible request
    /// smuggling.
    #[error("Transfer-Encoding leaves the end of the request in doubt")]
    TransferEncoding,
}

/// The framing of a response with `status` to a request with `method`.
///
/// # Errors
///
/// If the lengths are malformed or conflict (RFC 9112, section 6.3, rule 5).
pub fn of_response(method: Method, status: u16, fields: &Fields) -> Result<Framing, FramingError> {
    match (method, status) {
        // Rule 2, and 101: the bytes that follow are not HTTP and last until the close.
        (Method::Connect, 200..=299) | (_, 101) => return Ok(Framing::UntilClose),
        // Rule 1.
        (Method::Head, _) | (_, 100..=199 | 204 | 304) => return Ok(Framing::None),
        _ => {}
    }
    Ok(match (Coding::of(fields)?, content_length(fields)?) {
        (Coding::ChunkedLast, _) => Framing::Chunked, // Rules 3 and 4.
        (Coding::Other, _) => Framing::UntilClose,    // Rule 4.
        (Coding::None, Some(n)) => Framing::Length(n), // Rule 6.
        (Coding::None, None) => Framing::UntilClose,  // Rule 8.
    })
}

/// The framing of a request.
///
/// # Errors
///
/// As for [`of_response`], and where a response would be parsed leniently: a server that guesses
/// the end of a request can be made to parse its body as a second request.
pub fn of_request(version: Version, fields: &Fields) -> Result<Framing, FramingError> {
    match (Coding::of(fields)?, content_length(fields)?) {
        (Coding::None, Some(n)) => Ok(Framing::Length(n)),
        (Coding::None, None) => Ok(Framing::None), // Rule 7.
        (Coding::ChunkedLast, None) if version == Version::Http11 => Ok(Framing::Chunked),
        (Coding::ChunkedLast | Coding::Other, _) => Err(FramingError::TransferEncoding),
    }
}

/// Whether a peer may have intended another end of the body.
///
/// RFC 9112, section 6.1: "A server or client that receives an HTTP/1.0 message containing a
/// Transfer-Encoding header field MUST treat the message as if the framing is faulty, even if a
/// Content-Length is present, and close the connection after processing the message." The same
/// section allows a message with both lengths under the same condition.
pub(crate) fn is_faulty(version: Version, fields: &Fields) -> bool {
    fields.first(TRANSFER_ENCODING).is_some()
        && (version == Version::Http10 || fields.first(CONTENT_LENGTH).is_some())
}

/// The `Content-Length`, if present. Repetitions of one value count once (rule 5).
pub(crate) fn content_length(fields: &Fields) -> Result<Option<u64>, FramingError> {
    let mut length = None;
    for value in fields.all(CONTENT_LENGTH).flat_map(|value| value.split(|&byte| byte == b',')) {
        let value = bytes(value.trim_ascii()).ok_or(FramingError::ContentLength)?;
        let first = *length.get_or_insert(value);
        if first != value {
            return Err(FramingError::ConflictingLengths { first, second: value });
        }
    }
    Ok(length)
}

/// `1*DIGIT`, without the sign that `str::parse` accepts.
fn bytes(digits: &[u8]) -> Option<u64> {
    let append = |number: u64, digit: &u8| {
        let digit = char::from(*digit).to_digit(10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, append) }
}

/// How the transfer codings delimit the body.
enum Coding {
    None,
    ChunkedLast,
    Other,
}

impl Coding {
    fn of(fields: &Fields) -> Result<Self, FramingError> {
        if fields.first(TRANSFER_ENCODING).is_none() {
            return Ok(Self::None);
        }
        // The name of a coding ends at its parameters (RFC 9110, section 10.1.4); chunked has none.
        let name = |coding: &[u8]| {
            coding
                .split(|&byte| byte == b';')
                .next()
                .map(<[u8]>::trim_ascii_end)
                .is_some_and(|name| name.eq_ignore_ascii_case(b"chunked"))
        };
        if fields.list(TRANSFER_ENCODING).filter(|coding| name(coding)).count() > 1 {
            return Err(FramingError::ChunkedTwice);
        }
        Ok(match fields.list(TRANSFER_ENCODING).last() {
            Some(last) if last.eq_ignore_ascii_case(b"chunked") => Self::ChunkedLast,
            // A field without a coding is malformed; another recipient may take it for one.
            Some(_) | None => Self::Other,
        })
    }
}

const CONTENT_LENGTH: &str = "Content-Length";
const TRANSFER_ENCODING: &str = "Transfer-Encoding";

#[cfg(test)]
mod tests {
    use super::*;
    use FramingError::*;
    use Version::*;
    use alloc::format;

    fn fields(lines: &str) -> Fields {
        let head = format!("{lines}\r\n");
        let mut parsed = [httparse::EMPTY_HEADER; 4];
        let (_, parsed) = httparse::parse_headers(head.as_bytes(), &mut parsed).unwrap().unwrap();
        Fields::locate(head.as_bytes(), parsed)
    }

    #[test]
    fn a_response_ends_where_rfc_9112_says() {
        const CL: &str = "Content-Length: 5\r\n";
        const TE: &str = "Transfer-Encoding: chunked\r\n";
        #[rustfmt::skip]
        let table: &[(Method, u16, &str, Result<Framing, FramingError>)] = &[
            (Method::Get,     200, "",                                 Ok(Framing::UntilClose)),
            (Method::Get,     200, CL,                                 Ok(Framing::Length(5))),
            (Method::Get,     200, TE,                                 Ok(Framing::Chunked)),
            (Method::Get,     200, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Ok(Framing::Chunked)),
            (Method::Get,     200, "Transfer-Encoding: gzip, Chunked\r\n", Ok(Framing::Chunked)),
            (Method::Get,     200, "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", Ok(Framing::Chunked)),
            (Method::Get,     200, "Transfer-Encoding: chunked, gzip\r\n", Ok(Framing::UntilClose)),
            (Method::Get,     200, "Transfer-Encoding: chunked, chunked\r\n", Err(ChunkedTwice)),
            (Method::Get,     200, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Err(ChunkedTwice)),
            (Method::Get,     200, "Transfer-Encoding:\r\nContent-Length: 5\r\n", Ok(Framing::UntilClose)),
            (Method::Get,     200, "Content-Length: 5, 5\r\n",         Ok(Framing::Length(5))),
            (Method::Get,     200, "Content-Length: 5\r\ncontent-length: 6\r\n", Err(ConflictingLengths { first: 5, second: 6 })),
            (Method::Get,     200, "Content-Length: +5\r\n",           Err(ContentLength)),
            (Method::Get,     200, "Content-Length: \r\n",             Err(ContentLength)),
            (Method::Get,     200, "Content-Length: 5,\r\n",           Err(ContentLength)),
            (Method::Get,     200, "Content-Length: 18446744073709551616\r\n", Err(ContentLength)),
            (Method::Head,    200, CL,                                 Ok(Framing::None)),
            (Method::Head,    200, TE,                                 Ok(Framing::None)),
            (Method::Get,     204, CL,                                 Ok(Framing::None)),
            (Method::Get,     304, CL,                                 Ok(Framing::None)),
            (Method::Get,     100, CL,                                 Ok(Framing::None)),
            (Method::Get,     101, "",                                 Ok(Framing::UntilClose)),
            (Method::Connect, 200, CL,                                 Ok(Framing::UntilClose)),
            (Method::Connect, 407, CL,                                 Ok(Framing::Length(5))),
        ];
        for (method, status, lines, expected) in table {
            assert_eq!(
                of_response(*method, *status, &fields(lines)),
                *expected,
                "{method:?} {status} {lines:?}"
            );
        }
    }

    #[test]
    fn a_request_that_could_be_read_two_ways_is_refused() {
        #[rustfmt::skip]
        let table: &[(Version, &str, Result<Framing, FramingError>)] = &[
            (Http11, "",                                 Ok(Framing::None)),
            (Http11, "Content-Length: 0\r\n",            Ok(Framing::Length(0))),
            (Http11, "Transfer-Encoding: chunked\r\n",   Ok(Framing::Chunked)),
            (Http10, "Transfer-Encoding: chunked\r\n",   Err(TransferEncoding)),
            (Http11, "Transfer-Encoding: gzip\r\n",      Err(TransferEncoding)),
            (Http11, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Err(TransferEncoding)),
            (Http11, "Transfer-Encoding: chunked, chunked\r\n", Err(ChunkedTwice)),
            (Http11, "Transfer-Encoding: chunked\r\nTransfer-Encoding: Chunked\r\n", Err(ChunkedTwice)),
            (Http11, "Transfer-Encoding: chunked, gzip, chunked\r\n", Err(ChunkedTwice)),
            (Http11, "Transfer-Encoding: chunked;a=b, chunked\r\n", Err(ChunkedTwice)),
            (Http11, "Transfer-Encoding: chunked;a=b\r\n", Err(TransferEncoding)),
            (Http11, "Transfer-Encoding: chunked, identity\r\n", Err(TransferEncoding)),
            (Http11, "Transfer-Encoding: ,\r\nContent-Length: 5\r\n", Err(TransferEncoding)),
            (Http11, "Content-Length: 5, 6\r\n",         Err(ConflictingLengths { first: 5, second: 6 })),
        ];
        for (version, lines, expected) in table {
            assert_eq!(of_request(*version, &fields(lines)), *expected, "{version} {lines:?}");
        }
    }
}
