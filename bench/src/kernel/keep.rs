//! A run as files: the experiment, and what happened in both worlds. The kernel's part can be read again.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

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
    let folder = self::folder(folder, path, nth);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    };
    write("experiment.toml", toml)?;
    write("kernel.csv", &csv(flows[0]))?;
    write("simulated.csv", &csv(flows[1]))
}

/// Where the run `nth` of a path is kept.
pub(super) fn folder(folder: &Path, path: u64, nth: u64) -> PathBuf {
    folder.join(format!("path-{path:04}-{nth}"))
}

/// The kernel's run `nth` of a path, if an earlier call of [`keep`] has written it below `folder`.
pub(super) fn kept(folder: &Path, path: u64, nth: u64) -> anyhow::Result<Option<Flow>> {
    let file = self::folder(folder, path, nth).join("kernel.csv");
    let text = match fs::read_to_string(&file) {
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| format!("cannot read {}", file.display()))?,
    };
    let mut flow = Flow::default();
    for (number, line) in text.lines().enumerate().skip(1) {
        take_line(&mut flow, line)
            .with_context(|| format!("{}, line {}: not a packet", file.display(), number + 1))?;
    }
    Ok(Some(flow))
}

/// What [`csv`] has written.
fn take_line(flow: &mut Flow, line: &str) -> Option<()> {
    let fields: Vec<&str> = line.split(',').collect();
    let [at, what, from, offset, len, ack, window] = fields[..] else { return None };
    let at = at.parse::<u64>().ok()? * 1_000;
    let packet = || {
        let from = match from {
            "client" => End::Client,
            "server" => End::Server,
            _ => return None,
        };
        let [offset, ack] = [offset.parse().ok()?, ack.parse().ok()?];
        Some(Packet { at, from, offset, len: len.parse().ok()?, ack })
    };
    match what {
        "sent" => flow.sent.push(packet()?),
        "arrived" => flow.arrived.push(packet()?),
        "dropped" => flow.dropped.push(packet()?),
        "window" => flow.windows.push((at, window.parse().ok()?)),
        "threshold" => flow.thresholds.push((at, window.parse().ok()?)),
        _ => return None,
    }
    Some(())
}

/// One line for each packet that was sent, arrived or was dropped, and for each window and ssthresh, in order
/// of time.
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
    lines.extend(
        flow.thresholds
            .iter()
            .map(|(at, threshold)| (micros(*at), format!("threshold,server,,,,{threshold}"))),
    );
    lines.sort_by_key(|line| line.0);
    let mut text = "micros,what,from,offset,len,ack,cwnd\n".to_owned();
    for (at, line) in lines {
        let _ = writeln!(text, "{at},{line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_can_be_read() {
        let packet = |at, from, offset, len, ack| Packet { at, from, offset, len, ack };
        let mut flow = Flow::default();
        flow.sent.push(packet(0, End::Client, 0, 200, 0));
        flow.arrived.push(packet(5_000, End::Client, 0, 200, 0));
        flow.dropped.push(packet(9_000, End::Server, 1_448, 1_448, 200));
        flow.windows.push((6_000, 10));
        flow.thresholds.push((6_000, u32::MAX));
        let folder = std::env::temp_dir().join(format!("ackwise-kept-{}", std::process::id()));
        keep(&folder, 3, 1, "", [&flow, &flow]).unwrap();
        let read = kept(&folder, 3, 1).unwrap().unwrap();
        assert!(kept(&folder, 3, 2).unwrap().is_none());
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            (read.sent, read.arrived, read.dropped),
            (flow.sent, flow.arrived, flow.dropped)
        );
        assert_eq!((read.windows, read.thresholds), (flow.windows, flow.thresholds));
        assert_eq!(take_line(&mut Flow::default(), "1,sent,somebody,0,0,0,"), None);
    }
}
