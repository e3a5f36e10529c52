use alloc::{vec, vec::Vec};
use core::{num::NonZeroU32, time::Duration};

use proptest::prelude::*;

use super::*;
use crate::{BeyondMax, Faults, Pick, Probability, Queue, Rate, Red, Seed};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// 8 Mb/s, so that 1,000 bytes take 1 ms; 10 ms delay; a queue of 4 packets.
fn config(faults: Faults) -> LinkConfig {
    LinkConfig {
        rate: Rate::bits_per_second(8_000_000),
        delay: ms(10),
        queue: Queue::packets(4).unwrap(),
        faults,
        seed: Seed(1).named("test"),
        ..LinkConfig::IDEAL
    }
}

/// Offers packets 1 to `count` of 1,000 bytes, `interval` apart, and returns packets and arrivals
/// in milliseconds.
fn send(link: &mut Link<u64>, count: u64, interval: Duration) -> Vec<(u64, u64)> {
    let mut arrivals = Vec::new();
    let mut arrive = |link: &mut Link<u64>, until: Instant| {
        while let Some(due) = link.poll_timeout().filter(|due| *due <= until) {
            assert_eq!(link.clone().poll(Instant::from_nanos(due.as_nanos() - 1)), None, "early");
            arrivals.push((due.as_nanos() / 1_000_000, link.poll(due).unwrap()));
        }
    };
    for packet in 1..=count {
        let now = Instant::EPOCH + interval * u32::try_from(packet - 1).unwrap();
        arrive(link, now);
        let _ = link.push(packet, ByteCount(1_000), now);
    }
    arrive(link, Instant::FAR_FUTURE);
    arrivals
}

#[test]
fn without_faults_the_first_packet_is_the_next_one() {
    let mut link = Link::new(config(Faults::NONE));
    assert!(!link.is_faulty());
    for packet in 1..=3 {
        assert_eq!(link.push(packet, ByteCount(1_000), Instant::EPOCH), Fate::Queued);
    }
    while let Some(due) = link.poll_timeout() {
        let mut polled = link.clone();
        assert_eq!(link.first().map(|(arrives, _)| *arrives), Some(due));
        assert_eq!(link.take_first(), polled.poll(due));
        assert_eq!(link.counters(), polled.counters());
    }
    assert_eq!(link.first(), None);
    let faults = Faults { loss: random(1), ..Faults::NONE };
    assert!(Link::<u64>::new(config(faults)).is_faulty());
}

#[test]
fn a_burst_takes_no_memory_when_it_is_long_over() {
    let queue = Queue::packets(10_000).unwrap();
    let mut link = Link::new(LinkConfig { queue, ..config(Faults::NONE) });
    let mut now = Instant::EPOCH;
    for packet in 0..5_000_u64 {
        assert_eq!(link.push(packet, ByteCount(1_000), now), Fate::Queued);
    }
    for packet in 0..5_000 {
        while link.in_flight() > 20 {
            now = link.poll_timeout().unwrap();
            assert!(link.poll(now).is_some());
        }
        assert_eq!(link.push(packet, ByteCount(1_000), now), Fate::Queued);
    }
    assert!(link.in_order.capacity() <= 100, "{} places", link.in_order.capacity());
}

#[test]
fn a_burst_is_spread_and_cut() {
    let mut link = Link::new(config(Faults::NONE));
    assert_eq!(send(&mut link, 6, ms(0)), [(11, 1), (12, 2), (13, 3), (14, 4)]);
    let expected = Counters {
        queued: 4,
        bytes: 4_000,
        busy: ms(4),
        dropped_queue_full: 2,
        delivered: 4,
        ..Counters::default()
    };
    assert_eq!(link.counters(), expected);
    assert_eq!((expected.dropped(), expected.offered()), (2, 6));
}

#[test]
fn the_longest_queue_is_remembered_until_it_is_forgotten() {
    let mut link = Link::new(config(Faults::NONE));
    assert_eq!(link.most_queued(), 0);
    // Four fit, the one that is sent included; those that are dropped do not count.
    assert_eq!(send(&mut link, 6, ms(0)).len(), 4);
    assert_eq!(link.most_queued(), 4);
    link.forget_most_queued();
    assert_eq!(link.push(7, ByteCount(1_000), Instant::EPOCH + ms(60)), Fate::Queued);
    assert_eq!(link.push(8, ByteCount(1_000), Instant::EPOCH + ms(60)), Fate::Queued);
    assert_eq!(link.push(9, ByteCount(1_000), Instant::EPOCH + ms(70)), Fate::Queued);
    assert_eq!(link.most_queued(), 2);
}

#[test]
fn scripted_faults_hit_the_nth_packet_offered() {
    let faults = Faults {
        loss: Pick::Nth(vec![2]),
        duplication: Pick::Nth(vec![3, 5]),
        reordering: Pick::Nth(vec![4, 5]),
        lateness: ms(5),
        outage: None,
        mtu: None,
    };
    let mut link = Link::new(config(faults));
    let arrivals = send(&mut link, 7, ms(2));
    #[rustfmt::skip]
    assert_eq!(arrivals, [
        (11, 1), (15, 3), (15, 3), (19, 5), (21, 6), (22, 4), (23, 7), (24, 5),
    ]);
    let expected = Counters {
        queued: 6,
        bytes: 6_000,
        busy: ms(6),
        dropped_loss: 1,
        duplicated: 2,
        reordered: 2,
        delivered: 8,
        ..Counters::default()
    };
    assert_eq!(link.counters(), expected);
}

#[test]
fn a_lost_packet_takes_no_time() {
    let faults = Faults { loss: Pick::Nth(vec![1, 2]), ..Faults::NONE };
    let mut link = Link::new(config(faults));
    assert_eq!(link.push(1, ByteCount(1_000), Instant::EPOCH), Fate::Dropped(DropReason::Loss));
    assert_eq!(send(&mut link, 2, ms(0)), [(11, 2)]);
}

fn random(per_million: u32) -> Pick {
    Pick::Random(Probability::per_million(per_million).unwrap())
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_does_not() {
    let run = |seed: Seed| {
        let faults = Faults {
            loss: random(50_000),
            duplication: random(20_000),
            reordering: random(30_000),
            lateness: ms(7),
            outage: None,
            mtu: None,
        };
        send(&mut Link::new(LinkConfig { seed, ..config(faults) }), 10_000, ms(1))
    };
    assert_eq!(run(Seed(7)), run(Seed(7)));
    assert_ne!(run(Seed(7)), run(Seed(8)));
}

#[test]
fn a_fault_more_does_not_move_another() {
    let lost = |faults: Faults| {
        let mut link = Link::new(LinkConfig { rate: None, ..config(faults) });
        (0..10_000u64)
            .filter(|packet| link.push(*packet, ByteCount(1), Instant::EPOCH) != Fate::Queued)
            .collect::<Vec<_>>()
    };
    let alone = Faults { loss: random(10_000), ..Faults::NONE };
    let together =
        Faults { duplication: random(500_000), reordering: random(500_000), ..alone.clone() };
    assert!(!lost(alone.clone()).is_empty());
    assert_eq!(lost(alone), lost(together));
}

#[test]
fn the_packets_in_flight_are_bounded() {
    let mut link = Link::new(LinkConfig { delay: ms(1_000), ..LinkConfig::IDEAL });
    for _ in 0..Link::<()>::MAX_IN_FLIGHT + 10 {
        let _ = link.push((), ByteCount(1), Instant::EPOCH);
    }
    // One slot stays free for a duplicate.
    assert_eq!(link.in_flight(), Link::<()>::MAX_IN_FLIGHT - 1);
    let Counters { dropped_in_flight_full, delivered, .. } = link.counters();
    assert_eq!((dropped_in_flight_full, delivered), (11, 0));
    let fate = link.push((), ByteCount(1), Instant::EPOCH);
    assert_eq!(fate, Fate::Dropped(DropReason::InFlightFull));
}

/// Three packets arrive while two leave: drop-tail fills the queue, RED keeps its average between
/// the thresholds and never fills it.
#[test]
fn red_keeps_a_queue_from_filling() {
    let overload = |queue: Queue, seed: Seed| {
        let mut link = Link::new(LinkConfig { queue, seed, ..config(Faults::NONE) });
        let mut fates = Vec::new();
        for packet in 0..30_000u64 {
            let now = Instant::EPOCH + Duration::from_micros(667) * u32::try_from(packet).unwrap();
            while link.poll(now).is_some() {}
            fates.push(link.push(packet, ByteCount(1_000), now));
        }
        (link.counters(), fates)
    };
    let limit = NonZeroU32::new(50).unwrap();
    let gentle = Red {
        max_probability: Probability::per_million(100_000).unwrap(),
        beyond_max: BeyondMax::Gentle,
        ..Red::floyd_jacobson_1993(limit)
    };
    let (tail, _) = overload(Queue::packets(50).unwrap(), Seed(1));
    assert!(tail.dropped_queue_full > 9_000 && tail.dropped_red == 0, "{tail:?}");
    let (red, fates) = overload(Queue::Red(gentle), Seed(1));
    // Only before the average has risen: it takes 1 / w_q = 500 packets.
    assert!(red.dropped_red > 9_000 && red.dropped_queue_full < 300, "{red:?}");
    assert_eq!(red.offered(), 30_000);
    assert_eq!(red.busy, ms(1) * u32::try_from(red.queued).unwrap());
    assert_eq!(fates, overload(Queue::Red(gentle), Seed(1)).1);
    assert_ne!(fates, overload(Queue::Red(gentle), Seed(2)).1);
}

proptest! {
    /// For any input: accepted packets arrive once, none early or faster than the rate, and without
    /// lateness in order.
    #[test]
    fn what_is_taken_arrives_once_in_order_and_not_too_fast(
        packets in proptest::collection::vec((0u64..3_000_000, 1u64..3_000), 1..200),
        rate in proptest::option::of(100_000u64..1_000_000_000),
        limit in 1u32..20,
        loss in 0u32..300_000,
    ) {
        let rate = rate.and_then(Rate::bits_per_second);
        let faults = Faults { loss: random(loss), ..Faults::NONE };
        let queue = Queue::packets(limit).unwrap();
        let mut link = Link::new(LinkConfig { rate, queue, ..config(faults) });
        let (mut now, mut taken) = (Instant::EPOCH, Vec::new());
        for (number, &(wait, size)) in packets.iter().enumerate() {
            now = now + Duration::from_nanos(wait);
            if link.push(number, ByteCount(size), now) == Fate::Queued {
                taken.push((number, now, ByteCount(size)));
            }
        }
        let counted = link.counters();
        prop_assert_eq!(
            counted.queued + counted.dropped_queue_full + counted.dropped_loss,
            packets.len() as u64
        );
        let mut free_at = Instant::EPOCH;
        for (number, came, size) in taken {
            let sending = rate.map_or(Duration::ZERO, |rate| rate.serialization_delay(size));
            free_at = free_at.max(came) + sending;
            prop_assert_eq!(link.poll_timeout(), Some(free_at + ms(10)));
            prop_assert_eq!(link.poll(free_at + ms(10)), Some(number));
        }
        prop_assert_eq!(link.poll(Instant::FAR_FUTURE), None);
        prop_assert_eq!(link.counters().delivered, counted.queued);
    }
}

#[test]
fn only_what_is_larger_than_the_mtu_is_dropped() {
    let mtu = Some(ByteCount(1_000));
    let lossy = Faults { loss: Pick::Nth(vec![1]), mtu, ..Faults::NONE };
    for (size, faults, expected) in [
        (999, Faults { mtu, ..Faults::NONE }, Fate::Queued),
        (1_000, Faults { mtu, ..Faults::NONE }, Fate::Queued),
        (1_001, Faults { mtu, ..Faults::NONE }, Fate::Dropped(DropReason::TooLarge)),
        (1_000, lossy.clone(), Fate::Dropped(DropReason::Loss)),
        (1_001, lossy, Fate::Dropped(DropReason::TooLarge)),
        (1_001, Faults::NONE, Fate::Queued),
    ] {
        let mut link = Link::new(LinkConfig { rate: None, ..config(faults) });
        assert_eq!(link.push((), ByteCount(size), Instant::EPOCH), expected, "{size} bytes");
        let Counters { queued, dropped_too_large, .. } = link.counters();
        let too_large = expected == Fate::Dropped(DropReason::TooLarge);
        assert_eq!(
            (queued, dropped_too_large),
            (u64::from(expected == Fate::Queued), too_large.into())
        );
    }
}
