#![cfg(target_os = "linux")] // The stall of 1996 needs a peer that delays ACKs as Linux does.
//! The example for CI systems in `docs/ci`: a stall fails the build, and its card becomes a comment.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use ackwise_http::Behaviour;
use ackwise_serve::{Config, Server};

#[test]
fn a_stall_fails_the_build_and_its_card_becomes_the_comment() {
    let job = Job::new("stall");
    let server = Server::start(Config::loopback(Behaviour::PAPER_1996)).expect("a free port");
    let output = job.run(&format!("http://{}/300", server.local_addr()));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let comment = job.read("comment");
    assert!(comment.starts_with("pr comment 17 --body-file"), "{comment}");
    assert!(comment.contains("nagle-delayed-ack") && comment.contains("fail"), "{comment}");
    assert!(job.read("summary").contains("nagle-delayed-ack"));
}

#[test]
fn a_server_without_a_stall_passes_without_a_comment() {
    let job = Job::new("good");
    let server = Server::start(Config::loopback(Behaviour::FIXED)).expect("a free port");
    let output = job.run(&format!("http://{}/6651", server.local_addr()));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(job.read("comment"), "");
    assert!(job.read("summary").contains("loses no time"), "{}", job.read("summary"));
}

#[test]
fn a_stall_that_was_there_before_does_not_fail_the_build() {
    let job = Job::new("baseline");
    let server = Server::start(Config::loopback(Behaviour::PAPER_1996)).expect("a free port");
    let url = format!("http://{}/300", server.local_addr());
    let earlier = Command::new(env!("CARGO_BIN_EXE_ackwise"))
        .args(["check", "--quick", "--json", &url])
        .output()
        .expect("it was built");
    let (baseline, junit) = (job.0.join("baseline.json"), job.0.join("stalls.xml"));
    fs::write(&baseline, earlier.stdout).expect("the folder was made");
    let output = job.run_with(&url, &[("BASELINE", &baseline), ("JUNIT", &junit)]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(job.read("summary").contains("Nothing is new since the baseline"), "{output:?}");
    let tests = job.read("stalls.xml");
    assert!(tests.contains("failures=\"0\"") && tests.contains("(as in the baseline)"), "{tests}");
    // Without it, the stall counts.
    let output = job.run_with(&url, &[("JUNIT", &junit)]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(job.read("stalls.xml").contains("failures=\"1\""), "{}", job.read("stalls.xml"));
}

#[test]
fn a_server_that_does_not_run_is_no_success() {
    let job = Job::new("absent");
    let output = job.run("http://127.0.0.1:9/");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(job.read("comment"), "", "there is no card");
}

/// A directory with a `gh` that writes down what it is asked for.
struct Job(PathBuf);

impl Job {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("ackwise-ci-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary directory can be written");
        let job = Self(folder);
        let gh = job.0.join("gh");
        let log = job.0.join("comment");
        let script = format!("#!/bin/sh\n{{ echo \"$@\"; cat \"$5\"; }} >>{}\n", log.display());
        fs::write(&gh, script).expect("it is ours");
        fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).expect("it is ours");
        job
    }

    fn run(&self, url: &str) -> Output {
        self.run_with(url, &[])
    }

    fn run_with(&self, url: &str, variables: &[(&str, &PathBuf)]) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_ackwise"));
        let folder = program.parent().expect("it lies in a folder");
        let path = env::var("PATH").unwrap_or_default();
        Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ci/check-stalls.sh"))
            .arg(url)
            .env("PATH", format!("{}:{}:{path}", self.0.display(), folder.display()))
            .env("GITHUB_STEP_SUMMARY", self.0.join("summary"))
            .env("PULL_REQUEST", "17")
            .envs(variables.iter().copied())
            .output()
            .expect("there is a shell")
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
