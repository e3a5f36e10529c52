//! The plays as files, to be simulated again.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::case::Case;
use super::play::Play;
use crate::kernel::flow::Flow;
use crate::kernel::keep;

/// Writes a play and what was simulated beside it.
pub(super) fn keep(
    folder: &Path,
    case: &Case,
    nth: u64,
    play: &Play,
    simulated: &Flow,
) -> anyhow::Result<()> {
    let toml = case.toml(play.phase);
    keep::keep(folder, case.number, nth, &toml, [&play.flow, simulated])?;
    let file = keep::folder(folder, case.number, nth).join(PHASE);
    fs::write(&file, play.phase.to_string())
        .with_context(|| format!("cannot write {}", file.display()))
}

/// The plays that [`keep()`] has written.
pub(super) fn kept(folder: &Path, case: u64) -> anyhow::Result<Vec<Play>> {
    let mut plays = Vec::new();
    for nth in 0.. {
        let Some(flow) = keep::kept(folder, case, nth)? else { break };
        let file = keep::folder(folder, case, nth).join(PHASE);
        let phase = fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?
            .trim()
            .parse()?;
        plays.push(Play { flow, phase });
    }
    Ok(plays)
}

/// Where the ticks stood, in nanoseconds.
const PHASE: &str = "phase";
