//! What does a packet cost on a busy link? `cargo bench -p ackwise-link`
//!
//! Each row: packets pushed as fast as they leave, and polled when they arrive, on one link and on 400
//! in turn (a dumbbell of 100 flows each way): the second shows whether they stay in the cache.

use std::{hint::black_box, time::Duration};

use ackwise_link::{Link, LinkConfig, Queue, Rate};
use ackwise_tcp::{Instant, Octets};

const PACKETS: u64 = 8_000_000;

fn main() {
    println!("Link<u32>: {} octets", size_of::<Link<u32>>());
    for (name, config) in configs() {
        for links in [1, 400] {
            let best = (0..5).map(|_| nanos_per_packet(&config, links)).min_by(f64::total_cmp);
            println!("{name:32} {links:4} links {:6.1} ns", best.unwrap_or(f64::NAN));
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
    vec![
        ("100 Mb/s, 20 ms, drop-tail 250", link(100, 20_000, tail(250))),
        ("1 Gb/s, 10 us, drop-tail 1000", link(1_000, 10, tail(1_000))),
        ("1 Gb/s, 10 us, octets", link(1_000, 10, Queue::octets(1 << 20))),
        ("infinite, no delay", LinkConfig::IDEAL),
    ]
}

/// Full-sized segments and acknowledgements in turn, at exactly the link's rate.
fn nanos_per_packet(config: &LinkConfig, count: usize) -> f64 {
    const SIZES: [Octets; 2] = [Octets(1_500), Octets(40)];
    let mut links: Vec<Link<u32>> = (0..count).map(|_| Link::new(config.clone())).collect();
    let pair = config.rate.map_or(Duration::ZERO, |rate| {
        SIZES.iter().map(|size| rate.serialization_delay(*size)).sum()
    });
    let rounds = PACKETS / 2 / count as u64;
    let mut now = Instant::EPOCH;
    let began = std::time::Instant::now();
    for _ in 0..rounds {
        now = now + pair;
        for link in &mut links {
            for size in SIZES {
                let _ = black_box(link.push(1, size, now));
            }
            while black_box(link.poll_timeout()).is_some_and(|due| due <= now) {
                let _ = black_box(link.poll(now));
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a few million packets")]
    let packets = (rounds * 2 * count as u64) as f64;
    began.elapsed().as_secs_f64() * 1e9 / packets
}
