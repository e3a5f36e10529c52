//! The names of causes are spelled in their crate, those of other checks in their files, and neither anywhere else in
//! the workspace's code.

use std::{fs, path::Path};

use ackwise_cause::Cause;
use ackwise_check::card::CheckId;

/// Other vocabularies that share a word with this one.
const OTHER_VOCABULARIES: &[(&str, &str)] = &[
    // The waits of one endpoint, from which causes are derived.
    ("tcp/src/notation/names.rs", ""),
    // The option of the `Connection` field (RFC 9110, section 7.6.1).
    ("http/src/persistence.rs", "keep-alive"),
    ("capture/src/strip/mask/", "keep-alive"),
    ("cause/src/recognise.rs", "keep-alive"),
    // A kind of failure has this name too.
    ("load/src/generator/run_tests.rs", "close-race"),
    ("cause/src/failure.rs", "close-race"),
    // Rules are named after what they see.
    ("capture/src/attribution/rule.rs", ""),
];

#[test]
fn no_name_is_spelled_anywhere_else() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let causes = Cause::ALL.iter().map(|cause| (cause.name(), "cause/src/"));
    let checks = CheckId::ALL.into_iter().filter(|id| id.cause().is_none());
    let checks = checks.map(|id| (id.name(), "check/src/checks/"));
    // A one-word name is also an ordinary word.
    let names: Vec<_> = causes.chain(checks).filter(|(name, _)| name.contains('-')).collect();
    assert!(names.len() > 20, "{names:?}");
    let mut complaints = Vec::new();
    let mut files = 0;
    walk(crates, &mut |path, text| {
        files += 1;
        let shown = path.strip_prefix(crates).unwrap().display().to_string();
        let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = lines.collect::<Vec<_>>().join("\n");
        for (name, home) in &names {
            let other = OTHER_VOCABULARIES
                .iter()
                .any(|(file, word)| shown.contains(file) && (word.is_empty() || word == name));
            if !other && !shown.starts_with(home) && code.contains(&format!("\"{name}\"")) {
                complaints.push(format!("{shown}: \"{name}\""));
            }
        }
    });
    assert!(files > 400, "{files} files");
    assert!(complaints.is_empty(), "use Cause or CheckId:\n  {}", complaints.join("\n  "));
}

/// The source files of all crates, without tests and samples.
fn walk(folder: &Path, look: &mut dyn FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace can be read") {
        let path = entry.expect("its entries too").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let skipped = ["tests", "target", "snapshots", "examples"];
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
