//! Options of a block.

use super::super::order::ByteOrder;

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
        (code != END).then_some((code, value))
    }
}

const END: u16 = 0;
