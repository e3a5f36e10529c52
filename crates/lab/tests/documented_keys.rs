//! Every key that docs/keys.md has changes something that a run measures.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    thread,
};

use ackwise_lab::{
    experiment::{Experiment, key_names},
    run::{Options, run_all},
};

/// What no measure but `work.*` can depend on.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("title", "a text for readers"),
    ("seeds", "the numbers of the rows; a row's measures depend on its own seed alone"),
    ("show", "which measures a table has"),
    ("max_events", "a run that reaches it has no measures"),
    ("max_connections", "a run that reaches it has no measures"),
    ("tcp", "its keys are tried"),
    ("host", "its keys are tried"),
    ("router", "a node without keys but `count`"),
    ("link", "its keys are tried"),
    ("application", "its keys are tried"),
    ("grid", "what it sets is tried"),
    ("web.workload.gurkan", "its keys are tried"),
];

/// Two users, a short path that is not fast, and a queue that overflows at times.
const BASE: &str = r#"
duration = "20 s"

[tcp]
preset = "rfc"

[host]
client = {}
server = {}

[link.wire]
ends = ["client", "server"]
rate = "2 Mb/s"
delay = "10 ms"
queue = "12 packets"

[application.web]
kind = "web"
client = "client"
server = "server"
users = 2
workload = "surge"
transfer = "persistent"
think = { uniform = { from = "0.2 s", to = "1 s" } }
"#;

/// What the base needs before the key has something to do.
const LOSSY: &str = "link.wire.loss=3 %";
const BBR: &str =
    r#"tcp={ preset = "linux-6-bbr", receive_buffer = "4 MiB", send_buffer = "4 MiB" }"#;
const QUICK_TIMER: &str =
    r#"tcp={ receive_buffer = "1 MiB", send_buffer = "1 MiB", timers = "linux" }"#;
/// Most ACKs are lost, often all of a flight's, so that the timer runs out although everything has arrived.
const LOST_ACKS: &str = r#"link.wire={ ends = ["client", "server"], rate = "2 Mb/s",
    delay = "10 ms", queue = "100 packets", loss = "50 %", back = { loss = "0 %" } }"#;
/// Segments that overtake each other look like losses.
const SPURIOUS: &str = r#"link.wire={ ends = ["client", "server"], rate = "2 Mb/s",
    delay = "10 ms", reordering = "2 %", lateness = "30 ms" }"#;
const SERIAL: &str = "application.web.transfer=serial";
const PIPELINED: &str = "application.web.transfer=pipelined";
const PARALLEL: &str = "application.web.transfer={ parallel = { connections = 4 } }";
const GET_WEB: &str = "application.web.transfer=get-web";
const KEPT: &str = "application.web.connections=kept";
const LONG_THINK: &str = "application.web.think=3s";
const APART: &str = "application.web.behaviour.head_flush=apart";
const IN_CHUNKS: &str = "application.web.behaviour.write_size=1000 B";
const TABLE: &str = "host.server.table={ order = \"linear\", others = 50 }";
const BULK: &str = r#"application.web={ kind = "bulk", client = "client", server = "server",
    file = "30 KB", pause = "0.4 s" }"#;
const ARRIVALS: &str = r#"application.web={ kind = "arrivals", client = "client", server = "server",
    interarrival = { exponential = { mean = "0.1 s" } }, response = "6 KB" }"#;
const RED: &str = "link.wire.queue={ red = { limit = \"30 packets\" } }";
const CROWD: &str = "application.web.users=12";
const HALF_CACHED: &str = "application.web.cached=50 %";
const SMALL_BUFFER: &str = "host.client.tcp.receive_buffer=3 KB";
const SLOW: &str = r#"application.web.reads={ slowly = { size = "100 B", pause = "9 ms" } }"#;
const SWAP: &str = "host.client.tcp.close=swap";
/// Large requests come one after another while the server answers the first, after more than an RTO.
const CROSSING: &str = r#"application.web={ kind = "web", client = "client", server = "server",
    workload = { primary = "40 KB", inline = "40 KB", inlines = 9 }, transfer = "pipelined",
    request = "15 KB", behaviour = { think = "1.2 s" } }"#;
const SLOW_THERE: &str = r#"link.wire={ ends = ["client", "server"], rate = "300 kb/s",
    delay = "100 ms", back = { rate = "2 Mb/s", queue = "12 packets" } }"#;
const LARGE_BUFFERS: &str = r#"tcp={ receive_buffer = "1 MiB", send_buffer = "1 MiB" }"#;
const FAT: &str =
    r#"link.wire={ ends = ["client", "server"], rate = "100 Mb/s", delay = "50 ms" }"#;
const SHALLOW: &str = r#"link.wire={ ends = ["client", "server"], rate = "11 Mb/s",
    delay = "3 ms", queue = "12 packets" }"#;
const LARGE_FILES: &str = r#"application.web={ kind = "bulk", client = "client", server = "server",
    file = "10 MB" }"#;

/// A key, what it needs, its path, and two values that must give different measures.
type Effect = (&'static str, &'static [&'static str], &'static str, [&'static str; 2]);

#[rustfmt::skip]
const EFFECTS: &[Effect] = &[
    ("duration", &[], "duration", ["10 s", "20 s"]),
    ("warm_up", &[], "warm_up", ["0 s", "10 s"]),
    ("watch_causes", &[], "watch_causes", ["false", "true"]),

    ("tcp.preset", &[], "tcp.preset", ["rfc", "sunos-4.1"]),
    ("tcp.ack", &[], "tcp.ack", ["every-segment", "linux-quick-ack"]),
    ("tcp.ack.delayed.every", &[], "tcp.ack.delayed.every", ["2", "4"]),
    ("tcp.ack.delayed.delay", &[], "tcp.ack.delayed.delay", ["10 ms", "200 ms"]),
    ("tcp.ack.host-tick.period", &[], "tcp.ack.host-tick.period", ["50 ms", "200 ms"]),
    ("tcp.ack.host-tick.phase", &[], "tcp.ack.host-tick.phase", ["0 s", "77 ms"]),
    ("tcp.ack.ns-2.every", &[], "tcp.ack.ns-2.every", ["1", "4"]),
    ("tcp.ack.ns-2.interval", &["tcp.ack.ns-2.every=4"], "tcp.ack.ns-2.interval", ["50 ms", "200 ms"]),
    ("tcp.ack.withheld.delay", &[], "tcp.ack.withheld.delay", ["10 ms", "100 ms"]),
    ("tcp.hold", &[APART, "application.web.behaviour.nagle=on"], "tcp.hold", ["off", "nagle"]),
    ("tcp.hold.cork.release", &["application.web.behaviour.nagle=on"], "tcp.hold.cork.release", ["50 ms", "200 ms"]),
    ("tcp.initial_window", &[], "tcp.initial_window", ["1", "10"]),
    ("tcp.start", &[SERIAL], "tcp.start", ["at-once", "paced"]),
    ("tcp.slow_start", &[LARGE_BUFFERS, LARGE_FILES], "tcp.slow_start", ["until-loss", "hoe"]),
    ("tcp.congestion", &[LOSSY], "tcp.congestion", ["tahoe", "cubic"]),
    ("tcp.reduction", &[LOSSY, LARGE_BUFFERS, LARGE_FILES], "tcp.reduction", ["at-once", "proportional"]),
    ("tcp.undo", &[SPURIOUS, LARGE_BUFFERS, LARGE_FILES], "tcp.undo", ["off", "linux"]),
    ("tcp.loss_detection", &[LOSSY, LARGE_BUFFERS, LARGE_FILES], "tcp.loss_detection", ["rfc-6675", "rack"]),
    ("tcp.bbr_phase", &[BBR, FAT, LARGE_FILES], "tcp.bbr_phase", ["0", "3"]),
    ("tcp.tick_phase", &[LOSSY, QUICK_TIMER], "tcp.tick_phase", ["0 ms", "3 ms"]),
    ("tcp.d_sack", &["tcp.undo=linux", "tcp.timestamps=false", SPURIOUS, LARGE_BUFFERS, LARGE_FILES], "tcp.d_sack", ["off", "rfc-2883"]),
    ("tcp.deferral", &["tcp.preset=linux-6-bbr", SHALLOW, LARGE_FILES], "tcp.deferral", ["off", "linux"]),
    ("tcp.frto", &[QUICK_TIMER, LOST_ACKS], "tcp.frto", ["off", "linux"]),
    ("tcp.unused_window", &[QUICK_TIMER, KEPT, FAT, "application.web.think=0.1s"], "tcp.unused_window", ["kept", "linux"]),
    ("tcp.receive_tuning", &["tcp.send_buffer=1 MiB", FAT, LARGE_FILES], "tcp.receive_tuning", ["off", "linux"]),
    ("tcp.send_tuning", &["tcp.receive_buffer=1 MiB", FAT, LARGE_FILES], "tcp.send_tuning", ["off", "linux"]),
    ("tcp.idle_restart", &[KEPT, LONG_THINK], "tcp.idle_restart", ["keep", "since-send"]),
    ("tcp.idle_restart.restart.window", &[KEPT, LONG_THINK], "tcp.idle_restart.restart.window", ["one-segment", "rfc-5681"]),
    ("tcp.idle_restart.restart.since", &[KEPT, LONG_THINK], "tcp.idle_restart.restart.since", ["send", "receive"]),
    ("tcp.idle_restart.restart.threshold", &[KEPT, LONG_THINK], "tcp.idle_restart.restart.threshold", ["1", "9"]),
    ("tcp.idle_restart.decay.cap", &[KEPT, LONG_THINK], "tcp.idle_restart.decay.cap", ["1", "9"]),
    ("tcp.idle_restart.paced.version", &[KEPT, LONG_THINK], "tcp.idle_restart.paced.version", ["reno", "vegas"]),
    ("tcp.idle_restart.paced.scale", &[KEPT, LONG_THINK], "tcp.idle_restart.paced.scale", ["0.25", "1"]),
    ("tcp.idle_restart.paced.until", &[CROSSING, SLOW_THERE], "tcp.idle_restart.paced.until", ["first-ack", "first-arrival"]),
    ("tcp.idle_restart.paced.since", &[KEPT, LONG_THINK], "tcp.idle_restart.paced.since", ["send", "receive"]),
    ("tcp.idle_restart.paced.threshold", &[KEPT, LONG_THINK], "tcp.idle_restart.paced.threshold", ["1", "9"]),
    ("tcp.timers", &[LOSSY], "tcp.timers", ["bsd", "linux"]),
    ("tcp.sharing", &[SERIAL], "tcp.sharing", ["off", "temporal"]),
    ("tcp.open", &[SERIAL], "tcp.open", ["handshake", "transaction"]),
    ("tcp.close", &[], "tcp.close", ["ordinary", "swap"]),
    ("tcp.reset_in_time_wait", &[SERIAL, SWAP], "tcp.reset_in_time_wait", ["ends", "ignored"]),
    ("tcp.sack", &[LOSSY], "tcp.sack", ["true", "false"]),
    ("tcp.timestamps", &[LOSSY], "tcp.timestamps", ["true", "false"]),
    ("tcp.window_scale", &[LARGE_BUFFERS, FAT, LARGE_FILES], "tcp.window_scale", ["true", "false"]),
    ("tcp.mss", &[], "tcp.mss", ["536 B", "1460 B"]),
    ("tcp.receive_buffer", &[], "tcp.receive_buffer", ["4 KiB", "32 KiB"]),
    ("tcp.send_buffer", &[], "tcp.send_buffer", ["4 KiB", "32 KiB"]),
    ("tcp.time_wait", &[], "tcp.time_wait", ["1 s", "60 s"]),
    ("tcp.user_timeout", &["link.wire.loss=60 %"], "tcp.user_timeout", ["2 s", "180 s"]),

    ("host.count", &[], "host.client.count", ["1", "2"]),
    ("host.tcp", &[], "host.server.tcp", ["rfc", "sunos-4.1"]),
    ("host.cost", &[], "host.server.cost", ["{}", "{ per_segment = \"1 ms\" }"]),
    ("host.cost.per_segment", &[], "host.server.cost.per_segment", ["0 s", "1 ms"]),
    ("host.cost.per_lookup", &[], "host.server.cost.per_lookup", ["0 s", "1 ms"]),
    ("host.cost.per_entry", &[TABLE], "host.server.cost.per_entry", ["0 s", "1 ms"]),
    ("host.cost.per_reset", &["application.web.closer=client-by-reset", CROWD], "host.server.cost.per_reset", ["0 s", "50 ms"]),
    ("host.cost.per_request", &[], "host.server.cost.per_request", ["0 s", "1 ms"]),
    ("host.table", &[], "host.server.table", ["{ order = \"linear\" }", "{ order = \"hash\" }"]),

    ("host.table.order", &[TABLE], "host.server.table.order", ["linear", "hash"]),
    ("host.table.record", &[TABLE], "host.server.table.record", ["256 B", "512 B"]),
    ("host.table.memory", &[TABLE, SERIAL], "host.server.table.memory", ["13 KB", "1 MB"]),
    ("host.table.others", &[TABLE], "host.server.table.others", ["5", "50"]),
    ("host.table.dummies", &[TABLE], "host.server.table.dummies", ["{ entries = 0, every = \"1 s\" }", "{ entries = 9, every = \"1 s\" }"]),
    ("host.table.dummies.entries", &[TABLE, "host.server.table.dummies.every=1s"], "host.server.table.dummies.entries", ["3", "9"]),
    ("host.table.dummies.at", &[TABLE, "host.server.table.dummies={ entries = 9, every = \"1 s\" }"], "host.server.table.dummies.at", ["0 s", "5 s"]),
    ("host.table.dummies.every", &[TABLE, "host.server.table.dummies.entries=9"], "host.server.table.dummies.every", ["0 s", "1 s"]),

    ("link.ends", &[], "link.wire.ends", ["[\"client\", \"server\"]", "[\"server\", \"client\"]"]),
    ("link.rate", &[], "link.wire.rate", ["1 Mb/s", "2 Mb/s"]),
    ("link.rate_change", &[], "link.wire.rate_change", ["{ at = \"5 s\", rate = \"1 Mb/s\" }", "{ at = \"90 s\", rate = \"1 Mb/s\" }"]),
    ("link.rate_change.at", &["link.wire.rate_change.rate=1 Mb/s"], "link.wire.rate_change.at", ["5 s", "15 s"]),
    ("link.rate_change.rate", &["link.wire.rate_change.at=5 s"], "link.wire.rate_change.rate", ["1 Mb/s", "4 Mb/s"]),
    ("link.delay", &[], "link.wire.delay", ["1 ms", "10 ms"]),
    ("link.queue", &[], "link.wire.queue", ["5 packets", "50 packets"]),
    ("link.loss", &[], "link.wire.loss", ["0 %", "1 %"]),
    ("link.loss.nth", &[], "link.wire.loss.nth", ["[3]", "[3, 9]"]),
    ("link.duplication", &[], "link.wire.duplication", ["0 %", "1 %"]),
    ("link.duplication.nth", &[], "link.wire.duplication.nth", ["[3]", "[3, 9]"]),
    ("link.reordering.nth", &["link.wire.lateness=30 ms"], "link.wire.reordering.nth", ["[3]", "[13, 19]"]),
    ("link.reordering", &["link.wire.lateness=30 ms"], "link.wire.reordering", ["0 %", "2 %"]),
    ("link.lateness", &["link.wire.reordering=2 %"], "link.wire.lateness", ["1 ms", "30 ms"]),
    ("link.mtu", &[], "link.wire.mtu", ["1499 B", "1500 B"]),
    ("link.forgets_after", &[KEPT, LONG_THINK], "link.wire.forgets_after", ["2 s", "90 s"]),
    ("link.overhead", &[], "link.wire.overhead", ["0 B", "38 B"]),
    ("link.back", &[], "link.wire.back", ["{}", "{ delay = \"20 ms\" }"]),

    ("link.queue.red.limit", &[CROWD, RED], "link.wire.queue.red.limit", ["16 packets", "60 packets"]),
    ("link.queue.red.min_threshold", &[CROWD, RED], "link.wire.queue.red.min_threshold", ["1 packet", "10 packets"]),
    ("link.queue.red.max_threshold", &[CROWD, RED], "link.wire.queue.red.max_threshold", ["6 packets", "25 packets"]),
    ("link.queue.red.max_probability", &[CROWD, RED], "link.wire.queue.red.max_probability", ["1 %", "20 %"]),
    ("link.queue.red.weight", &[CROWD, RED], "link.wire.queue.red.weight", ["0.1 %", "10 %"]),
    ("link.queue.red.spacing", &[CROWD, RED], "link.wire.queue.red.spacing", ["uniform", "waiting"]),
    ("link.queue.red.beyond_max", &[CROWD, RED, "link.wire.queue.red.max_threshold=6 packets"], "link.wire.queue.red.beyond_max", ["drop-all", "gentle"]),
    ("link.queue.red.mean_packet", &[CROWD, RED], "link.wire.queue.red.mean_packet", ["100 B", "1500 B"]),

    ("application.kind", &["application.web={ client = \"client\", server = \"server\" }"], "application.web", [
        r#"{ kind = "bulk", client = "client", server = "server", file = "6 KB" }"#,
        r#"{ kind = "arrivals", client = "client", server = "server", interarrival = "1 s", response = "6 KB" }"#,
    ]),
    ("application.client", &["host.other={ tcp = \"sunos-4.1\" }", "link.second={ ends = [\"other\", \"server\"] }"], "application.web.client",
        ["client", "other"]),
    ("application.server", &["host.other={ tcp = \"sunos-4.1\" }", "link.second={ ends = [\"other\", \"client\"] }"], "application.web.server",
        ["server", "other"]),
    ("application.start", &[], "application.web.start", ["0 s", "7 s"]),

    ("web.users", &[], "application.web.users", ["1", "2"]),
    ("web.pages", &[], "application.web.pages", ["2", "3"]),
    ("web.workload", &[], "application.web.workload", ["surge", "mah"]),
    ("web.workload.gurkan.inline_shape", &[GURKAN], "application.web.workload.gurkan.inline_shape", ["1.1", "1.3"]),
    ("web.workload.gurkan.small_files", &[GURKAN], "application.web.workload.gurkan.small_files", ["0 %", "50 %"]),
    ("web.workload.primary", &["application.web.workload={ primary = \"1 KB\", inlines = [] }"], "application.web.workload.primary", ["1 KB", "2 KB"]),
    ("web.workload.inlines", &["application.web.workload={ primary = \"1 KB\", inlines = [] }"], "application.web.workload.inlines", ["[]", "[\"1 KB\"]"]),
    ("web.replay", &[], "application.web.replay", [r#"{ pages = [["1 KB"]], think = ["1 s"] }"#, r#"{ pages = [["1 KB", "3 KB"]], think = ["1 s"] }"#]),
    ("web.replay.pages", &[REPLAY], "application.web.replay.pages", [r#"[["1 KB"]]"#, r#"[["2 KB"]]"#]),
    ("web.replay.think", &[REPLAY], "application.web.replay.think", [r#"["1 s"]"#, r#"["3 s"]"#]),
    ("web.workload.inline", &["application.web.workload={ primary = \"1 KB\", inlines = 2, inline = \"1 KB\" }"], "application.web.workload.inline",
        ["1 KB", "2 KB"]),
    ("web.transfer", &[], "application.web.transfer", ["serial", "pipelined"]),
    ("web.transfer.parallel.connections", &[], "application.web.transfer", ["{ parallel = { connections = 2 } }", "{ parallel = { connections = 6 } }"]),
    ("web.transfer.segment-filled.segment", &[], "application.web.transfer",
        ["{ segment-filled = { segment = \"536 B\" } }", "{ segment-filled = { segment = \"1460 B\" } }"]),
    ("web.connections", &[], "application.web.connections", ["per-document", "kept"]),
    ("web.request", &[], "application.web.request", ["100 B", "1000 B"]),
    ("web.response_head", &[], "application.web.response_head", ["0 B", "300 B"]),
    ("web.think", &[], "application.web.think", ["1 s", "2 s"]),
    ("web.think_scope", &[], "application.web.think_scope", ["document", "file"]),
    ("web.client_delay", &[], "application.web.client_delay", ["0 s", "5 ms"]),
    ("web.open_gap", &[PARALLEL], "application.web.open_gap", ["0 s", "5 ms"]),
    ("web.behaviour", &[], "application.web.behaviour", ["fixed", "paper-1996"]),
    ("web.parse", &[GET_WEB], "application.web.parse", ["0 s", "5 ms"]),
    ("web.cached", &[], "application.web.cached", ["0 %", "50 %"]),
    ("web.validation", &[HALF_CACHED], "application.web.validation", ["none", "conditional"]),
    ("web.validation.conditional.not_modified", &[HALF_CACHED], "application.web.validation.conditional.not_modified", ["100 B", "1400 B"]),
    ("web.closer", &[], "application.web.closer", ["client", "server"]),
    ("web.client_close", &[], "application.web.client_close", ["0 B", "46 B"]),
    ("web.prompt_acks", &[], "application.web.prompt_acks", ["false", "true"]),
    ("web.reads", &[SMALL_BUFFER], "application.web.reads", ["at-once", "{ slowly = { size = \"100 B\", pause = \"9 ms\" } }"]),
    ("web.response_timeout", &["application.web.behaviour.think=1 s"], "application.web.response_timeout", ["0.9 s", "9 s"]),
    ("web.reads.slowly.size", &[SMALL_BUFFER, SLOW], "application.web.reads.slowly.size", ["50 B", "100 B"]),
    ("web.reads.slowly.pause", &[SMALL_BUFFER, SLOW], "application.web.reads.slowly.pause", ["9 ms", "90 ms"]),

    ("bulk.clients", &[BULK], "application.web.clients", ["1", "2"]),
    ("bulk.request", &[BULK], "application.web.request", ["100 B", "1000 B"]),
    ("bulk.file", &[BULK], "application.web.file", ["30 KB", "60 KB"]),
    ("bulk.files", &[BULK], "application.web.files", ["2", "3"]),
    ("bulk.pause", &[BULK], "application.web.pause", ["0 s", "1 s"]),
    ("bulk.sender", &[BULK], "application.web.sender", ["server", "client"]),
    ("bulk.behaviour", &[BULK], "application.web.behaviour", ["fixed", "paper-1996"]),

    ("arrivals.interarrival", &[ARRIVALS], "application.web.interarrival", ["1 s", "2 s"]),
    ("arrivals.request", &[ARRIVALS], "application.web.request", ["100 B", "1000 B"]),
    ("arrivals.response", &[ARRIVALS], "application.web.response", ["1 KB", "2 KB"]),
    ("arrivals.hold", &[ARRIVALS], "application.web.hold", ["0 s", "1 s"]),
    ("arrivals.prompt_acks", &[ARRIVALS], "application.web.prompt_acks", ["false", "true"]),
    ("arrivals.limit", &[ARRIVALS], "application.web.limit", ["2", "3"]),

    ("proxy.proxy", PROXY, "application.web.proxy", ["proxy", "relay"]),
    ("proxy.route", PROXY, "application.web.route", ["proxy", "direct"]),
    ("proxy.think", PROXY, "application.web.think", ["1 s", "2 s"]),
    ("proxy.size", PROXY, "application.web.size", ["10 KB", "20 KB"]),
    ("proxy.request", PROXY, "application.web.request", ["100 B", "1000 B"]),
    ("proxy.hits", PROXY, "application.web.hits", ["10 %", "90 %"]),
    ("proxy.scheme", PROXY, "application.web.scheme", ["1", "3"]),
    ("proxy.n_max", PROXY, "application.web.n_max", ["8", "30"]),
    ("proxy.counted", PROXY, "application.web.counted", ["both", "downward"]),
    ("proxy.reserved", PROXY, "application.web.reserved", ["1", "4"]),
    ("proxy.refused", PROXY, "application.web.refused", ["retry", "queue"]),
    ("proxy.upward", PROXY, "application.web.upward", ["per-server", "per-client"]),
    ("proxy.persistent", PROXY, "application.web.persistent", ["true", "false"]),
    ("proxy.timeouts", PROXY, "application.web.timeouts", ["{}", "{ client = \"0.2 s\" }"]),
    ("proxy.timeouts.client", PROXY, "application.web.timeouts.client", ["0.2 s", "15 s"]),
    ("proxy.timeouts.server", PROXY, "application.web.timeouts.server", ["0.2 s", "15 s"]),
    ("proxy.buffer_memory", PROXY, "application.web.buffer_memory", ["60 KB", "200 KB"]),
    ("proxy.fixed_buffer", PROXY_1, "application.web.fixed_buffer", ["4 KiB", "16 KiB"]),
    ("proxy.initial_buffer", PROXY, "application.web.initial_buffer", ["4 KiB", "16 KiB"]),
    ("proxy.halving", PROXY, "application.web.halving", ["{ period = \"0.1 s\" }", "{ period = \"3 s\" }"]),
    ("proxy.halving.period", PROXY, "application.web.halving.period", ["0.1 s", "3 s"]),
    ("proxy.halving.least", PROXY, "application.web.halving", ["{ period = \"0.1 s\", least = \"200 B\" }", "{ period = \"0.1 s\", least = \"8 KB\" }"]),
    ("proxy.interval", PROXY, "application.web.interval", ["0.1 s", "3 s"]),
    ("proxy.divides", PROXY_SHRINKS, "application.web.divides", ["interval", "reuse"]),
    ("proxy.spare", PROXY_AMPLE, "application.web.spare", ["keep", "equal"]),
    ("proxy.idle_memory", PROXY, "application.web.idle_memory", ["reserved", "free"]),
    ("proxy.sizing", PROXY_AMPLE, "application.web.sizing", ["mean", "peak"]),
    ("proxy.before_loss", PROXY_AMPLE, "application.web.before_loss", ["at-least-initial", "estimate"]),
    ("proxy.send_buffers", PROXY_AMPLE, "application.web.send_buffers", ["utilisation", "relation"]),
    ("proxy.receive_buffers", PROXY_AMPLE, "application.web.receive_buffers", ["utilisation", "complete-information"]),

    ("behaviour.preset", &[], "application.web.behaviour.preset", ["fixed", "paper-1996"]),
    ("behaviour.head_flush", &["application.web.response_head=200 B"], "application.web.behaviour.head_flush", ["joined", "apart"]),
    ("behaviour.write_size", &[], "application.web.behaviour.write_size", ["1000 B", "all"]),
    ("behaviour.nagle", &[IN_CHUNKS, "tcp.hold=nagle"], "application.web.behaviour.nagle", ["on", "off"]),
    ("behaviour.tail", &[], "application.web.behaviour.tail", ["sent", "corked"]),
    ("behaviour.send_buffer", &[], "application.web.behaviour.send_buffer", ["4 KiB", "host"]),
    ("behaviour.keep_alive", &[], "application.web.behaviour.keep_alive", ["never", "{ silent = { idle = \"15 s\" } }"]),
    ("behaviour.keep_alive.announced.idle", &[KEPT, LONG_THINK], "application.web.behaviour.keep_alive.announced.idle", ["2 s", "15 s"]),
    ("behaviour.keep_alive.announced.max_requests", &[KEPT, "application.web.behaviour.keep_alive.announced.idle=15s"],
        "application.web.behaviour.keep_alive.announced.max_requests", ["3", "5"]),
    ("behaviour.keep_alive.silent.idle", &[KEPT, LONG_THINK], "application.web.behaviour.keep_alive.silent.idle", ["2 s", "15 s"]),
    ("behaviour.keep_alive.silent.max_requests", &[KEPT, "application.web.behaviour.keep_alive.silent.idle=15s"],
        "application.web.behaviour.keep_alive.silent.max_requests", ["3", "5"]),
    ("behaviour.think", &[], "application.web.behaviour.think", ["0 s", "5 ms"]),
    ("behaviour.think_after_head", &[APART, "application.web.response_head=200 B"], "application.web.behaviour.think_after_head", ["0 s", "5 ms"]),
    ("behaviour.think_between_writes", &[IN_CHUNKS], "application.web.behaviour.think_between_writes", ["0 s", "5 ms"]),
    ("behaviour.gather", &[PIPELINED, "link.wire.rate=100 Mb/s", "application.web.behaviour.think=5 ms"], "application.web.behaviour.gather",
        ["each", "pending"]),

    ("span.uniform.from", &[], "application.web.think",
        ["{ uniform = { from = \"1 s\", to = \"3 s\" } }", "{ uniform = { from = \"2 s\", to = \"3 s\" } }"]),
    ("span.uniform.to", &[], "application.web.think",
        ["{ uniform = { from = \"1 s\", to = \"2 s\" } }", "{ uniform = { from = \"1 s\", to = \"3 s\" } }"]),
    ("span.exponential.mean", &[], "application.web.think", ["{ exponential = { mean = \"1 s\" } }", "{ exponential = { mean = \"2 s\" } }"]),
    ("span.pareto.least", &[SPAN], "application.web.think.pareto.least", ["1 s", "2 s"]),
    ("span.pareto.shape", &[SPAN], "application.web.think.pareto.shape", ["1", "2"]),
    ("span.pareto.most", &[SPAN], "application.web.think.pareto.most", ["3 s", "5 s"]),
    ("span.pareto.truncation", &[SPAN], "application.web.think.pareto.truncation", ["clip", "conditional"]),
    ("web.workload.inlines.pareto.off", &[INLINES], "application.web.workload.inlines.pareto.off", ["0", "2"]),
    ("span.weibull.scale", &[WEIBULL], "application.web.think.weibull.scale", ["1 s", "2 s"]),
    ("span.weibull.shape", &[WEIBULL], "application.web.think.weibull.shape", ["1", "2"]),
    ("web.workload.inlines.pareto.least", &[INLINES], "application.web.workload.inlines.pareto.least", ["2", "4"]),
    ("web.workload.inlines.pareto.most", &[INLINES], "application.web.workload.inlines.pareto.most", ["3", "9"]),
    ("web.workload.inlines.pareto.shape", &[INLINES], "application.web.workload.inlines.pareto.shape", ["1", "3"]),
    ("web.workload.inlines.uniform.from", &[INLINES], "application.web.workload.inlines",
        ["{ uniform = { from = 1, to = 9 } }", "{ uniform = { from = 5, to = 9 } }"]),
    ("web.workload.inlines.uniform.to", &[INLINES], "application.web.workload.inlines",
        ["{ uniform = { from = 1, to = 5 } }", "{ uniform = { from = 1, to = 9 } }"]),
    ("size.uniform.from", &[SIZE], "application.web.workload.inline",
        ["{ uniform = { from = \"1 KB\", to = \"9 KB\" } }", "{ uniform = { from = \"5 KB\", to = \"9 KB\" } }"]),
    ("size.uniform.to", &[SIZE], "application.web.workload.inline",
        ["{ uniform = { from = \"1 KB\", to = \"5 KB\" } }", "{ uniform = { from = \"1 KB\", to = \"9 KB\" } }"]),
    ("size.pareto.least", &[PARETO], "application.web.workload.inline.pareto.least", ["1 KB", "2 KB"]),
    ("size.pareto.shape", &[PARETO], "application.web.workload.inline.pareto.shape", ["1", "2"]),
    ("size.pareto.most", &[PARETO], "application.web.workload.inline.pareto.most", ["3 KB", "5 KB"]),
    ("size.pareto.truncation", &[PARETO], "application.web.workload.inline.pareto.truncation", ["clip", "conditional"]),
    ("size.log-normal.mu", &[SIZE], "application.web.workload.inline.log-normal.mu", ["7", "8"]),
    ("size.log-normal.sigma", &[SIZE], "application.web.workload.inline.log-normal.sigma", ["0.5", "1"]),
    ("size.log-normal.most", &[SIZE], "application.web.workload.inline.log-normal.most", ["2 KB", "4 KB"]),
    ("size.log-normal.truncation", &[SIZE], "application.web.workload.inline.log-normal.truncation", ["clip", "conditional"]),
    ("size.mixture.weight", &[SIZE], "application.web.workload.inline", [
        "{ mixture = [{ weight = 1, size = \"1 KB\" }, { weight = 1, size = \"4 KB\" }] }",
        "{ mixture = [{ weight = 1, size = \"1 KB\" }, { weight = 9, size = \"4 KB\" }] }",
    ]),
    ("size.mixture.size", &[SIZE], "application.web.workload.inline", [
        "{ mixture = [{ weight = 1, size = \"1 KB\" }] }", "{ mixture = [{ weight = 1, size = \"4 KB\" }] }",
    ]),
];

/// Ten clients at a proxy that has too few places and too little memory for them.
const PROXY: &[&str] = &[CLIENTS, RELAYS, BELOW, ABOVE, BESIDE, PAST, DOCUMENTS];
const PROXY_1: &[&str] =
    &[CLIENTS, RELAYS, BELOW, ABOVE, BESIDE, PAST, DOCUMENTS, "application.web.scheme=1"];
/// Idle buffers shrink, and matter.
const PROXY_SHRINKS: &[&str] =
    &[CLIENTS, RELAYS, BELOW, ABOVE, BESIDE, PAST, DOCUMENTS, ROOM, SHRINKS];
const PROXY_AMPLE: &[&str] = &[CLIENTS, RELAYS, BELOW, ABOVE, BESIDE, PAST, DOCUMENTS, ROOM];
const CLIENTS: &str = "host.client={ count = 10 }";
const RELAYS: &str = "host.proxy={}";
const BELOW: &str =
    r#"link.wire={ ends = ["client", "proxy"], rate = "10 Mb/s", delay = "20 ms", loss = "1 %" }"#;
const ABOVE: &str =
    r#"link.up={ ends = ["proxy", "server"], rate = "10 Mb/s", delay = "30 ms", loss = "0.5 %" }"#;
const BESIDE: &str = "host.relay={}";
const PAST: &str = r#"link.past={ ends = ["relay", ["client1", "client2", "client3", "client4", "client5",
    "client6", "client7", "client8", "client9", "client10", "server"]], rate = "10 Mb/s", delay = "50 ms" }"#;
const DOCUMENTS: &str = r#"application.web={ kind = "proxy", client = "client", proxy = "proxy",
    server = "server", size = { uniform = { from = "1 KB", to = "90 KB" } }, scheme = 4, n_max = 12,
    reserved = 2, buffer_memory = "100 KB", think = { uniform = { from = "0.2 s", to = "1 s" } } }"#;
const ROOM: &str = "application.web.buffer_memory=1 MB";
const SHRINKS: &str = "application.web.halving={ period = \"0.1 s\" }";

const SPAN: &str = r#"application.web.think={ pareto = { least = "1 s", shape = 1, most = "9 s",
    truncation = "clip" } }"#;
const WEIBULL: &str = r#"application.web.think={ weibull = { scale = "1 s", shape = 2 } }"#;
const REPLAY: &str = r#"application.web.replay={ pages = [["1 KB"]], think = ["1 s"] }"#;
const GURKAN: &str =
    r#"application.web.workload={ gurkan = { small_files = "0 %", inline_shape = 1 } }"#;
const SIZE: &str = r#"application.web.workload={ primary = "1 KB", inlines = 3,
    inline = { log-normal = { mu = 7, sigma = 1, most = "3 KB", truncation = "clip" } } }"#;

const INLINES: &str = r#"application.web.workload={ primary = "1 KB", inline = "1 KB",
    inlines = { pareto = { least = 2, shape = 2, most = 9 } } }"#;
const PARETO: &str = r#"application.web.workload={ primary = "1 KB", inlines = 3,
    inline = { pareto = { least = "1 KB", shape = 1, most = "9 KB", truncation = "clip" } } }"#;

#[test]
fn every_documented_key_is_tried_or_has_a_reason() {
    let documented = key_names();
    let tried = EFFECTS.iter().map(|(key, ..)| *key);
    let known = tried.chain(WITHOUT_EFFECT.iter().map(|(key, _)| *key));
    let mut seen = BTreeSet::new();
    for key in known {
        assert!(documented.contains(key), "{key} is not in docs/keys.md");
        assert!(seen.insert(key.to_owned()), "{key} stands here twice");
    }
    let missing: Vec<_> = documented.difference(&seen).collect();
    assert!(missing.is_empty(), "documented, and nobody shows that they do something: {missing:?}");
}

#[test]
fn every_documented_key_changes_a_measure() {
    let (todo, failures) = (Mutex::new(EFFECTS.iter()), Mutex::new(Vec::new()));
    let next = || todo.lock().expect("nobody panics with it").next();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(effect) = next() {
                    if let Err(failure) = changes_a_measure(effect) {
                        failures.lock().expect("nobody panics with it").push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("nobody panics with it");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn changes_a_measure((key, needs, path, values): &Effect) -> Result<(), String> {
    let [one, other] = values.map(|value| measures(needs, &format!("{path}={value}")));
    let (one, other) = (
        one.map_err(|error| format!("{key}: {error}"))?,
        other.map_err(|error| format!("{key}: {error}"))?,
    );
    if one == other { Err(format!("{key}: {values:?} measure the same")) } else { Ok(()) }
}

/// All measures but those of the work that a run takes.
fn measures(needs: &[&str], setting: &str) -> Result<BTreeMap<String, f64>, String> {
    let base = Experiment::parse("base.toml", BASE).map_err(|error| error.to_string())?;
    let settings = needs.iter().copied().chain([setting]);
    let experiment = base.with_all_set(settings).map_err(|error| error.to_string())?;
    let rows = run_all(&experiment, &Options::default(), &mut |_| {});
    let mut measures = rows.map_err(|error| error.to_string())?.remove(0).measures;
    measures.retain(|name, _| !name.starts_with("work."));
    Ok(measures)
}
