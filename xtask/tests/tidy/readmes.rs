//! Each crate has a README with a tested example, and the metadata shown by a registry.

use crate::repository::{File, assert_none, files};

#[test]
fn each_crate_has_a_readme_with_an_example_keywords_and_categories() {
    let files = files();
    let text = |path: String| {
        files.iter().find(|file| file.path == path).and_then(File::text).unwrap_or_default()
    };
    let folders = files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
    let mut complaints = Vec::new();
    let mut crates = 0;
    for folder in folders.filter(|folder| folder.starts_with("crates/")) {
        crates += 1;
        let manifest = text(format!("{folder}/Cargo.toml"));
        for key in ["description", "readme = \"README.md\"", "keywords = [", "categories = ["] {
            if !manifest.contains(&format!("\n{key}")) {
                complaints.push(format!("{folder}/Cargo.toml: no `{key}`"));
            }
        }
        let readme = text(format!("{folder}/README.md"));
        if !["\n```rust", "\n```sh"].iter().any(|fence| readme.contains(fence)) {
            complaints.push(format!("{folder}/README.md: no example"));
        }
        let library = text(format!("{folder}/src/lib.rs"));
        if !library.is_empty() && !library.starts_with("#![doc = include_str!(\"../README.md\")]") {
            complaints.push(format!("{folder}/src/lib.rs: the example is not a doctest"));
        }
    }
    assert!(crates > 10, "{crates} crates");
    assert_none(&complaints, "not introduced:");
}
