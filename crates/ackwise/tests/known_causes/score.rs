//! How much of what was injected was found under its name, and who was accused wrongly.

use std::{fmt::Write, time::Duration};

use ackwise_capture::{
    analysis::{Analysis, ExchangeResult},
    attribution::Share,
};
use ackwise_cause::{Cause, Direction, Party};

use super::truth::{Blame, Injected};

/// What became of the injected time at one vantage point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Score {
    injected: Duration,
    found: Duration,
    exchanges: usize,
    accused: usize,
    table: String,
}

impl Score {
    /// A stall that was not injected counts from here on, if it is also more than this part of the
    /// exchange: with less, no report begins.
    const ACCUSATION: Duration = Duration::from_millis(5);
    const PART: u32 = 50;

    /// Compares. What is in `granted` nobody has injected, but the path makes it so.
    pub(crate) fn of(analysis: &Analysis, injected: &[Injected], granted: &[Cause]) -> Self {
        let mut score = Self { exchanges: analysis.exchanges.len(), ..Self::default() };
        for (number, exchange) in analysis.exchanges.iter().enumerate() {
            let injected = sums(injected.iter().filter(|it| it.exchange == number));
            let wrong = |share: Share| {
                let blame = (share.cause, share.direction);
                share.span > Self::ACCUSATION.max(exchange.duration / Self::PART)
                    && is_stall(share.cause)
                    && !granted.contains(&share.cause)
                    && injected.iter().all(|(it, _)| !is_same(*it, blame))
            };
            score.accused += usize::from(exchange.shares.iter().any(wrong));
            for (blame, span) in &injected {
                // At a sender's side a message is over when its last byte leaves.
                let span = exchange.duration.min(*span);
                score.injected += span;
                score.found += span.min(owed(exchange, *blame));
            }
            score.note(number, exchange, &injected);
        }
        score
    }

    /// Whether at least 95 % of the time is found, and at most 1 % of the exchanges have a stall too
    /// many.
    pub(crate) fn is_good(&self) -> bool {
        self.exchanges > 0
            && self.found * 100 >= self.injected * 95
            && self.accused <= self.exchanges / 100
    }

    fn note(&mut self, number: usize, exchange: &ExchangeResult, injected: &[(Blame, Duration)]) {
        let _ = write!(self.table, "  {number:3} {:9.3} ms; injected", millis(exchange.duration));
        for (blame, span) in injected {
            self.note_share(*blame, *span);
        }
        self.table.push_str("; found");
        for share in &exchange.shares {
            self.note_share((share.cause, share.direction), share.span);
        }
        self.table.push('\n');
    }

    fn note_share(&mut self, (cause, direction): Blame, span: Duration) {
        let party = cause.party(direction).map_or("?", Party::name);
        let _ = write!(self.table, ", {cause} ({party}) {:.3}", millis(span));
    }

    /// In a line.
    pub(crate) fn summary(&self) -> String {
        format!(
            "{:.3} of {:.3} ms found, {} of {} exchanges wrongly accused",
            millis(self.found),
            millis(self.injected),
            self.accused,
            self.exchanges
        )
    }

    /// Exchange by exchange.
    pub(crate) fn table(&self) -> &str {
        &self.table
    }
}

/// By blame.
fn sums<'a>(injected: impl Iterator<Item = &'a Injected>) -> Vec<(Blame, Duration)> {
    let mut sums: Vec<(Blame, Duration)> = Vec::new();
    for it in injected {
        let blame = (it.cause, it.direction);
        match sums.iter_mut().find(|(before, _)| *before == blame) {
            Some((_, span)) => *span += it.span,
            None => sums.push((blame, it.span)),
        }
    }
    sums
}

fn owed(exchange: &ExchangeResult, blame: Blame) -> Duration {
    let same = exchange.shares.iter().filter(|it| is_same((it.cause, it.direction), blame));
    same.map(|it| it.span).sum()
}

fn is_same((cause, direction): Blame, (other, towards): (Cause, Direction)) -> bool {
    cause == other && cause.party(direction) == other.party(towards)
}

/// What distance, rate and the beginning of a connection cost accuses nobody.
const fn is_stall(cause: Cause) -> bool {
    !matches!(
        cause,
        Cause::Handshake
            | Cause::RequestUpload
            | Cause::Propagation
            | Cause::Transmission
            | Cause::SlowStart
            | Cause::CongestionWindow
    )
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
