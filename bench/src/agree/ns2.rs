//! ns-2 as packaged by Debian.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::outcome::Outcome;
use crate::child;
use xtask::install::needs::Package;

pub(super) const PACKAGES: &[Package] =
    &[Package { name: "ns2", purpose: "the simulator to compare with", service: None }];

/// One run of the script with the point in `tcl`.
pub(super) fn run(tcl: &Path) -> anyhow::Result<Outcome> {
    let run = child::run(Command::new("ns").arg("bench/agree/web.tcl").arg(tcl).arg(""))?;
    parse(&run.output).with_context(|| format!("ns-2 printed no measures: {}", run.output))
}

/// Parses lines of a word and a number.
fn parse(output: &str) -> Option<Outcome> {
    let number = |word: &str| {
        let rest = output.lines().find_map(|line| line.strip_prefix(word))?;
        rest.trim().parse::<f64>().ok()
    };
    Some(Outcome {
        pages: number("documents ")?,
        waited: number("waited ")?,
        offered: number("offered ")?,
        dropped: number("dropped ")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_lines_are_read() {
        let outcome = parse("documents 4\nwaited 2.5\noffered 90\ndropped 3\n").unwrap();
        assert_eq!(outcome, Outcome { pages: 4.0, waited: 2.5, offered: 90.0, dropped: 3.0 });
        assert_eq!(parse("invalid command name\n"), None);
    }
}
