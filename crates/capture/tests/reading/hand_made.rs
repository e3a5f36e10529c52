//! Captures written byte by byte, as the drafts draw them, and what is read of them.

use std::io::{Cursor, Read};

use ackwise_capture::read::{Frame, HostDirection, ReadError, Source};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) const BOTH: [Self; 2] = [Self::Little, Self::Big];

    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u64(self, value: u64) -> [u8; 8] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn words(self, values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|&value| self.u32(value)).collect()
    }
}

/// A pcap file: magic number, link type, and packets of (seconds, ticks, original length, bytes).
pub(crate) fn pcap(
    order: Order,
    magic: u32,
    link_type: u32,
    packets: &[(u32, u32, u32, &[u8])],
) -> Vec<u8> {
    let mut file = [&order.u32(magic)[..], &order.u16(2), &order.u16(4)].concat();
    file.extend(order.words(&[0, 0, 262_144, link_type]));
    for &(seconds, ticks, original, bytes) in packets {
        let captured = u32::try_from(bytes.len()).unwrap();
        file.extend(order.words(&[seconds, ticks, captured, original]));
        // The "modified" format has interface and protocol here.
        file.extend(if magic == 0xa1b2_cd34 { &[7; 8][..] } else { &[] });
        file.extend(bytes);
    }
    file
}

/// A block: `body` is padded.
pub(crate) fn block(order: Order, kind: u32, mut body: Vec<u8>) -> Vec<u8> {
    body.resize(body.len().next_multiple_of(4), 0xee);
    let length = order.u32(u32::try_from(body.len() + 12).unwrap());
    [&order.u32(kind)[..], &length, &body, &length].concat()
}

pub(crate) fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend([order.u16(1), order.u16(0)].concat());
    body.extend(order.u64(u64::MAX));
    block(order, 0x0a0d_0d0a, body)
}

pub(crate) fn interface(
    order: Order,
    link_type: u16,
    snap_length: u32,
    options: &[(u16, &[u8])],
) -> Vec<u8> {
    let mut body = [order.u16(link_type), [0; 2]].concat();
    body.extend(order.u32(snap_length));
    body.extend(self::options(order, options));
    block(order, 1, body)
}

pub(crate) fn enhanced(
    order: Order,
    interface: u32,
    ticks: u64,
    original: u32,
    bytes: &[u8],
    options: &[(u16, &[u8])],
) -> Vec<u8> {
    let [high, low] = [ticks >> 32, ticks & 0xffff_ffff].map(|half| u32::try_from(half).unwrap());
    let captured = u32::try_from(bytes.len()).unwrap();
    let mut body = order.words(&[interface, high, low, captured, original]);
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0xee);
    body.extend(self::options(order, options));
    block(order, 6, body)
}

pub(crate) fn statistics(order: Order, interface: u32, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = order.words(&[interface, 0, 0]);
    body.extend(self::options(order, options));
    block(order, 5, body)
}

pub(crate) fn options(order: Order, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut list = Vec::new();
    for (code, value) in options {
        list.extend([order.u16(*code), order.u16(u16::try_from(value.len()).unwrap())].concat());
        list.extend(*value);
        list.resize(list.len().next_multiple_of(4), 0);
    }
    list.extend([0; 4]);
    list
}

/// What a [`Frame`] says, without borrowing.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Kept {
    pub(crate) number: u64,
    pub(crate) nanos: u64,
    pub(crate) interface: u32,
    pub(crate) link_type: u16,
    pub(crate) original: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) direction: Option<HostDirection>,
    pub(crate) lost_before: u64,
}

impl Kept {
    fn of(frame: &Frame<'_>) -> Self {
        let Frame { number, at, interface, link_type, .. } = *frame;
        Self {
            number,
            nanos: at.as_nanos(),
            interface,
            link_type: link_type.0,
            original: frame.original_len,
            bytes: frame.bytes.to_vec(),
            direction: frame.direction,
            lost_before: frame.lost_before,
        }
    }
}

/// Everything that a source gives, and every error.
pub(crate) fn all(source: &mut Source) -> (Vec<Kept>, Vec<ReadError>) {
    let (mut frames, mut errors) = (Vec::new(), Vec::new());
    loop {
        match source.next() {
            Ok(Some(frame)) => frames.push(Kept::of(&frame)),
            Ok(None) => return (frames, errors),
            Err(error) => errors.push(error),
        }
        assert!(errors.len() < 100, "it never ends: {:?}", errors.last());
    }
}

pub(crate) fn source(file: &[u8]) -> Source {
    Source::of("made by hand", Cursor::new(file.to_vec()))
}

pub(crate) fn frames(file: &[u8]) -> Vec<Kept> {
    let (frames, errors) = all(&mut source(file));
    assert!(errors.is_empty(), "{}", errors[0]);
    frames
}

/// An input that gives a few bytes at a time, as pipes do.
pub(crate) struct Dripping(pub(crate) Cursor<Vec<u8>>, pub(crate) usize);

impl Read for Dripping {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }
}
