//! The frames of a WebSocket (RFC 6455, section 5.2), by their headers.

use ackwise_cause::Direction;

use super::{
    super::{
        MessageNews,
        span::Span,
        token::{TokenKind, Tokens},
    },
    Unreadable,
};

/// Follows the frames of one direction.
#[derive(Clone, Debug)]
pub(in super::super) struct Frames {
    /// Section 5.1: "a client MUST mask all frames that it sends to the server", and "a server MUST NOT mask any frames".
    masked: bool,
    /// What was seen of a header.
    header: [u8; Self::LONGEST_HEADER],
    seen: usize,
    /// Bytes of the payload that are to come; `None` within a header.
    left: Option<u64>,
    /// The frame is the last of its message, or a control frame.
    frame: Frame,
    /// A message is under way: between its fragments, too.
    within: bool,
}

/// What the end of a frame means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Frame {
    Fragment,
    Last,
    Control,
}

impl Frames {
    /// Two bytes, a length of 64 bits, a key.
    const LONGEST_HEADER: usize = 14;

    pub(in super::super) const fn new(direction: Direction) -> Self {
        Self {
            masked: matches!(direction, Direction::ToServer),
            header: [0; Self::LONGEST_HEADER],
            seen: 0,
            left: None,
            frame: Frame::Fragment,
            within: false,
        }
    }

    /// Whether a message is under way.
    pub(super) const fn is_within(&self) -> bool {
        self.within
    }

    /// Bytes of a header that is under way.
    pub(super) const fn header_bytes(&self) -> u64 {
        self.seen as u64
    }

    pub(super) fn read(
        &mut self,
        span: &mut Span<'_>,
        tokens: &mut Tokens<'_>,
        news: &mut MessageNews,
    ) -> Result<(), Unreadable> {
        while !span.is_empty() {
            match &mut self.left {
                Some(left) => {
                    let taken = (*left).min(span.len());
                    span.take(taken);
                    *left -= taken;
                }
                None => self.read_header(span, tokens, news)?,
            }
            if self.left == Some(0) {
                self.end_frame(news);
            }
        }
        Ok(())
    }

    /// Takes what is next of a header.
    fn read_header(
        &mut self,
        span: &mut Span<'_>,
        tokens: &mut Tokens<'_>,
        news: &mut MessageNews,
    ) -> Result<(), Unreadable> {
        let at = span.at() - self.seen as u64;
        while self.seen < self.header_length() {
            let Some(&byte) = span.bytes().first() else {
                return if span.is_empty() { Ok(()) } else { Err(Unreadable) };
            };
            span.take(1);
            self.header[self.seen] = byte;
            self.seen += 1;
            match self.seen {
                1 => self.begin_frame(byte, news)?,
                2 => self.check_length(byte)?,
                _ => {}
            }
        }
        let (header, length) = (self.header, self.seen);
        self.left = Some(self.payload_length()?);
        self.seen = 0;
        tokens.push(at, || {
            let key = if self.masked { MASKING_KEY } else { 0 };
            // The key says nothing without the payload.
            let shown = header[..length - key].iter().copied();
            TokenKind::Framing(shown.chain(std::iter::repeat_n(0, key)).collect())
        });
        Ok(())
    }

    /// As long as the bytes that were seen say that it is.
    const fn header_length(&self) -> usize {
        if self.seen < 2 {
            return 2;
        }
        let extended = match self.header[1] & LENGTH {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        2 + extended + if self.masked { MASKING_KEY } else { 0 }
    }

    fn payload_length(&self) -> Result<u64, Unreadable> {
        let extended = &self.header[2..];
        match self.header[1] & LENGTH {
            126 => Ok(u64::from(u16::from_be_bytes([extended[0], extended[1]]))),
            127 => {
                let length = extended.first_chunk().map(|it| u64::from_be_bytes(*it));
                // Section 5.2: "the most significant bit MUST be 0".
                length.filter(|it| it >> 63 == 0).ok_or(Unreadable)
            }
            length => Ok(length.into()),
        }
    }

    /// Section 5.4: fragments of one message are not interleaved with those of another, but with control frames.
    fn begin_frame(&mut self, first: u8, news: &mut MessageNews) -> Result<(), Unreadable> {
        // RSV1 is that of permessage-deflate (RFC 7692, section 6); nobody has a use for the other two.
        if first & (RSV2 | RSV3) != 0 {
            return Err(Unreadable);
        }
        let is_last = first & FIN != 0;
        match (first & OPCODE, self.within) {
            (TEXT | BINARY, false) => {
                self.within = true;
                news.begun = news.begun.saturating_add(1);
            }
            (CONTINUATION, true) => {}
            // Section 5.5: control frames "MUST NOT be fragmented".
            (CLOSE..=PONG, _) if is_last => {
                self.frame = Frame::Control;
                return Ok(());
            }
            _ => return Err(Unreadable),
        }
        self.frame = if is_last { Frame::Last } else { Frame::Fragment };
        Ok(())
    }

    fn check_length(&self, second: u8) -> Result<(), Unreadable> {
        let is_short = second & LENGTH < 126;
        let is_masked = second & MASK != 0;
        // Section 5.5: control frames "MUST have a payload length of 125 bytes or less".
        match is_masked == self.masked && (is_short || self.frame != Frame::Control) {
            true => Ok(()),
            false => Err(Unreadable),
        }
    }

    const fn end_frame(&mut self, news: &mut MessageNews) {
        self.left = None;
        match self.frame {
            Frame::Fragment => {}
            Frame::Last => {
                self.within = false;
                news.ended = news.ended.saturating_add(1);
            }
            Frame::Control => news.control = news.control.saturating_add(1),
        }
    }
}

/// Bytes of a key.
const MASKING_KEY: usize = 4;

/// Of the first byte of a frame.
const FIN: u8 = 0x80;
const RSV2: u8 = 0x20;
const RSV3: u8 = 0x10;
const OPCODE: u8 = 0x0f;

/// Of the second.
const MASK: u8 = 0x80;
const LENGTH: u8 = 0x7f;

/// Opcodes.
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PONG: u8 = 10;

#[cfg(test)]
mod tests {
    use super::{super::MessageReader, *};
    use crate::conversation::token::Token;

    fn news(begun: u32, ended: u32, control: u32) -> MessageNews {
        MessageNews { begun, ended, control, ..MessageNews::default() }
    }

    fn read(direction: Direction, pieces: &[&[u8]]) -> MessageNews {
        let mut reader = MessageReader::WebSocket(Frames::new(direction));
        let mut at = 0;
        let mut all = MessageNews::default();
        for bytes in pieces {
            let mut span = Span::segment(at, bytes.len() as u64, bytes);
            at = span.end();
            all.add(reader.read(&mut span, &mut Tokens::new(direction, None)));
        }
        all
    }

    /// A frame of a client.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        [&[first, MASK | length, 1, 2, 3, 4], payload].concat()
    }

    #[test]
    fn frames_are_read_in_whatever_pieces_they_come() {
        let long = [&[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0][..], &[7; 65_536]].concat();
        let medium = [&[0xc1, 126, 1, 0][..], &[7; 256]].concat();
        let server = [&[0x81, 2, b'h', b'i'][..], &medium, &long, &[0x89, 0], &[0x81, 0]].concat();
        for size in [1, 2, 3, 7, 100, 70_000] {
            let pieces: Vec<_> = server.chunks(size).collect();
            assert_eq!(read(Direction::ToClient, &pieces), news(4, 4, 1), "{size}");
        }
    }

    #[test]
    fn a_message_goes_on_between_its_fragments_and_past_control_frames() {
        let mut reader = MessageReader::WebSocket(Frames::new(Direction::ToServer));
        let mut at = 0;
        for (bytes, expected) in [
            (masked(0x01, b"abc"), news(1, 0, 0)),
            (masked(0x89, b""), MessageNews { continues: true, ..news(0, 0, 1) }),
            (masked(0x00, b"d"), MessageNews { continues: true, ..news(0, 0, 0) }),
            (masked(0x80, b""), MessageNews { continues: true, ..news(0, 1, 0) }),
            (masked(0x8a, b"e"), news(0, 0, 1)),
            ([masked(0x81, b"f"), masked(0x82, b"g")].concat(), news(2, 2, 0)),
        ] {
            let mut span = Span::segment(at, bytes.len() as u64, &bytes);
            at = span.end();
            let found = reader.read(&mut span, &mut Tokens::new(Direction::ToServer, None));
            assert_eq!(found, expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_frame_ends_the_reading() {
        for (name, bytes) in [
            ("masked by a server", &[0x81, 0x80, 0, 0, 0, 0][..]),
            ("an opcode without a meaning", &[0x83, 0]),
            ("reserved bits", &[0xa1, 0]),
            ("a fragment of nothing", &[0x80, 0]),
            ("a control frame in fragments", &[0x09, 0]),
            ("a long control frame", &[0x89, 126, 0, 126]),
            ("a negative length", &[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]),
            ("a message within another", &[0x01, 0, 0x01, 0]),
        ] {
            let bytes = [bytes, &[0x81, 0]].concat();
            let found = read(Direction::ToClient, &[&bytes]);
            assert!(found.lost && found.ended == 0, "{name}: {found:?}");
        }
        assert!(read(Direction::ToServer, &[&[0x81, 0]]).lost, "a client that does not mask");
    }

    #[test]
    fn a_payload_need_not_be_captured_and_a_header_must() {
        let mut reader = MessageReader::WebSocket(Frames::new(Direction::ToClient));
        let mut tokens = Tokens::new(Direction::ToClient, None);
        let mut read = |mut span: Span<'_>| reader.read(&mut span, &mut tokens);
        assert_eq!(read(Span::segment(0, 50, &[0x82, 100, 1, 2])), news(1, 0, 0));
        let missing = MessageNews { continues: true, ..news(0, 0, 0) };
        assert_eq!(read(Span::gap(50, 40)), missing, "within a payload");
        assert_eq!(read(Span::segment(90, 12, &[0; 12])), MessageNews { ended: 1, ..missing });
        assert_eq!(read(Span::segment(102, 2, &[0x82, 0])), news(1, 1, 0));
        let lost = MessageNews { lost: true, ..news(0, 0, 0) };
        assert_eq!(read(Span::gap(104, 1)), lost);
        assert_eq!(read(Span::segment(105, 2, &[0x82, 0])), news(0, 0, 0));
    }

    #[test]
    fn of_a_frame_the_header_stays_without_its_key() {
        let bytes = masked(0x81, b"secret");
        let mut queue = std::collections::VecDeque::new();
        let mut tokens = Tokens::new(Direction::ToServer, Some(&mut queue));
        let mut reader = MessageReader::WebSocket(Frames::new(Direction::ToServer));
        reader.read(&mut Span::segment(0, 3, &bytes[..3]), &mut tokens);
        reader.read(&mut Span::segment(3, 9, &bytes[3..]), &mut tokens);
        let kind = TokenKind::Framing(vec![0x81, 0x86, 0, 0, 0, 0]);
        assert_eq!(queue, [Token { direction: Direction::ToServer, at: 0, kind }]);
    }
}
