//! What a crate is linked with, directly or not: by the manifests for our crates, by the lock file for others.
//!
//! Both list what any feature or platform needs, so that a crate may be linked with less, but not with more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::metadata::packages;
use crate::repository::{assert_none, root};

/// A crate, and one that it is not linked with.
const WITHOUT: &[(&str, &str)] = &[
    // A compressor in C, which only those who read captures need.
    ("ackwise-check", "zstd-sys"),
    ("ackwise-load", "zstd-sys"),
    ("ackwise-text", "zstd-sys"),
    ("ackwise-tune", "zstd-sys"),
    ("ackwise-text", "parquet"),
];

#[test]
fn no_crate_is_linked_with_what_it_does_not_use() {
    let graph = graph();
    let ways = WITHOUT.iter().filter_map(|(from, to)| way(&graph, from, to));
    assert_none(&ways.collect::<Vec<_>>(), "linked with more than it uses:");
}

#[test]
fn what_is_linked_is_found() {
    let graph = graph();
    let explain = "ackwise-explain > ackwise-capture > zstd > zstd-safe > zstd-sys";
    assert_eq!(way(&graph, "ackwise-explain", "zstd-sys").as_deref(), Some(explain));
    assert!(way(&graph, "ackwise-report", "parquet").is_some(), "with a feature");
    // The tests of `load` read captures.
    assert!(packages().iter().any(|it| it.name == "ackwise-load"
        && it.dependencies.iter().any(|it| it.only_tests && it.name == "ackwise-capture")));
}

/// The names of what each crate is linked with.
type Graph = BTreeMap<String, Vec<String>>;

fn graph() -> Graph {
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("the lock file is tracked");
    let mut graph = locked(&lock);
    for package in packages() {
        let linked = package.dependencies.into_iter().filter(|dependency| !dependency.only_tests);
        graph.insert(package.name, linked.map(|dependency| dependency.name).collect());
    }
    graph
}

/// The lock file's crates. Versions of one crate count as one.
fn locked(lock: &str) -> Graph {
    let mut graph = Graph::new();
    for package in lock.split("[[package]]").skip(1) {
        let mut lines = package.lines();
        let name = lines.find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        // ` "zstd-safe",`, or ` "nix 0.31.3",`.
        let linked = lines.filter_map(|line| line.strip_prefix(" \"")?.split(['"', ' ']).next());
        let name = name.expect("a package has a name").to_owned();
        graph.entry(name).or_default().extend(linked.map(str::to_owned));
    }
    graph
}

/// The shortest way from one crate to another.
fn way(graph: &Graph, from: &str, to: &str) -> Option<String> {
    let mut seen = BTreeSet::from([from]);
    let mut ways = vec![vec![from]];
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let linked = way.last().and_then(|last| graph.get(*last)).into_iter().flatten();
            for next in linked.filter(|next| seen.insert(next)) {
                let way = [&way[..], &[next]].concat();
                if next == to {
                    return Some(way.join(" > "));
                }
                longer.push(way);
            }
        }
        ways = longer;
    }
    None
}
