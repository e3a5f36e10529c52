//! The shares of an exchange that is over, in few bytes.

use std::{fmt, time::Duration};

use ackwise_cause::{Cause, Direction, H2Window};

use super::{Confidence, Evidence, LossKind, Rule, Share};

/// What an exchange owes to each cause. A capture has many exchanges, and their shares are most of what
/// is kept of them: so they are kept as numbers of variable length, some 15 bytes each, and taken out
/// by value.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct Shares(Box<[u8]>);

impl Shares {
    /// Each share, in the order in which the causes first appeared.
    pub fn iter(&self) -> SharesIter<'_> {
        SharesIter(&self.0)
    }
}

impl Shares {
    /// Bytes that they take.
    pub(crate) const fn held(&self) -> usize {
        self.0.len()
    }
}

impl FromIterator<Share> for Shares {
    fn from_iter<I: IntoIterator<Item = Share>>(shares: I) -> Self {
        let (mut room, mut bytes) = (Room::new(), Vec::new());
        for share in shares {
            if room.is_full() {
                bytes.extend_from_slice(room.pushed());
                room.len = 0;
            }
            write(&share, &mut room);
        }
        bytes.extend_from_slice(room.pushed());
        Self(bytes.into())
    }
}

impl<'a> IntoIterator for &'a Shares {
    type Item = Share;
    type IntoIter = SharesIter<'a>;

    fn into_iter(self) -> SharesIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// Shares, one after the other.
#[derive(Clone, Debug)]
pub struct SharesIter<'a>(&'a [u8]);

impl Iterator for SharesIter<'_> {
    type Item = Share;

    fn next(&mut self) -> Option<Share> {
        read(&mut self.0)
    }
}

// A share begins with what is small: flags, the cause, the rule, and the rival and the doubt if it has them.
const BACK: u8 = 1;
/// The longest piece is all there is.
const ONE_PIECE: u8 = 1 << 1;
const CONFIDENCE: u32 = 2;
const HAS_RIVAL: u8 = 1 << 4;
/// Counted from 1, so that 0 is none of them: of a loss its kind, of flow control its windows.
const KIND: u32 = 5;
/// Beside the cause: there is one piece.
const ONCE: u8 = 1 << 7;
/// Beside the rule.
const HAS_DOUBT: u8 = 1 << 7;

const CONFIDENCES: [Confidence; 3] = [Confidence::Low, Confidence::Medium, Confidence::High];

#[inline(always)]
fn write(share: &Share, room: &mut Room) {
    let Share {
        cause,
        direction,
        span,
        times,
        longest,
        evidence,
        confidence,
        rival,
        kind,
        window,
        rule,
        doubt,
    } = *share;
    let one_piece = span == longest;
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let detail = match cause {
        Cause::H2FlowControl => window.map_or(0, |it| it as u8 + 1),
        _ => kind.map_or(0, |it| it as u8 + 1),
    };
    let flags = flag(direction == Direction::ToClient, BACK)
        | flag(one_piece, ONE_PIECE)
        | (confidence as u8) << CONFIDENCE
        | flag(rival.is_some(), HAS_RIVAL)
        | detail << KIND;
    let cause = cause as u8 | flag(times == 1, ONCE);
    let rule = rule as u8 | flag(doubt.is_some(), HAS_DOUBT);
    [flags, cause, rule].into_iter().for_each(|byte| room.push(byte));
    if let Some(rival) = rival {
        room.push(rival as u8);
    }
    if let Some(doubt) = doubt {
        room.push(doubt as u8);
    }
    room.push_number(nanos(span));
    if times != 1 {
        room.push_number(times.into());
    }
    if !one_piece {
        room.push_number(nanos(longest));
    }
    let mut before = 0;
    for number in evidence.numbers() {
        // No packet has the number 0; most are near to the one before.
        let step = if number == 0 { 0 } else { 1 + zigzag(number.wrapping_sub(before)) };
        room.push_number(step);
        before = number;
    }
}

/// Takes the first share out.
fn read(all: &mut &[u8]) -> Option<Share> {
    let (&[flags, cause, rule], mut bytes) = all.split_first_chunk()?;
    let rival = if flags & HAS_RIVAL == 0 { None } else { Some(pull_byte(&mut bytes)?) };
    let doubt = if rule & HAS_DOUBT == 0 { None } else { Some(pull_byte(&mut bytes)?) };
    let span = Duration::from_nanos(pull(&mut bytes)?);
    let once = cause & ONCE != 0;
    let times = if once { 1 } else { u32::try_from(pull(&mut bytes)?).unwrap_or(u32::MAX) };
    let one_piece = flags & ONE_PIECE != 0;
    let longest = if one_piece { span } else { Duration::from_nanos(pull(&mut bytes)?) };
    let mut numbers = [0; Evidence::MAX];
    let mut before = 0_u64;
    for number in &mut numbers {
        if let Some(step) = pull(&mut bytes)?.checked_sub(1) {
            *number = before.wrapping_add(unzigzag(step));
        }
        before = *number;
    }
    let of_cause = |place: u8| Cause::ALL.get(usize::from(place)).copied();
    let of_rule = |place: u8| Rule::ALL.get(usize::from(place)).copied();
    *all = bytes;
    let cause = of_cause(cause & !ONCE)?;
    let detail = (flags >> KIND).checked_sub(1).map(usize::from);
    let (of_window, of_loss) = match cause {
        Cause::H2FlowControl => (detail, None),
        _ => (None, detail),
    };
    Some(Share {
        cause,
        direction: if flags & BACK == 0 { Direction::ToServer } else { Direction::ToClient },
        span,
        times,
        longest,
        evidence: Evidence::of(numbers),
        confidence: *CONFIDENCES.get(usize::from(flags >> CONFIDENCE & 3))?,
        rival: rival.and_then(of_cause),
        kind: of_loss.and_then(|it| LossKind::ALL.get(it).copied()),
        window: of_window.and_then(|it| H2Window::ALL.get(it).copied()),
        rule: of_rule(rule & !HAS_DOUBT)?,
        doubt: doubt.and_then(of_rule),
    })
}

/// Each has a place beside a bit.
const _: () = assert!(Cause::ALL.len() <= 1 << 7 && Rule::ALL.len() <= 1 << 7);
/// So has each kind, and none.
const _: () = assert!(LossKind::ALL.len() < 1 << (u8::BITS - KIND));
const _: () = assert!(H2Window::ALL.len() < 1 << (u8::BITS - KIND));

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Small differences, whatever their sign, are small numbers. It keeps to 63 bits, so that one can be
/// added: captures have fewer packets.
const fn zigzag(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    (signed << 1 ^ signed >> 63).cast_unsigned() & (u64::MAX >> 1)
}

const fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Room for a few shares.
struct Room {
    bytes: [u8; Self::BYTES],
    len: usize,
}

impl Room {
    /// Enough for the shares of most exchanges. Our choice.
    const BYTES: usize = 256;
    /// The longest share: what is small, and six numbers of ten bytes.
    const LONGEST: usize = 5 + 6 * 10;

    const fn new() -> Self {
        Self { bytes: [0; Self::BYTES], len: 0 }
    }

    /// Whether another share may find no room.
    const fn is_full(&self) -> bool {
        self.len + Self::LONGEST > Self::BYTES
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Seven bits in each byte, the low ones first (LEB128).
    fn push_number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.push(number.to_le_bytes()[0]);
    }

    fn pushed(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

fn pull_byte(bytes: &mut &[u8]) -> Option<u8> {
    bytes.split_off_first().copied()
}

/// A number as [`Room::push_number`] has written it.
#[inline(always)]
fn pull(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = pull_byte(bytes)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_share() -> impl Strategy<Value = Share> {
        let spans = (any::<u64>(), prop_oneof![Just(None), any::<u64>().prop_map(Some)]);
        let packets = proptest::array::uniform3(prop_oneof![Just(0), 0..1_u64 << 60]);
        let rival = prop_oneof![Just(None), (0..Cause::ALL.len()).prop_map(Some)];
        let kind = prop_oneof![Just(None), (0..LossKind::ALL.len()).prop_map(Some)];
        let window = prop_oneof![Just(None), (0..H2Window::ALL.len()).prop_map(Some)];
        let doubt = prop_oneof![Just(None), (0..Rule::ALL.len()).prop_map(Some)];
        let causes = (0..Cause::ALL.len(), rival, (kind, window), 0..Rule::ALL.len(), doubt);
        (causes, any::<bool>(), 0..3_usize, spans, any::<u32>(), packets).prop_map(
            |((cause, rival, (kind, window), rule, doubt), back, sure, spans, times, packets)| {
                let (span, longest): (u64, Option<u64>) = spans;
                let is_window = Cause::ALL[cause] == Cause::H2FlowControl;
                Share {
                    cause: Cause::ALL[cause],
                    direction: if back { Direction::ToClient } else { Direction::ToServer },
                    span: Duration::from_nanos(span),
                    times,
                    longest: Duration::from_nanos(longest.unwrap_or(span)),
                    evidence: Evidence::of(packets),
                    confidence: CONFIDENCES[sure],
                    rival: rival.map(|it| Cause::ALL[it]),
                    kind: kind.filter(|_| !is_window).map(|it| LossKind::ALL[it]),
                    window: window.filter(|_| is_window).map(|it| H2Window::ALL[it]),
                    rule: Rule::ALL[rule],
                    doubt: doubt.map(|it| Rule::ALL[it]),
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(shares in proptest::collection::vec(any_share(), 0..6)) {
            let kept: Shares = shares.iter().copied().collect();
            prop_assert_eq!(kept.iter().collect::<Vec<_>>(), shares);
        }
    }

    #[test]
    fn a_usual_share_takes_few_bytes() {
        let share = Share {
            cause: Cause::NagleDelayedAck,
            direction: Direction::ToClient,
            span: Duration::from_micros(43_701),
            times: 1,
            longest: Duration::from_micros(43_701),
            evidence: Evidence::of([1_000_000, 1_000_001, 1_000_002]),
            confidence: Confidence::High,
            rival: None,
            kind: None,
            window: None,
            rule: Rule::NagleHeld,
            doubt: None,
        };
        let kept: Shares = [share].into_iter().collect();
        assert!(kept.0.len() <= 2 + 1 + 4 + 1 + 3 + 1 + 1, "{:?}", kept.0);
    }
}
