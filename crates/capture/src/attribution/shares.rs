//! The shares of an exchange that is over, in few bytes.

use std::{fmt, time::Duration};

use ackwise_cause::{Cause, Direction};

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
        /// Enough for a few shares. Our choice.
        const USUAL: usize = 128;
        let mut bytes = Vec::with_capacity(USUAL);
        for share in shares {
            write(&share, &mut bytes);
        }
        // A copy costs less than giving back what is too much.
        Self(bytes.as_slice().into())
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

const DIRECTION: u64 = 1;
/// The longest piece is all there is.
const ONE_PIECE: u64 = 1 << 1;
const CONFIDENCE: u32 = 2;
/// The rival or the kind of loss comes next.
const DETAILS: u32 = 4;
const CAUSE: u32 = 5;

/// A kind of loss takes this many bits.
const KIND_BITS: u32 = 3;

const CONFIDENCES: [Confidence; 3] = [Confidence::Low, Confidence::Medium, Confidence::High];

fn write(share: &Share, bytes: &mut Vec<u8>) {
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
        rule,
        doubt,
    } = share;
    let place = *cause as u64;
    let sure = CONFIDENCES.iter().position(|it| it == confidence).unwrap_or_default() as u64;
    let one_piece = span == longest;
    let back = u64::from(*direction == Direction::ToClient);
    let details = details(*rival, *kind);
    let has_details = u64::from(details > 0);
    let first = place << CAUSE
        | has_details << DETAILS
        | sure << CONFIDENCE
        | u64::from(one_piece) << 1
        | back;
    push(first, bytes);
    if details > 0 {
        push(details, bytes);
    }
    push(rules(*rule, *doubt), bytes);
    push(nanos(*span), bytes);
    push(u64::from(*times), bytes);
    if !one_piece {
        push(nanos(*longest), bytes);
    }
    let mut before = 0;
    for number in evidence.numbers() {
        // No packet has the number 0; most are near to the one before.
        push(if number == 0 { 0 } else { 1 + zigzag(number.wrapping_sub(before)) }, bytes);
        before = number;
    }
}

fn read(bytes: &mut &[u8]) -> Option<Share> {
    let first = pull(bytes)?;
    let details = if first >> DETAILS & 1 == 0 { 0 } else { pull(bytes)? };
    let rival = details >> KIND_BITS;
    let kind = details & ((1 << KIND_BITS) - 1);
    let rules = pull(bytes)?;
    let span = Duration::from_nanos(pull(bytes)?);
    let times = u32::try_from(pull(bytes)?).unwrap_or(u32::MAX);
    let one_piece = first & ONE_PIECE != 0;
    let longest = if one_piece { span } else { Duration::from_nanos(pull(bytes)?) };
    let mut numbers = [0; Evidence::MAX];
    let mut before = 0_u64;
    for number in &mut numbers {
        if let Some(step) = pull(bytes)?.checked_sub(1) {
            *number = before.wrapping_add(unzigzag(step));
        }
        before = *number;
    }
    let sure = usize::try_from(first >> CONFIDENCE & 3).ok()?;
    let direction = if first & DIRECTION == 0 { Direction::ToServer } else { Direction::ToClient };
    Some(Share {
        cause: cause(first >> CAUSE)?,
        direction,
        span,
        times,
        longest,
        evidence: Evidence::of(numbers),
        confidence: *CONFIDENCES.get(sure)?,
        rival: rival.checked_sub(1).and_then(cause),
        kind: kind.checked_sub(1).and_then(loss_kind),
        rule: rule(rules & ((1 << RULE_BITS) - 1))?,
        doubt: (rules >> RULE_BITS).checked_sub(1).and_then(rule),
    })
}

/// Both counted from 1, so that 0 is none of them.
fn details(rival: Option<Cause>, kind: Option<LossKind>) -> u64 {
    let rival = rival.map_or(0, |it| it as u64 + 1);
    rival << KIND_BITS | kind.map_or(0, |it| it as u64 + 1)
}

/// A rule takes this many bits: with no doubt, one byte.
const RULE_BITS: u32 = 7;

/// The doubt counted from 1, so that 0 is none of them.
fn rules(rule: Rule, doubt: Option<Rule>) -> u64 {
    doubt.map_or(0, |it| it as u64 + 1) << RULE_BITS | rule as u64
}

fn rule(place: u64) -> Option<Rule> {
    Rule::ALL.get(usize::try_from(place).ok()?).copied()
}

fn loss_kind(place: u64) -> Option<LossKind> {
    LossKind::ALL.get(usize::try_from(place).ok()?).copied()
}

fn cause(place: u64) -> Option<Cause> {
    Cause::ALL.get(usize::try_from(place).ok()?).copied()
}

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

/// Seven bits in each byte, the low ones first (LEB128).
fn push(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn pull(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes.split_off_first()?;
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
        let doubt = prop_oneof![Just(None), (0..Rule::ALL.len()).prop_map(Some)];
        let causes = (0..Cause::ALL.len(), rival, kind, 0..Rule::ALL.len(), doubt);
        (causes, any::<bool>(), 0..3_usize, spans, any::<u32>(), packets).prop_map(
            |((cause, rival, kind, rule, doubt), back, sure, (span, longest), times, packets)| {
                Share {
                    cause: Cause::ALL[cause],
                    direction: if back { Direction::ToClient } else { Direction::ToServer },
                    span: Duration::from_nanos(span),
                    times,
                    longest: Duration::from_nanos(longest.unwrap_or(span)),
                    evidence: Evidence::of(packets),
                    confidence: CONFIDENCES[sure],
                    rival: rival.map(|it| Cause::ALL[it]),
                    kind: kind.map(|it| LossKind::ALL[it]),
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
            rule: Rule::NagleHeld,
            doubt: None,
        };
        let kept: Shares = [share].into_iter().collect();
        assert!(kept.0.len() <= 2 + 1 + 4 + 1 + 3 + 1 + 1, "{:?}", kept.0);
    }
}
