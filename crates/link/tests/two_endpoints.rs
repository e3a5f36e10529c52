//! Two endpoints over links that lose, duplicate and reorder: every byte arrives once and in order,
//! time never goes back, and the same seed gives the same trace.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod pair;

use std::{num::NonZeroU8, time::Duration};

use ackwise_link::{Faults, LinkConfig, Pick, Probability, Queue, Rate, Seed};
use ackwise_tcp::{
    Config, Policies, State,
    policy::{
        AckDelay, AckPolicy, CongestionPolicy, HoldPolicy, IdleRestart, IdleTime, InitialWindow,
        LossDetection, Offer, OpenPolicy, PacedUntil, RateBased, RateVersion, Scale,
        SlowStartPolicy, StartPolicy,
    },
};
use pair::Pair;
use proptest::prelude::*;

/// Virtual time limit of a run, far beyond any retransmission (our choice).
const LIMIT: Duration = Duration::from_secs(20_000);

#[derive(Clone, Debug)]
struct Case {
    config: Config,
    links: [LinkConfig; 2],
    lengths: [usize; 2],
    isn: [u32; 2],
}

impl Case {
    fn run(&self) -> Pair {
        let data = self.lengths.map(bytes);
        let mut pair = Pair::of(&self.config, data, self.isn, self.links.clone());
        pair.run(LIMIT);
        pair
    }
}

/// A stream in which a misplaced byte is detected.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|index| u8::try_from((index / 7 + index) % 251).unwrap()).collect()
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn policies() -> impl Strategy<Value = Policies> {
    let every = |n| NonZeroU8::new(n).unwrap();
    let preset = prop_oneof![
        Just(Policies::RFC),
        Just(Policies::LINUX_6),
        Just(Policies::LINUX_6_BBR),
        Just(Policies::BSD_4_4),
        Just(Policies::SUNOS_4_1),
    ];
    let ack = prop_oneof![
        Just(AckPolicy::EverySegment),
        Just(AckPolicy::RFC),
        Just(AckPolicy::BSD_TICK),
        Just(AckPolicy::LinuxQuickAck),
        Just(AckPolicy::Interarrival),
        Just(AckPolicy::Ns2 { every: every(1), interval: AckDelay::MILLIS_100 }),
    ];
    let hold = prop_oneof![
        Just(HoldPolicy::Off),
        Just(HoldPolicy::Nagle),
        Just(HoldPolicy::BsdNagle),
        Just(HoldPolicy::Minshall),
        Just(HoldPolicy::LINUX_CORK),
    ];
    let congestion = prop_oneof![
        Just(CongestionPolicy::Tahoe),
        Just(CongestionPolicy::Ns2Tahoe),
        Just(CongestionPolicy::Reno),
        Just(CongestionPolicy::NewReno),
        Just(CongestionPolicy::Sack),
        Just(CongestionPolicy::Cubic),
        Just(CongestionPolicy::External),
        Just(CongestionPolicy::Bbr),
    ];
    let window = prop_oneof![
        (1_u8..=10).prop_map(move |n| InitialWindow::Segments(every(n))),
        Just(InitialWindow::BsdPassiveTwo),
        Just(InitialWindow::Rfc3390),
        Just(InitialWindow::Rfc6928),
    ];
    let version = prop_oneof![
        Just(RateVersion::Reno),
        Just(RateVersion::Vegas),
        Just(RateVersion::VegasWindow),
        Just(RateVersion::Count),
    ];
    let until = prop_oneof![Just(PacedUntil::FirstAck), Just(PacedUntil::FirstArrival)];
    let idle = prop_oneof![
        Just(IdleRestart::Keep),
        Just(IdleRestart::RFC_5681),
        Just(IdleRestart::BSD_4_4),
        Just(IdleRestart::LINUX),
        Just(IdleRestart::NewCwv),
        (version, until, 1_u16..=400).prop_map(|(version, until, percent)| {
            let scale = Scale::percent(percent).unwrap();
            let by = RateBased { version, scale, until };
            IdleRestart::Paced { after: IdleTime::RFC_5681, by }
        }),
    ];
    let offer = (any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(sack, timestamps, window_scale)| Offer { sack, timestamps, window_scale });
    let start = prop_oneof![Just(StartPolicy::AtOnce), Just(StartPolicy::Paced)];
    let slow_start = prop_oneof![
        Just(SlowStartPolicy::UntilLoss),
        Just(SlowStartPolicy::Hoe),
        Just(SlowStartPolicy::HyStart),
    ];
    let open = prop_oneof![
        2 => Just(OpenPolicy::Handshake),
        1 => Just(OpenPolicy::Transaction),
        1 => Just(OpenPolicy::FastOpen),
    ];
    let detection = prop_oneof![Just(LossDetection::Rfc6675), Just(LossDetection::Rack)];
    let first = (window, start, slow_start, open, detection);
    (preset, ack, hold, congestion, first, idle, offer).prop_map(
        |(preset, ack, hold, congestion, first, idle_restart, offer)| Policies {
            ack,
            hold,
            congestion,
            initial_window: first.0,
            start: first.1,
            slow_start: first.2,
            open: first.3,
            loss_detection: first.4,
            idle_restart,
            offer,
            ..preset
        },
    )
}

fn link() -> impl Strategy<Value = LinkConfig> {
    let chance = |most: u32| {
        (0..=most).prop_map(|per_million| match per_million {
            0 => Pick::Never,
            _ => Pick::Random(Probability::per_million(per_million).unwrap()),
        })
    };
    let rate = prop_oneof![Just(None), (10_000_u64..1_000_000_000).prop_map(Rate::bits_per_second)];
    let faults = (chance(200_000), chance(50_000), chance(100_000), 0_u64..50).prop_map(
        |(loss, duplication, reordering, lateness)| Faults {
            outage: None,
            mtu: None,
            loss,
            duplication,
            reordering,
            lateness: Duration::from_millis(lateness),
        },
    );
    (rate, 0_u64..300, 2_u32..60, faults, any::<u64>()).prop_map(
        |(rate, delay, queue, faults, seed)| LinkConfig {
            rate,
            delay: Duration::from_millis(delay),
            queue: Queue::packets(queue).unwrap(),
            faults,
            seed: Seed(seed),
            ..LinkConfig::IDEAL
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let lengths = prop_oneof![0_usize..3_000, 0_usize..60_000];
    let buffers = prop_oneof![1_000_u32..10_000, 10_000_u32..1_000_000];
    (
        policies(),
        buffers.clone(),
        buffers,
        88_u16..=1460,
        [link(), link()],
        [lengths.clone(), lengths],
        [any::<u32>(), any::<u32>()],
    )
        .prop_map(|(policies, receive_buffer, send_buffer, mss, links, lengths, isn)| Case {
            config: Config {
                mss,
                receive_buffer,
                send_buffer,
                user_timeout: LIMIT,
                ..Config::new(policies)
            },
            links,
            lengths,
            isn,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_in_order(case in case()) {
        let pair = case.run();
        for (receiver, sender) in [(1, 0), (0, 1)] {
            let received = &pair.sides[receiver].received;
            prop_assert_eq!(received.len(), case.lengths[sender], "{}", pair.trace_text());
            prop_assert!(received == &bytes(case.lengths[sender]), "a byte is misplaced");
        }
        for side in &pair.sides {
            let state = side.endpoint.state();
            prop_assert!(
                matches!(state, State::Closed | State::TimeWait), "{:?}\n{}", state, pair.trace_text()
            );
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_trace(case in case()) {
        let (once, again) = (case.run(), case.run());
        prop_assert_eq!(once.trace_hash(), again.trace_hash());
        prop_assert_eq!((once.now, once.segments), (again.now, again.segments));
    }
}

/// A short FIN was on its way when the timer expired, and ns-2's window is in whole segments: the window had
/// no room for the head beside two bytes, and no timer ran any more.
#[test]
fn a_timeout_sends_the_head_whatever_the_window_says() {
    let link = |delay, loss, seed| LinkConfig {
        delay: Duration::from_millis(delay),
        queue: Queue::packets(2).unwrap(),
        faults: Faults {
            loss: Pick::Random(Probability::per_million(loss).unwrap()),
            ..Faults::NONE
        },
        seed: Seed(seed),
        ..LinkConfig::IDEAL
    };
    let policies = Policies {
        ack: AckPolicy::EverySegment,
        hold: HoldPolicy::Off,
        congestion: CongestionPolicy::Ns2Tahoe,
        initial_window: InitialWindow::Segments(NonZeroU8::new(5).unwrap()),
        start: StartPolicy::Paced,
        slow_start: SlowStartPolicy::UntilLoss,
        open: OpenPolicy::Transaction,
        idle_restart: IdleRestart::Keep,
        offer: Offer { sack: true, timestamps: true, window_scale: false },
        ..Policies::LINUX_6
    };
    let config = Config {
        mss: 1071,
        receive_buffer: 7_310,
        send_buffer: 1_000,
        user_timeout: LIMIT,
        ..Config::new(policies)
    };
    let links = [
        link(0, 174_375, 16_341_994_225_824_718_084),
        link(159, 110_681, 4_643_801_944_314_341_828),
    ];
    let case = Case { config, links, lengths: [14_823, 4_237], isn: [0, 0] };
    let pair = case.run();
    assert_eq!(pair.sides[1].received.len(), 14_823, "{}", pair.trace_text());
}
