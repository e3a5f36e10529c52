//! Which claims of the papers are still true, as ten plots: one claim each, with the published value, the simulator with the
//! paper's TCP, the simulator with `linux-6`, and the kernel.
//!
//! They are drawn from the JSON of `ackwise reproduce --on kernel` and of `ackwise reproduce faber`, so that a plot
//! can be drawn again without measuring again.

use ackwise_text::Bars;
use serde_json::Value;

/// A plot as a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Drawing {
    /// File name.
    pub name: &'static str,
    /// An SVG document.
    pub svg: String,
}

/// Draws all plots from what `reproduce --on kernel --json` printed, and from what `reproduce faber --json` printed.
/// A value that is missing there has no bar.
#[must_use]
pub fn drawings(on_kernel: &Value, simulated: &Value) -> Vec<Drawing> {
    let measured = PLOTS.iter().map(|plot| Drawing { name: plot.name, svg: plot.draw(on_kernel) });
    measured.chain([looking_up(simulated)]).collect()
}

/// A plot of rows of one table.
struct Plot {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    table: &'static str,
    measure: &'static str,
    /// Claims of the JSON that decide it.
    claims: &'static [&'static str],
    /// For each group its name, and the values of the case's keys, one of which may be given up to a blank.
    cases: &'static [(&'static str, &'static [(&'static str, &'static str)])],
}

const SOURCES: [(&str, &str); 4] = [
    ("published", "published"),
    ("simulated, the paper's TCP", "paper_tcp"),
    ("simulated, linux-6", "linux_6"),
    ("kernel, Linux 6.18", "kernel"),
];

impl Plot {
    fn draw(&self, on_kernel: &Value) -> String {
        let mut bars = Bars::new(self.title, self.unit, SOURCES.map(|(name, _)| name));
        let verdicts = self.claims.iter().map(|id| verdict(on_kernel, id));
        bars.remark = format!("On the kernel: {}", verdicts.collect::<Vec<_>>().join("; "));
        for (name, keys) in self.cases {
            let row = self.row(on_kernel, keys);
            bars.add(name, SOURCES.map(|(_, key)| row.and_then(|row| row[key].as_f64())));
        }
        bars.svg()
    }

    fn row<'v>(&self, on_kernel: &'v Value, keys: &[(&str, &str)]) -> Option<&'v Value> {
        let fits = |row: &&Value| {
            let has = |(key, value): &(&str, &str)| match &row["case"][*key] {
                Value::String(text) => text == value,
                other => other.as_u64().is_some_and(|number| value.parse() == Ok(number)),
            };
            row["measure"] == self.measure && keys.iter().all(has)
        };
        table(on_kernel, self.table)?.iter().find(fits)
    }
}

fn table<'v>(document: &'v Value, id: &str) -> Option<&'v Vec<Value>> {
    let tables = document["tables"].as_array()?;
    tables.iter().find(|table| table["id"] == id)?["rows"].as_array()
}

/// `holds (64.0 ms against 22.7 ms)`.
fn verdict(on_kernel: &Value, id: &str) -> String {
    let claims = on_kernel["claims"].as_array().into_iter().flatten();
    let Some(claim) = claims.into_iter().find(|claim| claim["id"] == id) else {
        return "not run".to_owned();
    };
    let verdict = claim["on_kernel"].as_str().unwrap_or_default().replace('-', " ");
    let because = claim["because"].as_str().unwrap_or_default();
    // What the test demands is in the claim's own report.
    let because = because.split(" (must").next().unwrap_or_default();
    format!("{verdict} ({because})")
}

/// Faber, Touch and Yue, Table 1: Linux has no list of connections, so the kernel has no bar.
fn looking_up(simulated: &Value) -> Drawing {
    let unit = "throughput of the server, Mb/s";
    let mut bars = Bars::new(
        "Entries in TIME-WAIT slow a server down",
        unit,
        ["published", "simulated, the paper's TCP"],
    );
    bars.remark =
        "On the kernel: cannot be tried (a hash table has replaced the list of connections)"
            .to_owned();
    let rows = table(simulated, "faber1997_table_1").into_iter().flatten();
    for row in rows.filter(|row| row["measure"] == "unmodified_avg") {
        let entries = row["case"]["time_wait_tcbs"].as_u64().unwrap_or_default();
        let name = format!("{} in TIME-WAIT", ackwise_text::words::grouped(entries));
        bars.add(&name, ["published", "ours"].map(|key| row[key].as_f64()));
    }
    Drawing { name: "10-time-wait-list.svg", svg: bars.svg() }
}

const PAGE_MS: &str = "mean time of a page, ms";
const PAGE: &str = "web.page_time_mean_ms";
const FIRST: &str = "p-http first (headers not flushed as own segment)";
const BOTH: &str = "p-http both (plus Nagle disabled)";
const EIGHT: (&str, &str) = ("web_clients", "8");
const ALONE: (&str, &str) = ("ftp_clients", "0");

const PLOTS: [Plot; 9] = [
    Plot {
        name: "1-unfixed-p-http.svg",
        title: "Persistent connections are slower until the server is fixed",
        unit: PAGE_MS,
        table: "heidemann_table_1",
        measure: PAGE,
        claims: &["heidemann p-http-is-slower"],
        cases: &[
            ("HTTP, a connection each", &[("row", "http none")]),
            ("persistent, unfixed", &[("row", "p-http none")]),
            ("persistent, both fixes", &[("row", BOTH)]),
        ],
    },
    Plot {
        name: "2-head-apart.svg",
        title: "A head in a segment of its own stalls the page",
        unit: PAGE_MS,
        table: "heidemann_table_1",
        measure: PAGE,
        claims: &["heidemann head-apart"],
        cases: &[
            ("head apart, Nagle on", &[("row", "p-http none")]),
            ("head joined, Nagle on", &[("row", FIRST)]),
        ],
    },
    Plot {
        name: "3-nagle.svg",
        title: "Nagle's algorithm stalls the last segment of a response",
        unit: PAGE_MS,
        table: "heidemann_table_1",
        measure: PAGE,
        claims: &["heidemann nagle"],
        cases: &[
            ("head joined, Nagle on", &[("row", FIRST)]),
            ("head joined, Nagle off", &[("row", BOTH)]),
        ],
    },
    Plot {
        name: "4-small-documents.svg",
        title: "Documents of less than a segment stall if their head is apart",
        unit: PAGE_MS,
        table: "heidemann_small",
        measure: PAGE,
        claims: &["heidemann small-documents"],
        cases: &[
            ("head apart, Nagle on", &[("row", "p-http none")]),
            ("head joined, Nagle on", &[("row", FIRST)]),
            ("head joined, Nagle off", &[("row", BOTH)]),
        ],
    },
    Plot {
        name: "5-pipelining.svg",
        title: "Pipelining does not cure the stalls",
        unit: PAGE_MS,
        table: "heidemann_pipelining",
        measure: PAGE,
        claims: &["heidemann pipelining-no-cure"],
        cases: &[
            ("pipelined, unfixed", &[("transfer", "pipelined"), ("fixes", "none")]),
            ("pipelined, head joined", &[("transfer", "pipelined"), ("fixes", "first")]),
            ("pipelined, both fixes", &[("transfer", "pipelined"), ("fixes", "both")]),
        ],
    },
    Plot {
        name: "6-ftp.svg",
        title: "A sender that opens the connection stalls after its first segment",
        unit: "mean time of a file of 20,000 bytes, ms",
        table: "heidemann_ftp",
        measure: "ftp.page_time_mean_ms",
        claims: &["heidemann ftp"],
        cases: &[
            ("opened by the sender", &[("opened_by", "sender")]),
            ("opened by the receiver", &[("opened_by", "receiver")]),
        ],
    },
    Plot {
        name: "7-restart.svg",
        title: "Slow start after an idle time makes the next page slower",
        unit: PAGE_MS,
        table: "heidemann_restart",
        measure: PAGE,
        claims: &["heidemann slow-start-restart"],
        cases: &[
            ("the window decays", &[("restart", "decays")]),
            ("the window is kept", &[("restart", "keep")]),
        ],
    },
    Plot {
        name: "8-plans.svg",
        title: "One stream with full segments is faster than many responses",
        unit: "bytes of pages by their retrieval time, bytes/s",
        table: "gurkan_tables",
        measure: "web.rate_sum",
        claims: &["gurkan segment-filled", "gurkan getweb"],
        cases: &[
            ("serial connections", &[("plan", "serial"), EIGHT, ALONE]),
            ("parallel connections", &[("plan", "parallel"), EIGHT, ALONE]),
            ("one, request by request", &[("plan", "pipelined"), EIGHT, ALONE]),
            ("full segments", &[("plan", "segment_filled"), EIGHT, ALONE]),
            ("GETWEB", &[("plan", "get_web"), EIGHT, ALONE]),
        ],
    },
    Plot {
        name: "9-who-holds-time-wait.svg",
        title: "The server holds TIME-WAIT if it closes first",
        unit: "most connections in TIME-WAIT at the server, after 15 s",
        table: "faber_time_wait",
        measure: "host.server.most_time_wait",
        claims: &["faber server-holds", "faber persistence"],
        cases: &[
            ("the server closes first", &[("closer", "server")]),
            ("the client closes first", &[("closer", "client")]),
            ("the client resets", &[("closer", "client by reset")]),
            ("connections persist", &[("closer", "kept")]),
        ],
    },
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plot_has_the_values_of_its_rows_and_the_verdict_of_its_claim() {
        let row = |case: &str, kernel: f64| {
            json!({ "case": { "row": case }, "measure": PAGE, "published": null, "paper_tcp": 200.5,
                    "linux_6": 62.1, "kernel": kernel })
        };
        let document = json!({
            "tables": [{ "id": "heidemann_table_1", "rows": [row(FIRST, 64.25), row(BOTH, 22.75)] }],
            "claims": [{ "id": "heidemann nagle", "on_kernel": "does-not-hold",
                         "because": "a against b (must be 30 ms more)" }],
        });
        let drawn = drawings(&document, &Value::Null);
        let nagle = &drawn[2].svg;
        assert!(nagle.contains("On the kernel: does not hold (a against b)"), "{nagle}");
        for value in ["64.2", "22.8", "200", "62.1"] {
            assert!(nagle.contains(&format!(">{value}<")), "{value} in {nagle}");
        }
        assert!(drawn[5].svg.contains("not run"), "its claim is missing");
    }

    #[test]
    fn every_plot_is_a_file_of_its_own() {
        let drawn = drawings(&Value::Null, &Value::Null);
        let names: std::collections::BTreeSet<_> = drawn.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), 10);
    }
}
