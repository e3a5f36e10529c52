//! What the paper says in words.
//!
//! A sentence about an ordering holds if the interval of the ratios says so; a tie does not. "Little" is
//! within 5 % ([`LITTLE`]), "significantly" and "much" a factor of 1.5 ([`MUCH`]): ours, for the paper's
//! words have no numbers.

use super::{
    Runs,
    figures::share,
    ratio::{LITTLE, MUCH, Place, Ratio, all_little},
    sweep::{CLIENTS, Run, Sweep},
};
use crate::reproduce::{
    ReproduceError,
    claim::{Claim, Holds, Statement},
};

type Numbers = Vec<(String, f64)>;

/// All claims.
pub(super) fn all(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let sweep = &runs.sweep;
    let mut claims = figure_4(sweep)?;
    claims.extend(figure_5(sweep)?);
    claims.extend(explanations(runs)?);
    Ok(claims)
}

/// A ratio that must have been computed.
fn known(ratio: Option<Ratio>, what: &str) -> Result<Ratio, ReproduceError> {
    ratio.ok_or_else(|| ReproduceError::NoCase { case: what.to_owned() })
}

fn bytes(sweep: &Sweep, one: Place<'_>, other: Place<'_>) -> Result<Ratio, ReproduceError> {
    known(sweep.bytes(one, other), &format!("{one:?} / {other:?}"))
}

fn times(sweep: &Sweep, one: Place<'_>, other: Place<'_>) -> Result<Ratio, ReproduceError> {
    known(sweep.times(one, other), &format!("{one:?} / {other:?}"))
}

fn add(numbers: &mut Numbers, name: &str, ratio: Ratio) {
    for (end, value) in [("", ratio.mean), ("_low", ratio.low), ("_high", ratio.high)] {
        if value.is_finite() {
            numbers.push((format!("{name}{end}"), value));
        }
    }
}

/// What the intervals say: whether a claim holds, or that they do not decide it.
struct Decided(Holds);

impl From<bool> for Decided {
    fn from(holds: bool) -> Self {
        Self(if holds { Holds::Yes } else { Holds::No })
    }
}

impl From<Holds> for Decided {
    fn from(holds: Holds) -> Self {
        Self(holds)
    }
}

fn tested(
    statement: Statement,
    decided: impl Into<Decided>,
    numbers: &Numbers,
    remark: impl Into<String>,
) -> Claim {
    let Decided(holds) = decided.into();
    let numbers: Vec<_> = numbers.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    statement.claim(holds, Vec::new(), remark.into()).showing(&numbers)
}

/// What Figure 4 says of a scheme at several numbers of clients.
fn at_all(
    sweep: &Sweep,
    (one, other): (&str, &str),
    ratio: fn(&Sweep, Place<'_>, Place<'_>) -> Result<Ratio, ReproduceError>,
) -> Result<(Vec<Ratio>, Numbers), ReproduceError> {
    let (mut ratios, mut numbers) = (Vec::new(), Numbers::new());
    for clients in CLIENTS {
        let it = ratio(sweep, (clients, one), (clients, other))?;
        add(&mut numbers, &format!("ratio_{one}_{other}_{clients}"), it);
        ratios.push(it);
    }
    Ok((ratios, numbers))
}

fn figure_4(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = vec![falls(sweep, "1", FALLS_1)?, better(sweep)?, falls(sweep, "2", FALLS_2)?];
    let (gain_3, numbers) = at_all(sweep, ("3", "2"), bytes)?;
    let [few, .., many] = gain_3.as_slice() else { return Ok(claims) };
    claims.push(tested(
        SCHEME_3,
        many.exceeds(MUCH) && many.low > few.high,
        &numbers,
        format!(
            "Bytes in both directions. Significant: by a factor of {MUCH} at 500 clients (ours), and more \
             than at 50, where the limit is not reached."
        ),
    ));
    let (gain_4, numbers) = at_all(sweep, ("4", "3"), bytes)?;
    let [few, .., many] = gain_4.as_slice() else { return Ok(claims) };
    claims.push(tested(
        SCHEME_4,
        few.exceeds(1.0) && few.low > many.high,
        &numbers,
        "It must gain at 50 clients, and more than at 500. At 50 clients our pool is not short, so \
         buffers that idle connections give back are not needed: see okamoto2001_gains_at_50.",
    ));
    claims.push(tested(
        SCHEME_4_MANY,
        all_little([many]),
        &numbers,
        format!(
            "Within {:.0} % (ours). A scheme that does nothing is within them too: the sentence says \
             something only beside the gain at few clients.",
            LITTLE * 100.0
        ),
    ));
    Ok(claims)
}

/// "Decreased": from 200 to 500 clients, while scheme 3, the control, does not.
fn falls(sweep: &Sweep, scheme: &str, statement: Statement) -> Result<Claim, ReproduceError> {
    let fall = bytes(sweep, (500, scheme), (200, scheme))?;
    let control = bytes(sweep, (500, "3"), (200, "3"))?;
    let mut numbers = Numbers::new();
    add(&mut numbers, &format!("ratio_500_200_scheme_{scheme}"), fall);
    add(&mut numbers, "ratio_500_200_scheme_3", control);
    let remark = "Bytes in both directions at 500 clients for each at 200. The control is scheme 3, \
                  whose bytes must not fall: then it is not the network.";
    Ok(tested(statement, fall.is_below(1.0) && !control.is_below(1.0), &numbers, remark))
}

fn better(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let (ratios, numbers) = at_all(sweep, ("2", "1"), bytes)?;
    let remark = "It must be better at each number of clients. After a loss, PFTK's mean window is often \
                  below the 16 KB of scheme 1 (at 1 % loss, an RTT of 0.1 s and an RTO of 1 s, 7 segments \
                  or 10 KB), so documents of 30 to 300 KB take longer (Figure 5). It gains where documents \
                  are long: okamoto2001_gains_at_50.";
    Ok(tested(SCHEME_2, ratios.iter().all(|it| it.exceeds(1.0)), &numbers, remark))
}

fn figure_5(sweep: &Sweep) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = Vec::new();
    let mut numbers = Numbers::new();
    let mut ratios = Vec::new();
    for scheme in ["2", "3", "4"] {
        let it = times(sweep, (50, scheme), (50, "1"))?;
        add(&mut numbers, &format!("ratio_{scheme}_1_50"), it);
        ratios.push(it);
    }
    let control = times(sweep, (200, "3"), (200, "1"))?;
    add(&mut numbers, "ratio_3_1_200", control);
    claims.push(tested(
        NO_HELP_AT_50,
        all_little(&ratios),
        &numbers,
        format!(
            "Response times by size, each scheme against scheme 1, within 5 % (ours). {UNDECIDED} The \
             control: at 200 clients, scheme 3 is far from that."
        ),
    ));
    claims.push(much_improved(sweep)?);
    let (ratios, numbers) = at_all(sweep, ("4", "3"), times)?;
    claims.push(tested(
        LITTLE_4_3,
        all_little(&ratios),
        &numbers,
        format!("Response times by size, within 5 % (ours) at each number of clients. {UNDECIDED}"),
    ));
    claims.push(best(sweep)?);
    Ok(claims)
}

/// By the paper's definition first: the times of documents that were received.
fn much_improved(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let mut numbers = Numbers::new();
    let (mut received, mut all) = (true, true);
    for clients in [100, 200, 500] {
        let [four, one] = [(clients, "4"), (clients, "1")];
        let it = times(sweep, four, one)?;
        let at_least = known(sweep.times_at_least(four, one), "4 / 1")?;
        add(&mut numbers, &format!("ratio_4_1_{clients}"), it);
        add(&mut numbers, &format!("at_least_4_1_{clients}"), at_least);
        received &= it.is_below(1.0 / MUCH);
        all &= at_least.is_below(1.0 / MUCH);
    }
    let other = if all { "it holds" } else { "it does not hold either at each of the three" };
    let other = if received { "see at_least".to_owned() } else { format!("by that, {other}") };
    let remark = format!(
        "By a factor of {MUCH} (ours) at each of 100, 200 and 500 clients, by the paper's definition: the \
         times of documents that were received. That leaves out the clients whom scheme 1 never lets in; \
         with their time until the end (at_least), {other}."
    );
    Ok(tested(MUCH_IMPROVED, received, &numbers, remark))
}

/// "Best": better than each of the others, by both measures, at each number of clients.
fn best(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let mut numbers = Numbers::new();
    let mut is_best = true;
    for clients in CLIENTS {
        for other in ["1", "2", "3"] {
            let [four, other_place] = [(clients, "4"), (clients, other)];
            let moved = bytes(sweep, four, other_place)?;
            let took = times(sweep, four, other_place)?;
            numbers.push((format!("bytes_4_{other}_{clients}"), moved.mean));
            numbers.push((format!("time_4_{other}_{clients}"), took.mean));
            is_best &= moved.exceeds(1.0) && took.is_below(1.0);
        }
    }
    let remark = "Better than schemes 1, 2 and 3 by both measures at each of the four numbers of \
                  clients; a tie is not better.";
    Ok(tested(BEST, is_best, &numbers, remark))
}

fn explanations(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let sweep = &runs.sweep;
    let mut claims = vec![mostly_idle(sweep)?, before_halving(sweep)?, soon_established(sweep)?];
    claims.push(same_effect(runs));
    claims.push(two_clients(runs)?);
    Ok(claims)
}

fn estimate(
    sweep: &Sweep,
    place: Place<'_>,
    of: fn(&Run) -> Option<f64>,
) -> Result<Ratio, ReproduceError> {
    known(sweep.estimate(place, of), &format!("{place:?}"))
}

fn mostly_idle(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let idle = |run: &Run| share(run.proxy.full_idle, run.proxy.full_open);
    let mut numbers = Numbers::new();
    let most = estimate(sweep, (500, "1"), idle)?;
    add(&mut numbers, "idle_pct_scheme_1_500", most);
    add(&mut numbers, "idle_pct_scheme_3_500", estimate(sweep, (500, "3"), idle)?);
    let remark = "Share of the connections that were idle, in the seconds in which the limit was \
                  reached; most is more than half. The control is scheme 3, which closes idle ones. The \
                  share follows from the think time, which is ours.";
    Ok(tested(MOST_IDLE, most.exceeds(50.0), &numbers, remark))
}

fn before_halving(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let early = |run: &Run| share(run.proxy.closed_before_halving, run.proxy.closed_for_new);
    let mut numbers = Numbers::new();
    let many = estimate(sweep, (500, "4"), early)?;
    add(&mut numbers, "closed_before_halving_pct_500", many);
    add(&mut numbers, "closed_before_halving_pct_100", estimate(sweep, (100, "4"), early)?);
    // At 50 clients nothing is closed for new connections, and idle times last.
    let halved = |run: &Run| share(run.proxy.halved_spells, run.proxy.idle_spells);
    let [few_halved, many_halved] = [50, 500].map(|it| estimate(sweep, (it, "4"), halved));
    let (few_halved, many_halved) = (few_halved?, many_halved?);
    add(&mut numbers, "halved_pct_50", few_halved);
    add(&mut numbers, "halved_pct_500", many_halved);
    let remark = "Of the idle connections that scheme 4 closed for new ones, those that had been idle \
                  for less than 3 s: more than half. The control: of all idle times, fewer last until \
                  the first halving at 500 clients than at 50.";
    let holds = many.exceeds(50.0) && many_halved.high < few_halved.low;
    Ok(tested(BEFORE_HALVING, holds, &numbers, remark))
}

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 of anything")]
fn soon_established(sweep: &Sweep) -> Result<Claim, ReproduceError> {
    let refused = |run: &Run| Some((run.proxy.refused + run.proxy.misses_refused) as f64);
    let few = estimate(sweep, (50, "1"), refused)?.mean;
    let many = estimate(sweep, (500, "1"), refused)?.mean;
    let numbers = vec![("refused_50".to_owned(), few), ("refused_500".to_owned(), many)];
    let remark = "Connections and misses that found no place, in scheme 1: none at 50 clients, many at \
                  500, the control.";
    Ok(tested(SOON_ESTABLISHED, few == 0.0 && many > 0.0, &numbers, remark))
}

fn same_effect(runs: &Runs) -> Claim {
    let mut numbers = Numbers::new();
    let (mut results, mut matters) = (Vec::new(), false);
    for (which, name) in ["printed", "short_buffers"].into_iter().enumerate() {
        let [a_b, b_1] = runs.exhibits.policy_ratio(which);
        let (Some(a_b), Some(b_1)) = (a_b, b_1) else { continue };
        add(&mut numbers, &format!("a_b_{name}"), a_b);
        add(&mut numbers, &format!("b_1_{name}"), b_1);
        matters |= b_1.is_more_than_little();
        results.push(a_b);
    }
    let holds = match matters {
        true => all_little(&results),
        // Where buffers make no difference, no policy can.
        false => Holds::NotTestable,
    };
    let remark = format!(
        "Bytes in both directions with A for each with B, within 5 % (ours): in the paper's \
         simulation, and with documents of 1 MB and 800 KiB of buffers. {UNDECIDED} The control: B against \
         fixed buffers, in at least one of them a difference of more."
    );
    tested(SAME_EFFECT, holds, &numbers, remark)
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
    let numbers = vec![
        ("a_4k_of_16k".to_owned(), small[0] / equal[0]),
        ("b_64k_of_16k".to_owned(), large[1] / equal[1]),
        ("b_4k_of_16k".to_owned(), small[1] / equal[1]),
    ];
    let too_large = small[0] / equal[0] > 1.0 - LITTLE;
    let too_small = large[1] / equal[1] > MUCH;
    let remark = "16 KB each. Too large for A: with 4 KB it receives as much, within 5 %. Too small for \
                  B: with 64 KB it receives 1.5 times as much. Rates are bytes by response time.";
    Ok(tested(EQUAL_SIZES, too_large && too_small, &numbers, remark))
}

/// An interval that reaches across a limit is no verdict.
const UNDECIDED: &str =
    "Not testable means that an interval reaches across that limit: too few seeds.";

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
