//! A request, ready to be sent.

use ackwise_http::{ConnectionOption, EncodeError, Method, RequestBuilder};

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

    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    method: Method,
    bytes: Vec<u8>,
    /// Where it is cut if it is sent in two writes.
    cut: usize,
}

impl Request {
    pub(super) fn new(
        host: &str,
        template: &Template,
        page: &Page,
        connection: Option<ConnectionOption>,
    ) -> Result<Self, EncodeError> {
        let method = template.method;
        let host = template.field(HOST).unwrap_or(host);
        let mut builder = RequestBuilder::new(method, host, &page.path);
        for (name, value) in [("User-Agent", USER_AGENT), ("Accept", "*/*")] {
            if template.field(name).is_none() {
                builder = builder.field(name, value);
            }
        }
        for (name, value) in &template.fields {
            if !name.eq_ignore_ascii_case(HOST) {
                builder = builder.field(name, value);
            }
        }
        if let Some(option) = connection {
            builder = builder.connection(option);
        }
        if let Some(ByteRange { first, last }) = page.bytes {
            builder = builder.field("Range", format!("bytes={first}-{last}"));
        }
        if let Some(content) = &template.content {
            builder = builder.field("Content-Length", content.len().to_string());
        }
        let mut bytes = builder.encode()?;
        let head = bytes.len();
        bytes.extend_from_slice(template.content.as_deref().unwrap_or_default());
        let cut = template.split.map_or(bytes.len() / 2, |content| head + content);
        Ok(Self { method, cut: cut.min(bytes.len()), bytes })
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// Where it is cut if it is sent in two writes.
    #[must_use]
    pub fn cut(&self) -> usize {
        self.cut
    }

    /// The request as it goes onto the wire.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

const HOST: &str = "Host";

/// So that whoever reads the server's log knows who it was.
const USER_AGENT: &str = concat!("ackwise/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use super::*;

    fn written(template: &Template) -> String {
        let page = Page::whole("/a");
        let request = Request::new("h:8", template, &page, Some(ConnectionOption::Close));
        String::from_utf8(request.unwrap().bytes().to_vec()).unwrap()
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
