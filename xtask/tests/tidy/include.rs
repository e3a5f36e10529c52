//! Included files are in the including package: otherwise the published package does not build.

use crate::repository::{File, assert_none, files};

#[test]
fn nothing_is_included_from_outside_its_package() {
    let files = files();
    let packages: Vec<_> =
        files.iter().filter_map(|file| file.path.strip_suffix("Cargo.toml")).collect();
    let mut complaints = Vec::new();
    let looked_at = |file: &&File| file.has_extension("rs") && !file.path.ends_with("/include.rs");
    for file in files.iter().filter(looked_at) {
        // The package is the longest folder with a manifest; the workspace's root has no code.
        let package = packages.iter().filter(|folder| file.path.starts_with(**folder));
        let package = package.max_by_key(|folder| folder.len()).copied().unwrap_or_default();
        let included = included(&file.path, file.text().unwrap_or_default(), package);
        let outside = included.iter().filter(|path| !path.starts_with(package));
        complaints.extend(outside.map(|path| format!("{}: {path}", file.path)));
    }
    assert_none(&complaints, "included from outside of the package:");
}

#[test]
fn a_file_of_another_package_is_told_from_one_of_ours() {
    let text = r#"
        include_str!("../assets/a.css"), include_bytes!("../../../experiments/b.toml"),
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/", $name)),
    "#;
    assert_eq!(
        included("crates/x/src/lib.rs", text, "crates/x/"),
        ["crates/x/assets/a.css", "experiments/", "experiments/b.toml"]
    );
}

/// The files that `text` includes, relative to the root of the repository.
fn included(path: &str, text: &str, package: &str) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = Vec::new();
    for name in ["include_str!(", "include_bytes!(", "include!("] {
        for after in text.split(name).skip(1) {
            let call = after.split(';').next().unwrap_or_default().trim_start();
            let from_package =
                call.starts_with("concat!(") && call.contains("\"CARGO_MANIFEST_DIR\"");
            let start = if from_package { package } else { folder };
            // In `concat!(env!("CARGO_MANIFEST_DIR"), "…")` the path is the second quoted string.
            if let Some(target) = call.split('"').nth(if from_package { 3 } else { 1 }) {
                found.push(normalize(&format!("{start}/{target}")));
            }
        }
    }
    found
}

fn normalize(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let end = if path.ends_with('/') { "/" } else { "" };
    format!("{}{end}", parts.join("/"))
}
