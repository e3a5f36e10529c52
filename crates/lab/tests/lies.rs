//! Where two different truths look the same at the vantage point, the analyser is sure of neither.
//!
//! Short runs are enumerated, not drawn: a server that thinks or not, in one write or two, with Nagle's
//! algorithm or not, a receiver that delays acknowledgements or not, with timestamps or without; and one
//! thing that happens to one of the first packets: it is lost, the path holds it, or the capture lacks it.
//! What each connection waited for comes from the simulator. The runs whose packets are the same, with
//! times rounded, are compared moment by moment.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    num::NonZeroU32,
    time::Duration,
};

use ackwise_capture::{
    WHOLE_FRAMES, analysis::Analyser, attribution::Confidence, decode::decode, read::Source,
    series::Stretch,
};
use ackwise_cause::Cause;
use ackwise_http::{
    Behaviour,
    behaviour::{HeadFlush, Nagle},
    page::Transfer,
    workload::{Pages, Span},
};
use ackwise_lab::run::pcap::Capture;
use ackwise_link::{LinkConfig, Outage, Pick, Queue, Rate, Seed};
use ackwise_sim::{
    Observer, Scenario,
    observe::{Blame, ConnectionId, Message, Sighting},
    run,
    scenario::{Application, ApplicationKind, DuplexLink, Node, NodeId, Web},
};
use ackwise_tcp::{ByteCount, Config, Instant, Policies, Segment, policy::AckPolicy};

#[test]
fn what_looks_the_same_is_said_with_high_confidence_of_neither() {
    let mut said = BTreeMap::new();
    let mut runs = 0;
    for vantage in [CLIENT, SERVER] {
        let mut alike: BTreeMap<Vec<Look>, Vec<Run>> = BTreeMap::new();
        for setting in Setting::all() {
            for fate in setting.fates() {
                let run = Run::of(&setting, &fate, vantage);
                runs += 1;
                let others = alike.entry(run.look.clone()).or_default();
                // The same truth twice tells nothing new.
                if others.iter().all(|it| it.truth != run.truth) {
                    others.push(run);
                }
            }
        }
        for runs in alike.values() {
            compare(runs, vantage, &mut said);
        }
    }
    let mut unused: BTreeSet<_> =
        ADMITTED.iter().map(|&(vantage, said, truths, _)| (vantage, said, truths)).collect();
    let mut lies = String::new();
    for ((vantage, truth, said, truths), (span, example)) in &said {
        let is_admitted = |it: &&(u32, Cause, &[Cause], &str)| {
            (it.0, it.1) == (*vantage, *said) && truths.iter().eq(it.2.iter())
        };
        match ADMITTED.iter().find(is_admitted) {
            Some(admitted) => drop(unused.remove(&(admitted.0, admitted.1, admitted.2))),
            None => {
                let which = format!("{said} for {truth}, one of {truths:?}");
                writeln!(lies, "at host {vantage}, {which}, {span:?}: {example}").unwrap();
            }
        }
    }
    assert!(lies.is_empty(), "of {runs} runs:\n{lies}");
    assert!(runs > 9_000 && unused.is_empty(), "{runs} runs, {unused:?} did not occur");
}

/// What is said with high confidence all the same: at which host, the truths that look alike, and why.
const ADMITTED: [(u32, Cause, &[Cause], &str); 1] = [(
    SERVER.0,
    Cause::ApplicationLimited,
    &[Cause::PathStall, Cause::ApplicationLimited],
    "both are true: the path holds the head while the program pauses, and only that is seen here",
)];

const CLIENT: NodeId = NodeId(0);
const SERVER: NodeId = NodeId(1);

/// One way of the path. So long that a round trip is distinguished from what hosts and links take.
const DELAY: Duration = Duration::from_millis(20);
/// Less than any retransmission timer, more than two round trips.
const SHORT: Duration = Duration::from_millis(120);
/// More than the retransmission timer, 200 ms and the round trip. Not as long: what looks the same only
/// where a program or a path takes as long as a timer is a coincidence, and not looked for.
const LONG: Duration = Duration::from_millis(270);
/// What happens to each of the first packets of either end is tried.
const FIRST_PACKETS: u64 = 6;

/// What a run is made of, but for what happens to its packets.
#[derive(Clone, Debug)]
struct Setting {
    think: Duration,
    /// Between head and body, if they are written apart.
    pause: Option<Duration>,
    nagle: Nagle,
    ack: AckPolicy,
    body: u64,
    timestamps: bool,
}

/// What happens to one packet, the nth from the client (0) or the server (1).
#[derive(Clone, Debug)]
enum Fate {
    Nothing,
    Lost(usize, u64),
    Held(usize, Outage),
    /// The capture lacks it, counted from both ends together.
    Missing(u64),
}

impl Setting {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for think in [Duration::ZERO, LONG] {
            for pause in [None, Some(Duration::ZERO), Some(SHORT), Some(LONG)] {
                for nagle in [Nagle::On, Nagle::Off] {
                    for ack in [AckPolicy::LinuxQuickAck, AckPolicy::EverySegment] {
                        for body in [1_000, 20_000] {
                            for timestamps in [false, true] {
                                all.push(Self { think, pause, nagle, ack, body, timestamps });
                            }
                        }
                    }
                }
            }
        }
        all
    }

    /// What may happen to the first packets of this run.
    fn fates(&self) -> Vec<Fate> {
        let mut undisturbed = Departures::default();
        run(&self.scenario(&Fate::Nothing), &mut undisturbed).unwrap();
        let mut fates = vec![Fate::Nothing];
        for (side, departures) in undisturbed.0.iter().enumerate() {
            for (number, &from) in (1..=FIRST_PACKETS).zip(departures) {
                fates.push(Fate::Lost(side, number));
                for lasts in [SHORT, LONG] {
                    fates.push(Fate::Held(side, Outage { from, lasts }));
                }
            }
        }
        fates.extend((1..=FIRST_PACKETS).map(Fate::Missing));
        fates
    }

    fn scenario(&self, fate: &Fate) -> Scenario {
        let host = |name: &str| {
            let mut policies = Policies { ack: self.ack, ..Policies::LINUX_6 };
            policies.offer.timestamps = self.timestamps;
            Node::host(name, Config::new(policies))
        };
        let mut directions = [(); 2].map(|()| LinkConfig {
            rate: Rate::bits_per_second(100_000_000),
            delay: DELAY,
            queue: Queue::packets(1_000).unwrap(),
            ..LinkConfig::IDEAL
        });
        match *fate {
            Fate::Nothing | Fate::Missing(_) => {}
            Fate::Lost(side, number) => directions[side].faults.loss = Pick::Nth(vec![number]),
            Fate::Held(side, outage) => directions[side].faults.outage = Some(outage),
        }
        let link = DuplexLink {
            name: "path".to_owned(),
            ends: [CLIENT, SERVER],
            directions,
            drawn_delay: None,
            overhead: ByteCount(0),
            forgets_after: None,
        };
        let behaviour = Behaviour {
            head_flush: if self.pause.is_some() { HeadFlush::Apart } else { HeadFlush::Joined },
            nagle: self.nagle,
            think: self.think,
            think_after_head: self.pause.unwrap_or_default(),
            ..Behaviour::FIXED
        };
        let workload = Pages::Fixed { primary: self.body, inlines: Cow::Borrowed(&[]) };
        let web = Web {
            pages: NonZeroU32::new(1),
            ..Web::plain(workload, Transfer::Persistent, behaviour)
        };
        Scenario {
            nodes: vec![host("client"), host("server")],
            links: vec![link],
            applications: vec![Application {
                name: "web".to_owned(),
                client: CLIENT,
                server: SERVER,
                start: Span::ZERO,
                kind: ApplicationKind::Web(web),
            }],
            duration: Duration::from_secs(20),
            warm_up: Duration::ZERO,
            watch_causes: true,
            seed: Seed(1),
            max_events: 100_000,
            max_connections: 10,
        }
    }
}

/// When each end's packets leave.
#[derive(Debug, Default)]
struct Departures([Vec<Instant>; 2]);

impl Observer for Departures {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.0[sighting.from as usize].push(now);
    }
}

/// A packet as it looks at the vantage point.
type Look = (u128, bool, u32, u32, Option<u32>, [bool; 3], Option<u128>, Vec<(u32, u32)>);

/// A run: how its packets look, what was true, and what the analyser says.
#[derive(Debug)]
struct Run {
    name: String,
    look: Vec<Look>,
    truth: Vec<(Instant, Instant, Cause)>,
    said: Vec<Stretch>,
    /// When the first packet was seen: the times of runs are compared from there.
    first: Instant,
}

impl Run {
    fn of(setting: &Setting, fate: &Fate, vantage: NodeId) -> Self {
        let mut file = Vec::new();
        let capture = Capture::new(&mut file, WHOLE_FRAMES, vantage).unwrap();
        let mut watcher = Watcher { capture, truth: Vec::new() };
        run(&setting.scenario(fate), &mut watcher).unwrap();
        let Watcher { capture, truth } = watcher;
        capture.finish().unwrap();
        let mut source = Source::of("simulated", std::io::Cursor::new(file));
        let mut analyser = Analyser::default().with_series();
        let (mut look, mut number) = (Vec::new(), 0);
        let mut before: Option<Instant> = None;
        while let Some(frame) = source.next().unwrap() {
            let seen = decode(&frame).unwrap();
            number += 1;
            if matches!(*fate, Fate::Missing(missing) if missing == number) {
                continue;
            }
            let gap = seen.at.saturating_since(before.unwrap_or(seen.at));
            look.push(look_of(&seen.segment, seen.destination.port() == 80, gap));
            before = Some(seen.at);
            analyser.handle(&seen);
        }
        let analysis = analyser.finish();
        let said = analysis.exchanges.iter().flat_map(|it| it.stretches.to_vec()).collect();
        let name = format!("{setting:?} {fate:?}");
        Self { name, look, truth, said, first: analysis.first }
    }

    fn true_at(&self, since_first: Duration) -> Option<Cause> {
        let at = self.first + since_first;
        self.truth.iter().find(|it| (it.0..it.1).contains(&at)).map(|it| it.2)
    }

    fn said_at(&self, since_first: Duration) -> Option<&Stretch> {
        let at = self.first + since_first;
        self.said.iter().find(|it| (it.from..it.until).contains(&at))
    }
}

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn look_of(segment: &Segment, to_server: bool, gap: Duration) -> Look {
    /// Times are compared in steps of this.
    const STEP: Duration = Duration::from_millis(10);
    let steps = |span: Duration| (span + STEP / 2).as_nanos() / STEP.as_nanos();
    let flags = [segment.flags.syn, segment.flags.fin, segment.flags.psh];
    let timestamp =
        segment.options.timestamps.map(|it| steps(Duration::from_millis(it.value.into())));
    let sack = segment.options.sack.iter().map(|(left, right)| (left.0, right.0)).collect();
    let ack = segment.ack.map(|ack| ack.0);
    (steps(gap), to_server, segment.seq.0, segment.len, ack, flags, timestamp, sack)
}

struct Watcher<'a> {
    capture: Capture<&'a mut Vec<u8>>,
    truth: Vec<(Instant, Instant, Cause)>,
}

impl Observer for Watcher<'_> {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.capture.on_sent(sighting, now);
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.capture.on_received(sighting, now);
    }

    fn on_message(&mut self, message: &Message, now: Instant) {
        self.capture.on_message(message, now);
    }

    fn on_blame(&mut self, _: ConnectionId, blame: Blame, _: Instant) {
        self.truth.push((blame.from, blame.until, blame.cause));
    }

    fn on_over(&mut self, connection: ConnectionId, now: Instant) {
        self.capture.on_over(connection, now);
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        self.capture.goes_on(now)
    }
}

/// What is true, what is said, and what would look the same: how long, and where for example.
type Lies = BTreeMap<(u32, Cause, Cause, BTreeSet<Cause>), (Duration, String)>;

/// Where the truths of runs that look the same differ for longer than a round trip and a half, nothing
/// may be said with high confidence.
fn compare(runs: &[Run], vantage: NodeId, lies: &mut Lies) {
    const STEP: Duration = Duration::from_millis(5);
    const LONGER_THAN: Duration = Duration::from_millis(60);
    let lasts = |it: &Run| it.truth.last().map(|last| last.1.saturating_since(it.first));
    let end = runs.iter().filter_map(lasts).max().unwrap_or_default();
    for run in runs {
        let (mut at, mut pending) = (Duration::ZERO, Vec::new());
        while at < end {
            let truths: BTreeSet<Cause> = runs.iter().filter_map(|it| it.true_at(at)).collect();
            if truths.len() > 1 {
                pending.push((at, truths));
            } else {
                settle(run, vantage, std::mem::take(&mut pending), lies);
            }
            at += STEP;
        }
        settle(run, vantage, pending, lies);
    }
    fn settle(
        run: &Run,
        vantage: NodeId,
        pending: Vec<(Duration, BTreeSet<Cause>)>,
        lies: &mut Lies,
    ) {
        if STEP * u32::try_from(pending.len()).unwrap() <= LONGER_THAN {
            return;
        }
        let mut sure: Lies = BTreeMap::new();
        for (at, truths) in pending {
            let said = run.said_at(at).filter(|it| it.confidence == Confidence::High);
            if let (Some(said), Some(truth)) = (said, run.true_at(at)) {
                let lie = (vantage.0, truth, said.cause, truths);
                let sum = sure.entry(lie).or_insert_with(|| (Duration::ZERO, run.name.clone()));
                sum.0 += STEP;
            }
        }
        // Less is where one cause goes over into another.
        for (lie, (span, name)) in sure.into_iter().filter(|it| it.1.0 > LONGER_THAN) {
            lies.entry(lie).or_insert((Duration::ZERO, name)).0 += span;
        }
    }
}
