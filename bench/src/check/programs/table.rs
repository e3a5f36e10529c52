//! Both verdicts of each finding, side by side.

use std::fmt::Write as _;

use ackwise_check::card::{CheckId, Role};
use ackwise_linux::emulator::Disturbance;
use serde_json::Value;

/// The cards of one program.
pub(super) struct Compared {
    pub(super) program: &'static str,
    /// With `--rtt`.
    pub(super) beside: Value,
    /// Over the link emulator.
    pub(super) over: Value,
    /// Why the emulated link is not to be trusted.
    pub(super) lateness: Vec<Disturbance>,
}

/// A finding whose verdicts differ.
pub(super) struct Differing<'a> {
    pub(super) id: &'a str,
    beside: &'a Value,
    over: Option<&'a Value>,
}

impl Compared {
    /// The findings of a card that are about the server, not about this host.
    pub(super) fn findings(card: &Value) -> impl Iterator<Item = &Value> {
        let all = card["results"][0]["findings"].as_array().into_iter().flatten();
        all.filter(|it| it["id"] != CheckId::AcceptQueueFull.name())
    }

    pub(super) fn differing(&self) -> impl Iterator<Item = Differing<'_>> {
        Self::findings(&self.beside).filter_map(|beside| {
            let id = beside["id"].as_str()?;
            let over = find(&self.over, id);
            let differs = over.is_none_or(|over| over["verdict"] != beside["verdict"]);
            differs.then_some(Differing { id, beside, over })
        })
    }

    /// One line.
    pub(super) fn summary(&self) -> String {
        let all = Self::findings(&self.beside).count();
        let differing: Vec<_> = self.differing().map(|it| it.id).collect();
        let equal = all - differing.len();
        let doubt =
            if self.lateness.is_empty() { "" } else { " (the emulated link was disturbed)" };
        format!("{equal} of {all} verdicts equal{doubt} {}", differing.join(" "))
    }
}

/// A line for each finding, a column for each program; then what differs.
pub(super) fn text(all: &[Compared]) -> String {
    let mut text = format!("{:<22}", "");
    for it in all {
        let _ = write!(text, " {:<width$}", it.program, width = width(it));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    for id in CheckId::of(Role::Server) {
        let mut line = format!("{:<22}", id.name());
        for it in all {
            let _ = write!(line, " {:<width$}", cell(it, id.name()), width = width(it));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for it in all {
        for Differing { id, beside, over } in it.differing() {
            let summary = |finding: &Value| finding["summary"].to_string();
            let over = over.map_or_else(String::new, summary);
            let _ = writeln!(
                text,
                "\n{}, {id}:\n  --rtt     {}\n  emulator  {over}",
                it.program,
                summary(beside)
            );
        }
    }
    text
}

fn cell(compared: &Compared, id: &str) -> String {
    let [beside, over] = [&compared.beside, &compared.over].map(|card| {
        let verdict = find(card, id).and_then(|it| it["verdict"].as_str());
        match verdict {
            Some("unknown") => "?",
            Some(verdict) => verdict,
            None => "-",
        }
    });
    if beside == over { beside.to_owned() } else { format!("{beside}|{over}") }
}

fn find<'a>(card: &'a Value, id: &str) -> Option<&'a Value> {
    Compared::findings(card).find(|finding| finding["id"] == id)
}

fn width(compared: &Compared) -> usize {
    let cells = CheckId::of(Role::Server).map(|id| cell(compared, id.name()).len());
    cells.chain([compared.program.len()]).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_verdicts_stand_once_and_differing_ones_side_by_side() {
        let card = |verdict: &str| {
            json!({"results": [{"findings": [
                {"id": "close", "verdict": "pass", "summary": "a"},
                {"id": "idle-restart", "verdict": verdict, "summary": verdict},
            ]}]})
        };
        let all = [Compared {
            program: "nginx",
            beside: card("warn"),
            over: card("unknown"),
            lateness: Vec::new(),
        }];
        let text = text(&all);
        assert!(text.contains("close                  pass\n"), "{text}");
        assert!(text.contains("idle-restart           warn|?\n"), "{text}");
        assert!(
            text.ends_with("nginx, idle-restart:\n  --rtt     \"warn\"\n  emulator  \"unknown\"\n")
        );
        assert_eq!(all[0].summary(), "1 of 2 verdicts equal idle-restart");
    }
}
