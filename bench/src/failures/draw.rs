//! What is played, drawn from a seed: labs with a path each, and cases in each lab.

use std::time::Duration;

use super::kind::{Family, Kind, Plain};
use super::lab::Course;
use crate::dice::Dice;

/// A case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) family: Family,
    pub(super) lab: usize,
    pub(super) seed: u64,
    /// When it begins, so that not all begin at once.
    pub(super) after: Duration,
}

impl Case {
    pub(super) fn dice(&self) -> Dice {
        Dice::new(self.seed).of(&self.name, 1)
    }
}

/// The paths of a run: from 0.1 to 200 ms, each factor equally likely.
pub(super) fn courses(seed: u64) -> Vec<Course> {
    let mut dice = Dice::new(seed).of("courses", 0);
    let course = |number: usize| {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let share = (number as f64 + dice.unit()) / LABS as f64;
        let ms = LEAST_RTT * (MOST_RTT / LEAST_RTT).powf(share);
        // Some hosts are without timestamps; with them, no new connection looks old.
        Course { rtt: Duration::from_secs_f64(ms / 1e3), timestamps: number % 3 != 1 }
    };
    (0..LABS).map(course).collect()
}

/// The cases of a run. `only` leaves out the others without changing what is drawn.
pub(super) fn cases(seed: u64, only: Option<Family>) -> Vec<Case> {
    let courses = courses(seed);
    let kinds = Kind::ALL.into_iter().map(Family::Fails);
    let families = kinds.chain(Plain::ALL.into_iter().map(Family::Plain));
    let mut all = Vec::new();
    for family in families.filter(|it| only.is_none_or(|only| only == *it)) {
        let fits = |it: &usize| fits(family, courses[*it]);
        let labs: Vec<usize> = (0..LABS).filter(fits).collect();
        for number in 0..EACH {
            let name = format!("{}-{number:02}", family.name());
            let lab = labs[number % labs.len()];
            let mut dice = Dice::new(seed).of(&name, 0);
            let after = Duration::from_secs_f64(SPREAD * dice.unit());
            all.push(Case { name, family, lab, seed, after });
        }
    }
    all
}

fn fits(family: Family, course: Course) -> bool {
    match family {
        Family::Fails(Kind::TimeWaitCollision) => !course.timestamps,
        Family::Fails(kind) => course.rtt.as_secs_f64() * 1e3 >= kind.least_rtt(),
        Family::Plain(_) => true,
    }
}

/// Our choice: some may be disturbed, and at least ten remain.
pub(super) const EACH: usize = 14;
pub(super) const LABS: usize = 14;
/// In milliseconds.
const LEAST_RTT: f64 = 0.1;
const MOST_RTT: f64 = 200.0;
/// In seconds.
const SPREAD: f64 = 15.0;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_kind_has_at_least_ten_cases_on_several_paths() {
        for seed in 1..20 {
            let mut labs: BTreeMap<Family, Vec<usize>> = BTreeMap::new();
            for case in cases(seed, None) {
                labs.entry(case.family).or_default().push(case.lab);
            }
            assert_eq!(labs.len(), Kind::ALL.len() + Plain::ALL.len());
            for (family, mut labs) in labs {
                assert!(labs.len() >= 10, "{family:?}");
                labs.sort_unstable();
                labs.dedup();
                assert!(labs.len() >= 3, "{family:?}");
            }
        }
    }

    #[test]
    fn one_family_alone_is_drawn_as_among_all() {
        let only = Some(Family::Fails(Kind::Reset));
        let mut all = cases(3, None);
        all.retain(|it| Some(it.family) == only);
        assert_eq!(cases(3, only), all);
    }

    #[test]
    fn paths_are_as_short_and_as_long_as_asked_for() {
        let courses = courses(1);
        let ms = |it: &Course| it.rtt.as_secs_f64() * 1e3;
        assert!(courses.iter().all(|it| (LEAST_RTT..=MOST_RTT).contains(&ms(it))));
        assert!(ms(&courses[0]) < 0.2 && ms(&courses[LABS - 1]) > 100.0);
    }
}
