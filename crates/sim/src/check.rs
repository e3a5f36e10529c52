//! Finds what cannot be run in a scenario, so that the world may rely on the rest.

use std::{collections::BTreeSet, time::Duration};

use ackwise_http::workload::{Span, Unusable};

use ackwise_tcp::{ByteCount, policy::CongestionPolicy};

use crate::{
    error::RunError,
    scenario::{
        Application, ApplicationKind, Arrivals, Bulk, Node, NodeId, Proxy, Replay, Scenario, Web,
    },
};

impl Scenario {
    /// A run lasts at most this long: all sums of times stay far from overflowing.
    pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// A file has at most as many bytes: all sums of offsets stay far from overflowing.
    pub const LARGEST: ByteCount = ByteCount(1 << 50);

    /// Whether the scenario can be run.
    ///
    /// # Errors
    ///
    /// What is wrong with which part of it. Whether links lead from client to server is found out by
    /// the run itself.
    pub fn check(&self) -> Result<(), RunError> {
        let run = || "the run".to_owned();
        require(self.duration <= Self::LONGEST, run, || "longer than a year".to_owned())?;
        require(self.warm_up < self.duration, run, || "over before it is warm".to_owned())?;
        let mut names = BTreeSet::new();
        for link in &self.links {
            let what = || format!("link \"{}\"", link.name);
            require(names.insert(&link.name), what, || "another link has that name".to_owned())?;
            for node in link.ends {
                self.node(node, what)?;
            }
            require(link.ends[0] != link.ends[1], what, || "leads to where it began".to_owned())?;
        }
        self.applications.iter().try_for_each(|application| self.check_application(application))
    }

    /// Whether it can be run without anybody who sets windows.
    pub(crate) fn check_unsteered(&self) -> Result<(), RunError> {
        let external = |node: &Node| {
            node.tcp.is_some_and(|tcp| tcp.policies.congestion == CongestionPolicy::External)
        };
        self.nodes.iter().try_for_each(|node| {
            require(
                !external(node),
                || format!("host \"{}\"", node.name),
                || {
                    "its congestion control is external, and nobody sets its window (expected \
                     ackwise.Simulation, in Python, or another congestion control)"
                        .to_owned()
                },
            )
        })
    }

    fn check_application(&self, application: &Application) -> Result<(), RunError> {
        let what = || format!("application \"{}\"", application.name);
        let Application { client, server, start, kind, name: _ } = application;
        for node in [*client, *server] {
            self.node(node, what)?;
            let node = &self.nodes[node.0 as usize];
            let problem = || format!("\"{}\" is a router: a host has a TCP", node.name);
            require(node.tcp.is_some(), what, problem)?;
        }
        require(client != server, what, || "client and server are the same host".to_owned())?;
        let usable = |result: Result<(), Unusable>| {
            result.map_err(|problem| RunError::Scenario {
                what: what(),
                problem: problem.to_string(),
            })
        };
        let fits = |size: ByteCount| {
            let problem =
                || format!("a file of {} B (expected at most {})", size.0, Self::LARGEST.0);
            require(size <= Self::LARGEST, what, problem)
        };
        usable(start.check())?;
        match kind {
            ApplicationKind::Web(web) => {
                let Web { think, client_delay, open_gap, parse, workload, replay, .. } = web;
                [think, client_delay, open_gap, parse]
                    .map(Span::check)
                    .into_iter()
                    .try_for_each(usable)?;
                require(web.request.0 > 0, what, || "a request has no bytes".to_owned())?;
                let empty = |it: &Replay| it.pages.is_empty() || it.think.is_empty();
                require(!replay.as_ref().is_some_and(empty), what, || {
                    "an empty replay".to_owned()
                })?;
                usable(workload.check())
            }
            ApplicationKind::Bulk(Bulk { pause, file, .. }) => {
                usable(pause.check())?;
                fits(file.unwrap_or(ByteCount(0)))
            }
            ApplicationKind::Proxy(proxy) => self.check_proxy(application, proxy),
            ApplicationKind::Arrivals(Arrivals { interarrival, hold, response, .. }) => {
                [interarrival, hold].map(Span::check).into_iter().try_for_each(usable)?;
                fits(*response)
            }
        }
    }

    fn check_proxy(&self, application: &Application, proxy: &Proxy) -> Result<(), RunError> {
        let what = || format!("application \"{}\"", application.name);
        let Proxy { clients, servers, think, size, request, scheme, pool, n_max, .. } = proxy;
        for node in clients.iter().chain(servers) {
            self.node(*node, what)?;
            let node = &self.nodes[node.0 as usize];
            let problem = || format!("\"{}\" is a router: a host has a TCP", node.name);
            require(node.tcp.is_some(), what, problem)?;
        }
        let both = || clients.iter().chain(servers);
        let need = "a proxy needs a client, a server, and no host that is two of them";
        let apart = both().collect::<BTreeSet<_>>().len() == both().count()
            && !both().any(|&node| node == application.server);
        require(apart && !clients.is_empty() && !servers.is_empty(), what, || need.to_owned())?;
        let first = clients.first() == Some(&application.client);
        require(first, what, || "its client is not the proxy's first".to_owned())?;
        let others = self.applications.iter().filter(|it| it.name == application.name);
        require(others.count() == 1, what, || "a proxy shares its name".to_owned())?;
        require(request.0 > 0, what, || "a request has no bytes".to_owned())?;
        let fits = scheme.limit(*pool, *n_max).is_some() && pool.0 <= MOST_MEMORY;
        require(fits, what, || format!("a pool of {} B (expected one buffer to 1 GiB)", pool.0))?;
        require(proxy.reserved < n_max.get(), what, || {
            format!("{} of {n_max} places are reserved, all of them", proxy.reserved)
        })?;
        require(!proxy.interval.is_zero(), what, || "an interval of no time".to_owned())?;
        let usable = think.check().and_then(|()| size.check());
        usable.map_err(|problem| RunError::Scenario { what: what(), problem: problem.to_string() })
    }

    fn node(&self, node: NodeId, what: impl Fn() -> String) -> Result<(), RunError> {
        let problem = || format!("node {} of {}", node.0, self.nodes.len());
        require((node.0 as usize) < self.nodes.len(), what, problem)
    }
}

/// A pool of more would not be a limit: RFC 7323, section 2.3, ends windows at 1 GiB.
const MOST_MEMORY: u64 = 1 << 30;

#[expect(clippy::fn_params_excessive_bools, reason = "the condition, as in `assert`")]
fn require(
    holds: bool,
    what: impl Fn() -> String,
    problem: impl Fn() -> String,
) -> Result<(), RunError> {
    if holds { Ok(()) } else { Err(RunError::Scenario { what: what(), problem: problem() }) }
}
