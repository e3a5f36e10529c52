//! The same scenario gives the same trace: twice, on one thread and on two, in debug and in release.
//!
//! The hashes stand here as numbers, so every build of this test is compared with every other one.
//! Who changes what endpoints, links or applications do changes them, and says so by new numbers.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod scenarios;

use std::{
    num::{NonZeroU16, NonZeroU32},
    thread,
    time::Duration,
};

use ackwise_http::{
    Behaviour,
    page::Transfer,
    workload::{Pages, Span},
};
use ackwise_link::{Faults, Pick, Probability, Queue, Rate, Red, Seed};
use ackwise_sim::{
    Nobody, Scenario, run,
    scenario::{Application, ApplicationKind, Bulk, BulkSender},
};
use ackwise_tcp::{ByteCount, Policies};
use scenarios::{CLIENT, SERVER, ethernet};

const TRACES: [(u64, u64); 3] = [
    (1, 5_138_535_358_807_260_780),
    (2, 15_845_414_157_516_067_849),
    (3, 13_438_604_339_664_687_198),
];

/// Users with SURGE's pages and a bulk client, through RED, loss and reordering.
fn busy(seed: u64) -> Scenario {
    let connections = NonZeroU16::new(4).unwrap();
    let mut scenario = ethernet(Transfer::Parallel { connections }, Behaviour::PAPER_1996);
    scenario.seed = Seed(seed);
    scenario.duration = Duration::from_secs(60);
    let policies = [Policies::LINUX_6, Policies::BSD_4_4];
    for (node, policies) in scenario.nodes.iter_mut().zip(policies) {
        node.tcp.as_mut().unwrap().policies = policies;
    }
    for direction in &mut scenario.links[0].directions {
        direction.rate = Rate::bits_per_second(2_000_000);
        direction.delay = Duration::from_millis(30);
        direction.queue = Queue::Red(Red::floyd_jacobson_1993(NonZeroU32::new(40).unwrap()));
        let chance = |it| Pick::Random(Probability::per_million(it).unwrap());
        direction.faults = Faults {
            loss: chance(3_000),
            reordering: chance(5_000),
            lateness: Duration::from_millis(7),
            ..Faults::NONE
        };
    }
    let ApplicationKind::Web(web) = &mut scenario.applications[0].kind else { panic!("web users") };
    web.users = NonZeroU32::new(5).unwrap();
    web.pages = None;
    web.workload = Pages::SURGE;
    web.think = Span::SURGE_INACTIVE_OFF;
    scenario.applications.push(Application {
        name: "ftp".to_owned(),
        client: CLIENT,
        server: SERVER,
        start: Span::Exponential { mean: Duration::from_secs(1) },
        kind: ApplicationKind::Bulk(Bulk {
            clients: NonZeroU32::MIN,
            request: ByteCount(50),
            file: Some(ByteCount(1_000_000)),
            files: None,
            pause: Span::ZERO,
            behaviour: Behaviour::FIXED,
            sender: BulkSender::Server,
        }),
    });
    scenario
}

fn trace(seed: u64) -> (u64, u64) {
    let measures = run(&busy(seed), &mut Nobody).unwrap();
    assert!(measures.work.packet_hops > 10_000, "not a busy run: {:?}", measures.work);
    (seed, measures.work.trace_hash)
}

#[test]
fn one_thread_gives_the_known_traces() {
    assert_eq!(TRACES.map(|(seed, _)| trace(seed)), TRACES);
}

#[test]
fn two_threads_give_the_same_traces() {
    let traces = thread::scope(|scope| {
        let run_all = || TRACES.map(|(seed, _)| trace(seed));
        let threads = [scope.spawn(run_all), scope.spawn(run_all)];
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(traces, [TRACES; 2]);
}
