//! Section 2.2: the short-initial-segment problem.

use super::{Claim, ReproduceError, Runs, Statement};
use crate::reproduce::{
    heidemann::{
        studies::{acks_per_segment, longest_stall_ms, mean_stall_ms},
        table_1::{FIRST_FIX, HTTP, UNFIXED},
    },
    study::{page_ms, stalls_per_page},
};

pub(super) fn claims(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims =
        vec![packets(runs), window_of_two(runs)?, consistently(runs), synchronised(runs)];
    claims.extend(first_fix(runs));
    claims.extend(ftp(runs)?);
    claims.extend(receivers(runs)?);
    claims.push(
        Statement {
            id: "heidemann.browser-bug",
            place: "section 2.2 and 2.6",
            text: "This flush was explicitly added to Apache for persistent connections to work \
                   around a bug in a popular browser",
        }
        .untested("No browser of 1996 is available here."),
    );
    Ok(claims)
}

#[expect(clippy::cast_precision_loss, reason = "a figure has a few packets")]
fn packets(runs: &Runs) -> Claim {
    let figure = &runs.figures.figure_2;
    Statement {
        id: "heidemann.short-initial-segment",
        place: "section 2.2, Figures 1 and 2",
        text: "the Apache server will send one small segment with the HTTP headers followed by a \
               second segment of size MSS. It then waits for an ACK before continuing",
    }
    .tested(
        figure.same == figure.printed,
        &[
            ("packets", figure.printed as f64),
            ("same_packets", figure.same as f64),
            ("stall_printed_ms", figure.stall_ms[0]),
            ("stall_ms", figure.stall_ms[1]),
        ],
        "The packets of Figure 2, one by one: sender, bytes, ACK number, flags. The phase of the \
         client's clock is an input.",
    )
}

fn window_of_two(runs: &Runs) -> Result<Claim, ReproduceError> {
    let stalls = |opened_by| runs.studies.ftp.value(stalls_per_page, &[("opened_by", opened_by)]);
    let [one, two] = [stalls("sender")?, stalls("receiver")?];
    let said = Statement {
        id: "heidemann.window-of-two",
        place: "section 2.2, footnote 1",
        text: "The HTTP-reply congestion window starts at two segments ... because the ACK of \
               connection setup has already opened the congestion window by one segment",
    };
    Ok(said.tested(
        two == 0.0 && one == 1.0,
        &[("stalls_if_sender_opens", one), ("stalls_if_receiver_opens", two)],
        "A sender that opened the connection begins with one segment and waits for its ACK; a \
         sender that accepted the connection begins with two and does not wait.",
    ))
}

fn consistently(runs: &Runs) -> Claim {
    let mean = runs.table_1.mean_stall_ms;
    Statement {
        id: "heidemann.170-to-190-ms",
        place: "section 2.2 and 2.3",
        text: "time between the second and third data segments is consistently 170–190ms",
    }
    .tested(
        (160.0..=200.0).contains(&mean),
        &[("mean_stall_ms", mean)],
        "The mean of all 300 stalls of Table 1's second row, to 10 ms. Figure 4 itself prints 167 \
         ms from the odd segment on.",
    )
}

fn synchronised(runs: &Runs) -> Claim {
    let [shortest, longest] = runs.table_1.whole_ticks;
    Statement {
        id: "heidemann.synchronised",
        place: "section 2.2",
        text: "After the first exchange, the client actually becomes synchronized with the \
               server's slow-start clock",
    }
    .tested(
        longest - shortest < 5.0 && (longest / 200.0 - (longest / 200.0).round()).abs() < 0.05,
        &[("shortest_ms", shortest), ("longest_ms", longest)],
        "Pages after the first take whole ticks of the client's 200 ms clock.",
    )
}

fn first_fix(runs: &Runs) -> [Claim; 2] {
    let times = runs.table_1.page_ms;
    let share = times[FIRST_FIX] / times[UNFIXED];
    [
        Statement {
            id: "heidemann.first-fix-a-third",
            place: "section 2.2",
            text: "P-HTTP performance reduced to a third of unmodified Apache's P-HTTP",
        }
        .tested(
            (share - 1.0 / 3.0).abs() < 0.05,
            &[("share", share)],
            "Table 1, row 3 over row 2: one stall of three remains.",
        ),
        Statement {
            id: "heidemann.first-fix-not-enough",
            place: "section 2.2",
            text: "it is still substantially worse than simple HTTP performance",
        }
        .tested(
            times[FIRST_FIX] > 2.0 * times[HTTP],
            &[("p_http_ms", times[FIRST_FIX]), ("http_ms", times[HTTP])],
            "Table 1, rows 3 and 1.",
        ),
    ]
}

fn ftp(runs: &Runs) -> Result<[Claim; 1], ReproduceError> {
    let sender = [("opened_by", "sender")];
    let of = |measure| runs.studies.ftp.value(measure, &sender);
    let numbers = [
        ("stalls_per_file", of(stalls_per_page)?),
        ("mean_stall_ms", of(mean_stall_ms)?),
        ("longest_stall_ms", of(longest_stall_ms)?),
    ];
    let said = Statement {
        id: "heidemann.ftp-stalls",
        place: "section 2.2",
        text: "the initial window size is 1 MSS, so each FTP data exchange stalls for up to the \
               delayed-ACK time-out period when it begins",
    };
    let holds = (0.9..=1.0).contains(&numbers[0].1) && numbers[2].1 <= 200.0;
    Ok([said.tested(
        holds,
        &numbers,
        "40 files, each on a connection that its sender opens. An ACK within 10 ms does not count \
         as a stall.",
    )])
}

fn receivers(runs: &Runs) -> Result<[Claim; 2], ReproduceError> {
    let of = |receiver: &str, fixes: &str| -> Result<[f64; 3], ReproduceError> {
        let value = |measure| {
            let case = [("receiver", receiver), ("fixes", fixes)];
            runs.studies.receivers.value(measure, &case)
        };
        Ok([value(stalls_per_page)?, value(page_ms)?, value(acks_per_segment)?])
    };
    let numbers = |[unfixed, first, every]: [[f64; 3]; 3]| {
        [
            ("stalls_unfixed", unfixed[0]),
            ("stalls_first_fix", first[0]),
            ("page_ms_unfixed", unfixed[1]),
            ("page_ms_first_fix", first[1]),
            ("acks_per_segment", first[2]),
            ("acks_per_segment_if_every_one", every[2]),
        ]
    };
    let every = of("every-segment", "first")?;
    let [early, late] = [
        [of("1996", "none")?, of("1996", "first")?, every],
        [of("1997", "none")?, of("1997", "first")?, every],
    ];
    let cures = |[unfixed, first, every]: [[f64; 3]; 3]| {
        unfixed[0] == 0.0 && first[0] == 0.0 && first[2] < every[2]
    };
    Ok([
        Statement {
            id: "heidemann.receiver-1996",
            place: "1996, section 2.2",
            text: "delay ACKs by the time required to send a full segment and then immediately \
                   send an ACK, thus consolidating every other ACKs without unnecessarily delay",
        }
        .tested(
            cures(early),
            &numbers(early),
            "The original server and the server with only the first fix: both stalls. The \
             receiver needs to know the link's rate.",
        ),
        Statement {
            id: "heidemann.receiver-1997",
            place: "1997, section 2.2",
            text: "delay ACKs by slightly more than the back-to-back segment interarrival time \
                   and then immediately send an ACK",
        }
        .tested(
            cures(late),
            &numbers(late),
            "Each new connection stalls once with the original server: a short head and one \
             segment do not yet give an interarrival time, so the receiver waits its maximum, \
             unless it remembers one. With the first fix there is no stall.",
        ),
    ])
}
