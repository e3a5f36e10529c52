//! Chapter 5 and Figure 4.6: what the thesis proposes and does not run.

use super::{Count, count, load};
use crate::reproduce::{
    ReproduceError,
    claim::{Claim, Statement},
    gurkan::{
        plan::{Load, Plan},
        sweep::{Quantity, Sweep},
    },
};

pub(super) fn claims(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    Ok(vec![get_web(sweep)?, shared_segments(sweep)?, truly_pipelined(sweep)?, caches()])
}

/// Loads at which one plan is faster than another.
fn faster(sweep: &Sweep, one: Plan, other: Plan) -> Result<Count, ReproduceError> {
    count(Load::judged(), |quantity, load| {
        Ok(sweep.mean(one, load, quantity)? > sweep.mean(other, load, quantity)?)
    })
}

fn get_web(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let better = faster(sweep, Plan::GetWeb, Plan::SegmentFilled)?;
    let light = |plan| sweep.mean(plan, load(8, 0), Quantity::RateMean);
    let [mean, sum, of] = better.numbers();
    Ok(Statement {
        id: "gurkan.get-web",
        place: "chapter 5",
        text: "There can be a method called GETWEB ... And TCP will work efficiently throughout \
               the transmission",
    }
    .tested(
        better.is_all(),
        &[
            mean,
            sum,
            of,
            ("get_web_8_0", light(Plan::GetWeb)?),
            ("segment_filled_8_0", light(Plan::SegmentFilled)?),
        ],
        "Against segment-filled, 12 loads. Parsing takes no time here.",
    ))
}

fn shared_segments(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let light = load(8, 0);
    let value = |plan, quantity| sweep.mean(plan, light, quantity);
    let each = value(Plan::TruePipelined, Quantity::RateMean)?;
    let nagle = value(Plan::SharedByNagle, Quantity::RateMean)?;
    let writer = value(Plan::SharedByWriter, Quantity::RateMean)?;
    Ok(Statement {
        id: "gurkan.shared-segments",
        place: "section 4.6, Figure 4.6",
        text: "TCP can be configured such that it can wait for its window to be filled until some \
               timeout ... This was implemented with the Nagle algorithm",
    }
    .tested(
        nagle > each,
        &[
            ("pipelined_rate", each),
            ("shared_by_nagle_rate", nagle),
            ("shared_by_writer_rate", writer),
            ("pipelined_filled_pct", value(Plan::TruePipelined, Quantity::Filled)?),
            ("shared_by_nagle_filled_pct", value(Plan::SharedByNagle, Quantity::Filled)?),
            ("shared_by_writer_filled_pct", value(Plan::SharedByWriter, Quantity::Filled)?),
        ],
        "8 web clients alone, all inlines requested at once. Segments are fuller, but data held \
         in TCP waits a round trip, and a page whose last segment is short loses that time.",
    ))
}

fn truly_pipelined(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let better = faster(sweep, Plan::TruePipelined, Plan::Pipelined)?;
    let light = |plan| sweep.mean(plan, load(8, 0), Quantity::RateMean);
    let [mean, sum, of] = better.numbers();
    Ok(Statement {
        id: "gurkan.all-at-once",
        place: "chapter 5",
        text: "Retrieving the files of the web document all at once and retrieving them through \
               the same connection gave favorable results for the pipelining",
    }
    .tested(
        better.is_all(),
        &[
            mean,
            sum,
            of,
            ("all_at_once_8_0", light(Plan::TruePipelined)?),
            ("one_by_one_8_0", light(Plan::Pipelined)?),
        ],
        "The thesis' pipelined transfer requests one file at a time (Table 4.5); this compares it \
         with requesting all inlines at once, 12 loads.",
    ))
}

fn caches() -> Claim {
    Statement {
        id: "gurkan.get-web-caches",
        place: "chapter 5",
        text: "One drawback of this new method may arise in cache processing on the client side",
    }
    .untested(
        "get-web has a parameter for what is cached (`cached`, `parse`); the thesis gives no \
         shares to test it with.",
    )
}
