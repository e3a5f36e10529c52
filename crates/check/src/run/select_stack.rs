//! Which TCP plays the client for one server.

use std::net::SocketAddr;

use super::{CheckError, Options, Progress, StackChoice};
use crate::stack::{Stack, kernel::KernelStack};

/// A stack that can reach a server, and what a reader of the card should know about the choice.
pub(super) struct SelectedStack {
    pub(super) stack: Box<dyn Stack>,
    pub(super) note: Option<String>,
}

impl SelectedStack {
    pub(super) fn without_note(stack: impl Stack + 'static) -> Self {
        Self { stack: Box::new(stack), note: None }
    }
}

/// Ours where it needs no change to the host, else the kernel's; or what the caller insists on.
pub(super) fn select_stack(
    server: SocketAddr,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<SelectedStack, CheckError> {
    let needs_ours = options.distance.is_some()
        || options.preset.is_some()
        || options.stack == StackChoice::Ackwise;
    let ours = match options.stack {
        StackChoice::Kernel if options.preset.is_some() => {
            return Err(CheckError::Options(
                "cannot use --tcp with the kernel's TCP (expected --stack ackwise)".to_owned(),
            ));
        }
        StackChoice::Kernel if needs_ours => {
            return Err(CheckError::Options(
                "cannot emulate a path with the kernel's TCP (expected --stack ackwise with --rtt)"
                    .to_owned(),
            ));
        }
        StackChoice::Kernel => return Ok(SelectedStack::without_note(KernelStack)),
        StackChoice::Auto | StackChoice::Ackwise => open_ours(server, options, progress),
    };
    match ours {
        Ok(chosen) => Ok(chosen),
        Err(reason) if needs_ours => Err(CheckError::Stack(reason)),
        Err(reason) => Ok(SelectedStack {
            note: Some(format!("using the kernel's TCP stack: {reason}")),
            ..SelectedStack::without_note(KernelStack)
        }),
    }
}

#[cfg(target_os = "linux")]
fn open_ours(
    server: SocketAddr,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<SelectedStack, String> {
    use crate::stack::ackwise::{AckwiseStack, Changes};

    let mut announce = |change: &ackwise_linux::host_changes::Change| {
        progress(Progress::ChangingHost(change.to_string()));
    };
    let changes = match options.allow_host_changes {
        true => Changes::Announced(&mut announce),
        false => Changes::Forbidden,
    };
    let opened = AckwiseStack::open(server, changes, options.distance, options.preset);
    let with_note = |stack| SelectedStack {
        note: options.preset.map(|preset| format!("the client copies {}", preset.name())),
        ..SelectedStack::without_note(stack)
    };
    opened.map(with_note).map_err(|error| {
        // Where the kernel's TCP steps in by itself, nobody needs to be told to use it.
        let insists = options.stack == StackChoice::Ackwise && options.distance.is_none();
        let advice = if insists && error.spares_the_kernel() { ADVICE } else { "" };
        format!("{error}{advice}")
    })
}

#[cfg(not(target_os = "linux"))]
fn open_ours(
    _server: SocketAddr,
    _options: &Options,
    _progress: &mut dyn FnMut(Progress),
) -> Result<SelectedStack, String> {
    Err("cannot use the ackwise stack: it needs Linux".to_owned())
}

#[cfg(target_os = "linux")]
const ADVICE: &str = "; --stack kernel does not need this";
