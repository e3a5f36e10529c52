//! One check from the target's name to its card.

pub mod asked;
mod distance;
mod error;
mod http3;
mod idle;
mod links;
mod one_at_a_time;
mod options;
mod plan;
mod reach;
mod select_stack;
mod streams;
mod versions;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

pub use ackwise_link::{Probability, Rate};
pub use error::CheckError;
pub use options::{Follow, HttpChoice, MAX_REQUESTS, Options, StackChoice};
pub use plan::Progress;
use select_stack::{SelectedStack, select_stack};
use versions::Versions;

use ackwise_net::Target;

pub use super::stack::distance::Distance;
use super::{card::Card, stack::Stack};

/// Checks the server that `target` names, in HTTP/1.1 unless it speaks HTTP/2 alone or [`Options::http`] asks for that.
///
/// It talks to that server only, with at most [`Options::max_requests`] requests and for at most
/// [`Options::time`].
///
/// ```no_run
/// use ackwise_check::{Options, Target, card::{CheckId, Verdict}, check};
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
/// If the server cannot be reached or does not answer a plain GET; never for what a check finds.
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
        |versions, stack, ready| versions.reach(stack, ready),
        |versions, reached, progress| versions.card(reached, progress).0,
    )
}

/// As [`check`], in each version of HTTP that the server offers: a card each, at least one, within the limits of
/// [`Options`] each.
///
/// # Errors
///
/// As [`check`].
pub fn check_versions(
    target: &Target,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Card>, CheckError> {
    check_each(
        |server, progress| select_stack(server, options, progress),
        target,
        options,
        progress,
        |versions, stack, ready| versions.reach(stack, ready),
        |versions, reached, progress| versions.check(reached, progress),
    )
}

/// Checks the stream of events that `target` names, in each version of HTTP that the server offers: a card each, at
/// least one, within the limits of [`Options`] each.
///
/// # Errors
///
/// As [`check`].
pub fn check_streams(
    target: &Target,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Card>, CheckError> {
    check_each(
        |server, progress| select_stack(server, options, progress),
        target,
        options,
        progress,
        |versions, stack, ready| versions.begin_stream(stack, ready),
        |versions, begun, progress| versions.check_streams(begun, progress),
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
    check_each(
        |_, _| Ok(SelectedStack { stack: stack(), note: None }),
        target,
        options,
        progress,
        |versions, stack, ready| versions.reach(stack, ready),
        |versions, reached, progress| versions.card(reached, progress).0,
    )
}

/// One address of the target after the other, until one has a server.
fn check_each<R, T>(
    mut select_stack: impl FnMut(
        SocketAddr,
        &mut dyn FnMut(Progress),
    ) -> Result<SelectedStack, CheckError>,
    target: &Target,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
    reach: impl Fn(&Versions<'_>, Box<dyn Stack>, &mut dyn FnMut()) -> Result<R, CheckError>,
    run: impl FnOnce(&Versions<'_>, R, &mut dyn FnMut(Progress)) -> T,
) -> Result<T, CheckError> {
    progress(Progress::Resolving);
    let begun = Instant::now();
    let addresses = options.addresses(target)?;
    let mut failure = None;
    let last = addresses.len() - 1;
    for (number, server) in addresses.into_iter().enumerate() {
        progress(Progress::Connecting(server));
        let selected = select_stack(server, progress)?;
        // The stack's clock may be a test's, but names are resolved and devices set up in real time.
        let spent = Duration::from_millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(0));
        // Another address would need another device.
        if number == last {
            progress(Progress::Ready);
        }
        let versions = Versions { server, target, options, note: selected.note, spent };
        let mut ready = || {
            if number < last {
                progress(Progress::Ready);
            }
        };
        match reach(&versions, selected.stack, &mut ready) {
            Ok(reached) => return Ok(run(&versions, reached, progress)),
            // Another address of the same name may do better only where this one has no server.
            Err(error) if error.may_differ_by_address() => failure = Some(error),
            Err(error) => return Err(error),
        }
        if target.is_secure() && http3::speaks_quic(server) {
            return Err(CheckError::OnlyHttp3 { server });
        }
    }
    Err(failure.expect("a name that resolves has an address"))
}
