//! The steps, as data, in the order in which they run: what fails fast comes first.

use std::time::Duration;

use crate::install::needs::{CARGO_DENY, CARGO_FUZZ, Need};

/// One thing that must hold.
#[derive(Debug)]
pub(crate) struct Step {
    /// What `--only` calls it.
    pub(crate) name: &'static str,
    pub(crate) action: Action,
    /// Environment that the command gets besides ours.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    pub(crate) needs: &'static [Need],
    /// `--fast` leaves it out.
    pub(crate) slow: bool,
    /// A step that runs longer is stopped and has failed.
    pub(crate) limit: Duration,
}

/// What a step runs.
#[derive(Debug)]
pub(crate) enum Action {
    /// `cargo` with these arguments; what it prints of test results is counted.
    Cargo(&'static [&'static str]),
    /// Builds every fuzz target, then runs each for a while.
    Fuzz,
}

const fn cargo(
    name: &'static str,
    arguments: &'static [&'static str],
    needs: &'static [Need],
    limit: Duration,
) -> Step {
    Step { name, action: Action::Cargo(arguments), environment: &[], needs, slow: false, limit }
}

pub(crate) const STEPS: &[Step] = &[
    cargo("fmt", &["fmt", "--all", "--check"], &[Need::Component("rustfmt")], minutes(1)),
    cargo("tidy", &["test", "--package", "xtask", "--no-fail-fast"], &[], minutes(5)),
    cargo(
        "deny",
        &["deny", "check", "bans", "licenses", "sources"],
        &[Need::DebianPackages, Need::Tool(&CARGO_DENY)],
        minutes(5),
    ),
    cargo(
        "clippy",
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        &[Need::Component("clippy")],
        minutes(25),
    ),
    cargo(
        "test",
        &["test", "--workspace", "--exclude", "xtask", "--no-fail-fast"],
        &[Need::DebianPackages],
        minutes(40),
    ),
    // 100,000 cases, where a debug build tries 2,000.
    cargo(
        "port-reuse",
        &["test", "--release", "--package", "ackwise-tcp", "--test", "port_reuse"],
        &[],
        minutes(15),
    ),
    // What only a build with the feature has.
    cargo(
        "parquet",
        &["test", "--package", "ackwise", "--features", "parquet", "--lib", "--test", "explain"],
        &[],
        minutes(15),
    ),
    // The traces that the debug build gave must be those of a release build.
    cargo(
        "release",
        &["test", "--release", "--package", "ackwise-sim", "--test", "same_trace"],
        &[],
        minutes(15),
    ),
    Step {
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
        ..cargo(
            "doc",
            &["doc", "--workspace", "--no-deps", "--document-private-items"],
            &[],
            minutes(20),
        )
    },
    Step {
        name: "fuzz",
        action: Action::Fuzz,
        environment: &[],
        needs: &[Need::DebianPackages, Need::Tool(&CARGO_FUZZ), Need::Nightly],
        slow: true,
        limit: minutes(10),
    },
];

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}
