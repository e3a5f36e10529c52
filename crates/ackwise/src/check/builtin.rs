//! The built-in servers: what `check` looks at when nobody names a server.
//!
//! One server, started once as the papers of 1996 and 1997 describe it and once with every fix. That
//! both come out as they must is the self-test of the whole tool.

mod expectation;
mod network;
mod page;

pub use network::Network;
pub use page::{PageError, PageTimes};

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
    report::Report,
};

/// Checks both built-in servers, one after the other, and times their pages.
///
/// # Errors
///
/// If a server cannot be started, checked or asked for its pages.
pub fn check_built_in(
    network: Network,
    options: &Options,
    progress: &mut dyn FnMut(BuiltInProgress),
) -> Result<Report, BuiltInError> {
    let mut report = Report::default();
    for (name, behaviour) in SERVERS {
        let config = Config { bind: network.bind(), ..Config::loopback(behaviour) };
        let server = Server::start(config).map_err(BuiltInError::Start)?;
        let address = (Ipv4Addr::LOCALHOST, server.local_addr().port()).into();
        let mut checking = |step| progress(BuiltInProgress::Checking(name, step));
        report.cards.push(check_one(name, address, options, &mut checking)?);
        for documents in PAGES {
            let mut timing = |page| progress(BuiltInProgress::TimingPage(name, page));
            report.pages.push(page::time_pages(name, documents, address, &mut timing)?);
        }
    }
    report.surprises = report.cards.iter().flat_map(expectation::surprises).collect();
    Ok(report)
}

/// What [`check_built_in`] is doing.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum BuiltInProgress {
    /// Writing the card of this server.
    Checking(BuiltIn, Progress),
    /// Timing a page of this server, the how-manieth with these documents.
    TimingPage(BuiltIn, usize),
}

fn check_one(
    name: BuiltIn,
    address: SocketAddr,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Card, BuiltInError> {
    let [first, others @ ..] = PATHS;
    let target: Target = format!("http://{address}{first}").parse()?;
    let paths = others.map(str::to_owned).into();
    let card = check(&target, &Options { paths, ..options.clone() }, progress)?;
    Ok(Card { server: Some(name), ..card })
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

const SERVERS: [(BuiltIn, Behaviour); 2] =
    [(BuiltIn::Paper1996, Behaviour::PAPER_1996), (BuiltIn::Fixed, Behaviour::FIXED)];

/// What the cards are about: the small documents, which stall most, and one of the paper's.
const PATHS: [&str; 4] = ["/300", "/500", "/6651", "/262144"];

/// The three documents of Heidemann 1996 and 1997, and three that are small, as the answers of
/// services are today.
const PAGES: [&[u32]; 2] = [&[6651, 3883, 1866], &[500, 300, 200]];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_1996_stalls_and_a_fixed_one_does_not() {
        let medians = |(name, behaviour)| {
            let server = Server::start(Config::loopback(behaviour)).unwrap();
            let page = |documents| {
                page::time_pages(name, documents, server.local_addr(), &mut |_| {}).unwrap()
            };
            PAGES.map(|documents| page(documents).median_ms)
        };
        let [paper, fixed] = SERVERS.map(medians);
        assert!(fixed.iter().all(|median| *median < 10.0), "{fixed:?}");
        if cfg!(target_os = "linux") {
            assert!(paper.iter().all(|median| *median > 60.0), "{paper:?}");
        }
    }
}
