//! Which cases of which file, with which settings, and the runs.

use std::num::NonZeroU32;

use ackwise_lab::{
    experiment::{Case, Experiment, Labels},
    measures::flatten,
};
use ackwise_link::Seed;
use ackwise_live::{Limits, World};
use ackwise_sim::{Measures, Nobody, Scenario};

use super::{KernelRow, KernelTable, LIMIT, LIMIT_WITH_DROPS};
use crate::{
    ReproduceError,
    analytic::{Acks, of_scenario},
    file::File,
};

/// A table to be: cases of an experiment file, played three times.
pub(super) struct Exhibit {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) file: File,
    /// For all worlds: what makes a long experiment short enough for real time.
    pub(super) shorter: &'static [&'static str],
    /// For `linux-6` and the kernel.
    pub(super) linux: &'static [&'static str],
    /// Which cases.
    pub(super) wanted: fn(&Labels) -> bool,
    /// Metrics; those that end in `_ms` are judged.
    pub(super) measures: &'static [&'static str],
    pub(super) published: fn(&Labels, &str) -> Option<f64>,
    /// Whether the analytic model has a say.
    pub(super) has_model: fn(&Labels) -> bool,
    /// Runs on the kernel, if nobody says how many.
    pub(super) repeat: u32,
}

/// What a case gave on the kernel.
struct Played {
    good: Vec<Measures>,
    disturbed: Vec<Measures>,
}

impl Exhibit {
    pub(super) fn run(
        &self,
        repeat: Option<NonZeroU32>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<KernelTable, ReproduceError> {
        let cases = self.cases()?;
        for [_, case] in &cases {
            let playable = ackwise_live::check(&case.scenario, World::Kernel);
            playable.map_err(|error| self.failed(error.into()))?;
        }
        let repeat = repeat.map_or(self.repeat, NonZeroU32::get);
        let mut table =
            KernelTable { id: self.id.into(), title: self.title.to_owned(), rows: Vec::new() };
        for [paper_case, case] in &cases {
            progress(&format!("{}: {}", self.id, case.labels));
            let seed = Seed(FIRST_SEED);
            let with_paper_tcp = self.simulate(paper_case, seed)?;
            let with_linux = self.simulate(case, seed)?;
            let played = self.play(case, seed, repeat)?;
            let rows = self.rows(case, &with_paper_tcp, &with_linux, &played);
            table.rows.extend(rows);
        }
        Ok(table)
    }

    /// The wanted cases, with the paper's TCP and with Linux's.
    pub(super) fn cases(&self) -> Result<Vec<[Case; 2]>, ReproduceError> {
        let paper = Experiment::parse(self.file.name, self.file.text)?;
        let paper = paper.with_all_set(self.shorter.iter().copied())?;
        let linux = paper.with_all_set(self.linux.iter().copied())?;
        let both = paper.cases().iter().zip(linux.cases());
        let both = both.filter(|(_, case)| (self.wanted)(&case.labels));
        Ok(both.map(|(paper, linux)| [paper.clone(), linux.clone()]).collect())
    }

    fn simulate(&self, case: &Case, seed: Seed) -> Result<Measures, ReproduceError> {
        let scenario = Scenario { seed, ..case.scenario.clone() };
        ackwise_sim::run(&scenario, &mut Nobody)
            .map_err(|source| ReproduceError::Run { experiment: self.file.name.to_owned(), source })
    }

    fn play(&self, case: &Case, seed: Seed, repeat: u32) -> Result<Played, ReproduceError> {
        let scenario = Scenario { seed, ..case.scenario.clone() };
        let mut played = Played { good: Vec::new(), disturbed: Vec::new() };
        while played.good.len() < repeat as usize && played.disturbed.len() < MOST_DISTURBED {
            let run = ackwise_live::play(&scenario, World::Kernel, &Limits::default());
            let run = run.map_err(|error| self.failed(error))?;
            let list = match run.disturbed {
                None => &mut played.good,
                Some(_) => &mut played.disturbed,
            };
            list.push(run.measures);
        }
        Ok(played)
    }

    fn failed(&self, source: ackwise_live::PlayError) -> ReproduceError {
        ReproduceError::Play { experiment: self.file.name.to_owned(), source }
    }

    fn rows(
        &self,
        case: &Case,
        paper: &Measures,
        linux: &Measures,
        played: &Played,
    ) -> Vec<KernelRow> {
        let Played { good, disturbed } = played;
        let runs = if good.is_empty() { disturbed } else { good };
        let drops = runs.iter().chain([linux]).any(dropped);
        let (paper, linux) = (flatten(paper), flatten(linux));
        let runs: Vec<_> = runs.iter().map(flatten).collect();
        let model = (self.has_model)(&case.labels)
            .then(|| of_scenario(&case.scenario, Acks::EverySecond { lone_wait: 0.04 }))
            .flatten();
        let share = if drops { LIMIT_WITH_DROPS } else { LIMIT };
        let row = |measure: &&str| {
            let mut values: Vec<f64> =
                runs.iter().filter_map(|run| run.get(*measure).copied()).collect();
            values.sort_by(f64::total_cmp);
            let kernel = values.get(values.len() / 2).copied();
            let linux_6 = linux.get(*measure).copied();
            let is_time = measure.ends_with("_ms");
            KernelRow {
                case: case.labels.clone(),
                measure: (*measure).to_owned(),
                published: (self.published)(&case.labels, measure),
                model: model.filter(|_| is_time).map(|seconds| seconds * 1e3),
                paper_tcp: paper.get(*measure).copied(),
                linux_6,
                kernel,
                kernel_range: values.first().copied().zip(values.last().copied()).map(Into::into),
                runs: u32::try_from(good.len()).unwrap_or(u32::MAX),
                disturbed: u32::try_from(disturbed.len()).unwrap_or(u32::MAX),
                drops,
                within_limit: linux_6
                    .zip(kernel)
                    .filter(|_| is_time)
                    .map(|(simulated, kernel)| KernelRow::is_near(simulated, kernel, share)),
            }
        };
        self.measures.iter().map(row).collect()
    }
}

fn dropped(measures: &Measures) -> bool {
    measures.links.values().flatten().any(|direction| direction.dropped > 0)
}

/// All cases.
pub(super) const fn every(_: &Labels) -> bool {
    true
}

/// No case.
pub(super) const fn none(_: &Labels) -> bool {
    false
}

/// Nothing is printed.
pub(super) const fn unpublished(_: &Labels, _: &str) -> Option<f64> {
    None
}

/// Whether a case has this value.
pub(super) fn has(labels: &Labels, name: &str, value: &str) -> bool {
    labels.get(name).is_some_and(|it| it.to_string() == value)
}

/// All worlds draw from the same one.
const FIRST_SEED: u64 = 1;
/// Disturbed runs of a case, after which it has to do with what there is (our choice).
const MOST_DISTURBED: usize = 3;
