//! What `explain` calls a failure is what failed in a simulation, at the client and at the server.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io::Cursor,
    time::Duration,
};

use ackwise_capture::{
    WHOLE_FRAMES,
    attribution::Confidence::{self, High, Medium},
    read::Source,
};
use ackwise_cause::FailureKind::{
    self as Kind, Abandoned, CloseRace, ConnectUnanswered, IdleFlowDropped, PathMtuBlackHole,
    Silent,
};
use ackwise_explain::{Failure as Reported, Reading};
use ackwise_lab::{experiment::Experiment, run::pcap::Capture};
use ackwise_sim::{
    Measures, Observer, Scenario,
    observe::{ConnectionEnd, ConnectionId, Failure, Message, Side, Sighting},
    run,
};
use ackwise_tcp::Instant;

/// One client pauses as the cases want, so that its connection or its server may be gone. Another one beside it asks
/// for little once a second, so that captures go on and a path that is broken for all shows.
const BASE: &str = r#"
duration = "40 s"

[tcp]
preset = "linux-6"
user_timeout = "10 s"

[host]
client = {}
server = {}

[link.wire]
ends = ["client", "server"]

[application.web]
kind = "web"
client = "client"
server = "server"
pages = 3
workload = { primary = "4000 B", inlines = [] }
transfer = "persistent"
connections = "kept"
think = "1 s"

[application.beside]
kind = "web"
client = "client"
server = "server"
pages = 30
workload = { primary = "100 B", inlines = [] }
transfer = "persistent"
connections = "kept"
think = "1 s"
"#;

/// One way, in milliseconds.
const DELAYS: [i64; 3] = [1, 20, 100];

#[test]
fn what_failed_is_reported_at_each_end_that_can_know() {
    for delay in DELAYS {
        for case in cases(delay) {
            case.compare(delay.unsigned_abs());
        }
    }
}

struct Case {
    name: &'static str,
    settings: Vec<String>,
    /// What fails, if anything does.
    fails: Option<Kind>,
    /// What `explain` reports of each failure at the client and at the server; `None` for nothing.
    reported: [Option<Says>; 2],
}

/// The kind and the outcome, how sure the kind is, and what looks the same.
type Says = (Kind, &'static str, Confidence, Option<&'static str>);

#[rustfmt::skip]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn cases(delay: i64) -> Vec<Case> {
    // The FIN is on its way for `delay`; a request that leaves as long before it arrives first.
    let way = delay * 1_000;
    let crossed = Some((CloseRace, "closed-unanswered", High, None));
    let nobody = [None, None];
    let case = |name, settings: &[&str], fails, reported| Case {
        name,
        settings: settings.iter().map(ToString::to_string).collect(),
        fails,
        reported,
    };
    let racing = |name, before, fails, reported| {
        let think = format!("application.web.think={} us", 5_000_000 - before);
        case(name, &[&idle("5 s"), &think], fails, reported)
    };
    let unanswered = Some((ConnectUnanswered, "connect-unanswered", High, None));
    let forgotten_at_end = Some((Silent, "silent", High, None));
    let forgotten = Some((IdleFlowDropped, "silent", Medium, Some("path-broken")));
    // At the sender, ACKs show that small segments pass; at the receiver, losses by chance look the same.
    let blocked = Some((PathMtuBlackHole, "silent", High, None));
    let hole = Some((PathMtuBlackHole, "open", Medium, Some("burst-loss")));
    let given_up = Some((PathMtuBlackHole, "abandoned", Medium, Some("burst-loss")));
    let sent = Some((PathMtuBlackHole, "answered", High, None));
    let abandoned = Some((Abandoned, "abandoned", High, None));
    let hole_of = |mtu: &'static str, [one, other]: [&'static str; 2]| [mtu, one, other];
    let upload = ["application.web.workload.primary=100 B", "application.web.request=4000 B"];
    let apart =
        ["application.web.response_head=200 B", "application.web.behaviour.head_flush=apart"];
    vec![
        racing("request and FIN cross, the FIN first", 2 * way - 1, Some(CloseRace), [crossed; 2]),
        racing("request and FIN cross", way, Some(CloseRace), [crossed; 2]),
        racing("request and FIN cross, the request first", 1, Some(CloseRace), [crossed; 2]),
        racing("the request arrives before the FIN leaves", 2 * way + 1, None, nobody),
        racing("the FIN arrives before the request leaves", -1, None, nobody),
        racing("a pause much shorter than the timeout", 2_000_000, None, nobody),

        case("table full", &[&table(256, "others = 1"), "duration=35.5 s"], Some(ConnectUnanswered), [unanswered; 2]),
        case("table full for five seconds", &[&table(512, "dummies = { entries = 2, every = \"0 s\" }"),
            "host.server.tcp.time_wait=5 s"], None, nobody),
        case("table with room", &[&table(512, "others = 0")], None, nobody),

        case("clients give up responses in a black hole", &hole_of("link.wire.mtu=1499 B",
            ["application.web.response_timeout=8 s", "duration=26.5 s"]), Some(PathMtuBlackHole), [given_up, sent]),
        case("clients give up what a server computes", &["application.web.behaviour.think=5 s",
            "application.web.response_timeout=4 s", "duration=14.5 s"], Some(Abandoned), [abandoned; 2]),
        case("clients wait for what a server computes", &["application.web.behaviour.think=5 s",
            "application.web.response_timeout=6 s"], None, nobody),

        case("responses in a black hole", &["link.wire.mtu=1499 B"], Some(PathMtuBlackHole), [hole, sent]),
        // Nothing shows that smaller segments pass.
        case("without SACK", &["link.wire.mtu=1499 B", "tcp.sack=false"], Some(PathMtuBlackHole), [hole, None]),
        case("behind their heads", &hole_of("link.wire.mtu=1499 B", apart), Some(PathMtuBlackHole), [hole, sent]),
        // Nothing comes to the client any more when it has lasted for a second.
        case("and nothing beside", &["link.wire.mtu=1499 B", "application.beside.pages=1"], Some(PathMtuBlackHole), [None, sent]),
        // The request's beginning is in the hole: at the server, there is no request.
        case("requests in a black hole", &hole_of("link.wire.mtu=1499 B", upload), Some(PathMtuBlackHole), [blocked, None]),
        case("requests as large as the MTU", &hole_of("link.wire.mtu=1500 B", upload), None, nobody),
        case("responses as large as the MTU", &["link.wire.mtu=1500 B"], None, nobody),
        case("headers of the link do not count", &["link.wire.mtu=1500 B", "link.wire.overhead=38 B"], None, nobody),
        case("responses smaller than the MTU", &["link.wire.mtu=1400 B", "application.web.workload.primary=1000 B"], None, nobody),
        case("only the other way has an MTU", &["link.wire.mtu=1400 B", "link.wire.back.mtu=1500 B"], None, nobody),

        // The server has nothing that it could miss.
        case("forgotten connection", &["link.wire.forgets_after=5 s", "application.web.think=5.1 s",
            "application.web.pages=2"], Some(IdleFlowDropped), [forgotten, None]),
        case("that the server closes later", &["link.wire.forgets_after=5 s", "application.web.think=5.1 s", "application.web.pages=2",
            &idle("8 s")], Some(IdleFlowDropped), [forgotten, None]),
        // No later connection is answered. A gap: the one beside it is, meanwhile.
        case("and the run ends before it is tried again", &["link.wire.forgets_after=5 s", "application.web.think=5.1 s",
            "application.web.pages=2", "duration=12 s"], Some(IdleFlowDropped), [forgotten_at_end, None]),
        case("remembered to the last millisecond", &["link.wire.forgets_after=5 s", "application.web.think=4.999 s"], None, nobody),

        case("losses", &["link.wire.loss=3 %", "application.web.think=0.1 s", "application.web.pages=50"], None, nobody),
    ]
}

fn idle(time: &str) -> String {
    format!("application.web.behaviour.keep_alive={{ silent = {{ idle = \"{time}\" }} }}")
}

fn table(memory: u32, entries: &str) -> String {
    format!("host.server.table={{ order = \"hash\", memory = \"{memory} B\", {entries} }}")
}

impl Case {
    fn compare(&self, delay: u64) {
        let experiment = Experiment::parse("base", BASE).unwrap();
        let delay = Duration::from_millis(delay);
        let settings = self.settings.iter().cloned();
        let settings = settings.chain([format!("link.wire.delay={} ms", delay.as_millis())]);
        let settings: Vec<_> = settings.collect();
        let experiment = experiment.with_all_set(settings.iter().map(String::as_str)).unwrap();
        let (truth, reported) = play(&experiment.cases()[0].scenario);
        let name = format!("{}, {delay:?}", self.name);
        let kinds: BTreeSet<_> = truth.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, self.fails.into_iter().collect(), "{name}: {truth:#?}");
        for (end, says, way) in
            [(0, self.reported[0], Duration::ZERO), (1, self.reported[1], delay)]
        {
            let name = format!("{name}, at the {}", ["client", "server"][end]);
            let expected = if says.is_some() { truth.as_slice() } else { &[] };
            assert_eq!(reported[end].len(), expected.len(), "{name}: {:#?}", reported[end]);
            for (reported, failed) in reported[end].iter().zip(expected) {
                let it = (reported.kind, reported.outcome, reported.confidence, reported.rival);
                assert_eq!(Some(it), says, "{name}: {reported:#?}");
                assert_eq!(reported.at, failed.asked + way, "{name}: {reported:#?}");
                failed.lasts_as(reported, &name);
            }
        }
    }
}

/// A request that was not answered, by the simulator's own record.
#[derive(Clone, Copy, Debug)]
struct Failed {
    kind: Kind,
    asked: Instant,
    /// When the client knew, or the run ended.
    until: Instant,
    known: bool,
}

impl Failed {
    /// The reported time is true.
    fn lasts_as(&self, reported: &Reported, name: &str) {
        let lasted = self.until.since(self.asked);
        let exact = self.kind == CloseRace;
        let most = if exact { reported.span } else { reported.at_most.unwrap_or(Duration::MAX) };
        assert!(reported.span <= lasted, "{name}: {lasted:?}, {reported:#?}");
        assert!(lasted <= most || !self.known, "{name}: {lasted:?}, {reported:#?}");
    }
}

/// What failed in a run, and what `explain` reports of that at both ends.
fn play(scenario: &Scenario) -> (Vec<Failed>, [Vec<Reported>; 2]) {
    let application = &scenario.applications[0];
    let mut files = [Vec::new(), Vec::new()];
    let [client, server] = &mut files;
    let capture = |file, host| Capture::new(file, WHOLE_FRAMES, host).unwrap();
    let captures = [capture(client, application.client), capture(server, application.server)];
    let mut watcher =
        Watcher { captures, open: BTreeMap::new(), connected: BTreeSet::new(), lost: Vec::new() };
    let measures = run(scenario, &mut watcher).unwrap();
    let truth = watcher.truth(&measures, Instant::EPOCH + START + scenario.duration);
    for it in watcher.captures {
        it.finish().unwrap();
    }
    let reported = files.map(|file| {
        let reading = Reading::new();
        reading.read(&mut Source::of("simulated", Cursor::new(file)));
        Reported::all(&reading.end().unwrap().analysis)
    });
    (truth, reported)
}

/// When the simulator's clock starts.
const START: Duration = Duration::from_secs(1);

/// Takes captures at both ends, and notes which requests were not answered.
struct Watcher<'a> {
    captures: [Capture<&'a mut Vec<u8>>; 2],
    /// When requests were asked that are not answered yet.
    open: BTreeMap<ConnectionId, VecDeque<Instant>>,
    /// The server has said something.
    connected: BTreeSet<ConnectionId>,
    lost: Vec<Lost>,
}

#[derive(Clone, Copy, Debug)]
struct Lost {
    connection: ConnectionId,
    asked: Instant,
    /// `None` if the run ended before.
    end: Option<(ConnectionEnd, Instant)>,
}

impl Watcher<'_> {
    /// What failed, and why: what links and hosts have dropped tells what was in the way.
    fn truth(&mut self, measures: &Measures, run_ends: Instant) -> Vec<Failed> {
        for (connection, open) in std::mem::take(&mut self.open) {
            self.lost.extend(open.into_iter().map(|asked| Lost { connection, asked, end: None }));
        }
        self.lost.sort_by_key(|it| it.asked);
        let links = &measures.links["wire"];
        let too_large: u64 = links.iter().filter_map(|it| it.too_large).sum();
        let forgotten: u64 = links.iter().filter_map(|it| it.flow_forgotten).sum();
        let refused = measures.hosts["server"].table.map_or(0, |it| it.refused);
        let failed = |&Lost { connection, asked, end }: &_| Failed {
            kind: match end {
                Some((ConnectionEnd::Closed, _)) => CloseRace,
                _ if refused > 0 && !self.connected.contains(&connection) => ConnectUnanswered,
                _ if too_large > 0 => PathMtuBlackHole,
                Some((ConnectionEnd::GivenUp, _)) => Abandoned,
                _ if forgotten > 0 => IdleFlowDropped,
                _ => Silent,
            },
            asked,
            until: end.map_or(run_ends, |it| it.1),
            known: end.is_some(),
        };
        self.lost.iter().map(failed).collect()
    }
}

impl Observer for Watcher<'_> {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.captures.iter_mut().for_each(|it| it.on_sent(sighting, now));
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        if sighting.from == Side::Server {
            self.connected.insert(sighting.connection);
        }
        self.captures.iter_mut().for_each(|it| it.on_received(sighting, now));
    }

    fn on_message(&mut self, message: &Message, now: Instant) {
        if message.from == Side::Client {
            self.open.entry(message.connection).or_default().push_back(now);
        }
        self.captures.iter_mut().for_each(|it| it.on_message(message, now));
    }

    fn on_answered(&mut self, connection: ConnectionId, _now: Instant) {
        self.open.get_mut(&connection).unwrap().pop_front().unwrap();
    }

    fn on_failure(&mut self, failure: &Failure, now: Instant) {
        let Failure { connection, unanswered, end } = *failure;
        let open = self.open.remove(&connection).unwrap();
        assert_eq!(open.len(), unanswered as usize);
        let end = Some((end, now));
        self.lost.extend(open.into_iter().map(|asked| Lost { connection, asked, end }));
    }

    fn on_over(&mut self, connection: ConnectionId, now: Instant) {
        self.captures.iter_mut().for_each(|it| it.on_over(connection, now));
    }
}
