//! A name for the sources that decide what a row has, and one for those that decide what a capture's exchanges are, so
//! that a store does not mix those of different builds.

use std::{env, fs, io, path::Path, process::Command};

/// The crates in which a simulation happens, and those that play it in real time.
const OF_ROWS: &[&str] =
    &["cause", "http", "lab", "link", "linux", "live", "sim", "tcp", "tuning", "units"];

/// The crates that read a capture and attribute its time.
const OF_EXCHANGES: &[&str] =
    &["capture", "cause", "explain", "http", "report", "tcp", "text", "units"];

fn main() -> io::Result<()> {
    println!("cargo::rustc-env=ACKWISE_SOURCES={:016x}", hash_of(OF_ROWS)?);
    println!("cargo::rustc-env=ACKWISE_EXPLAIN_SOURCES={:016x}", hash_of(OF_EXCHANGES)?);
    println!("cargo::rustc-env=ACKWISE_COMMIT={}", commit());
    Ok(())
}

/// The commit that was checked out when one of these sources had changed: a later one, in which they are the same, is no
/// reason to build again. With `-dirty`, files differed from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // Not that of a repository around a copy of ours.
    git(&["ls-files", "--error-unmatch", "build.rs"])
        .and_then(|_| git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]))
        .unwrap_or_else(|| "unknown".to_owned())
}

fn hash_of(crates: &[&str]) -> io::Result<u64> {
    let own = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let mut hash = OFFSET;
    for name in crates {
        let directory = Path::new(&own).join("..").join(name).join("src");
        println!("cargo::rerun-if-changed={}", directory.display());
        add(&mut hash, name.as_bytes());
        add_directory(&mut hash, &directory)?;
    }
    Ok(hash)
}

/// Names and contents, in the order of the names.
fn add_directory(hash: &mut u64, directory: &Path) -> io::Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        add(hash, entry.file_name().as_encoded_bytes());
        if entry.file_type()?.is_dir() {
            add_directory(hash, &entry.path())?;
        } else {
            add(hash, &fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// FNV-1a, of the length first: it tells builds apart, and is no seal.
fn add(hash: &mut u64, bytes: &[u8]) {
    for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
