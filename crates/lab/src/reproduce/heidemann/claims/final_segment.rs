//! Section 2.3: the odd/short-final-segment problem.

use super::{Claim, ReproduceError, Runs, Statement};
use crate::reproduce::{
    heidemann::table_1::{BOTH_FIXES, FIRST_FIX, HTTP, UNFIXED},
    study::{page_ms, stalls_per_page},
};

pub(super) fn claims(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = packets(runs);
    claims.push(large_segments(runs)?);
    claims.extend(fixes(runs)?);
    Ok(claims)
}

#[expect(clippy::cast_precision_loss, reason = "a figure has a few packets")]
fn packets(runs: &Runs) -> Vec<Claim> {
    let figure = &runs.figures.figure_4;
    let numbers = [
        ("packets", figure.printed as f64),
        ("same_packets", figure.same as f64),
        ("stall_printed_ms", figure.stall_ms[0]),
        ("stall_ms", figure.stall_ms[1]),
    ];
    let same = figure.same == figure.printed;
    vec![
        Statement {
            id: "heidemann.odd-short-final-segment",
            place: "section 2.3, Figures 3 and 4",
            text: "TCP however will refuse to send it because of sender-side SWS avoidance ... \
                   The server therefore waits for the client to ACK this segment",
        }
        .tested(
            same,
            &numbers,
            "The packets of Figure 4, one by one: sender, bytes, what they acknowledge, flags. \
             The first reply's length, the server's time to think and where both hosts' clocks \
             stand are inputs.",
        ),
        Statement {
            id: "heidemann.4-kb-in-three-segments",
            place: "section 2.3",
            text: "Apache writes data at the application-layer in 4KB chunks. TCP breaks this \
                   data into three segments of lengths 1460, 1460, and 1175",
        }
        .tested(
            false,
            &numbers[..2],
            "They are 1460, 1460 and 1176, in Figure 4 as here: 4096 bytes. 1175 is a misprint.",
        ),
        Statement {
            id: "heidemann.two-full-segments-at-once",
            place: "section 2.3",
            text: "The client will acknowledge the first two segments immediately upon receipt \
                   ... The client will delay acknowledgment of the third segment",
        }
        .tested(same, &numbers[..2], "Figure 4's fifth to seventh packet."),
    ]
}

fn large_segments(runs: &Runs) -> Result<Claim, ReproduceError> {
    let stalls = |mss| {
        let case = [("network", "adsl"), ("mss", mss), ("row", "p-http first")];
        runs.wan.studied.value(stalls_per_page, &case)
    };
    let [small, middle, large] = [stalls("512")?, stalls("536")?, stalls("1460")?];
    let said = Statement {
        id: "heidemann.odd-with-large-segments",
        place: "section 2.3",
        text: "Odd numbers of segments arise when Apache sends data over a TCP connection with a \
               large MSS",
    };
    Ok(said.tested(
        large > 0.5,
        &[("stalls_mss_512", small), ("stalls_mss_536", middle), ("stalls_mss_1460", large)],
        "With the first fix, over 6 Mb/s and 30 ms. They arise with small segments as well: 4096 \
         bytes are 8 segments of 512 or 7.6 of 536, but a window can leave any of them alone at \
         the end.",
    ))
}

fn fixes(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let alone = [("connections", "per-document"), ("fixes", "nagle off alone")];
    let alone = [
        runs.studies.readings.value(stalls_per_page, &alone)?,
        runs.studies.readings.value(page_ms, &alone)?,
    ];
    let results = &runs.table_1;
    Ok(vec![
        Statement {
            id: "heidemann.closing-flushes",
            place: "section 2.3",
            text: "This problem does not occur with non-persistent HTTP requests because closing \
                   the TCP connection also immediately sends any data waiting for transmission",
        }
        .tested(
            results.stalls[HTTP] == 0.0,
            &[("stalls_per_page", results.stalls[HTTP])],
            "Table 1, row 1: Nagle on, each connection closed after its file.",
        ),
        Statement {
            id: "heidemann.nagle-off-solves-it",
            place: "section 2.3",
            text: "We solve this problem by disabling Nagle's algorithm for P-HTTP connections \
                   ... Resolution of this second problem brings P-HTTP performance in line with \
                   what we expect",
        }
        .tested(
            results.stalls[BOTH_FIXES] == 0.0 && results.stalls[FIRST_FIX] > 0.0,
            &[
                ("stalls_unfixed", results.stalls[UNFIXED]),
                ("stalls_first_fix", results.stalls[FIRST_FIX]),
                ("stalls_both_fixes", results.stalls[BOTH_FIXES]),
                ("stalls_nagle_off_alone", alone[0]),
                ("page_ms_nagle_off_alone", alone[1]),
            ],
            "Both fixes are needed: Nagle off alone leaves the short initial segment's stall.",
        ),
    ])
}
