//! Chapter 5 and Figure 4.6: what the thesis proposes and does not run.

use super::{by_rates, everywhere, load};
use crate::{
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

/// What client caches do (section 2.3.1), and what GETWEB does without knowing of them.
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
pub(super) fn caches(runs: &Runs) -> Result<[Claim; 2], ReproduceError> {
    let ms = |sweep: &Sweep, plan| sweep.mean(plan, load(8, 0), Quantity::PageMs);
    let (cached, usual) = (&runs.cached, &runs.base.usual);
    let everything = ms(usual, Plan::GetWeb)?;
    // GETWEB for everything against pipelined requests for what is not cached.
    let ratio = |sweep| Ok::<_, ReproduceError>(everything / ms(sweep, Plan::Pipelined)?);
    let faster = |name: &str, sweep, plan| -> Result<_, ReproduceError> {
        Ok(measured(name, ms(sweep, plan)?)
            .below(0.95 * ms(usual, plan)?, Ours("fast: by more than 5 %"))
            .control("nothing is cached", ms(usual, plan)?))
    };
    let fast = Statement {
        id: "gurkan.client-caches",
        place: "section 2.3.1",
        text: "Caching at the client side gives the opportunity of fast retrieval of previously \
               retrieved files. The client side copies all web documents into the local directory of \
               the user. The file is retrieved from that local copy if it is not modified by the server \
               side until that next retrieval",
    }
    .judged(
        [
            faster("pipelined_ms_75_pct_validated", &cached.most_validated, Plan::Pipelined)?,
            faster("serial_ms_75_pct_validated", &cached.most_validated, Plan::Serial)?,
        ],
        "8 web clients alone; three quarters of the files are in the cache and not modified, which the \
         client asks about each: by a conditional request of the same size, answered by 200 bytes without \
         a body (our choice: the thesis does not say how it learns it). Retrieval time of a page. What is \
         used without asking takes no time at all.",
    )
    .showing(&[
        ("pipelined_ms_75_pct_not_validated", ms(&cached.most, Plan::Pipelined)?),
        ("pipelined_ms_100_pct_validated", ms(&cached.all_validated, Plan::Pipelined)?),
        ("serial_ms_75_pct_not_validated", ms(&cached.most, Plan::Serial)?),
    ]);
    let drawback = Statement {
        id: "gurkan.get-web-caches",
        place: "chapter 5",
        text: "One drawback of this new method may arise in cache processing on the client side. The \
               files in the cache should not be transmitted repeatedly. Hence, the client should send the \
               GETWEB command in an appropriate manner such that it will retrieve only the files that are \
               not in the cache of the user",
    }
    .judged(
        [
            measured("time_ratio_75_pct_cached", ratio(&cached.most)?)
                .above(1.0, Ours("a drawback: slower than pipelined requests"))
                .control("nothing is cached", ratio(usual)?),
            measured("page_ms_naming_what_is_cached", ms(&cached.most_validated, Plan::GetWeb)?)
                .below_run("page_ms_of_everything", everything),
        ],
        "\"May arise\": it does where copies are used without asking. 8 web clients alone, of whose files \
         a share is in the cache (our choice: 50 and 75 %; the thesis gives none). GETWEB for all files \
         against pipelined requests for those that are not cached; and GETWEB that names what is cached, \
         which validates all copies in its one round trip. Where each copy is validated by a request of \
         its own (time_ratio_75_pct_validated), a round trip for each costs more than sending everything \
         again: then there is no drawback. Finding a page's files takes the server no time.",
    )
    .showing(&[
        ("time_ratio_50_pct_cached", ratio(&cached.half)?),
        ("time_ratio_75_pct_validated", ratio(&cached.most_validated)?),
        ("pipelined_ms_75_pct_cached", ms(&cached.most, Plan::Pipelined)?),
        ("pipelined_ms_75_pct_validated", ms(&cached.most_validated, Plan::Pipelined)?),
        ("pipelined_ms_nothing_cached", ms(usual, Plan::Pipelined)?),
    ]);
    Ok([fast, drawback])
}

/// What the thesis cites of T/TCP.
pub(super) fn transactions(runs: &Runs) -> Result<Claim, ReproduceError> {
    let gain = |rate| -> Result<f64, ReproduceError> {
        let [t_tcp, serial] = [&runs.transactions, &runs.base.usual]
            .map(|sweep: &Sweep| sweep.mean(Plan::Serial, load(8, 0), rate));
        Ok((t_tcp? / serial? - 1.0) * 100.0)
    };
    Ok(Statement {
        id: "gurkan.t-tcp-performs-better",
        place: "section 3.2.1",
        text: "The TCP-HTTP interaction is investigated with experiments further in [17]. As a result, \
               transaction TCP (T/TCP) and pipelined connection HTTP performed better",
    }
    .untested(
        "The thesis reports what Touch, Heidemann and Obraczka found on other networks. The numbers are of \
         its own network, 8 web clients alone: serial transfer over T/TCP, which sends the request with \
         the SYN to a server that it knows, against serial transfer.",
    )
    .showing(&[
        ("t_tcp_gain_8_0_pct_by_sum", gain(Quantity::RateSum)?),
        ("t_tcp_gain_8_0_pct_by_mean", gain(Quantity::RateMean)?),
    ]))
}

/// What a connection for each file costs in round trips, and a transaction in segments.
pub(super) fn overhead(runs: &Runs) -> Result<[Claim; 2], ReproduceError> {
    let saved = |plan| -> Result<f64, ReproduceError> {
        let ms = |sweep: &Sweep| sweep.mean(plan, load(8, 0), Quantity::PageMs);
        Ok((ms(&runs.base.usual)? - ms(&runs.transactions)?) / ROUND_TRIP_MS)
    };
    let [serial, pipelined] = [saved(Plan::Serial)?, saved(Plan::Pipelined)?];
    let trips = Statement {
        id: "gurkan.three-round-trips",
        place: "section 2.1, Figure 2.2",
        text: "The three-way handshake connection opening is iterated for each inline after retrieval \
               of the primary file ... There will be 3 round trip time delays added to the retrieval of \
               the document",
    }
    .judged(
        [measured("round_trips_for_inlines", serial - pipelined)
            .near_printed("gurkan.three-round-trips", 0.3, "to 0.3")
            .control("for the primary", pipelined)],
        "What T/TCP saves a page of three inlines with serial transfer, less what it saves with pipelined \
         transfer, which has one connection: 8 web clients alone, in round trips of 109.6 ms, the mean of \
         the thesis' delays.",
    );
    let segments = |open, ack| runs.transaction.segments(open, ack);
    let every = segments("handshake", "every segment")?;
    let ten = Statement {
        id: "gurkan.ten-segments",
        place: "section 3.2.1",
        text: "TCP implementations use at least 10 segments for this sequence in a transaction. These \
               are: 3 segments for 3-way handshake opening the connection, 4 segments to send and \
               acknowledge the request and response data, 3 segments for TCP's full-duplex close sequence",
    }
    .judged(
        [
            measured("segments_every_one_acknowledged", every)
                .above_printed("gurkan.ten-segments", -0.5)
                .control("T/TCP", segments("transaction", "every segment")?),
            measured("segments_bsd", segments("handshake", "bsd")?)
                .above_printed("gurkan.ten-segments", -0.5)
                .control("T/TCP", segments("transaction", "bsd")?),
        ],
        "A request of 210 bytes, a response of 1000. \"At least\": also where ACKs wait for something to \
         travel with, as they do in BSD's TCPs. The FIN of a server that closes travels with its response.",
    );
    Ok([trips, ten])
}

/// Twice the bottleneck's 50 ms, the clients' 1 to 4 ms and the servers' 0.1, 2, 3 and 4 ms, the mean.
const ROUND_TRIP_MS: f64 = 2.0 * (50.0 + 2.5 + 2.275);
