//! Sections 3.2.1 and 4.8: larger initial windows.

use super::{RATES, by_rates, drops, load, printed};
use crate::{
    ReproduceError,
    claim::{Claim, Statement},
    gurkan::{
        Base,
        plan::{Load, Plan},
        sweep::{Quantity, Sweep},
    },
    verdict::{Cases, Source::Ours, Test, cases, measured},
};

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
pub(super) fn claims(base: &Base) -> Result<Vec<Claim>, ReproduceError> {
    let [two, three] = &base.larger;
    let sweeps = [&base.usual, two, three];
    let rates = |plan, load, rate| {
        let [one, two, three] = sweeps.map(|sweep: &Sweep| sweep.mean(plan, load, rate));
        Ok::<_, ReproduceError>([one?, two?, three?])
    };
    let increased = by_rates(|rate| {
        let is_so = |plan, load| {
            let [one, two, three] = rates(plan, load, rate)?;
            Ok(two > one && three > one)
        };
        Ok(vec![each("rows_faster", &Plan::PRINTED, is_so)?.every()])
    })?;
    let less = by_rates(|rate| {
        let is_so = |plan, load| {
            let [one, two, three] = rates(plan, load, rate)?;
            Ok(three - two < two - one)
        };
        Ok(vec![each("rows_less", &Plan::PRINTED, is_so)?.every()])
    })?;
    let degraded = by_rates(|rate| {
        let is_so = |plan, load| {
            let [_, two, three] = rates(plan, load, rate)?;
            Ok(three < two)
        };
        Ok(vec![each("rows_slower", &PIPELINED, is_so)?.most()])
    })?;
    let mut claims = vec![
        Statement {
            id: "gurkan.initial-window-increases",
            place: "abstract",
            text: "Changing initial window size from 1 to 2 and 3 has increased the performance of \
                   each connection case individually",
        }
        .judged_by_rates(
            increased,
            "All four plans and 12 loads; of the printed rows some fall, as serial at 8/3 from 4087 \
             to 2779.",
        )
        .and_as_printed(
            rows_as_printed("printed_rows_faster", &Plan::PRINTED, |[one, two, three]| {
                [two.min(three), one]
            })?
            .every(),
        ),
        Statement {
            id: "gurkan.initial-window-less-from-2-to-3",
            place: "section 4.8.1",
            text: "the increase in the web page retrieval rate is less as initial window size is \
                   increased from 2 to 3 than the increase seen from 1 to 2",
        }
        .judged_by_rates(less, "All four plans and 12 loads.")
        .and_as_printed(
            rows_as_printed("printed_rows_less", &Plan::PRINTED, |[one, two, three]| {
                [2.0 * two - one, three]
            })?
            .every(),
        ),
        more_drops(base)?,
        Statement {
            id: "gurkan.initial-window-3-degrades-pipelined",
            place: "section 4.8.1",
            text: "In the pipelined connection cases the initial window increases resulted in \
                   performance degradation in the IW = 3 case",
        }
        .judged_by_rates(
            degraded,
            "Rows of pipelined and segment-filled (Figures 4.12 and 4.13) in which 3 segments give \
             less than 2; four of 24 in the printed tables: pipelined at 8/2, 8/3, 32/0 and 32/3.",
        )
        .and_as_printed(
            rows_as_printed("printed_rows_slower", &PIPELINED, |[_, two, three]| [two, three])?
                .most(),
        ),
    ];
    claims.push(sometimes(base)?);
    claims.push(further(base)?);
    Ok(claims)
}

/// The pipelined connection cases.
const PIPELINED: [Plan; 2] = [Plan::Pipelined, Plan::SegmentFilled];

/// For how many plans and loads something is so in the printed tables, of the rates with 1, 2 and 3 segments.
fn rows_as_printed(
    measure: &str,
    plans: &[Plan],
    values: impl Fn([f64; 3]) -> [f64; 2],
) -> Result<Cases, ReproduceError> {
    let rows = plans.iter().flat_map(|&plan| Load::judged().map(move |load| (plan, load)));
    printed::rows_above(measure, rows, |(plan, load)| Ok(values(printed::by_window(plan, load)?)))
}

/// For how many plans and loads something is so.
fn each(
    measure: &'static str,
    plans: &[Plan],
    is_so: impl Fn(Plan, Load) -> Result<bool, ReproduceError>,
) -> Result<Cases, ReproduceError> {
    let (mut so, mut of) = (0, 0);
    for &plan in plans {
        for load in Load::judged() {
            of += 1;
            so += u32::from(is_so(plan, load)?);
        }
    }
    Ok(cases(measure, so, of))
}

fn more_drops(base: &Base) -> Result<Claim, ReproduceError> {
    let [_, three] = &base.larger;
    let (mut more, mut any) = (0, 0);
    for plan in Plan::PRINTED {
        for load in Load::judged() {
            let (one, three) = (drops(&base.usual, plan, load)?, drops(three, plan, load)?);
            any += u32::from(one.max(three) > 0.0);
            more += u32::from(three > one);
        }
    }
    Ok(Statement {
        id: "gurkan.initial-window-drops",
        place: "section 4.8.1",
        text: "This adds the risk of obtaining large drop rates because of congestion effects in \
               the network",
    }
    .judged(
        [cases("rows_with_more_drops", more, any).every()],
        "Drop rates with 3 segments above those with 1, in the rows in which either drops anything.",
    ))
}

/// "Sometimes" needs one case, and none where the link is not highly utilized.
fn sometimes(base: &Base) -> Result<Claim, ReproduceError> {
    let [two, three] = &base.larger;
    let slower = |ftp: u32, rate| -> Result<f64, ReproduceError> {
        let mut rows = 0;
        for plan in Plan::PRINTED {
            for load in Load::judged().filter(|load| load.ftp == ftp) {
                rows += u32::from(three.mean(plan, load, rate)? < two.mean(plan, load, rate)?);
            }
        }
        Ok(rows.into())
    };
    let tests = by_rates(|rate| -> Result<Vec<Test>, ReproduceError> {
        Ok(vec![
            measured("rows_slower_with_3_ftp", slower(3, rate)?)
                .above(0.0, Ours("sometimes: any row"))
                .control("no FTP client", slower(0, rate)?),
        ])
    })?;
    Ok(Statement {
        id: "gurkan.initial-window-3-sometimes-degrades",
        place: "section 4.8.1",
        text: "initial window increases to 3 segments sometimes results in performance degradation for \
               highly utilized links, e.g. for 3 or 4 FTP clients",
    }
    .judged_by_rates(
        tests,
        "Rows of all four plans at 8, 16 and 32 web clients in which 3 segments give less than 2; Tables \
         4.9 and 4.10 have no rows with 4 FTP clients. Rows fall without FTP clients as well, so that it is \
         not the utilization that decides. In the printed tables four of 12 fall \
         with 3 FTP clients, and two without any.",
    ))
}

/// What a paper that the thesis cites found, which is not here.
fn further(base: &Base) -> Result<Claim, ReproduceError> {
    let heavy = load(32, 3);
    let at = |window: u32, rate: Quantity| {
        let sweep = base.windows().find(|sweep| sweep.window == window);
        let case = || ReproduceError::NoCase { case: format!("initial window {window}") };
        sweep.ok_or_else(case)?.mean(Plan::Pipelined, heavy, rate)
    };
    let [sum, mean] = RATES;
    Ok(Statement {
        id: "gurkan.initial-window-further",
        place: "section 3.2.1",
        text: "The increased IW proved to improve the performance for all cases with IW = 2, 3. As \
               the window size increases further, congestion effects overcome the persistent \
               transfer, and the performance degrades",
    }
    .untested(
        "The thesis reports what others measured on another network, and ran no more than 3 segments. The \
         numbers are pipelined at 32 web and 3 FTP clients, the heaviest load.",
    )
    .showing(&[
        ("rate_with_3_by_sum", at(3, sum)?),
        ("rate_with_10_by_sum", at(10, sum)?),
        ("rate_with_3_by_mean", at(3, mean)?),
        ("rate_with_10_by_mean", at(10, mean)?),
    ]))
}
