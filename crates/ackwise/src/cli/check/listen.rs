//! `ackwise check --listen`: the server's part, for the client that a command runs.

use std::{ffi::OsString, net::SocketAddr, time::Duration};

use ackwise_check::{
    card::{FindingId, Role},
    listen::{ListenNetwork, ListenOptions, ListenProgress, check_client},
    report::Report,
};
use clap::Args;

use super::Check;
use crate::cli::{interrupt::until_interrupted, outcome::Failure, progress::ProgressLine};

#[derive(Args, Debug)]
pub(super) struct Listen {
    /// Check a client: play the server on ADDRESS for COMMAND, which runs once for each check
    ///
    /// `{url}` in COMMAND stands for the server's URL, which ACKWISE_URL has too. --timeout limits each run.
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "url", requires = "command")]
    listen: Option<SocketAddr>,

    /// Use kernel sockets on this host
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, requires = "listen")]
    host_network: bool,

    /// The client's command
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(last = true, value_name = "COMMAND", requires = "listen")]
    command: Vec<OsString>,
}

impl Listen {
    /// Whether a client is to be checked.
    pub(super) const fn is_wanted(&self) -> bool {
        self.listen.is_some()
    }
}

/// Checks the client.
pub(super) fn report(check: &Check) -> Result<Report, Failure> {
    let Listen { listen, host_network, command } = &check.listen;
    let address = listen.expect("it is wanted");
    if let Some(id) = check.only.iter().find(|id| id.role() == Role::Server) {
        return Err(Failure::Usage(format!("--only {id}: grades servers (expected a URL)")));
    }
    let only = (!check.only.is_empty()).then(|| check.only.iter().copied().collect());
    let network = if *host_network { ListenNetwork::Host } else { enter_private()? };
    let time = check.timeout.unwrap_or(TIMEOUT);
    let options = ListenOptions { address, command: command.clone(), only, time, network };
    let card = until_interrupted(move |wanted| {
        let line = ProgressLine::new();
        check_client(&options, &mut |step| {
            wanted.or_unwind();
            if let ListenProgress::Checking(id) = step {
                line.show(&FindingId::name(id));
            }
        })
    })??;
    Ok(Report { cards: vec![card], ..Report::default() })
}

/// Before any thread: the process moves as a whole.
#[cfg(target_os = "linux")]
fn enter_private() -> Result<ListenNetwork, Failure> {
    let entered = ackwise_linux::namespace::enter_private_network();
    entered.map_err(|error| {
        Failure::Usage(format!("{error}; --host-network uses kernel sockets instead"))
    })?;
    Ok(ListenNetwork::Private)
}

#[cfg(not(target_os = "linux"))]
fn enter_private() -> Result<ListenNetwork, Failure> {
    Err(Failure::Usage("--listen needs --host-network on this system".to_owned()))
}

/// Over these options in `--help`.
const HEADING: &str = "Clients";

/// For each run of a command, unless `--timeout` says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);
