//! The page of Heidemann 1997 over its Ethernet: how often it stalls (Table 1).

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod scenarios;

use std::time::Duration;

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
fn each_fix_removes_its_stalls() {
    let first = Behaviour { head_flush: HeadFlush::Joined, ..APACHE };
    let both = Behaviour { nagle: Behaviour::FIXED.nagle, ..first };
    for (behaviour, stalls) in [(APACHE, 3), (first, 1), (both, 0)] {
        let scenario = ethernet(Transfer::Persistent, behaviour);
        let measures = run(&scenario, &mut Nobody).unwrap();
        let web = &measures.applications["web"];
        assert_eq!((web.documents, web.files, web.connections_failed), (100, 300, 0));
        let mean = web.mean_time().unwrap();
        eprintln!("{stalls} stalls: {mean:?}, {:?}", measures.work);
        let least = Duration::from_millis(200 * stalls).saturating_sub(Duration::from_millis(10));
        assert!(mean >= least && mean < least + Duration::from_millis(45), "{mean:?}");
    }
}
