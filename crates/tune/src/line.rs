//! One line of the report: what was done, to which socket, and why. Text or JSON.

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use ackwise_text::{
    Name,
    format::{self, Document, Format},
    printable,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Something that happened in a run, or would.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
pub struct Line {
    /// Seconds since the run began.
    pub at_s: f64,
    /// What happened.
    pub act: Act,
    /// The socket, if it is about one.
    pub socket: Option<Socket>,
    /// The option that was set or given back, by its name in the kernel.
    pub option: Option<&'static str>,
    /// The option's value before.
    pub old: Option<u32>,
    /// The option's value afterwards.
    pub new: Option<u32>,
    /// At most so long after the connection was set up; absent if it was open when the run began.
    pub delay_ms: Option<f64>,
    /// Number of sockets or events in a line that sums up.
    pub count: Option<u64>,
    /// Milliseconds at stake.
    pub stake_ms: Option<f64>,
    /// Bytes at stake.
    pub stake_bytes: Option<u64>,
    /// Why, or what it means.
    pub reason: String,
}

/// What happened.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// An option would be set.
    WouldSet,
    /// An option was set.
    Set,
    /// Idle connections would be closed.
    WouldClose,
    /// An idle connection was closed.
    Closed,
    /// An old value was restored.
    GivenBack,
    /// A socket or a value was left as it is.
    Left,
    /// What is at stake.
    Stake,
    /// How the server was before and with the change.
    Compared,
    /// Something to know.
    Note,
    /// The run has ended.
    Ended,
}

/// A socket that a line is about.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Socket {
    /// Its own address.
    #[schemars(with = "String")]
    pub local: SocketAddr,
    /// The address at the other end; absent for a listening socket.
    #[schemars(with = "Option<String>")]
    pub remote: Option<SocketAddr>,
    /// Whether the process opened it, to a server behind it; otherwise a client did.
    pub upward: bool,
    /// The kernel's cookie of it, unique since boot.
    pub cookie: u64,
}

impl Document for Line {
    const FORMAT: Format = Format::first("ackwise-tune");
    const ABOUT: &'static str =
        "One line of `ackwise tune --json`, which prints a document for each event, one on a line.";
}

impl Line {
    /// What two measurements say.
    #[must_use]
    pub fn compared(at: Duration, reason: String) -> Self {
        Self::new(at, Act::Compared, reason)
    }

    pub(crate) fn new(at: Duration, act: Act, reason: impl Into<String>) -> Self {
        Self {
            at_s: (at.as_secs_f64() * 1e3).round() / 1e3,
            act,
            socket: None,
            option: None,
            old: None,
            new: None,
            delay_ms: None,
            count: None,
            stake_ms: None,
            stake_bytes: None,
            reason: reason.into(),
        }
    }

    /// As text on one line, without its end.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{:8.3} s  {:10}  ", self.at_s, Name(self.act));
        if let Some(option) = self.option {
            text += option;
            match (self.old, self.new) {
                (Some(old), Some(new)) => {
                    let _ = write!(text, " {old} -> {new}");
                }
                (None, Some(new)) => {
                    let _ = write!(text, " = {new}");
                }
                _ => {}
            }
            text += " on ";
        }
        if let Some(socket) = &self.socket {
            let _ = match socket.remote {
                Some(remote) if socket.upward => write!(text, "{} -> {remote}: ", socket.local),
                Some(remote) => write!(text, "{} <- {remote}: ", socket.local),
                None => write!(text, "listener {}: ", socket.local),
            };
        }
        text + &printable(&self.reason)
    }

    /// As JSON on one line, with its end.
    #[must_use]
    pub fn json(&self) -> String {
        format::to_json_line(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_change_the_socket_and_the_reason() {
        let mut line = Line::new(Duration::from_micros(1_234_567), Act::Set, "because");
        line.option = Some("TCP_NODELAY");
        (line.old, line.new) = (Some(0), Some(1));
        let local = SocketAddr::from(([127, 0, 0, 1], 80));
        line.socket = Some(Socket { local, remote: None, upward: false, cookie: 7 });
        let text = "   1.235 s  set         TCP_NODELAY 0 -> 1 on listener 127.0.0.1:80: because";
        assert_eq!(line.text(), text);
        for (upward, arrow) in [(false, "<-"), (true, "->")] {
            let remote = Some(([10, 0, 0, 1], 9).into());
            line.socket = Some(Socket { local, remote, upward, cookie: 7 });
            let end = format!("on 127.0.0.1:80 {arrow} 10.0.0.1:9: because");
            assert!(line.text().ends_with(&end), "{}", line.text());
        }
        assert!(line.json().ends_with("\"reason\":\"because\"}\n"));
        let hostile = Line::new(Duration::ZERO, Act::Note, "a\u{1b}[2J\nb").text();
        assert!(!hostile.contains(['\u{1b}', '\n']), "{hostile:?}");
    }
}
