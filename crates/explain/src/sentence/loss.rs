//! What was lost, and where.

use std::{collections::BTreeMap, time::Duration};

use ackwise_capture::{
    analysis::Analysis,
    attribution::{LossKind, Vantage},
};
use ackwise_cause::{Direction, Party};

use crate::totals::Total;

/// What is known of losses.
pub(super) struct Loss {
    /// In a sentence.
    pub(super) text: String,
    /// Nothing was lost that a change of the path could save.
    pub(super) is_needless: bool,
}

/// The kind and the place of what cost most of the time of a `total`.
pub(super) fn of_loss(analysis: &Analysis, total: &Total) -> Option<Loss> {
    let mut spans: BTreeMap<(Option<usize>, usize, LostAt), Duration> = BTreeMap::new();
    for exchange in &analysis.exchanges {
        let vantage = analysis.connections[exchange.connection as usize].vantage;
        for share in exchange.shares.iter().filter(|it| it.cause == total.cause) {
            let kind = share.kind.map(|it| it as usize);
            let place = LostAt::of(vantage, share.direction, share.kind);
            *spans.entry((kind, share.direction as usize, place)).or_default() += share.span;
        }
    }
    let ((kind, direction, place), _) = spans.into_iter().max_by_key(|it| it.1)?;
    let kind = kind.map(|it| LossKind::ALL[it]);
    let direction = [Direction::ToServer, Direction::ToClient][direction];
    let (what, hint) = described(kind);
    let is_needless = kind == Some(LossKind::Spurious);
    let way = match kind {
        Some(LossKind::AckLost) => direction.opposite(),
        _ => direction,
    };
    let (end, place) = (way.receiver().name(), place.words());
    let text = match is_needless {
        true => format!("Lost: {what}. {hint}."),
        false => format!("Lost: {what}, on the way to the {end}{place}. {hint}."),
    };
    Some(Loss { text, is_needless })
}

/// What was lost, and what that suggests.
const fn described(kind: Option<LossKind>) -> (&'static str, &'static str) {
    match kind {
        Some(LossKind::Tail) => (
            "the last segments of messages (tail)",
            "Too few segments followed for fast retransmit; a sender with tail-loss probes (RFC 8985) \
             usually repairs that within two round trips",
        ),
        Some(LossKind::Probe) => (
            "the last segments of messages (probe)",
            "A tail-loss probe repaired them, the fastest possible repair",
        ),
        Some(LossKind::Burst) => (
            "several segments at once (burst)",
            "An overflowing queue or a policer causes this; single link errors do not",
        ),
        Some(LossKind::Spurious) => (
            "nothing (spurious)",
            "The sender's timer expired, but the ACK was only late: find what delays ACKs or \
             reorders packets",
        ),
        Some(LossKind::AckLost) => {
            ("ACKs (ack-lost)", "The data had arrived, as the receiver reports (D-SACK)")
        }
        Some(LossKind::BehindCapture) => {
            ("captured segments (behind-capture)", "They were lost after the capture point")
        }
        None => ("single segments", "The packets do not show the kind of loss"),
    }
}

/// Where a loss happened, seen from the capture point.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum LostAt {
    Before,
    After,
    Between,
    InHost,
    Unknown,
}

impl LostAt {
    fn of(vantage: Vantage, direction: Direction, kind: Option<LossKind>) -> Self {
        let way = match kind {
            Some(LossKind::AckLost) => direction.opposite(),
            _ => direction,
        };
        match vantage {
            _ if kind == Some(LossKind::BehindCapture) => Self::After,
            Vantage::At(Party::Path) | Vantage::Between | Vantage::Unknown => Self::Unknown,
            Vantage::At(end) if end == way.sender() => Self::After,
            Vantage::At(_) => Self::Before,
            Vantage::Both => Self::Between,
            Vantage::OneHost => Self::InHost,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Before => ", before the capture point",
            Self::After => ", behind the capture point",
            Self::Between => ", between both capture points",
            Self::InHost => ", within this host",
            Self::Unknown => "",
        }
    }
}
