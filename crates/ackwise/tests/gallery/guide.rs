//! `docs/gallery.md`: its reports are what the tests see, its programs what they run.
//!
//! Times differ from run to run, so a report is held to what a reader takes from it: the sentence
//! without its numbers, and each cause that matters with about its part of the time.
//! `ACKWISE_GALLERY=write cargo test -p ackwise --test gallery` puts fresh reports into the file.

use std::{
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use super::report::Report;

/// One pattern's part of the gallery.
#[derive(Debug)]
pub(crate) struct Section {
    title: &'static str,
    text: String,
}

/// Whether reports go into the file instead of being compared with it.
pub(crate) fn is_to_be_written() -> bool {
    env::var_os("ACKWISE_GALLERY").is_some_and(|it| it == "write")
}

impl Section {
    /// The one with this heading.
    pub(crate) fn of(title: &'static str) -> Self {
        let text = read();
        let [from, to] = bounds(&text, title);
        Self { title, text: text[from..to].to_owned() }
    }

    /// Its program is part of the source, whatever the indent.
    pub(crate) fn must_quote(&self, source: &str) {
        let quoted = self.block("```rust").unwrap_or_default();
        let lines = |text: &str| text.lines().map(|it| it.trim().to_owned()).collect::<Vec<_>>();
        let (quoted, source) = (lines(quoted), lines(source));
        let is_there = source.windows(quoted.len().max(1)).any(|it| it == quoted);
        assert!(is_there, "docs/gallery.md, {}: its program is not the one that runs", self.title);
    }

    /// Its report says what this one says.
    pub(crate) fn must_show(&self, report: &Report) -> Result<(), String> {
        let (shown, seen) = (self.block("```text").unwrap_or_default(), excerpt(&report.text));
        let sentences = [shown, &seen].map(|it| without_values(sentence(it)));
        let same = sentences[0] == sentences[1] && are_alike(&parts(shown), &parts(&seen));
        if same {
            Ok(())
        } else {
            Err(format!("docs/gallery.md shows\n{shown}but this is\n{seen}"))
        }
    }

    /// Puts this report in the place of its own.
    pub(crate) fn write(&self, report: &Report) {
        static ONE: Mutex<()> = Mutex::new(());
        let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, old) = (read(), self.block("```text").expect("a section has a report"));
        let [from, to] = bounds(&all, self.title);
        let new = all[from..to].replacen(old, &excerpt(&report.text), 1);
        let written = fs::write(path(), [&all[..from], &new, &all[to..]].concat());
        written.expect("the gallery can be written");
    }

    fn block(&self, fence: &str) -> Option<&str> {
        let (_, rest) = self.text.split_once(&format!("{fence}\n"))?;
        rest.find("```").map(|end| &rest[..end])
    }
}

fn read() -> String {
    fs::read_to_string(path()).expect("there is a gallery")
}

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gallery.md"))
}

fn bounds(text: &str, title: &str) -> [usize; 2] {
    let heading = format!("\n## {title}\n");
    let from = text.find(&heading).unwrap_or_else(|| panic!("docs/gallery.md has no {title}"));
    let body = from + heading.len();
    [from, text[body..].find("\n## ").map_or(text.len(), |end| body + end)]
}

/// What the gallery shows of a report: the sentence and the causes that matter, or if the server holds
/// TIME-WAIT, that.
fn excerpt(report: &str) -> String {
    let tells = |line: &&str| line.contains("TIME-WAIT") || line.contains("closed first");
    if report.lines().any(|it| it.contains("held TIME-WAIT") && !it.ends_with(" 0")) {
        return report.lines().filter(tells).map(|line| format!("{}\n", line.trim())).collect();
    }
    let rows = report.lines().skip_while(|line| !line.starts_with("Where the time went"));
    let rows = rows.take_while(|line| !line.is_empty());
    let rows = rows.filter(|line| part(line).is_none_or(|(_, percent)| percent >= LEAST));
    let lines: Vec<_> = sentence(report).lines().chain([""]).chain(rows).collect();
    // No blank at the end of a line.
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn sentence(report: &str) -> &str {
    // What the capture lacks comes before it.
    let mut paragraphs = report.split("\n\n");
    paragraphs.find(|it| !it.starts_with("Capture: ")).unwrap_or_default()
}

/// Numbers differ from run to run, and so do a confidence that nine tenths of the time just have and the
/// rival that comes with a lower one.
fn without_values(text: &str) -> String {
    let is_level = |word: &&str| ["high", "medium", "low"].contains(&word.trim_start_matches('('));
    let words = text.split_whitespace().filter(|word| !is_level(word));
    let text: String = words.map(|word| word.replace(|it: char| it.is_ascii_digit(), "")).collect();
    match text.split_once("confidence") {
        Some((before, doubt)) => [before, doubt.split_once(')').map_or(doubt, |it| it.1)].concat(),
        None => text,
    }
}

/// What is less than this, in percent, comes and goes. Ours.
const LEAST: f64 = 2.0;

/// The parts of all time, in percent, by cause, direction and party.
fn parts(report: &str) -> BTreeMap<String, f64> {
    report.lines().filter_map(part).collect()
}

/// `40.0 ms 96.5 % nagle-delayed-ack to client server …`
fn part(row: &str) -> Option<(String, f64)> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let [_, _, percent, "%", cause, "to", towards, party, ..] = words[..] else { return None };
    Some((format!("{cause} {towards} {party}"), percent.parse().ok()?))
}

fn are_alike(shown: &BTreeMap<String, f64>, seen: &BTreeMap<String, f64>) -> bool {
    /// Runs differ by less, in percent of all time. Ours.
    const SPREAD: f64 = 15.0;
    let of = |parts: &BTreeMap<String, f64>, key| parts.get(key).copied().unwrap_or(0.0);
    let mut keys = shown.keys().chain(seen.keys());
    keys.all(|key| (of(shown, key) - of(seen, key)).abs() < SPREAD)
}
