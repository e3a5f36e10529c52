//! Faber, Touch and Yue 1997: which end holds TIME-WAIT.

use super::{
    KernelClaim, KernelTable,
    claims::{more, untried, value},
    exhibit::{Exhibit, every, none, unpublished},
};
use crate::{Effort, file::experiment_file};

const SERVER: &str = "host.server.most_time_wait";
const CLIENT: &str = "host.client.most_time_wait";

pub(super) fn exhibits(effort: Effort) -> Vec<Exhibit> {
    let (title, shorter): (_, &[&str]) = match effort {
        Effort::Full => {
            ("Faber 1997: connections in TIME-WAIT at both ends after 15 s of WebSTONE", &[])
        }
        Effort::Quick => (
            "Faber 1997: connections in TIME-WAIT at both ends after 6 s of WebSTONE",
            &["duration=6s"],
        ),
    };
    vec![Exhibit {
        id: "faber_time_wait",
        title,
        file: experiment_file!("kernel_time_wait.toml"),
        shorter,
        linux: &["tcp.preset=linux-6"],
        wanted: every,
        measures: &["web.page_time_mean_ms", "web.documents", SERVER, CLIENT],
        published: unpublished,
        has_model: none,
        repeat: 1,
    }]
}

pub(super) fn claims(tables: &[KernelTable]) -> Vec<KernelClaim> {
    let held = |measure: &str, closer: &str| {
        value(tables, "faber_time_wait", measure, &[("closer", closer)])
    };
    vec![
        more(
            (
                "faber server-holds",
                "TIME-WAIT is the server's if it closes first, as HTTP/1.0 servers do.",
            ),
            held(SERVER, "server"),
            held(CLIENT, "server"),
            10.0,
        ),
        more(
            ("faber client-holds", "If the client closes first, TIME-WAIT is the client's."),
            held(CLIENT, "client"),
            held(SERVER, "client"),
            10.0,
        ),
        more(
            ("faber persistence", "Persistent connections reduce the number of TIME-WAITs."),
            held(SERVER, "server"),
            held(CLIENT, "kept"),
            10.0,
        ),
        untried(
            "faber swap",
            "A server that sends an RST when the client has closed moves TIME-WAIT to the client.",
            "the kernel has no such option; our TCP over a TUN device has (`ackwise load --close swap`)",
        ),
        untried(
            "faber negotiation",
            "A TCP option lets the ends agree who holds TIME-WAIT.",
            "the kernel does not know the option",
        ),
        untried(
            "faber look-up",
            "Entries in TIME-WAIT slow the demultiplexing of segments down.",
            "Linux looks connections up in a hash table; a linear list cannot be put in its place",
        ),
    ]
}
