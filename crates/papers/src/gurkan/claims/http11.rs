//! Sections 4.5 to 4.7: one connection for a page.

use super::{WINDOW, by_rates, drops, everywhere, gain, load, printed, tally};
use crate::{
    ReproduceError,
    claim::{Claim, Statement},
    gurkan::{
        plan::{Load, Plan},
        sweep::{Quantity, Sweep},
    },
    verdict::{Source::Ours, Test, cases, measured},
};

pub(super) fn claims(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = pipelined(sweep)?;
    claims.push(fewer_connections(sweep)?);
    claims.extend(segment_filled(sweep)?);
    claims.extend(compared(sweep)?);
    claims.extend(approached(sweep)?);
    Ok(claims)
}

/// The lowest rate of a plan over all loads.
fn lowest(sweep: &Sweep, plan: Plan, rate: Quantity) -> Result<f64, ReproduceError> {
    let rates = Load::all().map(|load| sweep.mean(plan, load, rate));
    Ok(rates.collect::<Result<Vec<_>, _>>()?.into_iter().fold(f64::MAX, f64::min))
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn pipelined(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let faster = |one, other, rate, load| {
        Ok::<_, ReproduceError>(sweep.mean(one, load, rate)? > sweep.mean(other, load, rate)?)
    };
    let over_serial = by_rates(|rate| {
        let is_so = |load| faster(Plan::Pipelined, Plan::Serial, rate, load);
        Ok(vec![everywhere("rows_faster", Load::all(), is_so)?])
    })?;
    let over_parallel = by_rates(|rate| {
        let (mut so, mut of) = (0, 0);
        for load in Load::all() {
            if faster(Plan::Parallel, Plan::Serial, rate, load)? {
                of += 1;
                so += u32::from(faster(Plan::Pipelined, Plan::Parallel, rate, load)?);
            }
        }
        Ok(vec![cases("rows_faster", so, of).every()])
    })?;
    let least = by_rates(|rate| {
        Ok(vec![
            measured("lowest_rate", lowest(sweep, Plan::Pipelined, rate)?)
                .near_printed("gurkan.pipelined-lowest", 350.0, "to 10 %")
                .control("parallel", lowest(sweep, Plan::Parallel, rate)?),
            measured("lowest_rate", lowest(sweep, Plan::Pipelined, rate)?)
                .above_run("lowest_rate_of_parallel", lowest(sweep, Plan::Parallel, rate)?),
        ])
    })?;
    let more =
        |load| Ok(drops(sweep, Plan::Pipelined, load)? > drops(sweep, Plan::Parallel, load)?);
    let more_as_printed =
        printed::rows_above("printed_rows_with_more_drops", Load::all(), |load| {
            Ok([printed::drops(Plan::Pipelined, load)?, printed::drops(Plan::Parallel, load)?])
        })?;
    let mut won_as_printed = Vec::new();
    for load in Load::all() {
        if printed::rate(Plan::Parallel, load)? > printed::rate(Plan::Serial, load)? {
            won_as_printed.push(load);
        }
    }
    Ok(vec![
        Statement {
            id: "gurkan.pipelined-beats-serial",
            place: "section 4.5.1",
            text: "Pipelined transfer resulted in better performance than HTTP/1.0 serial \
                   connection, because the restart of TCP connections is avoided by this \
                   modification",
        }
        .judged_by_rates(
            over_serial,
            "All loads of the tables. Serial also wins at 64/0 to 64/2 in the printed tables.",
        )
        .and_as_printed(faster_as_printed(Load::all(), Plan::Pipelined, Plan::Serial)?),
        Statement {
            id: "gurkan.pipelined-beats-parallel",
            place: "section 4.5.1",
            text: "Pipelined transfer is slightly better than the parallel connection HTTP/1.0 for \
                   the cases where parallel connection was more successful than serial connection",
        }
        .judged_by_rates(
            over_parallel,
            "The loads at which parallel beats serial. Among them parallel beats pipelined at 8/0, \
             8/1 and 16/0 in the printed tables, by 0.5 to 3 %.",
        )
        .and_as_printed(faster_as_printed(
            won_as_printed,
            Plan::Pipelined,
            Plan::Parallel,
        )?),
        Statement {
            id: "gurkan.pipelined-drops-more",
            place: "section 4.5.1",
            text: "The drop rates are worse than parallel connection case",
        }
        .judged(
            [everywhere("rows_with_more_drops", Load::all(), more)?],
            "All loads of the tables; a tie, as where neither drops, is not worse.",
        )
        .and_as_printed(more_as_printed.every()),
        Statement {
            id: "gurkan.pipelined-lowest",
            place: "section 4.5.1",
            text: "The lowest web page retrieval rate is increased to 3.5 kbytes/sec",
        }
        .judged_by_rates(
            least,
            "Over all loads, against the lowest of parallel: by the mean it fell.",
        ),
    ])
}

/// At how many of `loads` the tables have one plan faster than the other.
fn faster_as_printed(
    loads: impl IntoIterator<Item = Load>,
    plan: Plan,
    than: Plan,
) -> Result<Test, ReproduceError> {
    let rates = |load| Ok([printed::rate(plan, load)?, printed::rate(than, load)?]);
    Ok(printed::rows_above("printed_rows_faster", loads, rates)?.every())
}

fn fewer_connections(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let opened = |plan| sweep.mean(plan, load(8, 0), Quantity::Connections);
    Ok(Statement {
        id: "gurkan.fewer-connections",
        place: "section 4.5.1",
        text: "pipelining requires only one connection although parallel connection requires 4 \
               connections for a document with 3 inlines",
    }
    .untested(
        "That is what the two plans are, so no run could refute it. Those of pages that the end of \
         the run cuts off are counted.",
    )
    .showing(&[
        ("parallel_per_page", opened(Plan::Parallel)?),
        ("pipelined_per_page", opened(Plan::Pipelined)?),
    ]))
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn segment_filled(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let both = [Plan::SegmentFilled, Plan::Pipelined];
    let filled = |load| {
        let of = |plan| sweep.mean(plan, load, Quantity::Filled);
        Ok(of(Plan::SegmentFilled)? > of(Plan::Pipelined)?)
    };
    let crowded = || Load::all().filter(|load| load.web == 64);
    let severer = |here: Load| {
        let of = |plan, load| drops(sweep, plan, load);
        let fewer = load(32, here.ftp);
        Ok(of(Plan::SegmentFilled, here)? > of(Plan::Pipelined, here)?
            && of(Plan::SegmentFilled, here)? > of(Plan::SegmentFilled, fewer)?)
    };
    let severer_as_printed = printed::rows_above("printed_rows_severer", crowded(), |here| {
        let fewer = printed::drops(Plan::SegmentFilled, load(32, here.ftp))?;
        let others = printed::drops(Plan::Pipelined, here)?.max(fewer);
        Ok([printed::drops(Plan::SegmentFilled, here)?, others])
    })?;
    let kilobytes = by_rates(|rate| {
        Ok(vec![
            measured("rate_8_0", sweep.mean(Plan::SegmentFilled, load(8, 0), rate)?)
                .near_printed("gurkan.filled-21-kb", 2_100.0, "to 10 %")
                .control("pipelined", sweep.mean(Plan::Pipelined, load(8, 0), rate)?),
        ])
    })?;
    let alone = by_rates(|rate| {
        let at = |load| gain(sweep, both, load, rate);
        let mut tests = Vec::new();
        for (web, quiet, crowded) in [
            (16, "gain_alone_pct_16", "gain_with_ftp_pct_16"),
            (32, "gain_alone_pct_32", "gain_with_ftp_pct_32"),
        ] {
            let with = (1..=4).map(|ftp| at(load(web, ftp)));
            let with = with.collect::<Result<Vec<_>, _>>()?;
            let most = with.into_iter().fold(f64::MIN, f64::max);
            let little = Ours("resembles: 10 % or less at any number of FTP clients");
            tests.push(
                measured(quiet, at(load(web, 0))?)
                    .above(15.0, Ours("much better: the thesis' Figure 4.9 has 19 %"))
                    .control("64 web clients", at(load(64, 0))?),
            );
            tests.push(
                measured(crowded, most).below(10.0, little).control("alone", at(load(web, 0))?),
            );
        }
        Ok(tests)
    })?;
    Ok(vec![
        Statement {
            id: "gurkan.filled-21-kb",
            place: "section 4.6.1",
            text: "Segment filled pipelining increased the effective web page retrieval rate of \
                   8-web-clients to approximately 21 kbytes/sec",
        }
        .judged_by_rates(
            kilobytes,
            "The sizes of segment-filled pages are read off Tables 4.5 and 4.7, not fitted to \
             rates.",
        ),
        Statement {
            id: "gurkan.filled-more-full-segments",
            place: "section 4.6.1",
            text: "During these simulations, more filled segments of TCP are transmitted through \
                   the congested link than the true pipelined case",
        }
        .judged(
            [everywhere("rows_with_more_full_segments", Load::all(), filled)?],
            "The share of full segments among those with data, FTP's included, at all loads.",
        ),
        Statement {
            id: "gurkan.filled-drops-more",
            place: "section 4.6.1",
            text: "Hence, the congestion effects become severer as the number of web clients is \
                   increased to 64",
        }
        .judged(
            [everywhere("rows_severer", crowded(), severer)?],
            "Drop rates at 64 clients: above pipelined's, and above segment-filled's at 32.",
        )
        .and_as_printed(severer_as_printed.every()),
        Statement {
            id: "gurkan.filled-much-better-alone",
            place: "section 4.7",
            text: "The segment filled pipelining has much better performance than the pipelined \
                   transmission when there is no background traffic ... but with a background \
                   traffic like the case in our study, the segment filled pipelining resembles \
                   true pipelining",
        }
        .judged_by_rates(
            alone,
            "16 and 32 web clients, the section's Figures 4.8 and 4.9. Its pages take two exchanges \
             instead of four, and padding counts as bytes. In the printed tables its gain is 45 % \
             alone at 16 clients and 3 to 20 % with FTP clients, at 32 clients 19 % and up to 25 %.",
        ),
    ])
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn compared(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let outperform = |rate, load| {
        let of = |plan| sweep.mean(plan, load, rate);
        let persistent = of(Plan::Pipelined)?.min(of(Plan::SegmentFilled)?);
        Ok::<_, ReproduceError>(persistent > of(Plan::Serial)?.max(of(Plan::Parallel)?))
    };
    let shown = || Load::all().filter(|load| [16, 32].contains(&load.web));
    let everywhere_faster = by_rates(|rate| {
        Ok(vec![everywhere("rows_faster", Load::all(), |load| outperform(rate, load))?])
    })?;
    let shown_faster = by_rates(|rate| {
        Ok(vec![everywhere("rows_faster", shown(), |load| outperform(rate, load))?])
    })?;
    let little_better = by_rates(|rate| {
        let (at_16, of) = parallel_wins(sweep, 16, rate)?;
        let (at_32, _) = parallel_wins(sweep, 32, rate)?;
        Ok(vec![
            cases("rows_faster_at_16", at_16, of).every(),
            measured("rows_faster_at_32", f64::from(at_32))
                .below(of.into(), Ours("not the case: slower somewhere"))
                .control("16 web clients", f64::from(at_16)),
        ])
    })?;
    let ftp = sweep.mean(Plan::Serial, load(8, 1), Quantity::Ftp)? * 8.0 / 1.5e6 * 100.0;
    Ok(vec![
        Statement {
            id: "gurkan.persistent-performs-better",
            place: "abstract",
            text: "For the traffic conditions used in the simulations, segment-filled and pipelined \
                   connections performed better in terms of effective web page retrieval rate",
        }
        .judged_by_rates(
            everywhere_faster,
            "Both better than serial and parallel, all loads. In the printed tables parallel beats \
             pipelined at 8/0, 8/1 and 16/0, and serial beats all at 64/0 to 64/2.",
        )
        .and_as_printed(outperform_as_printed(Load::all())?),
        Statement {
            id: "gurkan.persistent-outperforms",
            place: "section 4.7, Figures 4.8 and 4.9",
            text: "Both pipelined methods outperformed the parallel and serial connection HTTP/1.0",
        }
        .judged_by_rates(
            shown_faster,
            "16 and 32 web clients; in the printed tables parallel beats pipelined at 16/0, by 3 %.",
        )
        .and_as_printed(outperform_as_printed(shown())?),
        Statement {
            id: "gurkan.parallel-beats-serial-at-16",
            place: "section 4.7",
            text: "Parallel connection HTTP/1.0 has little better web page retrieval rate in the \
                   16-web-clients case ... than serial connection HTTP/1.0 ... In the \
                   32-web-clients simulation this is not the case",
        }
        .judged_by_rates(
            little_better,
            "Of five numbers of FTP clients; five and two in the printed tables.",
        ),
        Statement {
            id: "gurkan.one-ftp-ninety-percent",
            place: "section 4.7",
            text: "only one of the FTP clients alone can utilize the link by almost 90%",
        }
        .fitted(
            WINDOW,
            "With it the FTP client's goodput beside 8 serial web clients is 81 % of the link, and \
             83 % with headers.",
        )
        .showing(&[("ftp_goodput_pct", ftp)]),
    ])
}

/// At how many of `loads` the tables have both persistent plans faster than the two others.
fn outperform_as_printed(loads: impl Iterator<Item = Load>) -> Result<Test, ReproduceError> {
    let rates = |load| {
        let of = |plan| printed::rate(plan, load);
        let persistent = of(Plan::Pipelined)?.min(of(Plan::SegmentFilled)?);
        Ok([persistent, of(Plan::Serial)?.max(of(Plan::Parallel)?)])
    };
    Ok(printed::rows_above("printed_rows_faster", loads, rates)?.every())
}

/// At how many numbers of FTP clients parallel beats serial, and how many there are.
fn parallel_wins(sweep: &Sweep, web: u32, rate: Quantity) -> Result<(u32, u32), ReproduceError> {
    tally((0..=4).map(move |ftp| load(web, ftp)), |load| {
        Ok(sweep.mean(Plan::Parallel, load, rate)? > sweep.mean(Plan::Serial, load, rate)?)
    })
}

fn approached(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let tests = by_rates(|rate| {
        let mut tests = Vec::new();
        for (name, plans) in [
            ("rows_filled_nearer_pipelined", [Plan::SegmentFilled, Plan::Pipelined]),
            ("rows_parallel_nearer_serial", [Plan::Parallel, Plan::Serial]),
        ] {
            let crowded = [16, 32].into_iter().flat_map(|web| [3, 4].map(|ftp| load(web, ftp)));
            let nearer = |here: Load| {
                let apart = |load| Ok::<_, ReproduceError>(gain(sweep, plans, load, rate)?.abs());
                Ok(apart(here)? < apart(load(here.web, 0))?)
            };
            tests.push(everywhere(name, crowded, nearer)?);
        }
        Ok(tests)
    })?;
    let at = |plans, ftp, rate| gain(sweep, plans, load(16, ftp), rate);
    let [sum, mean] = super::RATES;
    let (persistent, single) =
        ([Plan::SegmentFilled, Plan::Pipelined], [Plan::Parallel, Plan::Serial]);
    Ok(vec![
        Statement {
            id: "gurkan.approach-each-other",
            place: "section 4.7",
            text: "For the case of 3 or 4-FTP-clients, segment filled and pipelined methods \
                   approach each other. For the same cases, parallel and serial connection \
                   performances also approach each other",
        }
        .judged_by_rates(
            tests,
            "16 and 32 web clients with 3 and 4 FTP clients: nearer than without FTP clients, in \
             percent of the slower method.",
        )
        .showing(&[
            ("filled_over_pipelined_16_0_pct_by_sum", at(persistent, 0, sum)?),
            ("filled_over_pipelined_16_4_pct_by_sum", at(persistent, 4, sum)?),
            ("parallel_over_serial_16_0_pct_by_sum", at(single, 0, sum)?),
            ("parallel_over_serial_16_4_pct_by_sum", at(single, 4, sum)?),
            ("filled_over_pipelined_16_0_pct_by_mean", at(persistent, 0, mean)?),
            ("filled_over_pipelined_16_4_pct_by_mean", at(persistent, 4, mean)?),
            ("parallel_over_serial_16_0_pct_by_mean", at(single, 0, mean)?),
            ("parallel_over_serial_16_4_pct_by_mean", at(single, 4, mean)?),
        ]),
    ])
}
