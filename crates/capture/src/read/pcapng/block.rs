//! What all blocks have: a type, a length before and behind, options.

use super::{
    super::{LARGEST_PACKET, Problem, order::ByteOrder, window::ReadBuffer},
    kind,
};

/// A block whose header is in the window.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: u32,
    length: u32,
    order: ByteOrder,
}

impl Block {
    /// Reads the header of a block. That of a section says which byte order holds from now on.
    pub(super) fn begin(window: &mut ReadBuffer, order: &mut ByteOrder) -> Result<Self, Problem> {
        let bytes = window.need(LEAST, "a block header")?;
        let [kind, _, mark] = ByteOrder::Little.words(bytes);
        if kind == kind::SECTION_HEADER {
            *order = match mark {
                ORDER_MARK => ByteOrder::Little,
                mark if mark.swap_bytes() == ORDER_MARK => ByteOrder::Big,
                found => return Err(Problem::ByteOrder { found }),
            };
        }
        let [kind, length] = order.words(bytes);
        let block = Self { kind, length, order: *order };
        if !length.is_multiple_of(4) {
            return Err(Problem::Alignment { claimed: length });
        }
        block.check_length(LEAST, u32::MAX as usize)?;
        Ok(block)
    }

    /// Bytes of the whole block.
    pub(super) const fn length(&self) -> usize {
        self.length as usize
    }

    /// Waits for the whole block, and gives what is between its lengths.
    pub(super) fn body<'w>(&self, window: &'w mut ReadBuffer) -> Result<&'w [u8], Problem> {
        self.check_length(LEAST, LARGEST_BLOCK)?;
        let bytes = window.need(self.length(), "a block")?;
        let (body, end) = bytes[HEADER..self.length()].split_at(self.length() - LEAST);
        let [last] = self.order.words(end);
        self.check_end(last)?;
        Ok(body)
    }

    /// Whether it is short enough for [`body`](Self::body).
    pub(super) const fn is_readable(&self) -> bool {
        self.length() <= LARGEST_BLOCK
    }

    /// Leaves the whole block out, however long it is.
    pub(super) fn skip(&self, window: &mut ReadBuffer) -> Result<(), Problem> {
        let end = window.skip_to_end::<TRAILER>(u64::from(self.length), "a block")?;
        self.check_end(self.order.u32(end))
    }

    /// Section 4.1: byte order mark, version, length of the section, options.
    pub(super) fn check_section(&self, window: &mut ReadBuffer) -> Result<(), Problem> {
        self.check_length(LEAST + 16, LARGEST_BLOCK)?;
        let &[_, _, _, _, a, b, c, d, ..] = self.body(window)? else {
            unreachable!("16 bytes are there");
        };
        match (self.order.u16([a, b]), self.order.u16([c, d])) {
            // "Some pcapng file writers have used a minor version of 2 […] equivalent to 1.0".
            (1, 0 | 2) => Ok(()),
            (major, minor) => Err(Problem::Version { expected: "1.0", major, minor }),
        }
    }

    fn check_length(&self, least: usize, most: usize) -> Result<(), Problem> {
        if (least..=most).contains(&self.length()) {
            return Ok(());
        }
        let (claimed, least, most) = (u64::from(self.length), least as u64, most as u64);
        Err(Problem::Length { what: "a block", claimed, least, most })
    }

    const fn check_end(&self, last: u32) -> Result<(), Problem> {
        if last == self.length {
            return Ok(());
        }
        Err(Problem::BlockEnd { first: self.length, last })
    }
}

/// Whether `bytes` begin with a whole block. A section's byte order is its own.
pub(super) fn is_whole_in(bytes: &[u8], order: ByteOrder) -> bool {
    if bytes.len() < LEAST {
        return false;
    }
    let [kind, length, mark] = order.words(bytes);
    let is_swapped = kind == kind::SECTION_HEADER && mark.swap_bytes() == ORDER_MARK;
    let length = if is_swapped { length.swap_bytes() } else { length };
    length as usize <= bytes.len()
}

/// Walks code and value of each option (section 3.5). One that runs past the end is the end: what a
/// block is about stands before its options, and is not lost for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> Options<'a> {
    /// The options in `body` from byte `at` on.
    pub(super) fn of(body: &'a [u8], at: usize, order: ByteOrder) -> Self {
        Self { bytes: body.get(at..).unwrap_or_default(), order }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&[a, b, c, d], rest) = self.bytes.split_first_chunk()?;
        let (code, length) = (self.order.u16([a, b]), usize::from(self.order.u16([c, d])));
        let value = rest.get(..length)?;
        self.bytes = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        (code != END_OF_OPTIONS).then_some((code, value))
    }
}

/// The first `N` bytes of the body of a `what`.
pub(super) fn fixed<'a, const N: usize>(
    body: &'a [u8],
    what: &'static str,
) -> Result<(&'a [u8; N], &'a [u8]), Problem> {
    let (claimed, least, most) = (body.len() as u64, N as u64, LARGEST_PACKET as u64);
    body.split_first_chunk().ok_or(Problem::Length { what, claimed, least, most })
}

/// Bytes of a block before its body: type and length.
pub(super) const HEADER: usize = 8;
/// Bytes behind the body: the length again.
const TRAILER: usize = 4;
/// Bytes of a block without a body.
const LEAST: usize = HEADER + TRAILER;
const ORDER_MARK: u32 = 0x1a2b_3c4d;

/// The longest block that is looked into, in bytes: a packet and as much of comments. Others are
/// skipped without being kept.
const LARGEST_BLOCK: usize = 2 * LARGEST_PACKET;

/// The option that ends the options.
const END_OF_OPTIONS: u16 = 0;
