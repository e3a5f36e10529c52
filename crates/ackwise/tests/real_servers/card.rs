//! The report card of a real server, as `ackwise check --json` prints it.

use std::{
    fmt,
    fs::File,
    path::Path,
    process::{Child, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::Namespace;
use serde_json::Value;

use crate::{
    missing::Missing,
    network::Network,
    server::Running,
    undisturbed::{Role, undisturbed},
};

/// Whose TCP plays the client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stack {
    Kernel,
    Ackwise,
}

/// A card, and the exit code that came with it.
pub(crate) struct Card {
    pub(crate) exit_code: Option<i32>,
    document: Value,
}

/// Checks the server that runs on `network`, with further `arguments`.
///
/// # Panics
///
/// If the program does not end in time, or does not print a card.
pub(crate) fn check(
    network: &Network,
    running: &Running,
    stack: Stack,
    arguments: &[&str],
) -> Result<Card, Missing> {
    check_from(network.client(stack), running, stack, arguments)
}

/// As [`check`], on this host, which names the server so.
pub(crate) fn check_from(
    (host, server): (&Namespace, String),
    running: &Running,
    stack: Stack,
    arguments: &[&str],
) -> Result<Card, Missing> {
    let page = ["--paths", PATHS, "--max-requests", MAX_REQUESTS, "--timeout", TIMEOUT];
    let arguments = [&page, arguments].concat();
    run((host, format!("{server}/{PAGE}")), running, stack, &arguments)
}

/// The card of the stream that the server on `network` sends.
pub(crate) fn check_stream(
    network: &Network,
    running: &Running,
    stack: Stack,
) -> Result<Card, Missing> {
    run(network.client(stack), running, stack, &["--stream", "--http", "1.1"])
}

fn run(
    (host, url): (&Namespace, String),
    running: &Running,
    stack: Stack,
    arguments: &[&str],
) -> Result<Card, Missing> {
    let site = running.site();
    let stack = stack.to_string();
    let create = |file| File::create(site.path(file)).expect("it is ours");
    let mut ackwise = undisturbed(Role::Client, Path::new(env!("CARGO_BIN_EXE_ackwise")))?;
    let status = host.run(|| {
        // Into files: nobody has to read while it works.
        let child = ackwise
            .args(["check", "--json", "--stack", &stack])
            .args(arguments)
            .arg(&url)
            .stdout(create("card.json"))
            .stderr(create("complaints"))
            .spawn();
        wait(child.expect("cargo has built it"))
    })?;
    let complaints = site.read("complaints");
    let document = serde_json::from_str(&site.read("card.json")).unwrap_or_else(|error| {
        panic!("no card ({error}) but {status}: {complaints}\n{}", running.log())
    });
    Ok(Card { exit_code: status.code(), document })
}

fn wait(mut child: Child) -> ExitStatus {
    let deadline = Instant::now() + CHECK_LIMIT;
    loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return status;
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the check takes longer than {CHECK_LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

impl Card {
    /// What `pointer` (RFC 6901) leads to in the finding `id`: `/verdict`, `/values/segments`.
    pub(crate) fn value(&self, id: &str, pointer: &str) -> &Value {
        let findings = self.document.pointer("/results/0/findings").and_then(Value::as_array);
        let mut findings = findings.into_iter().flatten();
        let finding = findings.find(|finding| finding["id"] == id);
        finding.and_then(|finding| finding.pointer(pointer)).unwrap_or(&Value::Null)
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {:?}, {:#}", self.exit_code, self.document)
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::Ackwise => "ackwise",
        })
    }
}

/// Small: it fits one segment, so that where it is cut off from its head shows best.
const PAGE: &str = "500";

/// Other sizes, the last longer than an initial window.
const PATHS: &str = "/6651,/3883,/1866,/300,/200,/65536";

/// Seven sizes take more than the 200 requests that are allowed by default, and each question is to be
/// answered here; with 200 some stay `unknown`, and say so.
const MAX_REQUESTS: &str = "300";

/// Seven sizes of a server that thinks for 40 ms take more than the 15 s of a check of one page.
const TIMEOUT: &str = "40s";

/// A busy machine may add to the time that the program may take.
const CHECK_LIMIT: Duration = Duration::from_secs(60);
