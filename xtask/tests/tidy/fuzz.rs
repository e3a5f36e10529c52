//! Every fuzz target has both a file and an entry in the manifest, so that it is built.

use std::fs;

use crate::repository::{assert_none, files, root};

#[test]
fn every_fuzz_target_is_in_the_manifest() {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("it is tracked");
    let complaints: Vec<_> = files()
        .iter()
        .filter_map(|file| file.path.strip_prefix("fuzz/").map(str::to_owned))
        .filter(|path| path.starts_with("fuzz_targets/") && path.ends_with(".rs"))
        .filter(|path| !manifest.contains(&format!("path = \"{path}\"")))
        .collect();
    assert_none(&complaints, "not in fuzz/Cargo.toml:");
}
