//! Sections 4.3 and 4.4: a connection for each file.

use super::{count, drops, gains, load, rates};
use crate::reproduce::{
    ReproduceError,
    claim::{Claim, Statement},
    gurkan::{
        plan::{Load, Plan},
        sweep::{Quantity, Sweep},
    },
};

pub(super) fn claims(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = serial(sweep)?;
    claims.extend(parallel(sweep)?);
    claims.extend(crowded(sweep)?);
    Ok(claims)
}

fn serial(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let mut highest: [f64; 2] = [0.0; 2];
    for load in Load::all() {
        let rates = rates(sweep, Plan::Serial, load)?;
        highest = [highest[0].max(rates[0]), highest[1].max(rates[1])];
    }
    let light = sweep.mean(Plan::Serial, load(8, 0), Quantity::Utilization)?;
    let mut most_drops: f64 = 0.0;
    for load in [load(8, 0), load(8, 1), load(16, 0), load(16, 1), load(32, 0)] {
        most_drops = most_drops.max(drops(sweep, Plan::Serial, load)?);
    }
    let crowded = drops(sweep, Plan::Serial, load(64, 0))?;
    Ok(vec![
        Statement {
            id: "gurkan.serial-bound",
            place: "section 4.3.1",
            text: "effective web page retrieval rate for serial connections stay upper-bounded by \
                   approximately 10 kbytes/sec",
        }
        .tested(
            highest.map(|rate| rate <= 11_000.0),
            &[("highest_rate_mean", highest[0]), ("highest_rate_sum", highest[1])],
            "To 10 %.",
        ),
        Statement {
            id: "gurkan.serial-utilization",
            place: "section 4.3.1",
            text: "the link utilization stays at approximately 10% for the case where there are 8 \
                   web clients and no FTP client",
        }
        .tested(
            (7.0..=13.0).contains(&light),
            &[("utilization_pct", light)],
            "To 3 points.",
        ),
        Statement {
            id: "gurkan.serial-no-drops",
            place: "section 4.3.1",
            text: "Packet drop does not occur for the cases of 8 and 16 web clients with 0 and 1 \
                   FTP client and for the case of 32 web clients with no FTP client",
        }
        .tested(
            most_drops < 0.005,
            &[("largest_drop_pct", most_drops)],
            "Below 0.005 %, which the thesis prints as NONE.",
        ),
        Statement {
            id: "gurkan.serial-64-drops",
            place: "section 4.3.1",
            text: "With the 64-web-clients case, link utilization reaches its maximum and, not \
                   surprisingly, packet drops occur",
        }
        .tested(
            crowded > 0.005,
            &[("drop_pct", crowded)],
            "Without FTP clients: the fewest.",
        ),
    ])
}

fn parallel(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let both = [Plan::Parallel, Plan::Serial];
    let (light, dense) = (gains(sweep, both, load(8, 0))?, gains(sweep, both, load(8, 3))?);
    let mut least = f64::MAX;
    for load in Load::all().filter(|load| load.ftp > 0) {
        least = least.min(sweep.mean(Plan::Parallel, load, Quantity::Utilization)?);
    }
    let few = sweep.mean(Plan::Parallel, load(8, 0), Quantity::MostOpen)?;
    let many = sweep.mean(Plan::Parallel, load(64, 0), Quantity::MostOpen)?;
    Ok(vec![
        Statement {
            id: "gurkan.parallel-half-faster",
            place: "section 4.4.1",
            text: "a 50% performance improvement in terms of effective web page retrieval rate \
                   when no FTP traffic was present when compared with serial case of 8-web-clients",
        }
        .tested(
            light.map(|gain| (40.0..=60.0).contains(&gain)),
            &[("gain_pct_by_mean", light[0]), ("gain_pct_by_sum", light[1])],
            "To 10 points.",
        ),
        Statement {
            id: "gurkan.parallel-fails-when-dense",
            place: "section 4.4.1",
            text: "parallel transmission demands extra capacity and fails to show the same \
                   performance when background traffic is denser",
        }
        .tested(
            [0, 1].map(|rate| dense[rate] < light[rate] - 5.0),
            &[
                ("gain_without_ftp_pct_by_mean", light[0]),
                ("gain_without_ftp_pct_by_sum", light[1]),
                ("gain_with_3_ftp_pct_by_mean", dense[0]),
                ("gain_with_3_ftp_pct_by_sum", dense[1]),
            ],
            "Over serial, 8 web clients, less by 5 points or more; the printed gains are 51 and \
             40 %.",
        ),
        Statement {
            id: "gurkan.parallel-utilization",
            place: "section 4.4.1",
            text: "if there exists background FTP traffic, link becomes already utilized to at \
                   least 90%",
        }
        .tested(
            least >= 90.0,
            &[("least_utilization_pct", least)],
            "The thesis' own 16/1 has 88 %.",
        ),
        Statement {
            id: "gurkan.parallel-connections",
            place: "section 4.4.1",
            text: "Although we have 8 web clients, 24 connections are opened ... The \
                   64-web-clients case has the potential of opening 192 connections",
        }
        .tested(
            few <= 32.0 && many <= 256.0,
            &[("most_with_8_clients", few), ("most_with_64_clients", many)],
            "The maximum at once, summed over the servers. The primary file's connection may \
             still be closing, so there may be four per client.",
        ),
    ])
}

fn crowded(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let at = load(64, 4);
    let (serial, parallel) = (rates(sweep, Plan::Serial, at)?, rates(sweep, Plan::Parallel, at)?);
    let both = [Plan::Parallel, Plan::Serial];
    let less = gains(sweep, both, at)?.map(|gain| -gain);
    let alone = load(64, 0);
    let share = gains(sweep, both, alone)?.map(|gain| 1.0 + gain / 100.0);
    let think_once = sweep.mean(Plan::SerialThinkOnce, alone, Quantity::RateSum)?;
    let sixty_four = Load::all().filter(|load| load.web == 64);
    let slower = count(sixty_four, |quantity, load| {
        Ok(sweep.mean(Plan::Parallel, load, quantity)?
            < sweep.mean(Plan::Serial, load, quantity)?)
    })?;
    Ok(vec![
        Statement {
            id: "gurkan.serial-below-3-kb",
            place: "section 4.3.1",
            text: "For large number of web clients the effective retrieval rate reduces to less \
                   than 3 kbytes/sec",
        }
        .tested(
            serial.map(|rate| rate < 3_000.0),
            &[("rate_mean", serial[0]), ("rate_sum", serial[1])],
            "64 web and 4 FTP clients.",
        ),
        Statement {
            id: "gurkan.parallel-quarter-less",
            place: "section 4.4.1",
            text: "The lowest web page retrieval rate is near 2.2 kbytes/sec which is \
                   approximately 25% less than the case for serial connection",
        }
        .tested(
            less.map(|less| (15.0..=35.0).contains(&less)),
            &[
                ("less_pct_by_mean", less[0]),
                ("less_pct_by_sum", less[1]),
                ("rate_mean", parallel[0]),
                ("rate_sum", parallel[1]),
            ],
            "64 web and 4 FTP clients, to 10 points. The few pages that wait 6 s have little \
             weight in the mean.",
        ),
        Statement {
            id: "gurkan.parallel-slower-at-64",
            place: "section 4.4.1",
            text: "highly utilized link experiments end up with less performance than serial case. \
                   This is most easily seen when we compare the 64-web-clients simulation results",
        }
        .tested(slower.is_all(), &slower.numbers(), "64 web clients."),
        Statement {
            id: "gurkan.parallel-64-third",
            place: "section 4.4.1",
            text: "The web page retrieval rate could not reach any larger than 3.8 kbytes/sec for \
                   the 64-web-clients case. This rate is nearly 1/3 of the retrieval rate in \
                   serial connection",
        }
        .tested(
            share.map(|share| (0.30..=0.45).contains(&share)),
            &[
                ("share_by_mean", share[0]),
                ("share_by_sum", share[1]),
                ("serial_think_once_rate_sum", think_once),
            ],
            "The printed rates give 0.42. Think time makes the difference: a serial client with \
             think time only before a page is as slow as the others.",
        ),
    ])
}
