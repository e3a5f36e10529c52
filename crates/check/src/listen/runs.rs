//! The runs of one command, and what each check makes of them.

use std::{collections::BTreeMap, sync::Arc};

use ackwise_cause::Role;

use super::{
    ListenClient, ListenError, ListenOptions, Wish,
    authority::Authority,
    close_race,
    command::Running,
    connection_reuse, expect_continue, first_close, happy_eyeballs, judged,
    observed::{Exit, Observed},
    play::{End, Player},
    refused_upload, request_nagle,
    script::{DELAYS, Script},
    window_updates,
    wire::Wire,
};
use crate::{
    HttpChoice,
    card::{Card, Finding, FindingId, Protocol, Reason, Verdict},
    stack::distance::Distance,
};

/// Runs in one version of HTTP after the other.
pub(super) struct Runs<'a> {
    pub(super) wire: &'a mut dyn Wire,
    /// A name with another address that does not answer, or why there is none.
    pub(super) name: Result<&'static str, String>,
    pub(super) authority: Option<Authority>,
    pub(super) options: &'a ListenOptions,
    pub(super) progress: &'a mut dyn FnMut(FindingId) -> Wish,
    /// In this one.
    protocol: Protocol,
    /// A run with a plain server, which several checks judge.
    plain: Option<Observed>,
    /// The run of clients that nobody here has started, in all versions.
    any: Option<Observed>,
    /// Whether the command has sent a request.
    begun: bool,
    /// Whether a client has offered HTTP/2 in the clear.
    http2_was_seen: bool,
    /// The check that is under way.
    checking: FindingId,
    /// How runs ended other than with success, and in which checks.
    ends: BTreeMap<String, Vec<FindingId>>,
}

impl<'a> Runs<'a> {
    pub(super) fn new(
        wire: &'a mut dyn Wire,
        name: Result<&'static str, String>,
        authority: Option<Authority>,
        options: &'a ListenOptions,
        progress: &'a mut dyn FnMut(FindingId) -> Wish,
    ) -> Self {
        Self {
            wire,
            name,
            authority,
            options,
            progress,
            protocol: Protocol::Http1,
            plain: None,
            any: None,
            begun: false,
            http2_was_seen: false,
            checking: FindingId::RequestNagle,
            ends: BTreeMap::new(),
        }
    }

    /// A card for each version of HTTP that is asked for and that the client speaks.
    pub(super) fn cards(mut self) -> Result<Vec<Card>, ListenError> {
        if let HttpChoice::Only(protocol) = self.options.http {
            return Ok(vec![self.card(protocol)?]);
        }
        let first = self.card(Protocol::Http1);
        let is_offered = match (&self.options.client, &self.any) {
            (ListenClient::Any { .. }, seen) => {
                seen.as_ref().is_some_and(|it| it.has(Protocol::Http2))
            }
            _ => {
                let by_alpn = self.authority.as_ref().is_some_and(Authority::http2_is_offered);
                by_alpn || self.http2_was_seen
            }
        };
        match (first, is_offered) {
            (first, false) => Ok(vec![first?]),
            (Err(ListenError::NoRequest { .. } | ListenError::Nobody(_)), true) => {
                Ok(vec![self.card(Protocol::Http2)?])
            }
            (Err(error), true) => Err(error),
            (Ok(first), true) if first.notes.iter().any(|it| it == INTERRUPTED) => Ok(vec![first]),
            (Ok(mut first), true) => match self.card(Protocol::Http2) {
                Ok(second) => Ok(vec![first, second]),
                Err(error) => {
                    first.notes.push(format!("HTTP/2 is offered, but was not checked: {error}"));
                    Ok(vec![first])
                }
            },
        }
    }

    fn card(&mut self, protocol: Protocol) -> Result<Card, ListenError> {
        (self.protocol, self.plain, self.begun) = (protocol, None, false);
        self.ends.clear();
        let only = &self.options.only;
        let wants = |id: &FindingId| only.as_ref().is_none_or(|only| only.contains(id));
        let mut findings = Vec::new();
        let mut notes = Vec::new();
        for id in FindingId::of(Role::Client).filter(wants) {
            self.checking = id;
            match self.finding(id) {
                Ok(finding) => findings.push(finding),
                Err(ListenError::Interrupted) if !findings.is_empty() => {
                    notes.push(INTERRUPTED.to_owned());
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        notes.extend(self.ends.iter().map(|(how, checks)| {
            let checks: Vec<_> = checks.iter().map(|it| it.name()).collect();
            format!("The command {how} in the runs of {}.", checks.join(", "))
        }));
        let target = match &self.options.client {
            ListenClient::Command(words) => {
                let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
                words.join(" ")
            }
            ListenClient::Any { .. } => format!("a client of {}", self.wire.address()),
        };
        Ok(Card {
            target,
            protocol,
            role: Role::Client,
            server: None,
            status: None,
            grpc_status: None,
            stack: self.wire.name(),
            server_congestion: None,
            notes,
            emulated: None,
            findings,
        })
    }

    fn finding(&mut self, id: FindingId) -> Result<Finding, ListenError> {
        if let ListenClient::Any { .. } = self.options.client {
            let seen = self.any()?;
            return Ok(match id {
                FindingId::RequestNagle => request_nagle::judge(std::slice::from_ref(&seen)),
                FindingId::ConnectionReuse => connection_reuse::judge(&seen),
                FindingId::FirstClose => first_close::judge(&seen),
                _ => judged::not_applicable(id, "needs a COMMAND that can be run for this check"),
            });
        }
        Ok(match id {
            FindingId::RequestNagle => self.request_nagle()?,
            FindingId::ExpectContinue => {
                expect_continue::judge(&self.run(Script::WithholdsContinue, 0)?)
            }
            FindingId::ConnectionReuse => connection_reuse::judge(self.plain()?),
            FindingId::FirstClose => first_close::judge(self.plain()?),
            FindingId::CloseRace => {
                let raced = self.run(Script::ClosesReused, 0)?;
                let found = close_race::judge(self.plain()?, &raced);
                match found.verdict {
                    // A client that sends more or less of its own accord is no judge of that.
                    Verdict::Warn => {
                        let again = self.run(Script::Plain, 0)?;
                        close_race::confirm(found, self.plain()?, &again)
                    }
                    _ => found,
                }
            }
            FindingId::RefusedUpload => {
                refused_upload::judge(&self.run(Script::RefusesUploads, 0)?)
            }
            FindingId::HappyEyeballs => match self.name.clone() {
                Ok(name) => {
                    let url = format!("{}://{name}:{}/", self.scheme(), self.wire.address().port());
                    happy_eyeballs::judge(&self.run_with(&url, Script::Plain, 0)?)
                }
                Err(why) => judged::unknown(id, Reason::Stack, why),
            },
            FindingId::WindowUpdates => self.window_updates()?,
            _ => judged::not_applicable(id, "it grades servers"),
        })
    }

    /// One request is too few if it seemed to wait: then the command runs again.
    fn request_nagle(&mut self) -> Result<Finding, ListenError> {
        let mut runs = Vec::new();
        while runs.len() < MOST_RUNS {
            let earlier = runs.iter().map(delays_used).sum();
            runs.push(self.run(Script::DelaysAcks, earlier)?);
            if !request_nagle::is_open(&runs) {
                break;
            }
        }
        Ok(request_nagle::judge(&runs))
    }

    fn window_updates(&mut self) -> Result<Finding, ListenError> {
        let path = Distance { rtt: window_updates::RTT, rate: None, queue: None, loss: None };
        if !self.wire.set_distance(Some(path)) {
            let why = "needs a path of 80 ms (leave out --host-network)";
            return Ok(judged::unknown(FindingId::WindowUpdates, Reason::Stack, why));
        }
        let seen = self.run(Script::SendsLarge, 0);
        self.wire.set_distance(None);
        Ok(window_updates::judge(&seen?))
    }

    fn plain(&mut self) -> Result<&Observed, ListenError> {
        if self.plain.is_none() {
            self.plain = Some(self.run(Script::Plain, 0)?);
        }
        Ok(self.plain.as_ref().expect("it was run just now"))
    }

    /// What clients did that nobody here has started: there is one run for all checks.
    fn any(&mut self) -> Result<Observed, ListenError> {
        if self.any.is_none() {
            let url = self.url();
            self.any = Some(self.play(&url, Script::DelaysAcks, 0)?.0);
        }
        let seen = self.any.clone().unwrap_or_default();
        let seen = seen.in_version(self.protocol);
        if seen.requests().next().is_none() {
            return Err(ListenError::Nobody(self.options.time));
        }
        Ok(seen)
    }

    /// Runs the command once, after `earlier` requests in the same check.
    fn run(&mut self, script: Script, earlier: usize) -> Result<Observed, ListenError> {
        self.run_with(&self.url(), script, earlier)
    }

    fn url(&self) -> String {
        format!("{}://{}/", self.scheme(), self.wire.address())
    }

    fn scheme(&self) -> &'static str {
        if self.authority.is_some() { "https" } else { "http" }
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
            return Err(ListenError::no_request(&seen, self.protocol, self.options.time, output));
        }
        self.begun = true;
        if seen.exit != Some(Exit::Success) {
            let checks = self.ends.entry(how_it_ended(seen.exit, self.options.time)).or_default();
            if checks.last() != Some(&self.checking) {
                checks.push(self.checking);
            }
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
        let trust = self.authority.as_ref().map(Authority::variables).unwrap_or_default();
        let protocols: &[_] = match (&self.options.client, self.options.http) {
            (ListenClient::Any { .. }, HttpChoice::Offered) => &[Protocol::Http2, Protocol::Http1],
            _ => &[self.protocol],
        };
        let tls = self.authority.as_ref().map(|it| it.server(protocols));
        let mut running = None;
        let end = match &self.options.client {
            ListenClient::Any { requests } => End::Requests(*requests),
            ListenClient::Command(command) => {
                let program = || command.first().cloned().unwrap_or_default();
                let started = Running::start(command, url, &trust)
                    .map_err(|error| ListenError::Start(program(), error))?;
                End::Command(running.insert(started))
            }
        };
        let (checking, progress) = (self.checking, &mut self.progress);
        let mut wish = Wish::GoOn;
        let mut ask = || {
            wish = progress(checking);
            wish
        };
        let seen = Player::new(&mut *self.wire, script, tls.as_ref().map(Arc::clone), earlier)
            .run(end, self.options.time, &mut ask)
            .map_err(|error| ListenError::Listen(self.options.address, error))?;
        let is_cut = running.is_some() || seen.requests().next().is_none();
        if wish == Wish::End && is_cut {
            return Err(ListenError::Interrupted);
        }
        let output = running.as_ref().map(Running::last_lines).unwrap_or_default();
        Ok((seen, output))
    }
}

/// By how much the next run's delays are shifted, so that each of its requests gets another one. Those whose ACKs were
/// not ours to delay have used none.
fn delays_used(run: &Observed) -> usize {
    let used = run.requests().filter(|it| it.delay.is_some()).count();
    if used.is_multiple_of(DELAYS) { used + 1 } else { used }
}

/// In words that follow "the command".
pub(super) fn how_it_ended(exit: Option<Exit>, limit: std::time::Duration) -> String {
    match exit {
        Some(Exit::Success) => "exited with 0".to_owned(),
        Some(Exit::Failure(Some(code))) => format!("exited with {code}"),
        Some(Exit::Failure(None)) => "was ended by a signal".to_owned(),
        None => format!("did not end within {} s (--timeout)", limit.as_secs_f64()),
    }
}

const INTERRUPTED: &str = "The check was interrupted: the checks that are missing were not made.";

/// Runs of one check, if requests of the first seemed to wait. Our choice: three requests have three ACK delays.
const MOST_RUNS: usize = 4;
