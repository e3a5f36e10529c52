//! The in-order path does not allocate, neither at the sender nor at the receiver; and what an idle endpoint takes.

use std::{sync::Arc, time::Duration};

use ackwise_tcp::{Config, Endpoint, Instant, Policies, SeqNumber};

/// Segments of the measured transfer, at least.
const SEGMENTS: u64 = 1000;

#[test]
fn a_segment_in_order_costs_no_allocation() {
    for policies in [Policies::RFC, Policies::BSD_4_4, Policies::SUNOS_4_1] {
        let mut now = Instant::EPOCH;
        let config = Arc::new(Config::new(policies));
        let mut sender = Endpoint::connect(Arc::clone(&config), SeqNumber(1), now);
        let mut receiver = Endpoint::listen(config, SeqNumber(2));
        sender.count();
        receiver.count();
        exchange(&mut sender, &mut receiver, now);

        let mut segments = 0;
        let cost = allocation_counter::measure(|| {
            while segments < SEGMENTS {
                now = now + Duration::from_millis(300);
                assert!(sender.write(10_000) > 0, "the send buffer never empties");
                sender.handle_timeout(now);
                receiver.handle_timeout(now);
                segments += exchange(&mut sender, &mut receiver, now);
            }
        });
        assert_eq!(cost.count_total, 0, "{policies:?} over {segments} segments");
    }
}

/// The list of the segments that are out grows with the flight, and is given back when nothing is out.
#[test]
fn a_segment_costs_no_allocation_once_the_list_has_its_size() {
    for policies in [Policies::LINUX_6, Policies::LINUX_6_BBR] {
        let mut now = Instant::EPOCH;
        let config = Arc::new(Config::new(policies));
        let mut sender = Endpoint::connect(Arc::clone(&config), SeqNumber(1), now);
        let mut receiver = Endpoint::listen(config, SeqNumber(2));
        exchange(&mut sender, &mut receiver, now);

        // The last segment of a flight arrives with the next flight, so the list never empties.
        let (mut held, mut segments) = (None, 0);
        let mut flights = |count: u64| {
            allocation_counter::measure(|| {
                for _ in 0..count {
                    now = now + Duration::from_millis(10);
                    assert!(sender.write(10_000) > 0, "the send buffer never empties");
                    sender.handle_timeout(now);
                    receiver.handle_timeout(now);
                    while let Some(transmit) = sender.poll_transmit(now) {
                        segments += 1;
                        if let Some(before) = held.replace(transmit.segment) {
                            receiver.handle_segment(&before, now);
                            receiver.read(u32::MAX);
                        }
                    }
                    while let Some(transmit) = receiver.poll_transmit(now) {
                        sender.handle_segment(&transmit.segment, now);
                    }
                    while sender.poll_event().or_else(|| receiver.poll_event()).is_some() {}
                }
            })
        };
        flights(50);
        let cost = flights(100);
        assert!(segments >= SEGMENTS, "{segments} segments");
        assert_eq!(cost.count_total, 0, "{policies:?} over {segments} segments");
    }
}

/// An endpoint that has carried a request and a response of less than a segment, and is idle.
#[test]
fn an_idle_endpoint_of_linux_takes_512_bytes_with_its_heap_and_700_with_bbr() {
    for (policies, most) in [(Policies::LINUX_6, 512), (Policies::LINUX_6_BBR, 700)] {
        let now = Instant::EPOCH;
        let config = Arc::new(Config::new(policies));
        let heap = allocation_counter::measure(|| {
            let mut client = Endpoint::connect(Arc::clone(&config), SeqNumber(1), now);
            let mut server = Endpoint::listen(Arc::clone(&config), SeqNumber(2));
            exchange(&mut client, &mut server, now);
            for (end, bytes) in [(0, 100), (1, 1_000)] {
                let ends = [&mut client, &mut server];
                assert_eq!(ends[end].write(bytes), bytes);
                exchange(&mut client, &mut server, now);
            }
            client.read(u32::MAX);
            // What is kept counts as allocated.
            std::mem::forget((client, server));
        });
        let each = size_of::<Endpoint>() + usize::try_from(heap.bytes_current).unwrap_or(0) / 2;
        assert!(each <= most, "{policies:?}: {each} bytes");
    }
}

/// Hands each end's segments to the other until both are silent; how many there were.
fn exchange(sender: &mut Endpoint, receiver: &mut Endpoint, now: Instant) -> u64 {
    let mut segments = 0;
    loop {
        let before = segments;
        while let Some(transmit) = sender.poll_transmit(now) {
            receiver.handle_segment(&transmit.segment, now);
            receiver.read(u32::MAX);
            segments += 1;
        }
        while let Some(transmit) = receiver.poll_transmit(now) {
            sender.handle_segment(&transmit.segment, now);
            segments += 1;
        }
        while sender.poll_event().or_else(|| receiver.poll_event()).is_some() {}
        if segments == before {
            return segments;
        }
    }
}
