//! Runs a script, and tells how it went wrong.

use std::fmt;

use ackwise_tcp::{
    AckWait, DropReason, Endpoint, Instant, Received, TimeWaitReason, Timer, Wait,
    notation::{Pattern, Trace},
    policy::AckReason,
};

use super::{
    host::Host,
    text::{Action, Counted, Named, Script, Setting, Step, When},
};

/// How a script failed.
pub(super) struct Failure {
    line: usize,
    text: String,
    why: String,
    trace: Trace,
    /// The line of the trace that differs; the end, if something is missing there.
    differs: usize,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, text, why, trace, differs } = self;
        writeln!(f, "{line}: {why}\n    {text}\n  what happened, as a script:")?;
        let lines: Vec<_> = trace.lines().collect();
        for (index, (at, happening)) in lines.iter().enumerate() {
            let mark = if index == *differs { "   # <-- differs" } else { "" };
            writeln!(f, "    {at} {happening}{mark}")?;
        }
        if *differs >= lines.len() {
            writeln!(f, "    # <-- line {line} expects more: {text}")?;
        }
        Ok(())
    }
}

/// Runs `script`; returns what happened.
pub(super) fn run(script: &Script) -> Result<Trace, Box<Failure>> {
    let mut host = Host::new(script.settings);
    let mut clock = Instant::EPOCH;
    for step in &script.steps {
        clock = match step.when {
            When::After(span) => clock + span,
            When::At(at) => at,
        };
        perform(&step.action, clock, &mut host).map_err(|difference| {
            let (why, differs) = difference;
            failure(step, why, differs, &host)
        })?;
        if let Action::Nothing(until) = step.action {
            clock = until;
        }
    }
    match (host.sent.front(), script.steps.last()) {
        (Some(sent), Some(step)) => {
            let why = "the script ends, but another segment has left".to_owned();
            Err(failure(step, why, sent.line, &host))
        }
        _ => Ok(host.trace),
    }
}

fn failure(step: &Step, why: String, differs: usize, host: &Host) -> Box<Failure> {
    let Step { line, text, .. } = step;
    Box::new(Failure { line: *line, text: text.clone(), why, trace: host.trace.clone(), differs })
}

/// What went wrong, and which line of the trace shows it.
type Difference = (String, usize);

fn perform(action: &Action, at: Instant, host: &mut Host) -> Result<(), Difference> {
    match action {
        Action::Expect(pattern) => return expect(pattern, at, host),
        Action::Nothing(until) => return nothing(*until, host),
        _ => {}
    }
    host.advance(at, false);
    if let Action::Inject(_) | Action::Call(..) | Action::PathMtu(..) | Action::AcknowledgeNow =
        action
    {
        all_spoken_of(host)?;
    }
    match action {
        Action::Inject(pattern) => host.inject(pattern),
        Action::Call(call, bytes) => {
            let taken = host.call(*call);
            compare("bytes taken", &taken, bytes, host)?;
        }
        Action::Acknowledge(policy) => {
            host.with_endpoint(|endpoint| endpoint.set_ack(*policy));
        }
        Action::CloseBy(policy) => {
            host.with_endpoint(|endpoint| endpoint.set_close(*policy));
        }
        Action::Set(setting) => host.with_endpoint(|endpoint| match *setting {
            Setting::UserTimeout(span) => endpoint.set_user_timeout(span),
            Setting::SendBuffer(bytes) => endpoint.set_send_buffer(bytes),
            Setting::ReceiveBuffer(bytes) => endpoint.set_receive_buffer(bytes),
            Setting::PathMtu(mtu) => endpoint.limit_path_mtu(mtu).expect("a smaller MTU"),
        }),
        Action::PathMtu(mtu, sequence, believed) => {
            compare("believed", &host.report_path_mtu(*mtu, *sequence), believed, host)?;
        }
        Action::AcknowledgeNow => host.with_endpoint(Endpoint::acknowledge_now),
        Action::Event(name) => {
            if !std::iter::from_fn(|| host.told.pop_front()).any(|event| event.name() == name) {
                return Err((format!("no event {name}"), end(host)));
            }
        }
        Action::State(state) => {
            let found = host.endpoint.as_ref().map_or("none", |endpoint| endpoint.state().name());
            compare("state", &found, &state.name(), host)?;
        }
        Action::Name(named, name) => compare("name", &name_of(*named, host), &name.as_str(), host)?,
        Action::Count(counted, bytes) => {
            compare("count", &count(*counted, host), bytes, host)?;
        }
        Action::Expect(_) | Action::Nothing(_) => {}
    }
    Ok(())
}

/// The next segment that leaves is this one, and it leaves in this microsecond.
fn expect(pattern: &Pattern, at: Instant, host: &mut Host) -> Result<(), Difference> {
    host.advance(end_of_microsecond(at), true);
    let Some(sent) = host.sent.pop_front() else {
        return Err(("nothing is sent".to_owned(), end(host)));
    };
    let found = format!("{} > {}", sent.at, sent.segment);
    if microseconds(sent.at) != microseconds(at) {
        return Err((format!("expected at {at}, found {found}"), sent.line));
    }
    host.reason = sent.reason;
    if !pattern.matches(&sent.segment.segment, sent.segment.isns) {
        return Err((format!("found {found}"), sent.line));
    }
    Ok(())
}

fn nothing(until: Instant, host: &mut Host) -> Result<(), Difference> {
    let before = Instant::from_nanos(until.as_nanos().saturating_sub(1));
    host.advance(before, true);
    all_spoken_of(host)
}

fn all_spoken_of(host: &Host) -> Result<(), Difference> {
    match host.sent.front() {
        None => Ok(()),
        Some(sent) => Err((format!("unexpected {} > {}", sent.at, sent.segment), sent.line)),
    }
}

fn compare<T: PartialEq + fmt::Display>(
    what: &str,
    found: &T,
    expected: &T,
    host: &Host,
) -> Result<(), Difference> {
    if found == expected {
        return Ok(());
    }
    Err((format!("{what}: found {found}, expected {expected}"), end(host)))
}

fn end(host: &Host) -> usize {
    host.trace.lines().count()
}

fn name_of(named: Named, host: &Host) -> &'static str {
    let endpoint = host.endpoint.as_ref();
    let name = match named {
        Named::TimeWaitReason => {
            endpoint.and_then(Endpoint::time_wait_reason).map(TimeWaitReason::name)
        }
        Named::Wait => endpoint.and_then(|endpoint| endpoint.wait()).map(Wait::name),
        Named::AckWait => endpoint.and_then(Endpoint::ack_wait).map(AckWait::name),
        Named::Dropped => host.received.and_then(Received::dropped).map(DropReason::name),
        Named::Because => host.reason.map(AckReason::name),
        Named::Timer => {
            let deadline = endpoint.and_then(Endpoint::poll_timeout);
            deadline.map(|deadline| Timer::name(deadline.timer))
        }
    };
    name.unwrap_or("none")
}

fn count(counted: Counted, host: &Host) -> u64 {
    let Some(endpoint) = &host.endpoint else { return 0 };
    match counted {
        Counted::Cwnd => endpoint.windows().congestion.into(),
        Counted::Ssthresh => endpoint.windows().threshold.into(),
        Counted::Flight => endpoint.flight().into(),
        Counted::Received => endpoint.received(),
        Counted::Readable => endpoint.readable(),
        Counted::Acknowledged => endpoint.acknowledged(),
    }
}

const fn microseconds(at: Instant) -> u64 {
    at.as_nanos() / 1_000
}

const fn end_of_microsecond(at: Instant) -> Instant {
    Instant::from_nanos(microseconds(at) * 1_000 + 999)
}
