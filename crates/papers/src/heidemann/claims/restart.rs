//! Section 2.4: the slow-start re-start problem.

use super::{Claim, ReproduceError, Runs, Statement};
use crate::{
    heidemann::studies::{drops, later_page_ms, longest_burst},
    runner::Outcome,
    stalls::Stalls,
    study::{Studied, page_ms, times_ms},
    verdict::{Source::Ours, cases, measured},
};

pub(super) fn claims(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = restarts(runs)?;
    claims.extend(remedies(runs)?);
    claims.push(not_here());
    claims.extend(closing(runs)?);
    claims.push(sharing(runs)?);
    Ok(claims)
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn restarts(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let idle = Idle { runs };
    let [keep, send, receive] = [
        idle.later_ms("keep", AT_ONCE)?,
        idle.later_ms("since-send", AT_ONCE)?,
        idle.later_ms("since-receive", AT_ONCE)?,
    ];
    let [slow_keep, slow_receive] =
        [idle.later_ms("keep", SLOW)?, idle.later_ms("since-receive", SLOW)?];
    let (restarted, pages) = idle.slow_starts(&runs.studies.idle, &[("server", AT_ONCE)])?;
    let read = [("queue_packets", "100"), ("idle_s", "2")];
    let long = idle.slow_starts(&runs.studies.restart, &read)?;
    Ok(vec![
        Statement {
            id: "heidemann.restart-mid-stream",
            place: "1997, section 2.4",
            text: "since users nearly always spend more than the retransmission time-out browsing \
                   a given page, P-HTTP will nearly always slow-start when the user follows a link",
        }
        .judged(
            [
                cases("pages_that_slow_start", long.0, long.1).every(),
                measured("later_page_ms", idle.read_ms("since-send")?)
                    .above(1.5 * idle.read_ms("keep")?, Ours("slow start: half as much again"))
                    .control("the window kept", idle.read_ms("keep")?),
                measured("later_page_ms", idle.read_ms("since-send")?)
                    .above(1.5 * idle.read_ms("keep")?, Ours("slow start: half as much again"))
                    .control("4.4BSD's own clock: idle since receive", idle.read_ms("since-receive")?),
            ],
            "On the papers' premise, with users who read for 2 s, and by the papers' rule, which \
             counts idle time from the last data sent. That users read for longer than the time-out \
             is not tested: of SURGE's users, who read for 1 s or more, only those counted do. By \
             the code that the papers cite, which counts from the last segment received, no page \
             slow-starts: see heidemann.4.4bsd-restarts. The papers have \"not yet experimentally \
             verified\" it.",
        )
        .showing(&[
            ("pages_that_slow_start_surge", restarted.into()),
            ("pages_surge", pages.into()),
        ]),
        Statement {
            id: "heidemann.4.4bsd-restarts",
            place: "section 2.4",
            text: "4.4BSD, FreeBSD 2.1, and Linux 2.0 will reset the congestion window",
        }
        .untested(
            "It is about the source code of three systems, none of which is here, and it depends \
             on the server whether a page shows it. 4.4BSD's t_idle is cleared by each segment \
             that arrives (draft-ietf-tcpimpl-restart says so, too): a server that answers a \
             request at once never restarts, one that looks for its answer for longer than a \
             retransmission time-out does.",
        )
        .showing(&[
            ("keep_ms_server_at_once", keep),
            ("since_receive_ms_server_at_once", receive),
            ("since_send_ms_server_at_once", send),
            ("keep_ms_server_after_3_s", slow_keep),
            ("since_receive_ms_server_after_3_s", slow_receive),
        ]),
        Statement {
            id: "heidemann.sunos-keeps",
            place: "section 2.4",
            text: "SunOS 4.x does not reduce the congestion window except due to packet loss",
        }
        .untested("It is about source code that is not here; the preset keeps the window.")
        .showing(&[("keep_ms", keep), ("restart_after_idle_send_ms", send)]),
    ])
}

/// The study of a user who reads.
struct Idle<'a> {
    runs: &'a Runs,
}

impl Idle<'_> {
    fn later_ms(&self, restart: &str, server: &str) -> Result<f64, ReproduceError> {
        let case = [("restart", restart), ("server", server)];
        self.runs.studies.idle.value(later_page_ms, &case)
    }

    /// With users who read for 2 s.
    fn read_ms(&self, restart: &str) -> Result<f64, ReproduceError> {
        let case = [("queue_packets", "100"), ("idle_s", "2"), ("restart", restart)];
        self.runs.studies.restart.value(later_page_ms, &case)
    }

    /// Pages after the first that took half as long again as the fastest page with a kept window, and
    /// how many there were, in the case of a study.
    fn slow_starts(
        &self,
        studied: &Studied,
        case: &[(&str, &str)],
    ) -> Result<(u32, u32), ReproduceError> {
        let times = |restart| {
            let wanted = |outcome: &&Outcome<Stalls>| {
                outcome.matches(case) && outcome.matches(&[("restart", restart)])
            };
            let found = studied.outcomes.iter().find(wanted).map(times_ms);
            found.ok_or_else(|| ReproduceError::NoCase { case: format!("{case:?} {restart}") })
        };
        let fastest = times("keep")?.into_iter().fold(f64::MAX, f64::min);
        let times = times("since-send")?;
        let later = times.get(1..).unwrap_or_default();
        let slow = later.iter().filter(|time| **time > 1.5 * fastest).count();
        let count = |many: usize| u32::try_from(many).unwrap_or(u32::MAX);
        Ok((count(slow), count(later.len())))
    }
}

/// Servers of the study.
const AT_ONCE: &str = "at once";
const SLOW: &str = "after 3 s";

fn remedies(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let of = |measure, queue: &str, idle: &str, restart: &str| {
        let case = [("queue_packets", queue), ("idle_s", idle), ("restart", restart)];
        runs.studies.restart.value(measure, &case)
    };
    let later = |idle, restart| of(later_page_ms, "100", idle, restart);
    let burst = |restart| of(longest_burst, "100", "2", restart);
    Ok(vec![
        Statement {
            id: "heidemann.keeping-bursts",
            place: "section 2.4",
            text: "This approach improves P-HTTP performance by avoiding additional slow-starts, \
                   but will send a burst of up to a full window of packets. In an internetwork, \
                   bursty traffic can result in packet loss",
        }
        .judged(
            [
                measured("later_page_ms_kept", later("10", "keep")?)
                    .below_run("later_page_ms_restarted", later("10", "since-send")?),
                measured("longest_burst", of(longest_burst, "100", "10", "keep")?)
                    .above(27.0, Ours("all 28 segments of a page, which the window holds"))
                    .control("restarted", of(longest_burst, "100", "10", "since-send")?),
                measured("drops", of(drops, "10", "10", "keep")?)
                    .above(0.0, Ours("any loss"))
                    .control("restarted", of(drops, "10", "10", "since-send")?),
            ],
            "The drops are those of a queue of 10 packets.",
        ),
        Statement {
            id: "heidemann.decay",
            place: "section 2.4",
            text: "decay the congestion window over time rather than reset it to one. This \
                   approach improves P-HTTP performance but can still result in packet bursts \
                   unless the window is capped at some value",
        }
        .judged(
            [
                measured("later_page_ms_decay", later("2", "decay")?)
                    .below_run("later_page_ms_restarted", later("2", "since-send")?),
                measured("longest_burst_decay", burst("decay")?)
                    .above_run("longest_burst_restarted", burst("since-send")?),
                measured("most_queued_capped", runs.pacing.most_queued("rfc-2861-cap-4")?)
                    .below_run("most_queued_uncapped", runs.pacing.most_queued("rfc-2861")?),
            ],
            "With Linux's decay, which halves the window for each timeout that passes, and the cap \
             with RFC 2861's, at four segments (restart_policies, buffer of 40); the papers \
             give no parameters (\"Determining parameters for this approach is difficult\"). After \
             two seconds it helps and bursts, and a queue of 10 packets drops one; after ten \
             seconds it is a restart.",
        )
        .showing(&[
            ("drops_decay", of(drops, "10", "2", "decay")?),
            ("decay_after_10_s_ms", later("10", "decay")?),
            ("restart_after_10_s_ms", later("10", "since-send")?),
        ]),
    ])
}

fn not_here() -> Claim {
    Statement {
        id: "heidemann.stevens-says-rtt",
        place: "section 2.4",
        text: "Stevens ... states that the idle time is one round-trip time rather than the \
               retransmission time-out",
    }
    .untested("This is about a book. 4.4BSD's code compares with t_rxtcur, the timeout.")
}

fn closing(runs: &Runs) -> Result<[Claim; 2], ReproduceError> {
    let idle = Idle { runs };
    let [keep, restart, closes] = [
        idle.later_ms("keep", AT_ONCE)?,
        idle.later_ms("since-send", AT_ONCE)?,
        idle.later_ms("closes", AT_ONCE)?,
    ];
    let [read_keep, read_restart] = [idle.read_ms("keep")?, idle.read_ms("since-send")?];
    // What a kept connection saves of a page on a new one, of what it could.
    let benefit = |time: f64| 100.0 * (closes - time) / (closes - read_keep);
    let third = Statement {
        id: "heidemann.third-reduces-benefits",
        place: "section 4",
        text: "the third can substantially reduce the performance benefits of P-HTTP",
    }
    .judged(
        [measured("benefit_pct_restarted", benefit(read_restart))
            .below(50.0, Ours("substantially: to less than half"))
            .control("the window kept", benefit(read_keep))],
        "What a page on a kept connection saves of the time on a new one, with users who read for 2 \
         s: restarted by the papers' rule, against kept. With SURGE's users, of whom a third follow \
         a link before the time-out, 47 % are left.",
    )
    .showing(&[("benefit_pct_restarted_surge", 100.0 * (closes - restart) / (closes - keep))]);
    let closed = Statement {
        id: "heidemann.close-idle-connections",
        place: "section 2.4",
        text: "application-level protocols could implement this algorithm by closing connections \
               after the appropriate length of time. Unfortunately, adjusting this time to network \
               behavior requires information (the round-trip estimate) not easily available to the \
               application. This approach also limits the performance advantage of persistent \
               connections",
    }
    .judged(
        [
            measured("later_page_ms_closes", closes)
                .above(1.5 * keep, Ours("as a restart: at least half as much again as kept"))
                .control("the window kept", keep),
            measured("later_page_ms_closes", closes).above_run("later_page_ms_restarts", restart),
        ],
        "A server that closes after 1 s of idleness, of which the user has at least that. It \
         slow-starts as a restart does, and adds the set-up of a connection. That a program does \
         not know the round-trip time is an argument.",
    )
    .showing(&[("later_page_ms_keeps", keep)]);
    Ok([closed, third])
}

fn sharing(runs: &Runs) -> Result<Claim, ReproduceError> {
    let of = |connections: &str, sharing: &str| {
        let case = [("connections", connections), ("sharing", sharing)];
        runs.studies.sharing.value(page_ms, &case)
    };
    let [serial, parallel] = [of("serial", "off")?, of("parallel", "off")?];
    let said = Statement {
        id: "heidemann.sharing",
        place: "section 2.4",
        text: "the question of how to initialize or reset TCP status information over time and \
               space arises not only when a connection goes idle, but also when initiating new \
               connections in parallel or serial",
    };
    Ok(said
        .judged(
            [
                measured("serial_temporal_ms", of("serial", "temporal")?)
                    .below(0.95 * serial, Ours("it matters: 5 % or more"))
                    .control("serial, nothing shared", serial),
                measured("parallel_ensemble_ms", of("parallel", "ensemble")?)
                    .below(0.95 * parallel, Ours("it matters: 5 % or more"))
                    .control("parallel, nothing shared", parallel),
            ],
            "Whether a question arises is whether its answer matters: the state that a new \
             connection inherits from the last one (serial) or from its neighbours (parallel) \
             determines its first round trips.",
        )
        .showing(&[("serial_alone_ms", serial), ("parallel_alone_ms", parallel)]))
}
