//! What delimits the chunks of a body: their sizes, and ends of lines (RFC 9112, section 7.1).

/// Follows a chunked body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chunks {
    state: State,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    #[default]
    Size,
    SizeDigits(u64),
    Extension(u64),
    SizeLf(u64),
    Data(u64),
    DataCr,
    DataLf,
    Trailer,
    /// Where nobody knows.
    Over,
}

impl Chunks {
    /// Gives `keep` the pieces of `bytes` that are no data, masked, and their places.
    pub(crate) fn pass(&mut self, bytes: &[u8], mut keep: impl FnMut(usize, Vec<u8>)) {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Over {
            if let State::Data(left) = self.state {
                let passed = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - at);
                self.skip(passed as u64);
                at += passed;
                continue;
            }
            let framing = self.framing(&bytes[at..]);
            let length = framing.len();
            keep(at, framing);
            at += length;
        }
    }

    /// Passes over bytes that were not captured.
    pub(crate) const fn skip(&mut self, bytes: u64) {
        self.state = match self.state {
            state if bytes == 0 => state,
            State::Data(left) if bytes < left => State::Data(left - bytes),
            State::Data(left) if bytes == left => State::DataCr,
            _ => State::Over,
        };
    }

    /// Whether nobody knows any more where chunks begin.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// The bytes up to the next data.
    fn framing(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut masked = Vec::new();
        for &byte in bytes {
            if matches!(self.state, State::Data(_) | State::Over) {
                break;
            }
            masked.push(self.mask(byte));
        }
        masked
    }

    /// A byte of framing as it is kept: one that cannot be there is zero, which cannot be there
    /// either.
    fn mask(&mut self, byte: u8) -> u8 {
        const BROKEN: (State, u8) = (State::Over, 0);
        let digit = char::from(byte).to_digit(16).map(u64::from);
        let (state, kept) = match (self.state, byte, digit) {
            (State::Size, _, Some(digit)) => (State::SizeDigits(digit), byte),
            (State::SizeDigits(size), _, Some(digit)) => match size.checked_mul(16) {
                Some(size) => (State::SizeDigits(size + digit), byte),
                None => BROKEN,
            },
            (State::SizeDigits(size) | State::Extension(size), b'\r', _) => {
                (State::SizeLf(size), byte)
            }
            (State::SizeDigits(size), b';' | b' ' | b'\t', _) => (State::Extension(size), byte),
            (State::Extension(size), 0..=8 | 11..=255, _) => (State::Extension(size), b'x'),
            (State::SizeLf(0), b'\n', _) => (State::Trailer, byte),
            (State::SizeLf(size), b'\n', _) => (State::Data(size), byte),
            (State::DataCr, b'\r', _) => (State::DataLf, byte),
            (State::DataLf, b'\n', _) => (State::Size, byte),
            // Its lines end as a head's do. Who follows the message says when it has ended.
            (State::Trailer, b'\r' | b'\n', _) => (State::Trailer, byte),
            (State::Trailer, _, _) => (State::Trailer, b'x'),
            _ => BROKEN,
        };
        self.state = state;
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stay_and_data_goes_however_the_body_is_cut() {
        let body =
            b"5;secret=1\r\nhello\r\n1F\r\n0123456789abcdef0123456789abcde\r\n0\r\nA: b\r\n\r\n";
        let expected = b"5;xxxxxxxx\r\n\0\0\0\0\0\r\n1F\r\n\
              \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\r\n0\r\nxxxx\r\n\r\n";
        for size in 1..body.len() {
            let (mut chunks, mut masked) = (Chunks::default(), vec![0; body.len()]);
            for (number, piece) in body.chunks(size).enumerate() {
                chunks.pass(piece, |at, bytes| {
                    masked[number * size + at..][..bytes.len()].copy_from_slice(&bytes);
                });
            }
            assert_eq!(masked.escape_ascii().to_string(), expected.escape_ascii().to_string());
        }
    }

    #[test]
    fn what_cannot_be_there_still_cannot() {
        let mut kept = Vec::new();
        Chunks::default().pass(b"2\r\nabsecret", |at, bytes| kept.push((at, bytes)));
        assert_eq!(kept, [(0, b"2\r\n".to_vec()), (5, vec![0])]);
    }
}
