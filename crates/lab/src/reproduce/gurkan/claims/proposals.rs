//! Chapter 5 and Figure 4.6: what the thesis proposes and does not run.

use super::{by_rates, everywhere, load};
use crate::reproduce::{
    ReproduceError,
    claim::{Claim, Statement},
    gurkan::{
        Runs,
        plan::{Load, Plan},
        sweep::{Quantity, Sweep},
    },
    verdict::{Source::Ours, measured},
};

pub(super) fn claims(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    Ok(vec![get_web(sweep)?, shared_segments(sweep)?, all_at_once(sweep)?])
}

fn get_web(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let fuller = |load| {
        let of = |plan| sweep.mean(plan, load, Quantity::Filled);
        Ok(of(Plan::GetWeb)? > of(Plan::Pipelined)?)
    };
    let light = |plan, quantity| sweep.mean(plan, load(8, 0), quantity);
    Ok(Statement {
        id: "gurkan.get-web",
        place: "chapter 5",
        text: "There can be a method called GETWEB ... This will enable the TCP regard the packet \
               as one file and it will send it as in FTP transmission strategy. And TCP will work \
               efficiently throughout the transmission",
    }
    .judged(
        [everywhere("rows_with_more_full_segments", Load::judged(), fuller)?],
        "Efficiently as the thesis uses the word: segments are full. The share of full segments \
         against pipelined's, 12 loads. Parsing takes no time here.",
    )
    .showing(&[
        ("get_web_8_0_filled_pct", light(Plan::GetWeb, Quantity::Filled)?),
        ("pipelined_8_0_filled_pct", light(Plan::Pipelined, Quantity::Filled)?),
        ("get_web_8_0_rate_sum", light(Plan::GetWeb, Quantity::RateSum)?),
        ("pipelined_8_0_rate_sum", light(Plan::Pipelined, Quantity::RateSum)?),
        ("get_web_8_0_rate_mean", light(Plan::GetWeb, Quantity::RateMean)?),
        ("pipelined_8_0_rate_mean", light(Plan::Pipelined, Quantity::RateMean)?),
    ]))
}

fn shared_segments(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let fuller = |load| {
        let of = |plan| sweep.mean(plan, load, Quantity::Filled);
        Ok(of(Plan::SharedByNagle)? > of(Plan::TruePipelined)?)
    };
    let value = |plan, quantity| sweep.mean(plan, load(8, 0), quantity);
    let rate = |plan| value(plan, Quantity::RateSum);
    let mean = |plan| value(plan, Quantity::RateMean);
    Ok(Statement {
        id: "gurkan.shared-segments",
        place: "section 4.6, Figure 4.6",
        text: "TCP can be configured such that it can wait for its window to be filled until some \
               timeout, before continuing with the transmission. This was implemented with the \
               Nagle algorithm",
    }
    .judged(
        [everywhere("rows_with_more_full_segments", Load::judged(), fuller)?],
        "The share of full segments with Nagle's algorithm against without it, all inlines \
         requested at once, 12 loads. It waits for an ACK, not for a timeout; and what it keeps \
         back costs a round trip, so that pages are slower (the rates are at 8/0).",
    )
    .showing(&[
        ("pipelined_rate_sum", rate(Plan::TruePipelined)?),
        ("shared_by_nagle_rate_sum", rate(Plan::SharedByNagle)?),
        ("shared_by_writer_rate_sum", rate(Plan::SharedByWriter)?),
        ("pipelined_rate_mean", mean(Plan::TruePipelined)?),
        ("shared_by_nagle_rate_mean", mean(Plan::SharedByNagle)?),
        ("shared_by_writer_rate_mean", mean(Plan::SharedByWriter)?),
        ("pipelined_filled_pct", value(Plan::TruePipelined, Quantity::Filled)?),
        ("shared_by_nagle_filled_pct", value(Plan::SharedByNagle, Quantity::Filled)?),
        ("shared_by_writer_filled_pct", value(Plan::SharedByWriter, Quantity::Filled)?),
    ]))
}

fn all_at_once(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let tests = by_rates(|rate| {
        let favorable = |load| {
            let of = |plan| sweep.mean(plan, load, rate);
            Ok(of(Plan::TruePipelined)? > of(Plan::Serial)?.max(of(Plan::Parallel)?))
        };
        Ok(vec![everywhere("rows_faster", Load::judged(), favorable)?])
    })?;
    let one_by_one = |rate| sweep.mean(Plan::Pipelined, load(8, 0), rate);
    let together = |rate| sweep.mean(Plan::TruePipelined, load(8, 0), rate);
    Ok(Statement {
        id: "gurkan.all-at-once",
        place: "chapter 5",
        text: "it is interesting that it is also better than the parallel connection case. \
               Retrieving the files of the web document all at once and retrieving them through \
               the same connection gave favorable results for the pipelining",
    }
    .judged_by_rates(
        tests,
        "All inlines requested at once on one connection, against serial and parallel, 12 loads. \
         The thesis' own pipelined transfer requests one file at a time (Table 4.5).",
    )
    .showing(&[
        ("all_at_once_8_0_by_sum", together(Quantity::RateSum)?),
        ("one_by_one_8_0_by_sum", one_by_one(Quantity::RateSum)?),
        ("all_at_once_8_0_by_mean", together(Quantity::RateMean)?),
        ("one_by_one_8_0_by_mean", one_by_one(Quantity::RateMean)?),
    ]))
}

pub(super) fn caches(runs: &Runs) -> Result<Claim, ReproduceError> {
    let ms = |sweep: &Sweep, plan| sweep.mean(plan, load(8, 0), Quantity::PageMs);
    let [half, most] = &runs.cached;
    let everything = ms(&runs.base.usual, Plan::GetWeb)?;
    // GETWEB for everything against pipelined requests for what is not cached.
    let ratio = |sweep| Ok::<_, ReproduceError>(everything / ms(sweep, Plan::Pipelined)?);
    Ok(Statement {
        id: "gurkan.get-web-caches",
        place: "chapter 5",
        text: "One drawback of this new method may arise in cache processing on the client side. \
               The files in the cache should not be transmitted repeatedly. Hence, the client \
               should send the GETWEB command in an appropriate manner such that it will retrieve \
               only the files that are not in the cache of the user",
    }
    .judged(
        [
            measured("time_ratio_75_pct_cached", ratio(most)?)
                .above(1.0, Ours("a drawback: slower than pipelined requests"))
                .control("nothing is cached", ratio(&runs.base.usual)?),
            measured("page_ms_naming_what_is_cached", ms(most, Plan::GetWeb)?)
                .below_run("page_ms_of_everything", everything),
        ],
        "8 web clients alone, of whose files a share is in the client's cache (our choice: 50 and \
         75 %; the thesis gives none). GETWEB for all files against pipelined requests for those \
         that are not cached; and GETWEB that names what is cached. Finding a page's files takes the \
         server no time.",
    )
    .showing(&[
        ("time_ratio_50_pct_cached", ratio(half)?),
        ("pipelined_ms_75_pct_cached", ms(most, Plan::Pipelined)?),
        ("pipelined_ms_nothing_cached", ms(&runs.base.usual, Plan::Pipelined)?),
    ]))
}
