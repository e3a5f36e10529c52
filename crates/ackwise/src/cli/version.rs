//! `ackwise --version --verbose`: how this program was built.

use std::fmt::Write as _;

/// Below the version: features, and how it is linked.
pub(super) fn details() -> String {
    let features = [
        (cfg!(feature = "parquet"), "parquet", "--parquet, run --store"),
        (cfg!(feature = "ebpf"), "ebpf", "tune --pace"),
    ];
    let mut text = String::new();
    for (is_built, name, gives) in features {
        let sign = if is_built { "+" } else { "-" };
        let without = if is_built { "" } else { "not available: " };
        let _ = writeln!(text, "{sign}{name} ({without}{gives})");
    }
    let linked = match cfg!(target_feature = "crt-static") {
        true => "statically; host names by /etc/hosts and DNS only",
        false => "dynamically",
    };
    let _ = writeln!(text, "linked {linked}");
    text
}
