//! A sliding window over the bytes of a capture.

use std::io::{self, ErrorKind, Read};

use super::Problem;

/// Gives whole records as slices, however the bytes arrive: nobody waits for more than was asked
/// for.
pub(super) struct ReadBuffer {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// What was read and not yet consumed is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Where `start` is in the capture.
    offset: u64,
    /// Where the record began that is being read.
    record_offset: u64,
    /// Whether to read until the buffer is full: from a file, that takes no time.
    fills_up: bool,
    /// What went wrong behind the bytes that are there.
    failure: Option<io::Error>,
}

impl ReadBuffer {
    pub(super) fn new(input: Box<dyn Read + Send>) -> Self {
        Self {
            input,
            buffer: vec![0; USUAL],
            start: 0,
            end: 0,
            offset: 0,
            record_offset: 0,
            fills_up: false,
            failure: None,
        }
    }

    /// One that reads as much as it has room for, whenever it reads: of a file.
    pub(super) fn that_fills_up(input: Box<dyn Read + Send>) -> Self {
        Self { fills_up: true, ..Self::new(input) }
    }

    /// Hands over the buffer with all that was consumed of it, and goes on with `next`. What was not
    /// consumed yet is copied.
    pub(super) fn exchange(&mut self, next: &mut Vec<u8>) {
        let rest = self.bytes();
        if next.len() < USUAL.max(rest.len()) {
            next.resize(USUAL.max(rest.len()), 0);
        }
        next[..rest.len()].copy_from_slice(rest);
        (self.start, self.end) = (0, rest.len());
        std::mem::swap(&mut self.buffer, next);
    }

    /// Bytes from the beginning of the capture to the record that was begun last.
    pub(super) const fn record_offset(&self) -> u64 {
        self.record_offset
    }

    /// What is there already.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Waits until `needed` bytes of a `what` are there, and gives all that are. The callers see
    /// to it that `needed` is bounded.
    pub(super) fn need(&mut self, needed: usize, what: &'static str) -> Result<&[u8], Problem> {
        while self.end - self.start < needed {
            if self.refill(needed)? == 0 {
                let (needed, found) = (needed as u64, (self.end - self.start) as u64);
                return Err(Problem::CutOff { what, needed, found });
            }
        }
        Ok(self.bytes())
    }

    /// Says that a record begins here.
    #[inline(always)]
    pub(super) const fn note_record(&mut self) {
        self.record_offset = self.offset;
    }

    /// Says that a record begins here. Whether there is none any more; waits for a byte to find
    /// out.
    pub(super) fn begin_record(&mut self) -> Result<bool, Problem> {
        self.note_record();
        self.is_over()
    }

    fn is_over(&mut self) -> Result<bool, Problem> {
        Ok(self.start == self.end && self.refill(1)? == 0)
    }

    /// Leaves out bytes that [`need`](Self::need) has given.
    #[inline(always)]
    pub(super) fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.end - self.start, "consumes what it has not got");
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Skips `bytes` of a `what` without keeping them, except the last `N`, which it returns.
    pub(super) fn skip_to_end<const N: usize>(
        &mut self,
        bytes: u64,
        what: &'static str,
    ) -> Result<[u8; N], Problem> {
        let mut left = bytes;
        while left > N as u64 && !self.is_over()? {
            let here = self.bytes().len();
            let step = usize::try_from(left - N as u64).map_or(here, |left| left.min(here));
            self.consume(step);
            left -= step as u64;
        }
        while self.end - self.start < N && self.refill(N)? > 0 {}
        let Some(&end) = self.bytes().first_chunk() else {
            let found = bytes - left + self.bytes().len() as u64;
            return Err(Problem::CutOff { what, needed: bytes, found });
        };
        self.consume(N);
        Ok(end)
    }

    /// Reads, into a buffer in which `needed` bytes have a place. Gives how many bytes came: none at the
    /// end.
    fn refill(&mut self, needed: usize) -> Result<usize, Problem> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        let mut came = 0;
        while self.end < self.buffer.len() {
            match self.read() {
                Ok(0) => break,
                Ok(bytes) => came += bytes,
                Err(error) if came == 0 => return Err(Problem::Input(error)),
                Err(error) => {
                    self.failure = Some(error);
                    break;
                }
            }
            if !self.fills_up {
                break;
            }
        }
        Ok(came)
    }

    /// Reads once.
    fn read(&mut self) -> io::Result<usize> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(bytes);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Bytes of a buffer into which all but unusual records fit: it stays in the processor's cache.
const USUAL: usize = 256 << 10;
