//! A proxy between clients and servers: relaying, places, idle connections, and the pool.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod any;
mod star;

use std::{num::NonZeroU64, thread, time::Duration};

use ackwise_http::workload::{Size, Span};
use ackwise_sim::{
    Scenario,
    measure::ProxyMeasures,
    scenario::{Counted, IdleMemory, Persistence, Proxy, Refused, Route, Upward},
};
use ackwise_tcp::ByteCount;
use ackwise_tuning::{Buffers, Scheme};
use star::{lossy, measure, proxied, star, with};

const SCHEMES: [Scheme; 4] =
    [Scheme::OKAMOTO_1, Scheme::OKAMOTO_2, Scheme::OKAMOTO_3, Scheme::OKAMOTO_4];

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

#[test]
fn a_hit_takes_the_clients_round_trips_and_a_miss_those_of_the_server_too() {
    for (hits, round_trips) in [(1_000_000, 2), (0, 4)] {
        let scenario = with(star(1, 1), |proxy| {
            proxy.hits_per_million = hits;
            proxy.size = Size::Fixed(ByteCount(1_000));
        });
        let measures = measure(&scenario);
        let responses = &proxied(&measures).responses;
        // Both connections have to be opened for the first document, none for those behind it.
        for (nth, trips) in [(0, round_trips), (1, round_trips / 2)] {
            let expected = seconds(0.020 * f64::from(trips));
            let time = responses[nth].time;
            assert!(time >= expected && time < expected + seconds(0.002), "{hits}: {time:?}");
        }
        assert_eq!(responses[0].hit, hits > 0);
    }
}

#[test]
fn a_miss_counts_in_both_directions_and_a_hit_in_one() {
    for (hits, expected) in [(1_000_000, [true, false]), (0, [true, true])] {
        let scenario = with(star(5, 3), |proxy| proxy.hits_per_million = hits);
        let measures = measure(&scenario);
        let proxy = proxied(&measures);
        let bytes = [proxy.bytes_to_clients, proxy.bytes_from_servers];
        let documents = measures.applications["web"].documents * 10_000;
        assert!(documents > 1_000_000, "{documents}");
        for (bytes, counts) in bytes.into_iter().zip(expected) {
            // What is under way at the end has been counted too.
            let rest = bytes.abs_diff(if counts { documents } else { 0 });
            assert!(rest <= 5 * 10_000, "{bytes} of {documents}");
        }
    }
}

/// What a run of these schemes asked for, in the order of each client's requests.
fn sizes(scenario: &Scenario) -> Vec<u64> {
    let measures = measure(scenario);
    let mut sizes: Vec<_> = proxied(&measures).responses.iter().map(|it| it.bytes).collect();
    sizes.truncate(20);
    sizes
}

#[test]
fn a_client_asks_for_the_same_whatever_the_proxy_does() {
    let one = with(star(1, 5), |proxy| {
        proxy.size = Size::SURGE_REQUESTED;
        proxy.think = Span::SURGE_INACTIVE_OFF;
    });
    let expected = sizes(&one);
    assert!(expected.len() > 5, "{expected:?}");
    for scheme in SCHEMES {
        assert_eq!(sizes(&with(one.clone(), |proxy| proxy.scheme = scheme)), expected);
    }
    let direct = with(one.clone(), |proxy| proxy.route = Route::Direct);
    let rejecting = with(one.clone(), |proxy| proxy.refused = Refused::Reject);
    let brief = with(one, |proxy| proxy.persistence = Persistence::Off);
    assert_eq!([&direct, &rejecting, &brief].map(sizes), [(); 3].map(|()| expected.clone()));
}

#[test]
fn a_small_send_buffer_limits_a_hit_and_a_small_receive_buffer_a_miss() {
    let time = |hits, buffer| {
        let scenario = with(star(1, 1), |proxy| {
            proxy.hits_per_million = hits;
            proxy.size = Size::Fixed(ByteCount(1_000_000));
            proxy.scheme =
                Scheme { buffers: Buffers::Fixed(ByteCount(buffer)), ..Scheme::OKAMOTO_1 };
            proxy.think = Span::Fixed(seconds(0.0));
        });
        let measures = measure(&scenario);
        // One of the later ones: windows are open.
        proxied(&measures).responses[3].time
    };
    for hits in [1_000_000, 0] {
        let [small, large] = [16_384, 1 << 20].map(|buffer| time(hits, buffer));
        // 61 buffers of 16 KB, one in each round trip.
        assert!(small > seconds(61.0 * 0.020) && small < seconds(61.0 * 0.028), "{hits} {small:?}");
        assert!(large < seconds(0.4), "{hits}: {large:?}");
    }
}

#[test]
fn a_slow_client_slows_the_server_down_by_the_receive_buffer() {
    let mut scenario = with(star(1, 1), |proxy| {
        proxy.hits_per_million = 0;
        proxy.size = Size::Fixed(ByteCount(1_000_000));
    });
    for direction in &mut scenario.links[0].directions {
        direction.rate = ackwise_link::Rate::bits_per_second(1_000_000);
    }
    scenario.duration = seconds(6.0);
    let measures = measure(&scenario);
    let proxy = proxied(&measures);
    let ahead = proxy.bytes_from_servers - proxy.bytes_to_clients;
    assert!(proxy.bytes_to_clients > 500_000, "{proxy:?}");
    // The proxy holds a send buffer, and never more.
    assert!(ahead <= 16_384, "{ahead}");
}

/// Four clients, two places, requests that never miss.
fn crowd(scheme: Scheme, refused: Refused) -> ProxyMeasures {
    let scenario = with(star(4, 1), |proxy| {
        (proxy.scheme, proxy.refused) = (scheme, refused);
        proxy.hits_per_million = 1_000_000;
        proxy.n_max = NonZeroU64::new(2).unwrap();
    });
    proxied(&measure(&scenario)).clone()
}

#[test]
fn idle_connections_keep_new_ones_out_unless_they_are_closed() {
    for refused in [Refused::Retry, Refused::Queue] {
        let [one, three] = [Scheme::OKAMOTO_1, Scheme::OKAMOTO_3].map(|it| crowd(it, refused));
        // Two clients come back after a second each time, so nobody else gets in.
        assert_eq!(one.unfinished.len(), 2, "{refused:?}");
        assert!(one.unfinished.iter().all(|it| it.waited > seconds(58.0)), "{refused:?}");
        assert_eq!((one.closed_for_new, one.full_mostly_idle > 0), (0, true));
        // All four get in, if not at once: a dropped SYN is sent again after a second or more.
        assert!(three.unfinished.iter().all(|it| it.waited < seconds(10.0)), "{refused:?}");
        assert!(three.closed_for_new > 50 && three.most_open == 2, "{three:?}");
    }
    let rejecting = crowd(Scheme::OKAMOTO_1, Refused::Reject);
    assert!(rejecting.rejected > 50, "{rejecting:?}");
    assert_eq!(rejecting.rejected, rejecting.refused);
    assert!(rejecting.unfinished.len() <= 2, "who is rejected does not wait");
}

#[test]
fn who_waits_in_the_queue_comes_in_its_order() {
    // Each document takes its client's place for 0.1 s, and ends it.
    let scenario = with(star(4, 1), |proxy| {
        proxy.refused = Refused::Queue;
        proxy.hits_per_million = 1_000_000;
        proxy.n_max = NonZeroU64::new(1).unwrap();
        proxy.persistence = Persistence::Off;
    });
    let measures = measure(&scenario);
    let proxy = proxied(&measures);
    let times: Vec<_> = proxy.responses.iter().take(4).map(|it| it.time).collect();
    assert!(times.is_sorted() && times[3] > 3 * times[0], "{times:?}");
    assert!(proxy.refused > 3 && proxy.most_open == 1, "{proxy:?}");
}

#[test]
fn persistent_connections_close_after_their_timeout() {
    let scenario = with(star(1, 1), |proxy| {
        proxy.hits_per_million = 0;
        proxy.think = Span::Fixed(seconds(20.0));
    });
    let measures = measure(&scenario);
    let proxy = proxied(&measures);
    // The client's connection idles for longer than 15 s each time, the server's for less than 60 s.
    let opened = measures.applications["web"].connections_opened;
    assert_eq!((proxy.responses.len(), opened), (2, 3));
    assert_eq!(proxy.closed_by_timeout, 2);
    let without = with(scenario, |proxy| proxy.persistence = Persistence::Off);
    assert_eq!(measure(&without).applications["web"].connections_opened, 4);
}

type Change = fn(&mut Proxy);

#[test]
fn misses_block_each_other_without_places_for_them() {
    // Four clients have taken all four places before any of them needs one to a server.
    let deadlock = with(star(4, 2), |proxy| {
        proxy.hits_per_million = 0;
        proxy.n_max = NonZeroU64::new(4).unwrap();
        proxy.scheme = Scheme::OKAMOTO_4;
    });
    let measures = measure(&deadlock);
    let proxy = proxied(&measures);
    assert_eq!((proxy.responses.len(), proxy.misses_waiting), (0, 4));
    let cures: [(&str, Change); 3] = [
        ("a place is reserved", |proxy| proxy.reserved = 1),
        ("only clients count", |proxy| proxy.counted = Counted::Downward),
        ("misses fail", |proxy| proxy.refused = Refused::Reject),
    ];
    for (what, cure) in cures {
        let measures = measure(&with(deadlock.clone(), cure));
        let proxy = proxied(&measures);
        let moves = proxy.responses.len() as u64 + proxy.rejected;
        assert!(moves > 100 && proxy.misses_waiting < 4, "{what}: {proxy:?}");
    }
}

#[test]
fn connections_to_servers_are_shared_or_not() {
    let opened = |upward| {
        let scenario = with(star(6, 1), |proxy| {
            (proxy.upward, proxy.hits_per_million) = (upward, 0);
            proxy.think = Span::Fixed(seconds(1.37));
        });
        measure(&scenario).applications["web"].connections_opened
    };
    // Clients start at one time and go on in step, so six are needed either way; with think times that
    // differ, fewer are.
    assert_eq!(opened(Upward::PerClient), 12);
    assert!(opened(Upward::PerServer) <= 12);
    let apart = |upward| {
        let scenario = with(star(6, 1), |proxy| {
            (proxy.upward, proxy.hits_per_million) = (upward, 0);
            proxy.think = Span::Uniform { from: seconds(0.5), to: seconds(3.0) };
        });
        measure(&scenario).applications["web"].connections_opened
    };
    assert_eq!(apart(Upward::PerClient), 12);
    assert!(apart(Upward::PerServer) < 12);
}

/// Sixty clients with large and small documents, a pool that is short.
fn short_pool(scheme: Scheme) -> Scenario {
    with(lossy(star(60, 10)), |proxy| {
        proxy.scheme = scheme;
        proxy.size = Size::SURGE_FILES;
        proxy.think = Span::SURGE_INACTIVE_OFF;
        proxy.pool = ByteCount(50 * 16_384);
        proxy.n_max = NonZeroU64::new(80).unwrap();
        proxy.reserved = 20;
    })
}

#[test]
fn the_pool_is_never_exceeded_nor_are_the_places() {
    for scheme in SCHEMES {
        for idle_memory in [IdleMemory::Reserved, IdleMemory::Free] {
            let scenario = with(short_pool(scheme), |proxy| proxy.idle_memory = idle_memory);
            let measures = measure(&scenario);
            let proxy = proxied(&measures);
            assert!(proxy.responses.len() > 200, "{scheme:?}");
            assert!(proxy.most_open <= 80, "{scheme:?}: {}", proxy.most_open);
            assert!(proxy.most_assigned <= 50 * 16_384, "{scheme:?}: {}", proxy.most_assigned);
            let tuned = matches!(scheme.buffers, Buffers::E2Atbt(_));
            if tuned && idle_memory == IdleMemory::Reserved {
                assert!(proxy.short_divisions > 0, "{scheme:?}");
            }
        }
    }
}

#[test]
fn buffers_are_sized_while_connections_live() {
    // One client with a long path, and memory that nobody else needs.
    let rate = |scheme| {
        let scenario = with(star(1, 1), |proxy| {
            proxy.scheme = scheme;
            proxy.hits_per_million = 1_000_000;
            proxy.size = Size::Fixed(ByteCount(20_000_000));
        });
        measure(&scenario).applications["web"].rate_sum.unwrap()
    };
    let [fixed, tuned] = [Scheme::OKAMOTO_1, Scheme::OKAMOTO_2].map(rate);
    // 16 KB in each round trip of 20 ms, against a window that grows with each segment that is not lost.
    assert!(fixed < 850_000.0 && tuned > 3.0 * fixed, "{fixed} {tuned}");
}

fn hash(scheme: Scheme, seed: u64) -> u64 {
    let mut scenario = short_pool(scheme);
    scenario.seed = ackwise_link::Seed(seed);
    measure(&scenario).work.trace_hash
}

#[test]
fn the_same_seed_gives_the_same_trace_on_any_number_of_threads() {
    let alone: Vec<_> = SCHEMES.iter().map(|&scheme| hash(scheme, 7)).collect();
    let together: Vec<_> = thread::scope(|scope| {
        let threads = SCHEMES.map(|scheme| scope.spawn(move || hash(scheme, 7)));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
    assert_ne!(alone[0], hash(SCHEMES[0], 8));
}

#[test]
fn delays_are_drawn_once_for_each_run_and_link() {
    let scenario = with(lossy(star(3, 1)), |proxy| proxy.hits_per_million = 1_000_000);
    let times = |seed| {
        let scenario = Scenario { seed: ackwise_link::Seed(seed), ..scenario.clone() };
        measure(&scenario).applications["web"].percentile(0.0).unwrap()
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}
