//! `ackwise serve` as a user sees it: a directory, a client, Ctrl-C, and what it says at the end.
#![cfg(target_os = "linux")]

#[path = "schema/mod.rs"]
mod schema;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Output, Stdio},
};

/// A server that runs, and the address that it told.
fn start(arguments: &[&str]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ackwise"))
        .arg("serve")
        .args(arguments)
        .args(["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().expect("it is a pipe"))
        .read_line(&mut line)
        .expect("it tells where it listens");
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let address = address.unwrap_or_else(|| panic!("no address in {line:?}")).to_owned();
    (child, address)
}

fn interrupt(child: Child) -> Output {
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(told.expect("kill runs").success());
    child.wait_with_output().expect("it ends")
}

/// What a server answers to `request` before it closes.
fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("{request}\r\nHost: h\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers and closes");
    answer
}

#[test]
fn a_directory_is_served_until_ctrl_c_which_is_a_success() {
    let directory = std::env::temp_dir().join(format!("ackwise-serve-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    fs::write(directory.join("index.html"), "<img src=a.gif>").expect("a file");
    fs::write(directory.join("a.gif"), "GIF89a").expect("a file");
    let path = directory.to_str().expect("a path");
    let (child, address) = start(&[path, "--getweb", "--json"]);

    let page = ask(&address, "GET / HTTP/1.1");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("<img src=a.gif>"), "{page}");
    let both = ask(&address, "GETWEB / HTTP/1.1");
    let index = "15 / text/html; charset=utf-8\r\n6 /a.gif image/gif\r\n\r\n<img src=a.gif>GIF89a";
    assert!(both.ends_with(index), "{both}");
    let outside = ask(&address, "GET /../index.html HTTP/1.1");
    assert!(outside.starts_with("HTTP/1.1 404 "), "{outside}");

    let output = interrupt(child);
    fs::remove_dir_all(&directory).expect("it is ours");
    assert_eq!(output.status.code(), Some(0));
    let document = schema::keeping_to("serve", &output.stdout);
    assert_eq!((&document["responses"], &document["pages_parsed"]), (&3.into(), &1.into()));
}

#[test]
fn without_a_directory_a_path_is_a_length_and_options_change_the_head() {
    let (child, address) = start(&["--as", "1996", "--close"]);
    let answer = ask(&address, "GET /10 HTTP/1.1");
    assert!(answer.contains("\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"), "{answer}");
    let refused = ask(&address, "GETWEB /10 HTTP/1.1");
    assert!(refused.starts_with("HTTP/1.1 501 "), "{refused}");
    let output = interrupt(child);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "Sent 2 responses on 2 connections.\n");
}

#[test]
fn pacing_warns_where_the_kernel_cuts_the_window() {
    let setting = fs::read_to_string("/proc/sys/net/ipv4/tcp_slow_start_after_idle");
    let cuts = setting.expect("Linux has it").trim() != "0";
    let arguments = ["serve", "--pace", "--listen=203.0.113.1:80"];
    let output = Command::new(env!("CARGO_BIN_EXE_ackwise")).args(arguments).output();
    let text = String::from_utf8(output.expect("the program runs").stderr).expect("it is text");
    assert_eq!(text.contains("warning: --pace has no effect"), cuts, "{text}");
}

#[test]
fn what_cannot_be_served_is_said_in_one_line() {
    for (arguments, expected) in [
        (["serve", "/nonexistent"], "ackwise: cannot serve /nonexistent: "),
        (["serve", "/proc/self/exe"], "ackwise: cannot serve /proc/self/exe: "),
        (["serve", "--listen=203.0.113.1:80"], "ackwise: cannot listen on 203.0.113.1:80: "),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_ackwise")).args(arguments).output();
        let output = output.expect("the program runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), text.lines().count()), (Some(2), 1), "{text}");
        assert!(text.starts_with(expected), "{text}");
    }
}
