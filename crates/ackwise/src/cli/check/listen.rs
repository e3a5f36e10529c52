//! `ackwise check --listen`: the server's part, for the client that a command runs.

use std::{ffi::OsString, net::SocketAddr, path::PathBuf, time::Duration};

use ackwise_check::{
    card::{CheckId, Role},
    listen::{
        ListenClient, ListenError, ListenNetwork, ListenOptions, ListenProgress, ListenTls, Wish,
        check_client,
    },
    report::Report,
};
use clap::Args;

use super::Check;
use crate::cli::{
    interrupt::Stop, number::whole, outcome::Failure, privileges, progress::ProgressLine,
};

#[derive(Args, Debug)]
pub(super) struct Listen {
    /// Check a client: run COMMAND once for each check, against a test server on ADDRESS
    ///
    /// Replaces `{url}` in COMMAND with the server's URL, and sets ACKWISE_URL to it. --timeout limits each run (default:
    /// 10 s). Without COMMAND, waits for any client, and prints the report after --requests, --timeout (default: 600 s)
    /// or Ctrl-C. --http, --only, --json, --markdown, --fail-on and exit codes work as for a server.
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "ADDRESS", group = "subject", conflicts_with_all = OF_SERVERS)]
    listen: Option<SocketAddr>,

    /// Without COMMAND, end after N requests [default: 20]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", requires = "listen", conflicts_with = "command")]
    #[arg(value_parser = whole(1..=10_000_u32))]
    requests: Option<u32>,

    /// With COMMAND, use kernel sockets on this host instead of ackwise's own stack in a private network namespace
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, requires = "listen")]
    host_network: bool,

    /// Use TLS, with a certificate from a CA created for this run
    ///
    /// Gives COMMAND the CA's certificate in SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE and NODE_EXTRA_CA_CERTS, and
    /// for Java as a trust store in JAVA_TOOL_OPTIONS.
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, requires = "listen")]
    tls: bool,

    /// Write the CA's certificate to FILE, which stays there after the check
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "FILE", requires = "tls")]
    ca_out: Option<PathBuf>,

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
    let Listen { listen, requests, host_network, tls, ca_out, command } = &check.listen;
    let address = listen.expect("it is wanted");
    if let Some(id) = check.only.iter().find(|id| id.role() != Role::Client) {
        return Err(Failure::Usage(format!("--only {id}: grades servers (expected a URL)")));
    }
    let only = (!check.only.is_empty()).then(|| check.only.iter().copied().collect());
    let client = match command.is_empty() {
        true => ListenClient::Any { requests: requests.map_or(REQUESTS, |it| it as usize) },
        false => ListenClient::Command(command.clone()),
    };
    // Before any thread: the process moves as a whole. Nobody else could connect there.
    let network = match *host_network || command.is_empty() {
        true => ListenNetwork::Host,
        false => ListenNetwork::private()?,
    };
    let time = check.timeout.unwrap_or(if command.is_empty() { PATIENCE } else { TIMEOUT });
    let scheme = if *tls { "https" } else { "http" };
    let tls = match tls {
        true => ListenTls::On { ca_out: ca_out.clone() },
        false => ListenTls::Off,
    };
    let http = check.asked.http();
    let options = ListenOptions { address, client, http, only, time, network, tls };
    let stop = Stop::on_hangup_too()?;
    let line = ProgressLine::new();
    let checked = check_client(&options, &mut |step| {
        match step {
            ListenProgress::Ready => privileges::give_up(),
            ListenProgress::Listening(address) => {
                line.say(&format!("listening on {scheme}://{address}/"));
            }
            ListenProgress::Checking(id) => line.show(CheckId::name(id)),
            _ => {}
        }
        if stop.is_asked() { Wish::End } else { Wish::GoOn }
    });
    drop(line);
    match (checked, stop.signal()) {
        (Err(ListenError::Interrupted), Some(signal)) => Err(Failure::Interrupted { signal }),
        (checked, _) => Ok(Report { cards: checked?, ..Report::default() }),
    }
}

/// What is about servers.
const OF_SERVERS: [&str; 25] = [
    "stack",
    "tcp",
    "quick",
    "stream",
    "thorough",
    "max_wait",
    "behind",
    "max_requests",
    "paths",
    "fields",
    "method",
    "data",
    "grpc",
    "data_split",
    "user",
    "follow",
    "expect",
    "resolve",
    "ipv4",
    "ipv6",
    "insecure",
    "ca_file",
    "allow_host_changes",
    "rtt",
    "link_rate",
];

/// Over these options in `--help`.
const HEADING: &str = "Clients";

/// For each run of a command, unless `--timeout` says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

/// For clients that somebody starts by hand, unless the options say otherwise. Our choice.
const PATIENCE: Duration = Duration::from_secs(600);
const REQUESTS: usize = 20;
