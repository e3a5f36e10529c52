//! The command line as a user and a script see it: arguments, streams, exit codes.

mod schema;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener},
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ackwise_check::card::{CheckId, Role};
use ackwise_http::{
    Behaviour,
    behaviour::{Answer, HeadFlush, Nagle},
};
use ackwise_serve::{Config, Server};
use serde_json::Value;

#[test]
fn long_help_has_examples_exit_codes_and_the_promise_to_stay_at_home() {
    let help = stdout(&run(&["check", "--help"]));
    let unwrapped = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Examples:",
        "ackwise check http://localhost:8080/",
        "Exit codes:",
        "Contacts only the given host and sends at most --max-requests requests.",
        "nagle-delayed-ack",
        "--max-wait",
    ] {
        assert!(unwrapped.contains(part), "{part:?} is not in\n{help}");
    }
}

#[test]
fn short_help_fits_a_screen() {
    let help = stdout(&run(&["check", "-h"]));
    assert!(help.contains("Examples:"), "{help}");
    assert!(help.lines().count() <= 50, "{help}");
}

#[test]
fn each_rule_of_explain_is_listed_and_explained() {
    let listed = run(&["explain", "--rules"]);
    assert_eq!(listed.status.code(), Some(0));
    let text = stdout(&listed);
    assert!(text.contains("\nDoubts, which limit confidence and name a rival:\n"), "{text}");
    let explained = stdout(&run(&["explain", "--explain-rule", "nagle-held"]));
    assert!(explained.starts_with("nagle-held (row): A small segment left"), "{explained}");
    assert!(text.contains("\n  nagle-held "), "{text}");
}

#[test]
fn what_does_not_exist_is_not_offered() {
    let help = stdout(&run(&["--help"]));
    assert!(help.contains("check"), "{help}");
    assert!(!help.contains("  proxy"), "{help}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn wrong_arguments_exit_with_2_and_say_what_was_expected() {
    for (arguments, expected) in [
        (&["check", "--only", "nagle", "localhost"][..], "nagle-delayed-ack"),
        (&["explain", "--explain-rule", "nagle"], "expected a name from --rules"),
        (&["check", "--max-requests", "0", "localhost"], "from 1 to 10000"),
        (&["check", "--max-requests", "-3", "localhost"], "from 1 to 10000"),
        (&["check", "--timeout", "soon", "localhost"], "ms, s or min, such as"),
        (&["check", "--timeout", "15", "localhost"], "ms, s or min, such as"),
        (&["check", "--timeout", "-3s", "localhost"], "at most \"3600 s\""),
        (&["explain"], "nothing to read"),
        (
            &["explain", "--filter", "hosts 10.0.0.1", "a.pcap"],
            "unexpected \"hosts\" at character 1",
        ),
        (&["explain", "--duration", "3s", "a.pcap"], "--duration works only with --interface"),
        (
            &["explain", "--interface", "lo", "a.pcap"],
            "cannot combine capture files and --interface",
        ),
        (&["explain", "--pair", "a", "b", "c"], "cannot combine capture files and --pair"),
        (&["check", "--header", "Connection: close", "localhost"], "writes this field itself"),
        (&["check", "--header", "Cookie", "localhost"], "NAME: VALUE"),
        (&["check", "--method", "HEAD", "localhost"], "expected one of GET, POST"),
        (&["check", "--user", "name", "localhost"], "NAME:PASSWORD"),
        (&["check", "--data", "@/nonexistent", "localhost"], "cannot read /nonexistent"),
        (&["check", "--resolve", "localhost", "localhost"], "HOST:PORT:ADDRESS"),
        (&["check", "--expect", "99", "localhost"], "from 200 to 599"),
        (&["check", "--data-split", "1B", "localhost"], "--data"),
        (&["check", "--data", "x", "--data-split", "1B", "localhost"], "--data has 1 bytes"),
        (&["check", "--data", "xy", "--data-split", "1", "localhost"], "in B, KB"),
        (&["check", "--quick", "--thorough", "localhost"], "cannot be used with"),
        (&["check", "--link-rate", "20Mb/s", "localhost"], "--rtt"),
        (&["check", "--rtt", "80ms", "--link-rate", "20", "localhost"], "b/s, kb/s, Mb/s or Gb/s"),
        (&["check", "--rtt", "80ms", "--loss", "0.1", "localhost"], "a share in %"),
        (
            &["check", "--rtt", "80ms", "--stack", "kernel", "http://127.0.0.1:9/"],
            "--stack ackwise",
        ),
        (&["check", "-4", "-6", "localhost"], "cannot be used with"),
        (&["check", "-4", "http://[::1]/"], "::1 has no IPv4 address"),
        (&["check", "--paths", "/x"], "URL"),
        (&["check", "--paths", "http://other.example/", "localhost"], "is not a path"),
        (&["check", "--paths", "/fine,nope", "localhost"], "\"nope\" is not a path"),
        (&["check", "--paths", "/a b", "localhost"], "is not a path"),
        (&["check", "ftp://localhost/"], "http"),
        (&["check", "http://"], "http://"),
        (&["check", "http://localhost:99999/"], "99999"),
        (&["model", "--network", "token-ring"], "token-ring"),
        (&["model", "--link-rate", "0 b/s"], "more than 0"),
        (&["model", "--files", "1B,-2B"], "expected a size"),
        (&["model", "--page", "small-page", "--files", "1B"], "cannot be used with"),
        (&["reproduce", "faber", "--html", "."], "cannot write .: is a directory"),
        (
            &["reproduce", "faber", "--on", "kernel", "--save", "/nonexistent/x"],
            "cannot write /nonexistent/x: No such file",
        ),
        (&["serve", "--mmap-over", "5B"], "--mmap-over needs --copies mmap"),
        (&["explore"], "unrecognized subcommand"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stdout(&output).is_empty(), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn the_model_prints_a_table_and_json() {
    let output = run(&["model"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("simple HTTP                          1174.1            1.000")
    );
    let output =
        run(&["model", "--json", "--link-rate", "20Mb/s", "--rtt", "80ms", "--files", "30KB,12KB"]);
    let document = schema::keeping_to("model", &output.stdout);
    assert_eq!(document["files"], serde_json::json!([30_000, 12_000]));
    assert_eq!(document["transports"].as_array().unwrap().len(), 8);
}

#[test]
fn a_server_that_cannot_be_checked_exits_with_2_and_one_message() {
    let refused = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let output = run(&["check", "--stack", "kernel", &refused]);
    assert_eq!(output.status.code(), Some(2));
    assert_one_message(&output, "refuse");
    assert_eq!(stderr(&output).matches("127.0.0.1").count(), 1, "{}", stderr(&output));

    for (answer, expected) in [
        (Answer::Garbage, "HTTP"),
        (Answer::EndlessHead, "head"),
        (Answer::RedirectLoop, "redirect"),
        (Answer::Silence, "no bytes within"),
        (Answer::Close, "close"),
    ] {
        let server = Server::start(Config::loopback(Behaviour { answer, ..Behaviour::FIXED }));
        let server = server.unwrap();
        let url = format!("http://{}/", server.local_addr());
        let begin = Instant::now();
        let output = run(&["check", "--stack", "kernel", "--json", &url]);
        assert!(begin.elapsed() < Duration::from_secs(20), "{answer:?}: {:?}", begin.elapsed());
        assert_eq!(output.status.code(), Some(2), "{answer:?}: {}", stderr(&output));
        assert_one_complaint(&output, expected);
        let document = schema::keeping_to("error", &output.stdout);
        assert_eq!(format!("ackwise: {}\n", document["error"].as_str().unwrap()), stderr(&output));
    }
}

#[test]
fn an_error_is_a_document_where_json_was_asked_for() {
    for (arguments, expected) in [
        (&["check", "--json", "--markdown"][..], "cannot be used with"),
        (&["check", "--json", "--only", "nagle", "localhost"], "nagle-delayed-ack"),
        (&["explain", "--json", "none.pcap"], "none.pcap"),
        (&["run", "--json", "none.toml"], "no such file"),
        (&["run", "--json", "stalls", "--show", "web.none"], "unknown metric"),
        (&["reproduce", "--json", "nobody"], "nobody"),
        (&["load", "--json", "http://127.0.0.1:1/", "--connections", "1"], "refused"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let document = schema::keeping_to("error", &output.stdout);
        let error = document["error"].as_str().unwrap();
        assert!(error.contains(expected), "{arguments:?}: {error}");
        // On standard error, lists stand on lines of their own.
        let said = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(error), "{arguments:?}: {said}");
    }
    // A capture of this name is not a request for JSON.
    let output = run(&["explain", "--", "--json"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
}

#[test]
fn the_committed_schemas_are_those_of_the_code() {
    let names = stdout(&run(&["schema"]));
    for name in names.lines() {
        let printed = stdout(&run(&["schema", name]));
        let committed = fs::read_to_string(schema::directory().join(format!("{name}.json")));
        assert!(
            committed.is_ok_and(|committed| committed == printed),
            "cargo run -- schema {name} > docs/schema/{name}.json"
        );
    }
    let files = fs::read_dir(schema::directory()).unwrap().count();
    assert_eq!(files, names.lines().count(), "every file has a format");
    assert!(stdout(&run(&["schema", "--help"])).contains("Examples:"));
    assert!(stderr(&run(&["schema", "proxy"])).contains("run-list"));
}

#[test]
fn a_card_keeps_to_its_schema_and_other_keys_do_not() {
    let server = Server::start(Config::loopback(Behaviour::PAPER_1996)).unwrap();
    let url = format!("http://{}/300", server.local_addr());
    let output = run(&["check", "--stack", "kernel", "--json", &url]);
    let mut document = schema::keeping_to("check", &output.stdout);
    let findings = document["results"][0]["findings"].as_array().unwrap();
    assert_eq!(
        findings.len(),
        CheckId::of(Role::Server).count() - 3,
        "all but what needs --data or HTTP/2"
    );
    assert!(stdout(&output).starts_with("{\n  \"format\": {\n    \"name\": \"ackwise-check\","));

    for (pointer, wrong) in [
        ("/format/version", Value::from(1)),
        ("/results/0/findings/0/id", "split".into()),
        ("/results/0/findings/0/values", serde_json::json!({ "split": true })),
        ("/results/0/stack", Value::Null),
    ] {
        let right = document.pointer(pointer).unwrap().clone();
        *document.pointer_mut(pointer).unwrap() = wrong;
        assert_eq!(schema::complaints("check", &document).len(), 1, "{pointer}");
        *document.pointer_mut(pointer).unwrap() = right;
    }
    document["new"] = true.into();
    assert_eq!(schema::complaints("check", &document).len(), 1);
}

#[test]
fn a_load_keeps_to_its_schema() {
    let server = Server::start(Config::loopback(Behaviour::FIXED)).unwrap();
    let url = format!("http://{}/300", server.local_addr());
    let output = run(&["load", "--json", "--connections", "3", &url]);
    let document = schema::keeping_to("load", &output.stdout);
    assert_eq!(document["requests"], 3, "{document:#}");
}

#[test]
fn a_good_server_exits_with_0_and_a_stall_with_1() {
    let split = Behaviour { head_flush: HeadFlush::Apart, ..Behaviour::FIXED };
    let stalls = Behaviour { nagle: Nagle::On, ..split };
    // The kernel's sockets see a split only where two reads see it.
    let split = Behaviour { think_after_head: Duration::from_millis(20), ..split };
    for (behaviour, fail_on, expected) in [
        (Behaviour::FIXED, "fail", 0),
        (split, "fail", 0),
        (split, "warn", 1),
        (stalls, "fail", if cfg!(target_os = "linux") { 1 } else { 0 }),
    ] {
        let server = Server::start(Config::loopback(behaviour)).unwrap();
        let url = format!("http://{}/300", server.local_addr());
        let only = "split-head,nagle-delayed-ack";
        let output =
            run(&["check", "--stack", "kernel", "--only", only, "--fail-on", fail_on, &url]);
        let shown = stdout(&output);
        assert_eq!(output.status.code(), Some(expected), "{behaviour:?}\n{shown}");
        assert!(!shown.contains('\u{1b}'), "colours without a terminal");
        assert!(stderr(&output).is_empty(), "{}", stderr(&output));
    }
}

#[test]
fn a_server_that_speaks_http_2_alone_gets_a_clear_word() {
    // Whatever it is asked, it sends its SETTINGS and ends.
    let address = serve(|_| "\0\0\u{6}\u{4}\0\0\0\0\0\0\u{3}\0\0\0d".to_owned());
    for http in [&[][..], &["--http", "2"]] {
        let url = format!("http://{address}/");
        let output = run(&[&["check", "--stack", "kernel"], http, &[&url]].concat());
        assert_eq!(output.status.code(), Some(2));
        let error = stderr(&output);
        assert!(error.contains("no response") && !error.contains("HTTP/1."), "{error}");
    }
    let output = run(&["check", "--http", "1.1", &format!("http://{address}/")]);
    assert!(stderr(&output).contains("check it with --http 2"), "{}", stderr(&output));
}

#[test]
fn a_server_that_dies_during_a_check_is_no_success() {
    // It answers the first requests and then nobody, on any connection.
    let answered = Arc::new(AtomicUsize::new(0));
    let address = serve(move |_| match answered.fetch_add(1, Ordering::SeqCst) {
        0 => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(),
        _ => {
            thread::sleep(Duration::from_secs(30));
            String::new()
        }
    });
    let url = format!("http://{address}/");
    let output = run(&["check", "--stack", "kernel", "--quick", "--max-wait", "500ms", &url]);
    let (shown, said) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(2), "{shown}{said}");
    assert!(shown.contains("could not determine nagle-delayed-ack"), "{shown}");
    assert!(said.contains("no verdict on nagle-delayed-ack: "), "{said}");
}

#[test]
fn what_was_not_found_out_counts_and_what_cannot_occur_does_not() {
    let endless = serve(|_| {
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n".to_owned()
    });
    let server = Server::start(Config::loopback(Behaviour::FIXED)).unwrap();
    let small = format!("http://{}/300", server.local_addr());
    let endless = format!("http://{endless}/");
    for (url, id, fail_on, expected, says) in [
        (&small, "short-initial-segment", "unknown", 0, "none of these checks applies"),
        (&small, "short-initial-segment", "warn", 0, "n/a"),
        // What this stack cannot measure decides nothing.
        (&small, "initial-window", "unknown", 0, "no check gave a result. The kernel's TCP stack"),
        (&endless, "cork-timer", "fail", 2, "could not determine cork-timer"),
        (&endless, "cork-timer", "unknown", 1, "could not determine cork-timer"),
    ] {
        let only = ["check", "--stack", "kernel", "--max-wait", "300ms", "--only", id];
        let output = run(&[&only[..], &["--fail-on", fail_on, url]].concat());
        let shown = stdout(&output);
        assert_eq!(output.status.code(), Some(expected), "{id} {fail_on}: {shown}");
        assert!(shown.contains(says), "{id} {fail_on}: {shown}");
    }
}

#[test]
fn five_redirects_are_followed_and_a_sixth_is_not() {
    for (redirects, expected) in [(5, 0), (6, 2)] {
        let address = serve(move |path| match path[1..].parse::<u32>() {
            Ok(left @ 1..) => redirect(&format!("/{}", left - 1)),
            _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(),
        });
        let url = format!("http://{address}/{redirects}");
        let output = run(&["check", "--stack", "kernel", "--only", "pipelining", &url]);
        assert_eq!(output.status.code(), Some(expected), "{}", stderr(&output));
    }
}

#[test]
fn a_redirect_to_https_says_what_to_check() {
    let address = serve(|_| redirect("https://127.0.0.1/"));
    let url = format!("http://{address}/");
    let shown = run(&["check", "--stack", "kernel", "--markdown", "--only", "pipelining", &url]);
    let shown = stdout(&shown);
    assert!(shown.contains("the same host over https"), "{shown}");
    // Not a link.
    assert!(shown.contains(r"ackwise check https\://127.0.0.1/"), "{shown}");
}

#[test]
fn a_server_cannot_drive_the_terminal_by_an_error() {
    let address = serve(|_| redirect("/\u{1b}]0;owned\u{7}\u{9b}2J"));
    let url = format!("http://{address}/");
    for arguments in [&["check", &url][..], &["check", "--color", "always", &url]] {
        let output = run(arguments);
        let printed = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(printed).unwrap();
        assert!(!text.contains(['\u{7}', '\u{9b}']) && !text.contains("\u{1b}]"), "{text:?}");
    }
}

#[test]
fn json_is_complete() {
    let server = Server::start(Config::loopback(Behaviour::FIXED)).unwrap();
    let url = format!("http://{}/6651", server.local_addr());
    let output = run(&["check", "--stack", "kernel", "--json", &url]);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let card = &document["results"][0];
    assert_eq!(card["target"], url.as_str());
    assert_eq!(card["server"], Value::Null);
    assert_eq!(card["stack"], "kernel");
    let findings = card["findings"].as_array().unwrap();
    assert_eq!(
        findings.len(),
        CheckId::of(Role::Server).count() - 3,
        "all but what needs --data or HTTP/2"
    );
    for finding in findings {
        for key in ["id", "verdict", "cost_ms", "values", "evidence", "remedy", "summary"] {
            assert!(finding.get(key).is_some(), "{key} is missing in {finding}");
        }
        assert!(finding["values"].is_object(), "{finding}");
        assert!(finding["evidence"].is_array(), "{finding}");
    }
    assert!(document["summary"].is_string());
}

#[test]
fn colour_follows_the_flag() {
    let server = Server::start(Config::loopback(Behaviour::FIXED)).unwrap();
    let url = format!("http://{}/300", server.local_addr());
    let check = ["check", "--stack", "kernel", "--only", "pipelining", "--color"];
    let shown = |colour| stdout(&run(&[&check[..], &[colour, &url]].concat()));
    assert!(shown("always").contains("\u{1b}["));
    assert!(!shown("never").contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let server = Server::start(Config::loopback(Behaviour::FIXED)).unwrap();
    let url = format!("http://{}/300", server.local_addr());
    let mut child = ackwise(&["check", "--stack", "kernel", "--only", "pipelining", &url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut complaints = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{complaints}");
    assert_eq!(complaints, "");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_check_soon_and_prints_no_half_results() {
    let silent = Behaviour { answer: Answer::Silence, ..Behaviour::FIXED };
    let server = Server::start(Config::loopback(silent)).unwrap();
    let url = format!("http://{}/", server.local_addr());
    let child = ackwise(&["check", "--stack", "kernel", "--json", &url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while server.stats().accepted == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.unwrap().success());
    let begin = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(stdout(&output), "");
}

/// A server that answers each request by `answer` of its path, for as long as the test runs.
fn serve(answer: impl Fn(&str) -> String + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a listener has an address");
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || {
                let mut lines = BufReader::new(&socket).lines().map_while(Result::ok);
                while let Some(request) = lines.next() {
                    let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
                    lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
                    // The client may be gone: its business.
                    let _ = (&socket).write_all(answer(&path).as_bytes());
                }
            });
        }
    });
    address
}

fn redirect(location: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
}

fn assert_one_message(output: &Output, expected: &str) {
    assert_one_complaint(output, expected);
    assert_eq!(stdout(output), "");
}

fn assert_one_complaint(output: &Output, expected: &str) {
    let complaint = stderr(output);
    assert!(complaint.starts_with("ackwise: "), "{complaint}");
    assert!(complaint.to_lowercase().contains(&expected.to_lowercase()), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
}

fn run(arguments: &[&str]) -> Output {
    ackwise(arguments).output().expect("the program runs")
}

/// The program, in an environment that says nothing about colours.
fn ackwise(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
    command.args(arguments).stdin(Stdio::null());
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}
