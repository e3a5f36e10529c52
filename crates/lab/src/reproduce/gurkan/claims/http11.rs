//! Sections 4.5 to 4.7: one connection for a page.

use super::{count, drops, gains, load, rates, tally};
use crate::reproduce::{
    ReproduceError,
    claim::{Claim, Statement},
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
    let faster = |one, other, quantity, load| {
        Ok::<_, ReproduceError>(
            sweep.mean(one, load, quantity)? > sweep.mean(other, load, quantity)?,
        )
    };
    let over_serial =
        count(Load::all(), |quantity, load| faster(Plan::Pipelined, Plan::Serial, quantity, load))?;
    let over_parallel = count(Load::all(), |quantity, load| {
        Ok(faster(Plan::Pipelined, Plan::Parallel, quantity, load)?
            || faster(Plan::Serial, Plan::Parallel, quantity, load)?)
    })?;
    let drop_more = tally(Load::all(), |load| {
        Ok(drops(sweep, Plan::Pipelined, load)? >= drops(sweep, Plan::Parallel, load)?)
    })?;
    let lowest = rates(sweep, Plan::Pipelined, load(64, 4))?;
    let connections = [Plan::Parallel, Plan::Pipelined]
        .map(|plan| sweep.mean(plan, load(8, 0), Quantity::Connections));
    let [parallel, pipelined] = connections;
    let (parallel, pipelined) = (parallel?, pipelined?);
    Ok(vec![
        Statement {
            id: "gurkan.pipelined-beats-serial",
            place: "section 4.5.1",
            text: "Pipelined transfer resulted in better performance than HTTP/1.0 serial \
                   connection, because the restart of TCP connections is avoided",
        }
        .tested(
            over_serial.is_all(),
            &over_serial.numbers(),
            "All loads of the tables. Serial also wins at 64/0 to 64/2 in the printed tables.",
        ),
        Statement {
            id: "gurkan.pipelined-beats-parallel",
            place: "section 4.5.1",
            text: "Pipelined transfer is slightly better than the parallel connection HTTP/1.0 for \
                   the cases where parallel connection was more successful than serial connection",
        }
        .tested(
            over_parallel.is_all(),
            &over_parallel.numbers(),
            "Loads at which pipelined or serial beats parallel. Parallel also wins at 8/0, 8/1 \
             and 16/0 in the printed tables.",
        ),
        Statement {
            id: "gurkan.pipelined-drops-more",
            place: "section 4.5.1",
            text: "The drop rates are worse than parallel connection case",
        }
        .tested(drop_more.is_all(), &drop_more.numbers(), "All loads of the tables."),
        Statement {
            id: "gurkan.pipelined-lowest",
            place: "section 4.5.1",
            text: "The lowest web page retrieval rate is increased to 3.5 kbytes/sec",
        }
        .tested(
            lowest.map(|rate| rate >= 3_500.0 * 0.9),
            &[("rate_mean", lowest[0]), ("rate_sum", lowest[1])],
            "64 web and 4 FTP clients, to 10 % or more.",
        ),
        Statement {
            id: "gurkan.fewer-connections",
            place: "section 4.5.1",
            text: "pipelining requires only one connection although parallel connection requires 4 \
                   connections for a document with 3 inlines",
        }
        .tested(
            (parallel / pipelined - 4.0).abs() < 0.2,
            &[("parallel_per_page", parallel), ("pipelined_per_page", pipelined)],
            "Connections of pages that the end of the run cuts off are counted.",
        ),
    ])
}

fn segment_filled(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let light = rates(sweep, Plan::SegmentFilled, load(8, 0))?;
    let filled = [Plan::Pipelined, Plan::SegmentFilled]
        .map(|plan| sweep.mean(plan, load(8, 0), Quantity::Filled));
    let [pipelined, segment_filled] = filled;
    let (pipelined, segment_filled) = (pipelined?, segment_filled?);
    let crowded = Load::all().filter(|load| load.web == 64);
    let severer = tally(crowded, |load| {
        Ok(drops(sweep, Plan::SegmentFilled, load)? > drops(sweep, Plan::Pipelined, load)?)
    })?;
    let both = [Plan::SegmentFilled, Plan::Pipelined];
    let (without, with) = (gains(sweep, both, load(8, 0))?, gains(sweep, both, load(8, 3))?);
    Ok(vec![
        Statement {
            id: "gurkan.filled-21-kb",
            place: "section 4.6.1",
            text: "Segment filled pipelining increased the effective web page retrieval rate of \
                   8-web-clients to approximately 21 kbytes/sec",
        }
        .tested(
            light.map(|rate| (rate / 21_000.0 - 1.0).abs() < 0.1),
            &[("rate_mean", light[0]), ("rate_sum", light[1])],
            "To 10 %.",
        ),
        Statement {
            id: "gurkan.filled-more-full-segments",
            place: "section 4.6.1",
            text: "more filled segments of TCP are transmitted through the congested link than the \
                   true pipelined case",
        }
        .tested(
            segment_filled > pipelined,
            &[("pipelined_filled_pct", pipelined), ("segment_filled_pct", segment_filled)],
            "8 web clients, no FTP.",
        ),
        Statement {
            id: "gurkan.filled-drops-more",
            place: "section 4.6.1",
            text: "the congestion effects become severer as the number of web clients is increased \
                   to 64",
        }
        .tested(severer.is_all(), &severer.numbers(), "Drop rates against pipelined."),
        Statement {
            id: "gurkan.filled-much-better-alone",
            place: "section 4.7",
            text: "The segment filled pipelining has much better performance than the pipelined \
                   transmission when there is no background traffic ... but with a background \
                   traffic ... resembles true pipelining",
        }
        .tested(
            [0, 1].map(|rate| without[rate] > 20.0 && with[rate] < without[rate] - 5.0),
            &[
                ("gain_without_ftp_pct_by_mean", without[0]),
                ("gain_without_ftp_pct_by_sum", without[1]),
                ("gain_with_3_ftp_pct_by_mean", with[0]),
                ("gain_with_3_ftp_pct_by_sum", with[1]),
            ],
            "8 web clients. Its pages take two exchanges instead of four, and padding counts as \
             bytes.",
        ),
    ])
}

fn compared(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let outperform = |quantity, load| {
        let of = |plan| sweep.mean(plan, load, quantity);
        let persistent = of(Plan::Pipelined)?.min(of(Plan::SegmentFilled)?);
        Ok(persistent > of(Plan::Serial)?.max(of(Plan::Parallel)?))
    };
    let everywhere = count(Load::all(), outperform)?;
    let shown = count(Load::all().filter(|load| [16, 32].contains(&load.web)), outperform)?;
    let parallel_wins = |web| {
        count((0..=4).map(move |ftp| load(web, ftp)), |quantity, load| {
            let serial = sweep.mean(Plan::Serial, load, quantity)?;
            Ok(sweep.mean(Plan::Parallel, load, quantity)? > serial)
        })
    };
    let (at_16, at_32) = (parallel_wins(16)?.numbers(), parallel_wins(32)?.numbers());
    let better_at_16 = [0, 1].map(|rate| at_16[rate].1 > at_32[rate].1);
    let at = |plans, ftp| gains(sweep, plans, load(16, ftp));
    let persistent = [Plan::SegmentFilled, Plan::Pipelined];
    let single = [Plan::Parallel, Plan::Serial];
    let (persistent_0, persistent_4) = (at(persistent, 0)?, at(persistent, 4)?);
    let (single_0, single_4) = (at(single, 0)?, at(single, 4)?);
    let approach = |rate: usize| {
        persistent_4[rate].abs() < persistent_0[rate].abs()
            && single_4[rate].abs() < single_0[rate].abs()
    };
    let ftp = sweep.mean(Plan::Serial, load(8, 1), Quantity::Ftp)? * 8.0 / 1.5e6 * 100.0;
    Ok(vec![
        Statement {
            id: "gurkan.persistent-performs-better",
            place: "abstract",
            text: "segment-filled and pipelined connections performed better in terms of effective \
                   web page retrieval rate",
        }
        .tested(
            everywhere.is_all(),
            &everywhere.numbers(),
            "Both better than serial and parallel, all loads. In the printed tables parallel beats \
             pipelined at 8/0, 8/1 and 16/0, and serial beats all at 64/0 to 64/2.",
        ),
        Statement {
            id: "gurkan.persistent-outperforms",
            place: "section 4.7, Figures 4.8 and 4.9",
            text: "Both pipelined methods outperformed the parallel and serial connection HTTP/1.0",
        }
        .tested(shown.is_all(), &shown.numbers(), "16 and 32 web clients."),
        Statement {
            id: "gurkan.parallel-beats-serial-at-16",
            place: "section 4.7",
            text: "Parallel connection HTTP/1.0 has little better web page retrieval rate in the \
                   16-web-clients case ... In the 32-web-clients simulation this is not the case",
        }
        .tested(
            better_at_16,
            &[
                ("rows_at_16_by_mean", at_16[0].1),
                ("rows_at_16_by_sum", at_16[1].1),
                ("rows_at_32_by_mean", at_32[0].1),
                ("rows_at_32_by_sum", at_32[1].1),
            ],
            "Rows of five in which parallel beats serial; five and two in the printed tables.",
        ),
        Statement {
            id: "gurkan.approach-each-other",
            place: "section 4.7",
            text: "For the case of 3 or 4-FTP-clients, segment filled and pipelined methods \
                   approach each other. For the same cases, parallel and serial connection \
                   performances also approach each other",
        }
        .tested(
            [approach(0), approach(1)],
            &[
                ("filled_over_pipelined_pct_by_mean", persistent_0[0]),
                ("filled_over_pipelined_pct_by_sum", persistent_0[1]),
                ("with_4_ftp_pct_by_mean", persistent_4[0]),
                ("with_4_ftp_pct_by_sum", persistent_4[1]),
                ("parallel_over_serial_pct_by_mean", single_0[0]),
                ("parallel_over_serial_pct_by_sum", single_0[1]),
                ("parallel_with_4_ftp_pct_by_mean", single_4[0]),
                ("parallel_with_4_ftp_pct_by_sum", single_4[1]),
            ],
            "16 web clients, without and with 4 FTP clients.",
        ),
        Statement {
            id: "gurkan.one-ftp-ninety-percent",
            place: "section 4.7",
            text: "only one of the FTP clients alone can utilize the link by almost 90%",
        }
        .tested(
            (75.0..=95.0).contains(&ftp),
            &[("ftp_goodput_pct", ftp)],
            "The FTP client's goodput beside 8 serial web clients, without headers.",
        ),
    ])
}
