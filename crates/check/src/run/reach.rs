//! The first answer: connects, asks for the page, follows redirects on the same server.

use std::time::Duration;

use ackwise_http::{ConnectionOption, Method};
use ackwise_net::Target;

use super::{CheckError, Options, links, one_at_a_time};
use crate::{
    card::Protocol,
    http_client::{Client, Exchange, ExchangeError, Page, ReusedConnection, TlsSettings},
    server::Facts,
    stack::{Acknowledge, Receiver},
};

/// A server that has answered.
pub(super) struct Reached {
    pub(super) client: Client,
    pub(super) facts: Facts,
    pub(super) notes: Vec<String>,
}

/// A server that has not answered, and its client, who may try it in another way.
pub(super) struct Unreached {
    pub(super) error: CheckError,
    pub(super) client: Client,
}

pub(super) fn reach(
    mut client: Client,
    target: &Target,
    options: &Options,
) -> Result<Reached, Box<Unreached>> {
    match reach_with(&mut client, target, options) {
        Ok((facts, notes)) => Ok(Reached { client, facts, notes }),
        Err(error) => Err(Box::new(Unreached { error, client })),
    }
}

fn reach_with(
    client: &mut Client,
    target: &Target,
    options: &Options,
) -> Result<(Facts, Vec<String>), CheckError> {
    for path in &options.paths {
        Options::parse_path(path).map_err(CheckError::Options)?;
    }
    let server = client.server();
    let Answered { page, answer: (first, handshake), mut notes } =
        behind_redirects(client, target, options, first_answer, |(first, _)| first)?;
    if !first.complete {
        let bytes = first.content;
        notes.push(format!("only the first {bytes} bytes of the response were read"));
    }
    let mut facts = Facts::new(Page::whole(page.path()), first, handshake);
    let mut reused = ReusedConnection::new(Receiver::ETHERNET);
    for path in &options.paths {
        let other = Page::whole(path);
        let answer = client
            .ask_for(&other, Some(ConnectionOption::KeepAlive))
            .and_then(|request| reused.request(&request, Acknowledge::Promptly, client))
            .map_err(|error| CheckError::Unanswered { server, error })?;
        check_status(path, &answer, options)?;
        if answer.head.status >= 400 {
            let status = answer.head.status;
            notes.push(format!(
                "{path} responds with status {status}: a response of --paths that is not a page"
            ));
        }
        facts.others.push((other, answer.content));
    }
    facts.is_http2 = client.protocol() == Protocol::Http2;
    facts.thorough = options.thorough;
    facts.behind = options.behind;
    facts.asks_by_get = options.template.method == Method::Get;
    drop(reused); // One connection at a time.
    if one_at_a_time::serves_one_at_a_time(client, &facts) {
        client.hold_at_most(HOLD);
        notes.push(
            "the server serves one connection at a time, so no connection was held for long: checks that leave one idle \
             were left out"
                .to_owned(),
        );
    }
    notes.extend(links::find_larger(client, &mut facts, &page, options));
    Ok((facts, notes))
}

/// An answer behind redirects, where it was found, and what is to be said of it.
pub(super) struct Answered<T> {
    pub(super) page: Target,
    pub(super) answer: T,
    pub(super) notes: Vec<String>,
}

/// Asks for the page until an answer leads nowhere else; `response` is what an answer holds.
pub(super) fn behind_redirects<T>(
    client: &mut Client,
    target: &Target,
    options: &Options,
    ask: impl Fn(&mut Client, &Target) -> Result<T, ExchangeError>,
    response: impl Fn(&T) -> &Exchange,
) -> Result<Answered<T>, CheckError> {
    let server = client.server();
    let mut notes = Vec::new();
    let mut page = target.clone();
    let mut chain = vec![page.path().to_owned()];
    let answer = loop {
        let answer =
            ask(client, &page).map_err(|error| CheckError::unanswered(server, error, &page))?;
        match redirect(&page, response(&answer)) {
            None => break answer,
            Some(Err(note)) => {
                notes.push(note);
                break answer;
            }
            Some(Ok(next)) => {
                page = next;
                chain.push(page.path().to_owned());
                // The chain begins before the first redirect.
                if chain.len() - 1 > REDIRECTS_LIMIT {
                    let (target, chain) = (target.to_string(), chain.join(" > "));
                    return Err(CheckError::RedirectLoop { target, chain, limit: REDIRECTS_LIMIT });
                }
            }
        }
    };
    check_status(&page.to_string(), response(&answer), options)?;
    notes.extend(remarks(target, &page, response(&answer)));
    Ok(Answered { page, answer, notes })
}

/// What is not what the user means is not checked.
fn check_status(page: &str, answer: &Exchange, options: &Options) -> Result<(), CheckError> {
    let status = answer.head.status;
    match options.expect {
        Some(expected) if status != expected => {
            Err(CheckError::Status { page: page.to_owned(), status, expected })
        }
        _ => Ok(()),
    }
}

pub(super) fn tls_settings(
    target: &Target,
    options: &Options,
    protocol: Protocol,
) -> Result<Option<TlsSettings>, CheckError> {
    if !target.is_secure() {
        return Ok(None);
    }
    let settings = match options.insecure {
        true => TlsSettings::insecure(target.host()),
        false => TlsSettings::new(target.host(), options.ca_file.as_deref()),
    };
    let settings = settings.map_err(CheckError::Options)?;
    Ok(Some(match protocol {
        Protocol::Http1 => settings,
        Protocol::Http2 => settings.for_http2(),
    }))
}

fn first_answer(client: &mut Client, page: &Target) -> Result<(Exchange, Duration), ExchangeError> {
    let request = client.ask_for(&Page::whole(page.path()), None)?;
    let mut connection = client.open(Receiver::ETHERNET)?;
    connection.keep_content(LINKS);
    let exchange = connection.request(&request, &mut client.budget)?;
    Ok((exchange, connection.handshake()))
}

/// Where the response leads: to another page of this server, or, with a note, to where we do not go.
fn redirect(page: &Target, response: &Exchange) -> Option<Result<Target, String>> {
    if !matches!(response.head.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.head.fields.text("Location")?;
    Some(match page.join(location) {
        Ok(next) if next.shares_server_with(page) => Ok(next),
        Ok(next) if next.differs_in_scheme_from(page) => {
            let scheme = if next.is_secure() { "https" } else { "http" };
            Err(format!(
                "{page} redirects to {next}, the same host over {scheme}, which was not \
                 contacted; these results are for the redirect only (run `ackwise check {next}` \
                 for the page)"
            ))
        }
        Ok(next) => Err(format!(
            "{page} redirects to {next}, another server, which was not contacted; these results \
             are for the redirect only"
        )),
        Err(error) => {
            Err(format!("{page} redirects to {location:?}, which is not a usable URL: {error}"))
        }
    })
}

fn remarks(target: &Target, page: &Target, first: &Exchange) -> Vec<String> {
    let mut notes = Vec::new();
    if page != target {
        notes.push(format!("{target} redirects to {page}; that page was checked"));
    }
    if first.head.status >= 400 {
        let status = first.head.status;
        notes.push(format!(
            "{page} responds with status {status}; these results are for that response"
        ));
    }
    if let Some(status) = first.grpc_status().filter(|status| status.0 != 0) {
        notes.push(format!("the call ends with gRPC status {status}; these results are for that"));
    }
    notes
}

/// Bytes of a page that are searched for references to other pages. Our choice.
const LINKS: usize = 64 << 10;

/// A connection to a server that serves one at a time takes no further request after this long. Our choice: with an ACK
/// that is withheld for 120 ms in the last response, others wait for less than 150 ms.
const HOLD: Duration = Duration::from_millis(20);

/// Redirects that are followed.
const REDIRECTS_LIMIT: usize = 5;
