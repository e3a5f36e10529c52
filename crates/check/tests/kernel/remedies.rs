//! Remedies, applied: the finding goes. `remedy.rs` marks as tested what a test here has tried.

use ackwise_check::card::{CheckId, Verdict};
use ackwise_http::{
    Behaviour,
    behaviour::{HeadFlush, Nagle, Tail},
};

use super::server::finding;

#[test]
fn joining_head_and_body_removes_the_split() {
    let apart = Behaviour { head_flush: HeadFlush::Apart, ..Behaviour::FIXED };
    assert_eq!(finding(apart, "/500", CheckId::SplitHead).verdict, Verdict::Warn);
    let joined = Behaviour { head_flush: HeadFlush::Joined, ..apart };
    assert_eq!(finding(joined, "/500", CheckId::SplitHead).verdict, Verdict::Pass);
}

#[test]
fn turning_nagle_off_removes_the_stall() {
    let on = Behaviour::PAPER_1996;
    assert_eq!(finding(on, "/500", CheckId::NagleDelayedAck).verdict, Verdict::Fail);
    let off = Behaviour { nagle: Nagle::Off, ..on };
    assert_eq!(finding(off, "/500", CheckId::NagleDelayedAck).verdict, Verdict::Pass);
}

#[test]
fn removing_the_cork_removes_the_wait() {
    let corked = Behaviour { tail: Tail::Corked, ..Behaviour::FIXED };
    assert_eq!(finding(corked, "/3000", CheckId::CorkTimer).verdict, Verdict::Warn);
    let sent = Behaviour { tail: Tail::Sent, ..corked };
    assert_eq!(finding(sent, "/3000", CheckId::CorkTimer).verdict, Verdict::Pass);
}
