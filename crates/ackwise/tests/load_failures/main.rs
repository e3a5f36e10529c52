//! What `ackwise load` says of requests that fail, and of what looks like it: name, JSON and exit code; and that `ackwise
//! explain` gives a capture of the run the same names.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod cases;
#[expect(dead_code, reason = "the tests of known causes need more of it")]
#[path = "../known_causes/lab.rs"]
mod lab;
#[path = "../schema/mod.rs"]
mod schema;
#[path = "../known_causes/tap.rs"]
mod tap;

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::{Command, Output},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use ackwise_capture::read::Source;
use ackwise_explain::{Failure, Reading};
use ackwise_link::LinkConfig;
use ackwise_linux::emulator::EmulatorOptions;
use ackwise_testing::skip;
use serde_json::Value;

use cases::{Case, LATER, LOOPBACK, OVER_A_LINK, WAY};
use lab::{Host, Lab};
use tap::Tap;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn load(server: SocketAddr, json: bool, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
    command.args(["load", &format!("http://{server}/"), "--concurrency", "1"]);
    // A second copy of a SYN is sent after a second.
    command.args(["--close", "client", "--timeout", "1300ms"]).current_dir(FOLDER);
    command.args(json.then_some("--json")).args(arguments.split_whitespace()).output().unwrap()
}

/// More than the buffers of a connection hold.
fn write_body() {
    fs::write(Path::new(FOLDER).join("body"), vec![b'x'; 1_000_000]).unwrap();
}

/// Runs `happens` against a server that behaves as in `case`.
fn with_server<T>(case: &Case, listener: TcpListener, happens: impl FnOnce(SocketAddr) -> T) -> T {
    let server = listener.local_addr().unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| case.serve_all(listener, &over));
        let happened = happens(server);
        over.store(true, Ordering::Relaxed);
        happened
    })
}

/// The document, or none if there is no report.
fn check(case: &Case, json: &Output, text: &Output) -> Result<Value, String> {
    let Case { name, expected, exit, crossed, .. } = case;
    let codes = [json, text].map(|output| output.status.code());
    if codes != [Some(*exit); 2] {
        return Err(format!("{name}: exit codes {codes:?} instead of {exit}: {json:?}"));
    }
    let document = schema::keeping_to("load", &json.stdout);
    let told: Vec<_> = document["failures"].as_array().unwrap().iter().map(row).collect();
    let expected: Vec<_> = expected.iter().map(|it| (it.0, it.1, it.2.unwrap_or("-"))).collect();
    let counts = ["crossed_closes", "repeated"].map(|key| document[key].as_u64().unwrap());
    if told != expected || counts != *crossed {
        return Err(format!("{name}: {told:?}, {counts:?} instead of {expected:?}, {crossed:?}"));
    }
    let lines = String::from_utf8(text.stdout.clone()).unwrap();
    let missing = expected.iter().find(|(kind, ..)| !lines.contains(&format!("1 {kind}")));
    match missing {
        Some(missing) => Err(format!("{name}: no {missing:?} in {lines}")),
        None => Ok(document),
    }
}

fn row(row: &Value) -> (&str, &str, &str) {
    let [kind, outcome, rival] = ["kind", "outcome", "rival"].map(|key| row[key].as_str());
    (kind.unwrap(), outcome.unwrap(), rival.unwrap_or("-"))
}

#[test]
fn each_failure_on_loopback_has_its_name_and_what_looks_like_one_has_none() {
    write_body();
    let mut wrong = Vec::new();
    for case in LOOPBACK {
        let [json, text] = [true, false].map(|json| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            with_server(case, listener, |server| load(server, json, case.arguments))
        });
        wrong.extend(check(case, &json, &text).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn limits_of_failures_are_by_kind() {
    let case = LOOPBACK.iter().find(|case| case.name == "half a response").unwrap();
    for (limit, exit, said) in [
        ("failures", 1, "--fail-on failures=0: exceeded by 1"),
        ("truncated=0", 1, "--fail-on truncated=0: exceeded by 1"),
        ("truncated=1", 0, ""),
        ("close-race", 0, ""),
        ("slow", 2, "unknown kind (expected failures, or one of close-race, closed-unanswered"),
    ] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let arguments = format!("{} --fail-on {limit}", case.arguments);
        let output = match exit {
            2 => load(listener.local_addr().unwrap(), false, &arguments),
            _ => with_server(case, listener, |server| load(server, false, &arguments)),
        };
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(exit), "{limit}: {errors}");
        assert!(errors.contains(said), "{limit}: {errors}");
    }
}

#[test]
fn an_error_names_the_kind_if_nothing_was_answered() {
    let refused = load(([127, 0, 0, 1], 1).into(), false, "--requests 3");
    let errors = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{errors}");
    assert!(errors.contains("connection refused (connect-refused: no server"), "{errors}");
}

/// Over a link with delay, what crosses and what is unheard of is certain.
#[test]
fn a_capture_of_the_same_run_has_the_same_names() {
    if let Some(missing) = lab::missing().or_else(|| lab::missing_program(&["nft"])) {
        return skip("a_capture_of_the_same_run_has_the_same_names", missing);
    }
    let options = EmulatorOptions::symmetric(LinkConfig { delay: WAY, ..LinkConfig::IDEAL });
    let lab = &Lab::with_link(&options);
    write_body();
    let mut wrong = Vec::new();
    for case in LOOPBACK.iter().chain(OVER_A_LINK) {
        wrong.extend(judge(lab, case).err());
    }
    wrong.extend(unheard(lab).err());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn judge(lab: &Lab, case: &Case) -> Result<(), String> {
    let [(json, kinds), (text, _)] = [true, false].map(|json| {
        let listener = lab.server.inside(|| TcpListener::bind((lab.server.address, 0)).unwrap());
        captured(&lab.client, || {
            with_server(case, listener, |server| {
                lab.client.inside(|| load(server, json, case.arguments))
            })
        })
    });
    let document = check(case, &json, &text)?;
    agree(case.name, &document, &kinds)
}

/// The kinds that a capture can show are those that `load` told. A client that closes within a response may have seen enough
/// of it, for `explain`.
fn agree(name: &str, document: &Value, captured: &[String]) -> Result<(), String> {
    let rows = document["failures"].as_array().unwrap();
    let is_shown = |it: &&Value| it["outcome"] != "answered" && it["kind"] != "malformed";
    let kind = |it| match row(it) {
        // That it gave up is the last that a capture shows.
        ("silent", outcome, _) => outcome,
        (kind, ..) => kind,
    };
    let mut told: Vec<_> = rows.iter().filter(is_shown).map(kind).collect();
    told.sort_unstable();
    told.dedup();
    match told == *captured {
        true => Ok(()),
        false => Err(format!("{name}: load tells {told:?}, the capture {captured:?}")),
    }
}

/// What happened, and the kinds of failures in a capture of it, each once.
fn captured<T>(host: &Host, happens: impl FnOnce() -> T) -> (T, Vec<String>) {
    let file = Path::new(FOLDER).join("load-failures.pcap");
    let tap = Tap::at(host, &file);
    let happened = happens();
    thread::sleep(4 * WAY);
    let reading = Reading::new();
    reading.read(&mut Source::open([tap.stop()]));
    let failures = Failure::all(&reading.end().unwrap().analysis);
    let mut kinds: Vec<_> = failures.iter().map(|it| it.kind.name().to_owned()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    (happened, kinds)
}

/// A server that can no longer be reached: behind a filter, and then without a route.
fn unheard(lab: &Lab) -> Result<(), String> {
    let address = IpAddr::from(lab.server.address);
    let rule = |line: &str| lab.server.run(&format!("nft add {line}"));
    rule("table inet away");
    rule("chain inet away in { type filter hook input priority 0 ; }");
    let (output, kinds) = captured(&lab.client, || {
        let listener = lab.server.inside(|| TcpListener::bind((address, 0)).unwrap());
        let server = listener.local_addr().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let drop_all = || {
                    rule(&format!("rule inet away in tcp dport {} drop", server.port()));
                };
                let _open = cases::answer_one(&listener, drop_all);
                thread::sleep(2 * LATER);
            });
            let arguments = "--requests 3 --requests-per-connection 2";
            lab.client.inside(|| load(server, true, arguments))
        })
    });
    let document = schema::keeping_to("load", &output.stdout);
    let rows = document["failures"].as_array().unwrap();
    let told: Vec<_> = rows.iter().map(row).collect();
    let expected =
        [("connect-unanswered", "connect-unanswered", "-"), ("silent", "abandoned", "-")];
    if told != expected {
        return Err(format!("unheard: {told:?} instead of {expected:?}"));
    }
    agree("unheard", &document, &kinds)?;
    lab.client.run(&format!("ip route replace unreachable {address}/32"));
    let output = lab.client.inside(|| load((address, 9).into(), false, "--requests 3"));
    let errors = String::from_utf8(output.stderr).unwrap();
    match (output.status.code(), errors.contains("(connect-unreachable)")) {
        (Some(2), true) => Ok(()),
        (code, _) => Err(format!("unreachable: exit code {code:?}, {errors}")),
    }
}
