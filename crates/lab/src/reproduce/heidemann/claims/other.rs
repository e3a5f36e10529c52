//! Section 2.5 and 3: socket buffers, copies, related work.

use super::{Claim, ReproduceError, Runs, Statement};
use crate::reproduce::heidemann::studies::rate_kbps;

pub(super) fn claims(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = buffers(runs)?;
    claims.extend(not_here());
    Ok(claims)
}

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
    Ok(vec![
        Statement {
            id: "heidemann.12-kb-buffer",
            place: "section 2.5",
            text: "well-connected hosts crossing the United States benefit from a 12KB or larger \
                   buffer (1Mb/sec bandwidth at 90ms latency)",
        }
        .tested(
            twelve >= 0.99 * most && eight < 0.9 * most,
            &[
                ("kbps_4_kib", four),
                ("kbps_8_kib", eight),
                ("kbps_12_kib", twelve),
                ("kbps_64_kib", most),
            ],
            "A file of 500,000 bytes with segments of 512; 12 KiB are as good as 64, 8 are not.",
        ),
        Statement {
            id: "heidemann.4-kb-enough-for-modems",
            place: "section 2.5",
            text: "A common value is 4KB. Although this may be sufficient for connections with a \
                   low bandwidth-delay product (such as modems and ISDN)",
        }
        .tested(
            slow[0] >= 0.99 * slow[1] && slow[2] >= 0.99 * slow[3],
            &[
                ("modem_kbps_4_kib", slow[0]),
                ("modem_kbps_64_kib", slow[1]),
                ("isdn_kbps_4_kib", slow[2]),
                ("isdn_kbps_64_kib", slow[3]),
            ],
            "The same file over 28.8 and 128 kb/s.",
        ),
        Statement {
            id: "heidemann.16-kb-not-unreasonable",
            place: "section 2.5",
            text: "A default buffer size of 16KB is not unreasonable",
        }
        .tested(
            rate("fast-internet", "16")? >= 0.99 * most,
            &[("kbps_16_kib", rate("fast-internet", "16")?), ("kbps_64_kib", most)],
            "As much as 64 KiB on the path of the claim above.",
        ),
    ])
}

fn not_here() -> [Claim; 4] {
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
            id: "heidemann.large-mtu-deadlock",
            place: "1997, section 3",
            text: "in some circumstances all data transfer becomes deadlocked",
        }
        .untested(
            "This is Moldeklev's and Gunningberg's result for ATM and SunOS' socket code, which \
             copies in units that are not modelled.",
        ),
        Statement {
            id: "heidemann.sunrpc",
            place: "1997, section 3",
            text: "mismatches between user- and TCP-level buffering caused a problem similar to \
                   the odd/short-final-segment problem",
        }
        .untested("It is Crowcroft's result, for SunRPC."),
    ]
}
