//! Sections 4.5 to 4.7: one connection for a page.

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
    let mut claims = pipelined(sweep)?;
    claims.extend(segment_filled(sweep)?);
    claims.extend(compared(sweep)?);
    Ok(claims)
}

fn pipelined(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let of = |plan, load| rate(sweep, plan, load);
    let over_serial =
        count(Load::all(), |load| Ok(of(Plan::Pipelined, load)? > of(Plan::Serial, load)?))?;
    let mut parallel_better = Vec::new();
    for load in Load::all() {
        if of(Plan::Parallel, load)? > of(Plan::Serial, load)? {
            parallel_better.push(load);
        }
    }
    let over_parallel = count(parallel_better.into_iter(), |load| {
        Ok(of(Plan::Pipelined, load)? > of(Plan::Parallel, load)?)
    })?;
    let drop_more = count(Load::all(), |load| {
        Ok(drops(sweep, Plan::Pipelined, load)? >= drops(sweep, Plan::Parallel, load)?)
    })?;
    let lowest = of(Plan::Pipelined, load(64, 4))?;
    let connections = [Plan::Parallel, Plan::Pipelined]
        .map(|plan| sweep.mean(plan, load(8, 0), Quantity::Connections));
    let [parallel, pipelined] = connections;
    let (parallel, pipelined) = (parallel?, pipelined?);
    Ok(vec![
        Said {
            id: "gurkan.pipelined-beats-serial",
            place: "section 4.5.1",
            text: "Pipelined transfer resulted in better performance than HTTP/1.0 serial connection, \
                   because the restart of TCP connections is avoided",
        }
        .tried(over_serial.is_all(), &over_serial.numbers(), "All loads of the tables."),
        Said {
            id: "gurkan.pipelined-beats-parallel",
            place: "section 4.5.1",
            text: "Pipelined transfer is slightly better than the parallel connection HTTP/1.0 for the \
                   cases where parallel connection was more successful than serial connection",
        }
        .tried(
            over_parallel.is_all(),
            &over_parallel.numbers(),
            "Loads where parallel beats serial. In the printed tables too parallel wins at 8/0, 8/1 and \
             16/0.",
        ),
        Said {
            id: "gurkan.pipelined-drops-more",
            place: "section 4.5.1",
            text: "The drop rates are worse than parallel connection case",
        }
        .tried(drop_more.is_all(), &drop_more.numbers(), "All loads of the tables."),
        Said {
            id: "gurkan.pipelined-lowest",
            place: "section 4.5.1",
            text: "The lowest web page retrieval rate is increased to 3.5 kbytes/sec",
        }
        .tried(
            lowest >= 3_500.0 * 0.9,
            &[("rate_mean", lowest)],
            "64 web and 4 FTP clients, to 10 % or more.",
        ),
        Said {
            id: "gurkan.fewer-connections",
            place: "section 4.5.1",
            text: "pipelining requires only one connection although parallel connection requires 4 \
                   connections for a document with 3 inlines",
        }
        .tried(
            (parallel / pipelined - 4.0).abs() < 0.2,
            &[("parallel_per_page", parallel), ("pipelined_per_page", pipelined)],
            "Pages that the end of the run cuts off count with the connections.",
        ),
    ])
}

fn segment_filled(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let light = rate(sweep, Plan::SegmentFilled, load(8, 0))?;
    let filled = [Plan::Pipelined, Plan::SegmentFilled]
        .map(|plan| sweep.mean(plan, load(8, 0), Quantity::Filled));
    let [pipelined, segment_filled] = filled;
    let (pipelined, segment_filled) = (pipelined?, segment_filled?);
    let crowded = Load::all().filter(|load| load.web == 64);
    let severer = count(crowded, |load| {
        Ok(drops(sweep, Plan::SegmentFilled, load)? > drops(sweep, Plan::Pipelined, load)?)
    })?;
    let gain = |load| {
        Ok::<_, ReproduceError>(
            (rate(sweep, Plan::SegmentFilled, load)? / rate(sweep, Plan::Pipelined, load)? - 1.0)
                * 100.0,
        )
    };
    let (without, with) = (gain(load(8, 0))?, gain(load(8, 3))?);
    Ok(vec![
        Said {
            id: "gurkan.filled-21-kb",
            place: "section 4.6.1",
            text: "Segment filled pipelining increased the effective web page retrieval rate of \
                   8-web-clients to approximately 21 kbytes/sec",
        }
        .tried((light / 21_000.0 - 1.0).abs() < 0.1, &[("rate_mean", light)], "To 10 %."),
        Said {
            id: "gurkan.filled-more-full-segments",
            place: "section 4.6.1",
            text: "more filled segments of TCP are transmitted through the congested link than the true \
                   pipelined case",
        }
        .tried(
            segment_filled > pipelined,
            &[("pipelined_filled_pct", pipelined), ("segment_filled_pct", segment_filled)],
            "8 web clients, no FTP.",
        ),
        Said {
            id: "gurkan.filled-drops-more",
            place: "section 4.6.1",
            text: "the congestion effects become severer as the number of web clients is increased to 64",
        }
        .tried(severer.is_all(), &severer.numbers(), "Drop rates against pipelined, 64 web clients."),
        Said {
            id: "gurkan.filled-much-better-alone",
            place: "section 4.7",
            text: "The segment filled pipelining has much better performance than the pipelined \
                   transmission when there is no background traffic ... but with a background traffic ... \
                   resembles true pipelining",
        }
        .tried(
            without > 20.0 && with < without,
            &[("gain_without_ftp_pct", without), ("gain_with_3_ftp_pct", with)],
            "8 web clients. Its pages take two exchanges instead of four, and padded octets count.",
        ),
    ])
}

fn compared(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let of = |plan, load| rate(sweep, plan, load);
    let outperform = |load| {
        let persistent = of(Plan::Pipelined, load)?.min(of(Plan::SegmentFilled, load)?);
        Ok(persistent > of(Plan::Serial, load)?.max(of(Plan::Parallel, load)?))
    };
    let everywhere = count(Load::all(), outperform)?;
    let shown = count(Load::all().filter(|load| [16, 32].contains(&load.web)), outperform)?;
    let parallel_gain = |web| {
        count((0..=4).map(move |ftp| load(web, ftp)), |load| {
            Ok(of(Plan::Parallel, load)? > of(Plan::Serial, load)?)
        })
    };
    let (sixteen, thirty_two) = (parallel_gain(16)?, parallel_gain(32)?);
    let gap = |[one, other]: [Plan; 2], load| {
        Ok::<_, ReproduceError>((of(one, load)? / of(other, load)? - 1.0).abs() * 100.0)
    };
    let persistent = [Plan::SegmentFilled, Plan::Pipelined];
    let single = [Plan::Parallel, Plan::Serial];
    let gaps = [
        ("filled_pipelined_without_ftp_pct", gap(persistent, load(16, 0))?),
        ("filled_pipelined_with_4_ftp_pct", gap(persistent, load(16, 4))?),
        ("parallel_serial_without_ftp_pct", gap(single, load(16, 0))?),
        ("parallel_serial_with_4_ftp_pct", gap(single, load(16, 4))?),
    ];
    let ftp = sweep.mean(Plan::Serial, load(8, 1), Quantity::Ftp)? * 8.0 / 1.5e6 * 100.0;
    Ok(vec![
        Said {
            id: "gurkan.persistent-performs-better",
            place: "abstract",
            text: "segment-filled and pipelined connections performed better in terms of effective web page \
                   retrieval rate",
        }
        .tried(
            everywhere.is_all(),
            &everywhere.numbers(),
            "Both better than serial and parallel, all loads. In the printed tables parallel beats pipelined \
             at 8/0, 8/1 and 16/0, and serial beats all at 64/0.",
        ),
        Said {
            id: "gurkan.persistent-outperforms",
            place: "section 4.7, Figures 4.8 and 4.9",
            text: "Both pipelined methods outperformed the parallel and serial connection HTTP/1.0",
        }
        .tried(shown.is_all(), &shown.numbers(), "16 and 32 web clients."),
        Said {
            id: "gurkan.parallel-beats-serial-at-16",
            place: "section 4.7",
            text: "Parallel connection HTTP/1.0 has little better web page retrieval rate in the \
                   16-web-clients case ... In the 32-web-clients simulation this is not the case",
        }
        .tried(
            sixteen.is_all() && thirty_two.so < thirty_two.of,
            &[("rows_so_at_16", sixteen.so.into()), ("rows_so_at_32", thirty_two.so.into()), ("rows", 5.0)],
            "Rows in which parallel beats serial.",
        ),
        Said {
            id: "gurkan.approach-each-other",
            place: "section 4.7",
            text: "For the case of 3 or 4-FTP-clients, segment filled and pipelined methods approach each \
                   other. For the same cases, parallel and serial connection performances also approach each \
                   other",
        }
        .tried(gaps[1].1 < gaps[0].1 && gaps[3].1 < gaps[2].1, &gaps, "16 web clients."),
        Said {
            id: "gurkan.one-ftp-ninety-percent",
            place: "section 4.7",
            text: "only one of the FTP clients alone can utilize the link by almost 90%",
        }
        .tried(
            (75.0..=95.0).contains(&ftp),
            &[("ftp_goodput_pct", ftp)],
            "The FTP client's goodput beside 8 serial web clients, without headers.",
        ),
    ])
}
