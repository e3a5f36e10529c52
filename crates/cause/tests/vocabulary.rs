//! The names are spelled in this crate and nowhere else in the workspace's code.

use std::{fs, path::Path};

use ackwise_cause::{Cause, FindingId};

/// Other vocabularies that share a word with this one.
const OTHER_VOCABULARIES: &[(&str, &str)] = &[
    // The waits of one endpoint, from which causes are derived.
    ("tcp/src/notation/names.rs", ""),
    // The option of the `Connection` field (RFC 9110, section 7.6.1).
    ("http/src/persistence.rs", "keep-alive"),
    ("capture/src/strip/mask/", "keep-alive"),
    // A kind of failure has this name too.
    ("load/src/generator/run_tests.rs", "close-race"),
    // Rules are named after what they see.
    ("capture/src/attribution/rule.rs", ""),
];

#[test]
fn no_name_is_spelled_anywhere_else() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let names = Cause::ALL.map(Cause::name).into_iter().chain(FindingId::ALL.map(FindingId::name));
    // A one-word name is also an ordinary word.
    let names: Vec<_> = names.filter(|name| name.contains('-')).collect();
    assert!(names.len() > 20, "{names:?}");
    let mut complaints = Vec::new();
    let mut files = 0;
    walk(crates, &mut |path, text| {
        files += 1;
        let shown = path.strip_prefix(crates).unwrap().display().to_string();
        let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = lines.collect::<Vec<_>>().join("\n");
        for name in &names {
            let other = OTHER_VOCABULARIES
                .iter()
                .any(|(file, word)| shown.contains(file) && (word.is_empty() || word == name));
            if !other && code.contains(&format!("\"{name}\"")) {
                complaints.push(format!("{shown}: \"{name}\""));
            }
        }
    });
    assert!(files > 400, "{files} files");
    assert!(complaints.is_empty(), "use ackwise_cause:\n  {}", complaints.join("\n  "));
}

/// The source files of all other crates, without tests and samples.
fn walk(folder: &Path, look: &mut dyn FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace can be read") {
        let path = entry.expect("its entries too").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let skipped = ["cause", "tests", "target", "snapshots", "examples"];
            if !skipped.contains(&name.as_str()) {
                walk(&path, look);
            }
        } else if [".rs", ".js"].iter().any(|ending| name.ends_with(ending))
            && !["tests.rs", "sample.rs"].contains(&name.as_str())
        {
            look(&path, &fs::read_to_string(&path).expect("sources are UTF-8"));
        }
    }
}
