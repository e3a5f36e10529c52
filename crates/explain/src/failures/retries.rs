//! Which exchanges did what others could not, because the client tried again.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_capture::analysis::{Analysis, Ending};
use ackwise_cause::Outcome;
use ackwise_tcp::Instant;

use super::Failure;

/// What was answered, between hosts where something failed: by client and server, in order of time.
#[derive(Debug, Default)]
pub(super) struct Retries<'a>(BTreeMap<(IpAddr, SocketAddr), Vec<Answered<'a>>>);

/// When an exchange began, what it asked for, and its number.
type Answered<'a> = (Instant, &'a str, usize);

impl<'a> Retries<'a> {
    pub(super) fn of(analysis: &'a Analysis, failures: &[Failure]) -> Self {
        let hosts = |connection: u32| {
            let it = &analysis.connections[connection as usize];
            (it.client.ip(), it.server)
        };
        let failed: BTreeSet<_> = failures.iter().map(|it| hosts(it.connection)).collect();
        let mut retries = Self::default();
        for (number, it) in analysis.exchanges.iter().enumerate() {
            let is_answered = match it.ending {
                Some(Ending { outcome, .. }) => outcome == Outcome::Answered,
                None => it.complete,
            };
            let (hosts, request) = (hosts(it.connection), it.request.as_deref().unwrap_or(""));
            if is_answered && failed.contains(&hosts) {
                retries.0.entry(hosts).or_default().push((it.start, request, number));
            }
        }
        // In the order in which they began, as exchanges are.
        retries
    }

    /// The number of the next answered exchange, if it is the same request, or the first after an attempt to connect, and
    /// begins soon after the failure.
    pub(super) fn of_failure(&self, analysis: &Analysis, failure: &Failure) -> Option<usize> {
        /// Programs that try again do so at once, or after a second. Our choice.
        const SOON: Duration = Duration::from_secs(2);
        /// Others that are asked for meanwhile. Our choice.
        const AMONG: usize = 16;
        let connection = &analysis.connections[failure.connection as usize];
        let all = self.0.get(&(connection.client.ip(), connection.server))?;
        let end = failure.at + failure.at_most.unwrap_or(failure.span);
        let request = failure.exchange.map(|it| analysis.exchanges[it].request.as_deref());
        let first = all.partition_point(|it| it.0 <= failure.at);
        let mut next = all[first..].iter().take_while(|it| it.0 <= end + SOON).take(AMONG);
        next.find(|it| request.is_none_or(|request| request.unwrap_or("") == it.1)).map(|it| it.2)
    }
}
