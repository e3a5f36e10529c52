//! The traffic that a user's pages meet, as experiments.

/// What crosses the pages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// TCP of the host that sends it.
    preset: &'static str,
    /// Keys of its application.
    keys: &'static str,
}

/// All cases (our choice): a download, one by BBR, and downloads that come and go.
pub(super) const CASES: [Case; 3] = [
    Case { name: "bulk", preset: "linux-6", keys: "clients = 1" },
    Case { name: "bulk-bbr", preset: "linux-6-bbr", keys: "clients = 1" },
    Case {
        name: "on-off",
        preset: "linux-6",
        keys: "clients = 3\nfile = \"300 KB\"\npause = { exponential = { mean = \"1 s\" } }",
    },
];

/// What each run is (our choice).
pub(super) const RANGES: &str = "\
cases: four users fetch pages of 20 KB and three files of 8 KB, 0.3 s apart in the mean, through 10 Mb/s, 22 ms and a queue of
40 packets, beside one download (CUBIC or BBR) or three that come and go; each run is 10 s after a warm-up of 2 s";

impl Case {
    /// An experiment file for `ackwise run`.
    pub(super) fn toml(&self) -> String {
        let Self { name, preset, keys } = self;
        format!(
            r#"title = "Pages beside {name}, for the comparison with the kernel"
duration = "12 s"
warm_up = "2 s"
[tcp]
preset = "linux-6"
[host]
client = {{}}
server = {{}}
other = {{ tcp = "{preset}" }}
[router]
router = {{}}
[link.{BOTTLENECK}]
ends = ["client", "router"]
rate = "10 Mb/s"
delay = "10 ms"
queue = "40 packets"
[link.near]
ends = ["router", "server"]
delay = "1 ms"
[link.far]
ends = ["router", "other"]
delay = "5 ms"
[application.{PAGES}]
kind = "web"
client = "client"
server = "server"
users = 4
start = {{ uniform = {{ from = "0 s", to = "500 ms" }} }}
response_head = "0 B"
workload = {{ primary = "20 KB", inlines = ["8 KB", "8 KB", "8 KB"] }}
transfer = "persistent"
think = {{ exponential = {{ mean = "300 ms" }} }}
behaviour = {{ think = "80 us" }}
prompt_acks = true
[application.{OTHERS}]
kind = "bulk"
client = "client"
server = "other"
{keys}
"#
        )
    }
}

/// Names within the experiment.
pub(super) const PAGES: &str = "web";
pub(super) const OTHERS: &str = "others";
pub(super) const BOTTLENECK: &str = "bottleneck";
