//! Lists the test targets from cargo, and selects those of a step.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::steps::{ALONE, COMPUTES, Tests};
use xtask::process::{self, End, Output};

/// A test program as cargo has built it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Program {
    pub(crate) file: PathBuf,
    /// That of its package: cargo runs it there.
    pub(crate) directory: PathBuf,
}

/// The integration tests that belong to `tests`, as programs: several of them run at a time, beside a command of cargo's,
/// which would lock the build directory.
///
/// # Errors
///
/// If cargo cannot build them.
pub(crate) fn programs(tests: Tests) -> anyhow::Result<Vec<Program>> {
    let mut programs = Vec::new();
    let mut take = |line: &str| programs.extend(program(line, tests));
    let mut command = Command::new("cargo");
    command.args(COMMON).args(["--tests", "--no-run", "--quiet", "--message-format=json"]);
    let end = process::run(&mut command, Output::Take(&mut take), BUILD_LIMIT)?;
    ensure!(end == End::Succeeded, "cargo test --no-run: {end:?}");
    programs.sort();
    Ok(programs)
}

/// The program that a message of cargo's is about, if it is an integration test of `tests`.
fn program(message: &str, tests: Tests) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let target = &message["target"];
    if target["kind"][0] != "test" || belongs(target["name"].as_str()?) != tests {
        return None;
    }
    let directory = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    Some(Program { file: message["executable"].as_str()?.into(), directory })
}

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
    let mut arguments: Vec<_> = COMMON.iter().map(ToString::to_string).collect();
    arguments.push("--no-fail-fast".to_owned());
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

const COMMON: &[&str] = &["test", "--workspace", "--exclude", "xtask", "--all-features"];

const QUERY_LIMIT: Duration = Duration::from_secs(60);
const BUILD_LIMIT: Duration = Duration::from_secs(2400);

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
    fn programs_of_a_step_are_found_with_their_packages() {
        let message = |kind: &str, name: &str| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": "/ackwise/crates/check/Cargo.toml",
                "target": {"name": name, "kind": [kind]},
                "executable": "/ackwise/target/debug/deps/tls-1",
            })
            .to_string()
        };
        let found = program(&message("test", "tls"), Tests::Waiting);
        let (file, directory) = ("/ackwise/target/debug/deps/tls-1", "/ackwise/crates/check");
        assert_eq!(found, Some(Program { file: file.into(), directory: directory.into() }));
        assert_eq!(program(&message("test", "tls"), Tests::Alone), None);
        assert_eq!(program(&message("lib", "tls"), Tests::Waiting), None);
        assert_eq!(program(r#"{"reason":"build-finished"}"#, Tests::Waiting), None);
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
