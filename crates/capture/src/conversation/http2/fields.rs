//! What is kept of the fields of a block: `:method`, `:path`, `:status` and `:protocol`, and of gRPC `content-type`,
//! `grpc-timeout` and `grpc-status`. So what a header holds never gets into memory that outlives a segment, and the
//! dynamic table takes less than the 4096 bytes that its peer thinks.

use std::time::Duration;

use ackwise_cause::GrpcStatus;
use ackwise_http::http2::hpack::Field;

use super::{
    super::{Text, messages::EventEnd, target},
    grpc,
};

/// What a field block says that matters here.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Block {
    pub(super) method: Option<Text>,
    /// Without its query.
    pub(super) path: Option<Text>,
    pub(super) has_query: bool,
    pub(super) status: Option<u16>,
    /// What an extended CONNECT opens (RFC 8441, section 4).
    pub(super) protocol: Option<Text>,
    pub(super) content_type: ContentType,
    /// It has a `content-encoding`: the content is compressed.
    pub(super) is_coded: bool,
    /// How long the client waits at most.
    pub(super) grpc_timeout: Option<Duration>,
    pub(super) grpc_status: Option<GrpcStatus>,
}

/// What `content-type` says, if that tells how content is divided.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum ContentType {
    Grpc,
    /// A stream of events that end so.
    Events(EventEnd),
    #[default]
    Other,
}

impl ContentType {
    fn of(value: &[u8]) -> Self {
        match EventEnd::of_content_type(value) {
            Some(ends) => Self::Events(ends),
            None if grpc::is_content_type(value) => Self::Grpc,
            None => Self::Other,
        }
    }
}

/// A field, as far as it is kept.
#[derive(Clone, Debug)]
pub(super) enum Known {
    Method(Text),
    Path { path: Text, has_query: bool },
    Status(Text),
    Protocol(Text),
    ContentType(ContentType),
    ContentEncoding { is_identity: bool },
    GrpcTimeout(Option<Duration>),
    GrpcStatus(Option<GrpcStatus>),
    Other,
}

/// Which of the fields it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Name {
    Method,
    Path,
    Status,
    Protocol,
    ContentType,
    ContentEncoding,
    GrpcTimeout,
    GrpcStatus,
    Other,
}

impl Block {
    pub(super) fn note(&mut self, field: &Known) {
        match field {
            Known::Method(value) => self.method = Some(value.clone()),
            Known::Path { path, has_query } => {
                (self.path, self.has_query) = (Some(path.clone()), *has_query);
            }
            Known::Status(value) => self.status = value.parse().ok(),
            Known::Protocol(value) => self.protocol = Some(value.clone()),
            Known::ContentType(it) => self.content_type = *it,
            Known::ContentEncoding { is_identity } => self.is_coded = !is_identity,
            Known::GrpcTimeout(timeout) => self.grpc_timeout = *timeout,
            Known::GrpcStatus(status) => self.grpc_status = *status,
            Known::Other => {}
        }
    }
}

impl Field for Known {
    type Name = Name;

    fn name_of(name: &[u8]) -> Name {
        Name::of(name)
    }

    fn new(name: Name, value: &[u8]) -> Self {
        let text = || String::from_utf8_lossy(value);
        let kept = || Text::from(&*text());
        match name {
            Name::Method => Self::Method(kept()),
            Name::Path => Self::path(&text()),
            Name::Status => Self::Status(kept()),
            Name::Protocol => Self::Protocol(kept()),
            Name::ContentType => Self::ContentType(ContentType::of(value)),
            Name::ContentEncoding => {
                Self::ContentEncoding { is_identity: value.eq_ignore_ascii_case(b"identity") }
            }
            Name::GrpcTimeout => Self::GrpcTimeout(grpc::timeout(value)),
            Name::GrpcStatus => Self::GrpcStatus(grpc::status(value)),
            Name::Other => Self::Other,
        }
    }

    fn name(&self) -> Name {
        match self {
            Self::Method(_) => Name::Method,
            Self::Path { .. } => Name::Path,
            Self::Status(_) => Name::Status,
            Self::Protocol(_) => Name::Protocol,
            Self::ContentType(_) => Name::ContentType,
            Self::ContentEncoding { .. } => Name::ContentEncoding,
            Self::GrpcTimeout(_) => Name::GrpcTimeout,
            Self::GrpcStatus(_) => Name::GrpcStatus,
            Self::Other => Name::Other,
        }
    }

    fn missed() -> Self {
        Self::Other
    }

    /// Without a copy of the value.
    fn of_static(name: &'static str, value: &'static str) -> Self {
        match Name::of(name.as_bytes()) {
            Name::Method => Self::Method(Text::of_static(value)),
            Name::Path => Self::Path { path: Text::of_static(value), has_query: false },
            Name::Status => Self::Status(Text::of_static(value)),
            // The table has no value for any other.
            _ => Self::Other,
        }
    }
}

impl Known {
    /// Once, not for each request that the table gives it to.
    fn path(target: &str) -> Self {
        let (path, has_query) = target::split(target);
        Self::Path { path: path.into(), has_query }
    }
}

impl Name {
    fn of(name: &[u8]) -> Self {
        match name {
            b":method" => Self::Method,
            b":path" => Self::Path,
            b":status" => Self::Status,
            b":protocol" => Self::Protocol,
            b"content-type" => Self::ContentType,
            b"content-encoding" => Self::ContentEncoding,
            b"grpc-timeout" => Self::GrpcTimeout,
            b"grpc-status" => Self::GrpcStatus,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use ackwise_http::http2::hpack::Decoder;

    use super::*;
    use crate::limits::KEPT_TEXT;

    fn read(decoder: &mut Decoder<Known>, block: &[u8]) -> Block {
        let mut read = Block::default();
        decoder.decode(block, |field| read.note(field)).unwrap();
        read
    }

    #[test]
    fn a_long_path_is_kept_in_part_and_shared() {
        let mut decoder = Decoder::new();
        // A table of 64 KiB, then a path of 4,096 bytes.
        let mut block = vec![0x3f, 0xe1, 0xff, 0x03, 0x44, 0x7f, 0x81, 0x1f];
        block.resize(block.len() + 4096, b'a');
        let path = read(&mut decoder, &block).path.expect("a literal");
        assert_eq!(path.len(), KEPT_TEXT);
        let indexed = read(&mut decoder, &[0xbe]).path.expect("of the table");
        assert!(std::ptr::eq(&*path, &*indexed), "a copy takes no memory");
    }

    #[test]
    fn fields_of_the_static_table_are_known() {
        let block = read(&mut Decoder::new(), &[0x83, 0x85, 0x8d]);
        let text = |it: Option<Text>| it.map(|it| it.to_string());
        assert_eq!(text(block.method).as_deref(), Some("POST"));
        assert_eq!((text(block.path).as_deref(), block.has_query), (Some("/index.html"), false));
        assert_eq!(block.status, Some(404));
    }
}
