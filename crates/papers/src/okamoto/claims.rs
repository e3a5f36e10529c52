//! What the paper says in words.
//!
//! A sentence about an ordering holds if the interval of the ratios says so; a tie does not. "Little" is
//! within 5 %, "significantly" and "much" a factor of 1.5 ([`MUCH`]): ours, for the paper's words have no
//! numbers.

use super::{
    Runs,
    figures::share,
    ratio::{MUCH, Place},
    sweep::{CLIENTS, Run, Sweep},
};
use crate::{
    ReproduceError,
    claim::{Claim, Statement},
    interval::{Interval, LITTLE, Lies},
    verdict::{Source::Ours, Test, cases, measured},
};

/// All claims.
pub(super) fn all(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let sweep = &runs.sweep;
    let mut claims = figure_4(sweep)?;
    claims.extend(figure_5(sweep)?);
    claims.extend(explanations(runs)?);
    Ok(claims)
}

/// A ratio that must have been computed.
fn known(ratio: Option<Interval>, what: &str) -> Result<Interval, ReproduceError> {
    ratio.ok_or_else(|| ReproduceError::NoCase { case: what.to_owned() })
}

/// What one place gives for each that another gives.
type Ratio = fn(&Sweep, Place<'_>, Place<'_>) -> Result<Interval, ReproduceError>;

fn bytes(sweep: &Sweep, one: Place<'_>, other: Place<'_>) -> Result<Interval, ReproduceError> {
    known(sweep.bytes(one, other), &format!("{one:?} / {other:?}"))
}

fn times(sweep: &Sweep, one: Place<'_>, other: Place<'_>) -> Result<Interval, ReproduceError> {
    known(sweep.times(one, other), &format!("{one:?} / {other:?}"))
}

/// A test for each number of clients.
fn at_all(
    sweep: &Sweep,
    (one, other): (&str, &str),
    ratio: Ratio,
    test: impl Fn(String, Interval) -> Test,
) -> Result<Vec<Test>, ReproduceError> {
    let at = |clients| {
        let it = ratio(sweep, (clients, one), (clients, other))?;
        Ok(test(format!("ratio_{one}_{other}_{clients}"), it))
    };
    CLIENTS.into_iter().map(at).collect()
}

const SIGNIFICANTLY: &str = "significantly: 1.5 times";

fn figure_4(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let gain = |clients, one, other| bytes(sweep, (clients, one), (clients, other));
    let [few_3, many_3] = [gain(50, "3", "2")?, gain(500, "3", "2")?];
    let [few_4, many_4] = [gain(50, "4", "3")?, gain(500, "4", "3")?];
    let shown = |one: &'static str, other: &'static str| {
        let of = |clients| Ok::<_, ReproduceError>(gain(clients, one, other)?.mean);
        Ok::<_, ReproduceError>([of(100)?, of(200)?])
    };
    let [at_100, at_200] = shown("3", "2")?;
    let significantly = SCHEME_3.judged(
        [
            measured("ratio_3_2_500", many_3)
                .above(MUCH, Ours(SIGNIFICANTLY))
                .control("50 clients", few_3),
            measured("ratio_3_2_500", many_3).above_run("ratio_3_2_50_high", few_3.high),
        ],
        "Bytes in both directions. At 50 clients the limit is not reached.",
    );
    let significantly =
        significantly.showing(&[("ratio_3_2_100", at_100), ("ratio_3_2_200", at_200)]);
    let [at_100, at_200] = shown("4", "3")?;
    let few = SCHEME_4.judged(
        [
            measured("ratio_4_3_50", few_4).more_than("scheme 3"),
            measured("ratio_4_3_50", few_4).above_run("ratio_4_3_500_high", many_4.high),
        ],
        "At 50 clients our pool is not short, so buffers that idle connections give back are not \
         needed: see okamoto2001_gains_at_50. The gain that there is, is at 100 clients.",
    );
    let few = few.showing(&[("ratio_4_3_100", at_100), ("ratio_4_3_200", at_200)]);
    let many = SCHEME_4_MANY.judged(
        [measured("ratio_4_3_500", many_4).little().control("50 clients", few_4)],
        "The sentence contrasts many clients with few, at which the paper's scheme 4 gains. Ours gains \
         as little at few, so a scheme that does nothing would pass as well.",
    );
    Ok(vec![
        falls(sweep, "1", FALLS_1)?,
        better(sweep)?,
        falls(sweep, "2", FALLS_2)?,
        significantly,
        few,
        many,
    ])
}

/// "Decreased": from 200 to 500 clients, while scheme 3, the control, does not.
fn falls(sweep: &Sweep, scheme: &str, statement: Statement) -> Result<Claim, ReproduceError> {
    let fall = |scheme| bytes(sweep, (500, scheme), (200, scheme));
    Ok(statement.judged(
        [measured(format!("ratio_500_200_scheme_{scheme}"), fall(scheme)?)
            .less_than("200 clients")
            .control("scheme 3", fall("3")?)],
        format!(
            "Bytes in both directions at 500 clients for each at 200. If scheme 3 fell as well, it would be \
             the network. {UNDECIDED}"
        ),
    ))
}

fn better(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let tests =
        at_all(sweep, ("2", "1"), bytes, |name, it| measured(name, it).more_than("scheme 1"));
    Ok(SCHEME_2.judged(
        tests?,
        "At each number of clients. After a loss, PFTK's mean window is often below the 16 KB of scheme \
         1 (at 1 % loss, an RTT of 0.1 s and an RTO of 1 s, 7 segments or 10 KB), so documents of 30 to \
         300 KB take longer (Figure 5). It gains where documents are long: okamoto2001_gains_at_50.",
    ))
}

fn figure_5(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let far = times(sweep, (200, "3"), (200, "1"))?;
    let no_help = ["2", "3", "4"].map(|scheme| -> Result<Test, ReproduceError> {
        let it = times(sweep, (50, scheme), (50, "1"))?;
        Ok(measured(format!("ratio_{scheme}_1_50"), it)
            .little()
            .control("scheme 3 at 200 clients", far))
    });
    let no_help = NO_HELP_AT_50.judged(
        no_help.into_iter().collect::<Result<Vec<_>, _>>()?,
        format!("Response times by size, each scheme against scheme 1. {UNDECIDED}"),
    );
    let few = times(sweep, (50, "3"), (50, "1"))?;
    let mut between = at_all(sweep, ("4", "3"), times, |name, it| {
        measured(name, it).little().control("scheme 3 for scheme 1 at 200 clients", far)
    })?;
    between.push(
        measured("ratio_3_1_200", far)
            .below(1.0 / MUCH, Ours("largely: 1.5 times"))
            .control("50 clients", few),
    );
    let between = LITTLE_4_3
        .judged(between, format!("Response times by size, at each number of clients. {UNDECIDED}"));
    Ok(vec![no_help, much_improved(sweep)?, between, small_beside(sweep)?, best(sweep)?])
}

/// By the paper's definition: the times of documents that were received.
fn much_improved(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let few = times(sweep, (50, "4"), (50, "1"))?;
    let (mut tests, mut shown) = (Vec::new(), Vec::new());
    for (clients, name) in
        [(100, "at_least_4_1_100"), (200, "at_least_4_1_200"), (500, "at_least_4_1_500")]
    {
        let [four, one] = [(clients, "4"), (clients, "1")];
        tests.push(
            measured(format!("ratio_4_1_{clients}"), times(sweep, four, one)?)
                .below(1.0 / MUCH, Ours("much improved: 1.5 times as fast"))
                .control("50 clients", few),
        );
        shown.push((name, known(sweep.times_at_least(four, one), name)?.mean));
    }
    let claim = MUCH_IMPROVED.judged(
        tests,
        "At each of 100, 200 and 500 clients, by the paper's definition: the times of documents that \
         were received. That leaves out the clients whom scheme 1 never lets in. With their time until \
         the end (at_least), 200 and 500 clients are much improved, and 100 are not.",
    );
    Ok(claim.showing(&shown))
}

/// What scheme 4 adds to scheme 3 against what scheme 3 adds to scheme 2, in percent of response time.
fn small_beside(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let mut tests = Vec::new();
    for clients in [100, 200, 500] {
        let of = |one, other| -> Result<Interval, ReproduceError> {
            Ok(effect(times(sweep, (clients, one), (clients, other))?))
        };
        let [four, three] = [of("4", "3")?, of("3", "2")?];
        tests.push(
            measured(format!("effect_of_4_pct_{clients}"), four)
                .below(three.mean / 5.0, Ours("very small: a fifth of scheme 3's effect"))
                .control("scheme 3", three),
        );
    }
    Ok(SMALL_BESIDE.judged(
        tests,
        "By how many percent the response time differs with scheme 4 from that with scheme 3, beside the \
         same of scheme 3 and scheme 2, at 100, 200 and 500 clients.",
    ))
}

/// How far a ratio is from 1, in percent, whatever its direction.
fn effect(ratio: Interval) -> Interval {
    let apart = |value: f64| 100.0 * (value - 1.0).abs();
    let [mean, low, high] = [ratio.mean, ratio.low, ratio.high].map(apart);
    let contains_1 = ratio.low <= 1.0 && ratio.high >= 1.0;
    Interval { mean, low: if contains_1 { 0.0 } else { low.min(high) }, high: low.max(high) }
}

/// "Best": better than each of the others, by both measures, at each number of clients.
fn best(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let (mut won, mut of) = (0, 0);
    let mut numbers = Vec::new();
    for clients in CLIENTS {
        for other in ["1", "2", "3"] {
            let [four, other_place] = [(clients, "4"), (clients, other)];
            let moved = bytes(sweep, four, other_place)?;
            let took = times(sweep, four, other_place)?;
            numbers.push((format!("bytes_4_{other}_{clients}"), moved.mean));
            numbers.push((format!("time_4_{other}_{clients}"), took.mean));
            for lies in [moved.more_than_the_other(), took.less_than_the_other()] {
                of += 1;
                won += u32::from(lies == Lies::Within);
            }
        }
    }
    let claim = BEST.judged(
        [cases("comparisons_won", won, of).every()],
        "Better than schemes 1, 2 and 3 by both measures at each of the four numbers of clients; a tie is \
         not better.",
    );
    let numbers: Vec<_> = numbers.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    Ok(claim.showing(&numbers))
}

fn explanations(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let sweep = &runs.sweep;
    Ok(vec![
        mostly_idle(sweep)?,
        before_halving(sweep)?,
        soon_established(sweep)?,
        same_effect(runs)?,
        two_clients(runs)?,
        persistence(sweep)?,
    ])
}

fn estimate(
    sweep: &Sweep,
    place: Place<'_>,
    of: fn(&Run) -> Option<f64>,
) -> Result<Interval, ReproduceError> {
    known(sweep.estimate(place, of), &format!("{place:?}"))
}

fn mostly_idle(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let idle = |run: &Run| share(run.proxy.full_idle, run.proxy.full_open);
    Ok(MOST_IDLE.judged(
        [measured("idle_pct_scheme_1_500", estimate(sweep, (500, "1"), idle)?)
            .above(50.0, Ours("most: more than half, in percent"))
            .control("scheme 3, which closes idle ones", estimate(sweep, (500, "3"), idle)?)],
        "Share of the connections that were idle, in the seconds in which the limit was reached. The \
         share follows from the think time, which is ours: with none, or with 1 s always, most are busy \
         (--sensitivity).",
    ))
}

fn before_halving(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let early = |run: &Run| share(run.proxy.closed_before_halving, run.proxy.closed_for_new);
    let [few, many] = [estimate(sweep, (100, "4"), early)?, estimate(sweep, (500, "4"), early)?];
    // At 50 clients nothing is closed for new connections, and idle times last.
    let halved = |run: &Run| share(run.proxy.halved_spells, run.proxy.idle_spells);
    let [few_halved, many_halved] = [50, 500].map(|it| estimate(sweep, (it, "4"), halved));
    Ok(BEFORE_HALVING.judged(
        [
            measured("closed_before_halving_pct_500", many)
                .above(50.0, Ours("likely: more than half, in percent"))
                .control("100 clients", few),
            measured("halved_pct_500", many_halved?)
                .below_run("halved_pct_50_low", few_halved?.low),
        ],
        "Of the idle connections that scheme 4 closed for new ones, those that had been idle for less \
         than 3 s. And of all idle times, fewer last until the first halving at 500 clients than at 50.",
    ))
}

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 of anything")]
fn soon_established(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let refused = |run: &Run| Some((run.proxy.refused + run.proxy.misses_refused) as f64);
    let of = |clients| Ok::<_, ReproduceError>(estimate(sweep, (clients, "1"), refused)?.mean);
    Ok(SOON_ESTABLISHED.judged(
        [measured("refused_50", of(50)?)
            .below(1.0, Ours("none waits for a place"))
            .control("500 clients", of(500)?)],
        "Connections and misses that found no place, in scheme 1.",
    ))
}

fn same_effect(runs: &Runs) -> Result<Claim, ReproduceError> {
    let of = |which, name: &str| -> Result<[Interval; 2], ReproduceError> {
        let [a_b, b_1] = runs.exhibits.policy_ratio(which);
        Ok([known(a_b, name)?, known(b_1, name)?])
    };
    let [[printed_a_b, printed_b_1], [a_b, b_1]] = [of(0, "printed")?, of(1, "short buffers")?];
    let claim = SAME_EFFECT.judged(
        [measured("a_b_short_buffers", a_b).little().control("B for fixed buffers", b_1)],
        format!(
            "Bytes in both directions with A for each with B, where buffers matter: documents of 1 MB and \
             800 KiB of buffers. In the paper's simulation they matter little (b_1_printed), so that no \
             two policies differ there. {UNDECIDED}"
        ),
    );
    Ok(claim.showing(&[("a_b_printed", printed_a_b.mean), ("b_1_printed", printed_b_1.mean)]))
}

fn two_clients(runs: &Runs) -> Result<Claim, ReproduceError> {
    let rates = |buffers: &str| {
        let run = runs.exhibits.two_clients.get(buffers);
        let rates = run.map(|run| run.rates.clone()).unwrap_or_default();
        match rates.as_slice() {
            [Some(a), Some(b)] => Ok([*a, *b]),
            _ => Err(ReproduceError::NoCase { case: buffers.to_owned() }),
        }
    };
    let [small, equal, large] = [rates("4 KiB")?, rates("16 KiB")?, rates("64 KiB")?];
    Ok(EQUAL_SIZES.judged(
        [
            measured("a_4k_of_16k", small[0] / equal[0])
                .above(1.0 - LITTLE, Ours("too large: a quarter gives as much, within 5 %"))
                .control("client B", small[1] / equal[1]),
            measured("b_64k_of_16k", large[1] / equal[1])
                .above(MUCH, Ours("too small: four times as much give 1.5 times the rate"))
                .control("client A", large[0] / equal[0]),
        ],
        "16 KB each, beside 4 KB and 64 KB. Rates are bytes by response time.",
    ))
}

/// At 500 clients scheme 3 closes idle connections before they are used again.
fn persistence(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let at = |clients| times(sweep, (clients, "3"), (clients, "no-persistence"));
    Ok(PERSISTENCE.judged(
        [measured("ratio_3_no_persistence_50", at(50)?)
            .less_than("connections closed after each document")
            .control("500 clients, whose connections are closed for new ones", at(500)?)],
        "Response times by size with scheme 3, for each with a connection for each document.",
    ))
}

/// An interval that reaches across a limit is no verdict.
const UNDECIDED: &str =
    "Not decided means that an interval reaches across that limit: too few seeds.";

const FALLS_1: Statement = Statement {
    id: "okamoto.scheme-1-falls",
    place: "4.1, Figure 4",
    text: "the performance of the original scheme (scheme (1)) is decreased in the case of the larger \
           number of client hosts",
};

const SCHEME_2: Statement = Statement {
    id: "okamoto.scheme-2-better",
    place: "4.1, Figure 4",
    text: "E2-ATBT can improve the proxy server performance regardless of the number of client hosts",
};

const FALLS_2: Statement = Statement {
    id: "okamoto.scheme-2-falls",
    place: "4.1, Figure 4",
    text: "it also shows that the performance also degrades when the number of client hosts increases",
};

const SCHEME_3: Statement = Statement {
    id: "okamoto.scheme-3-significantly-better",
    place: "4.1, Figure 4",
    text: "scheme (3) can significantly improve the performance of the proxy server, especially when the \
           number of client hosts is large",
};

const SCHEME_4: Statement = Statement {
    id: "okamoto.scheme-4-better-for-few",
    place: "4.1, Figure 4",
    text: "Scheme (4) can also improve the performance of the proxy server, especially when the number of \
           client hosts is small",
};

const SCHEME_4_MANY: Statement = Statement {
    id: "okamoto.scheme-4-little-for-many",
    place: "4.1, Figure 4",
    text: "In the case of larger number of client hosts, however, there is little performance improvement",
};

const NO_HELP_AT_50: Statement = Statement {
    id: "okamoto.no-help-at-50",
    place: "4.2, Figure 5 (a)",
    text: "when the number of client hosts is 50, the proposed scheme does not help improving the response \
           time",
};

const MUCH_IMPROVED: Statement = Statement {
    id: "okamoto.response-time-much-improved",
    place: "4.2, Figure 5 (b)-(d)",
    text: "the response time is much improved when our proposed scheme is applied especially when the \
           number of connections is large",
};

const LITTLE_4_3: Statement = Statement {
    id: "okamoto.little-between-3-and-4",
    place: "4.2, Figure 5",
    text: "Although schemes (3) and (4) can improve the response time largely, there is little difference \
           between the two schemes",
};

const BEST: Statement = Statement {
    id: "okamoto.scheme-4-best",
    place: "4.2",
    text: "scheme (4) [...] is the best one to improve both the performance of the proxy server and \
           response time of client hosts, regardless of the number of client hosts",
};

const MOST_IDLE: Statement = Statement {
    id: "okamoto.most-connections-idle",
    place: "4.1",
    text: "most of N_max TCP connections are idle, which means that they do nothing but waste the resources \
           of the proxy server",
};

const BEFORE_HALVING: Statement = Statement {
    id: "okamoto.closed-before-halving",
    place: "4.1",
    text: "the persistent TCP connections are likely to be closed before scheme (4) begins to decrease the \
           assigned socket buffer",
};

const SOON_ESTABLISHED: Statement = Statement {
    id: "okamoto.soon-established-at-50",
    place: "4.2",
    text: "the server resources are enough to accommodate 50 client hosts and all TCP connections are soon \
           established at the proxy server",
};

const SAME_EFFECT: Statement = Statement {
    id: "okamoto.policies-same-effect",
    place: "3.1",
    text: "In the higher abstract model, the above two algorithms have a same effect",
};

const EQUAL_SIZES: Statement = Statement {
    id: "okamoto.equal-buffers",
    place: "2.1",
    text: "it is likely that the amount of the assigned buffer is too large for client A and too small for \
           client B",
};

const SMALL_BESIDE: Statement = Statement {
    id: "okamoto.scheme-4-small-beside-scheme-3",
    place: "4.2",
    text: "Although the throughput of the active TCP connections becomes improved, its effect on the \
           response time is very small compared with the effect of introducing scheme (3)",
};

const PERSISTENCE: Statement = Statement {
    id: "okamoto.persistence-reduces-time",
    place: "1",
    text: "The persistent connection can omit the overhead of TCP's three-way handshake and then reduce \
           the document transfer time by HTTP",
};
