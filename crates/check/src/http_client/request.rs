//! A request, ready to be sent.

use std::borrow::Cow;

use ackwise_http::{ConnectionOption, EncodeError, Method, RequestBuilder, http2::hpack};

use crate::http_client::Protocol;

/// Something to ask for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Page {
    /// The path, with the query.
    pub path: String,
    /// Only these bytes of it.
    pub bytes: Option<ByteRange>,
}

/// A range of bytes as RFC 9110, section 14.1.2, has it: both ends belong to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ByteRange {
    /// The first one.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

impl Page {
    /// All of `path`.
    #[must_use]
    pub fn whole(path: impl Into<String>) -> Self {
        Self { path: path.into(), bytes: None }
    }

    /// The bytes `first` to `last` of this page.
    #[must_use]
    pub fn range(&self, first: u64, last: u64) -> Self {
        Self { path: self.path.clone(), bytes: Some(ByteRange { first, last }) }
    }
}

/// What all requests have in common, beside `Host` and `Connection`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Template {
    /// The method.
    pub method: Method,
    /// Fields, in their order. Of `Host`, `User-Agent` and `Accept`, these take the place of our own.
    pub fields: Vec<(String, String)>,
    /// The content, if the requests have one.
    pub content: Option<Vec<u8>>,
    /// After how many bytes of its content a request in two writes is cut; `None`: in its middle.
    pub split: Option<usize>,
}

/// Fields that carry no secret.
const PUBLIC: [&str; 6] =
    ["Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Content-Type"];

/// A GET without fields of its own.
impl Default for Template {
    fn default() -> Self {
        Self { method: Method::Get, fields: Vec::new(), content: None, split: None }
    }
}

impl Template {
    /// Whether a field may say who asks: any but those that every client sends.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        let public = |name: &str| PUBLIC.iter().any(|it| it.eq_ignore_ascii_case(name));
        self.fields.iter().any(|(name, _)| !public(name))
    }

    /// Whether the requests are gRPC calls.
    #[must_use]
    pub fn is_grpc(&self) -> bool {
        self.field("Content-Type").is_some_and(|kind| kind.starts_with(GRPC))
    }

    /// Calls with this message, in protobuf's encoding, beside the given fields (gRPC's PROTOCOL-HTTP2.md).
    #[must_use]
    pub fn grpc(message: &[u8], mut fields: Vec<(String, String)>) -> Self {
        let named = [("Content-Type", GRPC), ("TE", "trailers")];
        fields.extend(named.map(|(name, value)| (name.to_owned(), value.to_owned())));
        // "Compressed-Flag", and "Message-Length" in four bytes.
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
        let content = [&[0][..], &length, message].concat();
        Self { method: Method::Post, fields, content: Some(content), split: None }
    }

    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    method: Method,
    message: Message,
}

/// How it goes onto the wire.
#[derive(Clone, Debug)]
enum Message {
    /// HTTP/1.1, and where it is cut if it is sent in two writes.
    Text { bytes: Vec<u8>, cut: usize },
    /// HTTP/2: its field block and its content, which may be cut, too.
    Fields { block: Vec<u8>, content: Vec<u8>, split: Option<usize> },
}

/// Whom a request is for, and in which version of HTTP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addressee<'a> {
    pub(super) host: &'a str,
    pub(super) protocol: Protocol,
    pub(super) scheme: &'static str,
}

/// What goes to the server for a request, and where it is cut if it goes in two writes.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) cut: usize,
}

impl Request {
    pub(super) fn new(
        to: Addressee<'_>,
        template: &Template,
        page: &Page,
        connection: Option<ConnectionOption>,
    ) -> Result<Self, EncodeError> {
        let method = template.method;
        let host = template.field(HOST).unwrap_or(to.host);
        let fields = fields(template, page);
        let mut builder = RequestBuilder::new(method, host, &page.path);
        if let Some(option) = connection {
            builder = builder.connection(option);
        }
        for (name, value) in &fields {
            builder = builder.field(*name, &**value);
        }
        // Also what HTTP/2 sends must be able to stand in a message.
        let mut bytes = builder.encode()?;
        let head = bytes.len();
        let content = template.content.as_deref().unwrap_or_default();
        let message = match to.protocol {
            Protocol::Http1 => {
                bytes.extend_from_slice(content);
                let cut = template.split.map_or(bytes.len() / 2, |content| head + content);
                Message::Text { cut: cut.min(bytes.len()), bytes }
            }
            Protocol::Http2 => {
                let pseudo = [
                    (":method", method.as_str()),
                    (":scheme", to.scheme),
                    (":authority", host),
                    (":path", &page.path),
                ];
                let mut block = Vec::new();
                let fields = fields.iter().map(|(name, value)| (*name, &**value));
                for (name, value) in pseudo.into_iter().chain(fields) {
                    // RFC 9113, section 8.2: names in lower case.
                    let name = name.to_ascii_lowercase();
                    hpack::write_literal(name.as_bytes(), value.as_bytes(), &mut block);
                }
                Message::Fields { block, content: content.to_vec(), split: template.split }
            }
        };
        Ok(Self { method, message })
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// As it goes onto the wire in HTTP/1.1; nothing, if it is for HTTP/2.
    pub(super) fn as_text(&self) -> Encoded {
        match &self.message {
            Message::Text { bytes, cut } => Encoded { bytes: bytes.clone(), cut: *cut },
            Message::Fields { .. } => Encoded { bytes: Vec::new(), cut: 0 },
        }
    }

    /// Its field block, its content, and where that is cut, for HTTP/2; nothing, if it is for HTTP/1.1.
    pub(super) fn as_fields(&self) -> (&[u8], &[u8], Option<usize>) {
        match &self.message {
            Message::Text { .. } => (&[], &[], None),
            Message::Fields { block, content, split } => (block, content, *split),
        }
    }
}

/// The fields of a request for `page`, without those of the connection.
fn fields<'a>(template: &'a Template, page: &Page) -> Vec<(&'a str, Cow<'a, str>)> {
    let own = [("User-Agent", USER_AGENT), ("Accept", "*/*")];
    let own = own.into_iter().filter(|(name, _)| template.field(name).is_none());
    let given = template.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let given = given.filter(|(name, _)| !name.eq_ignore_ascii_case(HOST));
    let mut fields: Vec<_> =
        own.chain(given).map(|(name, value)| (name, Cow::Borrowed(value))).collect();
    if let Some(ByteRange { first, last }) = page.bytes {
        fields.push(("Range", format!("bytes={first}-{last}").into()));
    }
    // Clients of gRPC do not say how long their messages are in all.
    if let Some(content) = template.content.as_ref().filter(|_| !template.is_grpc()) {
        fields.push(("Content-Length", content.len().to_string().into()));
    }
    fields
}

const HOST: &str = "Host";

const GRPC: &str = "application/grpc";

/// So that whoever reads the server's log knows who it was.
const USER_AGENT: &str = concat!("ackwise/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use super::*;

    fn written(template: &Template) -> String {
        let page = Page::whole("/a");
        let to = Addressee { host: "h:8", protocol: Protocol::Http1, scheme: "http" };
        let request = Request::new(to, template, &page, Some(ConnectionOption::Close));
        String::from_utf8(request.unwrap().as_text().bytes).unwrap()
    }

    #[test]
    fn a_call_has_a_prefixed_message_and_no_length() {
        let call = written(&Template::grpc(b"abc", Vec::new()));
        assert!(
            call.starts_with("POST /a HTTP/1.1\r\n") && !call.contains("Content-Length"),
            "{call}"
        );
        assert!(call.contains("Content-Type: application/grpc\r\nTE: trailers\r\n"), "{call}");
        assert!(call.ends_with("\r\n\r\n\0\0\0\0\x03abc"), "{call}");
    }

    #[test]
    fn a_template_says_the_rest() {
        let plain = written(&Template::default());
        assert!(plain.starts_with("GET /a HTTP/1.1\r\nHost: h:8\r\nConnection: close\r\n"));
        assert!(plain.contains("\r\nAccept: */*\r\n") && plain.ends_with("\r\n\r\n"), "{plain}");
        let fields = [("host", "other"), ("accept", "text/html"), ("Cookie", "a=b")];
        let post = written(&Template {
            method: Method::Post,
            fields: fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            content: Some(b"x=1".to_vec()),
            split: None,
        });
        assert!(post.starts_with("POST /a HTTP/1.1\r\nHost: other\r\n"), "{post}");
        assert!(post.contains("\r\naccept: text/html\r\nCookie: a=b\r\n"), "{post}");
        assert!(!post.contains("*/*") && !post.contains("h:8"), "{post}");
        assert!(post.ends_with("\r\nContent-Length: 3\r\n\r\nx=1"), "{post}");
    }
}
