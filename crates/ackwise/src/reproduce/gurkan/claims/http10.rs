//! Sections 4.3 and 4.4: a connection for each file.

use super::{count, drops, load, rate};
use crate::reproduce::{
    ReproduceError,
    claim::{Claim, Said},
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
    let of = |load| rate(sweep, Plan::Serial, load);
    let mut highest: f64 = 0.0;
    for load in Load::all() {
        highest = highest.max(of(load)?);
    }
    let light = sweep.mean(Plan::Serial, load(8, 0), Quantity::Utilization)?;
    let named = [load(8, 0), load(8, 1), load(16, 0), load(16, 1), load(32, 0)];
    let without = count(named.into_iter(), |load| Ok(drops(sweep, Plan::Serial, load)? < 0.005))?;
    let crowded = drops(sweep, Plan::Serial, load(64, 0))?;
    Ok(vec![
        Said {
            id: "gurkan.serial-bound",
            place: "section 4.3.1",
            text: "effective web page retrieval rate for serial connections stay upper-bounded by \
                   approximately 10 kbytes/sec",
        }
        .tried(highest <= 11_000.0, &[("highest_rate", highest)], "To 10 %."),
        Said {
            id: "gurkan.serial-utilization",
            place: "section 4.3.1",
            text: "the link utilization stays at approximately 10% for the case where there are 8 web \
                   clients and no FTP client",
        }
        .tried((7.0..=13.0).contains(&light), &[("utilization_pct", light)], "To 3 points."),
        Said {
            id: "gurkan.serial-no-drops",
            place: "section 4.3.1",
            text: "Packet drop does not occur for the cases of 8 and 16 web clients with 0 and 1 FTP \
                   client and for the case of 32 web clients with no FTP client",
        }
        .tried(without.is_all(), &without.numbers(), "Below 0.005 %, which the thesis prints as NONE."),
        Said {
            id: "gurkan.serial-64-drops",
            place: "section 4.3.1",
            text: "With the 64-web-clients case, link utilization reaches its maximum and, not \
                   surprisingly, packet drops occur",
        }
        .tried(crowded > 0.005, &[("drop_pct", crowded)], "Without FTP clients, where it is least."),
    ])
}

fn parallel(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let gain = |load| {
        Ok::<_, ReproduceError>(
            (rate(sweep, Plan::Parallel, load)? / rate(sweep, Plan::Serial, load)? - 1.0) * 100.0,
        )
    };
    let light = gain(load(8, 0))?;
    let denser = [gain(load(8, 1))?, gain(load(8, 2))?, gain(load(8, 3))?];
    let most = denser.iter().copied().fold(f64::MIN, f64::max);
    let loaded = Load::all().filter(|load| load.ftp > 0);
    let utilized =
        count(loaded, |load| Ok(sweep.mean(Plan::Parallel, load, Quantity::Utilization)? >= 90.0))?;
    let open =
        [load(8, 0), load(64, 0)].map(|load| sweep.mean(Plan::Parallel, load, Quantity::MostOpen));
    let [few, many] = open;
    let (few, many) = (few?, many?);
    Ok(vec![
        Said {
            id: "gurkan.parallel-half-faster",
            place: "section 4.4.1",
            text: "a 50% performance improvement in terms of effective web page retrieval rate when no \
                   FTP traffic was present when compared with serial case of 8-web-clients",
        }
        .tried((40.0..=60.0).contains(&light), &[("gain_pct", light)], "To 10 points."),
        Said {
            id: "gurkan.parallel-fails-when-dense",
            place: "section 4.4.1",
            text: "parallel transmission demands extra capacity and fails to show the same performance \
                   when background traffic is denser",
        }
        .tried(
            most < light,
            &[("gain_without_ftp_pct", light), ("largest_gain_with_ftp_pct", most)],
            "8 web clients, against serial.",
        ),
        Said {
            id: "gurkan.parallel-utilization",
            place: "section 4.4.1",
            text: "if there exists background FTP traffic, link becomes already utilized to at least 90%",
        }
        .tried(utilized.is_all(), &utilized.numbers(), "The thesis' own 16/1 has 88 %."),
        Said {
            id: "gurkan.parallel-connections",
            place: "section 4.4.1",
            text: "Although we have 8 web clients, 24 connections are opened ... The 64-web-clients case \
                   has the potential of opening 192 connections",
        }
        .tried(
            few <= 32.0 && many <= 256.0,
            &[("most_with_8_clients", few), ("most_with_64_clients", many)],
            "The most at once, summed over the servers; those that are being closed are counted, so there \
             may be four for each client.",
        ),
    ])
}

fn crowded(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let at = load(64, 4);
    let (serial, parallel) = (rate(sweep, Plan::Serial, at)?, rate(sweep, Plan::Parallel, at)?);
    let sums = [Plan::Serial, Plan::Parallel].map(|plan| sweep.mean(plan, at, Quantity::RateSum));
    let [serial_sum, parallel_sum] = sums;
    let (serial_sum, parallel_sum) = (serial_sum?, parallel_sum?);
    let alone = load(64, 0);
    let share = rate(sweep, Plan::Parallel, alone)? / rate(sweep, Plan::Serial, alone)?;
    let share_sum = sweep.mean(Plan::Parallel, alone, Quantity::RateSum)?
        / sweep.mean(Plan::Serial, alone, Quantity::RateSum)?;
    let once = sweep.mean(Plan::SerialThinkOnce, alone, Quantity::RateSum)?;
    let less = (1.0 - parallel_sum / serial_sum) * 100.0;
    Ok(vec![
        Said {
            id: "gurkan.serial-below-3-kb",
            place: "section 4.3.1",
            text: "For large number of web clients the effective retrieval rate reduces to less than 3 \
                   kbytes/sec",
        }
        .tried(
            serial_sum < 3_000.0,
            &[("rate_sum", serial_sum), ("rate_mean", serial)],
            "64 web and 4 FTP clients, by the sum.",
        ),
        Said {
            id: "gurkan.parallel-quarter-less",
            place: "section 4.4.1",
            text: "The lowest web page retrieval rate is near 2.2 kbytes/sec which is approximately 25% \
                   less than the case for serial connection",
        }
        .tried(
            (15.0..=35.0).contains(&less),
            &[("less_pct", less), ("rate_sum", parallel_sum), ("rate_mean", parallel)],
            "64 web and 4 FTP clients, by the sum, to 10 points. By the mean, in which the few pages that \
             wait 6 s weigh little, parallel is not slower.",
        ),
        Said {
            id: "gurkan.parallel-64-third",
            place: "section 4.4.1",
            text: "The web page retrieval rate could not reach any larger than 3.8 kbytes/sec for the \
                   64-web-clients case. This rate is nearly 1/3 of the retrieval rate in serial connection",
        }
        .tried(
            (0.30..=0.45).contains(&share_sum),
            &[("share_by_sum", share_sum), ("share_by_mean", share), ("serial_think_once_sum", once)],
            "By the sum; the printed rates give 0.42. Most of it is think time: a serial client that thinks \
             before a page only offers the link four times as much.",
        ),
    ])
}
