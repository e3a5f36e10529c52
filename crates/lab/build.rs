//! A name for the sources that decide what a row has, so that rows of different builds are not mixed.

use std::{env, fs, io, path::Path};

/// The crates in which a simulation happens, and those that play it in real time.
const CRATES: [&str; 10] =
    ["cause", "http", "lab", "link", "linux", "live", "sim", "tcp", "tuning", "units"];

fn main() -> io::Result<()> {
    let own = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let mut hash = OFFSET;
    for name in CRATES {
        let directory = Path::new(&own).join("..").join(name).join("src");
        println!("cargo::rerun-if-changed={}", directory.display());
        add(&mut hash, name.as_bytes());
        add_directory(&mut hash, &directory)?;
    }
    println!("cargo::rustc-env=ACKWISE_SOURCES={hash:016x}");
    Ok(())
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
