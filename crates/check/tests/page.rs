//! The pages of causes and remedies are generated from the vocabulary, in whole or in part:
//! `ACKWISE_UPDATE=1 cargo test -p ackwise-check --test page`.

use std::{
    collections::BTreeSet,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use ackwise_cause::{Cause, Direction, H2Window, Party, Proof, Remedy};
use ackwise_check::card::{CheckId, Role};

#[test]
fn the_index_and_the_remedies_of_checks_are_the_vocabulary() {
    is_up_to_date("stalls.md", &index());
    is_up_to_date("check/remedies.md", &remedies_of_checks());
}

#[test]
fn each_cause_has_a_page_with_its_meaning_and_remedies() {
    for cause in Cause::ALL {
        let path = format!("causes/{cause}.md");
        let written = read(&path);
        for heading in BY_HAND {
            let text = section(&written, heading).map(|[from, to]| written[from..to].trim());
            assert!(
                text.is_some_and(|text| !text.is_empty()),
                "docs/{path}: nothing below {heading}"
            );
        }
        is_up_to_date(&path, &of_cause(cause, &written));
    }
    let pages = fs::read_dir(documentation("causes")).unwrap().count();
    assert_eq!(pages, Cause::ALL.len(), "docs/causes has a page of no cause");
}

#[test]
fn a_remedy_is_called_tested_only_if_the_test_exists() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let tests = ["check/tests/kernel/remedies.rs", "ackwise/tests/real_servers/remedies.rs"]
        .map(|path| fs::read_to_string(crates.join(path)).unwrap())
        .concat();
    let mut tested = 0;
    for remedy in CheckId::ALL.into_iter().flat_map(CheckId::remedies) {
        if let Some(Proof::Test(test)) = remedy.proof {
            assert!(tests.contains(&format!("fn {test}()")), "{test}: {}", remedy.text);
            tested += 1;
        }
    }
    assert!(tested > 5, "{tested}");
}

fn index() -> String {
    let mut out = INDEX.to_owned();
    for cause in Cause::ALL {
        let (name, meaning, who) = (cause.name(), cause.meaning(), who(cause));
        writeln!(out, "| [`{name}`](causes/{name}.md) | {meaning} | {who} |").expect(STRING);
    }
    out.push_str(OTHER_CHECKS);
    for id in CheckId::ALL.into_iter().filter(|id| id.cause().is_none()) {
        let (name, meaning) = (id.name(), id.meaning());
        let remedies = if id.remedies().next().is_some() {
            format!("[remedies](check/remedies.md#{name})")
        } else {
            String::new()
        };
        writeln!(out, "| [`{name}`]({}) | {meaning} | {remedies} |", described(id)).expect(STRING);
    }
    out
}

fn remedies_of_checks() -> String {
    let mut out = REMEDIES.to_owned();
    for id in CheckId::ALL.into_iter().filter(|id| id.cause().is_none()) {
        if id.remedies().next().is_none() {
            continue;
        }
        write!(out, "\n## `{id}`\n\n").expect(STRING);
        let who =
            if CheckId::of(Role::Client).any(|it| it == id) { Role::Client } else { Role::Server };
        let what = format!("{}. [What is tested](../{})", sentence(id.meaning()), described(id));
        writeln!(out, "{what}. Who can change it: the {}.", who.name()).expect(STRING);
        remedies(&mut out, id.remedies());
    }
    out
}

/// A cause's page: its meaning and what to change are generated, the rest stays as written.
fn of_cause(cause: Cause, written: &str) -> String {
    let finding = CheckId::ALL.into_iter().find(|id| id.cause() == Some(cause));
    let mut out = format!("# `{cause}`\n\n{}.", sentence(cause.meaning()));
    if let Some(id) = finding {
        write!(out, " `ackwise check` [tests for it](../{}).", described(id)).expect(STRING);
    }
    writeln!(out, "\n\nWho can change it: {}.", who(cause)).expect(STRING);
    let [begin, _] = section(written, FIRST).expect("it was looked for");
    let [change, after] =
        section(written, CHANGE).unwrap_or_else(|| panic!("docs/causes/{cause}.md: no {CHANGE}"));
    out.push_str(&written[begin - FIRST.len()..change]);
    out.push('\n');
    let by_direction = [Direction::ToServer, Direction::ToClient].map(|it| cause.remedy(it));
    let special: Vec<_> = finding.into_iter().flat_map(CheckId::remedies).collect();
    let nothing = special.is_empty() && by_direction == [None, None];
    if nothing {
        out.push_str("\nNothing at the ends removes it.\n");
    }
    remedies(&mut out, special.into_iter().chain(by_direction.into_iter().flatten()));
    if cause == Cause::H2FlowControl {
        windows(&mut out);
    }
    checks(&mut out, cause);
    out.push_str(&written[after..]);
    out
}

/// Where the text below a heading begins, and where the next heading stands.
fn section(page: &str, heading: &str) -> Option<[usize; 2]> {
    let begin = page.find(&format!("{heading}\n"))? + heading.len();
    let end = page[begin..].find("\n## ").map_or(page.len(), |length| begin + length);
    Some([begin, end])
}

/// The section of the page below `docs/check` that describes a check.
fn described(id: CheckId) -> String {
    let heading = format!("\n## `{id}`\n");
    let pages =
        ["responses", "connections", "clients", "streams"].map(|it| format!("check/{it}.md"));
    let mut found = pages.iter().filter(|page| read(page).contains(&heading));
    let page = found.next().unwrap_or_else(|| panic!("no page below docs/check describes {id}"));
    assert_eq!(found.next(), None, "{id} is described twice");
    format!("{page}#{id}")
}

fn sentence(meaning: &str) -> String {
    let (first, rest) = meaning.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

fn documentation(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(documentation(path)).unwrap_or_default()
}

/// Whether a page is as it should be, after it was written if that was asked for.
fn is_up_to_date(path: &str, page: &str) {
    if env::var_os("ACKWISE_UPDATE").is_some() {
        fs::write(documentation(path), page).expect("the page can be written");
    }
    assert!(read(path) == page, "docs/{path} is out of date: run this test with ACKWISE_UPDATE=1");
}

fn who(cause: Cause) -> String {
    let parties = [Direction::ToServer, Direction::ToClient].map(|it| cause.party(it));
    match parties {
        [Some(a), Some(b)] if a == b => match a {
            Party::Path if cause.remedy(Direction::ToClient).is_some() => {
                "nobody directly: the path decides how long the wait lasts, and client and server can make \
                 it rarer"
                    .to_owned()
            }
            Party::Path => "no one; the path determines it".to_owned(),
            Party::Client | Party::Server => format!("the {}", a.name()),
        },
        [Some(Party::Client), Some(Party::Server)] => "the sender of the data".to_owned(),
        [Some(Party::Server), Some(Party::Client)] => "the receiver of the data".to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// Those for everyone, and a table of those for some software.
fn remedies(out: &mut String, remedies: impl Iterator<Item = Remedy>) {
    let (own, general): (Vec<_>, Vec<_>) = remedies.partition(|remedy| remedy.software.is_some());
    let mut seen = BTreeSet::new();
    for remedy in general {
        if !seen.insert(remedy.text) {
            continue;
        }
        let begin = if seen.len() == 1 { "\n" } else { "" };
        let tested = if remedy.proof.is_some() { " (tested on our server)" } else { "" };
        writeln!(out, "{begin}- {}{tested}", remedy.text).expect(STRING);
    }
    if !own.is_empty() {
        out.push_str("\n| software | what to change | tried with |\n| --- | --- | --- |\n");
    }
    for remedy in own {
        let software = remedy.software.expect("it was chosen for that");
        let tried = match remedy.proof {
            Some(Proof::Test(_)) => "a test",
            Some(Proof::Tried) => software.version().expect("it was tried with a version"),
            None => "",
        };
        writeln!(out, "| {} | {} | {tried} |", software.name(), remedy.text).expect(STRING);
    }
}

/// What to change by which window it was.
fn windows(out: &mut String) {
    for window in H2Window::ALL {
        for receiver in [Party::Client, Party::Server] {
            writeln!(out, "- {}", window.remedy(receiver)).expect(STRING);
        }
    }
}

/// How to be sure, whatever the rival.
fn checks(out: &mut String, cause: Cause) {
    let [requests, responses] =
        [Direction::ToServer, Direction::ToClient].map(|it| cause.check(it, None));
    let lines = match requests == responses {
        true => [(requests, ""), (None, "")],
        false => [(requests, " about requests"), (responses, " about responses")],
    };
    for (check, of) in lines {
        if let Some(check) = check {
            writeln!(out, "\nTo be sure{of}: {check}.").expect(STRING);
        }
    }
}

const FIRST: &str = "\n## How it happens";
const CHANGE: &str = "\n## What to change";
const BY_HAND: [&str; 3] = [FIRST, "\n## Confirm by hand", "\n## History"];

const INDEX: &str = "# Stalls by name

Every name that `ackwise check`, `explain` and `run` use for lost time. The page of a cause has its mechanism, how to confirm it by hand, what to
change by software, and where it is described. This page is generated from the crates `ackwise-cause` and `ackwise-check`, which also supply the
commands' texts.

On the pages of causes and [remedies](check/remedies.md), \"(tested on our server)\" means that a test in this repository applies the fix to a server that
stalls, and requires that the stall disappears; so does \"a test\" in the tables, with the software itself. A version there means that the fix was
applied to it by hand on 2026-11-28, and the finding of `ackwise check` disappeared.

## Causes

| cause | meaning | who can change it |
| --- | --- | --- |
";

const OTHER_CHECKS: &str = "
## Other checks

What else `ackwise check` tests of servers, clients (`--listen`) and streams (`--stream`).

| check | what it tests | |
| --- | --- | --- |
";

const REMEDIES: &str = "# Remedies by check

What to change, for each check that is not named for a [cause](../stalls.md), whose own page has its remedies. The index of
[stalls by name](../stalls.md) says what \"tested\" and the versions mean. This page is generated.
";

const STRING: &str = "a string takes everything";
