//! One check from the target's name to its card.

pub mod asked;
mod distance;
mod error;
mod idle;
mod links;
mod one_at_a_time;
mod options;
mod plan;
mod reach;
mod select_stack;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

pub use ackwise_link::{Probability, Rate};
pub use error::CheckError;
pub use options::{Follow, MAX_REQUESTS, Options, StackChoice};
pub use plan::Progress;
use select_stack::{SelectedStack, select_stack};

use ackwise_client::Target;

pub use super::stack::distance::Distance;
use super::{
    card::{Card, Role},
    http_client::Budget,
    probe::Queue,
    stack::Stack,
};

/// Checks the server that `target` names.
///
/// It talks to that server only, with at most [`Options::max_requests`] requests and for at most
/// [`Options::time`].
///
/// ```no_run
/// use ackwise_check::{Options, Target, card::{FindingId, Verdict}, check};
///
/// let target: Target = "http://localhost:8080/".parse()?;
/// let card = check(&target, &Options::default(), &mut |_| {})?;
/// for finding in &card.findings {
///     assert!(finding.verdict < Verdict::Fail, "{}: {}", finding.id, finding.summary);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the server cannot be reached or does not answer a plain GET; never for what a probe finds.
pub fn check(
    target: &Target,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Card, CheckError> {
    check_each(
        |server, progress| select_stack(server, options, progress),
        target,
        options,
        progress,
    )
}

/// As [`check`], with a stack that the caller brings; one for each address that is tried.
///
/// # Errors
///
/// As [`check`].
pub fn check_with(
    mut stack: impl FnMut() -> Box<dyn Stack>,
    target: &Target,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Card, CheckError> {
    check_each(|_, _| Ok(SelectedStack { stack: stack(), note: None }), target, options, progress)
}

/// One address of the target after the other, until one has a server.
fn check_each(
    mut select_stack: impl FnMut(
        SocketAddr,
        &mut dyn FnMut(Progress),
    ) -> Result<SelectedStack, CheckError>,
    target: &Target,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Card, CheckError> {
    progress(Progress::Resolving);
    let begun = Instant::now();
    let addresses = options.addresses(target)?;
    let mut failure = None;
    let last = addresses.len() - 1;
    for (number, server) in addresses.into_iter().enumerate() {
        progress(Progress::Connecting(server));
        let SelectedStack { stack, note } = select_stack(server, progress)?;
        let (name, now) = (stack.name(), stack.now());
        // The stack's clock may be a test's, but names are resolved and devices set up in real time.
        let spent = Duration::from_millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(0));
        let farther = options.distance.map(|it| it.extra_answer()).unwrap_or_default();
        let answer = options.max_wait + farther;
        let budget = Budget::new(options.max_requests, options.time, answer, now);
        let budget = budget.after(spent);
        // Another address would need another device.
        if number == last {
            progress(Progress::Ready);
        }
        let queue = Queue::read(server);
        match reach::reach(stack, server, target, options, budget) {
            Ok(mut reached) => {
                reached.facts.queue = queue;
                if number < last {
                    progress(Progress::Ready);
                }
                let emulated = options.distance.map(|distance| {
                    distance::emulate(&distance, &mut reached.client, &reached.facts)
                });
                let far = emulated.iter().flat_map(distance::notes);
                let notes = note.into_iter().chain(reached.notes.iter().cloned()).chain(far);
                let notes = notes.collect();
                let queue = reached.facts.queue.as_ref();
                let server_congestion = queue.and_then(|it| it.congestion.clone());
                let status = reached.facts.first.head.status;
                let findings = plan::run_probes(reached, options, progress);
                return Ok(Card {
                    target: target.to_string(),
                    role: Role::Server,
                    server: None,
                    status: Some(status),
                    stack: name,
                    server_congestion,
                    notes,
                    emulated,
                    findings,
                });
            }
            // Another address of the same name may do better only where this one has no server.
            Err(error) if error.may_differ_by_address() => failure = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(failure.expect("a name that resolves has an address"))
}
