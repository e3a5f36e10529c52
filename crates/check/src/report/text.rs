//! For people at a terminal: one line per finding, then evidence and remedy where there is something
//! to do; the two built-in servers stand side by side.
//!
//! It always writes its colours; whoever prints it strips them where nobody sees them.

use std::fmt::{self, Write};

use ackwise_text::{
    escape,
    layout::{block, hanging_indent},
    words::milliseconds,
};
use anstyle::{AnsiColor, Style};

use super::{Exporter, Report, actionable, pages, title, word};
use crate::card::{BuiltIn, Card, CheckId, Finding, StackName, Verdict};

/// Text of at most `width` columns (evidence and remedies included).
#[derive(Clone, Copy, Debug)]
pub struct Text {
    width: usize,
}

impl Text {
    /// Text for a page of `columns`, kept within what reads well: [`Self::NARROW`] to
    /// [`Self::WIDE`].
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self { width: columns.clamp(Self::NARROW, Self::WIDE) }
    }

    /// The fewest columns that the tables fit into.
    pub const NARROW: usize = 80;

    /// More columns make lines too long to read.
    pub const WIDE: usize = 100;

    fn write(self, out: &mut String, report: &Report) -> fmt::Result {
        writeln!(out, "{}", hanging_indent(&report.conclusion(), 0, self.width))?;
        for surprise in &report.surprises {
            let line = format!("Unexpected: {}", escape::line(surprise));
            writeln!(out, "{FAIL}{}{FAIL:#}", hanging_indent(&line, 2, self.width))?;
        }
        match &report.cards[..] {
            [left, right] if left.server.is_some() => self.side_by_side(out, left, right)?,
            cards => cards.iter().try_for_each(|card| self.card(out, card))?,
        }
        self.page_times(out, report)?;
        report.cards.iter().try_for_each(|card| self.details(out, card))
    }

    fn card(self, out: &mut String, card: &Card) -> fmt::Result {
        writeln!(out, "\n{BOLD}{}{BOLD:#}, measured with {}", title(card), stack(card.stack))?;
        if let Some(congestion) = &card.server_congestion {
            let line = format!(
                "The server is on this host; its listening socket has the congestion control {congestion}."
            );
            writeln!(out, "{}", block(&line, 2, self.width))?;
        }
        self.notes(out, &card.notes)?;
        card.findings.iter().try_for_each(|finding| self.line(out, finding))
    }

    fn notes<'a>(
        self,
        out: &mut String,
        notes: impl IntoIterator<Item = &'a String>,
    ) -> fmt::Result {
        notes.into_iter().try_for_each(|note| {
            writeln!(out, "{}", block(&format!("Note: {}", escape::line(note)), 2, self.width))
        })
    }

    fn line(self, out: &mut String, finding: &Finding) -> fmt::Result {
        let Finding { id, verdict, cost_ms, summary, .. } = finding;
        let verdict = column(*verdict);
        let cost = cost_ms.map_or_else(|| "-".to_owned(), milliseconds);
        let summary = escape::line(summary);
        let summary = hanging_indent(&summary, 0, self.width - SUMMARY_AT);
        let mut summary = summary.lines();
        let first = summary.next().unwrap_or_default();
        writeln!(out, "  {verdict}  {id:ID$}  {cost:>COST$}  {first}")?;
        summary.try_for_each(|more| writeln!(out, "{:SUMMARY_AT$}{more}", ""))
    }

    fn side_by_side(self, out: &mut String, left: &Card, right: &Card) -> fmt::Result {
        let both = [left, right];
        writeln!(out, "\nResults, measured with {}:", stack(left.stack))?;
        self.notes(out, &left.notes)?;
        let news = right.notes.iter().filter(|note| !left.notes.contains(note));
        self.notes(out, news)?;
        let [left_title, right_title] = both.map(column_title);
        writeln!(out, "  {:ID$}  {BOLD}{left_title:CELL$}  {right_title}{BOLD:#}", "")?;
        for finding in &left.findings {
            let other = right.findings.iter().find(|other| other.id == finding.id);
            write!(out, "  {:ID$}  ", finding.id)?;
            cell(out, Some(finding))?;
            out.push_str("  ");
            cell(out, other)?;
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
        }
        self.open_checks(out, both)
    }

    /// Why there is no verdict: the cells have no room for it.
    fn open_checks(self, out: &mut String, both: [&Card; 2]) -> fmt::Result {
        for id in CheckId::ALL {
            let [left, right] = both.map(|card| without_verdict(card, id));
            let reasons = match (left, right) {
                (Some(left), Some(right)) if left.summary == right.summary => {
                    vec![("both".to_owned(), left)]
                }
                _ => {
                    let each = both.map(column_title).into_iter().zip([left, right]);
                    each.filter_map(|(who, reason)| Some((who, reason?))).collect()
                }
            };
            for (who, Finding { verdict, summary, .. }) in reasons {
                let line = format!("{} {id} ({who}): {}", word(*verdict), escape::line(summary));
                writeln!(out, "{}", block(&line, 2, self.width))?;
            }
        }
        Ok(())
    }

    fn page_times(self, out: &mut String, report: &Report) -> fmt::Result {
        let rows = pages::rows(&report.pages);
        let Some(first) = rows.first() else { return Ok(()) };
        let heading = format!(
            "Page times over one persistent connection with kernel sockets, median of {} pages (quartiles):",
            first.paper_1996.pages
        );
        writeln!(out, "\n{}", hanging_indent(&heading, 2, self.width))?;
        writeln!(out, "  {:ID$}  {BOLD}{:CELL$}  {:CELL$}  ratio{BOLD:#}", "", "1996", "fixed")?;
        for row in &rows {
            let [old, new] = [row.paper_1996, row.fixed].map(pages::median_and_quartiles);
            let (page, ratio) = (row.documents.replace(" + ", "+"), row.rounded_ratio());
            writeln!(out, "  {page:ID$}  {old:CELL$}  {new:CELL$}  {ratio}x")?;
        }
        let doubts = report.pages.iter().filter_map(|page| page.doubt.as_deref());
        for doubt in doubts {
            writeln!(out, "  {WARN}doubtful{WARN:#}: {}", escape::line(doubt))?;
        }
        Ok(())
    }

    fn details(self, out: &mut String, card: &Card) -> fmt::Result {
        for finding in actionable(card) {
            let style = style(finding.verdict);
            let verdict = word(finding.verdict);
            let id = finding.id;
            writeln!(out, "\n{style}{verdict}{style:#} {BOLD}{id}{BOLD:#} ({})", title(card))?;
            writeln!(out, "{}", block(&escape::line(&finding.summary), 2, self.width))?;
            for line in &finding.evidence {
                let line = escape::line(line);
                writeln!(out, "{DIM}{}{DIM:#}", block(&line, 4, self.width))?;
            }
            if let Some(remedy) = &finding.remedy {
                let remedy = format!("Fix: {}", escape::lines(remedy));
                writeln!(out, "{}", block(&remedy, 2, self.width))?;
            }
        }
        Ok(())
    }
}

impl Exporter for Text {
    fn export(&self, report: &Report) -> String {
        let mut out = String::new();
        self.write(&mut out, report).expect("a string takes every write");
        out
    }
}

fn cell(out: &mut String, finding: Option<&Finding>) -> fmt::Result {
    let Some(finding) = finding else { return write!(out, "{:CELL$}", "-") };
    let cost = finding.cost_ms.map_or_else(String::new, milliseconds);
    write!(out, "{}  {cost:rest$}", column(finding.verdict), rest = CELL - VERDICT - 2)
}

/// The verdict in its colour, filled to [`VERDICT`] columns with blanks that have none.
fn column(verdict: Verdict) -> String {
    let style = style(verdict);
    let name = word(verdict);
    let blanks = VERDICT.saturating_sub(name.len());
    format!("{style}{name}{style:#}{:blanks$}", "")
}

fn without_verdict(card: &Card, id: CheckId) -> Option<&Finding> {
    let none = |it: &&Finding| matches!(it.verdict, Verdict::Unknown | Verdict::NotApplicable);
    card.findings.iter().filter(none).find(|finding| finding.id == id)
}

fn column_title(card: &Card) -> String {
    match card.server {
        Some(BuiltIn::Paper1996) => "1996".to_owned(),
        Some(BuiltIn::Fixed) => "fixed".to_owned(),
        None => title(card),
    }
}

fn stack(name: StackName) -> &'static str {
    match name {
        StackName::Kernel => "the kernel's TCP stack",
        StackName::Ackwise => "Ackwise's own TCP stack",
    }
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::NotApplicable => DIM,
        Verdict::Pass => AnsiColor::Green.on_default(),
        Verdict::Unknown => AnsiColor::Cyan.on_default(),
        Verdict::Warn => WARN,
        Verdict::Fail => FAIL,
    }
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const WARN: Style = AnsiColor::Yellow.on_default();
const FAIL: Style = AnsiColor::Red.on_default().bold();

/// Columns: the longest verdict, the longest id, a cost below ten seconds, a cell of the double card.
const VERDICT: usize = 7;
const ID: usize = 21;
const COST: usize = 9;
const CELL: usize = 22;

/// Where the summary of a line begins.
const SUMMARY_AT: usize = 2 + VERDICT + 2 + ID + 2 + COST + 2;

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;
    use crate::report::sample;

    #[test]
    fn text_of_one_card() {
        insta::assert_snapshot!(plain(Text::WIDE, &sample::one_card()));
    }

    #[test]
    fn text_of_one_card_on_a_narrow_terminal() {
        insta::assert_snapshot!(plain(Text::NARROW, &sample::one_card()));
    }

    #[test]
    fn text_of_both_built_in_servers() {
        insta::assert_snapshot!(plain(Text::WIDE, &sample::built_in()));
    }

    #[test]
    fn no_line_is_longer_than_the_page() {
        for columns in [0, 80, 93, 100, 500] {
            for report in [sample::one_card(), sample::built_in()] {
                for line in plain(columns, &report).lines() {
                    let width = Text::new(columns).width;
                    assert!(line.chars().count() <= width, "{columns} columns: {line}");
                    assert_eq!(line, line.trim_end(), "blanks at the end");
                }
            }
        }
    }

    #[test]
    fn a_failure_is_red() {
        let text = Text::new(Text::WIDE).export(&sample::one_card());
        assert!(text.contains("\u{1b}[1m\u{1b}[31mfail\u{1b}[0m   "), "{text:?}");
    }

    #[test]
    fn what_the_server_says_cannot_reach_the_terminal() {
        let mut report = sample::one_card();
        report.cards[0].findings[0].summary = "\u{1b}]0;owned\u{7}".to_owned();
        let text = Text::new(Text::WIDE).export(&report);
        assert!(text.contains("\\u{1b}]0;owned\\u{7}"), "{text:?}");
    }

    fn plain(columns: usize, report: &Report) -> String {
        strip_str(&Text::new(columns).export(report)).to_string()
    }
}
