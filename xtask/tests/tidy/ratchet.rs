//! The numbers of `xtask/ratchet.toml`.

use std::env;
use std::process::Command;

use xtask::ratchet::{FILE, Ratchet};

use crate::repository::{assert_none, files, root};

#[test]
fn crates_grow_only_with_a_reason() {
    let files = files();
    let texts = files.iter().filter_map(|file| Some((file.path.as_str(), file.text()?)));
    let text = texts.clone().find(|(path, _)| *path == FILE).map(|it| it.1).unwrap_or_default();
    let ratchet = Ratchet::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let mut complaints = Ratchet::count(texts).differs_from(&ratchet);
    complaints.extend(before().iter().flat_map(|before| ratchet.raised_from(before)));
    assert_none(&complaints, &format!("not as {FILE} has it:"));
}

/// What the file said in the commit that `BASE` names, or in the last one; `None` if that does not have it.
fn before() -> Option<Ratchet> {
    let base = env::var("BASE").ok().filter(|base| !base.is_empty());
    let file = format!("{}:{FILE}", base.as_deref().unwrap_or("HEAD"));
    let output = Command::new("git").args(["show", &file]).current_dir(root()).output();
    let output = output.expect("git is needed to know what was before");
    let text = output.status.success().then(|| String::from_utf8(output.stdout))?;
    Ratchet::parse(&text.ok()?).ok()
}
