//! Lists the test targets from cargo, and selects those of a step.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::steps::{COMPUTES, Tests};
use xtask::process::{self, End, Output};

/// The arguments of `cargo` for `tests`. Packages and features are those of the step `build`, so
/// that nothing is rebuilt.
///
/// # Errors
///
/// If cargo cannot list the test targets.
pub(crate) fn arguments(tests: Tests) -> anyhow::Result<Vec<String>> {
    Ok(select(tests, &integration_tests()?))
}

fn select(tests: Tests, all: &BTreeSet<String>) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["test", "--workspace", "--exclude", "xtask", "--all-features", "--no-fail-fast"]
            .map(str::to_owned)
            .into();
    if tests == Tests::Computing {
        arguments.extend(["--lib", "--bins"].map(str::to_owned));
    }
    let wanted = tests == Tests::Computing;
    let names = all.iter().filter(|name| COMPUTES.contains(&name.as_str()) == wanted);
    arguments.extend(names.flat_map(|name| ["--test".to_owned(), name.clone()]));
    arguments
}

/// Names of all integration tests of the workspace except xtask's.
fn integration_tests() -> anyhow::Result<BTreeSet<String>> {
    let mut json = String::new();
    let mut take = |line: &str| json.push_str(line);
    let mut command = Command::new("cargo");
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let end = process::run(&mut command, Output::Take(&mut take), QUERY_LIMIT)?;
    ensure!(end == End::Succeeded, "cargo metadata: {end:?}");
    let metadata: Value = serde_json::from_str(&json).context("cargo metadata is JSON")?;
    Ok(names(&metadata))
}

fn names(metadata: &Value) -> BTreeSet<String> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let packages = list(metadata, "packages");
    let targets =
        packages.iter().filter(|one| one["name"] != "xtask").flat_map(|one| list(one, "targets"));
    let tests = targets.filter(|target| target["kind"][0] == "test");
    tests.filter_map(|target| target["name"].as_str().map(str::to_owned)).collect()
}

const QUERY_LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integration_test_is_in_one_of_the_two_steps() {
        let all = ["gallery", "known_causes", "wire"].map(str::to_owned).into();
        let flags = |tests| {
            let arguments = select(tests, &all);
            arguments.into_iter().skip(6).collect::<Vec<_>>()
        };
        assert_eq!(flags(Tests::Computing), ["--lib", "--bins", "--test", "wire"]);
        assert_eq!(flags(Tests::Kernel), ["--test", "gallery", "--test", "known_causes"]);
    }

    #[test]
    fn only_integration_tests_of_others_are_named() {
        let metadata = serde_json::json!({"packages": [
            {"name": "ackwise", "targets": [
                {"name": "ackwise", "kind": ["lib"]}, {"name": "cli", "kind": ["test"]},
                {"name": "wide", "kind": ["bench"]},
            ]},
            {"name": "xtask", "targets": [{"name": "tidy", "kind": ["test"]}]},
        ]});
        assert_eq!(names(&metadata), BTreeSet::from(["cli".to_owned()]));
    }

    #[test]
    fn the_list_of_tests_that_compute_names_what_exists() {
        let all = integration_tests().unwrap();
        let gone: Vec<_> = COMPUTES.iter().filter(|name| !all.contains(**name)).collect();
        assert!(gone.is_empty(), "no such test: {gone:?}");
    }
}
