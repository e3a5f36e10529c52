//! The checks of a client, in one version of HTTP after the other.

use std::{cell::Cell, collections::BTreeMap};

use super::ListenOptions;
use crate::{
    HttpChoice,
    card::{Card, CheckId, Protocol, Role},
    checks::judged::Judged,
    client::{
        ListenClient, ListenError, Wish,
        runs::{Runs, Setting},
    },
};

/// A card for each version of HTTP that is asked for and that the client speaks. `progress` is told again and again
/// which check is under way.
pub(super) fn cards(
    setting: Setting<'_>,
    options: &ListenOptions,
    progress: &mut dyn FnMut(CheckId) -> Wish,
) -> Result<Vec<Card>, ListenError> {
    let checking = Cell::new(CheckId::ALL[0]);
    let mut ask = || progress(checking.get());
    let offered: &[_] = match options.http {
        HttpChoice::Offered => &[Protocol::Http2, Protocol::Http1],
        HttpChoice::Only(Protocol::Http1) => &[Protocol::Http1],
        HttpChoice::Only(Protocol::Http2) => &[Protocol::Http2],
    };
    let mut runs = Runs::new(setting, offered, &mut ask);
    let mut card = |protocol| {
        let card = card(&mut runs, protocol, options, &checking);
        (card, runs.http2_is_offered())
    };
    if let HttpChoice::Only(protocol) = options.http {
        return Ok(vec![card(protocol).0?]);
    }
    match card(Protocol::Http1) {
        (first, false) => Ok(vec![first?]),
        (Err(ListenError::NoRequest { .. } | ListenError::Nobody(_)), true) => {
            Ok(vec![card(Protocol::Http2).0?])
        }
        (Err(error), true) => Err(error),
        (Ok(first), true) if first.notes.iter().any(|it| it == INTERRUPTED) => Ok(vec![first]),
        (Ok(mut first), true) => match card(Protocol::Http2).0 {
            Ok(second) => Ok(vec![first, second]),
            Err(error) => {
                first.notes.push(format!("HTTP/2 is offered, but was not checked: {error}"));
                Ok(vec![first])
            }
        },
    }
}

fn card(
    runs: &mut Runs<'_>,
    protocol: Protocol,
    options: &ListenOptions,
    checking: &Cell<CheckId>,
) -> Result<Card, ListenError> {
    runs.use_version(protocol);
    let wants = |id: &CheckId| options.only.as_ref().is_none_or(|only| only.contains(id));
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    // How runs ended other than with success, and in which checks.
    let mut ends: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for id in CheckId::of(Role::Client).filter(wants) {
        checking.set(id);
        let judged = judge(runs, id, &options.client);
        for how in runs.take_ends() {
            ends.entry(how).or_default().push(id.name());
        }
        match judged {
            Ok(judged) => findings.push(judged.into_finding(id, id.remedy(None))),
            Err(ListenError::Interrupted) if !findings.is_empty() => {
                notes.push(INTERRUPTED.to_owned());
                break;
            }
            Err(error) => return Err(error),
        }
    }
    let end = |(how, checks): (&String, &Vec<&str>)| {
        format!("The command {how} in the runs of {}.", checks.join(", "))
    };
    notes.extend(ends.iter().map(end));
    let target = match &options.client {
        ListenClient::Command(words) => {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            words.join(" ")
        }
        ListenClient::Any { .. } => format!("a client of {}", runs.wire().address()),
    };
    Ok(Card {
        target,
        protocol,
        role: Role::Client,
        server: None,
        status: None,
        grpc_status: None,
        stack: runs.wire().name(),
        server_congestion: None,
        notes,
        emulated: None,
        findings,
    })
}

fn judge(runs: &mut Runs<'_>, id: CheckId, client: &ListenClient) -> Result<Judged, ListenError> {
    let Some(check) = id.of_client() else {
        return Ok(Judged::not_applicable("it grades no clients"));
    };
    match (client, check.judge_any) {
        (ListenClient::Command(_), _) => (check.run)(runs),
        (ListenClient::Any { .. }, Some(judge)) => Ok(judge(&runs.any()?)),
        (ListenClient::Any { .. }, None) => {
            runs.any()?;
            Ok(Judged::not_applicable("needs a COMMAND that can be run for this check"))
        }
    }
}

const INTERRUPTED: &str = "The run was interrupted: missing checks were not made.";
