//! The time to the first byte against what tcpdump sees of the same run, and behind a real proxy.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_check::{
    Options, StackChoice, Target,
    card::{Card, CheckId, FirstByte, Values, Verdict},
    check,
    report::Report,
};
use ackwise_http::Behaviour;
use ackwise_serve::{Config, Server};
use ackwise_testing::pattern::{PatternServer, WritePattern};
use ackwise_testing::skip;

#[test]
fn the_time_to_the_first_byte_is_that_of_a_capture() {
    let name = "the_time_to_the_first_byte_is_that_of_a_capture";
    let Some(tcpdump) = program("tcpdump") else {
        return skip(name, "tcpdump; apt-get install tcpdump");
    };
    let think = Duration::from_millis(20);
    let server = Server::start(Config::loopback(Behaviour { think, ..Behaviour::FIXED }));
    let port = server.as_ref().expect("a free port").local_addr().port();
    let mut child = Command::new(tcpdump)
        .args(["-i", "lo", "-nn", "-tt", "-l", "--immediate-mode"])
        .arg(format!("tcp port {port}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it is there");
    let mut complaints = BufReader::new(child.stderr.take().expect("piped")).lines();
    let listening = complaints.by_ref().map_while(Result::ok).any(|it| it.contains("listening on"));
    if !listening {
        let _ = child.wait();
        return skip(name, "the right to capture; run as root");
    }
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let reader = thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<_>>());
    let values = first_byte(&card(port, &[CheckId::FirstByte]));
    thread::sleep(Duration::from_millis(300));
    let _ = child.kill();
    let _ = child.wait();
    let captured = waits(&reader.join().expect("it only reads"), port);
    // The first request found the server and its page.
    let (median, captured) = (values.median_ms.expect("asked"), median(captured[1..].to_vec()));
    assert!((median - captured).abs() <= 2.0, "{median} ms, captured {captured} ms");
    assert!(captured >= 20.0, "{captured} ms");
}

/// Milliseconds from each request to the first byte after it.
fn waits(lines: &[String], port: u16) -> Vec<f64> {
    let (mut asked, mut waits) = (None, Vec::new());
    for line in lines.iter().filter(|line| !line.ends_with("length 0")) {
        let mut words = line.split_whitespace();
        let at: f64 = words.next().and_then(|it| it.parse().ok()).expect("-tt");
        let from = words.nth(1).expect("IP, then the sender");
        match (from.ends_with(&format!(".{port}")), asked) {
            (false, _) => asked = Some(at),
            (true, Some(begun)) => {
                waits.push((at - begun) * 1e3);
                asked = None;
            }
            (true, None) => {}
        }
    }
    waits
}

#[test]
fn a_proxy_before_a_server_that_stalls_is_not_told_that_there_is_nothing_to_remove() {
    let name = "a_proxy_before_a_server_that_stalls_is_not_told_that_there_is_nothing_to_remove";
    let Some(haproxy) = program("haproxy") else {
        return skip(name, "haproxy; apt-get install haproxy");
    };
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let origin = PatternServer::start(loopback, WritePattern::HEAD_APART).expect("a free port");
    let proxy = HaProxy::start(&haproxy, origin.local_addr());
    let card = card(proxy.port, &[CheckId::FirstByte, CheckId::NagleDelayedAck]);
    let values = first_byte(&card);
    let nagle = card.findings.iter().find(|it| it.id == CheckId::NagleDelayedAck);
    assert!(values.median_ms > Some(30.0), "{card:?}");
    assert_eq!(nagle.map(|it| it.verdict), Some(Verdict::Pass), "the proxy itself is innocent");
    let report = Report { cards: vec![card], ..Report::default() };
    let said = report.conclusion();
    assert!(said.contains("irst byte") || said.contains("first-byte"), "{said}");
    assert!(!said.contains("nothing to remove"), "{said}");
    // At the origin itself, the stall has its name.
    let card = self::card(origin.local_addr().port(), &[CheckId::NagleDelayedAck]);
    assert_eq!(card.findings[0].verdict, Verdict::Fail, "{card:?}");
}

struct HaProxy {
    process: Child,
    port: u16,
    config: PathBuf,
}

impl HaProxy {
    fn start(program: &Path, origin: SocketAddr) -> Self {
        // The port is free now, and nobody else looks for one in this test.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let port = free.expect("a free port").port();
        let config =
            std::env::temp_dir().join(format!("ackwise-haproxy-{}.cfg", std::process::id()));
        let text = format!(
            "defaults\n mode http\n timeout connect 5s\n timeout client 30s\n timeout server 30s\n \
             http-reuse always\nfrontend f\n bind 127.0.0.1:{port}\n default_backend b\nbackend b\n \
             server s {origin}\n"
        );
        fs::write(&config, text).expect("the temporary directory can be written");
        let process = Command::new(program)
            .args(["-db", "-f"])
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it is there");
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "haproxy does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        Self { process, port, config }
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.config);
    }
}

fn card(port: u16, only: &[CheckId]) -> Card {
    let target: Target = format!("http://127.0.0.1:{port}/500").parse().expect("a URL");
    let only = Some(only.iter().copied().collect());
    let options = Options { stack: StackChoice::Kernel, only, ..Options::default() };
    check(&target, &options, &mut |_| {}).expect("a card")
}

fn first_byte(card: &Card) -> FirstByte {
    let values = card.findings.iter().find_map(|it| match &it.values {
        Values::FirstByte(values) => Some(values.clone()),
        _ => None,
    });
    values.expect("it was asked for")
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn program(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    folders.into_iter().map(|folder| Path::new(folder).join(name)).find(|it| it.is_file())
}
