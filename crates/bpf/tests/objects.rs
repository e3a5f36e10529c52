#![cfg(target_os = "linux")]
//! The objects are what the sources give. `ACKWISE_UPDATE=1` compiles them.

use std::{env, fs, path::Path, process::Command};

use ackwise_testing::inconclusive;

const OBJECTS: [(&str, &str, &[&str]); 3] = [
    ("pace_cubic", "pace.bpf.c", &[]),
    ("pace_reno", "pace.bpf.c", &["-DRENO"]),
    ("order", "order.bpf.c", &[]),
];

/// Which compiler they come from: another version gives other instructions.
const COMPILER: &str = "objects/compiler.txt";

#[test]
fn each_object_is_what_its_source_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_update = env::var_os("ACKWISE_UPDATE").is_some();
    let found = Command::new("clang").arg("--version").output();
    let found = found.map(|output| String::from_utf8(output.stdout).unwrap()).unwrap_or_default();
    let found = found.lines().next().unwrap_or("no compiler").trim();
    let known = fs::read_to_string(root.join(COMPILER)).unwrap_or_default();
    if !is_update && found != known.trim() {
        let missing = format!(
            "{found} is here, the objects come from {}; install that version, or compile them again",
            known.trim()
        );
        // Nobody needs a compiler to build or to run: CI passes without.
        return inconclusive("each_object_is_what_its_source_gives", missing);
    }
    let directory = env::temp_dir().join(format!("ackwise-bpf-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    for (name, source, options) in OBJECTS {
        let built = directory.join(name);
        let mut clang = Command::new("clang");
        clang.args(["-g", "-O2", "-Wall", "-Werror", "-target", "bpfel"]);
        clang.args(["-fdebug-compilation-dir=.", "-c", source, "-o"]).arg(&built).args(options);
        assert!(clang.current_dir(root.join("bpf")).status().unwrap().success(), "{name}");
        let strip = Command::new("llvm-strip").arg("-g").arg(&built).status();
        assert!(strip.unwrap().success(), "{name}");
        let object = root.join("objects").join(format!("{name}.bpf.o"));
        if is_update {
            fs::copy(&built, &object).unwrap();
        }
        let is_same = fs::read(&built).unwrap() == fs::read(&object).unwrap();
        assert!(is_same, "{name}: run ACKWISE_UPDATE=1 cargo test -p ackwise-bpf");
    }
    if is_update {
        fs::write(root.join(COMPILER), format!("{found}\n")).unwrap();
    }
    fs::remove_dir_all(directory).unwrap();
}
