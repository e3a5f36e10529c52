//! What is known of an exchange that is over.

use std::num::{NonZeroU32, NonZeroU64};

use ackwise_cause::{Cause, Direction};
use ackwise_tcp::Instant;

use super::OpenExchange;
use crate::{
    attribution::{Confidence, Nanos, Rule, Share},
    results::ExchangeResult,
};

impl OpenExchange {
    /// What is known of it, as one of the `connection` with that number.
    pub(crate) fn into_result(
        mut self: Box<Self>,
        connection: u32,
        complete: bool,
        round_trip: Nanos,
    ) -> ExchangeResult {
        let mut stretches = self.account.take_stretches();
        let most = if self.may_be_several { Confidence::Medium } else { Confidence::High };
        stretches.iter_mut().for_each(|it| it.confidence = it.confidence.min(most));
        let stretches = stretches.into();
        // Without framing, two requests look like one with a pause.
        let is_guess = |share: &Share| {
            !self.request_exact
                && (share.cause, share.direction)
                    == (Cause::ApplicationLimited, Direction::ToServer)
        };
        let sure = |share: Share| match is_guess(&share) {
            true => Share { confidence: Confidence::Low, doubt: Some(Rule::RequestEnd), ..share },
            false if share.confidence > most => {
                Share { confidence: most, doubt: Some(Rule::RequestEnd), ..share }
            }
            false => share,
        };
        let request = self.head.as_ref().map(|head| {
            let method = head.method.as_deref().unwrap_or("?");
            match head.path.as_deref() {
                // A protocol without paths.
                Some("") => method.into(),
                path => [method, " ", path.unwrap_or("?")].concat().into(),
            }
        });
        ExchangeResult {
            connection,
            start: self.account.from(),
            duration: self.account.cursor().since(self.account.from()),
            request,
            trace: self.head.as_ref().and_then(|it| it.trace),
            status: self.status,
            is_grpc: self.grpc_status.is_some()
                || self.head.as_ref().is_some_and(|it| it.grpc.is_some()),
            grpc_status: self.grpc_status,
            bytes: [self.request, self.response].map(|[from, to]| to.saturating_sub(from)),
            stream: self.stream,
            packet: self.first_packet,
            answered_after: self.answered_in.map(|packet| {
                let after = packet.saturating_sub(self.first_packet);
                NonZeroU32::new(u32::try_from(after).unwrap_or(0))
            }),
            first_byte_after: nanos_from(self.account.from(), self.answered_at),
            acknowledged_after: nanos_from(self.account.cursor(), self.acknowledged),
            round_trip: round_trip.max(self.round_trip).into(),
            complete,
            ending: self.ending,
            exact: self.exact,
            shares: self.account.shares().map(sure).collect(),
            stretches,
        }
    }
}

/// Nanoseconds between two times, unless it is none.
fn nanos_from(start: Instant, at: Option<Instant>) -> Option<NonZeroU64> {
    let nanos = at?.saturating_since(start).as_nanos();
    NonZeroU64::new(u64::try_from(nanos).unwrap_or(u64::MAX))
}
