//! HPACK (RFC 7541): reads field blocks, of which the caller decides what is kept, and writes literals.
//!
//! Every field has to be decoded, because each may be added to the dynamic table, but what is kept of it may be
//! nothing: what a header holds then never gets into memory that outlives a segment.

mod table;

use alloc::{collections::VecDeque, vec::Vec};

use httlib_huffman::DecoderSpeed;
use table::{ENTRY_OVERHEAD, STATIC};

/// A field, as far as it is kept.
pub trait Field: Clone {
    /// What of a name decides what is kept of its values.
    type Name: Clone;

    /// Keeps a name.
    fn name_of(name: &[u8]) -> Self::Name;

    /// Keeps a field.
    fn new(name: Self::Name, value: &[u8]) -> Self;

    /// The name of this field.
    fn name(&self) -> Self::Name;

    /// A field that was inserted by a block that was missed.
    fn missed() -> Self;

    /// Keeps a field of the static table.
    #[must_use]
    fn of_static(name: &'static str, value: &'static str) -> Self {
        Self::new(Self::name_of(name.as_bytes()), value.as_bytes())
    }
}

/// Decodes the field blocks of one direction.
#[derive(Clone, Debug)]
pub struct Decoder<F> {
    /// Newest first.
    table: VecDeque<Entry<F>>,
    size: usize,
    limit: usize,
    /// The peer's table has older entries, which are unknown here.
    has_missed: bool,
}

/// Why a block is not read to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Broken {
    /// It is not whole, or not HPACK.
    #[error("a field block is not HPACK (RFC 7541)")]
    Syntax,
    /// It has more than [`FIELDS_PER_BLOCK`] fields.
    #[error("a field block has more than {FIELDS_PER_BLOCK} fields")]
    TooLong,
}

#[derive(Clone, Debug)]
struct Entry<F> {
    size: usize,
    /// Bytes of the name.
    name_size: usize,
    field: F,
}

/// A name, by an index or in full.
struct Named<N> {
    name: N,
    size: usize,
}

impl<F: Field> Decoder<F> {
    /// For the first block of a connection.
    #[must_use]
    pub const fn new() -> Self {
        Self { table: VecDeque::new(), size: 0, limit: TABLE_SIZE, has_missed: false }
    }

    /// Entries of the dynamic table.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.table.len()
    }

    /// Bytes of the dynamic table, as RFC 7541, section 4.1, counts them.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Says that blocks were missed. Entries are counted from the newest, so those to come will be
    /// known again; older ones have values that nobody knows.
    pub fn miss(&mut self) {
        *self = Self { limit: self.limit, has_missed: true, ..Self::new() };
    }

    /// Reads a block that is there from its beginning; each field, as far as it can be read, goes to `note`.
    ///
    /// # Errors
    ///
    /// If the block cannot be read to its end: the dynamic table then is not what the peer's is.
    pub fn decode(&mut self, mut bytes: &[u8], mut note: impl FnMut(&F)) -> Result<(), Broken> {
        for _ in 0..FIELDS_PER_BLOCK {
            let Some(&first) = bytes.first() else { return Ok(()) };
            match first {
                0x80.. => {
                    let index = integer(&mut bytes, 7)?;
                    self.indexed(index, &mut note)?;
                }
                0x40.. => {
                    let entry = self.literal(&mut bytes, 6)?;
                    note(&entry.field);
                    self.insert(entry);
                }
                0x20.. => self.resize(integer(&mut bytes, 5)?),
                _ => note(&self.literal(&mut bytes, 4)?.field),
            }
        }
        if bytes.is_empty() { Ok(()) } else { Err(Broken::TooLong) }
    }

    /// RFC 7541, section 6.1.
    fn indexed(&self, index: usize, note: &mut impl FnMut(&F)) -> Result<(), Broken> {
        match index {
            0 => return Err(Broken::Syntax),
            1..=STATIC_ENTRIES => {
                let (name, value) = STATIC[index - 1];
                note(&F::of_static(name, value));
            }
            _ => match self.dynamic(index)? {
                Some(entry) => note(&entry.field),
                None => note(&F::missed()),
            },
        }
        Ok(())
    }

    /// RFC 7541, section 6.2.
    fn literal(&self, bytes: &mut &[u8], prefix: u32) -> Result<Entry<F>, Broken> {
        let index = integer(bytes, prefix)?;
        let Named { name, size: name_size } = match index {
            0 => {
                let name = string(bytes)?;
                Named { name: F::name_of(&name), size: name.len() }
            }
            1..=STATIC_ENTRIES => {
                let (name, _) = STATIC[index - 1];
                Named { name: F::name_of(name.as_bytes()), size: name.len() }
            }
            _ => match self.dynamic(index)? {
                Some(entry) => Named { name: entry.field.name(), size: entry.name_size },
                // That its size is not known does no harm: it decides which entries are the oldest, and nobody
                // asks for those.
                None => Named { name: F::missed().name(), size: 0 },
            },
        };
        let value = string(bytes)?;
        let size = name_size + value.len() + ENTRY_OVERHEAD;
        Ok(Entry { size, name_size, field: F::new(name, &value) })
    }

    /// `None` for one that was missed.
    fn dynamic(&self, index: usize) -> Result<Option<&Entry<F>>, Broken> {
        match self.table.get(index - STATIC_ENTRIES - 1) {
            None if self.has_missed => Ok(None),
            entry => entry.map(Some).ok_or(Broken::Syntax),
        }
    }

    /// RFC 7541, section 4.4: an entry larger than the table empties it.
    fn insert(&mut self, entry: Entry<F>) {
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

impl<F: Field> Default for Decoder<F> {
    fn default() -> Self {
        Self::new()
    }
}

/// Appends a field as a literal that no table takes (RFC 7541, section 6.2.2), so that a block says the same wherever
/// it stands.
pub fn write_literal(name: &[u8], value: &[u8], block: &mut Vec<u8>) {
    block.push(0);
    for string in [name, value] {
        write_integer(string.len(), 7, block);
        block.extend_from_slice(string);
    }
}

/// RFC 7541, section 5.1, with zeros before the prefix.
fn write_integer(value: usize, prefix: u32, to: &mut Vec<u8>) {
    let most = (1 << prefix) - 1;
    let Some(mut rest) = value.checked_sub(most) else {
        to.push(value.to_le_bytes()[0]);
        return;
    };
    to.push(most.to_le_bytes()[0]);
    while rest >= 0x80 {
        to.push(0x80 | (rest & 0x7f).to_le_bytes()[0]);
        rest >>= 7;
    }
    to.push(rest.to_le_bytes()[0]);
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

/// The most fields of one block that are read. Our choice: servers refuse blocks of 8 to 64 KiB, and a request has some
/// dozens of fields.
pub const FIELDS_PER_BLOCK: usize = 4096;

/// The table's size until the peer says another (RFC 9113, section 6.5.2).
const TABLE_SIZE: usize = 4096;

/// Largest table that is kept. Browsers allow 64 KiB.
const TABLE_LIMIT: usize = 64 * 1024;

const STATIC_ENTRIES: usize = STATIC.len();

#[cfg(test)]
mod tests;
