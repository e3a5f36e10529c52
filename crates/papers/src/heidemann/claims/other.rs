//! Section 2.5 and 3: socket buffers, copies, related work.

use super::{Claim, ReproduceError, Runs, Statement};
use crate::{
    heidemann::studies::rate_kbps,
    study::stalls_per_page,
    verdict::{Source::Ours, Test, measured},
};

pub(super) fn claims(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = buffers(runs)?;
    claims.push(large_segments(runs)?);
    claims.extend(not_here());
    Ok(claims)
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn buffers(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let rate = |network: &str, kib: &str| {
        runs.studies.buffers.value(rate_kbps, &[("network", network), ("buffer_kib", kib)])
    };
    let [four, eight, twelve, most] = [
        rate("fast-internet", "4")?,
        rate("fast-internet", "8")?,
        rate("fast-internet", "12")?,
        rate("fast-internet", "64")?,
    ];
    let slow = [rate("modem", "4")?, rate("modem", "64")?, rate("isdn", "4")?, rate("isdn", "64")?];
    let sixteen = rate("fast-internet", "16")?;
    let better = [rate("well-connected", "16")?, rate("well-connected", "64")?];
    // Of what 64 KiB give.
    let percent = |rate: f64, most: f64| 100.0 * rate / most;
    let nearly_all = Ours("nearly all that 64 KiB give, in percent");
    Ok(vec![
        Statement {
            id: "heidemann.12-kb-buffer",
            place: "section 2.5",
            text: "well-connected hosts crossing the United States benefit from a 12KB or larger \
                   buffer (1Mb/sec bandwidth at 90ms latency)",
        }
        .judged(
            [measured("percent_with_12_kib", percent(twelve, most))
                .above(99.0, nearly_all)
                .control("8 KiB", percent(eight, most))],
            "A file of 500,000 bytes with segments of 512.",
        )
        .showing(&[
            ("kbps_4_kib", four),
            ("kbps_8_kib", eight),
            ("kbps_12_kib", twelve),
            ("kbps_64_kib", most),
        ]),
        Statement {
            id: "heidemann.4-kb-enough-for-modems",
            place: "section 2.5",
            text: "A common value is 4KB. Although this may be sufficient for connections with a \
                   low bandwidth-delay product (such as modems and ISDN), well connected hosts \
                   will find it insufficient",
        }
        .judged(
            [
                measured("percent_modem", percent(slow[0], slow[1]))
                    .above(99.0, nearly_all)
                    .control("1 Mb/s and 90 ms", percent(four, most)),
                measured("percent_isdn", percent(slow[2], slow[3]))
                    .above(99.0, nearly_all)
                    .control("1 Mb/s and 90 ms", percent(four, most)),
            ],
            "4 KiB against 64, the same file over 28.8 and 128 kb/s.",
        )
        .showing(&[("modem_kbps_4_kib", slow[0]), ("isdn_kbps_4_kib", slow[2])]),
        Statement {
            id: "heidemann.16-kb-not-unreasonable",
            place: "section 2.5",
            text: "A default buffer size of 16KB is not unreasonable, larger buffers are \
                   recommended for particularly well-connected hosts",
        }
        .judged(
            [
                measured("percent_with_16_kib", percent(sixteen, most))
                    .above(99.0, nearly_all)
                    .control("4 KiB, the common value", percent(four, most)),
                measured("percent_with_16_kib_if_well_connected", percent(better[0], better[1]))
                    .below(99.0, nearly_all)
                    .control("1 Mb/s", percent(sixteen, most)),
            ],
            "On the path of heidemann.12-kb-buffer, which is the papers' example, and on one that is \
             ten times as fast.",
        )
        .showing(&[("kbps_16_kib", sixteen), ("kbps_64_kib", most)]),
    ])
}

fn large_segments(runs: &Runs) -> Result<Claim, ReproduceError> {
    let of = |measure, case: &str| runs.studies.large_mtu.value(measure, &[("case", case)]);
    let described = of(rate_kbps, "as described")?;
    let share = |case: &str| Ok::<_, ReproduceError>(100.0 * of(rate_kbps, case)? / 1e5);
    let test = |what, case| -> Result<Test, ReproduceError> {
        Ok(measured("percent_of_the_link", described / 1e5 * 100.0)
            .below(5.0, Ours("tied to delayed ACKs: a twentieth of 100 Mb/s"))
            .control(what, share(case)?))
    };
    Ok(Statement {
        id: "heidemann.large-mtu-deadlock",
        place: "1997, section 3",
        text: "interactions between sender and receiver window sizes, Nagle's algorithm, delayed \
               acknowledgements, and BSD socket buffering code can result in a number of \
               conditions where TCP data transfer is tied to delayed acknowledgements ... in some \
               circumstances all data transfer becomes deadlocked",
    }
    .judged(
        [
            test("segments of 1460 bytes", "MSS 1460")?,
            test("a send buffer of five segments", "send buffer 51 KiB")?,
            test("a receive buffer of two segments", "receive buffer 16 KiB")?,
            test("an ACK for every segment", "every segment acknowledged")?,
        ],
        "Segments of 9148 bytes, a send buffer of 16,384, a receive buffer of 51 KiB, and a program \
         that writes 8 KiB at a time. The send buffer holds one full segment and a rest, which \
         Nagle's algorithm keeps back; the receiver waits for a second full segment or half of its \
         buffer. Their \"deadlock\" is one of throughput, a delayed ACK for each round; without \
         Nagle's algorithm a round has the rest as well. SunOS' way to copy in units of mbufs is not \
         modelled.",
    )
    .showing(&[
        ("kilobytes_per_s", described / 8.0),
        ("kilobytes_per_s_without_nagle", of(rate_kbps, "no Nagle")? / 8.0),
        ("stalls_per_file", of(stalls_per_page, "as described")?),
    ]))
}

fn not_here() -> [Claim; 3] {
    [
        Statement {
            id: "heidemann.copies",
            place: "section 2.5",
            text: "using stdio for both input and output requires up to six data copies ... \
                   memory-mapping the input file, reducing data copies to three",
        }
        .untested("The simulator moves no bytes, and hosts' costs are for each segment."),
        Statement {
            id: "heidemann.small-buffers-by-default",
            place: "section 2.5",
            text: "Neither Apache nor NCSA set the socket send-buffer size",
        }
        .untested("This is about programs of 1996."),
        Statement {
            id: "heidemann.sunrpc",
            place: "1997, section 3",
            text: "mismatches between user- and TCP-level buffering caused a problem similar to \
                   the odd/short-final-segment problem",
        }
        .untested(
            "It is Crowcroft's result. SunRPC's calls and how its library writes them to a TCP are \
             not modelled, and the paper does not describe the mismatch.",
        ),
    ]
}
