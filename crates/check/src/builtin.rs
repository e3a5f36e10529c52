//! The built-in servers: what `check` looks at when nobody names a server.
//!
//! One server, started once as the papers of 1996 and 1997 describe it and once with every fix. That
//! both come out as they must is the self-test of the whole tool.

mod expectation;
mod network;
mod page;

pub use network::Network;
pub use page::PageError;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use ackwise_http::Behaviour;
use ackwise_serve::{Config, Server};

use super::{
    CheckError, Options, Progress, Target, TargetError,
    card::{BuiltIn, Card},
    check,
    page_times::PageTimes,
    report::Report,
};

/// Times the pages of both built-in servers, then checks them, one after the other.
///
/// [`Options::time`] is for each server. Pages take three seconds more.
///
/// # Errors
///
/// If a server cannot be started, checked or asked for its pages.
pub fn check_built_in(
    network: Network,
    options: &Options,
    progress: &mut dyn FnMut(BuiltInProgress),
) -> Result<Report, BuiltInError> {
    let servers = [
        BuiltInServer::start(BuiltIn::Paper1996, Behaviour::PAPER_1996, network)?,
        BuiltInServer::start(BuiltIn::Fixed, Behaviour::FIXED, network)?,
    ];
    let mut report = Report::default();
    for (server, documents) in servers.iter().flat_map(|server| PAGES.map(|page| (server, page))) {
        let mut timing = |page| progress(BuiltInProgress::TimingPage(server.name, page));
        report.pages.push(server.time_pages(documents, &mut timing)?);
    }
    for server in &servers {
        let mut checking = |step| progress(BuiltInProgress::Checking(server.name, step));
        report.cards.push(server.check(options.clone(), &mut checking)?);
    }
    report.surprises = report.cards.iter().flat_map(expectation::unexpected_findings).collect();
    Ok(report)
}

/// What [`check_built_in`] is doing.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum BuiltInProgress {
    /// Writing the card of this server.
    Checking(BuiltIn, Progress),
    /// Timing a page of this server: its number within the set.
    TimingPage(BuiltIn, usize),
}

/// One of the two, running; it stops when dropped.
struct BuiltInServer {
    name: BuiltIn,
    address: SocketAddr,
    _running: Server,
}

impl BuiltInServer {
    fn start(name: BuiltIn, behaviour: Behaviour, network: Network) -> Result<Self, BuiltInError> {
        let config = Config { bind: network.bind(), ..Config::loopback(behaviour) };
        let running = Server::start(config).map_err(BuiltInError::Start)?;
        let address = (Ipv4Addr::LOCALHOST, running.local_addr().port()).into();
        Ok(Self { name, address, _running: running })
    }

    fn time_pages(
        &self,
        documents: &[u32],
        progress: &mut dyn FnMut(usize),
    ) -> Result<PageTimes, PageError> {
        page::time_pages(self.name, documents, self.address, progress)
    }

    fn check(
        &self,
        options: Options,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Card, BuiltInError> {
        let [first, others @ ..] = PATHS;
        let target: Target = format!("http://{}{first}", self.address).parse()?;
        let options = Options {
            paths: others.map(str::to_owned).into(),
            max_requests: options.max_requests.max(REQUESTS),
            ..options
        };
        let card = check(&target, &options, progress)?;
        Ok(Card { server: Some(self.name), status: None, ..card })
    }
}

/// Why the built-in servers could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuiltInError {
    /// There is no server.
    #[error("cannot start the built-in server: {0}")]
    Start(#[source] io::Error),
    /// There is no such server.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// There is no card.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// There are no page times.
    #[error(transparent)]
    Page(#[from] PageError),
}

/// These servers are ours, so the limit that protects somebody else's does not apply.
const REQUESTS: u32 = 200;

/// What the cards are about: small documents, which stall most, one of the paper's, and one that is larger
/// than windows and send buffers.
const PATHS: [&str; 4] = ["/300", "/500", "/6651", "/262144"];

/// The three documents of Heidemann 1996 and 1997, and three that are small, as the answers of
/// services are today.
const PAGES: [&[u32]; 2] = [&[6651, 3883, 1866], &[500, 300, 200]];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_1996_stalls_and_a_fixed_one_does_not() {
        let medians = |name, behaviour| {
            let server = BuiltInServer::start(name, behaviour, Network::Host).unwrap();
            PAGES.map(|page| server.time_pages(page, &mut |_| {}).unwrap().median_ms)
        };
        let paper = medians(BuiltIn::Paper1996, Behaviour::PAPER_1996);
        let fixed = medians(BuiltIn::Fixed, Behaviour::FIXED);
        assert!(fixed.iter().all(|median| *median < 10.0), "{fixed:?}");
        if cfg!(target_os = "linux") {
            assert!(paper.iter().all(|median| *median > 60.0), "{paper:?}");
        }
    }
}
