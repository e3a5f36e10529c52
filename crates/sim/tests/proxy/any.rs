//! Any proxy: whatever its settings, it keeps to its limits and gives the same trace twice.

use std::{num::NonZeroU64, time::Duration};

use ackwise_http::workload::{Size, Span};
use ackwise_link::Seed;
use ackwise_sim::{
    Scenario,
    scenario::{Counted, Divides, IdleMemory, Persistence, Refused, Route, Upward},
};
use ackwise_tcp::ByteCount;
use ackwise_tuning::{Buffers, Scheme, Spare};
use proptest::prelude::*;

use crate::star::{lossy, measure, proxied, star, with};

fn scenario() -> impl Strategy<Value = Scenario> {
    let scheme = prop_oneof![
        Just(Scheme::OKAMOTO_1),
        Just(Scheme::OKAMOTO_2),
        Just(Scheme::OKAMOTO_3),
        Just(Scheme::OKAMOTO_4),
    ];
    let places = (1_u64..30, 0_u64..10, prop_oneof![Just(Counted::Both), Just(Counted::Downward)]);
    let refused = prop_oneof![Just(Refused::Retry), Just(Refused::Reject), Just(Refused::Queue)];
    let upward = prop_oneof![Just(Upward::PerServer), Just(Upward::PerClient)];
    let timeouts = |client, server| Persistence::Timeouts {
        client: Duration::from_millis(client),
        server: Duration::from_millis(server),
    };
    let persistence = prop_oneof![
        1 => Just(Persistence::Off),
        3 => (100_u64..20_000, 100_u64..20_000).prop_map(move |(a, b)| timeouts(a, b)),
    ];
    let buffers = (
        prop_oneof![Just(Divides::Interval), Just(Divides::Reuse)],
        prop_oneof![Just(Spare::Keep), Just(Spare::Proportional), Just(Spare::Equal)],
        prop_oneof![Just(IdleMemory::Reserved), Just(IdleMemory::Free)],
        2_u64..40,
    );
    let route = prop_oneof![4 => Just(Route::Proxy), 1 => Just(Route::Direct)];
    let load = (1_u32..25, 1_u32..6, 0_u32..1_000_000, 0_u64..1_500, any::<u64>());
    (scheme, places, refused, upward, persistence, buffers, route, load).prop_map(
        |(scheme, places, refused, upward, persistence, buffers, route, load)| {
            let (clients, servers, hits, think, seed) = load;
            let mut scenario = with(lossy(star(clients, servers)), |proxy| {
                (proxy.scheme, proxy.refused, proxy.upward) = (scheme, refused, upward);
                (proxy.persistence, proxy.route) = (persistence, route);
                (proxy.divides, proxy.spare, proxy.idle_memory) = (buffers.0, buffers.1, buffers.2);
                proxy.pool = ByteCount(buffers.3 * 16_384);
                proxy.n_max = NonZeroU64::new(places.0).unwrap_or(NonZeroU64::MIN);
                (proxy.reserved, proxy.counted) = (places.1.min(places.0 - 1), places.2);
                proxy.hits_per_million = hits;
                let (from, to) = (Duration::from_millis(think), Duration::from_millis(think + 500));
                proxy.think = Span::Uniform { from, to };
                proxy.size = Size::SURGE_FILES;
            });
            (scenario.seed, scenario.duration) = (Seed(seed), Duration::from_secs(30));
            scenario
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_proxy_keeps_to_its_limits(scenario in scenario()) {
        let measures = measure(&scenario);
        let result = proxied(&measures);
        let setting = crate::star::settings(&scenario);
        let received: u64 = result.responses.iter().map(|it| it.bytes).sum();
        prop_assert!(result.bytes_to_clients >= received);
        let finished = result.responses.len() as u64 + result.rejected;
        prop_assert_eq!(result.requests, finished + result.unfinished.len() as u64);
        prop_assert_eq!(measure(&scenario).work.trace_hash, measures.work.trace_hash);
        if setting.route == Route::Direct {
            prop_assert_eq!((result.most_open, result.bytes_from_servers), (0, 0));
            return Ok(());
        }
        if setting.counted == Counted::Both {
            prop_assert!(result.most_open <= setting.n_max.get(), "{}", result.most_open);
        }
        // Without a limit upward, fixed buffers are not limited; and what is free can be given twice.
        let fixed = matches!(setting.scheme.buffers, Buffers::Fixed(_));
        let limited = setting.counted == Counted::Both || !fixed;
        if limited && setting.idle_memory == IdleMemory::Reserved {
            prop_assert!(result.most_assigned <= setting.pool.0, "{}", result.most_assigned);
        }
    }
}
