//! The text of a script to its steps.

use std::{fmt, time::Duration};

use ackwise_tcp::{
    Instant, State,
    notation::{Call, Pattern},
    policy::{AckPolicy, ClosePolicy},
};

use super::settings::{Settings, ack, close, duration, seconds};

/// A script, ready to run.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) settings: Settings,
    pub(super) steps: Vec<Step>,
}

/// One line.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) when: When,
    pub(super) action: Action,
}

/// When it happens.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// After the line before.
    After(Duration),
    /// At a point in time.
    At(Instant),
}

/// What happens, or is looked at.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// A segment arrives.
    Inject(Pattern),
    /// A segment leaves.
    Expect(Pattern),
    /// None does until then.
    Nothing(Instant),
    /// A call by the application, with the number of bytes that it is expected to take.
    Call(Call, u32),
    /// The application changes when it acknowledges.
    Acknowledge(AckPolicy),
    /// The application changes how it closes.
    CloseBy(ClosePolicy),
    /// The application changes an option of its open connection.
    Set(Setting),
    /// A router reports an MTU and the sequence number it belongs to; whether that is believed.
    PathMtu(u32, u32, bool),
    /// The application wants what is unacknowledged acknowledged.
    AcknowledgeNow,
    /// The state is this.
    State(State),
    /// The application hears this.
    Event(String),
    /// The name of something is this, or `none`.
    Name(Named, String),
    /// A number is this.
    Count(Counted, u64),
}

/// What has a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    Wait,
    AckWait,
    Timer,
    TimeWaitReason,
    Dropped,
    Because,
}

/// What can be changed on an open connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Setting {
    UserTimeout(Duration),
    SendBuffer(u32),
    ReceiveBuffer(u32),
    PathMtu(u32),
}

/// What is counted, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counted {
    Cwnd,
    Ssthresh,
    Flight,
    Received,
    Readable,
    Acknowledged,
}

/// A line that is not in the language.
#[derive(Debug)]
pub(super) struct TextError {
    line: usize,
    text: String,
    why: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    {}", self.line, self.why, self.text)
    }
}

/// Reads a script.
pub(super) fn parse(source: &str) -> Result<Script, TextError> {
    let mut script = Script { settings: Settings::default(), steps: Vec::new() };
    for (index, whole) in source.lines().enumerate() {
        let text = whole.split('#').next().unwrap_or_default().trim();
        let error = |why| TextError { line: index + 1, text: text.to_owned(), why };
        if text.is_empty() {
            continue;
        }
        match script.settings.apply(text) {
            Some(Err(why)) => return Err(error(why)),
            Some(Ok(())) if script.steps.is_empty() => {}
            Some(Ok(())) => return Err(error("settings come before the first step".to_owned())),
            None => {
                let (when, action) = step(text).map_err(error)?;
                script.steps.push(Step { line: index + 1, text: text.to_owned(), when, action });
            }
        }
    }
    Ok(script)
}

fn step(text: &str) -> Result<(When, Action), String> {
    if !text.starts_with(|first: char| first == '+' || first.is_ascii_digit()) {
        return Ok((When::After(Duration::ZERO), action(text)?));
    }
    let (time, rest) = text.split_once(char::is_whitespace).ok_or("nothing after the time")?;
    let when = match time.strip_prefix('+') {
        Some(later) => When::After(seconds(later).ok_or("a time is decimal seconds")?),
        None => When::At(instant(time)?),
    };
    Ok((when, action(rest.trim())?))
}

fn instant(text: &str) -> Result<Instant, String> {
    Ok(Instant::EPOCH + seconds(text).ok_or_else(|| format!("{text:?} is not decimal seconds"))?)
}

fn action(text: &str) -> Result<Action, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match words[..] {
        ["<", ..] => Action::Inject(pattern(text)?),
        [">", ..] => Action::Expect(pattern(text)?),
        ["nothing", "until", time] => Action::Nothing(instant(time)?),
        ["state", name] => Action::State(state(name)?),
        ["event", name] => Action::Event(name.to_owned()),
        ["wait", name] => Action::Name(Named::Wait, name.to_owned()),
        ["ackwait", name] => Action::Name(Named::AckWait, name.to_owned()),
        ["reason", name] => Action::Name(Named::TimeWaitReason, name.to_owned()),
        ["dropped", name] => Action::Name(Named::Dropped, name.to_owned()),
        ["because", name] => Action::Name(Named::Because, name.to_owned()),
        ["timer", name] => Action::Name(Named::Timer, name.to_owned()),
        ["ack", "now"] => Action::AcknowledgeNow,
        ["ack", policy] => {
            Action::Acknowledge(ack(policy).ok_or_else(|| format!("no ACK policy {policy:?}"))?)
        }
        ["close", "by", policy] => {
            let policy = close(policy);
            Action::CloseBy(policy.ok_or_else(|| "no such close policy".to_owned())?)
        }
        ["set", "user_timeout", span] => {
            let span = duration(span).ok_or("a duration ends in s or ms")?;
            Action::Set(Setting::UserTimeout(span))
        }
        ["set", "send_buffer", bytes] => Action::Set(Setting::SendBuffer(number(bytes)?)),
        ["set", "receive_buffer", bytes] => Action::Set(Setting::ReceiveBuffer(number(bytes)?)),
        ["set", "path_mtu", mtu] => Action::Set(Setting::PathMtu(number(mtu)?)),
        ["mtu", mtu, "of", sequence] => Action::PathMtu(number(mtu)?, number(sequence)?, true),
        ["mtu", mtu, "of", sequence, "ignored"] => {
            Action::PathMtu(number(mtu)?, number(sequence)?, false)
        }
        ["write", bytes] => Action::Call(Call::Write(number(bytes)?), number(bytes)?),
        ["write", bytes, "takes", taken] => {
            Action::Call(Call::Write(number(bytes)?), number(taken)?)
        }
        ["read", bytes] => Action::Call(Call::Read(number(bytes)?), number(bytes)?),
        ["read", bytes, "takes", taken] => Action::Call(Call::Read(number(bytes)?), number(taken)?),
        [name] => Action::Call(call(name)?, 0),
        [name, bytes] => Action::Count(counted(name)?, number(bytes)?.into()),
        _ => return Err("no such step".to_owned()),
    })
}

fn pattern(text: &str) -> Result<Pattern, String> {
    text[1..].parse().map_err(|error| format!("{error} of the segment"))
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number of bytes"))
}

fn state(name: &str) -> Result<State, String> {
    let found = State::ALL.into_iter().find(|state| state.name() == name);
    found.ok_or_else(|| format!("no state {name:?}"))
}

fn call(name: &str) -> Result<Call, String> {
    let calls = [
        Call::Listen,
        Call::Connect,
        Call::Close,
        Call::Abort,
        Call::NoDelay,
        Call::Cork,
        Call::Uncork,
    ];
    let found = calls.into_iter().find(|call| call.to_string() == name);
    found.ok_or_else(|| format!("no call {name:?}"))
}

fn counted(name: &str) -> Result<Counted, String> {
    Ok(match name {
        "cwnd" => Counted::Cwnd,
        "ssthresh" => Counted::Ssthresh,
        "flight" => Counted::Flight,
        "received" => Counted::Received,
        "readable" => Counted::Readable,
        "acknowledged" => Counted::Acknowledged,
        _ => return Err(format!("nothing is called {name:?}")),
    })
}
