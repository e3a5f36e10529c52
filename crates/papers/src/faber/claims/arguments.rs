//! What the paper argues, and what does not fit together in it.

use super::{Claim, ReproduceError, Runs, Statement};
use crate::{
    faber::{
        measures::{
            client_memory, client_time_wait, connection_rate, entries_per_lookup, file_rate,
            refused, server_memory,
        },
        studies::Studies,
        webstone::TCP,
    },
    published::Published,
    verdict::{Source::Ours, measured},
};

pub(super) fn claims(runs: &Runs, studies: &Studies) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = costs(runs, studies)?;
    claims.push(sixty_connections(studies)?);
    claims.extend(lists(studies)?);
    claims.extend(memory(studies)?);
    claims.push(incremental(studies)?);
    claims.push(clients_suffer(studies)?);
    claims.push(rst_lost(studies)?);
    claims.push(
        Statement {
            id: "faber.unaware-server",
            place: "Application Level Solution for HTTP",
            text: "A server that does not understand CLIENT_CLOSE will see a conventional HTTP \
                   exchange, followed by a request that it does not implement, and a closed \
                   connection",
        }
        .untested("This is about real servers, not the simulated network: docs/time-wait.md."),
    );
    Ok(claims)
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn costs(runs: &Runs, studies: &Studies) -> Result<Vec<Claim>, ReproduceError> {
    let of = |measure, case: &str| studies.findings.value(measure, case);
    let listed = "large files, unmodified, Table 1's slope";
    let freed = "large files, TCP, Table 1's slope, RST free";
    let charged = of(connection_rate, "small files, TCP, RST as Table 2 wants it")?;
    let free = runs.small.rates[TCP];
    let table_3 = Published::named("faber1997_table_3")?;
    let printed = table_3.number(TCP, "connection_rate").unwrap_or_default();
    let entries = [of(entries_per_lookup, listed)?, of(entries_per_lookup, freed)?];
    let rates = [of(connection_rate, listed)?, of(connection_rate, freed)?];
    Ok(vec![
        Statement {
            id: "faber.one-cost-for-both-tables",
            place: "Initial Implementation, Tables 2 and 3",
            text: "We believe the TCP modification is less effective than the HTTP modification \
                   because it adds another packet exchange",
        }
        .untested(
            "The belief is about Table 2, and what it means for Table 3 depends on what the paper does \
             not say. If the server is the bottleneck in both, each RST costs it 2.74 ms, and Table 3's \
             rate with the TCP modification would be what rate_small_rst_charged has, far below the \
             printed one. But each of Table 3's four hosts makes 56 connections per second, close to \
             the 60 that one can hold in TIME-WAIT: if the clients are the bottleneck, the server's \
             cost cannot be seen.",
        )
        .showing(&[
            ("rate_small_rst_charged", charged),
            ("rate_small_rst_free", free),
            ("rate_small_printed", printed),
        ]),
        Statement {
            id: "faber.rst-processing",
            place: "Comparison of Methods",
            text: "The performance of our TCP modification will also be limited by how efficiently \
                   hosts process RST packets. Hosts that incur a high overhead to handling RSTs, or \
                   delay processing them, will not perform as well",
        }
        .untested(
            "A cost at the bottleneck lowers the rate; in the model no run could show otherwise. How \
             much an RST cost SunOS is not printed.",
        )
        .showing(&[("rate_small_rst_2_74_ms", charged), ("rate_small_rst_free", free)]),
        Statement {
            id: "faber.look-ups-explain-table-2",
            place: "TIME_WAIT state and its effects; Table 2",
            text: "This process can be slowed when the TCB list is full of TIME_WAIT TCBs",
        }
        .judged(
            [measured("entries_per_lookup", entries[0])
                .above(10.0 * entries[1], Ours("slowed: ten times the entries"))
                .control("without TIME-WAIT", entries[1])],
            "Entries that a look-up examines with Table 2's load, which the fitted costs hardly change. Of \
             Table 2's gain of 52 % it explains a part only: with Table 1's cost for each entry the \
             rate rises by 18 % without TIME-WAIT, because a connection in use is newer than nearly \
             all in TIME-WAIT and its entry comes first in the list. The gain needs 2.24 us per \
             entry, four times Table 1's 0.56 us. Table 1 determines only the product of this cost \
             and the share of lookups that miss the cache, half in our runs: with an eighth, one \
             cost would reproduce both tables.",
        )
        .showing(&[
            ("gain_pct", (rates[1] / rates[0] - 1.0) * 100.0),
            ("rate_unmodified", rates[0]),
            ("rate_without_time_wait", rates[1]),
        ]),
    ])
}

fn sixty_connections(studies: &Studies) -> Result<Claim, ReproduceError> {
    let limit = |users: &str| studies.limit.value(refused, users);
    Ok(Statement {
        id: "faber.60-connections-a-second",
        place: "TIME_WAIT state and its effects",
        text: "A SPARCStation 20/71 under SunOS 4.1.3 on a 640 Mb/sec Myrinet cannot support more \
               than 60 connections/sec",
    }
    .fitted(
        "the server's memory, on this sentence",
        "The runs show that the simulated server has this limit, not that SunOS had it.",
    )
    .showing(&[
        ("refused_at_55", limit("550")?),
        ("refused_at_60", limit("600")?),
        ("refused_at_65", limit("650")?),
    ]))
}

fn lists(studies: &Studies) -> Result<Vec<Claim>, ReproduceError> {
    let turned_away = |case: &str| studies.small.value(refused, case);
    let files = |case: &str| studies.small.value(file_rate, case);
    let waits = |case: &str| studies.small.value(client_time_wait, case);
    let swapped = turned_away(SWAPPED)?;
    let collapse = |name, case| {
        Ok::<_, ReproduceError>(
            measured(name, turned_away(case)?)
                .above(0.0, Ours("collapse: any connection is refused"))
                .control("the TCP modification", swapped),
        )
    };
    let by_reset = "closed by RST";
    Ok(vec![
        Statement {
            id: "faber.other-lists-still-collapse",
            place: "Other Proposed Solutions",
            text: "These approaches improve system response until the server collapses due to lack \
                   of free mbufs; our approach of removing the TIME_WAIT state from the server \
                   eliminates this cause of server collapse",
        }
        .judged(
            [
                measured("rate_time_wait_last_four_times_memory", files(LAST_MORE)?)
                    .above_run("rate_linear_four_times_memory", files("four times the memory")?),
                collapse("refused_time_wait_last", "TIME_WAIT last")?,
                collapse("refused_hash", "hash")?,
            ],
            "TIME-WAIT at the end of the list, and a hash table. Response with memory enough, where \
             nothing is refused; collapse with the same memory.",
        ),
        Statement {
            id: "faber.rst-or-another-queue",
            place: "Conclusions",
            text: "Most other solutions, such as ending connections with an RST or moving TIME_WAIT \
                   TCBs to other internal queues at the server, either break transport behavior, \
                   or do not address the memory load problem directly",
        }
        .judged(
            [
                measured("client_time_wait_if_closed_by_rst", waits(by_reset)?)
                    .below(1.0, Ours("no end waits: transport behaviour is broken"))
                    .control("the TCP modification", waits(SWAPPED)?),
                collapse("refused_time_wait_last", "TIME_WAIT last")?,
            ],
            "The RST frees the server's memory as the swap does, but then neither end is in \
             TIME-WAIT. No segment arrives late here, so nothing is damaged: docs/time-wait.md shows \
             old data delivered in a tenth of the cases.",
        )
        .showing(&[
            ("kib", studies.small.value(server_memory, "unmodified")?),
            ("kib_closed_by_rst", studies.small.value(server_memory, by_reset)?),
            ("refused_closed_by_rst", turned_away(by_reset)?),
        ]),
    ])
}

const SWAPPED: &str = "16 files a connection, TCP modification";
const LAST_MORE: &str = "TIME_WAIT last, four times the memory";

fn memory(studies: &Studies) -> Result<Vec<Claim>, ReproduceError> {
    let turned_away = |case: &str| studies.small.value(refused, case);
    let files = |case: &str| studies.small.value(file_rate, case);
    let plain = turned_away("unmodified")?;
    Ok(vec![
        Statement {
            id: "faber.more-memory-only-raises-the-limit",
            place: "Other Proposed Solutions",
            text: "Allocating more memory to system mbufs or reducing the amount of data cached per \
                   connection allows servers to function under a higher load before collapsing. \
                   The servers' performance will continue to degrade",
        }
        .judged(
            [
                measured("refused_twice_memory", turned_away("twice the memory")?)
                    .below_run("refused", plain),
                measured("refused_one_mbuf", turned_away("record of one mbuf")?)
                    .below_run("refused", plain),
                measured("rate_four_times_memory", files("four times the memory")?)
                    .below_run("rate_four_times_memory_time_wait_last", files(LAST_MORE)?),
            ],
            "The same clients get fewer files per second than from a list that skips TIME-WAIT, with \
             the same memory: the difference is the degradation. Its amount rests on the fitted \
             cost of an entry, that there is one does not.",
        ),
        Statement {
            id: "faber.persistent-is-like-more-memory",
            place: "Other Proposed Solutions",
            text: "the use of persistent connections is similar to adding more memory to servers: \
                   servers can support a larger load before the effect becomes noticeable, but \
                   performance eventually degrades. Servers supporting persistent connections ... \
                   will benefit from our modifications",
        }
        .judged(
            [
                measured("refused_4_files", turned_away("4 files a connection")?)
                    .below_run("refused_1_file", plain),
                measured("files_per_s_16_files_tcp", files(SWAPPED)?)
                    .above_run("files_per_s_16_files", files("16 files a connection")?),
            ],
            "The server closes after the last file of a connection. With 16 files a connection its \
             TIME-WAIT costs 3 % of the files: the degradation that the modification takes away.",
        ),
    ])
}

fn incremental(studies: &Studies) -> Result<Claim, ReproduceError> {
    let held = |case: &str| studies.share.value(server_memory, case);
    let mut tests = Vec::new();
    for (measure, case, name, before) in [
        ("kib_25_pct", "25 %", "kib_0_pct", "0 %"),
        ("kib_50_pct", "50 %", "kib_25_pct", "25 %"),
        ("kib_75_pct", "75 %", "kib_50_pct", "50 %"),
        ("kib_100_pct", "100 %, 2 hosts", "kib_75_pct", "75 %"),
    ] {
        tests.push(measured(measure, held(case)?).below_run(name, held(before)?));
    }
    Ok(Statement {
        id: "faber.incremental-deployment",
        place: "Our Proposed Solutions",
        text: "The TCP modifications require only client side changes, and can be deployed \
               incrementally",
    }
    .judged(
        tests,
        "Only the clients' TCP differs; the server's memory falls with each share of modified \
         clients, in steps of a quarter.",
    ))
}

fn clients_suffer(studies: &Studies) -> Result<Claim, ReproduceError> {
    let rate = |case: &str| studies.share.value(connection_rate, case);
    let waits = |case: &str| studies.share.value(client_time_wait, case);
    Ok(Statement {
        id: "faber.clients-suffer",
        place: "Initial Implementation",
        text: "the TCB load of the server host is spread across only two client hosts rather than \
               the hundreds that would share the load in a real system. The clients suffer some \
               performance degradation due to the accumulating TCBs, much as the server does in \
               the unmodified system",
    }
    .untested(
        "The paper prints neither what a client's work costs nor its memory. The load is spread as \
         said. Here a client does nothing but look up and wait for the busy server, so that two \
         hosts are as fast as 40, also with the server's own memory and cost of an entry, and with ten \
         times that cost.",
    )
    .showing(&[
        ("rate_2_hosts", rate("100 %, 2 hosts")?),
        ("rate_40_hosts", rate("100 %, 40 hosts")?),
        ("rate_2_hosts_server_costs", rate("100 %, 2 hosts, dear look-ups")?),
        ("rate_40_hosts_server_costs", rate("100 %, 40 hosts, dear look-ups")?),
        ("rate_2_hosts_ten_times", rate("100 %, 2 hosts, dearer look-ups")?),
        ("rate_40_hosts_ten_times", rate("100 %, 40 hosts, dearer look-ups")?),
        ("time_wait_each_2_hosts", waits("100 %, 2 hosts")?),
        ("time_wait_each_40_hosts", waits("100 %, 40 hosts")?),
        ("time_wait_each_200_hosts", waits("100 %, 200 hosts")?),
    ]))
}

fn rst_lost(studies: &Studies) -> Result<Claim, ReproduceError> {
    let of = |measure, case: &str| studies.rst_lost.value(measure, case);
    let waits = Ours("one entry of 256 bytes is there");
    Ok(Statement {
        id: "faber.rst-lost",
        place: "Transport Level (TCP) Solution",
        text: "If the client RST is lost, both server and client remain in TIME_WAIT state, which \
               also ensures correct behavior and is equivalent to a simultaneous close in the \
               current protocol",
    }
    .judged(
        [
            measured("server_kib", of(server_memory, "RST lost")?)
                .above(0.0, waits)
                .control("the RST arrives", of(server_memory, "RST arrives")?),
            measured("client_kib", of(client_memory, "RST lost")?)
                .above(0.0, waits)
                .control("unmodified", of(client_memory, "unmodified")?),
        ],
        "One connection, whose fourth packet from the client is dropped; what the tables hold \
         afterwards. That an end in TIME-WAIT rejects old data is not tried here: \
         docs/time-wait.md.",
    ))
}
