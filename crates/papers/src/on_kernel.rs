//! The papers' experiments on the kernel of this machine, beside three others: the same network with
//! Linux's TCP in the simulator, with the paper's TCP in the simulator, and what the paper prints.
//!
//! An exhibit is an experiment file and the settings that turn its TCP into Linux's. What the kernel has
//! no key for (SunOS' clock, Tahoe) is in the column of the paper's TCP only.
//!
//! | module | one idea |
//! | --- | --- |
//! | `exhibit` | which cases of which file, with which settings, and the runs |
//! | `claims` | sentences that hold on the kernel, do not, or cannot be tried there |
//! | `heidemann`, `gurkan`, `faber` | the exhibits of a paper |
//! | [`okamoto`] | a proxy's schemes: the reference relay, and `ackwise tune` at proxies of others |
//! | [`report`] | text, Markdown, JSON |

mod claims;
mod exhibit;
mod faber;
mod gurkan;
mod heidemann;
pub mod okamoto;
pub mod report;

use std::{borrow::Cow, num::NonZeroU32};

use ackwise_lab::experiment::Labels;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effort, ReproduceError, paper::Paper};

/// What came out of the papers' experiments on the kernel. It can be read from what [`report::json`] has written.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct OnKernel {
    /// Tables of all papers.
    pub tables: Vec<KernelTable>,
    /// Claims of all papers.
    pub claims: Vec<KernelClaim>,
}

/// Values side by side: published, simulated twice, and measured on the kernel.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct KernelTable {
    /// Our name for the table: `heidemann_table_1`, `heidemann_small`, `heidemann_pipelining`,
    /// `heidemann_ftp`, `heidemann_restart`, `gurkan_tables`, `gurkan_window_2`, `gurkan_window_3`,
    /// `faber_time_wait`, `okamoto_figures`; with `--quick`, `gurkan_quick` is in the place of Gürkan's three.
    pub id: Cow<'static, str>,
    /// Title.
    pub title: String,
    /// One for each case and measure.
    pub rows: Vec<KernelRow>,
}

/// One value.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct KernelRow {
    /// The case.
    pub case: Labels,
    /// A metric of `ackwise run`: `APP.page_time_mean_ms` in milliseconds, `web.rate_sum` in bytes per
    /// second, the others are counts.
    pub measure: String,
    /// What the paper prints.
    pub published: Option<f64>,
    /// What the analytic model gives, where there is one.
    pub model: Option<f64>,
    /// Simulated, with the TCP of the paper.
    pub paper_tcp: Option<f64>,
    /// Simulated, with the preset `linux-6`.
    pub linux_6: Option<f64>,
    /// On the kernel: the median of the undisturbed runs, or of all if there are none.
    pub kernel: Option<f64>,
    /// The smallest and the largest value of these runs.
    pub kernel_range: Option<[f64; 2]>,
    /// Undisturbed runs.
    pub runs: u32,
    /// Disturbed runs.
    pub disturbed: u32,
    /// Whether packets were dropped, in the simulation or on the kernel.
    pub drops: bool,
    /// Whether the simulation with `linux-6` is as near to the kernel as it should be; times only.
    pub within_limit: Option<bool>,
}

impl KernelRow {
    /// (simulated with `linux-6` - kernel) / kernel.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let (simulated, kernel) = (self.linux_6?, self.kernel?);
        (kernel != 0.0).then(|| (simulated - kernel) / kernel)
    }

    /// Whether two times are as near as [`LIMIT_MS`] and this share allow.
    fn is_near(simulated: f64, kernel: f64, share: f64) -> bool {
        (simulated - kernel).abs() <= (share * kernel).max(LIMIT_MS)
    }
}

/// A sentence of a paper.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct KernelClaim {
    /// The paper's name and the claim's.
    pub id: Cow<'static, str>,
    /// The claim, in our words.
    pub text: Cow<'static, str>,
    /// Whether it holds on the kernel.
    pub on_kernel: OnKernelVerdict,
    /// The values that decide it, or why it cannot be tried.
    pub because: String,
}

/// Whether a claim holds on the kernel.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnKernelVerdict {
    /// It does.
    Holds,
    /// It does not.
    DoesNotHold,
    /// The runs differ too much, or there was only one.
    Undecided,
    /// The kernel has no setting for what it is about.
    CannotBeTried,
    /// The runs that it needs are missing.
    NotRun,
}

/// Plays the papers' experiments on the kernel. `progress` hears of each step before it begins; it may
/// unwind to end the work.
///
/// # Errors
///
/// If an experiment file or a run fails, or the kernel refuses something.
pub fn reproduce(
    papers: &[Paper],
    (effort, repeat): (Effort, Option<NonZeroU32>),
    points: &okamoto::Points,
    progress: &mut dyn FnMut(&str),
) -> Result<OnKernel, ReproduceError> {
    let mut all = OnKernel::default();
    for paper in papers {
        if *paper == Paper::Okamoto {
            let (tables, claims) = okamoto::run((effort, repeat), points, progress)?;
            all.tables.extend(tables);
            all.claims.extend(claims);
            continue;
        }
        let exhibits = match paper {
            Paper::Heidemann => heidemann::exhibits(effort),
            Paper::Gurkan => gurkan::exhibits(effort),
            Paper::Faber => faber::exhibits(effort),
            Paper::Okamoto => Vec::new(),
        };
        let mut tables = Vec::new();
        for exhibit in exhibits {
            tables.push(exhibit.run(repeat, progress)?);
        }
        all.claims.extend(match paper {
            Paper::Heidemann => heidemann::claims(&tables),
            Paper::Gurkan => gurkan::claims(&tables),
            Paper::Faber => faber::claims(&tables),
            Paper::Okamoto => Vec::new(),
        });
        all.tables.extend(tables);
    }
    Ok(all)
}

impl OnKernel {
    /// How many times are further from the kernel's than they should be, and how many there are.
    #[must_use]
    pub fn outside_limits(&self) -> [usize; 2] {
        let all = self.tables.iter().flat_map(|table| &table.rows);
        let judged: Vec<bool> = all.filter_map(|row| row.within_limit).collect();
        [judged.iter().filter(|within| !**within).count(), judged.len()]
    }
}

/// How near a simulated time should be to the kernel's where nothing is dropped, and elsewhere.
const LIMIT: f64 = 0.1;
const LIMIT_WITH_DROPS: f64 = 0.2;
/// In milliseconds: near enough for any time.
const LIMIT_MS: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_can_play_every_exhibit() {
        for effort in [Effort::Full, Effort::Quick] {
            let all =
                [heidemann::exhibits(effort), gurkan::exhibits(effort), faber::exhibits(effort)];
            for exhibit in all.into_iter().flatten() {
                let cases = exhibit.cases().unwrap();
                assert!(!cases.is_empty(), "{}", exhibit.id);
                for [_, linux] in cases {
                    ackwise_live::check(&linux.scenario, ackwise_live::World::Kernel).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_time_is_near_by_a_share_or_by_a_millisecond() {
        assert!(KernelRow::is_near(11.0, 10.0, LIMIT));
        assert!(!KernelRow::is_near(111.0, 100.0, LIMIT));
        assert!(KernelRow::is_near(119.0, 100.0, LIMIT_WITH_DROPS));
        assert!(KernelRow::is_near(1.0, 0.1, LIMIT));
    }
}
