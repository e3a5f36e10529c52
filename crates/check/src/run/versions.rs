//! One server, in each version of HTTP that it speaks: one card each, over the same TCP.

use std::{net::SocketAddr, time::Duration};

use ackwise_net::Target;

use super::{
    CheckError, HttpChoice, Options, Progress, distance, http3, plan,
    reach::{Reached, Unreached, reach, tls_settings},
};
use crate::{
    card::{Card, Protocol, Role},
    http_client::{Budget, Client},
    server::Queue,
    stack::{Receiver, Stack},
};

/// How a client gets the first answer.
pub(super) type Reach<R> = fn(Client, &Target, &Options) -> Result<R, Box<Unreached>>;

/// What is to be checked.
pub(super) struct Versions<'a> {
    pub(super) server: SocketAddr,
    pub(super) target: &'a Target,
    pub(super) options: &'a Options,
    /// About the stack.
    pub(super) note: Option<String>,
    /// What went by before there was a stack.
    pub(super) spent: Duration,
}

impl Versions<'_> {
    /// The first answer, in HTTP/1.1 if the server speaks it.
    pub(super) fn reach(
        &self,
        stack: Box<dyn Stack>,
        ready: &mut dyn FnMut(),
    ) -> Result<Reached, CheckError> {
        let queue = Queue::read(self.server);
        let mut reached = self.reach_by(reach, stack)?;
        ready();
        reached.facts.queue = queue;
        Ok(reached)
    }

    /// What `reach` makes of the first answer.
    pub(super) fn reach_by<R>(
        &self,
        reach: Reach<R>,
        stack: Box<dyn Stack>,
    ) -> Result<R, CheckError> {
        let first = match self.options.http {
            HttpChoice::Offered => Protocol::Http1,
            HttpChoice::Only(protocol) => protocol,
        };
        let budget = self.budget(stack.as_ref()).after(self.spent);
        let first = reach(self.client(stack, budget, first)?, self.target, self.options);
        first.or_else(|unreached| self.reach_otherwise(reach, *unreached))
    }

    /// In HTTP/2, if the server may speak nothing else.
    fn reach_otherwise<R>(&self, reach: Reach<R>, unreached: Unreached) -> Result<R, CheckError> {
        let Unreached { error, client } = unreached;
        if self.options.http != HttpChoice::Offered || !error.is_for_another_version() {
            return Err(error);
        }
        let stack = client.into_stack();
        let budget = self.budget(stack.as_ref());
        let client = self.client(stack, budget, Protocol::Http2)?;
        let reached = reach(client, self.target, self.options);
        // What HTTP/1.1 got tells more about a server that speaks neither.
        reached.map_err(|http2| if error.shows_http2() { http2.error } else { error })
    }

    /// The card of what was reached, and that of HTTP/2, if the server offers it as well.
    pub(super) fn check(&self, reached: Reached, progress: &mut dyn FnMut(Progress)) -> Vec<Card> {
        let protocol = reached.client.protocol();
        let software = reached.facts.software();
        // A server that serves one connection at a time would keep others waiting while it makes up its mind.
        let serves_many = reached.client.hold().is_none();
        let (card, stack) = self.card(reached, progress);
        let mut cards = vec![card];
        if protocol == Protocol::Http1 && self.options.http == HttpChoice::Offered && serves_many {
            match self.reach_offered(stack) {
                Ok(Some(mut reached)) => {
                    reached.facts.known_software = software;
                    cards.push(self.card(reached, progress).0);
                }
                Ok(None) => {}
                Err(error) => {
                    cards[0].notes.push(format!("HTTP/2 is offered, but was not checked: {error}"));
                }
            }
        }
        cards
    }

    fn reach_offered(&self, stack: Box<dyn Stack>) -> Result<Option<Reached>, CheckError> {
        let Some(client) = self.offered(stack)? else { return Ok(None) };
        let queue = Queue::read(self.server);
        let reached = reach(client, self.target, self.options);
        let mut reached = reached.map_err(|unreached| unreached.error)?;
        reached.facts.queue = queue;
        Ok(Some(reached))
    }

    /// A client that speaks HTTP/2, if the server offers that: by ALPN, or by an answer to its preface in clear text
    /// (RFC 9113, section 3.3).
    pub(super) fn offered(&self, stack: Box<dyn Stack>) -> Result<Option<Client>, CheckError> {
        let budget = self.budget(stack.as_ref());
        let mut client = self.client(stack, budget.clone(), Protocol::Http2)?;
        client.budget = budget.lend(0, OFFER, client.now());
        let Ok(mut connection) = client.open(Receiver::ETHERNET) else { return Ok(None) };
        // ALPN says it; in clear text, only the answer does.
        if !client.is_over_tls() && !connection.greets(&client.budget) {
            return Ok(None);
        }
        drop(connection);
        client.budget = self.budget_from(client.now());
        Ok(Some(client))
    }

    /// The card of what was reached, and the TCP that reached it.
    pub(super) fn card(
        &self,
        mut reached: Reached,
        progress: &mut dyn FnMut(Progress),
    ) -> (Card, Box<dyn Stack>) {
        let options = self.options;
        let emulated = options
            .distance
            .map(|distance| distance::emulate(&distance, &mut reached.client, &reached.facts));
        let far = emulated.iter().flat_map(distance::notes);
        let http3 = http3::note(&reached.facts.first.head.fields);
        let notes = self.note.iter().chain(&reached.notes).cloned().chain(http3).chain(far);
        let notes = notes.collect();
        let queue = reached.facts.queue.as_ref();
        let server_congestion = queue.and_then(|it| it.congestion.clone());
        let findings = plan::run_checks(&mut reached, options, progress);
        let card = Card {
            target: self.target.to_string(),
            protocol: reached.client.protocol(),
            role: Role::Server,
            server: None,
            status: Some(reached.facts.first.head.status),
            grpc_status: reached.facts.first.grpc_status().map(|status| status.0),
            stack: reached.client.stack_name(),
            server_congestion,
            notes,
            emulated,
            findings,
        };
        (card, reached.client.into_stack())
    }

    fn client(
        &self,
        stack: Box<dyn Stack>,
        budget: Budget,
        protocol: Protocol,
    ) -> Result<Client, CheckError> {
        let tls = tls_settings(self.target, self.options, protocol)?;
        let client = Client::new(stack, self.server, self.target.authority(), budget);
        let template = self.options.template.clone();
        Ok(client.over_tls(tls).with_template(template).speaking(protocol))
    }

    fn budget(&self, stack: &dyn Stack) -> Budget {
        self.budget_from(stack.now())
    }

    fn budget_from(&self, now: std::time::Instant) -> Budget {
        let options = self.options;
        let farther = options.distance.map(|it| it.extra_answer()).unwrap_or_default();
        Budget::new(options.max_requests, options.time, options.max_wait + farther, now)
    }
}

/// How long an answer to HTTP/2's preface is waited for. Our choice: a server that speaks HTTP/1.1 alone answers 400 or
/// closes, and one that does neither keeps the user waiting.
const OFFER: Duration = Duration::from_secs(1);
