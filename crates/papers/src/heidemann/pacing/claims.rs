//! What the papers say of pacing, and of how often a restart happens.

use super::{
    Pacing, cut_pct, drop_pct, page_ms,
    region::{BANDWIDTH_DELAY, Point, ROUND_TRIP_MS, Region},
    transfer_kbps, value,
};
use crate::{
    ReproduceError,
    claim::{Claim, Statement},
    verdict::{Source::Ours, cases, measured},
};

/// All of them.
pub(in crate::heidemann) fn claims(pacing: &Pacing) -> Result<Vec<Claim>, ReproduceError> {
    Ok(vec![
        reading(pacing)?,
        bursts_cost(pacing)?,
        balance(pacing)?,
        first_ack(pacing)?,
        paced_start(pacing)?,
    ])
}

/// What a burst that does not fit the buffer costs its own connection, and others.
fn bursts_cost(pacing: &Pacing) -> Result<Claim, ReproduceError> {
    let ratio = |buffer| -> Result<f64, ReproduceError> {
        let at = Point { window: 14, reply: 120, buffer };
        let time = |policy| Ok::<_, ReproduceError>(pacing.region.given(at, policy)?.page_ms);
        Ok(time("keep")? / time("restart")?)
    };
    let shared = |policy: &str| {
        value(&pacing.competing, transfer_kbps, &[("buffer", "10"), ("policy", policy)])
    };
    Ok(Statement {
        id: "heidemann.bursts-cost",
        place: "section 2.4",
        text: "bursty traffic can result in packet loss due to router queue overflow, possibly \
               resulting in poorer performance overall (both for the P-HTTP connection and for other \
               traffic)",
    }
    .judged(
        [
            measured("kept_by_restarted_time", ratio(3)?)
                .above(1.0, Ours("poorer than a restart"))
                .control("a buffer that holds the window", ratio(40)?),
            measured("shared_keep_transfer_kbps", shared("keep")?)
                .below_run("shared_restart_transfer_kbps", shared("restart")?),
        ],
        "Possibly: one case of each. The connection: a window of 14 segments, a reply of 120, a buffer of \
         three packets. With most other buffers a kept window is faster than a restart even where it \
         loses (restart_region). Other traffic: a long transfer beside ten users.",
    ))
}

/// Pacing needs a rate, of which a new connection knows nothing.
fn paced_start(pacing: &Pacing) -> Result<Claim, ReproduceError> {
    let drops = |rate: &str| {
        let case = [("rate_mbps", rate), ("window", "20"), ("start", "paced")];
        value(&pacing.starts, drop_pct, &case)
    };
    let known = drops("2.4")?;
    let lost = |name: &str, rate| -> Result<_, ReproduceError> {
        Ok(measured(name, drops(rate)?)
            .above(1.0, Ours("difficult: more than 1 % is lost though it is paced"))
            .control("a path that holds the window", known))
    };
    Ok(Statement {
        id: "heidemann.paced-start",
        place: "section 2.4",
        text: "rate-based flow-control is difficult to use for new TCP connections because network \
               conditions are unknown",
    }
    .judged(
        [lost("drop_pct_half_the_rate", "1.2")?, lost("drop_pct_quarter_of_the_rate", "0.6")?],
        "A first window of 20 segments, paced over the first round trip, is what the path of 2.4 Mb/s \
         holds, and its buffer holds eight. The same window on slower paths: it is the guess that is \
         wrong, not the burst.",
    ))
}

/// The premise of heidemann.restart-mid-stream, and what follows from it for three kinds of readers.
fn reading(pacing: &Pacing) -> Result<Claim, ReproduceError> {
    let cut = |reads: &str, server: &str| {
        value(&pacing.links, cut_pct, &[("reads", reads), ("server", server)])
    };
    let said = Statement {
        id: "heidemann.users-read-longer-than-the-timeout",
        place: "section 2.4",
        text: "users nearly always spend more than the retransmission time-out browsing a given page",
    };
    Ok(said
        .untested(
        "It is about users, who are an input. The numbers are the links that begin with a smaller \
         window than the last page ended with: by the papers' rule (nothing sent for one timeout) \
         and \"nearly always\" with RFC 2415's readers (1 to 5 s) and after ten seconds, but not \
         with SURGE's, of whom half read for less than 1.6 s. 4.4BSD, whose code the papers cite, \
         counts from the last segment received, and the request is one: about 1 %, which are \
         losses.",
        )
        .showing(&[
        ("papers_rule_surge_pct", cut("surge", "papers-rule")?),
        ("papers_rule_rfc_2415_pct", cut("rfc-2415", "papers-rule")?),
        ("papers_rule_10_s_pct", cut("10-s", "papers-rule")?),
        ("bsd_4_4_surge_pct", cut("surge", "4.4bsd")?),
        ("bsd_4_4_rfc_2415_pct", cut("rfc-2415", "4.4bsd")?),
        ("bsd_4_4_10_s_pct", cut("10-s", "4.4bsd")?),
        ("rfc_5681_surge_pct", cut("surge", "rfc-5681")?),
        ("linux_6_surge_pct", cut("surge", "linux-6")?),
    ]))
}

/// What the region shows.
#[derive(Clone, Copy, Debug, Default)]
struct Balance {
    places: u32,
    /// The longest time, in times what keeping the window takes without loss.
    slowest: f64,
    slowest_restart: f64,
    /// The most round trips more than that, with small windows.
    round_trips: f64,
    round_trips_restart: f64,
    /// The most drops beyond those of a restart.
    drops_pct: f64,
    drops_keep_pct: f64,
    /// The same beyond where the window has no room.
    drops_without_room_pct: f64,
    /// Of the places without room, those where pacing is faster than both others, and drops less than
    /// half of what a kept window does.
    better_without_room: u32,
    without_room: u32,
    /// Where it is faster than the restart.
    faster_than_restart: u32,
    /// Where keeping the window loses packets, and pacing is faster.
    faster_than_keep: u32,
    keep_loses: u32,
}

impl Balance {
    /// Buffers of four packets and more, replies of three windows and more.
    fn of(region: &Region) -> Result<Self, ReproduceError> {
        let mut found = Self::default();
        let places = Point::all().filter(|at| at.buffer >= 4 && at.reply >= 3 * at.window);
        for at in places {
            let [keep, restart, paced] = [
                region.given(at, "keep")?,
                region.given(at, "restart")?,
                region.given(at, "paced")?,
            ];
            let beyond_restart = paced.drop_pct - restart.drop_pct;
            if !at.fits() {
                found.drops_without_room_pct = found.drops_without_room_pct.max(beyond_restart);
                found.without_room += 1;
                let faster = paced.page_ms < restart.page_ms.min(keep.page_ms);
                found.better_without_room +=
                    u32::from(faster && paced.drop_pct < 0.5 * keep.drop_pct);
                continue;
            }
            let without_loss = region.without_loss(at)?.page_ms;
            found.places += 1;
            found.drops_pct = found.drops_pct.max(beyond_restart);
            found.drops_keep_pct = found.drops_keep_pct.max(keep.drop_pct - restart.drop_pct);
            if 10 * at.window >= 7 * BANDWIDTH_DELAY {
                found.slowest = found.slowest.max(paced.page_ms / without_loss);
                found.slowest_restart = found.slowest_restart.max(restart.page_ms / without_loss);
            } else {
                let more = |page_ms: f64| (page_ms - without_loss) / ROUND_TRIP_MS;
                found.round_trips = found.round_trips.max(more(paced.page_ms));
                found.round_trips_restart = found.round_trips_restart.max(more(restart.page_ms));
            }
            found.faster_than_restart += u32::from(paced.page_ms < restart.page_ms);
            found.keep_loses += u32::from(keep.drop_pct > 0.0);
            found.faster_than_keep +=
                u32::from(keep.drop_pct > 0.0 && paced.page_ms < keep.page_ms);
        }
        Ok(found)
    }
}

fn balance(pacing: &Pacing) -> Result<Claim, ReproduceError> {
    let found = Balance::of(&pacing.region)?;
    let shared = |measure: fn(&_) -> _, policy: &str| {
        value(&pacing.competing, measure, &[("buffer", "10"), ("policy", policy)])
    };
    let halved = |policy: &str| {
        let case = [("rate_after_mbps", "1.2"), ("buffer", "10"), ("policy", policy)];
        value(&pacing.stale, page_ms, &case)
    };
    let [keep_shared, paced_shared] =
        [shared(transfer_kbps, "keep")?, shared(transfer_kbps, "paced")?];
    let said = Statement {
        id: "heidemann.rate-based-pacing",
        place: "section 2.4",
        text: "A rate-based algorithm for mid-stream re-starts provides a good balance between \
               the desires for good HTTP performance and steady packet traffic",
    };
    let near = "as good as a kept window that loses nothing, give or take 10 %";
    let trip = "small windows: one round trip more at most";
    let steady = "as steady as a restart, give or take 0.1 %";
    Ok(said
        .judged(
            [
                measured("slowest_by_keep_without_loss", found.slowest)
                    .below(1.1, Ours(near))
                    .control("restart", found.slowest_restart),
                measured("small_windows_round_trips_more", found.round_trips)
                    .below(1.0, Ours(trip))
                    .control("restart", found.round_trips_restart),
                measured("drops_beyond_restart_pct", found.drops_pct)
                    .below(0.1, Ours(steady))
                    .control("the window kept", found.drops_keep_pct),
                cases("faster_than_restart", found.faster_than_restart, found.places).every(),
                cases("better_without_room", found.better_without_room, found.without_room).every(),
                cases("faster_than_a_kept_window_that_loses", found.faster_than_keep, found.keep_loses)
                    .every(),
                measured("shared_paced_transfer_kbps", paced_shared)
                    .above_run("shared_keep_transfer_kbps", keep_shared),
            ],
        "Buffers of four packets and more, replies of three windows and more, windows that have \
         room on the path and in the buffer: pacing must be within 10 % of keeping the window \
         without loss (small windows: one round trip more), faster than a restart and than a kept \
         window that loses, with at most 0.1 % more drops than a restart; beside a long transfer, \
         that must get more than with kept windows. From a window without room pacing loses, \
         too, and more than 0.1 % (two cells): there it must be faster than both others and drop less than \
         half of what a kept window does. The papers print n/t seconds between packets when n packets take t; it must be t/n.",
        )
        .showing(&[
            ("cases", found.places.into()),
            ("without_room_drops_beyond_restart_pct", found.drops_without_room_pct),
            ("shared_keep_page_ms", shared(page_ms, "keep")?),
            ("shared_restart_page_ms", shared(page_ms, "restart")?),
            ("shared_paced_page_ms", shared(page_ms, "paced")?),
            ("halved_path_restart_ms", halved("restart")?),
            ("halved_path_paced_ms", halved("paced")?),
        ]))
}

fn first_ack(pacing: &Pacing) -> Result<Claim, ReproduceError> {
    let drops =
        |policy: &str| value(&pacing.requests, drop_pct, &[("buffer", "12"), ("policy", policy)]);
    let [ack, arrival] = [drops("first-ack")?, drops("first-arrival")?];
    let [keep, restart] = [drops("keep")?, drops("restart")?];
    let said = Statement {
        id: "heidemann.pacing-until-the-first-ack",
        place: "1997, section 2.4",
        text: "Upon receipt of the first ACK of a rate-based packet we would resume TCP's normal \
               ACK-clocked flow-control",
    };
    Ok(said
        .judged(
            [
                measured("until_first_ack_drop_pct", ack)
                    .below_run("until_first_arrival_drop_pct", arrival),
                measured("until_first_ack_drop_pct", ack).below_run("keep_drop_pct", keep),
            ],
        "A rule, tested by its alternative: ns-2's code ends the pacing with anything that arrives, \
         so a request that comes meanwhile releases the rest of the window as a burst.",
        )
        .showing(&[("restart_drop_pct", restart)]))
}
