//! Checks the dependencies between crates against the diagram in `ARCHITECTURE.md`.

use crate::metadata::{Dependency, Package, packages};
use crate::repository::assert_none;

/// A layer of the diagram, from the bottom up: its crates, and the crates that each of them may
/// depend on, tests included. Cargo itself rejects circles, so pure crates may depend on each
/// other.
const LAYERS: &[(&[&str], &[&[&str]])] = &[
    (PURE, &[PURE]),
    (&["ackwise-sim", "ackwise-linux", "ackwise-capture"], &[PURE]),
    (&["ackwise-bpf", "ackwise-text"], &[]),
    (&["ackwise-report"], &[PURE, &["ackwise-capture", "ackwise-text"]]),
    (&["ackwise-net", "ackwise-serve"], &[PURE, &["ackwise-linux"]]),
    // It plays the simulator's scenarios, and gives its measures.
    (&["ackwise-live"], &[PURE, &["ackwise-linux", "ackwise-sim"]]),
    (COMMANDS, &[PURE, BELOW_COMMANDS]),
    (&["ackwise-tune"], &[PURE, BELOW_COMMANDS, &["ackwise-bpf"]]),
    (
        &["ackwise-lab"],
        &[PURE, BELOW_COMMANDS, &["ackwise-explain", "ackwise-live", "ackwise-sim"]],
    ),
    (
        &["ackwise-papers"],
        &[PURE, BELOW_COMMANDS, &["ackwise-explain", "ackwise-lab", "ackwise-live", "ackwise-sim"]],
    ),
    (
        &["ackwise"],
        &[
            PURE,
            BELOW_COMMANDS,
            COMMANDS,
            &["ackwise-lab", "ackwise-papers", "ackwise-sim", "ackwise-tune"],
        ],
    ),
    // The same from Python: beside the command line, which it contains.
    (&["ackwise-python"], &[PURE, BELOW_COMMANDS, &["ackwise", "ackwise-explain", "ackwise-lab"]]),
    (&["xtask"], &[]),
    (TESTING, &[PURE, &["ackwise-linux"]]),
    // Its truth bench records cases in the simulator and on the kernel, and has them explained; its equal split of
    // buffers keeps to a budget by the rule of `tune`.
    (
        &["ackwise-bench"],
        &[
            PURE,
            BELOW_COMMANDS,
            COMMANDS,
            TESTING,
            &["ackwise-lab", "ackwise-live", "ackwise-sim", "ackwise-tune", "xtask"],
        ],
    ),
];

const PURE: &[&str] = &[
    "ackwise-units",
    "ackwise-tcp",
    "ackwise-link",
    "ackwise-http",
    "ackwise-cause",
    "ackwise-tuning",
];

/// Crates that every command may use.
const BELOW_COMMANDS: &[&str] = &[
    "ackwise-linux",
    "ackwise-capture",
    "ackwise-report",
    "ackwise-text",
    "ackwise-net",
    "ackwise-serve",
];

/// What all tests may use, and nothing that is released.
const TESTING: &[&str] = &["ackwise-testing"];

/// Commands, which never use each other.
const COMMANDS: &[&str] = &["ackwise-check", "ackwise-explain", "ackwise-load"];

#[test]
fn dependencies_follow_the_arrows() {
    let complaints: Vec<_> = packages().iter().flat_map(complaints).collect();
    assert_none(&complaints, "see ARCHITECTURE.md:");
}

#[test]
fn every_crate_in_the_picture_exists() {
    let packages = packages();
    let exists = |name: &str| packages.iter().any(|package| package.name == name);
    let named = LAYERS.iter().flat_map(|(crates, known)| known.iter().chain([crates]).copied());
    let gone = named.flatten().filter(|name| !exists(name)).map(|name| (*name).to_owned());
    assert_none(&gone.collect::<Vec<_>>(), "no such crate:");
}

#[test]
fn an_arrow_that_points_up_is_found() {
    let depends = |from: &str, to: &str| {
        let dependency = Dependency { name: to.to_owned(), ours: true, only_tests: false };
        complaints(&Package { name: from.to_owned(), dependencies: vec![dependency] })
    };
    for (from, to) in [
        ("ackwise-tcp", "ackwise-serve"),
        ("ackwise-sim", "ackwise-linux"),
        ("ackwise-linux", "ackwise-sim"),
        ("ackwise-serve", "ackwise-sim"),
        ("ackwise-capture", "ackwise-sim"),
        ("ackwise-serve", "ackwise"),
        ("ackwise-check", "ackwise-explain"),
        ("ackwise-explain", "ackwise-lab"),
        ("ackwise-lab", "ackwise-papers"),
        ("ackwise-load", "ackwise-sim"),
        ("ackwise-load", "ackwise-live"),
        ("ackwise-sim", "ackwise-live"),
        ("ackwise-report", "ackwise-serve"),
        ("ackwise-serve", "ackwise-capture"),
        ("ackwise-text", "ackwise-capture"),
        ("ackwise-serve", "ackwise-testing"),
    ] {
        assert_eq!(depends(from, to), [format!("{from} may not know {to}")]);
    }
    for (from, to) in [
        ("ackwise-serve", "ackwise-linux"),
        ("ackwise-lab", "ackwise-explain"),
        ("ackwise-lab", "ackwise-sim"),
        ("ackwise-lab", "ackwise-live"),
        ("ackwise-papers", "ackwise-lab"),
        ("ackwise-live", "ackwise-sim"),
        ("ackwise", "ackwise-lab"),
    ] {
        assert!(depends(from, to).is_empty());
    }
    assert_eq!(depends("ackwise-new", "ackwise-tcp"), ["ackwise-new has no place in the picture"]);
}

fn complaints(package: &Package) -> Vec<String> {
    let name = &package.name;
    let Some((_, known)) = LAYERS.iter().find(|(crates, _)| crates.contains(&name.as_str())) else {
        return vec![format!("{name} has no place in the picture")];
    };
    let is_of_tests = |it: &Dependency| it.only_tests && TESTING.contains(&it.name.as_str());
    let ours = package.dependencies.iter().filter(|it| it.ours && !is_of_tests(it));
    ours.filter(|dependency| !known.iter().any(|some| some.contains(&dependency.name.as_str())))
        .map(|dependency| format!("{name} may not know {}", dependency.name))
        .collect()
}
