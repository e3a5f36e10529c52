//! `check --listen` with real clients, as a user runs it: curl and Python, with and without the fault.
#![cfg(target_os = "linux")]

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_testing::{debian, inconclusive, skip};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

/// Two writes for each of five requests on one connection: arguments are the URL, `TCP_NODELAY`, and milliseconds between.
const TWO_WRITES: &str = r#"
import socket, sys, time, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
s = socket.create_connection((url.hostname, url.port))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(sys.argv[2]))
for _ in range(5):
    s.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n")
    time.sleep(int(sys.argv[3]) / 1e3)
    s.send(b"x" * 50)
    answer = b""
    while not answer.endswith(b"}\n"):
        answer += s.recv(4096)
"#;

/// Requests of http.client: a method for each argument after the URL, on one connection.
const HTTP_CLIENT: &str = r#"
import http.client, sys, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
c = http.client.HTTPConnection(url.hostname, url.port)
for method in sys.argv[2:]:
    c.request(method, "/", body=b"x" * 50 if method == "POST" else None)
    c.getresponse().read()
"#;

/// 8 MB that are sent whatever the server says.
const SENDS_ALL: &str = r#"
import socket, sys, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
s = socket.create_connection((url.hostname, url.port))
s.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n")
for _ in range(8000):
    s.sendall(b"x" * 1000)
s.recv(4096)
"#;

/// Five requests of HTTP/2 in clear text, HEADERS and DATA in two writes: arguments as for `TWO_WRITES`, then the receive window
/// that it announces for streams and the connection.
const HTTP2: &str = r#"
import socket, struct, sys, time, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
window = int(sys.argv[4])
s = socket.create_connection((url.hostname, url.port))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(sys.argv[2]))
def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload
def field(name, value):
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value
def read(size):
    got = b""
    while len(got) < size:
        piece = s.recv(size - len(got))
        if not piece:
            sys.exit(3)
        got += piece
    return got
def read_frame():
    header = read(9)
    length, stream = struct.unpack(">I", b"\0" + header[:3])[0], struct.unpack(">I", header[5:])[0]
    return header[3], header[4], stream, read(length)
def grant(stream, more):
    return frame(8, 0, stream, struct.pack(">I", more))
greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, struct.pack(">HI", 4, window))
s.send(greeting + (grant(0, window - 65535) if window > 65535 else b""))
read_frame()
s.send(frame(4, 1, 0, b""))
time.sleep(0.3)
head = b"".join(field(*it) for it in [
    (b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"a"), (b":path", b"/"), (b"content-length", b"50")])
for stream in range(1, 10, 2):
    s.send(frame(1, 4, stream, head))
    time.sleep(int(sys.argv[3]) / 1e3)
    s.send(frame(0, 1, stream, b"x" * 50))
    while True:
        kind, flags, of, payload = read_frame()
        if kind == 7:
            sys.exit(4)
        if kind == 0 and payload:
            s.send(grant(0, len(payload)) + (b"" if flags & 1 else grant(of, len(payload))))
        if kind in (0, 1) and of == stream and flags & 1:
            break
"#;

/// One GET with a receive buffer of that many bytes; 0 for the system's.
const RECEIVE_BUFFER: &str = r#"
import socket, sys, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
s = socket.socket()
if sys.argv[2] != "0":
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[2]))
s.connect((url.hostname, url.port))
s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
while s.recv(65536):
    pass
"#;

/// What it writes to standard error if a private network or a TUN device cannot be had.
const NO_NETWORK: &str = "cannot make a";

#[test]
fn the_end_of_a_request_that_waits_for_our_ack_is_found_and_others_are_not() {
    const NAME: &str = "the_end_of_a_request_that_waits_for_our_ack_is_found_and_others_are_not";
    let Some(python) = program("python3", NAME) else { return };
    for network in [&[][..], &["--host-network"]] {
        for (no_delay, pause, verdict) in
            [("0", "0", "fail"), ("1", "0", "pass"), ("1", "20", "pass"), ("1", "60", "pass")]
        {
            let client = [&*python, "-c", TWO_WRITES, "{url}", no_delay, pause];
            let what = format!("{network:?}: TCP_NODELAY {no_delay}, {pause} ms");
            let wanted = |it: &Value| it["verdict"] == verdict;
            let Some(found) = finding(NAME, "request-nagle", network, &client, wanted) else {
                return;
            };
            assert_eq!(found["verdict"], verdict, "{what}: {found:#}");
            if verdict == "fail" {
                let cost = found["cost_ms"].as_f64().expect("a stall has a cost");
                assert!((10.0..70.0).contains(&cost), "{what}: {found:#}");
                assert!(found["remedy"].as_str().expect("a fix").contains("TCP_NODELAY"));
            }
        }
    }
}

#[test]
fn http_client_is_graded() {
    const NAME: &str = "http_client_is_graded";
    let Some(python) = program("python3", NAME) else { return };
    let client = |methods: &[&'static str]| {
        [&[&*python, "-c", HTTP_CLIENT, "{url}"], methods]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    let cases: [(&str, Vec<String>, &str); 6] = [
        ("request-nagle", client(&["POST", "POST", "POST"]), "pass"),
        ("request-nagle", client(&["GET"]), "not-applicable"),
        ("connection-reuse", client(&["GET", "GET"]), "pass"),
        ("close-race", client(&["GET", "GET"]), "warn"),
        ("close-race", client(&["POST", "POST"]), "pass"),
        ("first-close", client(&["GET"]), "pass"),
    ];
    for (id, client, verdict) in cases {
        let client: Vec<_> = client.iter().map(String::as_str).collect();
        let Some(found) = finding(NAME, id, &[], &client, |it| it["verdict"] == verdict) else {
            return;
        };
        assert_eq!(found["verdict"], verdict, "{client:?}: {found:#}");
    }
}

#[test]
fn curl_is_graded() {
    const NAME: &str = "curl_is_graded";
    let Some(curl) = program("curl", NAME) else { return };
    let twice = format!("{curl} -s {{url}}; {curl} -s {{url}}");
    let cases: [(&str, &[&str], &str, Option<f64>); 9] = [
        ("request-nagle", &[&curl, "-sd", "a=b", "{url}"], "pass", None),
        (
            "expect-continue",
            &[&curl, "-sd", "a=b", "-H", "Expect: 100-continue", "{url}"],
            "warn",
            Some(1000.0),
        ),
        ("expect-continue", &[&curl, "-sd", "a=b", "{url}"], "not-applicable", None),
        ("connection-reuse", &[&curl, "-s", "{url}", "{url}"], "pass", None),
        ("connection-reuse", &["sh", "-c", &twice], "warn", None),
        ("connection-reuse", &[&curl, "-s", "{url}"], "not-applicable", None),
        ("close-race", &[&curl, "-s", "{url}", "{url}"], "pass", None),
        ("close-race", &[&curl, "-sd", "a=b", "{url}", "{url}"], "warn", None),
        ("happy-eyeballs", &[&curl, "-s", "{url}"], "pass", None),
    ];
    for (id, client, verdict, cost) in cases {
        let Some(found) = finding(NAME, id, &[], client, |it| it["verdict"] == verdict) else {
            return;
        };
        assert_eq!(found["verdict"], verdict, "{client:?}: {found:#}");
        if let Some(cost) = cost {
            let took = found["cost_ms"].as_f64().expect("a wait has a cost");
            assert!((cost * 0.9..cost * 1.2).contains(&took), "{found:#}");
        }
    }
}

#[test]
fn a_client_of_http2_is_graded_by_its_frames() {
    const NAME: &str = "a_client_of_http2_is_graded_by_its_frames";
    let Some(python) = program("python3", NAME) else { return };
    for (id, arguments, verdict, network) in [
        ("request-nagle", ["0", "0", "65535"], "fail", &[][..]),
        ("request-nagle", ["0", "0", "65535"], "fail", &["--host-network"]),
        ("request-nagle", ["1", "0", "65535"], "pass", &[]),
        ("request-nagle", ["1", "60", "65535"], "pass", &[]),
        ("connection-reuse", ["1", "0", "65535"], "pass", &[]),
        ("close-race", ["1", "0", "65535"], "warn", &[]),
        ("window-updates", ["1", "0", "65535"], "warn", &[]),
        ("window-updates", ["1", "0", "1000000"], "pass", &[]),
    ] {
        let client = [&[&*python, "-c", HTTP2, "{url}"], &arguments[..]].concat();
        let wanted = |it: &Value| it["verdict"] == verdict;
        let Some(found) = finding(NAME, id, network, &client, wanted) else { return };
        assert_eq!(found["verdict"], verdict, "{id} {arguments:?} {network:?}: {found:#}");
        if (id, verdict) == ("window-updates", "warn") {
            let cost = found["cost_ms"].as_f64().expect("a small window has a cost");
            assert!((800.0..850.0).contains(&cost), "{found:#}");
        }
    }
}

#[test]
fn curl_is_graded_in_http2() {
    const NAME: &str = "curl_is_graded_in_http2";
    let Some(curl) = program("curl", NAME) else { return };
    let cases: [(&str, &[&str], &str); 4] = [
        ("request-nagle", &["-sd", "a=b", "{url}", "{url}", "{url}"], "pass"),
        ("connection-reuse", &["-s", "{url}", "{url}"], "pass"),
        ("first-close", &["-s", "{url}"], "pass"),
        ("window-updates", &["-so", "/dev/null", "{url}"], "pass"),
    ];
    for (id, client, verdict) in cases {
        let wanted = |it: &Value| it["verdict"] == verdict;
        let client = [&[&*curl], client].concat();
        let options = ["--tls", "--http", "2"];
        let Some(found) = finding(NAME, id, &options, &client, wanted) else { return };
        assert_eq!(found["verdict"], verdict, "{client:?}: {found:#}");
    }
    let options =
        ["--json", "--listen", "127.0.0.1:0", "--host-network", "--tls", "--only", "first-close"];
    let both = ackwise(&options, &[&curl, "-s", "{url}"]).output().expect("it starts");
    let document: Value = serde_json::from_slice(&both.stdout).expect("JSON");
    let protocols: Vec<_> = [0, 1].map(|card| &document["results"][card]["protocol"]).into();
    assert_eq!(protocols, ["http/1.1", "h2"], "{document:#}");
}

#[test]
fn a_receive_buffer_that_the_client_sets_limits_large_responses() {
    const NAME: &str = "a_receive_buffer_that_the_client_sets_limits_large_responses";
    let Some(python) = program("python3", NAME) else { return };
    for (bytes, verdict) in [("0", "pass"), ("40000", "warn")] {
        let client = [&*python, "-c", RECEIVE_BUFFER, "{url}", bytes];
        let wanted = |it: &Value| it["verdict"] == verdict;
        let Some(found) = finding(NAME, "window-updates", &[], &client, wanted) else { return };
        assert_eq!(found["verdict"], verdict, "{bytes}: {found:#}");
    }
}

#[test]
fn tls_clients_find_the_ca_in_their_environment() {
    const NAME: &str = "tls_clients_find_the_ca_in_their_environment";
    let (Some(curl), Some(python)) = (program("curl", NAME), program("python3", NAME)) else {
        return;
    };
    let opens = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], b'a=b').read()";
    for client in [&[&*curl, "-sd", "a=b", "{url}"][..], &[&*python, "-c", opens, "{url}"]] {
        let wanted = |it: &Value| it["verdict"] == "pass";
        let found = finding(NAME, "request-nagle", &["--tls"], client, wanted);
        let Some(found) = found else { return };
        assert_eq!(found["verdict"], "pass", "{client:?}: {found:#}");
    }
    let options = ["--listen", "127.0.0.1:0", "--host-network", "--tls"];
    let client = ["env", "-u", "CURL_CA_BUNDLE", "-u", "SSL_CERT_FILE", &curl, "-s", "{url}"];
    let refused = ackwise(&options, &client).output().expect("it starts");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(error.contains("it refuses the certificate"), "{error}");
}

#[test]
fn an_address_without_an_answer_costs_what_the_client_waits() {
    const NAME: &str = "an_address_without_an_answer_costs_what_the_client_waits";
    let Some(python) = program("python3", NAME) else { return };
    let opens = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()";
    let client = [&*python, "-c", opens, "{url}"];
    let network = ["--timeout", "6s"];
    let Some(found) = finding(NAME, "happy-eyeballs", &network, &client, |_| true) else { return };
    assert_eq!(found["verdict"], "warn", "{found:#}");
    let Some(found) = finding(NAME, "happy-eyeballs", &["--host-network"], &client, |_| true)
    else {
        return;
    };
    assert_eq!((&found["verdict"], &found["reason"]), (&"unknown".into(), &"stack".into()));
}

#[test]
fn a_refused_upload_is_stopped_by_curl_and_not_by_everyone() {
    const NAME: &str = "a_refused_upload_is_stopped_by_curl_and_not_by_everyone";
    let (Some(curl), Some(python)) = (program("curl", NAME), program("python3", NAME)) else {
        return;
    };
    let upload =
        format!("head -c 8000000 /dev/zero | {curl} -s -H Expect: --data-binary @- {{url}}");
    for (client, verdict) in
        [(&["sh", "-c", &upload][..], "pass"), (&[&*python, "-c", SENDS_ALL, "{url}"], "warn")]
    {
        let Some(found) =
            finding(NAME, "refused-upload", &[], client, |it| it["verdict"] == verdict)
        else {
            return;
        };
        assert_eq!(found["verdict"], verdict, "{client:?}: {found:#}");
    }
}

#[test]
fn a_command_that_is_no_client_is_one_message() {
    let listen = |options: &[&str], command: &[&str]| {
        let options = [&["--listen", "127.0.0.1:0", "--host-network"], options].concat();
        let output = ackwise(&options, command).output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (command, said) in [
        (&["true"][..], "never connected"),
        (
            &["sh", "-c", "echo nothing to do >&2; exit 7"],
            "exited with 7; its last output: nothing to do",
        ),
        (&["/nonexistent"], "cannot run /nonexistent"),
    ] {
        let (code, error) = listen(&[], command);
        assert_eq!(code, Some(2), "{command:?}: {error}");
        assert!(error.contains(said), "{command:?}: {error}");
    }
    let (code, _) = listen(&["--only", "first-close"], &["sh", "-c", "sleep 59 & curl -s {url}"]);
    assert_eq!((code, sleepers_left("59")), (Some(0), 0), "what it leaves behind ends, too");
    let begun = Instant::now();
    let (code, error) = listen(&["--timeout", "300ms"], &["sh", "-c", "sleep 61 & sleep 61"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("did not end within 0.3 s (--timeout)"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(sleepers_left("61"), 0, "the whole group has ended");
}

/// Five requests of a client that somebody else has started end the run, or Ctrl-C.
#[test]
fn any_client_is_graded_by_what_it_does() {
    const NAME: &str = "any_client_is_graded_by_what_it_does";
    let Some(python) = program("python3", NAME) else { return };
    for (requests, signal) in
        [("5", None), ("50", Some(Signal::SIGINT)), ("50", Some(Signal::SIGHUP))]
    {
        let mut run = Command::new(env!("CARGO_BIN_EXE_ackwise"));
        run.args(["check", "--json", "--listen", "127.0.0.1:0", "--timeout", "20s"]);
        run.args(["--requests", requests]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = run.spawn().expect("it starts");
        let mut said = String::new();
        let stderr = run.stderr.take().expect("it is piped");
        BufReader::new(stderr).read_line(&mut said).expect("it says where it listens");
        let url = said.trim().rsplit(' ').next().expect("a URL");
        let client = Command::new(&python).args(["-c", TWO_WRITES, url, "1", "0"]).status();
        assert!(client.expect("it runs").success(), "{said}");
        if let Some(signal) = signal {
            let id = i32::try_from(run.id()).expect("a process number");
            kill(Pid::from_raw(id), signal).expect("it runs");
        }
        let ended = run.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0), "{signal:?}");
        let document: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
        let findings = document["results"][0]["findings"].as_array().expect("a card");
        let verdict = |id| findings.iter().find(|it| it["id"] == id).map(|it| &it["verdict"]);
        assert_eq!(verdict("request-nagle"), Some(&"pass".into()), "{document:#}");
        assert_eq!(verdict("connection-reuse"), Some(&"pass".into()), "{document:#}");
        assert_eq!(verdict("close-race"), Some(&"not-applicable".into()), "{document:#}");
    }
}

#[test]
fn an_interrupt_ends_the_command_with_all_that_it_started() {
    let mut command = ackwise(
        &["--listen", "127.0.0.1:0", "--host-network"],
        &["sh", "-c", "sleep 62 & sleep 62"],
    );
    let mut running =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let end = Instant::now() + Duration::from_secs(10);
    while sleepers("62") < 2 && Instant::now() < end {
        thread::sleep(Duration::from_millis(20));
    }
    let id = i32::try_from(running.id()).expect("a process number");
    kill(Pid::from_raw(id), Signal::SIGINT).expect("it runs");
    assert_eq!(running.wait().expect("it ends").code(), Some(130));
    assert_eq!(sleepers_left("62"), 0);
}

/// Processes that are `sleep` with this argument, which no other test has.
fn sleepers(seconds: &str) -> usize {
    let line = format!("sleep\0{seconds}\0");
    let all = std::fs::read_dir("/proc").expect("it is mounted").flatten();
    all.filter(|it| std::fs::read(it.path().join("cmdline")).is_ok_and(|it| it == line.as_bytes()))
        .count()
}

/// Those that are left once the killed have gone: a busy machine takes its time.
fn sleepers_left(seconds: &str) -> usize {
    let deadline = Instant::now() + Duration::from_secs(5);
    while sleepers(seconds) > 0 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    sleepers(seconds)
}

/// One finding about a client. A busy machine may take a verdict, so it is tried again; `None` if it cannot be had.
fn finding(
    name: &str,
    id: &str,
    options: &[&str],
    client: &[&str],
    wanted: impl Fn(&Value) -> bool,
) -> Option<Value> {
    let options = [&["--json", "--listen", "127.0.0.1:0", "--only", id], options].concat();
    let mut last = Value::Null;
    for _ in 0..TRIES {
        let Output { stdout, stderr, .. } = ackwise(&options, client).output().expect("it starts");
        let stderr = String::from_utf8_lossy(&stderr);
        if stderr.contains(NO_NETWORK) {
            skip(name, stderr.trim());
            return None;
        }
        let mut document: Value = serde_json::from_slice(&stdout).expect("JSON");
        assert_eq!(document["results"][0]["role"], "client", "{document:#}");
        last = document["results"][0]["findings"][0].take();
        if wanted(&last) {
            return Some(last);
        }
    }
    if last["reason"] == "disturbed" {
        inconclusive(name, &last["summary"]);
        return None;
    }
    Some(last)
}

const TRIES: usize = 3;

fn ackwise(options: &[&str], client: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
    command.arg("check").args(options).arg("--").args(client);
    command
}

fn program(name: &'static str, test: &str) -> Option<String> {
    match debian::find(name, name) {
        Ok(path) => Some(PathBuf::into_os_string(path).into_string().expect("a path in UTF-8")),
        Err(missing) => {
            skip(test, missing);
            None
        }
    }
}
