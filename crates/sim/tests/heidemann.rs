//! The page of Heidemann 1997 over its Ethernet: how often it stalls (Table 1).

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod scenarios;

use std::time::Duration;

use ackwise_cause::Cause;
use ackwise_http::{Behaviour, behaviour::HeadFlush, page::Transfer};
use ackwise_sim::{Nobody, run};
use scenarios::ethernet;

/// Apache 1.1b4, with the times of Figure 2.
const APACHE: Behaviour = Behaviour {
    think: Duration::from_micros(2_175),
    think_after_head: Duration::from_micros(1_626),
    think_between_writes: Duration::from_micros(1_626),
    ..Behaviour::PAPER_1996
};

#[test]
fn each_fix_removes_its_stalls_and_they_have_their_names() {
    let first = Behaviour { head_flush: HeadFlush::Joined, ..APACHE };
    let both = Behaviour { nagle: Behaviour::FIXED.nagle, ..first };
    // Stalls of a page: at the first segment, and at an odd or short last one (section 2).
    for (behaviour, initial, last) in [(APACHE, 1, 2), (first, 0, 1), (both, 0, 0)] {
        let mut scenario = ethernet(Transfer::Persistent, behaviour);
        scenario.watch_causes = true;
        let measures = run(&scenario, &mut Nobody).unwrap();
        let web = &measures.applications["web"];
        assert_eq!((web.documents, web.files, web.connections_failed), (100, 300, 0));

        let mean = web.mean_time().unwrap();
        let ticks = 200 * (initial + last);
        let (least, most) = (ticks.max(20), ticks + 30);
        assert!(within(mean, least, most), "{ticks} ms of ticks, but a page takes {mean:?}");

        let blamed = |cause| measures.causes.get(&cause).copied().unwrap_or_default() / 100;
        for (cause, stalls) in
            [(Cause::ShortInitialSegment, initial), (Cause::NagleDelayedAck, last)]
        {
            let span = blamed(cause);
            assert!(within(span, 170 * stalls, 200 * stalls), "{cause}: {span:?}, {stalls} stalls");
        }
        let all: Duration = measures.causes.values().sum();
        assert_eq!(all, web.times.iter().sum(), "every moment has one cause");
    }
}

fn within(span: Duration, least: u64, most: u64) -> bool {
    (Duration::from_millis(least)..=Duration::from_millis(most)).contains(&span)
}
