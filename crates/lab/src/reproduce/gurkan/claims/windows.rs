//! Sections 3.2.1 and 4.8: larger initial windows.

use super::{Count, RATES, drops, load};
use crate::reproduce::{
    ReproduceError,
    claim::{Claim, Statement},
    gurkan::{
        Runs,
        plan::{Load, Plan},
        sweep::Quantity,
    },
};

pub(super) fn claims(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let [two, three] = &runs.larger;
    let sweeps = [&runs.usual, two, three];
    let rates = |plan, load, quantity| {
        let [one, two, three] = sweeps.map(|sweep| sweep.mean(plan, load, quantity));
        Ok::<_, ReproduceError>([one?, two?, three?])
    };
    let increased = each(&Plan::PRINTED, |plan, load, quantity| {
        let [one, two, three] = rates(plan, load, quantity)?;
        Ok(two > one && three > one)
    })?;
    let less = each(&Plan::PRINTED, |plan, load, quantity| {
        let [one, two, three] = rates(plan, load, quantity)?;
        Ok(three - two < two - one)
    })?;
    let degraded = each(&[Plan::Pipelined, Plan::SegmentFilled], |plan, load, quantity| {
        let [_, two, three] = rates(plan, load, quantity)?;
        Ok(three < two)
    })?;
    let drop_more = each(&Plan::PRINTED, |plan, load, _| {
        Ok(drops(three, plan, load)? >= drops(&runs.usual, plan, load)?)
    })?;
    let [(_, dropping), _, (_, rows)] = drop_more.numbers();
    let mut claims = vec![
        Statement {
            id: "gurkan.initial-window-increases",
            place: "abstract",
            text: "Changing initial window size from 1 to 2 and 3 has increased the performance of \
                   each connection case individually",
        }
        .tested(increased.is_all(), &increased.numbers(), "All four plans and 12 loads."),
        Statement {
            id: "gurkan.initial-window-less-from-2-to-3",
            place: "section 4.8.1",
            text: "the increase in the web page retrieval rate is less as initial window size is \
                   increased from 2 to 3 than the increase seen from 1 to 2",
        }
        .tested(less.is_all(), &less.numbers(), "All four plans and 12 loads."),
        Statement {
            id: "gurkan.initial-window-drops",
            place: "section 4.8.1",
            text: "This adds the risk of obtaining large drop rates because of congestion effects \
                   in the network",
        }
        .tested(
            drop_more.is_all(),
            &[("rows_so", dropping), ("rows", rows)],
            "Drop rates at 3 segments against 1.",
        ),
        Statement {
            id: "gurkan.initial-window-3-degrades-pipelined",
            place: "section 4.8.1",
            text: "In the pipelined connection cases the initial window increases resulted in \
                   performance degradation in the IW = 3 case",
        }
        .tested(
            degraded.so.map(|so| so > 0),
            &degraded.numbers(),
            "Rows of pipelined and segment-filled in which 3 segments give less than 2.",
        ),
    ];
    claims.push(further(runs)?);
    Ok(claims)
}

/// For how many plans and loads something is so, by both definitions of the rate.
fn each(
    plans: &[Plan],
    is_so: impl Fn(Plan, Load, Quantity) -> Result<bool, ReproduceError>,
) -> Result<Count, ReproduceError> {
    let mut count = Count::default();
    for &plan in plans {
        for load in Load::judged() {
            count.add([is_so(plan, load, RATES[0])?, is_so(plan, load, RATES[1])?]);
        }
    }
    Ok(count)
}

/// The best window by a definition of the rate, and how much less 10 segments give, in percent.
fn best(runs: &Runs, load: Load, quantity: Quantity) -> Result<[f64; 2], ReproduceError> {
    let (mut window, mut most, mut last) = (0, 0.0, 0.0);
    for sweep in runs.windows() {
        last = sweep.mean(Plan::Pipelined, load, quantity)?;
        if last > most {
            (window, most) = (sweep.window, last);
        }
    }
    Ok([window.into(), (1.0 - last / most) * 100.0])
}

fn further(runs: &Runs) -> Result<Claim, ReproduceError> {
    let light = best(runs, load(8, 0), Quantity::RateMean)?;
    let heavy = best(runs, load(32, 3), Quantity::RateMean)?;
    let heavy_sum = best(runs, load(32, 3), Quantity::RateSum)?;
    Ok(Statement {
        id: "gurkan.initial-window-further",
        place: "section 3.2.1",
        text: "As the window size increases further, congestion effects overcome the persistent \
               transfer, and the performance degrades",
    }
    .tested(
        [heavy[1] > 5.0, heavy_sum[1] > 5.0],
        &[
            ("best_window_8_0_by_mean", light[0]),
            ("best_window_32_3_by_mean", heavy[0]),
            ("best_window_32_3_by_sum", heavy_sum[0]),
            ("loss_at_10_pct_32_3_by_mean", heavy[1]),
            ("loss_at_10_pct_32_3_by_sum", heavy_sum[1]),
        ],
        "Pipelined with 1 to 10 segments: the best window, and the loss with 10 segments; more \
         than 5 % at 32 web and 3 FTP clients.",
    ))
}
