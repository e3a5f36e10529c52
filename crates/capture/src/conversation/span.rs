//! A piece of one stream that is read from the front.

/// Where in a connection bytes begin.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Start {
    #[default]
    Beginning,
    /// The capture does not show the beginning.
    Middle,
}

/// Where a message begins or ends, and whether the position is `exact` as of an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Edge {
    pub(super) at: u64,
    pub(super) exact: bool,
}

impl Edge {
    pub(super) const fn exact(at: u64) -> Self {
        Self { at, exact: true }
    }

    pub(super) const fn guessed(at: u64) -> Self {
        Self { at, exact: false }
    }
}

/// What the capture holds of some bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Captured<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) is_whole: bool,
}

/// Bytes of a stream, of which the capture holds the first few, all or none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<'a> {
    at: u64,
    len: u64,
    bytes: &'a [u8],
    begins_segment: bool,
    is_gap: bool,
}

impl<'a> Span<'a> {
    /// What one segment carries.
    pub(super) fn segment(at: u64, len: u64, bytes: &'a [u8]) -> Self {
        // A capture that lies about its lengths shows at most what was sent.
        let shown = usize::try_from(len).map_or(bytes.len(), |len| len.min(bytes.len()));
        let len = len.min(u64::MAX - at);
        Self { at, len, bytes: &bytes[..shown], begins_segment: true, is_gap: false }
    }

    /// What the capture does not show.
    pub(super) const fn gap(at: u64, len: u64) -> Self {
        Self { at, len, bytes: &[], begins_segment: false, is_gap: true }
    }

    /// Whether none of it was captured.
    pub(super) const fn is_gap(&self) -> bool {
        self.is_gap
    }

    /// Position of the first byte that is left.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }

    /// Position after the last one.
    pub(super) const fn end(&self) -> u64 {
        self.at + self.len
    }

    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the capture holds of the bytes that are left.
    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether bytes come after those that the capture holds.
    pub(super) const fn is_cut(&self) -> bool {
        (self.bytes.len() as u64) < self.len
    }

    /// Whether the byte at the front is the first of a segment.
    pub(super) const fn begins_segment(&self) -> bool {
        self.begins_segment
    }

    /// Takes up to `count` bytes off the front, and returns those of them that the capture holds.
    pub(super) fn take(&mut self, count: u64) -> &'a [u8] {
        let count = count.min(self.len);
        let shown = usize::try_from(count).map_or(self.bytes.len(), |n| n.min(self.bytes.len()));
        let (taken, rest) = self.bytes.split_at(shown);
        *self = Self {
            at: self.at + count,
            len: self.len - count,
            bytes: rest,
            begins_segment: self.begins_segment && count == 0,
            is_gap: self.is_gap,
        };
        taken
    }

    /// Takes everything.
    pub(super) fn take_all(&mut self) -> &'a [u8] {
        self.take(self.len)
    }
}
