//! GETWEB: one request for a page and every file that it shows, one response with all of them (Gürkan
//! 1998, chapter 5).
//!
//! The thesis: "The list of files and their lengths will be included in an appropriate header for the packet",
//! and the client "will retrieve only the files that are not in the cache". It gives no format. Ours:
//! the request names the page, and the field `Getweb-Have` names the files that the client has, separated by
//! spaces. The content of the response is an index, and after it the files in the index's order, so that TCP
//! carries one stream in which only the last segment is short:
//!
//! ```text
//! GETWEB /page.html HTTP/1.1            HTTP/1.1 200 OK
//! Host: localhost                       Content-Type: application/x-getweb
//! Getweb-Have: /logo.gif                Content-Length: 8618
//!
//!                                       6651 /page.html text/html
//!                                       - /logo.gif image/gif
//!                                       1866 /photo.jpg image/jpeg
//!
//!                                       ...the page, the photo
//! ```
//!
//! Each line of the index has the length in bytes (`-` if the client has the file), the path, and the media
//! type; an empty line ends it. Nothing is asked about the age of a copy that the client names: it vouches for it.
//!
//! A server that does not know the method answers 501, and the client goes on with GET.
//!
//! Not here: how a server finds the files of a page (`serve`), and sockets.

mod index;

pub use index::{Entry, IndexError, IndexErrorKind, IndexParser, encode_index};

use alloc::{collections::BTreeSet, string::String, vec::Vec};

use crate::{EncodeError, Fields, Method, RequestBuilder};

/// Media type of the response.
pub const MEDIA_TYPE: &str = "application/x-getweb";

/// The field that names the files that the client has.
pub const HAVE: &str = "Getweb-Have";

/// Most files of one page, the page included (our choice: ten times what a large page of today loads from its own
/// origin).
pub const FILES_LIMIT: usize = 1024;

/// Longest index in bytes (our choice: 256 bytes for each file).
pub const INDEX_LIMIT: usize = 256 * FILES_LIMIT;

/// Most bytes of the files in one response (our choice: thirty times a large page of today). A request of 70 bytes brings
/// no more; what does not fit is asked for with GET.
pub const CONTENT_LIMIT: u64 = 64_000_000;

/// Bytes of [`HAVE`] that leave room for the rest of a head (our choice: half of
/// [`REQUEST_HEAD_LIMIT`](crate::request::REQUEST_HEAD_LIMIT)).
pub const HAVE_LIMIT: usize = crate::request::REQUEST_HEAD_LIMIT / 2;

/// Encodes the request for `page` at `host` by a client that has the files `held`.
///
/// What does not fit in [`HAVE_LIMIT`] is not named, so it is sent again.
///
/// ```
/// let request = ackwise_http::getweb::encode("localhost", "/page.html", ["/logo.gif", "/a.css"])?;
/// assert_eq!(request, b"GETWEB /page.html HTTP/1.1\r\nHost: localhost\r\nGetweb-Have: /logo.gif /a.css\r\n\r\n");
/// # Ok::<(), ackwise_http::EncodeError>(())
/// ```
///
/// # Errors
///
/// If `host` or `page` contains bytes that are not allowed in a head.
pub fn encode<'p>(
    host: &str,
    page: &str,
    held: impl IntoIterator<Item = &'p str>,
) -> Result<Vec<u8>, EncodeError> {
    let request = RequestBuilder::new(Method::GetWeb, host, page);
    match have(held) {
        None => request.encode(),
        Some(have) => request.field(HAVE, have).encode(),
    }
}

/// The value of [`HAVE`] for a client that has the files `held`; `None` if it has none.
///
/// At most [`HAVE_LIMIT`] bytes long.
#[must_use]
pub fn have<'p>(held: impl IntoIterator<Item = &'p str>) -> Option<String> {
    let mut have = String::new();
    for path in held.into_iter().filter(|path| is_path(path)) {
        let separator = usize::from(!have.is_empty());
        if have.len() + separator + path.len() > HAVE_LIMIT {
            break;
        }
        if separator > 0 {
            have.push(' ');
        }
        have.push_str(path);
    }
    (!have.is_empty()).then_some(have)
}

/// The files that the client of a request with `fields` has. What is no path is ignored.
#[must_use]
pub fn held(fields: &Fields) -> BTreeSet<&str> {
    fields
        .all(HAVE)
        .filter_map(|value| core::str::from_utf8(value).ok())
        .flat_map(str::split_ascii_whitespace)
        .filter(|path| is_path(path))
        .collect()
}

/// Whether `path` can stand in a request line, in [`HAVE`] and in an index: a slash and visible ASCII.
#[must_use]
pub fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestErrorKind, RequestParser};

    #[test]
    fn a_server_reads_what_a_client_has() {
        let request = encode("h", "/p", ["/a.gif", "no path", "/b,c.gif"]).unwrap();
        let mut parser = RequestParser::new().with_getweb();
        let request = parser.advance(&mut &request[..]).unwrap().unwrap();
        assert_eq!((request.method, request.path()), (Method::GetWeb, "/p"));
        let expected: BTreeSet<_> = ["/a.gif", "/b,c.gif"].into();
        assert_eq!(held(&request.fields), expected);
    }

    #[test]
    fn a_server_that_does_not_support_it_says_501() {
        let request = encode("h", "/p", []).unwrap();
        let error = RequestParser::new().advance(&mut &request[..]).unwrap_err();
        assert_eq!((error.kind, error.kind.status()), (RequestErrorKind::Method, 501));
    }

    #[test]
    fn a_full_cache_leaves_the_request_short_enough() {
        let paths: Vec<String> =
            (0..4000).map(|file| alloc::format!("/images/{file}.gif")).collect();
        let request = encode("h", "/p", paths.iter().map(String::as_str)).unwrap();
        let mut parser = RequestParser::new().with_getweb();
        let request = parser.advance(&mut &request[..]).unwrap().unwrap();
        let named = held(&request.fields).len();
        assert!((400..4000).contains(&named), "{named}");
    }
}
