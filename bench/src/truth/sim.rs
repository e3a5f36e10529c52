//! Cases from the simulator, which knows at each moment what each end waits for.
//!
//! Simulator and analyser name causes by the same function (`ackwise_cause::cause`), so an error in that
//! function is not found here: these cases have tables of their own. There is no middle, because a
//! simulated capture is taken at a host.
//!
//! | file | its one idea |
//! | --- | --- |
//! | `axes` | the second set of families |
//! | `draw` | families of experiments, with parameters drawn by seed |
//! | `losses` | what repairs a loss |
//! | `second` | the last set of families |
//! | `watcher` | a run, with captures at both ends and what was waited for |

mod axes;
mod draw;
mod losses;
mod second;
mod watcher;

use std::fs;
use std::path::Path;

use ackwise_lab::experiment::Experiment;
use anyhow::Context;

use super::case::{Captures, Case, OneWay, Recorded, Truth, World};
use super::options::Set;
use crate::dice::Dice;

/// Runs the experiment that `seed` and `number` draw, and writes it as a case below `folder`.
///
/// # Errors
///
/// If the experiment does not run, or a file cannot be written.
pub(super) fn record(set: Set, seed: u64, number: u64, folder: &Path) -> anyhow::Result<Recorded> {
    let families = match set {
        Set::Axes => axes::FAMILIES,
        Set::Second => second::FAMILIES,
        Set::First | Set::Ordinary => draw::FAMILIES,
    };
    let mut dice = Dice::new(seed).of("sim", number);
    let mut sender = Dice::new(seed).of("sender", number);
    let drawn = draw::draw(families, number, &mut dice, &mut sender);
    let name = format!("sim-{number:04}");
    let experiment = Experiment::parse(&name, draw::BASE)
        .and_then(|it| it.with_all_set(drawn.settings.iter().map(String::as_str)))
        .with_context(|| format!("case {name} is not an experiment: {:?}", drawn.settings))?;
    let watched = watcher::run(&experiment.cases()[0].scenario)
        .with_context(|| format!("case {name} does not run"))?;
    let folder = folder.join(&name);
    let [client, server] = ["client.pcap", "server.pcap"];
    let case = Case {
        name,
        world: World::Sim,
        family: drawn.family.to_owned(),
        seed,
        parameters: drawn.parameters(),
        captures: Captures {
            client: Some(client.to_owned()),
            server: Some(server.to_owned()),
            middle: None,
            keys: None,
        },
        one_way_ms: OneWay {
            client_to_middle: drawn.delay_ms,
            middle_to_client: drawn.delay_ms,
            ..OneWay::default()
        },
        disturbed: None,
    };
    let recorded = Recorded {
        folder,
        case,
        truth: Truth { intervals: watched.intervals, ..Truth::default() },
    };
    recorded.write()?;
    for (file, bytes) in [client, server].into_iter().zip(&watched.captures) {
        let path = recorded.folder.join(file);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::reading::{Vantage, load, read};

    #[test]
    fn what_is_reported_about_a_case_covers_each_exchange_without_a_rest() {
        let temporary = std::env::temp_dir().join(format!("ackwise-sim-{}", std::process::id()));
        for number in 0..4 {
            let Recorded { folder, case, truth } =
                record(Set::First, 1, number, &temporary).unwrap();
            assert!(!truth.intervals.is_empty(), "{}", case.name);
            let packets = load(&folder, &case.captures).unwrap();
            for vantage in [Vantage::Client, Vantage::Server, Vantage::Pair] {
                let said = read(vantage, &case.captures, &case.one_way_ms, &packets, None).unwrap();
                for exchange in said.unwrap().exchanges {
                    let covered: u64 = exchange.claims.iter().map(|it| it.until - it.from).sum();
                    let whole = exchange.until_ns - exchange.from_ns;
                    assert_eq!(covered, whole, "{} {vantage} {}", case.name, exchange.request);
                }
            }
            let middle = read(Vantage::Middle, &case.captures, &case.one_way_ms, &packets, None);
            assert!(middle.unwrap().is_none(), "there is no capture");
        }
        fs::remove_dir_all(&temporary).unwrap();
    }
}
