//! A server that is a program of Python's asyncio, and keeps the same diary as the bench's own server. Its sockets have no Nagle; what
//! a socket does not take, its loop writes later.

use std::io::{BufRead, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::{Child, ChildStdout, Command, Stdio};

use ackwise_linux::Namespace;
use ackwise_testing::debian::{self, find};
use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::line::{Diary, Served};
use super::plan::{Exchange, Kind, Message, Plan, Protocol, Step};
use super::wire::head;
use crate::truth::started::guarded;
use crate::witness::clock::Nanos;

/// One that runs; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Asyncio {
    process: Child,
    said: BufReader<ChildStdout>,
    client: Ipv4Addr,
    connections: usize,
}

/// What it prints of a connection.
#[derive(Debug, Deserialize)]
struct Printed {
    peer: u16,
    accepted: Nanos,
    written: Vec<(Nanos, u64)>,
    blocked: Vec<(Nanos, Nanos)>,
    received: Vec<Nanos>,
    messages: Vec<(u64, u64)>,
}

impl Asyncio {
    /// Starts it on `host`, and waits until it listens; all connections come from `client`.
    pub(super) fn start(
        plan: &Plan,
        host: &Namespace,
        client: Ipv4Addr,
        port: u16,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new("timeout");
        command.arg(PATIENCE).arg(find("python3", "python3")?);
        command.args(["-c", include_str!("sources/server.py")]);
        command.args([&port.to_string(), &plan.backlog.to_string(), plan.congestion.name()]);
        let mut command = guarded(&command)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = {
            // From this very thread, whose end ends the program.
            let _inside = host.enter()?;
            command.spawn().context("cannot start nice")?
        };
        let connections: Vec<Value> = plan.connections.iter().map(|it| lines(plan, it)).collect();
        let mut asked = process.stdin.take().context("it has no input")?;
        asked.write_all(json!(connections).to_string().as_bytes())?;
        drop(asked);
        let said = BufReader::new(process.stdout.take().context("it has no output")?);
        let mut it = Self { process, said, client, connections: connections.len() };
        ensure!(it.line()? == "ready\n", "Python's server does not start");
        Ok(it)
    }

    /// What it did, once all connections are over.
    pub(super) fn served(&mut self) -> anyhow::Result<Vec<Served>> {
        let connections = self.connections;
        let one = |_| {
            let printed: Printed = serde_json::from_str(&self.line()?)?;
            let Printed { peer, accepted, written, blocked, received, messages } = printed;
            let no_delay = true;
            let diary =
                Diary { written, blocked, received, messages, no_delay, ..Diary::default() };
            let peer = Some(SocketAddrV4::new(self.client, peer));
            Ok(Served { peer, accepted, diary, behind: Vec::new() })
        };
        (0..connections).map(one).collect()
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.said.read_line(&mut line).context("cannot read what Python's server says")?;
        Ok(line)
    }
}

impl Drop for Asyncio {
    fn drop(&mut self) {
        debian::end(&mut self.process);
    }
}

/// The exchanges of a connection as the program reads them.
fn lines(plan: &Plan, exchanges: &[Exchange]) -> Value {
    let line = |it: &Exchange| {
        let request = head(plan.protocol, Kind::Request, it.request.body).len() + it.request.body;
        json!([request, it.server_think.as_secs_f64(), steps(plan, &it.response)])
    };
    exchanges.iter().map(line).collect()
}

/// A response's steps; nothing is corked.
fn steps(plan: &Plan, response: &Message) -> Vec<Value> {
    let mut text = String::from_utf8(head(plan.protocol, Kind::Response, response.body))
        .expect("the protocol is text");
    let mut left = response.body;
    let mut steps = Vec::new();
    for step in &response.steps {
        let bytes = match *step {
            Step::Pause(span) => {
                steps.push(json!(span.as_secs_f64()));
                continue;
            }
            Step::Cork(_) | Step::AwaitContinue => continue,
            Step::Head => 0,
            Step::Bytes(len) => len.min(left),
            Step::Rest => left,
        };
        left -= bytes;
        let mut before = std::mem::take(&mut text);
        let mut after = String::new();
        if plan.protocol == Protocol::Chunked {
            // RFC 9112, section 7.1.
            if bytes > 0 {
                before += &format!("{bytes:x}\r\n");
                after += "\r\n";
            }
            after += if matches!(step, Step::Rest) { "0\r\n\r\n" } else { "" };
        }
        steps.push(json!([before, bytes, after]));
    }
    steps
}

/// In seconds (our choice): a run that takes longer has failed.
const PATIENCE: &str = "60";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_written_as_ours_is() {
        let pause = std::time::Duration::from_millis(30);
        let steps_of = |protocol| {
            let mut plan = Plan::ideal("by hand", 1);
            plan.protocol = protocol;
            let message = vec![Step::Head, Step::Bytes(11), Step::Pause(pause), Step::Rest];
            json!(steps(&plan, &Message { body: 30, steps: message }))
        };
        let head = |protocol| String::from_utf8(head(protocol, Kind::Response, 30)).unwrap();
        let plain = json!([[head(Protocol::Http1), 0, ""], ["", 11, ""], 0.03, ["", 19, ""]]);
        assert_eq!(steps_of(Protocol::Http1), plain);
        let end = "\r\n0\r\n\r\n";
        let first = head(Protocol::Chunked);
        let chunked = json!([[first, 0, ""], ["b\r\n", 11, "\r\n"], 0.03, ["13\r\n", 19, end]]);
        assert_eq!(steps_of(Protocol::Chunked), chunked);
    }
}
