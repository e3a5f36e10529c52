//! Cargo's metadata of this workspace's crates.

use std::process::Command;

use serde_json::Value;

use crate::repository::root;

/// A crate of this workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// One dependency in a manifest.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Whether it is another crate of this workspace.
    pub(crate) ours: bool,
    /// Whether only its tests, examples and benchmarks are linked with it.
    pub(crate) only_tests: bool,
}

pub(crate) fn packages() -> Vec<Package> {
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new("cargo").args(arguments).current_dir(root()).output();
    let output = output.expect("cargo is on the path");
    assert!(output.status.success(), "cargo: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    list(&metadata, "packages").iter().map(package).collect()
}

fn package(value: &Value) -> Package {
    let dependency = |value: &Value| Dependency {
        name: string(value, "name"),
        ours: value.get("path").is_some_and(Value::is_string),
        only_tests: value["kind"] == "dev",
    };
    let dependencies = list(value, "dependencies").iter().map(dependency).collect();
    Package { name: string(value, "name"), dependencies }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("cargo metadata has a list of {key}"))
}

fn string(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_else(|| panic!("cargo metadata has a {key}")).to_owned()
}
