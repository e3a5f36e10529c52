//! What the card must say about each server: one table.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::{
    card::{Card, Stack},
    servers::{
        Nginx, Python,
        Server::{self, Apache, Lighttpd},
    },
};

#[rustfmt::skip]
const TABLE: &[Row] = &[
    //  servers             stacks   finding                  value                 expected
    Row(EVERY,              BOTH,    "close",                 "first_on_close",     Is("server")),
    Row(EVERY,              BOTH,    "close",                 "time_wait",          Is("server")),
    Row(EVERY,              OURS,    "close",                 "rst_ends_time_wait", Yes),
    Row(EVERY,              OURS,    "close",                 "swap",               Is("accepted")),
    Row(EVERY,              BOTH,    "keep-alive",            "persistent",         Yes),
    Row(EVERY,              BOTH,    "pipelining",            "ok",                 Yes),
    Row(EVERY,              BOTH,    "cork-timer",            "verdict",            Is("pass")),
    Row(EVERY,              BOTH,    "request-segments",      "verdict",            Is("pass")),
    Row(EVERY,              BOTH,    "first-byte",            "verdict",            Is("pass")),
    Row(EVERY,              KERNEL,  "initial-window",        "verdict",            Is("unknown")),
    Row(EVERY,              OURS,    "initial-window",        "segments",           Within(10..=10)),
    Row(EVERY,              OURS,    "idle-restart",          "after",              Within(10..=10)),

    Row(&[NGINX],           BOTH,    "split-head",            "split",              Yes),
    Row(&[NGINX],           BOTH,    "split-head",            "verdict",            Is("warn")),
    Row(&[NGINX],           OURS,    "short-initial-segment", "verdict",            Is("pass")),
    Row(&[NGINX],           BOTH,    "nagle-delayed-ack",     "verdict",            Is("pass")),

    Row(JOINED,             BOTH,    "split-head",            "split",              No),
    Row(JOINED,             BOTH,    "split-head",            "verdict",            Is("pass")),
    Row(JOINED,             OURS,    "short-initial-segment", "verdict",            Is("pass")),
    Row(JOINED,             BOTH,    "nagle-delayed-ack",     "verdict",            Is("pass")),

    Row(&[PYTHON],          BOTH,    "split-head",            "split",              Yes),
    Row(&[PYTHON],          OURS,    "short-initial-segment", "verdict",            Is("pass")),
    Row(&[PYTHON],          OURS,    "nagle-delayed-ack",     "receiver",           Is("linux")),
    Row(&[PYTHON],          BOTH,    "nagle-delayed-ack",     "verdict",            Is("fail")),
    Row(&[PYTHON],          BOTH,    "nagle-delayed-ack",     "released_by",        Is("ack")),
    Row(&[PYTHON],          BOTH,    "nagle-delayed-ack",     "cost_ms_40",         Within(35..=70)),
    Row(&[PYTHON],          OURS,    "nagle-delayed-ack",     "cost_ms_120",        Within(115..=150)),

    Row(&[PYTHON_NO_DELAY], BOTH,    "split-head",            "verdict",            Is("warn")),
    Row(&[PYTHON_NO_DELAY], OURS,    "short-initial-segment", "verdict",            Is("pass")),
    Row(&[PYTHON_NO_DELAY], BOTH,    "nagle-delayed-ack",     "verdict",            Is("pass")),

    // It pauses for as long as a client delays its ACK, between the head and the body, but not for the ACK.
    Row(&[PYTHON_THINKS],   BOTH,    "split-head",            "verdict",            Is("warn")),
    Row(&[PYTHON_THINKS],   BOTH,    "nagle-delayed-ack",     "verdict",            Is("pass")),
    Row(&[PYTHON_THINKS],   BOTH,    "nagle-delayed-ack",     "released_by",        Is("other")),
];

const EVERY: &[Server] = &[];
const JOINED: &[Server] = &[
    Server::Nginx(Nginx::TcpNopush),
    Apache,
    Lighttpd,
    Server::Python(Python::Joined),
    Server::Python(Python::Thinks),
];
const NGINX: Server = Server::Nginx(Nginx::HeadApart);
const PYTHON: Server = Server::Python(Python::HeadApart);
const PYTHON_NO_DELAY: Server = Server::Python(Python::NoDelay);
const PYTHON_THINKS: Server = Server::Python(Python::ThinksAfterHead);

const BOTH: &[Stack] = &[Stack::Kernel, Stack::Ackwise];
const KERNEL: &[Stack] = &[Stack::Kernel];
const OURS: &[Stack] = &[Stack::Ackwise];

/// For these servers (none: for every one) and stacks, a value of a finding.
#[derive(Debug)]
struct Row(&'static [Server], &'static [Stack], &'static str, &'static str, Expected);

#[derive(Debug)]
enum Expected {
    Is(&'static str),
    Within(RangeInclusive<u32>),
    Yes,
    No,
}
use Expected::{Is, No, Within, Yes};

/// # Panics
///
/// If `card` differs from the table; the message has all differences, and the card.
pub(crate) fn compare(server: Server, stack: Stack, card: &Card) {
    let rows = || TABLE.iter().filter(|row| row.is_about(server, stack));
    let mut surprises: Vec<String> = rows().filter_map(|row| row.surprise(card)).collect();
    let expected_code = i32::from(rows().any(Row::fails));
    if card.exit_code != Some(expected_code) {
        surprises.push(format!("exit code {:?}, expected {expected_code}", card.exit_code));
    }
    let surprises = surprises.join("\n");
    assert!(surprises.is_empty(), "{server:?}, {stack}:\n{surprises}\n\n{card}");
}

impl Row {
    fn is_about(&self, server: Server, stack: Stack) -> bool {
        let Self(servers, stacks, ..) = self;
        (servers.is_empty() || servers.contains(&server)) && stacks.contains(&stack)
    }

    fn fails(&self) -> bool {
        matches!(self, Self(.., "verdict", Is("fail")))
    }

    fn surprise(&self, card: &Card) -> Option<String> {
        let Self(_, _, finding, key, expected) = self;
        let value = match *key {
            "verdict" => card.value(finding, "/verdict"),
            key => card.value(finding, &format!("/values/{key}")),
        };
        let seen = format!("{finding}: {key} is {value}, expected {expected:?}");
        (!expected.holds(value)).then_some(seen)
    }
}

impl Expected {
    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Is(text) => value == text,
            Self::Within(range) => value.as_f64().is_some_and(|number| {
                (f64::from(*range.start())..=f64::from(*range.end())).contains(&number)
            }),
            Self::Yes => *value == true,
            Self::No => *value == false,
        }
    }
}
