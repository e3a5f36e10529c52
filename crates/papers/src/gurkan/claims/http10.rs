//! Sections 4.3 and 4.4: a connection for each file.

use super::{SIZES, WINDOW, by_rates, drops, everywhere, gain, load, printed, rates, tally};
use crate::{
    ReproduceError,
    claim::{Claim, Statement},
    gurkan::{
        plan::{Load, Plan},
        sweep::{Quantity, Sweep},
    },
    verdict::{Source::Printed, cases, measured},
};

pub(super) fn claims(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = serial(sweep)?;
    claims.extend(parallel(sweep)?);
    claims.push(connections(sweep)?);
    claims.extend(crowded(sweep)?);
    Ok(claims)
}

fn serial(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let mut highest: [f64; 2] = [0.0; 2];
    for load in Load::all() {
        let rates = rates(sweep, Plan::Serial, load)?;
        highest = [highest[0].max(rates[0]), highest[1].max(rates[1])];
    }
    let light = |plan| sweep.mean(plan, load(8, 0), Quantity::Utilization);
    let quiet = [load(8, 0), load(8, 1), load(16, 0), load(16, 1), load(32, 0)];
    let smallest = smallest_printed()?;
    let (without, of) =
        tally(quiet.into_iter(), |load| Ok(drops(sweep, Plan::Serial, load)? < smallest))?;
    let most_drops = quiet.map(|load| drops(sweep, Plan::Serial, load));
    let most_drops = most_drops.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(vec![
        Statement {
            id: "gurkan.serial-bound",
            place: "section 4.3.1",
            text: "effective web page retrieval rate for serial connections stay upper-bounded by \
                   approximately 10 kbytes/sec",
        }
        .fitted(SIZES, "The highest rate is at 8/0.")
        .showing(&[("highest_rate_sum", highest[0]), ("highest_rate_mean", highest[1])]),
        Statement {
            id: "gurkan.serial-utilization",
            place: "section 4.3.1",
            text: "the link utilization stays at approximately 10% for the case where there are 8 \
                   web clients and no FTP client",
        }
        .judged(
            [measured("utilization_pct", light(Plan::Serial)?)
                .near_printed("gurkan.serial-utilization", 3.0, "to 3 points")
                .control("think time before pages only", light(Plan::SerialThinkOnce)?)],
            "The think time before each file is read off Table 4.1, not off this utilization.",
        ),
        Statement {
            id: "gurkan.serial-no-drops",
            place: "section 4.3.1",
            text: "Packet drop does not occur for the cases of 8 and 16 web clients with 0 and 1 \
                   FTP client and for the case of 32 web clients with no FTP client",
        }
        .judged(
            [cases("loads_without_drops", without, of).every()],
            "Without drops is below 0.001 %, the smallest rate that the thesis prints (Table 4.6). \
             At 16/1 it is 0.003 % in our five runs; the thesis has one run.",
        )
        .showing(&[("largest_drop_pct", most_drops.into_iter().fold(0.0, f64::max))]),
        sixty_four(sweep)?,
    ])
}

/// In percent: what Table 4.6 prints for 16/0.
fn smallest_printed() -> Result<f64, ReproduceError> {
    printed::drops(Plan::Pipelined, load(16, 0))
}

fn sixty_four(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let (mut here, mut elsewhere): (f64, f64) = (0.0, 0.0);
    for load in Load::all() {
        let most = if load.web == 64 { &mut here } else { &mut elsewhere };
        *most = most.max(sweep.mean(Plan::Serial, load, Quantity::Utilization)?);
    }
    Ok(Statement {
        id: "gurkan.serial-64-drops",
        place: "section 4.3.1",
        text: "With the 64-web-clients case, link utilization reaches its maximum and, not \
               surprisingly, packet drops occur",
    }
    .judged(
        [
            measured("drop_pct_64_0", drops(sweep, Plan::Serial, load(64, 0))?)
                .above(
                    smallest_printed()?,
                    Printed { place: "Table 4.6: the smallest rate", allowed: "" },
                )
                .control("32 web clients", drops(sweep, Plan::Serial, load(32, 0))?),
            measured("most_utilization_pct_64", here)
                .above_run("most_utilization_pct_8_to_32", elsewhere),
        ],
        "Drops without FTP clients, where there are the fewest; utilization with any number of \
         them.",
    ))
}

fn parallel(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let both = [Plan::Parallel, Plan::Serial];
    let at = |load, rate| gain(sweep, both, load, rate);
    let [sum, mean] = super::RATES;
    let mut least = f64::MAX;
    for load in Load::all().filter(|load| load.ftp > 0) {
        least = least.min(sweep.mean(Plan::Parallel, load, Quantity::Utilization)?);
    }
    let dense = by_rates(|rate| {
        Ok(vec![
            measured("gain_with_3_ftp_pct", at(load(8, 3), rate)?)
                .below_printed("gurkan.parallel-fails-when-dense", -5.0, "less by 5 points")
                .control("no FTP client", at(load(8, 0), rate)?),
        ])
    })?;
    Ok(vec![
        Statement {
            id: "gurkan.parallel-half-faster",
            place: "section 4.4.1",
            text: "The simulations indicate a 50% performance improvement in terms of effective web \
                   page retrieval when no FTP traffic was present when compared with serial case \
                   of 8-web-clients",
        }
        .fitted(SIZES, "Both rates of this gain are among them.")
        .showing(&[
            ("gain_pct_by_sum", at(load(8, 0), sum)?),
            ("gain_pct_by_mean", at(load(8, 0), mean)?),
        ]),
        Statement {
            id: "gurkan.parallel-fails-when-dense",
            place: "section 4.4.1",
            text: "parallel transmission demands extra capacity and fails to show the same \
                   performance when background traffic is denser",
        }
        .judged_by_rates(
            dense,
            "Over serial, 8 web clients; the printed gains are 51 % alone and 40 % with 3 FTP \
             clients. The gain alone is fitted, that with FTP clients is not.",
        ),
        Statement {
            id: "gurkan.parallel-utilization",
            place: "section 4.4.1",
            text: "if there exists background FTP traffic, link becomes already utilized to at \
                   least 90%",
        }
        .fitted(WINDOW, "The thesis' own 16/1 has 88 %, which contradicts it.")
        .showing(&[("least_utilization_pct", least)]),
    ])
}

fn connections(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let most = |plan, web| sweep.mean(plan, load(web, 0), Quantity::MostOpen);
    Ok(Statement {
        id: "gurkan.parallel-connections",
        place: "section 4.4.1",
        text: "Although we have 8 web clients, 24 connections are opened at the time of inline \
               retrieval ... The 64-web-clients case has the potential of opening 192 connections",
    }
    .judged(
        [measured("most_with_8_clients", most(Plan::Parallel, 8)?)
            .near_printed("gurkan.parallel-connections", 1.0, "to one")
            .control("pipelined", most(Plan::Pipelined, 8)?)],
        "The most at once, summed over the servers, the mean over the seeds. The potential of 64 clients \
         is three times 64; no run reaches it, since not all retrieve inlines at once.",
    )
    .showing(&[("most_with_64_clients", most(Plan::Parallel, 64)?)]))
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn crowded(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let rate_at = |plan, load| move |rate| sweep.mean(plan, load, rate);
    let lowest = |rate| -> Result<f64, ReproduceError> {
        let rates = Load::all().map(|load| sweep.mean(Plan::Parallel, load, rate));
        Ok(rates.collect::<Result<Vec<_>, _>>()?.into_iter().fold(f64::MAX, f64::min))
    };
    let highest_at_64 = |rate| -> Result<f64, ReproduceError> {
        let loads = Load::all().filter(|load| load.web == 64);
        let rates = loads.map(|load| sweep.mean(Plan::Parallel, load, rate));
        Ok(rates.collect::<Result<Vec<_>, _>>()?.into_iter().fold(0.0, f64::max))
    };
    let less = |load, rate| -> Result<f64, ReproduceError> {
        Ok(-gain(sweep, [Plan::Parallel, Plan::Serial], load, rate)?)
    };
    let below = by_rates(|rate| {
        Ok(vec![
            measured("rate_64_4", rate_at(Plan::Serial, load(64, 4))(rate)?)
                .below_printed("gurkan.serial-below-3-kb", 0.0, "")
                .control("8 web clients, 4 FTP", rate_at(Plan::Serial, load(8, 4))(rate)?),
        ])
    })?;
    let quarter = by_rates(|rate| {
        Ok(vec![
            measured("lowest_rate", lowest(rate)?)
                .near_printed("gurkan.parallel-quarter-less", 220.0, "to 10 %")
                .control("serial at 64/4", rate_at(Plan::Serial, load(64, 4))(rate)?),
            measured("less_pct", less(load(64, 4), rate)?)
                .near_printed("gurkan.parallel-quarter-less", 10.0, "to 10 points")
                .control("8 web clients, no FTP", less(load(8, 0), rate)?),
        ])
    })?;
    let slower = by_rates(|rate| {
        let sixty_four = Load::all().filter(|load| load.web == 64);
        Ok(vec![everywhere("rows_slower", sixty_four, |load| Ok(less(load, rate)? > 0.0))?])
    })?;
    let alone = load(64, 0);
    let third = by_rates(|rate| {
        let share = |load| Ok::<_, ReproduceError>(1.0 - less(load, rate)? / 100.0);
        Ok(vec![
            measured("highest_rate_64", highest_at_64(rate)?)
                .below_printed("gurkan.parallel-64-third", 190.0, "5 % more")
                .control("32 web clients", rate_at(Plan::Parallel, load(32, 0))(rate)?),
            measured("share_of_serial", share(alone)?)
                .near_printed("gurkan.parallel-64-third", 0.05, "to 0.05")
                .control("8 web clients", share(load(8, 0))?),
        ])
    })?;
    let think_once = sweep.mean(Plan::SerialThinkOnce, alone, Quantity::RateSum)?;
    Ok(vec![
        Statement {
            id: "gurkan.serial-below-3-kb",
            place: "section 4.3.1",
            text: "For large number of web clients the effective retrieval rate reduces to less \
                   than 3 kbytes/sec",
        }
        .judged_by_rates(
            below,
            "64 web and 4 FTP clients. With as many FTP clients and 8 web clients, where the \
             thesis prints 3.1 kbytes/sec, the sum is below 3 as well, so that it is not the number \
             of web clients that decides here.",
        ),
        Statement {
            id: "gurkan.parallel-quarter-less",
            place: "section 4.4.1",
            text: "The lowest web page retrieval rate is near 2.2 kbytes/sec which is \
                   approximately 25% less than the case for serial connection",
        }
        .judged_by_rates(
            quarter,
            "By the sum it is a quarter less than serial, and lower than printed. The few pages \
             that wait 6 s have little weight in the mean.",
        ),
        Statement {
            id: "gurkan.parallel-slower-at-64",
            place: "section 4.4.1",
            text: "This makes the highly utilized link experiments end up with less performance \
                   than serial case. This is most easily seen when we compare the 64-web-clients \
                   simulation results",
        }
        .judged_by_rates(slower, "64 web clients, 0 to 4 FTP clients."),
        Statement {
            id: "gurkan.parallel-64-third",
            place: "section 4.4.1",
            text: "The web page retrieval rate could not reach any larger than 3.8 kbytes/sec for \
                   the 64-web-clients case. This rate is nearly 1/3 of the retrieval rate in \
                   serial connection",
        }
        .judged_by_rates(
            third,
            "The printed rates, 3891.59 and 9305.57, give 0.42: the sentence contradicts its \
             tables, with which our sums agree. Think time makes the difference: a serial client \
             with think time only before a page is as slow as the others.",
        )
        .showing(&[("serial_think_once_rate_sum", think_once)]),
    ])
}
