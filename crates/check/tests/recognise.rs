//! Heads of real software, and what is advised to whom.

use ackwise_cause::{Remedy, Software};
use ackwise_check::card::CheckId;

const HEADS: &str = include_str!("heads.txt");

#[test]
fn real_software_is_recognised_by_its_head() {
    let mut recognised = 0;
    for Head { title, expected, software } in heads() {
        assert_eq!(software.map_or("unknown", Software::name), expected, "{title}");
        recognised += usize::from(software.is_some());
    }
    assert!(recognised > 40, "{recognised}");
}

#[test]
fn no_software_gets_the_remedy_of_another() {
    for Head { title, software, .. } in heads() {
        for remedy in remedies(software) {
            let is_own = remedy.software.is_none() || remedy.software == software;
            assert!(is_own, "{title}: {}", remedy.text);
        }
    }
}

#[test]
fn a_remedy_for_any_server_names_no_product() {
    for remedy in remedies(None) {
        for name in heads().filter_map(|head| head.software).map(Software::name) {
            let mut words = remedy.text.split(|at: char| !at.is_alphanumeric());
            assert!(!words.any(|word| word == name), "{name}: {}", remedy.text);
        }
    }
}

/// What `check` printed to users of gunicorn and uvicorn.
#[test]
fn settings_of_http_server_are_for_http_server_only() {
    for Head { title, software, .. } in heads() {
        let is_for_handlers = |remedy: Remedy| remedy.text.contains("handler class");
        let is_http_server = software == Some(Software::PythonHttpServer);
        assert_eq!(remedies(software).any(is_for_handlers), is_http_server, "{title}");
    }
}

struct Head {
    title: &'static str,
    expected: &'static str,
    software: Option<Software>,
}

fn heads() -> impl Iterator<Item = Head> {
    HEADS.split("\n\n").filter_map(|paragraph| {
        let mut lines = paragraph.trim_end().lines();
        let (title, expected) = lines.next()?.split_once(" => ")?;
        let fields = lines.map(|line| line.split_once(": ").expect("a name and a value"));
        let fields = fields.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        Some(Head { title, expected, software: Software::recognise(fields) })
    })
}

/// Each remedy that `check` may print for `software`.
fn remedies(software: Option<Software>) -> impl Iterator<Item = Remedy> {
    let usual = CheckId::ALL.into_iter().filter_map(move |id| id.remedy(software));
    let all = CheckId::ALL.into_iter().flat_map(CheckId::remedies);
    usual.chain(all.filter(move |it| it.software == software))
}
