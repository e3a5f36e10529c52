//! Linux's Reno (`tcp_reno_cong_avoid`, `tcp_reno_ssthresh` in `net/ipv4/tcp_cong.c`): RFC 5681's windows,
//! but cwnd opens by all that was delivered, however many ACKs tell of it, and a loss halves cwnd and not
//! what was outstanding.

use super::{Acked, NewReno};

pub(super) fn on_ack(control: &mut NewReno, acked: Acked) {
    if !control.window.was_used(acked) {
        return;
    }
    let left = control.window.slow_start(acked.delivered);
    if left > 0 {
        control.avoid_congestion(left);
    }
}

pub(super) fn on_loss(control: &mut NewReno, scoreboard: bool) {
    control.on_loss(control.window.congestion, scoreboard);
}

/// ssthresh is held during a recovery, which has reduced it for the same window (`tcp_enter_loss`).
pub(super) fn on_timeout(control: &mut NewReno, first: bool) {
    let reduces = first && !control.window.in_recovery();
    control.on_timeout(control.window.congestion, reduces);
}
