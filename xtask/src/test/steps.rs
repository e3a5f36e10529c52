//! The steps as data, in the order in which each lane runs them: fast ones first.

use std::time::Duration;

use xtask::install::needs::{CARGO_DENY, CARGO_FUZZ, CARGO_MUTANTS, LYCHEE, MDBOOK, Need};

/// A test step.
#[derive(Debug)]
pub(crate) struct Step {
    /// Its name for `--only`.
    pub(crate) name: &'static str,
    pub(crate) action: Action,
    pub(crate) lane: Lane,
    /// Additional environment variables of the command.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    pub(crate) needs: &'static [Need],
    /// A step of the same lane on which this one depends.
    pub(crate) after: Option<&'static str>,
    /// Whether `--fast` skips it.
    pub(crate) slow: bool,
    /// Time limit; a step that exceeds it is stopped and fails.
    pub(crate) limit: Duration,
}

/// When a step runs. Two lanes run concurrently, each in order, then two others, followed by the steps that must run
/// alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Lane {
    /// In `target`, where cargo runs one build at a time.
    Main,
    /// Concurrently with the main lane, with a separate build directory.
    Beside,
    /// After both: tests on the kernel, which mostly wait.
    Kernel,
    /// Concurrently with the kernel's, and only while a processor would be idle.
    Spare,
    /// At the end, with the machine to itself.
    Alone,
}

/// What a step runs.
#[derive(Debug)]
pub(crate) enum Action {
    /// `cargo` with these arguments; test results in its output are counted.
    Cargo(&'static [&'static str]),
    /// The program of crate `bench` with these arguments, as the step `build` has left it: on its own, cargo would build
    /// it again, because other packages' features are then off.
    Bench(&'static [&'static str]),
    /// The workspace's tests that measure time, or the others.
    Tests(Tests),
    /// Builds every fuzz target, then runs each for a limited time.
    Fuzz,
    /// Compares the dependencies with RustSec's advisories, if their database can be fetched.
    Advisories,
    /// Builds the book and checks its links.
    Book,
    /// Builds the wheel of the Python package and runs its tests.
    Python,
    /// Mutates the lines changed since `$BASE`, if set.
    Mutants,
}

/// Which test targets of the common build a step runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tests {
    /// Unit tests, and the integration tests in [`COMPUTES`].
    Computing,
    /// The integration tests in [`ALONE`].
    Alone,
    /// All other integration tests: they use the kernel, and wait more than they compute.
    Waiting,
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
    // One build of all tests, with every feature; clippy checks the default features. On its own,
    // `test` builds only what it runs, which excludes the tests on the kernel.
    Step {
        slow: true,
        ..cargo(
            "build",
            &["test", "--workspace", "--exclude", "xtask", "--all-features", "--no-run"],
            &[Need::DebianPackages],
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
        action: Action::Python,
        after: Some("build"),
        slow: true,
        ..cargo("python", &[], &[Need::DebianPackages, Need::PythonPackages], minutes(10))
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
    Step {
        action: Action::Advisories,
        lane: Lane::Beside,
        ..cargo("advisories", &[], &[Need::DebianPackages, Need::Tool(&CARGO_DENY)], minutes(5))
    },
    Step {
        action: Action::Book,
        lane: Lane::Beside,
        ..cargo(
            "book",
            &[],
            &[Need::DebianPackages, Need::Tool(&MDBOOK), Need::Tool(&LYCHEE)],
            minutes(5),
        )
    },
    // Debug and release builds must give the same traces; and port reuse runs 100,000 cases instead
    // of a debug build's 2,000.
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
        action: Action::Tests(Tests::Waiting),
        environment: &[("RUST_TEST_THREADS", "2")],
        lane: Lane::Kernel,
        after: Some("build"),
        slow: true,
        ..cargo("kernel", &[], &[Need::DebianPackages], minutes(40))
    },
    Step {
        lane: Lane::Spare,
        ..cargo(
            "clippy",
            &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
            &[Need::Component("clippy")],
            minutes(40),
        )
    },
    // All other steps have the default features at least.
    Step {
        lane: Lane::Spare,
        ..cargo(
            "features",
            &[
                "clippy",
                "--package",
                "ackwise-tcp",
                "--no-default-features",
                "--",
                "-D",
                "warnings",
            ],
            &[Need::Component("clippy")],
            minutes(5),
        )
    },
    Step {
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
        lane: Lane::Spare,
        ..cargo(
            "doc",
            &["doc", "--workspace", "--no-deps", "--document-private-items"],
            &[],
            minutes(40),
        )
    },
    Step {
        action: Action::Tests(Tests::Alone),
        lane: Lane::Alone,
        after: Some("build"),
        slow: true,
        ..cargo("alone", &[], &[Need::DebianPackages], minutes(20))
    },
    // Verdicts on connections whose waits are known: a subset, and limits with room for its spread.
    Step {
        action: Action::Bench(&["truth", "--subset", "90"]),
        lane: Lane::Alone,
        after: Some("build"),
        slow: true,
        ..cargo("truth", &[], &[Need::DebianPackages], minutes(10))
    },
    // Also alone: a test slowed down by other steps looks like a hanging mutant.
    Step {
        action: Action::Mutants,
        lane: Lane::Alone,
        slow: true,
        ..cargo("mutants", &[], &[Need::Tool(&CARGO_MUTANTS)], minutes(60))
    },
];

/// Integration tests that need all cores, or for which packets must be on time.
pub(crate) const ALONE: &[&str] =
    &["beside_the_simulator", "busy", "on_kernel", "plans_over_a_link"];

/// Integration tests that compute, or use programs over loopback without timing: machine load
/// cannot change their results.
pub(crate) const COMPUTES: &[&str] = &[
    "allocation",
    "attribution",
    "cli",
    "conformance",
    "conversation",
    "doctor",
    "documented_keys",
    "explain",
    "explain_failures",
    "explain_simulated",
    "export_secrets",
    "heidemann",
    "hostile",
    "hostile_memory",
    "inspect",
    "keep_alive",
    "lies",
    "model",
    "objects",
    "okamoto",
    "output_file",
    "planted",
    "port_reuse",
    "presets",
    "proxy",
    "reading",
    "recognise",
    "recordings",
    "report",
    "reproduce",
    "rules",
    "run",
    "runs",
    "same_trace",
    "sample",
    "scripts",
    "serve",
    "standstill",
    "strip",
    "table",
    "threads",
    "two_endpoints",
    "user",
    "wire",
];

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}
