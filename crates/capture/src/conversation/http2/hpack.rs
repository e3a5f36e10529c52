//! HPACK (RFC 7541), as far as a few fields need it: `:method`, `:path`, `:status` and `:protocol`, and of gRPC
//! `content-type`, `grpc-timeout` and `grpc-status`.
//!
//! Every field has to be decoded, because each may be added to the dynamic table, but of all others
//! only the size is kept. So what a header holds never gets into memory that outlives a segment,
//! and the table takes less than the 4096 bytes that its peer thinks.

use std::{collections::VecDeque, time::Duration};

use ackwise_cause::GrpcStatus;
use httlib_huffman::DecoderSpeed;

use super::{
    super::{Text, messages::EventEnd, target},
    grpc,
};
use crate::limits::{FIELDS_PER_BLOCK, KEPT_TEXT};

/// Decodes the field blocks of one direction.
#[derive(Clone, Debug)]
pub(super) struct Decoder {
    /// Newest first.
    table: VecDeque<Entry>,
    size: usize,
    limit: usize,
    /// The peer's table holds older entries than ours.
    has_missed: bool,
}

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

/// Why a block is not read to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Broken {
    /// It is not whole, or not HPACK.
    Syntax,
    /// It has more than [`FIELDS_PER_BLOCK`] fields.
    TooLong,
}

#[derive(Clone, Debug)]
struct Entry {
    size: usize,
    /// Bytes of the name.
    name_size: usize,
    field: Field,
}

#[derive(Clone, Debug)]
enum Field {
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
enum Name {
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

impl Decoder {
    pub(super) const fn new() -> Self {
        Self { table: VecDeque::new(), size: 0, limit: TABLE_SIZE, has_missed: false }
    }

    /// Bytes that the table takes, about.
    pub(super) fn held(&self) -> usize {
        self.size.min(self.table.len() * KEPT_TEXT) + self.table.len() * size_of::<Entry>()
    }

    /// Says that blocks were missed. Entries are counted from the newest, so those to come will be
    /// known again; older ones have values that nobody knows.
    pub(super) fn miss(&mut self) {
        *self = Self { limit: self.limit, has_missed: true, ..Self::new() };
    }

    /// Reads a block that is there from its beginning; what it says, as far as it can be read, goes
    /// to `block`.
    pub(super) fn decode(&mut self, mut bytes: &[u8], block: &mut Block) -> Result<(), Broken> {
        for _ in 0..FIELDS_PER_BLOCK {
            let Some(&first) = bytes.first() else { return Ok(()) };
            match first {
                0x80.. => {
                    let index = integer(&mut bytes, 7)?;
                    block.note(&self.indexed(index)?);
                }
                0x40.. => {
                    let entry = self.literal(&mut bytes, 6)?;
                    block.note(&entry.field);
                    self.insert(entry);
                }
                0x20.. => self.resize(integer(&mut bytes, 5)?),
                _ => block.note(&self.literal(&mut bytes, 4)?.field),
            }
        }
        if bytes.is_empty() { Ok(()) } else { Err(Broken::TooLong) }
    }

    /// RFC 7541, section 6.1.
    fn indexed(&self, index: usize) -> Result<Field, Broken> {
        Ok(match index {
            0 => return Err(Broken::Syntax),
            2 => Field::Method(Text::of_static("GET")),
            3 => Field::Method(Text::of_static("POST")),
            4 => Field::Path { path: Text::of_static("/"), has_query: false },
            5 => Field::Path { path: Text::of_static("/index.html"), has_query: false },
            8..=14 => Field::Status(Text::of_static(STATUSES[index - 8])),
            1..=STATIC_ENTRIES => Field::Other,
            _ => self.dynamic(index)?.field.clone(),
        })
    }

    /// RFC 7541, section 6.2.
    fn literal(&self, bytes: &mut &[u8], prefix: u32) -> Result<Entry, Broken> {
        let index = integer(bytes, prefix)?;
        let (name, name_size) = match index {
            0 => {
                let name = string(bytes)?;
                (Name::of(&name), name.len())
            }
            1..=STATIC_ENTRIES => (Name::of_static(index), NAME_SIZES[index - 1].into()),
            _ => {
                let entry = self.dynamic(index)?;
                (entry.field.name(), entry.name_size)
            }
        };
        let value = string(bytes)?;
        let size = name_size + value.len() + ENTRY_OVERHEAD;
        let text = || String::from_utf8_lossy(&value);
        let kept = || Text::from(&*text());
        let field = match name {
            Name::Method => Field::Method(kept()),
            Name::Path => Field::path(&text()),
            Name::Status => Field::Status(kept()),
            Name::Protocol => Field::Protocol(kept()),
            Name::ContentType => Field::ContentType(ContentType::of(&value)),
            Name::ContentEncoding => {
                Field::ContentEncoding { is_identity: value.eq_ignore_ascii_case(b"identity") }
            }
            Name::GrpcTimeout => Field::GrpcTimeout(grpc::timeout(&value)),
            Name::GrpcStatus => Field::GrpcStatus(grpc::status(&value)),
            Name::Other => Field::Other,
        };
        Ok(Entry { size, name_size, field })
    }

    fn dynamic(&self, index: usize) -> Result<&Entry, Broken> {
        match self.table.get(index - STATIC_ENTRIES - 1) {
            None if self.has_missed => Ok(&MISSED),
            entry => entry.ok_or(Broken::Syntax),
        }
    }

    /// RFC 7541, section 4.4: an entry larger than the table empties it.
    fn insert(&mut self, entry: Entry) {
        self.size += entry.size;
        self.table.push_front(entry);
        self.evict();
    }

    /// RFC 7541, section 6.3. Of a table larger than ours, the oldest entries are missed.
    fn resize(&mut self, limit: usize) {
        self.has_missed |= limit > TABLE_LIMIT;
        self.limit = limit.min(TABLE_LIMIT);
        self.evict();
    }

    fn evict(&mut self) {
        while self.size > self.limit {
            let Some(entry) = self.table.pop_back() else { break };
            self.size -= entry.size;
        }
    }
}

impl Block {
    fn note(&mut self, field: &Field) {
        match field {
            Field::Method(value) => self.method = Some(value.clone()),
            Field::Path { path, has_query } => {
                (self.path, self.has_query) = (Some(path.clone()), *has_query);
            }
            Field::Status(value) => self.status = value.parse().ok(),
            Field::Protocol(value) => self.protocol = Some(value.clone()),
            Field::ContentType(it) => self.content_type = *it,
            Field::ContentEncoding { is_identity } => self.is_coded = !is_identity,
            Field::GrpcTimeout(timeout) => self.grpc_timeout = *timeout,
            Field::GrpcStatus(status) => self.grpc_status = *status,
            Field::Other => {}
        }
    }
}

impl Field {
    /// Once, not for each request that the table gives it to.
    fn path(target: &str) -> Self {
        let (path, has_query) = target::split(target);
        Self::Path { path: path.into(), has_query }
    }

    const fn name(&self) -> Name {
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

    const fn of_static(index: usize) -> Self {
        match index {
            2 | 3 => Self::Method,
            4 | 5 => Self::Path,
            8..=14 => Self::Status,
            26 => Self::ContentEncoding,
            31 => Self::ContentType,
            _ => Self::Other,
        }
    }
}

/// RFC 7541, section 5.1.
fn integer(bytes: &mut &[u8], prefix: u32) -> Result<usize, Broken> {
    let mut next = || {
        let (first, rest) = bytes.split_first().ok_or(Broken::Syntax)?;
        *bytes = rest;
        Ok(usize::from(*first))
    };
    let mask = (1 << prefix) - 1;
    let mut value = next()? & mask;
    if value < mask {
        return Ok(value);
    }
    for shift in [0, 7, 14] {
        let byte = next()?;
        value += (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Broken::Syntax) // More than two million: no field is so long.
}

/// RFC 7541, section 5.2.
fn string(bytes: &mut &[u8]) -> Result<Vec<u8>, Broken> {
    let is_huffman = bytes.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(bytes, 7)?;
    let (string, rest) = bytes.split_at_checked(length).ok_or(Broken::Syntax)?;
    *bytes = rest;
    if !is_huffman {
        return Ok(string.to_vec());
    }
    let mut decoded = Vec::new();
    httlib_huffman::decode(string, &mut decoded, DecoderSpeed::FiveBits)
        .map_err(|_| Broken::Syntax)?;
    Ok(decoded)
}

/// An entry that was inserted by a block that was missed. That its size is not known does no harm:
/// it decides which entries are the oldest, and nobody asks for those.
const MISSED: Entry = Entry { size: 0, name_size: 0, field: Field::Other };

/// The table's size until the peer says another (RFC 9113, section 6.5.2).
const TABLE_SIZE: usize = 4096;

/// Largest table that is kept. Browsers allow 64 KiB.
const TABLE_LIMIT: usize = 64 * 1024;

/// What an entry counts beside its bytes (RFC 7541, section 4.1).
const ENTRY_OVERHEAD: usize = 32;

/// Entries of the static table (RFC 7541, appendix A), of which some have values that matter.
const STATIC_ENTRIES: usize = 61;

/// The values of entries 8 to 14.
const STATUSES: [&str; 7] = ["200", "204", "206", "304", "400", "404", "500"];

/// Bytes in the names of the static table.
#[rustfmt::skip]
const NAME_SIZES: [u8; STATIC_ENTRIES] = [
    10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27, 3, 5, 13, 13, 19, 16, 16, 14,
    16, 13, 12, 6, 4, 4, 6, 7, 4, 4, 8, 17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25,
    17, 10, 4, 3, 16,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digits: &str) -> Vec<u8> {
        let digits: String = digits.chars().filter(|digit| !digit.is_whitespace()).collect();
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(byte).collect()
    }

    /// RFC 7541, appendix C.4: three requests with Huffman code.
    #[test]
    fn the_requests_of_the_rfc() {
        let mut decoder = Decoder::new();
        for (bytes, method, path, size) in [
            ("828684418cf1e3c2e5f23a6ba0ab90f4ff", "GET", "/", 57),
            ("828684be5886a8eb10649cbf", "GET", "/", 110),
            ("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", "GET", "/index.html", 164),
        ] {
            let mut block = Block::default();
            decoder.decode(&hex(bytes), &mut block).unwrap();
            let text = |it: &Option<Text>| it.as_ref().map(|it| it.to_string());
            assert_eq!(
                (text(&block.method).as_deref(), text(&block.path).as_deref()),
                (Some(method), Some(path))
            );
            assert_eq!(decoder.size, size);
        }
    }

    /// RFC 7541, appendix C.6: three responses with Huffman code in a table of 256 bytes, so that
    /// entries are evicted.
    #[test]
    fn the_responses_of_the_rfc() {
        let mut decoder = Decoder::new();
        decoder.limit = 256;
        for (bytes, status, size) in [
            (
                "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff\
                 6e919d29ad171863c78f0b97c8e9ae82ae43d3",
                302,
                222,
            ),
            ("4883640effc1c0bf", 307, 222),
            (
                "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7\
                 821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587\
                 316065c003ed4ee5b1063d5007",
                200,
                215,
            ),
        ] {
            let mut block = Block::default();
            decoder.decode(&hex(bytes), &mut block).unwrap();
            assert_eq!(block.status, Some(status));
            assert_eq!(decoder.size, size);
        }
    }

    #[test]
    fn after_a_miss_new_entries_are_known_and_old_ones_are_not() {
        let mut decoder = Decoder::new();
        decoder.miss();
        let mut block = Block::default();
        decoder.decode(&hex("82 44022f61 bf c0 be"), &mut block).unwrap();
        let (get, path) = (Some(Text::of_static("GET")), Some(Text::of_static("/a")));
        assert_eq!((block.method, &block.path), (get, &path));
        let mut block = Block::default();
        decoder.decode(&hex("be bf"), &mut block).unwrap();
        assert_eq!(block, Block { path, ..Block::default() });
    }

    #[test]
    fn a_block_of_too_many_fields_is_read_no_further() {
        let mut decoder = Decoder::new();
        let mut block = vec![0x82; FIELDS_PER_BLOCK];
        assert_eq!(decoder.decode(&block, &mut Block::default()), Ok(()));
        block.push(0x84);
        let mut read = Block::default();
        assert_eq!(decoder.decode(&block, &mut read), Err(Broken::TooLong));
        assert_eq!((read.method, read.path), (Some(Text::of_static("GET")), None));
    }

    #[test]
    fn a_long_path_is_kept_in_part_and_shared() {
        let mut decoder = Decoder::new();
        decoder.resize(TABLE_LIMIT);
        let mut block = vec![0x44, 0x7f, 0x81, 0x1f];
        block.resize(block.len() + 4096, b'a');
        let mut read = Block::default();
        decoder.decode(&block, &mut read).unwrap();
        let path = read.path.expect("a literal");
        assert_eq!(path.len(), KEPT_TEXT);
        let mut again = Block::default();
        decoder.decode(&[0xbe], &mut again).unwrap();
        let indexed = again.path.expect("of the table");
        assert!(std::ptr::eq(&*path, &*indexed), "a copy takes no memory");
    }

    #[test]
    fn what_cannot_be_is_broken_and_not_more() {
        for bytes in
            ["80", "ff", "ffffffff7f", "c0", "40", "4105", "0085ffffffffff", "3fe1ffffff7f"]
        {
            let mut block = Block::default();
            assert_eq!(
                Decoder::new().decode(&hex(bytes), &mut block),
                Err(Broken::Syntax),
                "{bytes}"
            );
        }
    }
}
