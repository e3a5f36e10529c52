//! The cost of a packet on a busy link: `cargo bench -p ackwise-link`
//!
//! Each row pushes packets as fast as they leave and polls them when they arrive, on one link and
//! on 400 links in turn (a dumbbell of 100 flows each way). The second shows whether their state
//! stays in the cache.

use std::{hint::black_box, num::NonZeroU32, time::Duration};

use ackwise_link::{Link, LinkConfig, Queue, Rate, Red};
use ackwise_tcp::{ByteCount, Instant};

/// Short runs, of which the fastest counts: other load on the machine only adds time.
const PACKETS: u64 = 80_000;
const RUNS: u32 = 150;

fn main() {
    println!("Link<u32>: {} bytes", size_of::<Link<u32>>());
    for (name, config) in configs() {
        for links in [1, 400] {
            println!("{name:32} {links:4} links {:6.1} ns", nanos_per_packet(&config, links));
        }
    }
}

fn configs() -> Vec<(&'static str, LinkConfig)> {
    let link = |megabits: u64, delay, queue| LinkConfig {
        rate: Rate::bits_per_second(megabits * 1_000_000),
        delay: Duration::from_micros(delay),
        queue,
        ..LinkConfig::IDEAL
    };
    let tail = |packets| Queue::packets(packets).expect("not 0");
    let red = Red::floyd_jacobson_1993(NonZeroU32::new(250).expect("not 0"));
    vec![
        ("100 Mb/s, 20 ms, drop-tail 250", link(100, 20_000, tail(250))),
        ("1 Gb/s, 10 us, drop-tail 1000", link(1_000, 10, tail(1_000))),
        ("1 Gb/s, 10 us, bytes", link(1_000, 10, Queue::bytes(1 << 20))),
        ("100 Mb/s, 20 ms, RED", link(100, 20_000, Queue::Red(red))),
        ("infinite, no delay", LinkConfig::IDEAL),
    ]
}

fn nanos_per_packet(config: &LinkConfig, count: u64) -> f64 {
    let mut links: Vec<Link<u32>> = (0..count).map(|_| Link::new(config.clone())).collect();
    let rounds = PACKETS / 2 / count;
    let mut now = Instant::EPOCH;
    let mut fastest = Duration::MAX;
    for _ in 0..RUNS {
        let began = std::time::Instant::now();
        (0..rounds).for_each(|_| now = round(&mut links, config.rate, now));
        fastest = fastest.min(began.elapsed());
    }
    #[expect(clippy::cast_precision_loss, reason = "a few thousand packets")]
    let packets = (rounds * 2 * count) as f64;
    fastest.as_secs_f64() * 1e9 / packets
}

/// One full-sized segment and one acknowledgement per link, after the time needed to send both.
fn round(links: &mut [Link<u32>], rate: Option<Rate>, now: Instant) -> Instant {
    const SIZES: [ByteCount; 2] = [ByteCount(1_500), ByteCount(40)];
    let now = now + rate.map_or(Duration::ZERO, |rate| rate.serialization_delay(ByteCount(1_540)));
    for link in links {
        for size in SIZES {
            let _ = black_box(link.push(1, size, now));
        }
        while black_box(link.poll_timeout()).is_some_and(|due| due <= now) {
            let _ = black_box(link.poll(now));
        }
    }
    now
}
