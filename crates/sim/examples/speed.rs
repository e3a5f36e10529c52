//! How fast the simulator is: `cargo run --release -p ackwise-sim --example speed --
//! flows|many|arrivals|idle [SECONDS] [rfc|linux-6|linux-6-bbr|plain]`.
//!
//! The scenarios are those of `cargo xtask bench sim`, without the reading of experiment files. Without a preset, the
//! TCP is that of the other simulators; `plain` is `linux-6` without the policies that it shares with no other preset.

use std::{env, num::NonZeroU32, time::Duration};

use ackwise_http::{Behaviour, workload::Span};
use ackwise_link::{LinkConfig, Queue, Rate, Seed};
use ackwise_sim::{
    Nobody, Scenario, run,
    scenario::{
        Application, ApplicationKind, Arrivals, Bulk, BulkSender, CostModel, DuplexLink, Node,
        NodeId,
    },
};
use ackwise_tcp::{
    ByteCount, Config, Policies,
    policy::{
        AckPolicy, BufferTuning, CongestionPolicy, DSackPolicy, DeferralPolicy, FrtoPolicy,
        HoldPolicy, LossDetection, Offer, ReductionPolicy, SlowStartPolicy, TimerPolicy,
        UndoPolicy, UnusedWindow,
    },
};

fn main() {
    let seconds = env::args().nth(2).and_then(|seconds| seconds.parse().ok());
    let duration = |default| Duration::from_secs(seconds.unwrap_or(default));
    let tcp = match env::args().nth(3).as_deref() {
        Some("rfc") => Config::new(Policies::RFC),
        Some("linux-6") => Config::new(Policies::LINUX_6),
        Some("linux-6-bbr") => Config::new(Policies::LINUX_6_BBR),
        Some("plain") => Config::new(PLAIN_LINUX),
        _ => same_tcp(),
    };
    let scenario = match env::args().nth(1).as_deref() {
        Some("arrivals") => arrivals(duration(5), tcp, Span::ZERO, 100),
        Some("idle") => arrivals(duration(10), tcp, MINUTE, 10),
        Some("many") => flows(duration(1), tcp, 500),
        _ => flows(duration(60), tcp, 1),
    };
    match run(&scenario, &mut Nobody) {
        Ok(measures) => println!("{:?}", measures.work),
        Err(error) => eprintln!("{error}"),
    }
}

const MINUTE: Span = Span::Fixed(Duration::from_secs(60));

/// Linux 6 with CUBIC of RFC 9438, SACK of RFC 6675 and buffers of constant size.
const PLAIN_LINUX: Policies = Policies {
    slow_start: SlowStartPolicy::UntilLoss,
    loss_detection: LossDetection::Rfc6675,
    reduction: ReductionPolicy::AtOnce,
    undo: UndoPolicy::Off,
    frto: FrtoPolicy::Off,
    deferral: DeferralPolicy::Off,
    d_sack: DSackPolicy::Off,
    unused_window: UnusedWindow::Kept,
    receive_tuning: BufferTuning::Off,
    send_tuning: BufferTuning::Off,
    ..Policies::LINUX_6
};

fn same_tcp() -> Config {
    let policies = Policies {
        ack: AckPolicy::EverySegment,
        hold: HoldPolicy::Off,
        congestion: CongestionPolicy::NewReno,
        timers: TimerPolicy::Linux,
        offer: Offer { sack: false, timestamps: false, window_scale: true },
        ..Policies::RFC
    };
    Config { receive_buffer: 1_460_000, send_buffer: 1_460_000, ..Config::new(policies) }
}

fn link(name: String, ends: [NodeId; 2], rate: u64, delay: u64, queue: u32) -> DuplexLink {
    let direction = LinkConfig {
        rate: Rate::bits_per_second(rate),
        delay: Duration::from_millis(delay),
        queue: Queue::packets(queue).expect("not 0"),
        ..LinkConfig::IDEAL
    };
    let directions = [direction.clone(), direction];
    let (overhead, drawn_delay, forgets_after) = (ByteCount(0), None, None);
    DuplexLink { name, ends, directions, overhead, drawn_delay, forgets_after }
}

fn node(name: String, tcp: Option<Config>) -> Node {
    Node { name, tcp, cost: CostModel::default(), table: None }
}

/// 100 times `clients` long flows each way through one bottleneck, which has as much room for each flow
/// whatever their number.
fn flows(duration: Duration, tcp: Config, clients: u32) -> Scenario {
    let (mut nodes, mut links, mut applications) = (Vec::new(), Vec::new(), Vec::new());
    nodes.push(node("left".to_owned(), None));
    nodes.push(node("right".to_owned(), None));
    let routers = [NodeId(0), NodeId(1)];
    let rate = 100_000_000 * u64::from(clients);
    links.push(link("bottleneck".to_owned(), routers, rate, 20, 250 * clients));
    for pair in 0..200_u32 {
        let ends = [NodeId(2 + 2 * pair), NodeId(3 + 2 * pair)];
        for (end, router) in ends.into_iter().zip(routers) {
            nodes.push(node(format!("host{}", end.0), Some(tcp)));
            links.push(link(format!("access{}", end.0), [end, router], 1_000_000_000, 1, 1_000));
        }
        let [client, server] = if pair % 2 == 0 { ends } else { [ends[1], ends[0]] };
        applications.push(Application {
            name: "flow".to_owned(),
            client,
            server,
            start: Span::Uniform { from: Duration::ZERO, to: Duration::from_secs(1) },
            kind: ApplicationKind::Bulk(Bulk {
                clients: NonZeroU32::new(clients).expect("not 0"),
                request: ByteCount(100),
                file: None,
                files: None,
                pause: Span::ZERO,
                behaviour: Behaviour::FIXED,
                sender: BulkSender::Server,
            }),
        });
    }
    scenario(nodes, links, applications, duration)
}

/// Short connections, one every `interarrival` microseconds, kept open for `hold`.
fn arrivals(duration: Duration, tcp: Config, hold: Span, interarrival: u64) -> Scenario {
    let nodes = vec![node("client".to_owned(), Some(tcp)), node("server".to_owned(), Some(tcp))];
    let ends = [NodeId(0), NodeId(1)];
    let links = vec![link("line".to_owned(), ends, 10_000_000_000, 1, 10_000)];
    let applications = vec![Application {
        name: "arrivals".to_owned(),
        client: ends[0],
        server: ends[1],
        start: Span::ZERO,
        kind: ApplicationKind::Arrivals(Arrivals {
            interarrival: Span::Fixed(Duration::from_micros(interarrival)),
            request: ByteCount(100),
            response: ByteCount(12_000),
            hold,
            prompt_acks: false,
            limit: None,
        }),
    }];
    scenario(nodes, links, applications, duration)
}

fn scenario(
    nodes: Vec<Node>,
    links: Vec<DuplexLink>,
    applications: Vec<Application>,
    duration: Duration,
) -> Scenario {
    Scenario {
        nodes,
        links,
        applications,
        duration,
        warm_up: Duration::ZERO,
        watch_causes: false,
        seed: Seed(1),
        max_events: 10_000_000_000,
        max_connections: 2_000_000,
    }
}
