//! What checks of servers share: what is known before the first of them asks, and how responses are looked at.

pub(crate) mod accept_queue;
pub(crate) mod facts;
pub(crate) mod flight;
pub(crate) mod follow;
pub(crate) mod prompt;

pub(crate) use accept_queue::Queue;
pub(crate) use facts::{Facts, Front, Idle, IdleEnd, end};

use crate::{
    http_client::{Client, Protocol},
    no_verdict::NoVerdict,
};

pub(crate) fn is_http1(client: &Client, _: &Facts) -> bool {
    client.protocol() == Protocol::Http1
}

pub(crate) fn is_http2(client: &Client, _: &Facts) -> bool {
    client.protocol() == Protocol::Http2
}

/// For a check that keeps a connection open for longer than others should wait.
pub(crate) fn may_keep_open(client: &Client) -> Result<(), NoVerdict> {
    match client.hold() {
        Some(_) => Err(NoVerdict::not_applicable("the server serves one connection at a time")),
        None => Ok(()),
    }
}

/// For a check of what only HTTP/2 has.
pub(crate) fn needs_http2(client: &Client) -> Result<(), NoVerdict> {
    match client.protocol() {
        Protocol::Http1 => Err(NoVerdict::not_applicable("this is about HTTP/2 only")),
        Protocol::Http2 => Ok(()),
    }
}

/// For a check of what only HTTP/1.1 has; `why` says what HTTP/2 has instead.
pub(crate) fn needs_http1(client: &Client, why: &str) -> Result<(), NoVerdict> {
    match client.protocol() {
        Protocol::Http1 => Ok(()),
        Protocol::Http2 => Err(NoVerdict::not_applicable(why)),
    }
}
