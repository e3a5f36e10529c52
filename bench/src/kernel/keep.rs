//! A run as files: the experiment, and what happened in both worlds.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context;

use super::flow::{End, Flow, Packet};

/// Writes the run `nth` of a path into a folder of its own below `folder`.
pub(super) fn keep(
    folder: &Path,
    path: u64,
    nth: u64,
    toml: &str,
    flows: [&Flow; 2],
) -> anyhow::Result<()> {
    let folder = folder.join(format!("path-{path:04}-{nth}"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    };
    write("experiment.toml", toml)?;
    write("kernel.csv", &csv(flows[0]))?;
    write("ours.csv", &csv(flows[1]))
}

/// One line for each packet that was sent, arrived or was dropped, and for each window, in order of time.
fn csv(flow: &Flow) -> String {
    let zero = flow.sent.first().map_or(0, |packet| packet.at);
    let micros = |at: u64| at.saturating_sub(zero) / 1_000;
    let mut lines: Vec<(u64, String)> = Vec::new();
    let kinds = [("sent", &flow.sent), ("arrived", &flow.arrived), ("dropped", &flow.dropped)];
    for (what, list) in kinds {
        lines.extend(list.iter().map(|packet| {
            let &Packet { at, from, offset, len, ack } = packet;
            let from = match from {
                End::Client => "client",
                End::Server => "server",
            };
            (micros(at), format!("{what},{from},{offset},{len},{ack},"))
        }));
    }
    lines.extend(
        flow.windows.iter().map(|(at, cwnd)| (micros(*at), format!("window,server,,,,{cwnd}"))),
    );
    lines.sort_by_key(|line| line.0);
    let mut text = "micros,what,from,offset,len,ack,cwnd\n".to_owned();
    for (at, line) in lines {
        let _ = writeln!(text, "{at},{line}");
    }
    text
}
