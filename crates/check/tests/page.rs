//! `docs/stalls.md` is generated from the vocabulary: `ACKWISE_UPDATE=1 cargo test -p
//! ackwise-check --test page`.

use std::{collections::BTreeSet, env, fmt::Write as _, fs, path::Path};

use ackwise_cause::{Cause, Direction, H2Window, PAGE, Party, Proof, Remedy};
use ackwise_check::card::{CheckId, Role};

#[test]
fn the_page_of_the_documentation_is_the_vocabulary() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let page = page();
    if env::var_os("ACKWISE_UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "{PAGE} is out of date: run this test with ACKWISE_UPDATE=1");
}

#[test]
fn the_pages_of_the_commands_have_a_section_or_a_row_for_each_name() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let check = fs::read_to_string(docs.join("check.md")).unwrap();
    for id in CheckId::ALL {
        assert!(check.contains(&format!("\n### `{id}`\n")), "docs/check.md: {id}");
    }
    let explain = fs::read_to_string(docs.join("explain.md")).unwrap();
    for cause in Cause::ALL {
        assert!(explain.contains(&format!("`{cause}`")), "docs/explain.md: {cause}");
    }
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

fn page() -> String {
    let mut out = INTRODUCTION.to_owned();
    for cause in Cause::ALL {
        let finding = CheckId::ALL.into_iter().find(|id| id.cause() == Some(cause));
        section(&mut out, cause.name(), cause.meaning(), finding);
        writeln!(out, "Who can change it: {}.", who(cause)).expect(STRING);
        let by_direction = [Direction::ToServer, Direction::ToClient].map(|it| cause.remedy(it));
        let special = finding.into_iter().flat_map(CheckId::remedies);
        remedies(&mut out, special.chain(by_direction.into_iter().flatten()));
        if cause == Cause::H2FlowControl {
            windows(&mut out);
        }
        checks(&mut out, cause);
    }
    let others = [
        ("Other checks", "What else `ackwise check` tests.", Role::Server),
        ("Checks of clients", "What `ackwise check --listen` tests.", Role::Client),
        ("Checks of streams", "What `ackwise check --stream` tests.", Role::Stream),
    ];
    for (heading, what, role) in others {
        write!(out, "\n## {heading}\n\n{what}\n").expect(STRING);
        for id in CheckId::of(role).filter(|id| id.cause().is_none()) {
            section(&mut out, id.name(), id.meaning(), Some(id));
            let who = if role == Role::Client { Role::Client } else { Role::Server };
            writeln!(out, "Who can change it: the {}.", who.name()).expect(STRING);
            remedies(&mut out, id.remedies());
        }
    }
    out
}

fn section(out: &mut String, name: &str, meaning: &str, finding: Option<CheckId>) {
    let (first, rest) = meaning.split_at(1);
    let sentence = format!("{}{rest}", first.to_uppercase());
    write!(out, "\n### `{name}`\n\n{sentence}.").expect(STRING);
    if let Some(id) = finding {
        write!(out, " `ackwise check` [tests for it](check.md#{id}).").expect(STRING);
    }
    out.push_str("\n\n");
}

fn who(cause: Cause) -> String {
    let parties = [Direction::ToServer, Direction::ToClient].map(|it| cause.party(it));
    match parties {
        [Some(a), Some(b)] if a == b => match a {
            Party::Path if cause.remedy(Direction::ToClient).is_some() => {
                "the path determines how long it takes; the ends can make it less frequent"
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
    let checks = [Direction::ToServer, Direction::ToClient].map(|it| cause.check(it, None));
    let checks: BTreeSet<_> = checks.into_iter().flatten().collect();
    for check in checks {
        writeln!(out, "\nTo be sure: {check}.").expect(STRING);
    }
}

const INTRODUCTION: &str = "# Stalls by name

Every name that `ackwise check`, `explain` and `run` use for lost time: what it means, who can change it, and how. \"(tested on our server)\" means
that a test in this repository applies the fix to a server that stalls, and requires that the stall disappears; so does \"a test\" in the tables, with
the software itself. A version there means that the fix was applied to it by hand on 2026-11-28, and the finding of `ackwise check` disappeared. This
page is generated from the crates `ackwise-cause` and `ackwise-check`, which also supply the commands' texts.

## Causes
";

const STRING: &str = "a string takes everything";
