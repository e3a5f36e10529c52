//! What files mean, and what is said about those that mean nothing.

use std::{fs, num::NonZeroU8, path::Path, time::Duration};

use ackwise_http::workload::Pages;
use ackwise_link::{Limit, Pick, Probability, Queue, Rate};
use ackwise_sim::scenario::{ApplicationKind, NodeId};
use ackwise_tcp::policy::{AckPolicy, CongestionPolicy, InitialWindow};

use super::*;

/// Two hosts, a wire and a web: what the tests change in one place or another.
pub(super) const SMALL: &str = r#"
duration = "10 s"

[tcp]
preset = "linux-6"

[host]
client = { tcp = { mss = "536 B" } }
server = {}

[link.wire]
ends = ["client", "server"]
rate = "1.5 Mb/s"
delay = "50 ms"
queue = "25 packets"

[application.web]
kind = "web"
client = "client"
server = "server"
workload = "heidemann"
transfer = "persistent"
"#;

fn parse(text: &str) -> Result<Experiment, ExperimentError> {
    Experiment::parse("test.toml", text)
}

fn scenario(text: &str) -> ackwise_sim::Scenario {
    parse(text).unwrap().cases()[0].scenario.clone()
}

#[test]
fn every_experiment_of_the_repository_can_be_read() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let mut count = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let experiment = Experiment::parse(&name, &fs::read_to_string(&path).unwrap());
            let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
            assert!(experiment.title().is_some(), "{name} says what it shows");
            count += 1;
        }
    }
    assert!(count >= built_in_names().count(), "{count} files");
}

/// Read when the test runs: a published crate comes without it.
fn documentation() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md");
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_example_of_the_documentation_can_be_run() {
    let document = documentation();
    let example = document.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let experiment = Experiment::parse("docs/experiments.md", example);
    assert_eq!(experiment.unwrap_or_else(|error| panic!("{error}")).cases().len(), 9);
}

#[test]
fn the_messages_of_the_documentation_are_ours() {
    let document = documentation();
    let example = document.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    for (from, to) in [("delay = \"20 ms\"", "dealy = \"20 ms\""), ("10 Mb/s", "1.5 MB/s")] {
        let text = example.replacen(from, to, 1);
        let message = Experiment::parse("sweep.toml", &text).unwrap_err().to_string();
        assert!(document.contains(&message), "{message}");
    }
}

#[test]
fn a_file_becomes_a_scenario() {
    let scenario = scenario(SMALL);
    let names: Vec<_> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["client", "server"]);
    let [client, server] = [0, 1].map(|host| scenario.nodes[host].tcp.unwrap());
    assert_eq!((client.mss, server.mss), (536, 1460), "a host's own keys lie over the common ones");
    assert_eq!(client.policies.ack, AckPolicy::LinuxQuickAck);
    let [wire] = scenario.links.as_slice() else { panic!("one link") };
    assert_eq!(wire.ends, [NodeId(0), NodeId(1)]);
    for direction in &wire.directions {
        assert_eq!(direction.rate, Rate::bits_per_second(1_500_000));
        assert_eq!(direction.delay, Duration::from_millis(50));
        assert_eq!(Some(direction.queue), Queue::packets(25));
    }
    assert!(matches!(scenario.applications[0].kind, ApplicationKind::Web(_)));
}

#[test]
fn the_way_back_may_differ() {
    let text = SMALL.replace("queue =", "back = { rate = \"64 kb/s\", loss = \"1 %\" }\nqueue =");
    let scenario = scenario(&text);
    let [there, back] = &scenario.links[0].directions;
    assert_eq!(there.rate, Rate::bits_per_second(1_500_000));
    assert_eq!(back.rate, Rate::bits_per_second(64_000));
    assert_eq!((there.delay, there.queue), (back.delay, back.queue), "the rest is the same");
    assert_eq!(there.faults.loss, Pick::Never);
    assert!(matches!(back.faults.loss, Pick::Random(_)));
}

#[test]
fn a_group_has_a_member_for_each_and_a_value_for_each() {
    let text = SMALL
        .replace("client = { tcp", "client = { count = 3, tcp")
        .replace("delay = \"50 ms\"", "delay = { each = [\"1 ms\", \"2 ms\", \"3 ms\"] }")
        .replace("kind = \"web\"", "kind = \"web\"\nusers = { each = [2, 4, 8] }");
    let scenario = scenario(&text);
    let names: Vec<_> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["wire1", "wire2", "wire3"]);
    let delays = scenario.links.iter().map(|link| link.directions[0].delay.as_millis());
    assert_eq!(delays.collect::<Vec<_>>(), [1, 2, 3]);
    let users = scenario.applications.iter().map(|application| match &application.kind {
        ApplicationKind::Web(web) => (application.client, application.server, web.users.get()),
        other => panic!("{other:?}"),
    });
    let server = NodeId(3);
    let expected = [(NodeId(0), server, 2), (NodeId(1), server, 4), (NodeId(2), server, 8)];
    assert_eq!(users.collect::<Vec<_>>(), expected);
}

/// Three clients, a proxy and two servers.
const PROXIED: &str = r#"
duration = "10 s"
[host]
client = { count = 3 }
proxy = {}
server = { count = 2 }
[link]
below = { ends = ["client", "proxy"], delay = { uniform = { from = "1 ms", to = "9 ms" } }, loss = { cycle = ["1 %", "2 %"] } }
above = { ends = ["proxy", "server"], delay = "5 ms" }
[application.web]
kind = "proxy"
client = "client"
proxy = "proxy"
server = "server"
size = "10 KB"
scheme = 4
"#;

#[test]
fn a_proxy_is_one_application_of_many_hosts() {
    let scenario = scenario(PROXIED);
    let [application] = scenario.applications.as_slice() else { panic!("one application") };
    assert_eq!((application.client, application.server), (NodeId(0), NodeId(3)));
    let ApplicationKind::Proxy(proxy) = &application.kind else { panic!("{application:?}") };
    assert_eq!(proxy.clients, [NodeId(0), NodeId(1), NodeId(2)]);
    assert_eq!(proxy.servers, [NodeId(4), NodeId(5)]);
    assert_eq!(proxy.scheme, ackwise_tuning::Scheme::OKAMOTO_4);
    assert_eq!((proxy.n_max.get(), proxy.pool.0, proxy.reserved), (200, 200 * 16_384, 0));
}

#[test]
fn members_take_values_in_turn_and_links_have_delays_that_are_drawn() {
    let links = scenario(PROXIED).links;
    let losses: Vec<_> = links.iter().map(|link| &link.directions[0].faults.loss).collect();
    assert!(losses[0] == losses[2] && losses[0] != losses[1], "{losses:?}");
    assert!(links[..3].iter().all(|link| link.drawn_delay.is_some()));
    assert!(links[3..].iter().all(|link| link.drawn_delay.is_none()));
}

#[test]
fn what_is_wrong_with_a_proxy_is_said_with_its_place() {
    for (from, to, expected) in [
        ("proxy = \"proxy\"", "proxy = \"server\"", "one host that is neither client nor server"),
        ("scheme = 4", "scheme = 5", "an integer from 1 to 4"),
        ("scheme = 4", "scheme = 4\nreserved = 200", "200 of 200 places are reserved"),
        ("scheme = 4", "scheme = 1\nbuffer_memory = \"1 KB\"", "a pool of 1000 B"),
        ("\"1 %\", \"2 %\"", "", "at least one value"),
        (
            "delay = \"5 ms\"",
            "delay = { uniform = { from = \"1 ms\", to = \"2 ms\" } }, \
          back = { delay = \"1 ms\" }",
            "the same in both directions",
        ),
        ("kind = \"proxy\"", "kind = \"proxi\"", "proxy"),
    ] {
        let text = PROXIED.replacen(from, to, 1);
        assert_ne!(text, PROXIED, "{from}");
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.starts_with("test.toml:") && error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn queues_may_drop_early() {
    let red =
        "{ red = { limit = \"60 packets\", max_probability = \"10 %\", beyond_max = \"gentle\" } }";
    let queue = scenario(&SMALL.replace("\"25 packets\"", red)).links[0].directions[0].queue;
    let Queue::Red(red) = queue else { panic!("{queue:?}") };
    assert_eq!((red.limit.get(), red.min_threshold, red.max_threshold), (60, 5, 15));
    assert_eq!(red.max_probability.as_per_million(), 100_000);
    assert_eq!(red.beyond_max, ackwise_link::BeyondMax::Gentle);
}

#[test]
fn workloads_are_published_ones_or_distributions() {
    let pages = |text: &str| {
        let text = SMALL.replace("workload = \"heidemann\"", &format!("workload = {text}"));
        match &scenario(&text).applications[0].kind {
            ApplicationKind::Web(web) => web.workload.clone(),
            other => panic!("{other:?}"),
        }
    };
    let fixed = pages("{ primary = \"6651 B\", inlines = [\"3883 B\", \"1866 B\"] }");
    assert_eq!(fixed, Pages::HEIDEMANN);
    let pareto = |shape, extra: &str| {
        let rest = "least = \"1000 B\", most = \"15000 B\", truncation = \"clip\"";
        format!("{{ pareto = {{ shape = {shape}, {rest}{extra} }} }}")
    };
    let drawn = |primary: &str, inline: &str| {
        pages(&format!("{{ primary = {primary}, inline = {inline}, inlines = 3 }}"))
    };
    let none = Probability::per_million(0).unwrap();
    assert_eq!(drawn(&pareto(0.91, ""), &pareto(1.24, "")), Pages::gurkan(1.24, none));
    let short = pages("{ gurkan = { inline_shape = 1.24, small_files = \"0 %\" } }");
    assert_eq!(short, Pages::gurkan(1.24, none));
    assert_eq!(pages("\"specweb96\""), Pages::specweb96());
}

#[test]
fn settings_have_the_same_rules_as_files() {
    let experiment = parse(SMALL).unwrap();
    let set = |setting| experiment.with_set(setting);
    let case = |setting| set(setting).unwrap().cases()[0].scenario.clone();
    assert_eq!(case("duration=2s").duration, Duration::from_secs(2));
    assert_eq!(case("link.wire.queue=64 KB").links[0].directions[0].queue, Queue::bytes(64_000));
    // A table may stand where there was a word, and a word may grow into a table.
    let window = case("host.server.tcp.initial_window=4").nodes[1].tcp.unwrap();
    let four = InitialWindow::Segments(NonZeroU8::new(4).unwrap());
    assert_eq!(window.policies.initial_window, four);
    let tahoe = case("tcp={preset='bsd-4.4', congestion='tahoe'}").nodes[1].tcp.unwrap();
    assert_eq!(tahoe.policies.congestion, CongestionPolicy::Tahoe);

    let error = |setting| set(setting).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            error("duration"),
            error("duration=2"),
            error("link.wier.delay=1ms"),
            error("link.wire.dealy=1ms"),
            error("link..delay=1ms"),
            error("duration.x=1"),
            error("tcp={"),
            error("application.web.behaviour={keep_alive=never}"),
            error(&format!("{}=1", ["tcp"; 33].join("."))),
        ]
        .join("\n")
    );
}

#[test]
fn the_grid_is_a_product_of_axes() {
    let text = format!(
        r#"{SMALL}
[grid]
"link.wire.queue" = ["25 packets", "64 KB"]
clients = {{ values = [8, 16], "application.web.users" = [2, 4], "tcp.hold" = ["off", "nagle"] }}
"#
    );
    let experiment = parse(&text).unwrap();
    let labels: Vec<_> = experiment.cases().iter().map(|case| case.labels.to_string()).collect();
    insta::assert_snapshot!(labels.join("\n"), @r"
    link.wire.queue = 25 packets, clients = 8
    link.wire.queue = 25 packets, clients = 16
    link.wire.queue = 64 KB, clients = 8
    link.wire.queue = 64 KB, clients = 16
    ");
    let last = &experiment.cases()[3];
    assert_eq!(last.labels.get("clients").and_then(CaseValue::as_integer), Some(16));
    assert_eq!(last.scenario.links[0].directions[0].queue, Queue::bytes(64_000));
    let ApplicationKind::Web(web) = &last.scenario.applications[0].kind else { panic!("a web") };
    assert_eq!(web.users.get(), 4);
    assert!(experiment.with_set("link.wire.queue=5 packets").is_err(), "the grid would undo it");
    assert_eq!(experiment.with_set("grid.clients.values=[1, 2]").unwrap().cases().len(), 4);
}

/// It is never used: what it lacks or contradicts is no mistake.
#[test]
fn a_replaced_value_need_not_fit_the_cases() {
    let text = SMALL.replace(
        "\"25 packets\"",
        "{ red = { limit = \"9 packets\", min_threshold = \"4 packets\" } }",
    );
    let cases = r#"
[grid.queue]
values = ["small", "large"]
"link.wire.queue.red.min_threshold" = ["1 packet", "50 packets"]
"link.wire.queue.red.max_threshold" = ["3 packets", "90 packets"]
"application.web.workload" = ["heidemann", "mah"]
"#;
    assert_eq!(parse(&format!("{text}{cases}")).unwrap().cases().len(), 2);
    let without = text.replace("workload = \"heidemann\"\n", "");
    assert_eq!(parse(&format!("{without}{cases}")).unwrap().cases().len(), 2);
}

#[test]
fn the_hash_is_of_what_is_said() {
    let hash = |text: &str| parse(text).unwrap().hash().to_owned();
    let original = hash(SMALL);
    assert_eq!(hash(&format!("# a comment\n{SMALL}")), original);
    assert_eq!(hash(&SMALL.replace("duration", "seeds = 3\ntitle = \"x\"\nduration")), original);
    assert_ne!(hash(&SMALL.replace("50 ms", "51 ms")), original);
    let set = parse(SMALL).unwrap().with_set("link.wire.delay=51 ms").unwrap();
    assert_eq!(set.hash(), hash(&SMALL.replace("50 ms", "51 ms")));
}

#[test]
fn limits_of_queues_are_told_apart_by_their_units() {
    for (text, limit) in [("25 packets", true), ("64 KB", false)] {
        let queue = scenario(&SMALL.replace("25 packets", text)).links[0].directions[0].queue;
        let packets = matches!(queue, Queue::DropTail(Limit::Packets(_)));
        assert_eq!(packets, limit, "{queue:?}");
    }
}

/// A name, what is replaced in the small file, and by what.
pub(super) const BROKEN: &[(&str, &str, &str)] = &[
    ("not TOML", "rate = \"1.5 Mb/s\"", "rate = 1.5 Mb/s"),
    ("a misspelt key", "delay =", "dealy ="),
    ("a misspelt key that is needed", "workload =", "worklaod ="),
    ("an unknown key", "queue =", "colour = \"red\"\nqueue ="),
    ("an unknown section", "[application.web]", "[aplication.web]"),
    ("a missing key", "workload = \"heidemann\"\n", ""),
    ("no unit", "delay = \"50 ms\"", "delay = 50"),
    ("a wrong unit", "1.5 Mb/s", "1.5 MB/s"),
    ("too much", "50 ms", "50000000 s"),
    ("half of the smallest unit", "536 B", "536.5 B"),
    ("out of range", "536 B", "5 B"),
    (
        "a delayed ACK that no standard allows",
        "[tcp]",
        "[tcp]\nack = { delayed = { delay = \"1 s\" } }",
    ),
    ("a word with values", "[tcp]", "[tcp]\nack = { every-segment = 3 }"),
    ("a word without its values", "[tcp]", "[tcp]\nhold = \"cork\""),
    ("an unknown choice", "\"persistent\"", "\"persistant\""),
    (
        "a replay without pages",
        "transfer =",
        "replay = { pages = [], think = [\"1 s\"] }\ntransfer =",
    ),
    ("an unknown preset", "linux-6", "linux-7"),
    ("a node that does not exist", "client = \"client\"", "client = \"clients\""),
    ("a link to nowhere", "[\"client\", \"server\"]", "[\"client\", \"sever\"]"),
    ("a link with three ends", "[\"client\", \"server\"]", "[\"client\", \"server\", \"server\"]"),
    (
        "a router that browses",
        "[application.web]\nkind = \"web\"\nclient = \"client\"",
        "[router]\nr = {}\n[application.web]\nkind = \"web\"\nclient = \"r\"",
    ),
    ("an application named like a link", "[application.web]", "[application.link]"),
    (
        "an unusable distribution",
        "transfer =",
        "think = { uniform = { from = \"2 s\", to = \"1 s\" } }\ntransfer =",
    ),
    ("nothing to measure", "duration = \"10 s\"", "duration = \"10 s\"\nwarm_up = \"10 s\""),
    ("a seed twice", "duration", "seeds = [1, 1]\nduration"),
    ("an unknown measure", "duration", "show = [\"web.rate_men\"]\nduration"),
    ("a grid of a typo", "[tcp]", "[grid]\n\"link.wire.dealy\" = [\"1 ms\"]\n[tcp]"),
    ("a grid of an unknown link", "[tcp]", "[grid]\n\"link.wier.delay\" = [\"1 ms\"]\n[tcp]"),
    (
        "a grid with a wrong value",
        "[tcp]",
        "[grid]\n\"link.wire.delay\" = [\"1 ms\", \"2 mm\"]\n[tcp]",
    ),
    (
        "an axis of two lengths",
        "[tcp]",
        "[grid]\nx = { values = [1, 2], \"link.wire.delay\" = [\"1 ms\"] }\n[tcp]",
    ),
    ("each, for other numbers", "delay = \"50 ms\"", "delay = { each = [\"1 ms\", \"2 ms\"] }"),
    ("an axis without effect", "[tcp]", "[grid]\nseeds = [1, 2]\n[tcp]"),
    ("a value twice", "[tcp]", "[grid]\n\"link.wire.delay\" = [\"1 ms\", \"1 ms\"]\n[tcp]"),
    (
        "a key of two axes",
        "[tcp]",
        "[grid]\nduration = [\"1 s\"]\nx = { values = [1], duration = [\"2 s\"] }\n[tcp]",
    ),
    (
        "RED with its thresholds the wrong way round",
        "\"25 packets\"",
        "{ red = { limit = \"60 packets\", min_threshold = \"15 packets\" } }",
    ),
    ("a link in a circle", "[\"client\", \"server\"]", "[\"client\", \"client\"]"),
    ("a host that asks itself", "server = \"server\"", "server = \"client\""),
    ("a request of nothing", "transfer =", "request = \"0 B\"\ntransfer ="),
    (
        "nobody",
        "[application.web]\nkind = \"web\"\nclient = \"client\"\nserver = \"server\"\nworkload = \
         \"heidemann\"\ntransfer = \"persistent\"\n",
        "[application]\n",
    ),
    (
        "a value that every case replaces",
        "transfer = \"persistent\"\n",
        "transfer = \"persistant\"\n[grid]\n\"application.web.transfer\" = [\"serial\"]\n",
    ),
    ("a queue that there is not", "\"25 packets\"", "{ codel = { limit = \"60 packets\" } }"),
    ("a crowd", "transfer =", "users = 4_000_001\ntransfer ="),
    ("a date", "duration", "title = 1996-05-01\nduration"),
];

#[test]
fn what_is_wrong_is_said_once_with_its_place() {
    let messages = BROKEN.iter().map(|(name, from, to)| {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{name}");
        let error = parse(&text).map(|_| name).unwrap_err().to_string();
        assert!(error.starts_with("test.toml:"), "{name}: {error}");
        assert_eq!(error.lines().count(), 1, "{name}: {error}");
        format!("{name}\n    {error}")
    });
    insta::assert_snapshot!(messages.collect::<Vec<_>>().join("\n"));
}

#[test]
fn an_axis_is_added_or_takes_the_place_of_one_that_varies_the_same() {
    let text = r#"
        duration = "1 s"
        host = { client = {}, server = {} }
        link.wire = { ends = ["client", "server"], rate = "1 Mb/s", delay = "1 ms" }
        application.copy = { kind = "bulk", client = "client", server = "server" }
        [grid]
        "link.wire.delay" = ["1 ms", "2 ms"]
        both = { "link.wire.rate" = ["1 Mb/s", "2 Mb/s"], "link.wire.queue" = ["5 packets", "9 packets"] }
    "#;
    let draft = Draft::parse("axes.toml", text).unwrap();
    let cases = |draft: Draft| {
        let experiment = draft.experiment([], &[]).unwrap();
        experiment.cases().iter().map(|case| case.labels.to_string()).collect::<Vec<_>>()
    };
    let replaced = draft.clone().with_axis("link.wire.delay", "[\"7 ms\"]").unwrap();
    assert_eq!(
        cases(replaced),
        [
            "link.wire.delay = 7 ms, link.wire.rate = 1 Mb/s, link.wire.queue = 5 packets",
            "link.wire.delay = 7 ms, link.wire.rate = 2 Mb/s, link.wire.queue = 9 packets",
        ]
    );
    let added = draft.clone().with_axis("link.wire.loss", "[\"1 %\", \"2 %\"]").unwrap();
    assert_eq!(cases(added).len(), 8);
    for (key, expected) in [
        ("link.wire.rate", "the axis both varies this and other keys"),
        ("link.wire", "the grid varies link.wire.delay, which has a part in common with this"),
        ("link.wire.queue.packets", "the grid varies link.wire.queue, which has a part in common"),
        ("seeds", "the grid cannot vary this"),
    ] {
        let error = draft.clone().with_axis(key, "[1]").unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(key), "{error}");
    }
}
