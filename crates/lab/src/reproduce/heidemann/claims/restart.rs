//! Section 2.4: the slow-start re-start problem.

use super::{Claim, ReproduceError, Runs, Statement};
use crate::reproduce::{
    claim::Holds,
    heidemann::studies::{drops, later_page_ms, longest_burst},
    study::page_ms,
};

pub(super) fn claims(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = restarts(runs)?;
    claims.extend(remedies(runs)?);
    claims.extend(not_here());
    claims.push(sharing(runs)?);
    Ok(claims)
}

fn restarts(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let later = |restart: &str| {
        let case = [("queue_packets", "100"), ("idle_s", "10"), ("restart", restart)];
        runs.studies.restart.value(later_page_ms, &case)
    };
    let [keep, send, receive] = [later("keep")?, later("since-send")?, later("since-receive")?];
    let numbers = [
        ("keep_ms", keep),
        ("restart_after_idle_send_ms", send),
        ("restart_after_idle_receive_ms", receive),
    ];
    Ok(vec![
        Statement {
            id: "heidemann.restart-mid-stream",
            place: "section 2.4",
            text: "P-HTTP will nearly always slow-start when the user follows a link",
        }
        .tested(
            send > 1.5 * keep,
            &numbers,
            "True if idle time counts from the last data sent, as the papers say. The code that \
             they cite counts from the last segment received, and the request is one.",
        ),
        Statement {
            id: "heidemann.4.4bsd-restarts",
            place: "section 2.4",
            text: "4.4BSD, FreeBSD 2.1, and Linux 2.0 will reset the congestion window",
        }
        .tested(
            receive > 1.5 * keep,
            &numbers,
            "4.4BSD's t_idle is cleared by each segment that arrives, so a request that fits into \
             one prevents the restart (draft-ietf-tcpimpl-restart says so, too). The papers: \
             \"not yet experimentally verified\".",
        ),
        Statement {
            id: "heidemann.sunos-keeps",
            place: "section 2.4",
            text: "SunOS 4.x does not reduce the congestion window except due to packet loss",
        }
        .tested(
            Holds::NotTestable,
            &numbers[..2],
            "An input: the preset keeps the window. The numbers show its effect on a page of 14 \
             KB over 1 Mb/s and 90 ms.",
        ),
    ])
}

fn remedies(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let of = |measure, queue: &str, idle: &str, restart: &str| {
        let case = [("queue_packets", queue), ("idle_s", idle), ("restart", restart)];
        runs.studies.restart.value(measure, &case)
    };
    let burst = of(longest_burst, "100", "10", "keep")?;
    let [kept, restarted] = [of(drops, "10", "10", "keep")?, of(drops, "10", "10", "since-send")?];
    let later = |idle, restart| of(later_page_ms, "100", idle, restart);
    let [decay, restart] = [later("2", "decay")?, later("2", "since-send")?];
    let [decay_long, restart_long] = [later("10", "decay")?, later("10", "since-send")?];
    Ok(vec![
        Statement {
            id: "heidemann.keeping-bursts",
            place: "section 2.4",
            text: "This approach ... will send a burst of up to a full window of packets. In an \
                   internetwork, bursty traffic can result in packet loss",
        }
        .tested(
            burst >= 28.0 && kept > 0.0 && restarted == 0.0,
            &[("longest_burst", burst), ("drops_kept", kept), ("drops_restarted", restarted)],
            "Pages of 28 segments; the drops are those of a queue of 10 packets.",
        ),
        Statement {
            id: "heidemann.decay",
            place: "section 2.4",
            text: "decay the congestion window over time rather than reset it to one. This \
                   approach improves P-HTTP performance",
        }
        .tested(
            decay < restart,
            &[
                ("decay_after_2_s_ms", decay),
                ("restart_after_2_s_ms", restart),
                ("decay_after_10_s_ms", decay_long),
                ("restart_after_10_s_ms", restart_long),
            ],
            "With Linux's decay, which halves the window for each timeout that passes: it helps a \
             user who reads for two seconds; after ten seconds nothing is left.",
        ),
    ])
}

fn not_here() -> [Claim; 2] {
    [
        Statement {
            id: "heidemann.close-idle-connections",
            place: "section 2.4",
            text: "application-level protocols could implement this algorithm by closing \
                   connections ... This approach also limits the performance advantage of \
                   persistent connections",
        }
        .untested(
            "This is an argument; none of our behaviours closes after one retransmission timeout.",
        ),
        Statement {
            id: "heidemann.stevens-says-rtt",
            place: "section 2.4",
            text: "Stevens ... states that the idle time is one round-trip time rather than the \
                   retransmission time-out",
        }
        .untested("This is about a book. 4.4BSD's code compares with t_rxtcur, the timeout."),
    ]
}

fn sharing(runs: &Runs) -> Result<Claim, ReproduceError> {
    let of = |connections: &str, sharing: &str| {
        let case = [("connections", connections), ("sharing", sharing)];
        runs.studies.sharing.value(page_ms, &case)
    };
    let numbers = [
        ("serial_alone_ms", of("serial", "off")?),
        ("serial_temporal_ms", of("serial", "temporal")?),
        ("parallel_alone_ms", of("parallel", "off")?),
        ("parallel_ensemble_ms", of("parallel", "ensemble")?),
    ];
    let said = Statement {
        id: "heidemann.sharing",
        place: "section 2.4",
        text: "the question of how to initialize or reset TCP status information over time and \
               space arises not only when a connection goes idle, but also when initiating new \
               connections in parallel or serial",
    };
    let arises = numbers[1].1 < 0.9 * numbers[0].1 && numbers[3].1 < numbers[2].1;
    Ok(said.tested(
        arises,
        &numbers,
        "The state that a new connection inherits from the last one (serial) or from its \
         neighbours (parallel) determines its first round trips.",
    ))
}
