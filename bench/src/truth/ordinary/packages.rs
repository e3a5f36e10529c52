//! Programs that fetch packages: pip, cargo and apt, from an index of our own, and with nothing of the user's.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use ackwise_testing::debian::find;
use anyhow::{Context, ensure};

/// Whether this client fetches packages.
pub(super) fn are_for(client: &str) -> bool {
    matches!(client, "pip" | "cargo" | "apt")
}

/// Adds packages and their indexes to what a server has at `url`.
pub(super) fn make(documents: &Path, url: &str) -> anyhow::Result<()> {
    let mut command = Command::new(find("python3", "python3")?);
    command.args(["-c", include_str!("sources/packages.py")]).arg(documents);
    let output = command.args([url, ARCHITECTURE]).args(NAMES).output();
    let output = output.context("cannot start python3")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "no packages: {said}");
    Ok(())
}

/// What is run to fetch them all, with its arguments, and files of its own in `folder`.
pub(super) fn client(name: &str, url: &str, folder: &Path) -> anyhow::Result<Vec<OsString>> {
    let own = folder.join(name);
    fs::create_dir_all(&own)?;
    let mut words: Vec<OsString> = vec!["env".into(), "-i".into()];
    for name in ["PATH", "HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        // Not its proxies and certificates.
        words.extend(std::env::var_os(name).map(|it| {
            let mut word = OsString::from(format!("{name}="));
            word.push(it);
            word
        }));
    }
    match name {
        "pip" => pip(&mut words, url, &own)?,
        "cargo" => cargo(&mut words, url, &own)?,
        _ => apt(&mut words, url, &own)?,
    }
    Ok(words)
}

fn pip(words: &mut Vec<OsString>, url: &str, own: &Path) -> anyhow::Result<()> {
    let host = url.split_once("://").map_or(url, |it| it.1);
    words.push(find("pip3", "python3-pip")?.into());
    words.extend(["--isolated", "download", "--no-deps", "--no-cache-dir"].map(Into::into));
    words.extend(["--disable-pip-version-check", "--trusted-host", host].map(Into::into));
    words.extend(["--index-url".into(), format!("{url}/simple").into()]);
    words.extend(["--dest".into(), own.into()]);
    words.extend(NAMES.map(Into::into));
    Ok(())
}

fn cargo(words: &mut Vec<OsString>, url: &str, own: &Path) -> anyhow::Result<()> {
    let wanted: String = NAMES
        .iter()
        .map(|it| format!("{it} = {{ version = \"1\", registry = \"ours\" }}\n"))
        .collect();
    let manifest = own.join("Cargo.toml");
    let text = "[package]\nname = \"wanted\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n";
    fs::write(&manifest, format!("{text}{wanted}"))?;
    fs::create_dir_all(own.join("src"))?;
    fs::write(own.join("src/lib.rs"), "")?;
    let home = own.join("home");
    fs::create_dir_all(&home)?;
    let certificate = own.with_file_name("cert.pem");
    let config = format!(
        "[registries.ours]\nindex = \"sparse+{url}/index/\"\n[http]\ncainfo = \"{}\"\n",
        certificate.display()
    );
    fs::write(home.join("config.toml"), config)?;
    let mut variable = OsString::from("CARGO_HOME=");
    variable.push(&home);
    words.extend([variable, find("cargo", "cargo")?.into(), "fetch".into()]);
    words.extend(["--quiet".into(), "--manifest-path".into(), manifest.into()]);
    Ok(())
}

/// `update`, then `download`.
fn apt(words: &mut Vec<OsString>, url: &str, own: &Path) -> anyhow::Result<()> {
    let program = find("apt-get", "apt")?;
    for folder in
        ["state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d"]
    {
        fs::create_dir_all(own.join(folder))?;
    }
    fs::write(own.join("status"), "")?;
    fs::write(
        own.join("etc/sources.list"),
        format!("deb [trusted=yes] {url}/debian stable main\n"),
    )?;
    let config = own.join("apt.conf");
    let root = own.display();
    fs::write(
        &config,
        format!(
            "Dir::State \"{root}/state\"; Dir::State::status \"{root}/status\"; Dir::Cache \"{root}/cache\";
            Dir::Etc \"{root}/etc\"; APT::Architecture \"{ARCHITECTURE}\"; APT::Architectures \"{ARCHITECTURE}\";
            APT::Sandbox::User \"root\"; Acquire::Languages \"none\";
            Acquire::https::Verify-Peer \"false\"; Acquire::https::Verify-Host \"false\";"
        ),
    )?;
    let mut variable = OsString::from("APT_CONFIG=");
    variable.push(&config);
    let script = "cd \"$1\" && \"$0\" -q update && shift && \"$0\" -q download \"$@\"";
    words.extend([variable, "sh".into(), "-c".into(), script.into(), program.into(), own.into()]);
    words.extend(NAMES.map(Into::into));
    Ok(())
}

/// Four letters or more, as all of an index's folders need.
const NAMES: [&str; 8] = ["amber", "basil", "cedar", "daisy", "ebony", "fennel", "ginger", "hazel"];
/// Of packages without programs, so any will do.
const ARCHITECTURE: &str = "amd64";
