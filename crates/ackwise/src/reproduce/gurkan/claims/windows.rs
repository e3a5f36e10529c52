//! Sections 3.2.1 and 4.8: larger initial windows.

use super::{Count, drops, load, rate};
use crate::reproduce::{
    ReproduceError,
    claim::{Claim, Said},
    gurkan::{
        Runs,
        plan::{Load, Plan},
    },
};

pub(super) fn claims(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let [two, three] = &runs.larger;
    let one = &runs.usual;
    let increased = each(|plan, load| {
        let first = rate(one, plan, load)?;
        Ok(rate(two, plan, load)? > first && rate(three, plan, load)? > first)
    })?;
    let less = each(|plan, load| {
        let rates = [rate(one, plan, load)?, rate(two, plan, load)?, rate(three, plan, load)?];
        Ok(rates[2] - rates[1] < rates[1] - rates[0])
    })?;
    let drop_more = each(|plan, load| Ok(drops(three, plan, load)? >= drops(one, plan, load)?))?;
    let mut degraded = Count { so: 0, of: 0 };
    for plan in [Plan::Pipelined, Plan::SegmentFilled] {
        for load in Load::judged() {
            degraded.of += 1;
            degraded.so += u32::from(rate(three, plan, load)? < rate(two, plan, load)?);
        }
    }
    let mut claims = vec![
        Said {
            id: "gurkan.initial-window-increases",
            place: "abstract",
            text: "Changing initial window size from 1 to 2 and 3 has increased the performance of each \
                   connection case individually",
        }
        .tried(increased.is_all(), &increased.numbers(), "All four plans and 12 loads."),
        Said {
            id: "gurkan.initial-window-less-from-2-to-3",
            place: "section 4.8.1",
            text: "the increase in the web page retrieval rate is less as initial window size is increased \
                   from 2 to 3 than the increase seen from 1 to 2",
        }
        .tried(less.is_all(), &less.numbers(), "All four plans and 12 loads."),
        Said {
            id: "gurkan.initial-window-drops",
            place: "section 4.8.1",
            text: "This adds the risk of obtaining large drop rates because of congestion effects in the \
                   network",
        }
        .tried(drop_more.is_all(), &drop_more.numbers(), "Drop rates at 3 segments against 1."),
        Said {
            id: "gurkan.initial-window-3-degrades-pipelined",
            place: "section 4.8.1",
            text: "In the pipelined connection cases the initial window increases resulted in performance \
                   degradation in the IW = 3 case",
        }
        .tried(
            degraded.so > 0,
            &degraded.numbers(),
            "Rows of pipelined and segment-filled in which 3 segments give less than 2.",
        ),
    ];
    claims.push(further(runs)?);
    Ok(claims)
}

/// For how many plans and loads something is so.
fn each(
    is_so: impl Fn(Plan, Load) -> Result<bool, ReproduceError>,
) -> Result<Count, ReproduceError> {
    let mut count = Count { so: 0, of: 0 };
    for plan in Plan::PRINTED {
        for load in Load::judged() {
            count.of += 1;
            count.so += u32::from(is_so(plan, load)?);
        }
    }
    Ok(count)
}

fn further(runs: &Runs) -> Result<Claim, ReproduceError> {
    let mut numbers = Vec::new();
    let mut degrades = true;
    for (name, at) in [("light", load(8, 0)), ("heavy", load(32, 3))] {
        let mut best = (0, 0.0);
        let mut last = 0.0;
        for sweep in runs.windows() {
            last = rate(sweep, Plan::Pipelined, at)?;
            if last > best.1 {
                best = (sweep.window, last);
            }
        }
        degrades &= best.0 < 10;
        numbers.push((name, best, last));
    }
    let numbers = numbers.iter().flat_map(|&(name, (window, most), last)| match name {
        "light" => {
            [("best_window_8_0", f64::from(window)), ("loss_at_10_pct_8_0", loss(most, last))]
        }
        _ => [("best_window_32_3", f64::from(window)), ("loss_at_10_pct_32_3", loss(most, last))],
    });
    Ok(Said {
        id: "gurkan.initial-window-further",
        place: "section 3.2.1",
        text: "As the window size increases further, congestion effects overcome the persistent transfer, and \
               the performance degrades",
    }
    .tried(
        degrades,
        &numbers.collect::<Vec<_>>(),
        "Pipelined with 1 to 10 segments, at 8 web clients alone and at 32 with 3 FTP clients: the best \
         window, and how much less 10 segments give.",
    ))
}

fn loss(most: f64, last: f64) -> f64 {
    (1.0 - last / most) * 100.0
}
