//! What can be seen of an endpoint from outside, and what it counts for who asks.

use std::{sync::Arc, time::Duration};

use ackwise_tcp::{
    Config, DropReason, Endpoint, Instant, Policies, SeqNumber, Transmit, Wait, WindowShift,
    endpoint::RecoveryPhase,
};

const SEGMENT: u32 = 1_448;

/// A client that is connected to a server.
fn pair() -> (Endpoint, Endpoint) {
    pair_of(Policies::RFC)
}

fn pair_of(policies: Policies) -> (Endpoint, Endpoint) {
    let config = Arc::new(Config { receive_buffer: 200_000, ..Config::new(policies) });
    let now = Instant::EPOCH;
    let mut client = Endpoint::connect(Arc::clone(&config), SeqNumber(1), now);
    let mut server = Endpoint::listen(config, SeqNumber(2));
    assert_eq!(server.negotiated(), None);
    while let Some(transmit) = client.poll_transmit(now) {
        server.handle_segment(&transmit.segment, now);
        while let Some(transmit) = server.poll_transmit(now) {
            client.handle_segment(&transmit.segment, now);
        }
    }
    (client, server)
}

fn after(ms: u64) -> Instant {
    Instant::EPOCH + Duration::from_millis(ms)
}

fn leaving(endpoint: &mut Endpoint, now: Instant) -> Vec<Transmit> {
    std::iter::from_fn(|| endpoint.poll_transmit(now)).collect()
}

#[test]
fn both_ends_tell_what_they_have_agreed_on() {
    let (client, server) = pair();
    for end in [client, server] {
        let agreed = end.negotiated().expect("the SYNs have been exchanged");
        assert!(agreed.sack && agreed.timestamps, "{agreed:?}");
        let shift = WindowShift::new(2);
        assert_eq!(agreed.window_shifts, Some((shift, shift)), "200,000 bytes need two bits");
        assert_eq!(agreed.time_wait_holder, None);
    }
}

#[test]
fn a_repair_shows_in_phase_time_out_and_bytes_sent() {
    let (mut client, mut server) = pair();
    assert_eq!(client.recovery_phase(), RecoveryPhase::Open);
    assert_eq!(client.write(5 * SEGMENT), 5 * SEGMENT);
    assert_eq!(client.sent(), 0);
    let sent = leaving(&mut client, after(0));
    assert_eq!((sent.len(), client.sent()), (5, u64::from(5 * SEGMENT)));
    for (transmit, phase) in sent[1..4].iter().zip([
        RecoveryPhase::Disorder,
        RecoveryPhase::Disorder,
        RecoveryPhase::Recovery,
    ]) {
        server.handle_segment(&transmit.segment, after(50));
        for ack in leaving(&mut server, after(50)) {
            client.handle_segment(&ack.segment, after(100));
        }
        assert_eq!(client.recovery_phase(), phase);
    }
    let before = client.rto();
    let deadline = client.poll_timeout().expect("data is outstanding");
    client.handle_timeout(deadline.at);
    assert_eq!(client.recovery_phase(), RecoveryPhase::Loss);
    assert_eq!((client.back_offs(), client.rto()), (1, 2 * before));
    assert_eq!(client.sent(), u64::from(5 * SEGMENT), "again is not more");
}

/// Linux `tcp_ack_update_rtt`.
#[test]
fn linux_measures_what_is_only_sacked_and_what_was_sent_again() {
    let (mut client, mut server) = pair_of(Policies::LINUX_6);
    let rto = |end: &Endpoint| end.rto().as_millis();
    assert_eq!(rto(&client), 200, "the handshake took no time");
    client.write(2 * SEGMENT);
    let sent = leaving(&mut client, after(10));
    // The first is lost. The SACK of the second comes after 100 ms, an eighth of which counts, in ticks of 4 ms.
    server.handle_segment(&sent[1].segment, after(60));
    for ack in leaving(&mut server, after(60)) {
        client.handle_segment(&ack.segment, after(110));
    }
    assert_eq!(rto(&client), 216);
    // The timestamp tells which copy an ACK is for: 12.5 and an eighth of 87.5 ms.
    let again = client.poll_timeout().expect("data is outstanding").at;
    client.handle_timeout(again);
    for transmit in leaving(&mut client, again) {
        server.handle_segment(&transmit.segment, again + Duration::from_millis(50));
    }
    for ack in leaving(&mut server, again + Duration::from_millis(50)) {
        client.handle_segment(&ack.segment, again + Duration::from_millis(100));
    }
    assert_eq!((client.flight(), rto(&client)), (0, 224));
}

#[test]
fn nothing_is_counted_unless_somebody_asks() {
    let (mut client, _) = pair();
    assert_eq!(client.counters(), None);
    client.count();
    assert_eq!(client.counters().map(|counters| counters.segments_sent), Some(0));
}

#[test]
fn counters_add_up_segments_bytes_drops_and_waits() {
    let (mut client, mut server) = pair();
    client.count();
    server.count();
    let _ = client.poll_transmit(after(0)); // It waits for its application from here on.
    assert_eq!(client.write(100), 100);
    let lost = leaving(&mut client, after(250));
    assert_eq!(lost.len(), 1);
    assert_eq!(client.write(50), 50);
    assert_eq!(leaving(&mut client, after(250)), [], "Nagle holds it");
    let timer = client.poll_timeout().expect("data is outstanding").at;
    client.handle_timeout(timer);
    let again = leaving(&mut client, timer);
    assert_eq!(again.len(), 1);
    for _ in 0..2 {
        server.handle_segment(&again[0].segment, timer);
    }
    assert_eq!(leaving(&mut server, timer).len(), 1, "the second one is answered");

    let client = client.counters().expect("it counts");
    assert_eq!((client.segments_sent, client.bytes_sent), (2, 250), "100, then 150 bytes");
    assert_eq!((client.segments_retransmitted, client.bytes_retransmitted), (1, 150));
    assert_eq!(client.waited(Wait::Application), Duration::from_millis(250));
    assert_eq!(client.waited(Wait::Nagle), timer.since(after(250)));
    let server = server.counters().expect("it counts");
    assert_eq!((server.segments_received, server.bytes_received), (2, 300));
    assert_eq!(server.dropped(DropReason::OutsideWindow), 1);
    assert_eq!((server.bare_acks_sent, server.segments_sent), (1, 1));
    let drops: u64 = DropReason::ALL.iter().map(|reason| server.dropped(*reason)).sum();
    assert_eq!(drops, 1);
}

#[test]
fn duplicate_acks_are_counted() {
    let (mut client, mut server) = pair();
    client.count();
    client.write(4 * SEGMENT);
    let sent = leaving(&mut client, after(0));
    for transmit in &sent[1..] {
        server.handle_segment(&transmit.segment, after(50));
        for ack in leaving(&mut server, after(50)) {
            client.handle_segment(&ack.segment, after(100));
        }
    }
    let counters = client.counters().expect("it counts");
    assert_eq!(counters.duplicate_acks_received, 3);
    assert_eq!((counters.data_segments_sent, counters.loss_events), (4, 1));
    let deadline = client.poll_timeout().expect("data is outstanding");
    client.handle_timeout(deadline.at);
    let counters = client.counters().expect("it counts");
    assert_eq!(counters.loss_events, 1, "the timeout belongs to the same repair");
}

#[test]
fn the_round_trip_and_its_time_out_are_told_without_back_off() {
    let config = Config { receive_buffer: 30_000, ..Config::new(Policies::RFC) };
    let mut client = Endpoint::connect(config, SeqNumber(1), after(0));
    let mut server = Endpoint::listen(config, SeqNumber(2));
    assert_eq!(client.smoothed_round_trip(), None);
    server.handle_segment(&leaving(&mut client, after(0))[0].segment, after(40));
    client.handle_segment(&leaving(&mut server, after(40))[0].segment, after(80));
    assert_eq!(client.smoothed_round_trip(), Some(Duration::from_millis(80)));
    assert_eq!(client.largest_peer_window(), 30_000);
    let rto = client.rto();
    client.write(100);
    let _ = leaving(&mut client, after(80));
    let deadline = client.poll_timeout().expect("data is outstanding");
    client.handle_timeout(deadline.at);
    assert_eq!((client.rto(), client.rto_without_back_off()), (2 * rto, rto));
}

#[test]
fn a_buffer_that_is_to_grow_announces_the_shift_for_it() {
    let small = Config { receive_buffer: 16_384, ..Config::new(Policies::RFC) };
    let mut client = Endpoint::connect(small, SeqNumber(1), after(0));
    client.expect_receive_buffer(1 << 20);
    let mut server = Endpoint::listen(Config::new(Policies::RFC), SeqNumber(2));
    let syn = leaving(&mut client, after(0))[0].segment;
    assert_eq!((syn.window, syn.options.window_scale), (16_384, Some(WindowShift::new(5))));
    server.handle_segment(&syn, after(0));
    client.handle_segment(&leaving(&mut server, after(0))[0].segment, after(0));
    client.set_receive_buffer(1 << 20);
    let ack = leaving(&mut client, after(0))[0].segment;
    server.handle_segment(&ack, after(0));
    // The window is rounded down to a multiple of the scale, and ends at 16 bits.
    assert!(server.peer_window() > (1 << 20) - (1 << 5) - 1, "{}", server.peer_window());
    client.expect_receive_buffer(1 << 30);
    assert_eq!(client.receivable(), 1 << 20, "after the SYN it changes nothing");
}

#[test]
fn a_setting_of_one_connection_leaves_the_others_alone() {
    let config = Arc::new(Config::new(Policies::RFC));
    let mut one = Endpoint::connect(Arc::clone(&config), SeqNumber(1), after(0));
    let mut other = Endpoint::connect(Arc::clone(&config), SeqNumber(1), after(0));
    one.set_send_buffer(10);
    assert_eq!((one.write(100), other.write(100)), (10, 100));
}
