//! The picture in `ARCHITECTURE.md`: which crate may know which.

use crate::metadata::{Package, packages};
use crate::repository::assert_none;

/// A crate, and the crates that it may depend on, tests included. Cargo itself refuses circles, so
/// the pure ones may know each other.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("ackwise-tcp", PURE),
    ("ackwise-link", PURE),
    ("ackwise-http", PURE),
    ("ackwise-tuning", PURE),
    ("ackwise-sim", PURE),
    ("ackwise-linux", PURE),
    ("ackwise-capture", PURE),
    (
        "ackwise-serve",
        &[
            "ackwise-tcp",
            "ackwise-link",
            "ackwise-http",
            "ackwise-tuning",
            "ackwise-linux",
            "ackwise-capture",
        ],
    ),
    ("ackwise", BELOW_THE_FRONT),
    (
        "ackwise-python",
        &[
            "ackwise",
            "ackwise-tcp",
            "ackwise-link",
            "ackwise-http",
            "ackwise-tuning",
            "ackwise-sim",
        ],
    ),
    ("xtask", &[]),
];

const PURE: &[&str] = &["ackwise-tcp", "ackwise-link", "ackwise-http", "ackwise-tuning"];

const BELOW_THE_FRONT: &[&str] = &[
    "ackwise-tcp",
    "ackwise-link",
    "ackwise-http",
    "ackwise-tuning",
    "ackwise-sim",
    "ackwise-linux",
    "ackwise-serve",
    "ackwise-capture",
];

#[test]
fn dependencies_follow_the_arrows() {
    let complaints: Vec<_> = packages().iter().flat_map(complaints).collect();
    assert_none(&complaints, "see ARCHITECTURE.md:");
}

#[test]
fn an_arrow_that_points_up_is_found() {
    let depends = |from: &str, to: &str| {
        let dependency = crate::metadata::Dependency { name: to.to_owned(), ours: true };
        complaints(&Package { name: from.to_owned(), dependencies: vec![dependency] })
    };
    for (from, to) in [
        ("ackwise-tcp", "ackwise-serve"),
        ("ackwise-sim", "ackwise-linux"),
        ("ackwise-linux", "ackwise-sim"),
        ("ackwise-serve", "ackwise-sim"),
        ("ackwise-capture", "ackwise-sim"),
        ("ackwise-serve", "ackwise"),
    ] {
        assert_eq!(depends(from, to), [format!("{from} may not know {to}")]);
    }
    assert!(depends("ackwise-serve", "ackwise-linux").is_empty());
    assert_eq!(depends("ackwise-new", "ackwise-tcp"), ["ackwise-new has no place in the picture"]);
}

fn complaints(package: &Package) -> Vec<String> {
    let name = &package.name;
    let Some((_, known)) = MAY_KNOW.iter().find(|(crate_name, _)| crate_name == name) else {
        return vec![format!("{name} has no place in the picture")];
    };
    let ours = package.dependencies.iter().filter(|dependency| dependency.ours);
    ours.filter(|dependency| !known.contains(&dependency.name.as_str()))
        .map(|dependency| format!("{name} may not know {}", dependency.name))
        .collect()
}
