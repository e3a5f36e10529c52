//! Proxies before a server that stalls and one that does not: real nginx, which passes on what it gets at once.

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_check::{
    Options, StackChoice, Target,
    card::{CheckId, Finding, Verdict},
    check,
};
use ackwise_testing::pattern::{PatternServer, WritePattern};
use ackwise_testing::skip;

#[test]
fn a_pause_behind_a_proxy_is_found_where_the_proxy_buffers_and_where_it_does_not() {
    let name = "a_pause_behind_a_proxy_is_found_where_the_proxy_buffers_and_where_it_does_not";
    let Some(nginx) = nginx() else { return skip(name, "nginx; apt-get install nginx-light") };
    for (buffering, pattern, late) in [
        ("off", WritePattern::HEAD_APART, Some(CheckId::ResponsePause)),
        ("on", WritePattern::HEAD_APART, Some(CheckId::FirstByte)),
        ("off", WritePattern::NO_DELAY, None),
        ("on", WritePattern::JOINED, None),
    ] {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let origin = PatternServer::start(loopback, pattern).expect("a free port");
        let proxy = Proxy::start(&nginx, origin.local_addr(), buffering);
        for id in [CheckId::ResponsePause, CheckId::FirstByte] {
            let found = finding(proxy.port, id);
            let expected = if late == Some(id) { Verdict::Warn } else { Verdict::Pass };
            assert_eq!(found.verdict, expected, "{buffering}, {}: {found:?}", pattern.name);
            if let Some(cost) = found.cost_ms {
                assert!((30.0..80.0).contains(&cost), "{found:?}");
                assert!(found.summary.contains("prox"), "{found:?}");
            }
        }
    }
}

/// nginx with kept connections to its origin.
struct Proxy {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Proxy {
    fn start(program: &Path, origin: SocketAddr, buffering: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let port = free.expect("a free port").port();
        let folder =
            std::env::temp_dir().join(format!("ackwise-pause-{}-{port}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary directory can be written");
        let text = format!(
            "daemon off; master_process off; pid nginx.pid; error_log error.log;\n\
             events {{ worker_connections 64; }}\n\
             http {{ access_log off; upstream o {{ server {origin}; keepalive 4; }}\n\
             server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://o; proxy_buffering {buffering};\n\
             proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }} }}\n"
        );
        fs::write(folder.join("nginx.conf"), text).expect("the folder was made");
        let process = Command::new(program)
            .arg("-p")
            .arg(&folder)
            .args(["-c", "nginx.conf"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it is there");
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "nginx does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        Self { process, port, folder }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn finding(port: u16, id: CheckId) -> Finding {
    let target: Target = format!("http://127.0.0.1:{port}/").parse().expect("a URL");
    let options =
        Options { stack: StackChoice::Kernel, only: Some([id].into()), ..Options::default() };
    check(&target, &options, &mut |_| {}).expect("a card").findings.remove(0)
}

fn nginx() -> Option<PathBuf> {
    ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().map(PathBuf::from).find(|it| it.is_file())
}
