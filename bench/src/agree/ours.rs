//! Ackwise's simulator: `ackwise run`.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::outcome::Outcome;
use super::point::Point;
use crate::child;

/// One run of the experiment in `toml`.
pub(super) fn run(program: &Path, toml: &Path, point: &Point) -> anyhow::Result<Outcome> {
    let mut command = Command::new(program);
    command.arg("run").arg(toml).args(["--json", "--threads", "1"]);
    let run = child::run(&mut command)?;
    parse(&run.output, point.web).with_context(|| format!("no measures: {}", run.output))
}

/// Each web client is a separate application.
fn parse(json: &str, web: u32) -> Option<Outcome> {
    let report: Value = serde_json::from_str(json).ok()?;
    let measures = report.get("rows")?.get(0)?.get("measures")?;
    let number = |name: &str| measures.get(name).and_then(Value::as_f64);
    let (mut pages, mut waited) = (0.0, 0.0);
    for client in 0..web {
        // Without pages there is no mean.
        let Some(mean) = number(&format!("user{client}.page_time_mean_ms")) else { continue };
        let count = number(&format!("user{client}.documents"))?;
        pages += count;
        waited += count * mean / 1_000.0;
    }
    let (offered, dropped) =
        (number("link.bottleneck.back.offered")?, number("link.bottleneck.back.dropped")?);
    Some(Outcome { pages, waited, offered, dropped })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_summed_and_ftp_is_left_out() {
        let json = r#"{"rows":[{"measures":{
            "user0.documents":2,"user0.page_time_mean_ms":500,
            "user2.documents":9,"user2.page_time_mean_ms":9,
            "link.bottleneck.back.offered":90,"link.bottleneck.back.dropped":3}}]}"#;
        let outcome = parse(json, 2).unwrap();
        assert_eq!(outcome, Outcome { pages: 2.0, waited: 1.0, offered: 90.0, dropped: 3.0 });
        assert_eq!(parse(r#"{"rows":[]}"#, 2), None);
    }
}
