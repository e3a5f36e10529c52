//! nginx keeps connections to Node for longer than Node does, and sends requests that cross the close.

use std::{
    fs,
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Instant,
};

use ackwise_cause::Party;
use ackwise_testing::{
    debian::{end, find},
    skip,
};

use super::*;
use crate::lab::{Host, Lab};

#[test]
fn a_502_by_an_idle_close() {
    let title = "A 502 because Node closes what nginx keeps";
    if let Err(missing) = find("nginx", "nginx").and_then(|_| find("node", "nodejs")) {
        return skip(title, missing);
    }
    Exhibit {
        title,
        source: include_str!("idle_close.rs"),
        network: Network::Link(longer_way),
        server: |_, _| Ok(()), // It is Node,
        client: |_, _| Ok(()), // and nginx.
        verdict: Claim::Fails("close-race", Party::Server),
    }
    .show_with(&post_through_nginx);
}

/// How long Node keeps an idle connection, in milliseconds: 5,000 unless told otherwise; version 20 adds a second.
fn node_keeps(version: Version) -> u64 {
    match version {
        Version::Buggy => 1_000,
        Version::Fixed => 65_000,
    }
}

const NODE: &str = "
    const server = require('http').createServer((request, response) => {
        request.resume().on('end', () => response.end('hello'));
    });
    server.keepAliveTimeout = KEEPS;
    server.listen(80);";

const NGINX: &str = "
    upstream node { server ADDRESS:80; keepalive 4; } # for 60 s
    server {
        listen 127.0.0.1:8080;
        location / { proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ''; }
    }";

/// Posts twice on each of two connections between nginx and Node: the second time when Node closes.
fn post_through_nginx(lab: &Lab, version: Version) {
    let folder = &Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gallery-502-{version:?}"));
    fs::create_dir_all(folder).expect("there is room");
    let keeps = node_keeps(version);
    let script = write(folder, "server.js", &NODE.replace("KEEPS", &keeps.to_string()));
    let proxy = NGINX.replace("ADDRESS", &lab.server.address.to_string());
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = temporary.map(|it| format!("{it}_temp_path {it};")).concat();
    let config = format!(
        "daemon off; pid pid; error_log stderr; user root; worker_processes 1; events {{}}
         http {{ access_log off; {temporary} {proxy} }}"
    );
    let config = write(folder, "nginx.conf", &config);
    let node = start(&lab.server, "node", &[&script]);
    let prefix = folder.display().to_string();
    let nginx = start(&lab.client, "nginx", &["-e", "stderr", "-p", &prefix, "-c", &config]);
    let keeps = lab.server.inside(|| idle_timeout(SocketAddr::from((lab.server.address, 80))));
    let statuses = lab.client.inside(|| {
        let nginx = SocketAddr::from(([127, 0, 0, 1], 8080));
        drop(connect_soon(nginx));
        let pair = || {
            let first = post(nginx);
            // On its way when Node closes: between the response here and the FIN.
            thread::sleep(keeps - WAY);
            let second = post(nginx);
            thread::sleep(3 * WAY); // Until nginx has closed its end, too.
            [first, second]
        };
        [pair(), pair()]
    });
    drop((node, nginx));
    println!("{version:?}: {statuses:?}");
    let good = statuses.iter().all(|it| it.iter().all(|status| status == "200"));
    assert!(good || version == Version::Buggy, "{statuses:?}");
}

/// A program that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// The status of the response to a POST, which nginx does not send again.
fn post(nginx: SocketAddr) -> String {
    let mut stream = connect(nginx).expect("nginx listens");
    let head = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it answers");
    response.split(' ').nth(1).unwrap_or_default().to_owned()
}

fn start(host: &Host, program: &str, arguments: &[&str]) -> Running {
    let path = find(program, program).expect("it was found before");
    let mut command = Command::new(path);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    Running(host.inside(|| command.spawn()).expect("it is a program"))
}

/// When Node closes an idle connection, if it does so soon.
fn idle_timeout(node: SocketAddr) -> Duration {
    let mut stream = connect_soon(node);
    ask(&mut stream).expect("it answers");
    let since = Instant::now();
    let patience = Some(Duration::from_millis(2_500));
    stream.set_read_timeout(patience).expect("a socket takes that");
    let _ = stream.read(&mut [0]);
    since.elapsed()
}

/// Connects to a server that is about to listen.
fn connect_soon(server: SocketAddr) -> TcpStream {
    (0..500)
        .find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            connect(server).ok()
        })
        .expect("it listens within seconds")
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("there is room");
    path.display().to_string()
}

/// From nginx to Node: long, so that a request and a FIN can cross.
const WAY: Duration = Duration::from_millis(50);

fn longer_way() -> EmulatorOptions {
    EmulatorOptions::symmetric(LinkConfig { delay: WAY, ..LinkConfig::IDEAL })
}
