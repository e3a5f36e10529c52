//! The steps, as data, in the order in which each lane runs them: what fails fast comes first.

use std::time::Duration;

use xtask::install::needs::{CARGO_DENY, CARGO_FUZZ, CARGO_MUTANTS, Need};

/// One thing that must hold.
#[derive(Debug)]
pub(crate) struct Step {
    /// What `--only` calls it.
    pub(crate) name: &'static str,
    pub(crate) action: Action,
    pub(crate) lane: Lane,
    /// Environment that the command gets besides ours.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    pub(crate) needs: &'static [Need],
    /// A step of the same lane without which this one has nothing to run.
    pub(crate) after: Option<&'static str>,
    /// `--fast` leaves it out.
    pub(crate) slow: bool,
    /// A step that runs longer is stopped and has failed.
    pub(crate) limit: Duration,
}

/// When a step runs. Two lanes run side by side, each in order, and then those that want to be alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Lane {
    /// In `target`, where cargo runs one build at a time.
    Main,
    /// Beside the main lane: its builds have a directory of their own.
    Beside,
    /// After the lanes, with the machine to itself: what measures time on the kernel.
    Alone,
}

/// What a step runs.
#[derive(Debug)]
pub(crate) enum Action {
    /// `cargo` with these arguments; what it prints of test results is counted.
    Cargo(&'static [&'static str]),
    /// The tests of the workspace that measure time, or the others.
    Tests(Tests),
    /// Builds every fuzz target, then runs each for a while.
    Fuzz,
    /// Mutates what has changed since `$BASE`, if that is set.
    Mutants,
}

/// Which targets of the one build a step runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tests {
    /// Unit tests, and the integration tests in [`COMPUTES`].
    Computing,
    /// All other integration tests.
    Kernel,
}

const fn cargo(
    name: &'static str,
    arguments: &'static [&'static str],
    needs: &'static [Need],
    limit: Duration,
) -> Step {
    let action = Action::Cargo(arguments);
    let (environment, lane) = (&[], Lane::Main);
    Step { name, action, lane, environment, needs, after: None, slow: false, limit }
}

pub(crate) const STEPS: &[Step] = &[
    cargo("fmt", &["fmt", "--all", "--check"], &[Need::Component("rustfmt")], minutes(1)),
    cargo("tidy", &["test", "--package", "xtask", "--no-fail-fast"], &[], minutes(10)),
    cargo(
        "clippy",
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        &[Need::Component("clippy")],
        minutes(25),
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
    // One build of all tests, with every feature: clippy compiles what users get without.
    // Without it, `test` builds what it runs, which is not the tests on the kernel.
    Step {
        slow: true,
        ..cargo(
            "build",
            &["test", "--workspace", "--exclude", "xtask", "--all-features", "--no-run"],
            &[],
            minutes(40),
        )
    },
    Step {
        action: Action::Tests(Tests::Computing),
        after: Some("build"),
        ..cargo("test", &[], &[Need::DebianPackages], minutes(30))
    },
    Step {
        after: Some("build"),
        ..cargo(
            "examples",
            &["test", "--workspace", "--exclude", "xtask", "--all-features", "--doc"],
            &[],
            minutes(15),
        )
    },
    Step {
        lane: Lane::Beside,
        ..cargo(
            "deny",
            &["deny", "check", "bans", "licenses", "sources"],
            &[Need::DebianPackages, Need::Tool(&CARGO_DENY)],
            minutes(5),
        )
    },
    // The debug build and the release build must give the same traces; and port reuse runs 100,000 cases
    // instead of a debug build's 2,000.
    Step {
        lane: Lane::Beside,
        environment: &[("CARGO_TARGET_DIR", "target/beside")],
        slow: true,
        ..cargo(
            "release",
            &[
                "test",
                "--release",
                "--package",
                "ackwise-sim",
                "--package",
                "ackwise-tcp",
                "--test",
                "same_trace",
                "--test",
                "port_reuse",
            ],
            &[],
            minutes(25),
        )
    },
    Step {
        action: Action::Fuzz,
        lane: Lane::Beside,
        slow: true,
        ..cargo(
            "fuzz",
            &[],
            &[Need::DebianPackages, Need::Tool(&CARGO_FUZZ), Need::Nightly],
            minutes(20),
        )
    },
    Step {
        action: Action::Tests(Tests::Kernel),
        lane: Lane::Alone,
        after: Some("build"),
        slow: true,
        ..cargo("kernel", &[], &[Need::DebianPackages], minutes(40))
    },
    // Also alone: a test slowed down by other steps looks like a mutant that hangs.
    Step {
        action: Action::Mutants,
        lane: Lane::Alone,
        slow: true,
        ..cargo("mutants", &[], &[Need::Tool(&CARGO_MUTANTS)], minutes(60))
    },
];

/// Integration tests that compute, or use programs over loopback without timing them: load on the machine
/// cannot change their verdict. All others run alone.
pub(crate) const COMPUTES: &[&str] = &[
    "allocation",
    "attribution",
    "cli",
    "conformance",
    "conversation",
    "documented_keys",
    "explain",
    "explain_simulated",
    "heidemann",
    "inspect",
    "keep_alive",
    "model",
    "port_reuse",
    "reading",
    "recordings",
    "report",
    "reproduce",
    "run",
    "runs",
    "same_trace",
    "scripts",
    "standstill",
    "strip",
    "table",
    "two_endpoints",
    "wire",
];

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}
