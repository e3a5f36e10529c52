//! A block ready to paste into an issue.

use std::fmt::{self, Write};

use ackwise_text::{
    Name,
    escape::{self, fence, markdown},
    words::milliseconds,
};

use super::{Exporter, Report, actionable, pages, title, word};
use crate::card::{Card, Finding};

/// GitHub-flavoured Markdown; evidence is folded away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Markdown;

impl Exporter for Markdown {
    fn export(&self, report: &Report) -> String {
        let mut out = String::new();
        write_report(&mut out, report).expect("a string takes every write");
        out
    }
}

fn write_report(out: &mut String, report: &Report) -> fmt::Result {
    writeln!(out, "### `ackwise check`\n\n{}", markdown(&report.conclusion()))?;
    for surprise in &report.surprises {
        writeln!(out, "\n**Unexpected:** {}", markdown(surprise))?;
    }
    page_times(out, report)?;
    report.cards.iter().try_for_each(|card| write_card(out, card))?;
    writeln!(out, "\n<sub>ackwise {}</sub>", env!("CARGO_PKG_VERSION"))
}

fn write_card(out: &mut String, card: &Card) -> fmt::Result {
    let stack = Name(card.stack);
    writeln!(out, "\n#### {} (`--stack {stack}`)\n", markdown(&title(card)))?;
    for note in &card.notes {
        writeln!(out, "> {}\n", markdown(note))?;
    }
    writeln!(out, "| verdict | check | cost | finding |")?;
    writeln!(out, "| --- | --- | ---: | --- |")?;
    for Finding { id, verdict, cost_ms, summary, .. } in &card.findings {
        let cost = cost_ms.map(milliseconds).unwrap_or_default();
        let (id, verdict) = (id, word(*verdict));
        writeln!(out, "| **{verdict}** | `{id}` | {cost} | {} |", markdown(summary))?;
    }
    actionable(card).into_iter().try_for_each(|finding| details(out, finding))
}

fn details(out: &mut String, finding: &Finding) -> fmt::Result {
    if finding.evidence.is_empty() && finding.remedy.is_none() {
        return Ok(());
    }
    let id = finding.id;
    writeln!(out, "\n<details><summary><code>{id}</code>: evidence and fix</summary>\n")?;
    if !finding.evidence.is_empty() {
        let evidence = finding.evidence.join("\n");
        let evidence = escape::lines(&evidence);
        let fence = fence(&evidence);
        writeln!(out, "{fence}text\n{evidence}\n{fence}\n")?;
    }
    if let Some(remedy) = &finding.remedy {
        writeln!(out, "**Fix:** {}\n", markdown(remedy))?;
    }
    writeln!(out, "</details>")
}

fn page_times(out: &mut String, report: &Report) -> fmt::Result {
    let rows = pages::rows(&report.pages);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n| page, median (quartiles) | 1996 | fixed | ratio |")?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    for row in rows {
        let [old, new] = [row.paper_1996, row.fixed].map(pages::median_and_quartiles);
        writeln!(out, "| {} | {old} | {new} | {} |", row.documents, row.rounded_ratio())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn markdown_of_one_card() {
        insta::assert_snapshot!(versionless(&Markdown.export(&sample::one_card())));
    }

    #[test]
    fn markdown_of_both_built_in_servers() {
        insta::assert_snapshot!(versionless(&Markdown.export(&sample::built_in())));
    }

    #[test]
    fn evidence_cannot_leave_its_fence() {
        let mut report = sample::one_card();
        report.cards[0].findings[2].evidence = vec!["```\n</details>".to_owned()];
        let markdown = Markdown.export(&report);
        assert!(markdown.contains("````text\n```\n</details>\n````"), "{markdown}");
    }

    fn versionless(markdown: &str) -> String {
        markdown.replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }
}
