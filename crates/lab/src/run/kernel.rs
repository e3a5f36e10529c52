//! Rows that are played in real time instead of simulated, on the kernel or on the wire: several runs
//! each, because real time has disturbances, and the median of each measure.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

use ackwise_link::Seed;
pub use ackwise_live::World;
use ackwise_live::{Limits, PlayError, Unplayable, Whose};
use ackwise_sim::Scenario;
use ackwise_units::statistics::median;

use super::row::{Row, RowKey};
use crate::experiment::Experiment;

/// Whether a world can play all cases of an experiment.
pub(super) fn check(experiment: &Experiment, world: World) -> Result<(), Unplayable> {
    experiment.cases().iter().try_for_each(|case| ackwise_live::check(&case.scenario, world))
}

/// What to set so that another TCP than Linux's no longer prevents a run; the next obstacle has its own
/// message.
pub(super) fn remedy(
    experiment: &Experiment,
    world: World,
    obstacle: &Unplayable,
) -> Option<String> {
    let Whose::Host(host) = &obstacle.whose else { return None };
    let group = host.trim_end_matches(|it: char| it.is_ascii_digit());
    let own = [host.as_str(), group].map(|name| format!("host.{name}.tcp.preset=\"linux-6\""));
    let all = "tcp.preset=\"linux-6\"".to_owned();
    // On the wire, the clients may keep theirs.
    let settings = match world {
        World::Kernel => [vec![all], own.to_vec()],
        World::Wire => [own.to_vec(), vec![all]],
    };
    settings.into_iter().flatten().find(|setting| {
        let changed = experiment.with_set(setting);
        changed.is_ok_and(|it| check(&it, world).err().as_ref() != Some(obstacle))
    })
}

/// Plays a row until it has as many undisturbed runs as wanted, or has been disturbed too often.
pub(super) fn play(
    experiment: &Experiment,
    place: RowKey,
    (world, repeat): (World, NonZeroU32),
    (stop, clock): (&Arc<AtomicBool>, &Arc<AtomicU64>),
) -> Result<Row, PlayError> {
    let case = &experiment.cases()[place.case];
    let seed = Seed(experiment.seeds()[place.seed]);
    let scenario = Scenario { seed, ..case.scenario.clone() };
    let limits = Limits { stop: Arc::clone(stop), clock: Arc::clone(clock), ..Limits::default() };
    let (mut good, mut disturbed) = (Vec::new(), Vec::new());
    while good.len() < repeat.get() as usize && disturbed.len() < MOST_DISTURBED {
        let played = ackwise_live::play(&scenario, world, &limits)?;
        let row = Row::new(experiment, place, &played.measures);
        match played.disturbed {
            None => good.push(row),
            Some(_) => disturbed.push(row),
        }
    }
    Ok(middle(world, &good, &disturbed))
}

/// The medians of the undisturbed runs; of the others if there are none.
fn middle(world: World, good: &[Row], disturbed: &[Row]) -> Row {
    let rows = if good.is_empty() { disturbed } else { good };
    let mut all: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in rows.iter().flat_map(|row| &row.measures) {
        all.entry(name).or_default().push(*value);
    }
    let mut measures: BTreeMap<String, f64> = all
        .into_iter()
        .filter_map(|(name, values)| Some((name.to_owned(), median(values)?)))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a few runs")]
    let count = |rows: &[Row]| rows.len() as f64;
    for (name, rows) in counters(world).into_iter().zip([good, disturbed]) {
        measures.insert(name.to_owned(), count(rows));
    }
    let first = rows.first().expect("there is a run, good or disturbed");
    Row { measures, ..first.clone() }
}

/// The measures that count undisturbed and disturbed runs.
#[must_use]
pub const fn counters(world: World) -> [&'static str; 2] {
    match world {
        World::Kernel => ["kernel.runs", "kernel.disturbed"],
        World::Wire => ["wire.runs", "wire.disturbed"],
    }
}

/// Disturbed runs of a row, after which it has to do with what there is (our choice).
const MOST_DISTURBED: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#"
duration = "1 s"
tcp = "linux-6"

[host]
client = {}
server = {}

[link.wire]
ends = ["client", "server"]
delay = "1 ms"

[application.web]
kind = "web"
client = "client"
server = "server"
workload = { primary = "1 KB", inlines = [] }
transfer = "persistent"
"#;

    #[test]
    fn what_the_emulator_and_its_programs_cannot_do_is_refused_and_an_mtu_is_not() {
        let base = Experiment::parse("base", BASE).expect("it is complete");
        for world in [World::Kernel, World::Wire] {
            for (setting, whose, key) in [
                ("link.wire.forgets_after=5 s", Whose::Link("wire".to_owned()), "forgets_after"),
                (
                    "application.web.response_timeout=5 s",
                    Whose::Application("web".to_owned()),
                    "response_timeout",
                ),
            ] {
                let refused = check(&base.with_set(setting).expect("it is legal"), world);
                let refused = refused.expect_err(setting);
                assert_eq!((refused.whose, refused.key), (whose, key), "{world:?}");
            }
            let small = base.with_set("link.wire.mtu=576 B").expect("it is legal");
            assert_eq!(check(&small, world), Ok(()), "{world:?}");
        }
    }
}
