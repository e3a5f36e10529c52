//! The model of a simulated scenario: its inputs are taken from what the simulator runs.

use ackwise_http::{
    page::Transfer,
    workload::{Pages, Span},
};
use ackwise_sim::{
    Scenario,
    scenario::{ApplicationKind, Connections, Web},
};

use ackwise_tcp::policy::OpenPolicy;

use super::{
    path::{Exchange, Path},
    slow_start::{Acks, Start},
    transport::{Transport, page_time},
};

/// The page time of the first application of `scenario`, in seconds, if the model has an answer: a
/// web user on one link between two hosts, pages that are always the same, connections for each
/// page.
#[must_use]
pub fn of_scenario(scenario: &Scenario, acks: Acks) -> Option<f64> {
    let application = scenario.applications.first()?;
    let ApplicationKind::Web(web) = &application.kind else { return None };
    let server = scenario.nodes.get(application.server.0 as usize)?.tcp?;
    let path = path(scenario, server.mss.into())?;
    // In BSD the ACK of the SYN-ACK opens the window of a server, unless it answers before that.
    let opened = server.policies.open == OpenPolicy::Handshake;
    let initial = server.policies.initial_window.bytes(server.mss.into(), opened);
    let start = Start { window: u64::from(initial.div_ceil(server.mss.into())), acks };
    let transport = match (transport(web)?, server.policies.open) {
        // After the first connection of a run the server is known.
        (Transport::SimpleHttp, OpenPolicy::Transaction | OpenPolicy::FastOpen) => {
            Transport::TransactionCached
        }
        (transport, _) => transport,
    };
    Some(page_time(transport, &exchanges(web)?, path, start))
}

fn path(scenario: &Scenario, mss: u32) -> Option<Path> {
    let [link] = scenario.links.as_slice() else { return None };
    let [there, back] = &link.directions;
    let rtt = (there.delay + back.delay).as_secs_f64();
    let overhead = HEADERS + u32::try_from(link.overhead.0).ok()?;
    #[expect(clippy::cast_precision_loss, reason = "no link has 2^53 bits a second")]
    let rate = back.rate?.get() as f64;
    Some(Path::user_level(rate, rtt, mss, overhead))
}

fn transport(web: &Web) -> Option<Transport> {
    match (web.transfer, web.connections) {
        (Transfer::Serial, _) => Some(Transport::SimpleHttp),
        (Transfer::Persistent, Connections::PerDocument) => Some(Transport::Persistent),
        (Transfer::Persistent, Connections::Kept) => Some(Transport::PersistentCached),
        (Transfer::Pipelined, Connections::PerDocument) => Some(Transport::Pipelined),
        (Transfer::Parallel { connections }, _) => {
            Some(Transport::Parallel { connections: connections.into() })
        }
        _ => None,
    }
}

fn exchanges(web: &Web) -> Option<Vec<Exchange>> {
    let Pages::Fixed { primary, inlines } = &web.workload else { return None };
    let Span::Fixed(client) = web.client_delay else { return None };
    let exchange = |file: &u64| Exchange {
        request: web.request.0,
        reply: web.response_head.0 + file,
        client: client.as_secs_f64(),
        server: web.behaviour.think.as_secs_f64(),
    };
    Some(std::iter::once(primary).chain(inlines.iter()).map(exchange).collect())
}

/// TCP's and IP's, without options.
const HEADERS: u32 = 40;
