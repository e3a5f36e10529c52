//! The runs of one command.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use super::{
    ListenClient, ListenError, Wish,
    authority::Authority,
    command::Running,
    observed::{Exit, Observed},
    play::{End, Player},
    script::Script,
    wire::Wire,
};
use crate::{http_client::Protocol, stack::distance::Distance};

/// A server that is ready, and the client that it waits for.
pub(crate) struct Setting<'a> {
    pub(crate) wire: Box<dyn Wire>,
    /// A name with another address that does not answer, or why there is none.
    pub(crate) name: Result<&'static str, String>,
    pub(crate) authority: Option<Authority>,
    pub(crate) client: &'a ListenClient,
    /// Where the server was to listen.
    pub(crate) address: SocketAddr,
    /// Time for each run.
    pub(crate) time: Duration,
}

/// The runs of the checks, in one version of HTTP after the other.
pub(crate) struct Runs<'a> {
    setting: Setting<'a>,
    progress: &'a mut dyn FnMut() -> Wish,
    /// In this version.
    protocol: Protocol,
    /// A run with a plain server, which several checks judge.
    plain: Option<Observed>,
    /// The run of clients that nobody here has started, and its versions.
    any: Option<Observed>,
    offered_to_any: &'a [Protocol],
    /// Whether the command has sent a request.
    begun: bool,
    /// Whether a client has offered HTTP/2 in the clear.
    http2_was_seen: bool,
    /// How runs ended other than with success, since somebody asked.
    ends: BTreeSet<String>,
}

impl<'a> Runs<'a> {
    /// Nothing is run yet. Clients that nobody here has started may choose among some versions.
    pub(crate) fn new(
        setting: Setting<'a>,
        offered_to_any: &'a [Protocol],
        progress: &'a mut dyn FnMut() -> Wish,
    ) -> Self {
        Self {
            setting,
            progress,
            protocol: Protocol::Http1,
            plain: None,
            any: None,
            offered_to_any,
            begun: false,
            http2_was_seen: false,
            ends: BTreeSet::new(),
        }
    }

    /// From now on in this version.
    pub(crate) fn use_version(&mut self, protocol: Protocol) {
        (self.protocol, self.plain, self.begun) = (protocol, None, false);
        self.ends.clear();
    }

    /// Whether the client has offered HTTP/2 in the runs so far.
    pub(crate) fn http2_is_offered(&self) -> bool {
        match (self.setting.client, &self.any) {
            (ListenClient::Any { .. }, seen) => {
                seen.as_ref().is_some_and(|it| it.has(Protocol::Http2))
            }
            _ => {
                let authority = self.setting.authority.as_ref();
                authority.is_some_and(Authority::http2_is_offered) || self.http2_was_seen
            }
        }
    }

    /// How runs ended other than with success, since the last call.
    pub(crate) fn take_ends(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.ends)
    }

    pub(crate) fn wire(&self) -> &dyn Wire {
        &*self.setting.wire
    }

    /// A name with another address that does not answer, or why there is none.
    pub(crate) fn name(&self) -> Result<&'static str, String> {
        self.setting.name.clone()
    }

    /// Runs the command with `name` in its URL.
    pub(crate) fn run_by_name(
        &mut self,
        name: &str,
        script: Script,
    ) -> Result<Observed, ListenError> {
        let url = format!("{}://{name}:{}/", self.scheme(), self.setting.wire.address().port());
        self.run_with(&url, script, 0)
    }

    /// Runs the command over a path with that round trip; `None` if the wire cannot be one.
    pub(crate) fn run_far(
        &mut self,
        rtt: Duration,
        script: Script,
    ) -> Result<Option<Observed>, ListenError> {
        let path = Distance { rtt, rate: None, queue: None, loss: None };
        if !self.setting.wire.set_distance(Some(path)) {
            return Ok(None);
        }
        let seen = self.run(script, 0);
        self.setting.wire.set_distance(None);
        seen.map(Some)
    }

    /// A run with a plain server, which several checks judge.
    pub(crate) fn plain(&mut self) -> Result<&Observed, ListenError> {
        if self.plain.is_none() {
            self.plain = Some(self.run(Script::Plain, 0)?);
        }
        Ok(self.plain.as_ref().expect("it was run just now"))
    }

    /// What clients did that nobody here has started: there is one run for all checks.
    pub(crate) fn any(&mut self) -> Result<Observed, ListenError> {
        if self.any.is_none() {
            let url = self.url();
            self.any = Some(self.play(&url, Script::DelaysAcks, 0)?.0);
        }
        let seen = self.any.clone().unwrap_or_default();
        let seen = seen.in_version(self.protocol);
        if seen.requests().next().is_none() {
            return Err(ListenError::Nobody(self.setting.time));
        }
        Ok(seen)
    }

    /// Runs the command once, after `earlier` requests in the same check.
    pub(crate) fn run(&mut self, script: Script, earlier: usize) -> Result<Observed, ListenError> {
        self.run_with(&self.url(), script, earlier)
    }

    fn url(&self) -> String {
        format!("{}://{}/", self.scheme(), self.setting.wire.address())
    }

    fn scheme(&self) -> &'static str {
        if self.setting.authority.is_some() { "https" } else { "http" }
    }

    fn run_with(
        &mut self,
        url: &str,
        script: Script,
        earlier: usize,
    ) -> Result<Observed, ListenError> {
        let (seen, output) = self.play(url, script, earlier)?;
        self.http2_was_seen |= seen.has(Protocol::Http2);
        let is_silent = seen.unanswered_syns.is_empty()
            && seen.clone().in_version(self.protocol).requests().next().is_none();
        if !self.begun && is_silent {
            return Err(ListenError::no_request(&seen, self.protocol, self.setting.time, output));
        }
        self.begun = true;
        if seen.exit != Some(Exit::Success) {
            self.ends.insert(how_it_ended(seen.exit, self.setting.time));
        }
        Ok(seen.in_version(self.protocol))
    }

    /// One run, and the last lines of the command's output.
    fn play(
        &mut self,
        url: &str,
        script: Script,
        earlier: usize,
    ) -> Result<(Observed, String), ListenError> {
        let trust = self.setting.authority.as_ref().map(Authority::variables).unwrap_or_default();
        let protocols = match self.setting.client {
            ListenClient::Any { .. } => self.offered_to_any,
            ListenClient::Command(_) => &[self.protocol],
        };
        let tls = self.setting.authority.as_ref().map(|it| it.server(protocols));
        let mut running = None;
        let end = match self.setting.client {
            ListenClient::Any { requests } => End::Requests(*requests),
            ListenClient::Command(command) => {
                let program = || command.first().cloned().unwrap_or_default();
                let started = Running::start(command, url, &trust)
                    .map_err(|error| ListenError::Start(program(), error))?;
                End::Command(running.insert(started))
            }
        };
        let progress = &mut self.progress;
        let mut wish = Wish::GoOn;
        let mut ask = || {
            wish = progress();
            wish
        };
        let seen =
            Player::new(&mut *self.setting.wire, script, tls.as_ref().map(Arc::clone), earlier)
                .run(end, self.setting.time, &mut ask)
                .map_err(|error| ListenError::Listen(self.setting.address, error))?;
        let is_cut = running.is_some() || seen.requests().next().is_none();
        if wish == Wish::End && is_cut {
            return Err(ListenError::Interrupted);
        }
        let output = running.as_ref().map(Running::last_lines).unwrap_or_default();
        Ok((seen, output))
    }
}

/// In words that follow "the command".
pub(super) fn how_it_ended(exit: Option<Exit>, limit: Duration) -> String {
    match exit {
        Some(Exit::Success) => "exited with 0".to_owned(),
        Some(Exit::Failure(Some(code))) => format!("exited with {code}"),
        Some(Exit::Failure(None)) => "was ended by a signal".to_owned(),
        None => format!("did not end within {} s (--timeout)", limit.as_secs_f64()),
    }
}
