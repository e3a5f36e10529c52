//! Heidemann 1996 and 1997: a page over P-HTTP, FTP's first segment, pipelining, an idle connection.

use ackwise_lab::experiment::Labels;

use super::{
    KernelClaim, KernelTable,
    claims::{more, stalls, untried, value},
    exhibit::{Exhibit, every, has, none, unpublished},
};
use crate::{Effort, file::experiment_file, published::Published};

const PAGE: &[&str] = &["web.page_time_mean_ms"];

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
pub(super) fn exhibits(effort: Effort) -> Vec<Exhibit> {
    let table_1 = |id, title, shorter, published, has_model| Exhibit {
        id,
        title,
        file: experiment_file!("heidemann_table_1.toml"),
        shorter,
        linux: LINUX,
        wanted: every,
        measures: PAGE,
        published,
        has_model,
        repeat: 3,
    };
    let mut all = vec![
        table_1(
            "heidemann_table_1",
            "Heidemann 1997, Table 1: a page of 6651, 3883 and 1866 bytes",
            &["application.web.pages=10", "watch_causes=false"],
            printed,
            is_modelled,
        ),
        table_1(
            "heidemann_small",
            "The same with documents of 500, 300 and 200 bytes",
            SMALL,
            unpublished,
            is_modelled,
        ),
        Exhibit {
            id: "heidemann_pipelining",
            title: "Pipelining against the stalls",
            file: experiment_file!("heidemann_pipelining.toml"),
            shorter: &["application.web.pages=10", "watch_causes=false"],
            linux: LINUX,
            wanted: every,
            measures: PAGE,
            published: unpublished,
            has_model: none,
            repeat: 3,
        },
    ];
    if effort == Effort::Full {
        all.push(Exhibit {
            id: "heidemann_ftp",
            title: "FTP's first segment: a file of 20,000 bytes, sent by the end that opens",
            file: experiment_file!("heidemann_ftp.toml"),
            shorter: &["application.ftp.files=10"],
            linux: &["tcp.preset=linux-6"],
            wanted: every,
            measures: &["ftp.page_time_mean_ms"],
            published: unpublished,
            has_model: none,
            repeat: 2,
        });
        all.push(Exhibit {
            id: "heidemann_restart",
            title: "A page after 1 to 5 s of idle time, on a kept connection",
            file: experiment_file!("heidemann_idle.toml"),
            shorter: &[
                "application.web.pages=8",
                "duration=60s",
                "application.web.think={uniform={from=\"1 s\",to=\"5 s\"}}",
                RESTART_GRID,
            ],
            linux: LINUX,
            wanted: every,
            measures: PAGE,
            published: unpublished,
            has_model: none,
            repeat: 1,
        });
    }
    all
}

#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
pub(super) fn claims(tables: &[KernelTable]) -> Vec<KernelClaim> {
    let page = |id, row: &str| value(tables, id, PAGE[0], &[("row", row)]);
    let piped = |transfer: &str, fixes: &str| {
        let case = [("transfer", transfer), ("fixes", fixes)];
        value(tables, "heidemann_pipelining", PAGE[0], &case)
    };
    let restart =
        |restart: &str| value(tables, "heidemann_restart", PAGE[0], &[("restart", restart)]);
    let ftp =
        |by: &str| value(tables, "heidemann_ftp", "ftp.page_time_mean_ms", &[("opened_by", by)]);
    vec![
        more(
            ("heidemann p-http-is-slower", "Unfixed P-HTTP is slower than HTTP."),
            page("heidemann_table_1", UNFIXED),
            page("heidemann_table_1", HTTP),
            1.0,
        ),
        stalls(
            (
                "heidemann head-apart",
                "A head that is flushed as a segment of its own stalls the page, beside Nagle's algorithm.",
            ),
            page("heidemann_table_1", UNFIXED),
            page("heidemann_table_1", FIRST),
        ),
        stalls(
            ("heidemann nagle", "Nagle's algorithm stalls the last segment: disabling it helps."),
            page("heidemann_table_1", FIRST),
            page("heidemann_table_1", BOTH),
        ),
        more(
            ("heidemann fixed-p-http", "With both fixes P-HTTP is faster than HTTP."),
            page("heidemann_table_1", HTTP),
            page("heidemann_table_1", BOTH),
            1.0,
        ),
        stalls(
            (
                "heidemann small-documents",
                "A head apart stalls documents of less than a segment: unfixed P-HTTP against the first fix.",
            ),
            page("heidemann_small", UNFIXED),
            page("heidemann_small", FIRST),
        ),
        stalls(
            (
                "heidemann pipelining-no-cure",
                "Pipelining does not cure the stalls: unfixed against fixed, both pipelined.",
            ),
            piped("pipelined", "none"),
            piped("pipelined", "both"),
        ),
        stalls(
            ("heidemann ftp", "FTP's first segment stalls if the sender opens the connection."),
            ftp("sender"),
            ftp("receiver"),
        ),
        more(
            (
                "heidemann slow-start-restart",
                "After an idle time, slow start again makes a page slower than a kept window.",
            ),
            restart("decays"),
            restart("keep"),
            1.02,
        ),
        untried(
            "heidemann bsd-restart",
            "Restart after the last segment received (4.4BSD) does not restart after a request.",
            "Linux counts from the last data sent, and halves the window for each RTO; no sysctl changes that",
        ),
        untried(
            "heidemann host-tick",
            "Delayed ACKs leave with a clock of the whole host, every 200 ms.",
            "Linux has a timer for each connection, of 40 ms at least",
        ),
    ]
}

const HTTP: &str = "http none";
const UNFIXED: &str = "p-http none";
const FIRST: &str = "p-http first (headers not flushed as own segment)";
const BOTH: &str = "p-http both (plus Nagle disabled)";

const LINUX: &[&str] = &["tcp.preset=linux-6", "application.web.prompt_acks=true"];
/// Linux has these two; they are in the place of the papers' three.
const RESTART_GRID: &str = "grid={restart={values=[\"decays\",\"keep\"],\
     \"tcp.idle_restart\"=[\"decay\",\"keep\"],\"tcp.unused_window\"=[\"linux\",\"kept\"]}}";
const SMALL: &[&str] = &[
    "application.web.pages=10",
    "watch_causes=false",
    "application.web.workload={primary=\"500 B\",inlines=[\"300 B\",\"200 B\"]}",
];

fn is_modelled(labels: &Labels) -> bool {
    has(labels, "row", HTTP) || has(labels, "row", BOTH)
}

fn printed(labels: &Labels, _: &str) -> Option<f64> {
    let published = Published::named("heidemann1997_table_1").ok()?;
    let row = labels.get("row")?.to_string();
    let name = |nth| {
        let cells = ["protocol", "fixes"].map(|it| published.cell(nth, it).unwrap_or_default());
        cells.join(" ")
    };
    (0..published.rows.len())
        .find(|&nth| name(nth) == row)
        .and_then(|nth| published.number(nth, "mean_ms"))
}
