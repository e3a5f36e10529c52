//! What the analyser says of a capture is what the ends of the simulated connections waited for.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use ackwise_capture::{
    WHOLE_FRAMES,
    analysis::{Analyser, Analysis},
    decode::decode,
    read::Source,
};
use ackwise_cause::Cause;
use ackwise_lab::{
    experiment::{Experiment, built_in},
    run::pcap::Capture,
};
use ackwise_sim::{
    Observer, Scenario,
    observe::{Blame, ConnectionId, Message, Sighting},
    run,
    scenario::{Application, NodeId},
};
use ackwise_tcp::Instant;

/// Where the time of one connection's exchanges went.
type Bill = BTreeMap<Cause, Duration>;

/// Until when a connection's oldest exchange did not get on, how long, and why.
type Wait = (Instant, Duration, Cause);

/// Experiments of all kinds of paths and servers, from LANs to modems and satellites.
const EXPERIMENTS: [&str; 7] = [
    "heidemann_table_1.toml",
    "heidemann_wan.toml",
    "heidemann_pipelining.toml",
    "heidemann_receivers.toml",
    "heidemann_socket_buffers.toml",
    "idle_restart.toml",
    "stalls.toml",
];

#[test]
fn of_captures_at_the_client_97_percent_of_all_time_is_under_the_right_name() {
    agree(|application| application.client, 0.97);
}

/// A server sees the path only by its acknowledgements, which old receivers delay by up to 200 ms: on
/// a modem's line that is as long as a segment takes.
#[test]
fn of_captures_at_the_server_97_percent_of_all_time_is_under_the_right_name() {
    agree(|application| application.server, 0.97);
}

/// A transfer of 20 MB over 10 Mb/s takes 16 s, in which BBR looks for the shortest round trip once.
const LONG: &str = r#"
duration = "30 s"
watch_causes = true

[tcp]
preset = "linux-6"

[host]
client = { tcp = { receive_buffer = "4 MiB" } }
server = { tcp = { send_buffer = "4 MiB" } }

[link.path]
ends = ["client", "server"]
rate = "10 Mb/s"
delay = "20 ms"
queue = "100 packets"

[application.web]
kind = "web"
client = "client"
server = "server"
pages = 1
workload = { primary = "20 MB", inlines = [] }
transfer = "persistent"
connections = "kept"
behaviour = { preset = "fixed" }
"#;

#[test]
fn bbr_is_told_from_cubic_by_its_gain_cycle_and_by_its_times_of_four_segments() {
    for (preset, is_bbr) in [("linux-6-bbr", true), ("linux-6", false)] {
        let experiment = Experiment::parse("long", LONG).unwrap();
        let experiment = experiment.with_set(&format!("host.server.tcp.preset={preset:?}"));
        let experiment = experiment.unwrap();
        let scenario = &experiment.cases()[0].scenario;
        let application = &scenario.applications[0];
        for (vantage, at_sender) in [(application.server, true), (application.client, false)] {
            let (blamed, analysis) = explain(scenario, vantage);
            let [client, server] = &analysis.connections[0].pacing;
            assert_eq!(*client, None, "{preset}");
            assert_eq!(server.is_some(), is_bbr, "{preset}, at the sender: {at_sender}");
            let Some(pacing) = server else { continue };
            assert_eq!(pacing.is_paced(), at_sender);
            assert_eq!(pacing.gain_cycles >= 10, at_sender, "{pacing:?}");
            assert_eq!(pacing.start.is_some(), at_sender, "{pacing:?}");
            assert_eq!(pacing.probe_rtts, 1, "{pacing:?}");
            let lasted = pacing.probe_rtt_time.as_millis();
            assert!((200..300).contains(&lasted), "{pacing:?}");
            if at_sender {
                assert!((9_000_000..10_000_000).contains(&pacing.rate), "{pacing:?}");
            }
            // What was waited for then has one name on both sides. At the sender, the rate of its pacing is
            // taken for that of a link, which then seems to be busy.
            let [truth, found] = [truth(&blamed, &analysis), found(&analysis)];
            let waited =
                |bill: &Bill| bill.get(&Cause::CongestionWindow).copied().unwrap_or_default();
            let [truth, found] = [waited(&truth[0]), waited(&found[0])].map(|it| it.as_millis());
            assert!(truth >= 100, "{truth} ms");
            assert!(at_sender || found >= truth / 2, "{found} of {truth} ms");
        }
    }
}

/// Runs every case of all experiments, explains captures taken at one host, and compares.
fn agree(vantage: impl Fn(&Application) -> NodeId, at_least: f64) {
    let mut sum = Agreement::default();
    let mut cases = Vec::new();
    for name in EXPERIMENTS {
        let experiment = Experiment::parse(name, &text(name)).unwrap();
        let experiment = experiment.with_set("watch_causes=true").unwrap();
        for (number, case) in experiment.cases().iter().enumerate() {
            let mut scenario = case.scenario.clone();
            scenario.duration = scenario.duration.min(scenario.warm_up + LONGEST);
            let (blamed, analysis) = explain(&scenario, vantage(&scenario.applications[0]));
            let (truth, found) = (truth(&blamed, &analysis), found(&analysis));
            let agreement = Agreement::of(&truth, &found);
            sum += agreement;
            let differences = differences(&truth, &found);
            let title = format!("{name} case {}: {:.4}", number + 1, agreement.share());
            cases.push((agreement.share(), format!("{title}\n{differences}")));
        }
    }
    cases.sort_by(|one, other| one.0.total_cmp(&other.0));
    let worst: String = cases.into_iter().take(SHOWN).map(|(_, text)| text).collect();
    println!("{:.4} of all time\n{worst}", sum.share());
    assert!(sum.share() >= at_least, "{:.4} of all time; the worst cases:\n{worst}", sum.share());
}

fn text(name: &str) -> String {
    let path = format!("{}/experiments/{name}", env!("CARGO_MANIFEST_DIR"));
    let built_in = built_in(name.trim_end_matches(".toml")).map(str::to_owned);
    built_in.unwrap_or_else(|| std::fs::read_to_string(path).unwrap())
}

/// As much of each case is enough, after its warm-up.
const LONGEST: Duration = Duration::from_secs(20);

/// So many of the worst cases are shown.
const SHOWN: usize = 10;

fn explain(scenario: &Scenario, vantage: NodeId) -> (Vec<Vec<Wait>>, Analysis) {
    let mut file = Vec::new();
    let capture = Capture::new(&mut file, WHOLE_FRAMES, vantage).unwrap();
    let mut watcher = Watcher { capture, blamed: BTreeMap::new() };
    run(scenario, &mut watcher).unwrap();
    let Watcher { capture, blamed } = watcher;
    capture.finish().unwrap();
    let mut source = Source::of("simulated", std::io::Cursor::new(file));
    let mut analyser = Analyser::default().with_series();
    while let Some(frame) = source.next().unwrap() {
        analyser.handle(&decode(&frame).unwrap());
    }
    (blamed.into_values().collect(), analyser.finish())
}

struct Watcher<'a> {
    capture: Capture<&'a mut Vec<u8>>,
    blamed: BTreeMap<ConnectionId, Vec<Wait>>,
}

impl Observer for Watcher<'_> {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.blamed.entry(sighting.connection).or_default();
        self.capture.on_sent(sighting, now);
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.capture.on_received(sighting, now);
    }

    fn on_message(&mut self, message: &Message, now: Instant) {
        self.capture.on_message(message, now);
    }

    fn on_blame(&mut self, at: ConnectionId, blame: Blame, _now: Instant) {
        self.blamed.entry(at).or_default().push((blame.until, blame.span(), blame.cause));
    }

    fn on_over(&mut self, connection: ConnectionId, now: Instant) {
        self.capture.on_over(connection, now);
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        self.capture.goes_on(now)
    }
}

/// What the ends waited for while an exchange was to be seen. Before its request leaves nothing is.
fn truth(blamed: &[Vec<Wait>], analysis: &Analysis) -> Vec<Bill> {
    // The last ones may have ended with the run, before anything of them was seen here.
    assert!(analysis.connections.len() <= blamed.len(), "connections");
    let mut truth = vec![Bill::new(); analysis.connections.len()];
    let windows = windows(analysis);
    for ((blamed, windows), truth) in blamed.iter().zip(&windows).zip(&mut truth) {
        for &(until, span, cause) in blamed {
            let from = until.saturating_sub(span);
            let place = windows.partition_point(|&(_, end)| end <= from);
            for &(start, end) in windows[place..].iter().take_while(|it| it.0 < until) {
                let seen = until.min(end).saturating_since(from.max(start));
                *truth.entry(cause).or_default() += seen;
            }
        }
    }
    truth
}

/// When there was an exchange on each connection.
fn windows(analysis: &Analysis) -> Vec<Vec<(Instant, Instant)>> {
    let mut windows: Vec<Vec<(Instant, Instant)>> = vec![Vec::new(); analysis.connections.len()];
    for exchange in &analysis.exchanges {
        let (start, end) = (exchange.start, exchange.start + exchange.duration);
        let windows = &mut windows[exchange.connection as usize];
        match windows.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => windows.push((start, end)),
        }
    }
    windows
}

/// What the analyser says, of the oldest exchange of a connection at each moment: as the simulator
/// blames.
fn found(analysis: &Analysis) -> Vec<Bill> {
    let mut bills = vec![Bill::new(); analysis.connections.len()];
    let mut older = vec![Instant::EPOCH; analysis.connections.len()];
    for exchange in &analysis.exchanges {
        let sum: Duration = exchange.shares.iter().map(|share| share.span).sum();
        assert_eq!(sum, exchange.duration, "{exchange:?}");
        let place = exchange.connection as usize;
        for stretch in &exchange.stretches {
            let span = stretch.until.saturating_since(stretch.from.max(older[place]));
            *bills[place].entry(stretch.cause).or_default() += span;
        }
        older[place] = older[place].max(exchange.start + exchange.duration);
    }
    bills
}

/// How much is under the right name, of how much.
#[derive(Clone, Copy, Debug, Default)]
struct Agreement {
    same: Duration,
    all: Duration,
}

impl Agreement {
    fn of(truth: &[Bill], found: &[Bill]) -> Self {
        let mut sum = Self::default();
        for (truth, found) in truth.iter().zip(found) {
            for (cause, &truth) in truth {
                sum.same += truth.min(found.get(cause).copied().unwrap_or_default());
                sum.all += truth;
            }
        }
        sum
    }

    fn share(self) -> f64 {
        self.same.as_secs_f64() / self.all.as_secs_f64()
    }
}

impl std::ops::AddAssign for Agreement {
    fn add_assign(&mut self, other: Self) {
        self.same += other.same;
        self.all += other.all;
    }
}

fn differences(truth: &[Bill], found: &[Bill]) -> String {
    let mut out = String::new();
    let total = |bills: &[Bill], cause| -> f64 {
        bills.iter().filter_map(|it| it.get(&cause)).sum::<Duration>().as_secs_f64() * 1e3
    };
    for cause in Cause::ALL {
        let [truth, found] = [total(truth, cause), total(found, cause)];
        if truth + found > 0.0 {
            writeln!(out, "    {cause:24} {truth:12.3} ms, found {found:12.3} ms").unwrap();
        }
    }
    out
}
