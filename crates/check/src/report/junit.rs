//! For CI systems that show tests: one case for each check.

use ackwise_text::{escape, words::milliseconds};
use quick_xml::{
    Writer,
    events::{BytesDecl, BytesText, Event},
};

use super::{Exporter, Report, title, word};
use crate::card::{Card, Finding, Verdict};

/// JUnit's XML: a failure is what failed, an error what has no verdict, and skipped what cannot occur or was there before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Junit;

impl Exporter for Junit {
    fn export(&self, report: &Report) -> String {
        let mut out = Writer::new_with_indent(Vec::new(), b' ', 2);
        write(&mut out, report).expect("memory takes every write");
        let mut text = String::from_utf8(out.into_inner()).expect("what was written is text");
        text.push('\n');
        text
    }
}

type Out = Writer<Vec<u8>>;

/// What CI systems know of a case.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    Passed,
    Failed,
    NoVerdict,
    Skipped,
}

impl Outcome {
    fn of(card: &Card, finding: &Finding, report: &Report) -> Self {
        match finding.verdict {
            Verdict::Fail | Verdict::Unknown if !report.counts(card, finding) => Self::Skipped,
            Verdict::Fail => Self::Failed,
            Verdict::Unknown => Self::NoVerdict,
            Verdict::NotApplicable => Self::Skipped,
            Verdict::Warn | Verdict::Pass => Self::Passed,
        }
    }
}

fn write(out: &mut Out, report: &Report) -> std::io::Result<()> {
    out.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let element = out.create_element("testsuites").with_attribute(("name", "ackwise check"));
    element.write_inner_content(|out| {
        report.cards.iter().try_for_each(|card| suite(out, card, report))
    })?;
    Ok(())
}

fn suite(out: &mut Out, card: &Card, report: &Report) -> std::io::Result<()> {
    let name = title(card);
    let count = |wanted: Option<Outcome>| {
        let outcomes = card.findings.iter().map(|finding| Outcome::of(card, finding, report));
        outcomes.filter(|it| wanted.is_none_or(|wanted| wanted == *it)).count().to_string()
    };
    let element = out
        .create_element("testsuite")
        .with_attribute(("name", name.as_str()))
        .with_attribute(("tests", count(None).as_str()))
        .with_attribute(("failures", count(Some(Outcome::Failed)).as_str()))
        .with_attribute(("errors", count(Some(Outcome::NoVerdict)).as_str()))
        .with_attribute(("skipped", count(Some(Outcome::Skipped)).as_str()));
    element.write_inner_content(|out| {
        card.findings.iter().try_for_each(|finding| case(out, card, finding, report))
    })?;
    Ok(())
}

fn case(out: &mut Out, card: &Card, finding: &Finding, report: &Report) -> std::io::Result<()> {
    let element = out
        .create_element("testcase")
        .with_attribute(("classname", title(card).as_str()))
        .with_attribute(("name", finding.id.name()));
    let summary = escape::line(&finding.summary);
    let verdict = word(finding.verdict);
    let cost =
        finding.cost_ms.map_or_else(String::new, |cost| format!(" ({})", milliseconds(cost)));
    let outcome = Outcome::of(card, finding, report);
    let known = outcome == Outcome::Skipped && finding.verdict != Verdict::NotApplicable;
    let known = if known { " (as in the baseline)" } else { "" };
    let message = format!("{verdict}{cost}: {summary}{known}");
    element.write_inner_content(|out| {
        let said = match outcome {
            Outcome::Failed => out.create_element("failure"),
            Outcome::NoVerdict => out.create_element("error"),
            Outcome::Skipped => out.create_element("skipped"),
            Outcome::Passed => {
                out.create_element("system-out").write_text_content(BytesText::new(&message))?;
                return Ok(());
            }
        };
        let said = said.with_attribute(("message", message.as_str()));
        match outcome {
            Outcome::Failed => said.write_text_content(BytesText::new(&details(finding)))?,
            _ => said.write_empty()?,
        };
        Ok(())
    })?;
    Ok(())
}

/// The packets that show it, and what to change.
fn details(finding: &Finding) -> String {
    let evidence = finding.evidence.iter().map(|line| escape::line(line).into_owned());
    let remedy = finding.remedy.iter().map(|it| format!("Fix: {}", escape::line(it)));
    evidence.chain(remedy).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        baseline::Baseline,
        report::{Json, sample},
    };

    #[test]
    fn junit_of_one_card() {
        insta::assert_snapshot!(Junit.export(&sample::one_card()));
    }

    #[test]
    fn what_was_there_before_is_skipped() {
        let mut report = sample::one_card();
        report.baseline = Baseline::read(&Json.export(&report)).ok();
        let xml = Junit.export(&report);
        assert!(xml.contains(r#"failures="0" errors="0" skipped="3""#), "{xml}");
        assert!(xml.contains("(as in the baseline)"), "{xml}");
    }

    #[test]
    fn what_the_server_says_stays_text() {
        let mut report = sample::one_card();
        report.cards[0].findings[2].summary = "\u{1b}\"/><x>&\u{0}".to_owned();
        let xml = Junit.export(&report);
        assert!(xml.contains("\\u{1b}&quot;/&gt;&lt;x&gt;&amp;\\u{0}"), "{xml}");
    }
}
