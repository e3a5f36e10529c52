//! Documents link only to existing files, and every document is linked.

use std::collections::BTreeSet;

use crate::repository::{File, assert_none, files, root};

#[test]
fn every_link_leads_somewhere() {
    let mut complaints = Vec::new();
    for document in documents(&files()) {
        for target in targets(document) {
            if !root().join(&target).exists() {
                complaints.push(format!("{}: {target} does not exist", document.path));
            }
        }
    }
    assert_none(&complaints, "dead links:");
}

#[test]
fn every_document_can_be_found() {
    let files = files();
    let linked: BTreeSet<String> = documents(&files).flat_map(targets).collect();
    let complaints: Vec<_> = documents(&files)
        .map(|document| &document.path)
        .filter(|path| path.starts_with("docs/") && !linked.contains(*path))
        .cloned()
        .collect();
    assert_none(&complaints, "no document links to:");
}

#[test]
fn links_are_read_relative_to_their_document() {
    let text = "[a](check.md#exit) and [b](../README.md), not [c](https://example.org/x.md)";
    let file = File { path: "docs/index.md".to_owned(), bytes: text.as_bytes().to_vec() };
    assert_eq!(targets(&file), ["docs/check.md", "README.md"]);
}

fn documents(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.has_extension("md"))
}

/// The targets of a document's links, relative to the root.
fn targets(document: &File) -> Vec<String> {
    let directory = document.path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut targets = Vec::new();
    for after in document.text().unwrap_or_default().split("](").skip(1) {
        let target = after.split([')', '#', ' ']).next().unwrap_or_default();
        if !target.is_empty() && !target.contains(':') {
            targets.push(normalize(&format!("{directory}/{target}")));
        }
    }
    targets
}

fn normalize(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}
