//! What exchanges owe to each cause, together.

use std::{collections::BTreeMap, time::Duration};

use ackwise_capture::analysis::{Analysis, ExchangeResult};
use ackwise_cause::{Cause, Direction, Party};

/// Which exchanges are added up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TotalsScope {
    /// All of them.
    All,
    /// Those slower than this share of all, in percent.
    Percentile(u8),
    /// Those slower than the user's limit.
    Slower(Duration),
}

impl TotalsScope {
    /// `all`, `p95`, `slower-than-100ms`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Percentile(percent) => format!("p{percent}"),
            Self::Slower(limit) => format!("slower-than-{}ms", limit.as_secs_f64() * 1e3),
        }
    }
}

/// What exchanges owe to one cause in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    /// The cause.
    pub cause: Cause,
    /// Which way the data goes that was waited for.
    pub direction: Direction,
    /// In all.
    pub span: Duration,
    /// In so many exchanges.
    pub exchanges: usize,
    /// So often.
    pub times: u64,
}

impl Total {
    /// Who has to change something.
    #[must_use]
    pub const fn party(&self) -> Option<Party> {
        self.cause.party(self.direction)
    }
}

/// What some exchanges owe, the most expensive cause first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Totals {
    /// Which exchanges.
    pub scope: TotalsScope,
    /// How many there are.
    pub exchanges: usize,
    /// The shortest of them.
    pub shortest: Duration,
    /// Their durations together.
    pub span: Duration,
    /// By cause and direction.
    pub causes: Vec<Total>,
}

impl Totals {
    /// Adds up the exchanges in `scope`.
    #[must_use]
    pub fn of(analysis: &Analysis, scope: TotalsScope) -> Self {
        let limit = limit(analysis, scope);
        let chosen = analysis.exchanges.iter().filter(|it| match scope {
            TotalsScope::All => true,
            TotalsScope::Percentile(_) => it.duration >= limit,
            TotalsScope::Slower(_) => it.duration > limit,
        });
        let mut totals = Self {
            scope,
            exchanges: 0,
            shortest: Duration::MAX,
            span: Duration::ZERO,
            causes: Vec::new(),
        };
        let mut causes = BTreeMap::new();
        for exchange in chosen {
            totals.exchanges += 1;
            totals.span += exchange.duration;
            totals.shortest = totals.shortest.min(exchange.duration);
            add(&mut causes, exchange);
        }
        totals.causes = causes.into_values().collect();
        totals.causes.sort_by_key(|it| std::cmp::Reverse(it.span));
        totals
    }
}

fn add(causes: &mut BTreeMap<(Cause, Direction), Total>, exchange: &ExchangeResult) {
    for share in &exchange.shares {
        let (cause, direction) = (share.cause, share.direction);
        let total = causes.entry((cause, direction)).or_insert(Total {
            cause,
            direction,
            span: Duration::ZERO,
            exchanges: 0,
            times: 0,
        });
        total.span += share.span;
        total.exchanges += 1;
        total.times += u64::from(share.times);
    }
}

/// The duration that divides what is added up from what is not.
fn limit(analysis: &Analysis, scope: TotalsScope) -> Duration {
    match scope {
        TotalsScope::All => Duration::ZERO,
        TotalsScope::Slower(limit) => limit,
        TotalsScope::Percentile(percent) => {
            let mut durations: Vec<_> = analysis.exchanges.iter().map(|it| it.duration).collect();
            durations.sort_unstable();
            let place = durations.len() * usize::from(percent) / 100;
            durations.get(place).or_else(|| durations.last()).copied().unwrap_or_default()
        }
    }
}
