//! Abstract, introduction, section 2.1 and conclusions: how much slower, and how much faster.

use super::{Claim, ReproduceError, Runs, Statement};
use crate::reproduce::{
    heidemann::table_1::{BOTH_FIXES, HTTP, UNFIXED},
    study::{page_ms, short_initial_segment_ms, stalls_per_page},
};

pub(super) fn claims(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = ratios(runs);
    claims.push(over_wide_areas(runs)?);
    claims.push(model(runs));
    claims.extend(pipelining(runs)?);
    claims.push(
        Statement {
            id: "heidemann.other-servers",
            place: "section 1",
            text: "similar problems exist in at least one other HTTP server",
        }
        .untested("`ackwise check` asks servers of today: docs/check.md says which of them stall."),
    );
    Ok(claims)
}

fn ratios(runs: &Runs) -> Vec<Claim> {
    let times = runs.table_1.page_ms;
    let slower = times[UNFIXED] / times[HTTP];
    let possible = times[UNFIXED] / times[BOTH_FIXES];
    let less = (1.0 - times[BOTH_FIXES] / times[HTTP]) * 100.0;
    vec![
        Statement {
            id: "heidemann.ten-times-slower",
            place: "section 1",
            text: "P-HTTP was ten times slower than the corresponding HTTP transactions",
        }
        .tested(slower >= 10.0, &[("ratio", slower)], "Table 1, row 2 over row 1."),
        Statement {
            id: "heidemann.fourteen-times-slower",
            place: "abstract",
            text: "P-HTTP transactions which are 14 times slower than standard HTTP",
        }
        .tested(
            (slower.round() - 14.0).abs() <= 1.0,
            &[("ratio", slower)],
            "To one in 14. HTTP's row is fitted, so this is a check of P-HTTP's only.",
        ),
        Statement {
            id: "heidemann.twenty-times-slower",
            place: "abstract",
            text: "and 20 times slower than potential P-HTTP over a 10 Mb/s Ethernet",
        }
        .tested(
            possible >= 20.0,
            &[("ratio", possible)],
            "Table 1, row 2 over row 4; the printed times give 23.3.",
        ),
        Statement {
            id: "heidemann.forty-percent-faster",
            place: "section 1",
            text: "P-HTTP is 40% faster than simple HTTP over an Ethernet",
        }
        .tested(
            (30.0..=50.0).contains(&less),
            &[("percent", less)],
            "Row 4 below row 1, to 10 points. HTTP's row is fitted.",
        ),
        Statement {
            id: "heidemann.fixed-is-better",
            place: "abstract",
            text: "After implementing our solutions ... P-HTTP performs better than HTTP on a \
                   local Ethernet",
        }
        .tested(
            times[BOTH_FIXES] < times[HTTP] - 3.0 * FITTED_MS,
            &[("p_http_ms", times[BOTH_FIXES]), ("http_ms", times[HTTP])],
            "Also without the 18 ms that are fitted to HTTP's row.",
        ),
        Statement {
            id: "heidemann.up-to-200-ms",
            place: "abstract",
            text: "tie P-HTTP performance to TCP delayed-acknowledgments, thus adding up to 200ms \
                   to each P-HTTP transaction",
        }
        .tested(
            runs.table_1.longest_stall_ms <= 200.0,
            &[
                ("longest_stall_ms", runs.table_1.longest_stall_ms),
                ("added_ms_per_page", times[UNFIXED] - times[BOTH_FIXES]),
            ],
            "Each problem adds up to 200 ms. The first of a page's three transactions has both \
             and loses twice that; the second has none.",
        ),
    ]
}

/// What Table 1's experiment adds for each connection of HTTP.
const FITTED_MS: f64 = 6.0;

fn over_wide_areas(runs: &Runs) -> Result<Claim, ReproduceError> {
    let ratio = |network: &str| -> Result<f64, ReproduceError> {
        let of = |row| {
            runs.wan.studied.value(page_ms, &[("network", network), ("mss", "1460"), ("row", row)])
        };
        Ok(of("p-http none")? / of("http none")?)
    };
    let [lan, internet, modem] = [
        runs.table_1.page_ms[UNFIXED] / runs.table_1.page_ms[HTTP],
        ratio("fast-internet")?,
        ratio("modem")?,
    ];
    let said = Statement {
        id: "heidemann.less-over-wide-areas",
        place: "section 2.1",
        text: "The relative overhead would be substantially less if these pages were accessed \
               over wide-area networks with lower bandwidth and higher latencies",
    };
    Ok(said.tested(
        internet < lan / 4.0 && modem < internet,
        &[("ethernet", lan), ("fast_internet", internet), ("modem", modem)],
        "P-HTTP over HTTP, both as they were, with segments of 1460 bytes.",
    ))
}

#[expect(clippy::cast_precision_loss, reason = "there are 42 cases")]
fn model(runs: &Runs) -> Claim {
    let fit = runs.wan.fit;
    let numbers = [
        ("cases", fit.cases as f64),
        ("within_5_percent", fit.within as f64),
        ("within_5_percent_as_explained", fit.within_any as f64),
        ("worst_p_http_percent", fit.worst_both_fixes * 100.0),
        ("worst_http_percent", fit.worst_http * 100.0),
    ];
    Statement {
        id: "heidemann.model-within-5-percent",
        place: "section 2.3",
        text: "we observe actual P-HTTP performance over wide-area connections that is with[in] \
               5% of that predicted by our model",
    }
    .tested(
        fit.worst_both_fixes <= 0.05,
        &numbers,
        "The simulator replaces the measurement. The claim is about P-HTTP; simple HTTP is \
         outside 5 % where the odd segment's ACK costs one more round trip, and over a modem.",
    )
}

fn pipelining(runs: &Runs) -> Result<[Claim; 2], ReproduceError> {
    let studied = &runs.studies.pipelining;
    let of = |measure, transfer: &str, fixes: &str| {
        studied.value(measure, &[("transfer", transfer), ("fixes", fixes)])
    };
    let [unfixed, first] =
        [of(stalls_per_page, "pipelined", "none")?, of(stalls_per_page, "pipelined", "first")?];
    let [initial, gathered] = [
        of(short_initial_segment_ms, "pipelined", "none")?,
        of(short_initial_segment_ms, "pipelined, gathered", "none")?,
    ];
    Ok([
        Statement {
            id: "heidemann.pipelining-does-not-cure",
            place: "1997, section 2.1",
            text: "pipelining (by itself) would not eliminate any of the interactions we describe",
        }
        .tested(
            unfixed >= 1.0 && first >= 1.0,
            &[("stalls_unfixed", unfixed), ("stalls_first_fix", first)],
            "Stalls per page, with the inlines requested at once. The first fix leaves those of \
             the odd segment.",
        ),
        Statement {
            id: "heidemann.pipelining-may-reduce",
            place: "1997, section 2.1",
            text: "Pipelining may reduce the effect of the short-initial-segment problem to one \
                   delayed-ACK stall depending on the implementation",
        }
        .tested(
            initial.min(gathered) <= 200.0,
            &[("initial_segment_ms", initial), ("initial_segment_ms_if_gathered", gathered)],
            "Time lost per page to short initial segments: at most one tick of 200 ms. With a new \
             connection per page, it is no more without pipelining; the rest are odd segments.",
        ),
    ])
}
