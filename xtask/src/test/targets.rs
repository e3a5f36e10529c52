//! Lists the test targets from cargo, and selects those of a step.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::steps::{ALONE, COMPUTES, Tests};
use xtask::process::{self, End, Output};

/// The names of the integration tests that belong to `tests`.
///
/// # Errors
///
/// If cargo cannot list the test targets.
pub(crate) fn of(tests: Tests) -> anyhow::Result<Vec<String>> {
    Ok(integration_tests()?.into_iter().filter(|name| belongs(name) == tests).collect())
}

fn belongs(name: &str) -> Tests {
    match name {
        name if COMPUTES.contains(&name) => Tests::Computing,
        name if ALONE.contains(&name) => Tests::Alone,
        _ => Tests::Waiting,
    }
}

/// The arguments of `cargo` for some of `tests`. Packages and features are those of the step `build`, so that nothing is
/// rebuilt.
pub(crate) fn arguments<'a>(
    tests: Tests,
    names: impl IntoIterator<Item = &'a String>,
) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["test", "--workspace", "--exclude", "xtask", "--all-features", "--no-fail-fast"]
            .map(str::to_owned)
            .into();
    if tests == Tests::Computing {
        arguments.extend(["--lib", "--bins"].map(str::to_owned));
    }
    arguments.extend(names.into_iter().flat_map(|name| ["--test".to_owned(), name.clone()]));
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
    fn unit_tests_run_with_what_computes() {
        let names = ["wire".to_owned()];
        let flags = |tests| arguments(tests, &names).split_off(6);
        assert_eq!(flags(Tests::Computing), ["--lib", "--bins", "--test", "wire"]);
        assert_eq!(flags(Tests::Waiting), ["--test", "wire"]);
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
    fn the_lists_name_what_exists_and_nothing_twice() {
        let all = integration_tests().unwrap();
        let mut listed = BTreeSet::new();
        for name in COMPUTES.iter().chain(ALONE) {
            assert!(all.contains(*name), "no such test: {name}");
            assert!(listed.insert(*name), "twice: {name}");
        }
    }
}
