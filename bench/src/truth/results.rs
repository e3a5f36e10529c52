//! Everything that was measured, case after case.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use ackwise_cause::Cause;
use anyhow::Context;

use super::amounts::{self, Told};
use super::case::{Case, Recorded, World};
use super::damage::Damage;
use super::ordinary::{clocks::Clocks, phases, refute::Ordinary, sums::Sums};
use super::reading::{self, Needed, Said, Vantage};
use super::remove::Removal;
use super::score::{self, Row, View};
use crate::dice::Dice;

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) cases: Vec<Facts>,
    pub(super) rows: Vec<Row>,
    /// The same of what reports print: amounts of each exchange, of whole captures.
    pub(super) printed: Vec<Row>,
    /// Captures of others, of which amounts are known.
    pub(super) told: Vec<Told>,
    /// Ordinary traffic, which has no truth but the programs' clocks.
    pub(super) ordinary: Ordinary,
    /// The same of clients that told their phases.
    pub(super) sums: Sums,
    /// What one missing packet changed.
    pub(super) removals: Vec<Removal>,
    /// Readings that failed, and why.
    pub(super) failures: Vec<(String, View, String)>,
}

/// What is known of a case without reading its captures.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) world: World,
    pub(super) name: String,
    /// Of the run that recorded it.
    pub(super) seed: u64,
    pub(super) family: String,
    /// Whose TCP sent the responses.
    pub(super) sender: String,
    pub(super) disturbed: Option<String>,
    /// Nanoseconds by each cause that is admitted.
    causes: BTreeMap<Cause, u64>,
    /// Nanoseconds with truth.
    pub(super) known: u64,
    /// Nanoseconds of that with several causes.
    pub(super) ambiguous: u64,
}

impl Facts {
    fn of(recorded: &Recorded) -> Self {
        let mut causes: BTreeMap<Cause, u64> = BTreeMap::new();
        let (mut known, mut ambiguous) = (0, 0);
        for it in &recorded.truth.intervals {
            let span = it.until_ns - it.from_ns;
            known += span;
            ambiguous += if it.causes.len() > 1 { span } else { 0 };
            *causes.entry(it.causes[0]).or_default() += span;
        }
        let case = &recorded.case;
        Self {
            world: case.world,
            name: case.name.clone(),
            seed: case.seed,
            family: case.family.clone(),
            sender: sender(case),
            disturbed: case.disturbed.clone(),
            causes,
            known,
            ambiguous,
        }
    }

    /// Time of a cause, in nanoseconds.
    pub(super) fn time(&self, cause: Cause) -> u64 {
        self.causes.get(&cause).copied().unwrap_or_default()
    }

    /// The case counts as one with this cause.
    pub(super) fn has(&self, cause: Cause) -> bool {
        self.time(cause) >= LEAST
    }
}

/// The simulated TCP, or the kernel's with its congestion control.
fn sender(case: &Case) -> String {
    let text = |key: &str| case.parameters.get(key).and_then(|it| it.as_str());
    let kernel = || format!("kernel, {}", text("congestion").unwrap_or("unknown"));
    text("sender").map_or_else(kernel, str::to_owned)
}

/// Less time of a cause does not make it a case with that cause: 1 ms, our choice.
const LEAST: u64 = 1_000_000;

impl Results {
    /// The seeds of the runs that recorded the cases of a world: one, unless a folder holds those of several.
    pub(super) fn seeds(&self, world: World) -> BTreeSet<u64> {
        self.cases.iter().filter(|it| it.world == world).map(|it| it.seed).collect()
    }

    /// Reads a case at all places, whole and damaged, and without each of so many single packets.
    ///
    /// # Errors
    ///
    /// If a capture cannot be read.
    pub(super) fn add(
        &mut self,
        recorded: &Recorded,
        removals: u32,
        dice: Dice,
    ) -> anyhow::Result<()> {
        if let Some(clocks) = Clocks::read(&recorded.folder)? {
            let packets = reading::load(&recorded.folder, &recorded.case.captures)?;
            if phases::is_one(&recorded.case) {
                self.sums.add(recorded, &clocks, &packets);
            } else {
                self.ordinary.add(recorded, &clocks, &packets);
            }
            return Ok(());
        }
        if !recorded.truth.amounts.is_empty() {
            return self.add_amounts(recorded);
        }
        let facts = Facts::of(recorded);
        let is_disturbed = facts.disturbed.is_some();
        self.cases.push(facts);
        if is_disturbed {
            return Ok(());
        }
        let case = &recorded.case;
        let whole = reading::load(&recorded.folder, &case.captures)
            .with_context(|| format!("case {}", case.name))?;
        let said = self.read(recorded, None, &whole);

        let mut damaging = dice.of("damage", 0);
        let damage = Damage::draw(&mut damaging);
        let servers: BTreeSet<SocketAddr> =
            recorded.truth.intervals.iter().map(|it| it.connection.server).collect();
        let damaged: Needed<'_> = whole
            .iter()
            .map(|(name, packets)| (*name, damage.apply(packets, &servers, &mut damaging)))
            .collect();
        self.read(recorded, Some(damage), &damaged);

        let mut removing = dice.of("remove", 0);
        for _ in 0..removals {
            self.removals.extend(Removal::draw(recorded, &whole, &said, &mut removing));
        }
        Ok(())
    }

    /// Reads a case of which amounts are known.
    fn add_amounts(&mut self, recorded: &Recorded) -> anyhow::Result<()> {
        let case = &recorded.case;
        let packets = reading::load(&recorded.folder, &case.captures)?;
        // Both ends are there to be read as a pair.
        let is_pair = case.captures.client.is_some() && case.captures.server.is_some();
        for vantage in Vantage::ALL.into_iter().filter(|it| !is_pair || *it == Vantage::Pair) {
            match reading::read(vantage, &case.captures, &case.one_way_ms, &packets, None) {
                Ok(said) => {
                    self.told
                        .extend(said.iter().flat_map(|it| amounts::told(recorded, vantage, it)));
                }
                Err(why) => {
                    let view = View { world: case.world, vantage, damage: None };
                    self.failures.push((case.name.clone(), view, format!("{why:#}")));
                }
            }
        }
        Ok(())
    }

    /// Reads a case at all places.
    fn read(
        &mut self,
        recorded: &Recorded,
        damage: Option<Damage>,
        packets: &Needed<'_>,
    ) -> BTreeMap<Vantage, Said> {
        let case = &recorded.case;
        let mut all = BTreeMap::new();
        for vantage in Vantage::ALL {
            let view = View { world: case.world, vantage, damage };
            match reading::read(vantage, &case.captures, &case.one_way_ms, packets, None) {
                Ok(None) => {}
                Ok(Some(said)) => {
                    self.rows.extend(score::rows(recorded, view, &said));
                    if damage.is_none() {
                        self.printed.extend(score::printed_rows(recorded, view, &said));
                    }
                    all.insert(vantage, said);
                }
                Err(why) => self.failures.push((case.name.clone(), view, format!("{why:#}"))),
            }
        }
        all
    }
}
