//! Every external crate has a comment that gives the reason for it.

use std::fs;

use crate::metadata::packages;
use crate::repository::{assert_none, root};

const LIST: &str = "docs/decisions/dependencies.md";

#[test]
fn every_dependency_has_a_reason() {
    let list = fs::read_to_string(root().join(LIST)).expect("the list of reasons exists");
    let mut complaints = Vec::new();
    for package in packages() {
        for dependency in package.dependencies.iter().filter(|dependency| !dependency.ours) {
            let name = &dependency.name;
            if !list.lines().any(|line| line.starts_with(&format!("- `{name}`: "))) {
                complaints.push(format!("{} uses {name}", package.name));
            }
        }
    }
    assert_none(&complaints, &format!("no line in {LIST}:"));
}
